//! A chat: each line goes to everybody. A process reads for each guest, another one writes, and one passes on.
//!
//! `cargo raddle run examples/chat.rs` has three guests of its own, and ends. With an address it serves for good.
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle::channel::{self, Receiver, Sender};
use raddle::csp;
use raddle::net::{Shutdown, TcpListener, TcpStream};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::sync::Arc;

enum News {
    Comes(usize, Sender<Arc<str>>),
    Says(usize, String),
    Goes(usize),
}

/// Passes on what each says, until nobody can say anything any more.
fn pass_on(news: &Receiver<News>) {
    let mut guests = BTreeMap::new();
    for news in news {
        let said: Arc<str> = match news {
            News::Comes(guest, to) => {
                guests.insert(guest, to);
                format!("{guest} is here\n").into()
            }
            News::Says(guest, line) => format!("{guest}: {line}\n").into(),
            News::Goes(guest) => {
                guests.remove(&guest);
                format!("{guest} has gone\n").into()
            }
        };
        // Who does not read for so long misses something, and holds up nobody.
        guests.values().for_each(|to: &Sender<Arc<str>>| drop(to.try_send(said.clone())));
    }
}

fn welcome(guest: usize, peer: TcpStream, news: &Sender<News>) {
    let (to, said) = channel::bounded(256);
    csp::scope(|s| {
        let peer = &peer;
        s.spawn(move || {
            let written: io::Result<()> =
                said.iter().try_for_each(|line: Arc<str>| { peer }.write_all(line.as_bytes()));
            written
        });
        let _all_gone = news.send(News::Comes(guest, to));
        for line in BufReader::new(peer).lines().map_while(Result::ok) {
            let _all_gone = news.send(News::Says(guest, line));
        }
        let _all_gone = news.send(News::Goes(guest));
    });
}

fn serve(listener: &TcpListener, guests: usize) {
    let (news, told) = channel::bounded(64);
    csp::scope(|s| {
        s.spawn(move || pass_on(&told));
        // The last sender goes with the last guest.
        s.spawn(move || {
            let news = &news;
            csp::scope(|s| {
                for (guest, peer) in listener.incoming().take(guests).map_while(Result::ok).enumerate() {
                    s.spawn(move || welcome(guest, peer, news));
                }
            });
        });
    });
}

#[raddle::main]
fn main() -> io::Result<()> {
    let given = std::env::args().nth(1);
    let listener = TcpListener::bind(given.as_deref().unwrap_or("127.0.0.1:0"))?;
    if given.is_some() {
        serve(&listener, usize::MAX);
    }
    let address = listener.local_addr()?;
    let server = csp::spawn(move || serve(&listener, 3));
    let all: Vec<_> = (0..3).map(|_| TcpStream::connect(address)).collect::<io::Result<_>>()?;
    let heard: Vec<usize> = all
        .iter()
        .map(|mut guest| {
            guest.write_all(b"good evening\n")?;
            // Until everybody has greeted.
            let lines = BufReader::new(guest).lines().map_while(Result::ok);
            io::Result::Ok(lines.filter(|line| line.ends_with("good evening")).take(1).count())
        })
        .collect::<io::Result<_>>()?;
    for guest in all {
        guest.shutdown(Shutdown::Both)?;
    }
    server.join().expect("it does not panic");
    println!("each of {} has heard somebody", heard.len());
    Ok(())
}
