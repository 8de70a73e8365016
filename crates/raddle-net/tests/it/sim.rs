//! The simulated network: as the kernel's without a seed; by seeds it shows what programs take for granted.

use crate::everywhere;
use raddle::explore::{Options, explore, try_explore};
use raddle::{cancel, csp};
use raddle_net::net::Shutdown;
use raddle_net::net::sim::{Faults, TcpListener, TcpStream};
use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Faults are the program's, and so are addresses, of which one that was given back is the next one's: one of these
/// tests at a time.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn with(faults: Faults, f: impl FnOnce()) {
    let _one = alone();
    faults.set();
    f();
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, from) = listener.accept().unwrap();
    assert_eq!(from, one.local_addr().unwrap());
    assert_eq!(one.peer_addr().unwrap(), other.local_addr().unwrap());
    (one, other)
}

fn kind<T>(result: std::io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn without_a_seed_it_is_as_the_kernels() {
    let _one = alone();
    everywhere(|| {
        let (mut one, mut other) = pair();
        one.write_all(b"hello").unwrap();
        let mut bytes = [0; 8];
        assert_eq!((other.peek(&mut bytes).unwrap(), other.read(&mut bytes).unwrap()), (5, 5));
        // Time-outs, no wait, the end of one direction and of the other.
        other.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(kind(other.read(&mut bytes)), Some(ErrorKind::WouldBlock));
        other.set_nonblocking(true).unwrap();
        assert_eq!(kind(other.read(&mut bytes)), Some(ErrorKind::WouldBlock));
        other.set_nonblocking(false).unwrap();
        one.shutdown(Shutdown::Write).unwrap();
        assert_eq!(other.read(&mut bytes).unwrap(), 0);
        assert_eq!(kind(one.write(b"x")), Some(ErrorKind::BrokenPipe));
        let mut clone = other.try_clone().unwrap();
        drop(other);
        clone.write_all(b"still there").unwrap();
        drop(clone);
        let mut text = String::new();
        one.read_to_string(&mut text).unwrap();
        assert_eq!(text, "still there");
        assert!(cancel::within(Duration::from_secs(600), || one.read(&mut [])).is_ok());
        // Who leaves something unread resets.
        let (mut one, other) = pair();
        one.write_all(b"unread").unwrap();
        drop(other);
        assert_eq!(kind(one.read(&mut bytes)), Some(ErrorKind::ConnectionReset));
        // A full connection waits for its reader.
        let (mut one, mut other) = pair();
        let reads = csp::spawn(move || {
            let mut all = Vec::new();
            other.read_to_end(&mut all).map(|_| all.len())
        });
        one.write_all(&[7; 300_000]).unwrap();
        drop(one);
        assert_eq!(reads.join().unwrap().unwrap(), 300_000);
    });
}

#[test]
fn an_address_is_had_once_and_where_nobody_listens_none_connects() {
    let _one = alone();
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(kind(TcpListener::bind(address)), Some(ErrorKind::AddrInUse));
        let clone = listener.try_clone().unwrap();
        drop(listener);
        let mut waits = TcpStream::connect(address).unwrap();
        drop(clone);
        assert_eq!(kind(TcpStream::connect(address)), Some(ErrorKind::ConnectionRefused));
        assert_eq!(kind(waits.read(&mut [0])), Some(ErrorKind::ConnectionReset));
        drop(TcpListener::bind(address).unwrap());
    });
}

/// Asks a server that answers each line by its length.
fn ask(read_line: fn(&mut TcpStream) -> Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:80").unwrap();
    let server = csp::spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        let line = read_line(&mut peer);
        peer.write_all(&[line.len() as u8]).unwrap();
    });
    let mut client = TcpStream::connect("127.0.0.1:80").unwrap();
    client.write_all(b"four\n").unwrap();
    let mut answer = [0];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(answer, [5]);
    server.join().unwrap();
}

/// Most often a line comes in one piece.
fn by_one_read(peer: &mut TcpStream) -> Vec<u8> {
    let mut bytes = [0; 64];
    let count = peer.read(&mut bytes).unwrap();
    bytes[..count].to_vec()
}

fn to_the_end_of_the_line(peer: &mut TcpStream) -> Vec<u8> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        peer.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    line
}

fn runs(iterations: u32) -> Options {
    Options { iterations, ..Options::default() }
}

#[test]
fn pieces_show_who_takes_one_read_for_one_message() {
    with(Faults::default(), || {
        explore(runs(60), || ask(to_the_end_of_the_line));
        let failure = try_explore(runs(300), || ask(by_one_read)).unwrap_err();
        assert!(failure.to_string().contains("panic"), "{failure}");
    });
    with(Faults { delays: true, pieces: false, resets: false }, || {
        explore(runs(60), || ask(by_one_read));
    });
}

/// Each waits for the other to begin: with the kernel's sockets that might be for ever, and here it is a deadlock.
#[test]
fn who_waits_for_a_peer_that_never_writes_is_a_deadlock() {
    with(Faults::default(), || {
        let failure = try_explore(runs(5), || {
            let (mut one, mut other) = pair();
            let reads = csp::spawn(move || other.read(&mut [0]).map(drop));
            let _never = one.read(&mut [0]);
            let _never = reads.join();
        });
        assert!(failure.unwrap_err().to_string().contains("deadlock"));
    });
}

/// An hour of patience takes no time, and is over only when nothing has come for an hour.
#[test]
fn times_are_the_schedules_own() {
    with(Faults::default(), || {
        explore(runs(40), || {
            let (mut one, mut other) = pair();
            let began = raddle::explore::now();
            other.set_read_timeout(Some(Duration::from_secs(3600))).unwrap();
            let writes = csp::spawn(move || {
                csp::sleep(Duration::from_secs(3000));
                one.write_all(b"x").unwrap();
                one
            });
            other.read_exact(&mut [0]).unwrap();
            assert!(raddle::explore::now() - began >= Duration::from_secs(3000));
            assert_eq!(kind(other.read(&mut [0])), Some(ErrorKind::WouldBlock));
            assert!(raddle::explore::now() - began >= Duration::from_secs(6600));
            drop(writes.join().unwrap());
        });
    });
}

#[test]
fn resets_come_when_they_are_asked_for_and_both_ends_are_told() {
    with(Faults { resets: true, ..Faults::default() }, || {
        let talk = || {
            let (mut one, mut other) = pair();
            let echoes = csp::spawn(move || {
                let mut bytes = [0; 16];
                loop {
                    match other.read(&mut bytes) {
                        Ok(0) | Err(_) => return,
                        Ok(count) if other.write_all(&bytes[..count]).is_err() => return,
                        Ok(_) => {}
                    }
                }
            });
            let all = (0..20).all(|_| one.write_all(b"x").is_ok() && one.read_exact(&mut [0]).is_ok());
            drop(one);
            echoes.join().unwrap();
            all
        };
        explore(runs(40), move || {
            let _all_or_not = talk();
        });
        assert!(try_explore(runs(100), move || assert!(talk())).is_err());
    });
}
