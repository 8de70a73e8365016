//! Many descriptors, and no more of them.

use crate::child::{assert_success, in_child};
use crate::everywhere;
use raddle::{Runtime, csp};
use raddle_net::net::unix::UnixStream;
use raddle_net::net::{TcpListener, TcpStream};
use std::fs::File;
use std::io::{self, Read as _, Write as _};

/// How many pairs there are: by hand, 50 000 of them.
fn pairs() -> usize {
    std::env::var("NET_PAIRS").map_or(150, |number| number.parse().expect("a number"))
}

#[test]
fn each_of_many_who_wait_is_woken_once() {
    everywhere(|| {
        let (readers, mut writers): (Vec<_>, Vec<_>) =
            (0..pairs()).map(|_| UnixStream::pair().unwrap()).unzip();
        let waits = |(n, mut reader): (usize, UnixStream)| {
            csp::spawn(move || {
                let mut bytes = [0; 8];
                reader.read_exact(&mut bytes).unwrap();
                (u64::from_ne_bytes(bytes), n as u64)
            })
        };
        let all: Vec<_> = readers.into_iter().enumerate().map(waits).collect();
        csp::yield_now();
        // In another order than they wait: 7919 is prime, and does not divide the count.
        let count = writers.len();
        for n in (0..count).map(|n| (n * 7919 + 13) % count) {
            writers[n].write_all(&(n as u64).to_ne_bytes()).unwrap();
        }
        for wait in all {
            let (written, number) = wait.join().unwrap();
            assert_eq!(written, number);
        }
    });
}

/// Opens files until there are no descriptors any more.
fn exhaust() -> Vec<File> {
    let opens = || File::open("/dev/null").ok();
    std::iter::from_fn(opens).collect()
}

fn is_refused<T>(accepted: io::Result<T>) -> bool {
    accepted.is_err_and(|error| error.raw_os_error() == Some(libc::EMFILE))
}

fn accept_at_the_limit() {
    let limit = libc::rlimit { rlim_cur: 200, rlim_max: 200 };
    // SAFETY: it reads the limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    csp::scope(|s| {
        // It waits when the connection comes for which there is no descriptor, and is told so; and so is who asks anew.
        let waits = s.spawn(|| is_refused(listener.accept()));
        csp::yield_now();
        let mut files = exhaust();
        files.pop();
        let client = TcpStream::connect(address).unwrap();
        assert!(waits.join().unwrap());
        assert!(is_refused(listener.accept()));
        // The connection is still there for the first who has room.
        files.pop();
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"x").unwrap();
        drop((client, files));
    });
}

/// In a program of its own: a forked child would begin with the descriptors of all tests that run at that moment,
/// which may be more than the limit leaves.
#[test]
fn an_accept_without_descriptors_is_refused_and_loses_no_connection() {
    let ended = in_child("many::an_accept_without_descriptors_is_refused_and_loses_no_connection", || {
        Runtime::builder().workers(1).build().unwrap().run(accept_at_the_limit);
    });
    assert_success(&ended);
}
