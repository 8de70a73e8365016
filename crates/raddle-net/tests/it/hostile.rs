//! What a program may do to descriptors by safe means, and should not: each gets an error, or disturbs only itself.

use crate::{everywhere, watched};
use raddle::cancel::{self, Token};
use raddle::{Runtime, channel, csp, task};
use raddle_net::io::Descriptor;
use raddle_net::net::unix::{UnixDatagram, UnixListener, UnixStream};
use raddle_net::net::{TcpListener, TcpStream, UdpSocket};
use std::cell::Cell;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::{Duration, Instant};

fn would_block<R>() -> io::Result<R> {
    Err(ErrorKind::WouldBlock.into())
}

/// The kernel polls no regular file: who says all the same that it would wait there lets others run, and can be
/// cancelled.
#[test]
fn a_wait_for_what_is_always_ready_can_be_ended() {
    everywhere(|| {
        let file = Descriptor::new(File::open("/proc/self/exe").unwrap());
        let (token, turns) = (Token::new(), AtomicUsize::new(0));
        csp::scope(|s| {
            let region = token.clone();
            let turns = &turns;
            let waits = s.spawn(move || {
                region.run(|| {
                    file.read_with(|_| {
                        turns.fetch_add(1, Ordering::Relaxed);
                        would_block::<()>()
                    })
                })
            });
            while turns.load(Ordering::Relaxed) < 3 {
                csp::yield_now();
            }
            token.cancel();
            assert!(waits.join().unwrap().is_err());
        });
    });
}

/// As the standard library's, whether anything is there or not.
#[test]
fn nothing_is_read_and_written_at_once() {
    everywhere(|| {
        let (reader, writer) = io::pipe().unwrap();
        let (mut reader, mut writer) = (Descriptor::new(reader), Descriptor::new(writer));
        assert_eq!(reader.read(&mut []).unwrap(), 0);
        assert_eq!(writer.write(&[]).unwrap(), 0);
    });
}

/// Two descriptors that it gives in turn.
struct Lies {
    ends: [OwnedFd; 2],
    turn: Cell<bool>,
}

impl AsFd for Lies {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.turn.set(!self.turn.get());
        self.ends[usize::from(self.turn.get())].as_fd()
    }
}

#[test]
fn who_gives_another_descriptor_each_time_hurts_only_itself() {
    everywhere(|| {
        for _ in 0..20 {
            let (one, other) = UnixStream::pair().unwrap();
            let lies = Descriptor::new(Lies { ends: [one.into(), other.into()], turn: Cell::new(false) });
            assert!(!lies.wait_readable_until(Instant::now() + Duration::from_micros(50)).unwrap());
            let mut waits = pin!(lies.readable());
            let polled = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        echoes();
    });
}

/// Others are served as before.
fn echoes() {
    let (mut one, mut other) = UnixStream::pair().unwrap();
    csp::scope(|s| {
        s.spawn(|| {
            let mut byte = [0];
            other.read_exact(&mut byte).unwrap();
            other.write_all(&byte).unwrap();
        });
        one.write_all(b"x").unwrap();
        one.read_exact(&mut [0]).unwrap();
    });
}

/// A future that is never dropped leaves its waker: it goes with the descriptor, or the edge calls it.
#[test]
fn forgotten_futures_keep_no_runtime() {
    watched();
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        runtime.run(|| {
            let (one, other) = UnixStream::pair().unwrap();
            for stream in [&one, &other] {
                let mut waits = Box::pin(stream.readable());
                let polled = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                std::mem::forget(waits);
                std::mem::forget(stream.when_readable().unwrap());
            }
            (&one).write_all(b"x").unwrap();
            echoes();
        });
        runtime.shutdown();
    }
}

mod dies {
    use super::{AtomicUsize, Ordering, RawWaker, RawWakerVTable, Waker};
    use std::ptr::null;

    /// How often one was called.
    pub(super) static CALLED: AtomicUsize = AtomicUsize::new(0);

    fn called(place: *const ()) {
        CALLED.fetch_add(1, Ordering::Relaxed);
        panics(place);
    }

    fn clone(_: *const ()) -> RawWaker {
        RawWaker::new(null(), &TABLE)
    }

    fn panics(_: *const ()) {
        if !std::thread::panicking() {
            panic!("the end of a waker of this test's");
        }
    }

    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, called, |_| (), panics);

    /// Its end panics, and to call it does, too.
    pub(super) fn waker() -> std::mem::ManuallyDrop<Waker> {
        // SAFETY: no function of the table uses the pointer.
        std::mem::ManuallyDrop::new(unsafe { Waker::from_raw(clone(null())) })
    }
}

#[test]
fn wakers_whose_end_panics_lose_nobody() {
    watched();
    for workers in [1, 2] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        runtime.run(|| {
            let (one, mut other) = UnixStream::pair().unwrap();
            let waker = dies::waker();
            // In the place of one another is left, and that one's end panics; what is left then goes with an edge.
            let mut replaced = pin!(one.readable());
            assert!(replaced.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let again = std::panic::AssertUnwindSafe(|| {
                replaced.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
            });
            assert!(std::panic::catch_unwind(again).is_err());
            let called = dies::CALLED.load(Ordering::Relaxed);
            let mut told = pin!(one.readable());
            assert!(told.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            csp::scope(|s| {
                s.spawn(|| (&one).read_exact(&mut [0]).unwrap());
                s.spawn(|| task::block_on(one.readable()).unwrap());
                csp::yield_now();
                other.write_all(b"xy").unwrap();
            });
            // Both may have found what they wanted before the edge was told; the end of one that was not called panics.
            while dies::CALLED.load(Ordering::Relaxed) == called {
                csp::yield_now();
            }
            // What is left when the descriptor goes.
            let (one, _other) = UnixStream::pair().unwrap();
            let mut left = Box::pin(one.readable());
            assert!(left.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            std::mem::forget(left);
            drop(one);
        });
        runtime.shutdown();
    }
}

/// Reads when it ends.
struct ReadsInDrop<'a>(&'a UnixStream, &'a AtomicBool);

impl Drop for ReadsInDrop<'_> {
    fn drop(&mut self) {
        self.1.store(true, Ordering::Relaxed);
        (&mut self.0).read_exact(&mut [0]).unwrap();
    }
}

/// A wait in what a panic, or a cancellation, runs on its way.
#[test]
fn a_wait_while_something_unwinds_ends() {
    watched();
    for (workers, light) in [(1, false), (2, false), (1, true), (2, true)] {
        let builder = Runtime::builder().workers(workers);
        // SAFETY: no process uses a thread-local variable.
        let builder = if light { unsafe { builder.light_processes() } } else { builder };
        let runtime = builder.build().unwrap();
        for in_region in [false, true] {
            let (one, mut other) = UnixStream::pair().unwrap();
            let reads = AtomicBool::new(false);
            std::thread::scope(|s| {
                s.spawn(|| {
                    while !reads.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    other.write_all(b"x").unwrap();
                });
                runtime.run(|| {
                    let panics = || {
                        let _reads = ReadsInDrop(&one, &reads);
                        panic!("of this test's");
                    };
                    let ended = csp::scope(|s| {
                        let run = || if in_region { Token::new().run(panics) } else { Ok(panics()) };
                        s.spawn(run).join()
                    });
                    assert!(ended.is_err());
                });
            });
        }
        runtime.shutdown();
    }
}

/// Each call that waits, with what it waits for kept from it.
#[test]
fn a_cancelled_region_ends_each_wait() {
    everywhere(|| {
        let (one, _other) = UnixStream::pair().unwrap();
        let full = full_stream();
        let full_too = full.0.try_clone().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::from(unnamed_listener());
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _accepted = listener.accept().unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let datagram = UnixDatagram::unbound().unwrap();
        let (reader, _writer) = io::pipe().unwrap();
        let reader = Descriptor::new(reader);
        let waits: Vec<Box<dyn FnOnce() -> bool + Send>> = vec![
            Box::new(move || (&one).read(&mut [0]).is_ok()),
            Box::new(move || (&full.0).write(&[0; 64]).is_ok()),
            Box::new(move || full_too.writable_now()),
            Box::new(move || listener.accept().is_ok()),
            Box::new(move || unix.accept().is_ok()),
            Box::new(move || peer.peek(&mut [0]).is_ok()),
            Box::new(move || udp.recv_from(&mut [0]).is_ok()),
            Box::new(move || datagram.recv(&mut [0]).is_ok()),
            Box::new(move || reader.wait_readable().is_ok()),
        ];
        let count = waits.len();
        let token = Token::new();
        let (begins, begun) = channel::bounded(count);
        let all: Vec<_> = waits
            .into_iter()
            .map(|wait| {
                let (region, begins) = (token.clone(), begins.clone());
                csp::spawn(move || {
                    region.run(|| {
                        begins.send(()).unwrap();
                        wait()
                    })
                })
            })
            .collect();
        (0..count).for_each(|_| begun.recv().unwrap());
        csp::yield_now();
        token.cancel();
        for (n, wait) in all.into_iter().enumerate() {
            assert!(wait.join().unwrap().is_err(), "the wait {n}");
        }
        drop(full.1);
    });
}

/// One that takes nothing more, and its other end.
fn full_stream() -> (UnixStream, UnixStream) {
    let (one, other) = UnixStream::pair().unwrap();
    one.set_nonblocking(true).unwrap();
    while (&one).write(&[0; 4096]).is_ok() {}
    one.set_nonblocking(false).unwrap();
    (one, other)
}

/// A wait by a selection, with a case that never comes beside it.
trait WritableNow {
    fn writable_now(&self) -> bool;
}

impl WritableNow for UnixStream {
    fn writable_now(&self) -> bool {
        channel::select! {
            recv(self.when_writable().unwrap()) -> _ => true,
            recv(channel::never::<()>()) -> _ => false,
        }
    }
}

fn unnamed_listener() -> std::os::unix::net::UnixListener {
    use std::os::linux::net::SocketAddrExt as _;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("raddle-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
    std::os::unix::net::UnixListener::bind_addr(&address).unwrap()
}

/// Nobody can close a socket that another waits at; what ends such a wait is `shutdown`, of either half.
#[test]
fn a_shutdown_by_another_ends_the_wait() {
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = Arc::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let (other, _) = listener.accept().unwrap();
        let reads = csp::spawn({
            let one = one.clone();
            move || (&*one).read(&mut [0]).unwrap()
        });
        csp::yield_now();
        one.shutdown(Shutdown::Read).unwrap();
        assert_eq!(reads.join().unwrap(), 0);
        // The other half is as it was.
        (&*one).write_all(b"x").unwrap();
        (&other).read_exact(&mut [0]).unwrap();
        one.shutdown(Shutdown::Both).unwrap();
        assert_eq!((&other).read(&mut [0]).unwrap(), 0);
    });
}

/// `poll_read` is for one task; `readable` for any number.
async fn takes_in_a_task(one: &UnixStream, came: &AtomicUsize) {
    loop {
        one.readable().await.unwrap();
        let read = poll_fn(|context| Poll::Ready(one.poll_read(context, &mut [0; 3])));
        match read.await {
            Poll::Ready(count) if count.as_ref().is_ok_and(|count| *count > 0) => {
                came.fetch_add(1, Ordering::Relaxed);
            }
            Poll::Ready(end) => {
                end.unwrap();
                return;
            }
            // Another one was faster.
            Poll::Pending => {}
        }
    }
}

/// Processes of two runtimes, an OS thread and a task wait at one socket, at the same time.
#[test]
fn two_runtimes_wait_at_one_socket() {
    watched();
    const BYTES: usize = 600;
    let runtimes = [1, 2].map(|workers| Runtime::builder().workers(workers).build().unwrap());
    let (one, mut other) = UnixStream::pair().unwrap();
    let came = AtomicUsize::new(0);
    let takes = || {
        while (&one).read(&mut [0; 3]).unwrap() > 0 {
            came.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|s| {
        s.spawn(takes);
        for runtime in &runtimes {
            s.spawn(|| {
                runtime.run(|| {
                    csp::scope(|s| {
                        (0..3).for_each(|_| drop(s.spawn(takes)));
                        task::block_on(takes_in_a_task(&one, &came));
                    });
                });
            });
        }
        for n in 0..BYTES {
            other.write_all(b"x").unwrap();
            if n % 7 == 0 {
                std::thread::yield_now();
            }
        }
        drop(other);
    });
    assert!((BYTES / 3..=BYTES).contains(&came.load(Ordering::Relaxed)));
    for runtime in runtimes {
        runtime.shutdown();
    }
}

/// One runtime ends while another one's processes wait at the same socket, and what it told of is forgotten.
#[test]
fn a_runtime_ends_and_the_socket_goes_on() {
    watched();
    let (one, mut other) = UnixStream::pair().unwrap();
    for turn in 0..4 {
        let runtime = Runtime::builder().workers(1 + turn % 2).build().unwrap();
        runtime.run(|| {
            let late = cancel::within(Duration::from_micros(100), || (&one).read(&mut [0]).map(drop));
            assert!(late.is_err());
            csp::scope(|s| {
                s.spawn(|| (&one).read_exact(&mut [0]).unwrap());
                csp::yield_now();
                other.write_all(b"x").unwrap();
            });
        });
        runtime.shutdown();
    }
}

/// A closure that says that it would wait, though it need not: it is called again at the next edge.
#[test]
fn a_try_that_gives_up_for_no_reason_is_repeated_at_the_next_edge() {
    everywhere(|| {
        let (one, mut other) = UnixStream::pair().unwrap();
        let one = Descriptor::nonblocking(std::os::unix::net::UnixStream::from(one)).unwrap();
        let tries = AtomicUsize::new(0);
        csp::scope(|s| {
            s.spawn(|| {
                let mut left = 50;
                one.read_with(|_| {
                    tries.fetch_add(1, Ordering::Relaxed);
                    left -= 1;
                    if left == 0 { Ok(()) } else { would_block() }
                })
                .unwrap();
            });
            let mut seen = 0;
            while seen < 50 {
                other.write_all(b"x").unwrap();
                while tries.load(Ordering::Relaxed) == seen {
                    csp::yield_now();
                }
                seen = tries.load(Ordering::Relaxed);
            }
        });
    });
}
