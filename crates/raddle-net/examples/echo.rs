//! Echoes of 64 bytes: a server with a process for each connection, and a client that measures any server.
//!
//! ```console
//! $ echo serve 127.0.0.1:4711             # light processes: add `light`
//! $ echo load 127.0.0.1:4711 100 1000000  # so many connections, so many requests: requests a second, p50, p99
//! $ echo idle 127.0.0.1:4711 10000        # so many connections that ask once and then nothing, until end of input
//! ```
//!
//! The client is one OS thread with a poll of its own: one request is under way on each connection.
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle_net::net::{TcpListener, TcpStream};
use rustix::event::epoll;
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

const BYTES: usize = 64;

fn echo(mut peer: TcpStream) -> io::Result<()> {
    peer.set_nodelay(true)?;
    let mut bytes = [0; 512];
    loop {
        match peer.read(&mut bytes)? {
            0 => return Ok(()),
            n => peer.write_all(&bytes[..n])?,
        }
    }
}

fn serve(address: &str, light: bool) -> io::Result<()> {
    let builder = raddle::Runtime::builder();
    // SAFETY: no process uses a thread-local variable.
    let builder = if light { unsafe { builder.light_processes() } } else { builder };
    let address = address.to_owned();
    builder.build().map_err(io::Error::other)?.run(move || {
        let listener = TcpListener::bind(address)?;
        for peer in listener.incoming() {
            let peer = peer?;
            raddle::csp::spawn(move || echo(peer));
        }
        Ok(())
    })
}

/// One connection of the client's.
struct Connection {
    stream: std::net::TcpStream,
    asked: Instant,
}

impl Connection {
    fn to(address: &str) -> io::Result<Connection> {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, asked: Instant::now() })
    }

    fn ask(&mut self) -> io::Result<()> {
        self.asked = Instant::now();
        self.stream.write_all(&[7; BYTES])
    }

    fn answer(&mut self) -> io::Result<Duration> {
        self.stream.read_exact(&mut [0; BYTES])?;
        Ok(self.asked.elapsed())
    }
}

fn load(address: &str, connections: usize, requests: usize) -> io::Result<()> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut all = (0..connections).map(|_| Connection::to(address)).collect::<io::Result<Vec<_>>>()?;
    for (number, one) in all.iter_mut().enumerate() {
        epoll::add(&poll, &one.stream, epoll::EventData::new_u64(number as u64), epoll::EventFlags::IN)?;
        one.ask()?;
        one.answer()?;
    }
    let (began, mut times) = (Instant::now(), Vec::with_capacity(requests));
    all.iter_mut().try_for_each(Connection::ask)?;
    let mut events = Vec::with_capacity(1024);
    while times.len() < requests {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let one = &mut all[{ event.data }.u64() as usize];
            times.push(one.answer()?);
            one.ask()?;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    times.sort_unstable();
    let (rate, of) = (times.len() as f64 / seconds, |part: f64| times[(times.len() as f64 * part) as usize]);
    println!("{rate:.0} requests/s, p50 {:?}, p99 {:?}, p99.9 {:?}", of(0.5), of(0.99), of(0.999));
    Ok(())
}

fn idle(address: &str, connections: usize) -> io::Result<()> {
    let mut all = Vec::new();
    for _ in 0..connections {
        let mut one = Connection::to(address)?;
        one.ask()?;
        one.answer()?;
        all.push(one);
    }
    println!("{} wait", all.len());
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<usize>().map_err(io::Error::other);
    match words[..] {
        ["serve", address] => serve(address, false),
        ["serve", address, "light"] => serve(address, true),
        ["load", address, connections, requests] => load(address, number(connections)?, number(requests)?),
        ["idle", address, connections] => idle(address, number(connections)?),
        _ => Err(io::Error::other("serve, load or idle, an address, and numbers")),
    }
}
