//! An HTTP/1.1 server with a process for each connection, and a graceful end by cancellation.
//!
//! `cargo raddle run examples/http.rs` serves a few requests of its own and ends. With an address as argument it serves
//! until a line (or the end) comes on standard input: `cargo run --release --example http 127.0.0.1:8080`. Each request
//! is a span of a trace: `RADDLE_TRACE=http.rdt RADDLE_TRACE_LEVEL=user`, then `raddle trace http.rdt`.
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle::cancel::Token;
use raddle::net::{TcpListener, TcpStream};
use raddle::{csp, trace};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

/// A connection that says nothing for so long is closed.
const PATIENCE: Duration = Duration::from_secs(10);
/// A line of a request is no longer.
const LINE_MAX: u64 = 8 << 10;

/// Answers the requests of one connection, until it ends or is told to. What is being answered is finished.
fn serve(peer: &TcpStream, stop: &Token) -> io::Result<()> {
    peer.set_read_timeout(Some(PATIENCE))?;
    let mut requests = BufReader::new(peer);
    loop {
        // Only the wait for a request is cancelled.
        let Ok(line) = stop.run(|| read_line(&mut requests)) else { return Ok(()) };
        let line = line?;
        let _request = trace::span!("request");
        let mut words = line.split(' ');
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
        let mut keeps = true;
        loop {
            let header = read_line(&mut requests)?;
            if header.is_empty() {
                break;
            }
            keeps &= !header.eq_ignore_ascii_case("connection: close");
        }
        let (status, body) = match (method, path) {
            ("GET", "/") => ("200 OK", "hello\n".to_owned()),
            ("GET", _) => ("404 Not Found", format!("there is no {path}\n")),
            _ => ("405 Method Not Allowed", String::new()),
        };
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
        (&*peer).write_all(answer.as_bytes())?;
        if !keeps {
            return Ok(());
        }
    }
}

/// A line without its end; empty at the end of the connection.
fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.take(LINE_MAX).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// Accepts until it is told to stop; returns when all connections have ended.
fn accept_all(listener: &TcpListener, stop: &Token) {
    csp::scope(|s| {
        while let Ok(accepted) = stop.run(|| listener.accept()) {
            match accepted {
                Ok((peer, _)) => drop(s.spawn(move || serve(&peer, stop))),
                // Too many descriptors: some end.
                Err(_) => csp::sleep(Duration::from_millis(10)),
            }
        }
    });
}

/// Asks `times` on one connection; how many answers were as they should be.
fn ask(address: std::net::SocketAddr, times: usize) -> io::Result<usize> {
    let stream = TcpStream::connect(address)?;
    let mut answers = BufReader::new(&stream);
    let mut good = 0;
    for n in 0..times {
        let path = if n % 2 == 0 { "/" } else { "/nowhere" };
        (&stream).write_all(format!("GET {path} HTTP/1.1\r\nhost: here\r\n\r\n").as_bytes())?;
        let status = read_line(&mut answers)?;
        let length = read_line(&mut answers)?;
        read_line(&mut answers)?;
        let length = length.strip_prefix("content-length: ").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        answers.read_exact(&mut body)?;
        good += usize::from(status.contains(if n % 2 == 0 { "200" } else { "404" }));
    }
    Ok(good)
}

#[raddle::main]
fn main() -> io::Result<()> {
    let given = std::env::args().nth(1);
    let listener = TcpListener::bind(given.as_deref().unwrap_or("127.0.0.1:0"))?;
    let (address, stop) = (listener.local_addr()?, Token::new());
    println!("serves http://{address}/");
    csp::scope(|s| {
        s.spawn(|| accept_all(&listener, &stop));
        if given.is_some() {
            raddle::io::stdin().read_line(&mut String::new())?;
        } else {
            let clients: Vec<_> = (0..20).map(|_| s.spawn(|| ask(address, 50))).collect();
            let answers = clients.into_iter().map(|client| client.join().expect("it does not panic"));
            println!("{} good answers", answers.sum::<io::Result<usize>>()?);
        }
        stop.cancel();
        io::Result::Ok(())
    })?;
    println!("all connections have ended");
    Ok(())
}
