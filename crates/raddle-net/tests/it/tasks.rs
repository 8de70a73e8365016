//! Tasks wait by futures; a waker that panics, and a future that is dropped, disturb nobody.

use crate::{everywhere, watched};
use raddle::{Runtime, csp, task};
use raddle_net::io::Descriptor;
use raddle_net::net::{TcpListener, TcpStream};
use std::future::{Future, poll_fn};
use std::io::{Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

async fn echo(peer: TcpStream) {
    let mut bytes = [0; 512];
    loop {
        let n = poll_fn(|context| peer.poll_read(context, &mut bytes)).await.unwrap();
        if n == 0 {
            return;
        }
        let mut rest = &bytes[..n];
        while !rest.is_empty() {
            let n = poll_fn(|context| peer.poll_write(context, rest)).await.unwrap();
            rest = &rest[n..];
        }
    }
}

#[test]
fn tasks_serve_processes() {
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = task::spawn(async move {
            for _ in 0..8 {
                let (peer, _) = poll_fn(|context| listener.poll_accept(context)).await.unwrap();
                drop(task::spawn(echo(peer)));
            }
        });
        let clients: Vec<_> = (0..8).map(|n| csp::spawn(move || ask(address, n))).collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        task::block_on(server).unwrap();
    });
}

fn ask(address: std::net::SocketAddr, n: u8) {
    let mut stream = TcpStream::connect(address).unwrap();
    for _ in 0..20 {
        let mut answer = [0; 100];
        stream.write_all(&[n; 100]).unwrap();
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [n; 100]);
    }
}

#[test]
fn a_call_that_waits_panics_in_a_task() {
    everywhere(|| {
        let (reader, _writer) = std::io::pipe().unwrap();
        let reader = Descriptor::new(reader);
        let waits = task::spawn(async move { reader.wait_readable() });
        assert!(task::block_on(waits).unwrap_err().is_panic());
    });
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker of this test's");
    }
}

#[test]
fn a_waker_that_panics_loses_nobody() {
    everywhere(|| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let reader = Descriptor::new(reader);
        let (waker, quiet) = (Waker::from(Arc::new(Panics)), Waker::noop());
        let mut panics = pin!(reader.readable());
        let mut given_up = Box::pin(reader.readable());
        assert!(panics.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(given_up.as_mut().poll(&mut Context::from_waker(quiet)).is_pending());
        drop(given_up);
        csp::scope(|s| {
            s.spawn(|| reader.wait_readable().unwrap());
            s.spawn(|| task::block_on(reader.readable()).unwrap());
            csp::yield_now();
            writer.write_all(b"x").unwrap();
        });
    });
}

/// A clone that panics, and a poll that has found something before the edge came, leave nothing outstanding: the
/// runtime ends, though both descriptors last longer.
#[test]
fn what_a_poll_has_left_ends_with_it() {
    watched();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let reader = Descriptor::new(reader);
    let (mut client, peer) = std::os::unix::net::UnixStream::pair().unwrap();
    let peer = raddle_net::net::unix::UnixStream::from(peer);
    let runtime = Runtime::builder().workers(1).build().unwrap();
    runtime.run(|| {
        let waker = unclonable::waker();
        let mut wait = pin!(reader.readable());
        let polled = AssertUnwindSafe(|| wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(catch_unwind(polled).is_err());
        task::block_on(poll_fn(|context| {
            let polled = peer.poll_read(context, &mut [0; 8]);
            if polled.is_pending() {
                client.write_all(b"x").unwrap();
                context.waker().wake_by_ref();
            }
            polled
        }))
        .unwrap();
    });
    runtime.shutdown();
    writer.write_all(b"x").unwrap();
}

mod unclonable {
    use std::task::{RawWaker, RawWakerVTable, Waker};

    fn clone(_: *const ()) -> RawWaker {
        panic!("a waker of this test's");
    }

    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| ());

    pub(super) fn waker() -> Waker {
        // SAFETY: no function of the table uses the pointer.
        unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
    }
}

#[test]
fn an_os_thread_blocks_on_a_future() {
    watched();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let waits = std::thread::spawn(move || {
        let reader = Descriptor::new(reader);
        task::block_on(reader.readable()).unwrap();
        let mut byte = [0];
        (&reader).read_exact(&mut byte).unwrap();
        byte[0]
    });
    writer.write_all(b"z").unwrap();
    assert_eq!(waits.join().unwrap(), b'z');
}

async fn read_all(peer: &TcpStream) -> Vec<u8> {
    let (mut all, mut bytes) = (Vec::new(), [0; 64]);
    loop {
        match poll_fn(|context| peer.poll_read(context, &mut bytes)).await.unwrap() {
            0 => return all,
            count => all.extend_from_slice(&bytes[..count]),
        }
    }
}

/// A read that gets less than it asks for says that nothing is left; but the end may be, or what is behind urgent data.
#[test]
fn a_task_finds_what_is_behind_a_short_read() {
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for turn in 0..12 {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (peer, _) = listener.accept().unwrap();
            let reads = task::spawn(async move { read_all(&peer).await });
            // It waits already, or not yet.
            if turn % 2 == 0 {
                csp::yield_now();
            }
            client.write_all(b"ab").unwrap();
            if turn % 3 == 0 {
                let urgent = rustix::net::SendFlags::OOB;
                assert_eq!(rustix::net::send(&client, b"!", urgent).unwrap(), 1);
            }
            if turn % 4 < 2 {
                csp::yield_now();
            }
            client.write_all(b"cd").unwrap();
            drop(client);
            assert_eq!(task::block_on(reads).unwrap(), b"abcd");
        }
    });
}

/// The edge of what `readable` has seen may not have been told yet: who then only tries gets it all the same, and does
/// not try for ever on the worker that would tell.
#[test]
fn what_is_readable_is_read_behind_a_short_read() {
    everywhere(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, _) = listener.accept().unwrap();
        let reads = task::spawn(async move {
            let try_once = || poll_fn(|context| Poll::Ready(peer.poll_read(context, &mut [0; 64])));
            assert!(try_once().await.is_pending());
            for _ in 0..20 {
                client.write_all(b"ab").unwrap();
                assert_eq!(poll_fn(|context| peer.poll_read(context, &mut [0; 64])).await.unwrap(), 2);
                client.write_all(b"c").unwrap();
                peer.readable().await.unwrap();
                assert!(matches!(try_once().await, Poll::Ready(Ok(1))));
            }
        });
        task::block_on(reads).unwrap();
    });
}

/// What tokio's trait reads comes behind what is filled, and no more of the room than that is taken for initialised.
#[cfg(feature = "tokio")]
#[test]
fn the_traits_of_tokio_fill_what_is_not_filled() {
    use raddle_net::net::unix::UnixStream;
    use std::io::Write;
    use std::mem::MaybeUninit;
    use std::pin::Pin;
    use tokio::io::{AsyncRead, ReadBuf};

    fn read(mut stream: impl AsyncRead + Unpin, mut peer: impl Write) {
        peer.write_all(b"abc").unwrap();
        let mut room = [MaybeUninit::uninit(); 16];
        let mut buf = ReadBuf::uninit(&mut room);
        buf.put_slice(b"> ");
        task::block_on(poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut buf))).unwrap();
        assert_eq!((buf.filled(), buf.initialized().len()), (&b"> abc"[..], 5));
        drop(peer);
        task::block_on(poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut buf))).unwrap();
        assert_eq!(buf.filled(), b"> abc");
    }

    everywhere(|| {
        let (one, other) = UnixStream::pair().unwrap();
        read(one, other);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        read(one, listener.accept().unwrap().0);
    });
}

/// The traits of `futures-io`: read, write, and a close that is the end to the peer.
#[cfg(feature = "futures-io")]
#[test]
fn the_traits_of_futures_io_read_write_and_close() {
    use futures_io::{AsyncRead, AsyncWrite};
    use raddle_net::net::unix::UnixStream;
    use std::pin::Pin;

    async fn read(stream: &mut (impl AsyncRead + Unpin), bytes: &mut [u8]) -> usize {
        poll_fn(|context| Pin::new(&mut *stream).poll_read(context, bytes)).await.unwrap()
    }

    async fn talk(
        mut one: impl AsyncRead + AsyncWrite + Unpin,
        mut other: impl AsyncRead + AsyncWrite + Unpin,
    ) {
        let mut bytes = [0; 8];
        let written = poll_fn(|context| Pin::new(&mut one).poll_write(context, b"abc")).await;
        assert_eq!(written.unwrap(), 3);
        poll_fn(|context| Pin::new(&mut one).poll_flush(context)).await.unwrap();
        let count = read(&mut other, &mut bytes).await;
        assert_eq!(&bytes[..count], b"abc");
        poll_fn(|context| Pin::new(&mut one).poll_close(context)).await.unwrap();
        assert_eq!(read(&mut other, &mut bytes).await, 0);
        let written = poll_fn(|context| Pin::new(&mut other).poll_write(context, b"d")).await;
        assert_eq!(written.unwrap(), 1);
        let count = read(&mut one, &mut bytes).await;
        assert_eq!(&bytes[..count], b"d");
    }

    everywhere(|| {
        let (one, other) = UnixStream::pair().unwrap();
        task::block_on(talk(one, other));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let other = listener.accept().unwrap().0;
        task::block_on(talk(one, other));
    });
}
