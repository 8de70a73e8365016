//! Channels of one sender and one receiver: meeting, ending, deadlines, and who has the value.

use crate::runtime;
use raddle::csp::{self, Receiver, Sender};
use raddle::{Runtime, task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(600);

/// Runs both sides as processes on 1 and 2 workers, on two workers that look out, as OS threads, and mixed.
fn everywhere<T: Send + 'static>(
    side: impl Fn(Sender<T>) + Send + Sync + Clone + 'static,
    other: impl Fn(Receiver<T>) + Send + Sync + Clone + 'static,
) {
    for workers in [1, 2] {
        let rt = runtime(workers);
        let (to, from) = csp::channel();
        let (side, other) = (side.clone(), other.clone());
        rt.run(move || {
            let one = csp::spawn(move || side(to));
            other(from);
            one.join().unwrap();
        });
        assert_eq!(rt.shutdown(), 0);
    }
    let rt = Runtime::builder().workers(2).spin(20 * MS / 1000).build().unwrap();
    let (to, from) = csp::channel();
    let sides = (side.clone(), other.clone());
    rt.run(move || {
        let one = csp::spawn_on(1, move || sides.0(to));
        csp::spawn_on(0, move || sides.1(from)).join().unwrap();
        one.join().unwrap();
    });
    assert_eq!(rt.shutdown(), 0);
    for mixed in [(false, false), (false, true), (true, false)] {
        let rt = runtime(1);
        let (to, from) = csp::channel();
        let (side, other) = (side.clone(), other.clone());
        std::thread::scope(|s| {
            let rt = &rt;
            s.spawn(move || run_on(rt, mixed.0, move || side(to)));
            s.spawn(move || run_on(rt, mixed.1, move || other(from)));
        });
        assert_eq!(rt.shutdown(), 0);
    }
}

fn run_on(rt: &Runtime, process: bool, f: impl FnOnce() + Send + 'static) {
    if process { rt.run(f) } else { f() }
}

#[test]
fn values_arrive_in_order() {
    everywhere(
        |mut to: Sender<u64>| (0..1000).for_each(|n| to.send(n).unwrap()),
        |mut from| assert!(from.iter().eq(0..1000)),
    );
}

#[test]
fn values_of_any_size_arrive_whole() {
    everywhere(
        |mut to: Sender<()>| (0..10).for_each(|_| to.send(()).unwrap()),
        |from| assert_eq!(from.into_iter().count(), 10),
    );
    everywhere(
        |mut to: Sender<[u64; 100]>| (0..100).for_each(|n| to.send([n; 100]).unwrap()),
        |mut from| (0..100).for_each(|n| assert_eq!(from.recv().unwrap(), [n; 100])),
    );
    everywhere(
        |mut to: Sender<String>| (0..100).for_each(|n| to.send(n.to_string()).unwrap()),
        |mut from| (0..100).for_each(|n| assert_eq!(from.recv().unwrap(), n.to_string())),
    );
}

#[test]
fn a_send_returns_when_its_value_was_received() {
    everywhere(
        |mut to: Sender<Arc<()>>| {
            for _ in 0..100 {
                let value = Arc::new(());
                to.send(value.clone()).unwrap();
                // The receiver may have dropped it; the sender's frame has no share any more.
                assert!(Arc::strong_count(&value) <= 2);
            }
        },
        |mut from| from.iter().for_each(drop),
    );
}

#[test]
fn an_end_that_goes_ends_the_channel() {
    everywhere(
        |mut to: Sender<u32>| {
            to.send(1).unwrap();
            assert_eq!(to.send(2), Err(SendError(2)));
            assert_eq!(to.try_send(3), Err(TrySendError::Disconnected(3)));
            assert_eq!(to.send_timeout(4, LONG), Err(TrySendError::Disconnected(4)));
            assert!(!to.is_poisoned());
        },
        |mut from| assert_eq!(from.recv(), Ok(1)),
    );
    everywhere(drop::<Sender<u32>>, |mut from| {
        assert_eq!(from.recv(), Err(RecvError));
        assert_eq!(from.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(from.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
    });
}

#[test]
fn poison_reaches_who_waits_and_who_comes() {
    everywhere(
        |mut to: Sender<u32>| {
            to.send(1).unwrap();
            to.poison();
            to.poison();
            assert_eq!(to.send(2), Err(SendError(2)));
        },
        |mut from| {
            assert_eq!(from.recv(), Ok(1));
            assert_eq!(from.recv(), Err(RecvError));
            assert!(from.is_poisoned());
            from.poison();
        },
    );
    everywhere(
        |mut to: Sender<u32>| {
            assert_eq!(to.send_timeout(2, LONG), Err(TrySendError::Disconnected(2)));
            assert!(to.is_poisoned());
        },
        |mut from| from.poison(),
    );
}

#[test]
fn a_try_never_waits() {
    runtime(1).run(|| {
        let (mut to, mut from) = csp::channel();
        assert_eq!(to.try_send(1), Err(TrySendError::Full(1)));
        assert_eq!(from.try_recv(), Err(TryRecvError::Empty));
        let receiver = csp::spawn(move || (from.recv(), from.recv_timeout(LONG)));
        while to.try_send(2).is_err() {
            csp::yield_now();
        }
        while to.try_send(3).is_err() {
            csp::yield_now();
        }
        assert_eq!(receiver.join().unwrap(), (Ok(2), Ok(3)));
        let (mut to, mut from) = csp::channel();
        let sender = csp::spawn(move || (to.send(4), to.send_timeout(5, LONG)));
        let mut got = Vec::new();
        while got.len() < 2 {
            got.extend(from.try_recv());
            csp::yield_now();
        }
        assert_eq!((sender.join().unwrap(), got), ((Ok(()), Ok(())), vec![4, 5]));
    });
}

#[test]
fn a_deadline_that_passes_gives_the_value_back() {
    let check = || {
        let (mut to, mut from) = csp::channel();
        let value = Arc::new(1);
        assert!(matches!(to.send_timeout(value.clone(), MS), Err(TrySendError::Full(v)) if *v == 1));
        assert_eq!(Arc::strong_count(&value), 1);
        // The word is free again.
        assert_eq!(from.try_recv(), Err(TryRecvError::Empty));
        let receiver = csp::spawn(move || from.recv());
        to.send_timeout(value, LONG).unwrap();
        assert_eq!(*receiver.join().unwrap().unwrap(), 1);
    };
    runtime(1).run(check);
    runtime(2).run(check);
    check();
}

#[test]
fn a_receiver_gives_up_at_its_deadline() {
    for workers in [1, 2] {
        runtime(workers).run(|| {
            let (mut to, mut from) = csp::channel::<u32>();
            let began = Instant::now();
            assert_eq!(from.recv_timeout(3 * MS), Err(RecvTimeoutError::Timeout));
            assert!(began.elapsed() >= 3 * MS);
            assert_eq!(from.recv_deadline(began), Err(RecvTimeoutError::Timeout));
            // The word is free again.
            assert_eq!(to.try_send(1), Err(TrySendError::Full(1)));
            let sender = csp::spawn(move || to.send(2));
            assert_eq!(from.recv_timeout(LONG), Ok(2));
            sender.join().unwrap().unwrap();
        });
    }
    let (_to, mut from) = csp::channel::<u32>();
    assert_eq!(from.recv_timeout(MS), Err(RecvTimeoutError::Timeout));
}

#[test]
fn a_cell_must_not_wait_but_may_try() {
    runtime(1).run(|| {
        let (mut to, mut from) = csp::channel::<String>();
        assert_eq!(to.try_send("no".into()), Err(TrySendError::Full("no".into())));
        let task = task::spawn(async move {
            let refused = catch_unwind(AssertUnwindSafe(|| to.send("never".into())));
            let text = *refused.unwrap_err().downcast::<String>().unwrap();
            assert!(text.contains("csp::Sender::send"), "{text}");
            while to.try_send("yes".into()).is_err() {
                task::yield_now().await;
            }
        });
        assert_eq!(from.recv().unwrap(), "yes");
        task::block_on(task).unwrap();
    });
}

#[test]
fn ends_travel_over_channels() {
    runtime(2).run(|| {
        let (mut to, mut from) = csp::channel::<Sender<u32>>();
        let server = csp::spawn(move || {
            from.iter().enumerate().for_each(|(n, mut reply)| reply.send(n as u32).unwrap())
        });
        for n in 0..100 {
            let (reply, mut answer) = csp::channel();
            to.send(reply).unwrap();
            assert_eq!(answer.recv(), Ok(n));
        }
        drop(to);
        server.join().unwrap();
    });
}

#[test]
fn a_process_that_panics_ends_its_channels() {
    runtime(1).run(|| {
        let (mut to, mut from) = csp::channel::<u32>();
        let dies = csp::spawn(move || {
            to.send(1).unwrap();
            panic!("on purpose");
        });
        assert_eq!(from.recv(), Ok(1));
        assert_eq!(from.recv(), Err(RecvError));
        assert!(dies.join().is_err());
    });
}

#[test]
fn a_drop_during_a_panic_may_communicate() {
    struct Last(Option<Sender<u32>>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.take().unwrap().send(9).unwrap();
        }
    }
    // The other side is no process of this worker: one that unwinds holds it.
    let rt = runtime(1);
    let (to, mut from) = csp::channel();
    let receiver = std::thread::spawn(move || from.recv());
    let dies = rt.run(|| {
        csp::spawn(move || {
            let _last = Last(Some(to));
            panic!("on purpose");
        })
        .join()
    });
    assert!(dies.is_err());
    assert_eq!(receiver.join().unwrap(), Ok(9));
}

/// The patience of each side doubles until they meet: with a fixed one both may give up sooner than the other comes,
/// for ever, on a machine that is slow enough.
#[test]
fn nothing_is_lost_between_time_outs() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        let kept = Arc::new(());
        let token = kept.clone();
        rt.run(move || {
            let (mut to, mut from) = csp::channel::<(u32, Arc<()>)>();
            let sender = csp::spawn(move || {
                for n in 0..500 {
                    let mut value = (n, token.clone());
                    let mut patience = Duration::from_micros(1 + u64::from(n % 7) * 3);
                    while let Err(TrySendError::Full(back)) = to.send_timeout(value, patience) {
                        (value, patience) = (back, patience * 2);
                        csp::yield_now();
                    }
                }
            });
            for n in 0..500 {
                let mut patience = Duration::from_micros(u64::from(n % 5) * 4);
                loop {
                    match from.recv_timeout(patience) {
                        Ok((got, _)) => break assert_eq!(got, n),
                        Err(end) => assert_eq!(end, RecvTimeoutError::Timeout),
                    }
                    patience = patience * 2 + Duration::from_micros(1);
                    csp::yield_now();
                }
            }
            sender.join().unwrap();
        });
        assert_eq!(rt.shutdown(), 0);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}

/// Who waits lets go of its forks, in the short way to leave a stack, too: one of them may be the peer.
#[test]
fn a_flow_may_wait_for_one_of_its_own_forks() {
    runtime(1).run(|| {
        let (mut to, mut from) = csp::channel();
        let both = raddle::join(|| from.recv(), || to.send(3));
        assert_eq!(both, (Ok(3), Ok(())));
        let late = raddle::fork(move || to.send(4));
        assert_eq!(from.recv_timeout(Duration::from_secs(60)), Ok(4));
        late.join().unwrap();
    });
}
