//! Many sockets, much data, several who wait at one.

use crate::{KINDS, WaiterKind, everywhere, start, watched};
use raddle::{Runtime, csp};
use raddle_net::net::{TcpListener, TcpStream};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

/// Sends back what comes, until the peer has closed.
fn echo(mut peer: TcpStream) {
    let mut bytes = [0; 512];
    loop {
        match peer.read(&mut bytes).expect("a peer that is there") {
            0 => return,
            n => peer.write_all(&bytes[..n]).expect("a peer that is there"),
        }
    }
}

fn ask(address: SocketAddr, times: usize) {
    let mut stream = TcpStream::connect(address).expect("a server");
    for n in 0..times {
        let (asked, mut answer) = ([n as u8; 64], [0; 64]);
        stream.write_all(&asked).expect("a server that is there");
        stream.read_exact(&mut answer).expect("a server that is there");
        assert_eq!(asked, answer);
    }
}

#[test]
fn each_kind_echoes_for_each() {
    everywhere(|| {
        for server in KINDS {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let serves = start(server, move || {
                let peers: Vec<_> = listener.incoming().take(3).map(Result::unwrap).collect();
                let all: Vec<_> = peers.into_iter().map(|peer| start(server, || echo(peer))).collect();
                all.into_iter().for_each(|one| one());
            });
            let clients = KINDS.map(|kind| start(kind, move || ask(address, 50)));
            clients.into_iter().for_each(|client| client());
            serves();
        }
    });
}

/// More than the kernel holds goes both ways at once: each write and each read waits many times.
#[test]
fn much_goes_both_ways() {
    const BYTES: usize = 2 << 20;
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let accepts = csp::spawn(move || listener.accept().unwrap().0);
        let ends = [TcpStream::connect(address).unwrap(), accepts.join().unwrap()].map(Arc::new);
        let all = ends.into_iter().flat_map(|end| {
            let writes = end.clone();
            let writer = csp::spawn(move || {
                let bytes: Vec<u8> = (0..BYTES).map(|n| (n / 7) as u8).collect();
                (&*writes).write_all(&bytes).unwrap();
                writes.shutdown(Shutdown::Write).unwrap();
            });
            let reader = csp::spawn(move || {
                let mut bytes = Vec::new();
                (&*end).read_to_end(&mut bytes).unwrap();
                assert_eq!(bytes.len(), BYTES);
                assert!(bytes.iter().enumerate().all(|(n, byte)| *byte == (n / 7) as u8));
            });
            [writer, reader]
        });
        let all: Vec<_> = all.collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn several_accept_at_one_listener() {
    everywhere(|| {
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let accept = |kind| {
            let listener = listener.clone();
            start(kind, move || (0..4).for_each(|_| echo(listener.accept().unwrap().0)))
        };
        let servers =
            [WaiterKind::Process, WaiterKind::Process, WaiterKind::Thread, WaiterKind::OsThread].map(accept);
        let clients: Vec<_> = (0..16).map(|_| csp::spawn(move || ask(address, 3))).collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        servers.into_iter().for_each(|server| server());
    });
}

#[test]
fn a_hundred_connections_wait_at_once() {
    const CONNECTIONS: usize = 100;
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = csp::spawn(move || {
            csp::scope(|s| {
                for peer in listener.incoming().take(CONNECTIONS) {
                    let peer = peer.unwrap();
                    s.spawn(move || echo(peer));
                }
            });
        });
        let (arrived, all) = (raddle::sync::Barrier::new(CONNECTIONS), TcpStream::connect(address));
        let _one_more = all.unwrap();
        csp::scope(|s| {
            for _ in 1..CONNECTIONS {
                s.spawn(|| {
                    let mut stream = TcpStream::connect(address).unwrap();
                    arrived.wait();
                    stream.write_all(b"all are there").unwrap();
                    stream.shutdown(Shutdown::Write).unwrap();
                    let mut answer = String::new();
                    stream.read_to_string(&mut answer).unwrap();
                    assert_eq!(answer, "all are there");
                });
            }
            arrived.wait();
        });
        drop(_one_more);
        server.join().unwrap();
    });
}

/// One socket, of which two runtimes' processes wait; one of them ends, and the other one is still told.
#[test]
fn a_socket_goes_from_runtime_to_runtime() {
    watched();
    let first = Runtime::builder().workers(1).build().unwrap();
    let (address, listener) = first.run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        (listener.local_addr().unwrap(), Arc::new(listener))
    });
    let accept_one = |runtime: &Runtime| {
        let client = std::thread::spawn(move || ask(address, 5));
        let listener = listener.clone();
        runtime.run(move || echo(listener.accept().unwrap().0));
        client.join().unwrap();
    };
    accept_one(&first);
    for _ in 0..3 {
        let second = Runtime::builder().workers(2).build().unwrap();
        accept_one(&second);
        accept_one(&first);
        drop(second);
    }
    accept_one(&first);
    drop(first);
    let last = Runtime::builder().workers(1).build().unwrap();
    accept_one(&last);
}
