//! Signals that come while many wait, to each OS thread of the program; and those of a peer that is gone.

use crate::child::{assert_success, in_child};
use crate::{KINDS, everywhere, start, watched};
use raddle::{Runtime, task};
use raddle_net::net::unix::UnixStream;
use raddle_net::net::{TcpListener, TcpStream};
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static HANDLED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count(_signal: libc::c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// Calls of the kernel are interrupted by it: no restart.
fn handle(signal: libc::c_int) {
    // SAFETY: all zeros is an action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the handler adds to a number.
    assert_eq!(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }, 0);
}

/// A signal for each OS thread that there is.
fn disturb(signal: libc::c_int) {
    let me = std::process::id();
    for thread in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let number: libc::pid_t = thread.file_name().to_str().unwrap().parse().unwrap();
        // SAFETY: it takes numbers; the thread may be gone, which is an error.
        let _gone = unsafe { libc::syscall(libc::SYS_tgkill, me, number, signal) };
    }
}

/// Whoever may wait gets all bytes, each after a few rounds of signals.
fn read_while_disturbed() {
    let mut ends = Vec::new();
    let mut reads: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for kind in KINDS {
        let (mut one, other) = UnixStream::pair().unwrap();
        ends.push(other);
        let read = start(kind, move || {
            let mut all = Vec::new();
            one.read_to_end(&mut all).unwrap();
            assert_eq!(all, b"abcdef");
        });
        reads.push(Box::new(read));
    }
    let (one, other) = UnixStream::pair().unwrap();
    ends.push(other);
    let polls = task::spawn(async move {
        let (mut all, mut bytes) = (Vec::new(), [0; 3]);
        loop {
            match poll_fn(|context| one.poll_read(context, &mut bytes)).await.unwrap() {
                0 => break,
                n => all.extend_from_slice(&bytes[..n]),
            }
        }
        assert_eq!(all, b"abcdef");
    });
    for byte in b"abcdef" {
        for mut end in &ends {
            end.write_all(&[*byte]).unwrap();
        }
        // Until it has come: other threads go on meanwhile.
        let before = HANDLED.load(Ordering::Relaxed);
        while HANDLED.load(Ordering::Relaxed) < before + 20 {
            raddle::csp::yield_now();
        }
    }
    drop(ends);
    reads.into_iter().for_each(|read| read());
    task::block_on(polls).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connects = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, from) = listener.accept().unwrap();
    assert_eq!((from, accepted.peer_addr().unwrap()), (connects.local_addr().unwrap(), from));
}

/// In a program of its own: the signals are for all its threads.
#[test]
fn no_signal_ends_a_wait() {
    let ended = in_child("signals::no_signal_ends_a_wait", || {
        handle(libc::SIGUSR1);
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let disturbs = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                disturb(libc::SIGUSR1);
                std::thread::yield_now();
            }
        });
        everywhere(read_while_disturbed);
        over.store(true, Ordering::Relaxed);
        disturbs.join().unwrap();
    });
    assert_success(&ended);
}

/// Writes to a peer that is gone, until that is known.
fn write_to_nobody(mut stream: impl io::Write) -> ErrorKind {
    loop {
        match stream.write(b"nobody reads this") {
            Ok(written) => {
                assert_ne!(written, 0);
                std::thread::yield_now();
            }
            Err(error) => return error.kind(),
        }
    }
}

/// In a program in which SIGPIPE would end it, as in one whose main function is C's.
#[test]
fn a_peer_that_is_gone_is_an_error_and_no_signal() {
    watched();
    let ended = in_child("signals::a_peer_that_is_gone_is_an_error_and_no_signal", || {
        // SAFETY: it sets what the kernel does by itself.
        assert_ne!(unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) }, libc::SIG_ERR);
        Runtime::builder().workers(1).build().unwrap().run(|| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            drop(listener.accept().unwrap());
            let kind = write_to_nobody(&one);
            assert!([ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&kind), "{kind:?}");
            assert_eq!(write_to_nobody(&one), ErrorKind::BrokenPipe);
        });
    });
    assert_success(&ended);
}
