//! Waits that end otherwise than by the peer: cancellation, time, the end of the runtime, a fork.

use crate::{everywhere, watched};
use raddle::cancel::{self, Token};
use raddle::{Runtime, channel, csp};
use raddle_net::io::Descriptor;
use raddle_net::net::{TcpListener, TcpStream};
use std::io::{self, Read as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_cancelled_region_ends_an_accept() {
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (token, (says, said)) = (Token::new(), channel::bounded(1));
        let region = token.clone();
        let server = csp::spawn(move || {
            let served = region.run(|| {
                csp::scope(|s| {
                    for _ in 0..3 {
                        s.spawn(|| listener.accept().map(drop));
                    }
                    says.send(()).unwrap();
                    listener.accept().map(drop)
                })
            });
            served.is_err()
        });
        said.recv().unwrap();
        csp::yield_now();
        token.cancel();
        assert!(server.join().unwrap());
    });
}

#[test]
fn a_deadline_ends_a_read() {
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_peer, _) = listener.accept().unwrap();
        let read = cancel::within(Duration::from_millis(5), || silent.read(&mut [0; 8]));
        assert!(read.is_err());
    });
}

/// What nobody waits for any more keeps no runtime.
#[test]
fn a_runtime_ends_after_waits_that_were_given_up() {
    watched();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    runtime.run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let late = cancel::within(Duration::from_millis(1), || listener.accept().map(drop));
        assert!(late.is_err());
        raddle::task::block_on(async {
            let two = [listener.readable(), listener.readable()];
            for wait in two {
                let late = raddle::task::timeout(Duration::from_millis(1), wait).await;
                assert!(late.is_err());
            }
        });
    });
    runtime.shutdown();
}

/// In a forked child who was a process is an OS thread, and its sockets are its own.
#[test]
fn a_child_uses_its_sockets_and_leaves_the_parents_alone() {
    watched();
    let runtime = Runtime::builder().workers(1).build().unwrap();
    runtime.run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asks = csp::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        // It has waited before: the kernel tells the parent of it.
        let (mut peer, _) = listener.accept().unwrap();
        // SAFETY: the child makes calls of Raddle's and the standard library's only, as a process that forks may.
        let child = unsafe { libc::fork() };
        if child == 0 {
            peer.write_all(b"from the child").unwrap();
            drop((peer, listener));
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        assert!(child > 0);
        let mut status = 0;
        raddle::blocking(|| {
            // SAFETY: the child is ours, and its status is written to a place of ours.
            unsafe { libc::waitpid(child, &raw mut status, 0) }
        });
        assert_eq!(status, 0);
        peer.write_all(b", and the parent").unwrap();
        drop(peer);
        assert_eq!(asks.join().unwrap(), "from the child, and the parent");
        // The listener's edges still come to the parent.
        let again = csp::spawn(move || TcpStream::connect(address).map(drop).unwrap());
        listener.accept().unwrap();
        again.join().unwrap();
    });
}

fn waits_for_a_byte() {
    let (reader, mut writer) = io::pipe().unwrap();
    let reader = Descriptor::new(reader);
    csp::scope(|s| {
        s.spawn(|| reader.wait_readable().unwrap());
        csp::yield_now();
        writer.write_all(b"x").unwrap();
    });
}

/// Whatever others are about to do with descriptors of theirs at that moment.
#[test]
fn a_child_waits_though_others_did_when_it_was_forked() {
    if cfg!(raddle_asan) {
        // Its allocator has a lock that a child finds held.
        return;
    }
    watched();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let stop = AtomicBool::new(false);
    runtime.run(|| {
        csp::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        waits_for_a_byte();
                    }
                });
            }
            raddle::blocking(|| (0..60).for_each(|_| fork_and_wait()));
            stop.store(true, Ordering::Relaxed);
        });
    });
}

fn fork_and_wait() {
    // SAFETY: the child makes calls of Raddle's and the standard library's only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: one that hangs is ended after minutes.
        unsafe { libc::alarm(300) };
        Runtime::builder().workers(1).build().unwrap().run(waits_for_a_byte);
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: the child is ours, and its status is written to a place of ours.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
}

/// Whoever ends a wait does so at the worst moment: after the look that says that it goes on, and before the wait.
#[test]
fn a_first_wait_that_is_ended_as_it_begins_ends() {
    watched();
    let runtime = Runtime::builder().workers(1).build().unwrap();
    runtime.run(|| {
        let (reader, _writer) = io::pipe().unwrap();
        let reader = Descriptor::new(reader);
        let is_over = AtomicBool::new(false);
        let looks = || {
            let was_over = is_over.swap(true, Ordering::Relaxed);
            reader.look_again();
            was_over
        };
        assert!(reader.wait_unless(true, None, looks).unwrap());
    });
}

/// Reads a line, byte by byte.
fn line(mut from: &TcpStream) -> io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while from.read(&mut byte)? == 1 && byte != *b"\n" {
        line.push(byte[0]);
    }
    Ok(String::from_utf8(line).unwrap())
}

/// Peers that say a part and then nothing keep nobody from being served, and are ended by a cancellation; those that
/// reset, at once.
#[test]
fn slow_peers_and_those_that_reset_keep_nobody_waiting() {
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (given_up, over, patience) = (AtomicUsize::new(0), AtomicUsize::new(0), Token::new());
        csp::scope(|s| {
            let server = s.spawn(|| {
                csp::scope(|s| {
                    // Twenty that say a part, ten that reset, and one that says all.
                    for stream in listener.incoming().take(31) {
                        let stream = stream.unwrap();
                        s.spawn(|| {
                            let stream = stream;
                            match patience.run(|| line(&stream)) {
                                Ok(Ok(said)) if said == "hello" => (&stream).write_all(b"hello\n").unwrap(),
                                Ok(_) => _ = over.fetch_add(1, Ordering::Relaxed),
                                Err(_) => _ = given_up.fetch_add(1, Ordering::Relaxed),
                            }
                        });
                    }
                });
            });
            let slow: Vec<_> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
            slow.iter().for_each(|mut slow| slow.write_all(b"hel").unwrap());
            for _ in 0..10 {
                let resets = TcpStream::connect(address).unwrap();
                let linger = rustix::net::sockopt::set_socket_linger(&resets, Some(Duration::ZERO));
                linger.unwrap();
                drop(resets);
            }
            let mut good = TcpStream::connect(address).unwrap();
            good.write_all(b"hello\n").unwrap();
            assert_eq!(line(&good).unwrap(), "hello");
            // The server closes those that are late.
            patience.cancel();
            for slow in &slow {
                assert_eq!(line(slow).unwrap_or_default(), "");
            }
            server.join().unwrap();
        });
        let (given_up, over) = (given_up.into_inner(), over.into_inner());
        assert!(given_up >= 20 && given_up + over == 30, "{given_up} and {over}");
    });
}
