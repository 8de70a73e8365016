//! Waits that end by cancellation, by time and by the peer, of processes, tasks and OS threads of two runtimes, at the
//! same descriptors: each byte comes once, in its order.

use crate::watched;
use raddle::cancel;
use raddle::{Runtime, csp, task};
use raddle_net::net::unix::UnixStream;
use std::future::poll_fn;
use std::io::{ErrorKind, Read as _, Write as _};
use std::time::Duration;

const BYTES: usize = 6_000;

/// What comes, by waits that are given up now and then.
fn receive(mut stream: UnixStream, how: usize) {
    let (mut all, mut bytes, mut turn) = (0, [0; 97], how);
    while all < BYTES {
        turn = turn.wrapping_mul(0x5851_f42d).wrapping_add(0x1405_7b7f);
        let mut came = 0;
        let short = Duration::from_micros((turn >> 8) as u64 % 200 + 1);
        match turn >> 4 & 3 {
            0 => {
                let _given_up = cancel::within(short, || came = stream.read(&mut bytes).unwrap());
            }
            1 => {
                let read = poll_fn(|context| stream.poll_read(context, &mut bytes));
                let in_time = task::block_on(async { task::timeout(short, read).await });
                came = in_time.map_or(0, Result::unwrap);
            }
            2 => {
                let ready = task::block_on(async { task::timeout(short, stream.readable()).await });
                drop(ready);
            }
            _ => {
                stream.set_read_timeout(Some(short)).unwrap();
                came = match stream.read(&mut bytes) {
                    Err(late) if late.kind() == ErrorKind::WouldBlock => 0,
                    read => read.unwrap(),
                };
                stream.set_read_timeout(None).unwrap();
            }
        }
        for (n, byte) in bytes[..came].iter().enumerate() {
            assert_eq!(*byte, (all + n) as u8);
        }
        all += came;
    }
    assert_eq!(stream.read(&mut bytes).unwrap(), 0);
}

fn send(mut stream: UnixStream, how: usize) {
    let (mut all, mut turn) = (0, how);
    while all < BYTES {
        turn = turn.wrapping_mul(0x5851_f42d).wrapping_add(0x1405_7b7f);
        let most = (turn >> 8) % 61 + 1;
        let some: Vec<u8> = (all..BYTES.min(all + most)).map(|n| n as u8).collect();
        stream.write_all(&some).unwrap();
        all += some.len();
        match turn >> 4 & 7 {
            0 => csp::sleep(Duration::from_micros(50)),
            1..4 => csp::yield_now(),
            _ => {}
        }
    }
}

#[test]
fn each_byte_comes_once_whatever_ends_the_waits() {
    watched();
    let runtimes = [1, 2].map(|workers| Runtime::builder().workers(workers).build().unwrap());
    std::thread::scope(|s| {
        for runtime in &runtimes {
            let (ours, theirs): (Vec<_>, Vec<_>) = (0..6).map(|_| UnixStream::pair().unwrap()).unzip();
            let run = move || {
                let receives =
                    ours.into_iter().enumerate().map(|(n, end)| csp::spawn(move || receive(end, n)));
                let sends = theirs.into_iter().enumerate().map(|(n, end)| csp::spawn(move || send(end, n)));
                let all: Vec<_> = receives.chain(sends).collect();
                all.into_iter().for_each(|one| one.join().unwrap());
            };
            s.spawn(|| runtime.run(run));
        }
        let (ours, theirs) = UnixStream::pair().unwrap();
        s.spawn(move || receive(ours, 77));
        s.spawn(move || send(theirs, 78));
    });
    // They end, though waits of all kinds were given up.
    for runtime in runtimes {
        let _abandoned = runtime.shutdown();
    }
}
