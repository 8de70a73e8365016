//! A proxy for a port: two processes for each connection, one for each direction.
//!
//! `cargo raddle run examples/proxy.rs` goes through a server of its own and ends. With two addresses it serves for
//! good: `cargo run --release --example proxy 127.0.0.1:8080 127.0.0.1:80`.
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle::csp;
use raddle::net::{Shutdown, TcpListener, TcpStream};
use std::io::{self, Read, Write};
use std::net::SocketAddr;

/// Passes on what comes from there, and then the end.
fn pass(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<u64> {
    let passed = io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)?;
    Ok(passed)
}

fn serve(client: &TcpStream, to: SocketAddr) -> io::Result<(u64, u64)> {
    let server = TcpStream::connect(to)?;
    csp::scope(|s| {
        let asks = s.spawn(|| pass(client, &server));
        let answered = pass(&server, client)?;
        Ok((asks.join().expect("it does not panic")?, answered))
    })
}

/// Sends back, in capitals, what comes until the end.
fn shout(listener: &TcpListener, times: usize) -> io::Result<()> {
    for peer in listener.incoming().take(times) {
        let (mut peer, mut text) = (peer?, String::new());
        peer.read_to_string(&mut text)?;
        peer.write_all(text.to_uppercase().as_bytes())?;
    }
    Ok(())
}

#[raddle::main]
fn main() -> io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [at, to] = &given[..] {
        let (listener, to) = (TcpListener::bind(at)?, to.parse().map_err(io::Error::other)?);
        for client in listener.incoming() {
            let client = client?;
            csp::spawn(move || serve(&client, to));
        }
    }
    const TIMES: usize = 4;
    let (server, proxy) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
    let (behind, address) = (server.local_addr()?, proxy.local_addr()?);
    let shouts = csp::spawn(move || shout(&server, TIMES));
    let passes = csp::spawn(move || -> io::Result<u64> {
        let clients = proxy.incoming().take(TIMES);
        clients.map(|client| serve(&client?, behind).map(|(asked, answered)| asked + answered)).sum()
    });
    for n in 0..TIMES {
        let mut client = TcpStream::connect(address)?;
        client.write_all("through the proxy ".repeat(n + 1).as_bytes())?;
        client.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        client.read_to_string(&mut answer)?;
        assert_eq!(answer, "THROUGH THE PROXY ".repeat(n + 1));
    }
    shouts.join().expect("it does not panic")?;
    println!("{} bytes passed", passes.join().expect("it does not panic")?);
    Ok(())
}
