//! A client that measures either server: `load 127.0.0.1:8080 100 200000` keeps 100 connections alive, with one request
//! under way on each, from one OS thread with a poll of its own.

use rustix::event::epoll;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

struct Connection {
    stream: TcpStream,
    asked: Instant,
    /// So much of the answer has come.
    came: usize,
}

impl Connection {
    fn to(address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, asked: Instant::now(), came: 0 })
    }

    fn ask(&mut self) -> io::Result<()> {
        (self.asked, self.came) = (Instant::now(), 0);
        self.stream.write_all(REQUEST)
    }

    /// Reads what is there, of an answer of `length` bytes. How long all of it has taken, once it has come.
    fn answer(&mut self, length: usize) -> io::Result<Option<u64>> {
        let mut bytes = [0; 1024];
        match self.stream.read(&mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => self.came += n,
        }
        Ok((self.came >= length).then(|| self.asked.elapsed().as_nanos() as u64))
    }
}

/// All answers are as long as the first.
fn length_of_answer(address: &str) -> io::Result<usize> {
    let mut one = Connection::to(address)?;
    one.stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    one.stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    let is_good = text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nHello, world!\n");
    let says_that_it_closes = "connection: close\r\n";
    if is_good && text.contains(says_that_it_closes) {
        Ok(answer.len() - says_that_it_closes.len())
    } else {
        Err(io::Error::other(format!("answered: {text}")))
    }
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, connections, requests] = &words[..] else {
        return Err(io::Error::other("an address, a number of connections, and one of requests"));
    };
    let number = |word: &str| word.parse::<usize>().map_err(io::Error::other);
    let (connections, requests) = (number(connections)?, number(requests)?);
    let length = length_of_answer(address)?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut all = (0..connections).map(|_| Connection::to(address)).collect::<io::Result<Vec<_>>>()?;
    for (place, one) in all.iter().enumerate() {
        epoll::add(&poll, &one.stream, epoll::EventData::new_u64(place as u64), epoll::EventFlags::IN)?;
    }
    let (began, mut times) = (Instant::now(), Vec::with_capacity(requests));
    all.iter_mut().try_for_each(Connection::ask)?;
    let mut events = Vec::with_capacity(1024);
    while times.len() < requests {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let one = &mut all[{ event.data }.u64() as usize];
            if let Some(ns) = one.answer(length)? {
                times.push(ns);
                one.ask()?;
            }
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    times.sort_unstable();
    let of = |part: f64| times[(times.len() as f64 * part) as usize] as f64 / 1000.0;
    println!("{:.0} requests/s, p50 {:.0} us, p99 {:.0} us", times.len() as f64 / seconds, of(0.5), of(0.99));
    Ok(())
}
