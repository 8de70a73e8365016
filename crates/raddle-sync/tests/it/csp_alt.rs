//! Alternation: which guard is chosen, when, and that nothing is lost beside it.

use crate::runtime;
use raddle::Runtime;
use raddle::csp::{self, Alternation, Order, Receiver, RecvGuard, Sender, TimeGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::RecvError;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(600);

fn channels<T>(count: usize) -> (Vec<Sender<T>>, Vec<Receiver<T>>) {
    (0..count).map(|_| csp::channel()).unzip()
}

/// Lets all senders of this worker arrive.
fn settle() {
    (0..100).for_each(|_| csp::yield_now());
}

#[test]
fn a_prioritised_one_picks_the_first_ready() {
    runtime(1).run(|| {
        let (mut to_a, mut a) = csp::channel();
        let (mut to_b, mut b) = csp::channel();
        let (mut to_c, mut c) = csp::channel();
        let senders = [
            csp::spawn(move || (0..3).for_each(|_| to_c.send('c').unwrap())),
            csp::spawn(move || (0..3).for_each(|_| to_b.send('b').unwrap())),
            csp::spawn(move || (0..3).for_each(|_| to_a.send('a').unwrap())),
        ];
        let mut order = String::new();
        for _ in 0..9 {
            settle();
            order.push(csp::pri_alt! {
                recv(a) -> x if !order.contains("aaa") => x.unwrap(),
                recv(b) -> x if !order.contains("bbb") => x.unwrap(),
                recv(c) -> x => x.unwrap(),
            });
        }
        assert_eq!(order, "aaabbbccc");
        senders.into_iter().for_each(|s| s.join().unwrap());
    });
}

#[test]
fn a_fair_one_starves_nobody() {
    // On one OS thread: what runs on a second one, an extra worker's, waits for a processor, too.
    let one = Runtime::builder().workers(1).migration(false).build().expect("a runtime");
    one.run(|| {
        let (senders, mut receivers) = channels::<()>(3);
        let all: Vec<_> =
            senders.into_iter().map(|mut to| csp::spawn(move || while to.send(()).is_ok() {})).collect();
        // A process that has not started cannot be starved by an alternation.
        settle();
        let [a, b, c] = &mut receivers[..] else { unreachable!() };
        let (mut counts, mut since, mut longest) = ([0_u32; 3], [0_u32; 3], 0);
        for _ in 0..1_000_000 / if cfg!(debug_assertions) { 10 } else { 1 } {
            let came = csp::alt! {
                recv(*a) -> _ => 0,
                recv(*b) -> _ => 1,
                recv(*c) -> _ => 2,
            };
            counts[came] += 1;
            since.iter_mut().for_each(|s| *s += 1);
            since[came] = 0;
            longest = longest.max(*since.iter().max().unwrap());
        }
        assert!(longest <= 30, "one had to wait for {longest} rounds: {counts:?}");
        drop(receivers);
        all.into_iter().for_each(|s| s.join().unwrap());
    });
}

#[test]
fn an_array_is_served_in_turn() {
    runtime(1).run(|| {
        let (senders, mut receivers) = channels::<usize>(8);
        let all: Vec<_> = senders
            .into_iter()
            .enumerate()
            .map(|(n, mut to)| csp::spawn(move || while to.send(n).is_ok() {}))
            .collect();
        settle();
        let mut alternation = Alternation::fair();
        let mut since = [0; 8];
        for _ in 0..10_000 {
            let (n, value) = alternation.recv(&mut receivers);
            assert_eq!(value, Ok(n));
            since.iter_mut().for_each(|s| *s += 1);
            since[n] = 0;
            // Eight rounds, and as many again for those who had to come back first.
            assert!(since.iter().all(|s| *s <= 24), "{since:?}");
        }
        drop(receivers);
        all.into_iter().for_each(|s| s.join().unwrap());
    });
}

#[test]
fn preconditions_close_guards() {
    runtime(1).run(|| {
        let (mut to_a, mut a) = csp::channel();
        let (mut to_b, mut b) = csp::channel();
        let senders = [csp::spawn(move || to_a.send(1).unwrap()), csp::spawn(move || to_b.send(2).unwrap())];
        settle();
        assert_eq!(csp::alt! { recv(a) -> x if false => x.unwrap(), recv(b) -> x => x.unwrap() }, 2);
        assert_eq!(csp::alt! { recv(b) -> x if false => x.unwrap(), recv(a) -> x => x.unwrap() }, 1);
        senders.into_iter().for_each(|s| s.join().unwrap());
        let none = catch_unwind(AssertUnwindSafe(
            || csp::alt! { recv(a) -> x if false => x.unwrap(), skip if false => 0 },
        ));
        let text = none.unwrap_err();
        assert!(text.downcast_ref::<&str>().unwrap().contains("no guard"), "the message names what is wrong");
    });
}

#[test]
fn skip_is_for_when_nothing_is_ready() {
    runtime(1).run(|| {
        let (mut to, mut from) = csp::channel();
        assert_eq!(csp::alt! { skip => 0, recv(from) -> x => x.unwrap() }, 0);
        let sender = csp::spawn(move || to.send(7).unwrap());
        settle();
        assert_eq!(csp::alt! { skip => 0, recv(from) -> x => x.unwrap() }, 7);
        sender.join().unwrap();
    });
}

#[test]
fn the_earliest_time_is_chosen_and_not_early() {
    let check = || {
        let (_to, mut from) = csp::channel::<u32>();
        let began = Instant::now();
        let chosen = csp::alt! {
            after(LONG) => "long",
            recv(from) -> x => panic!("nobody sent {x:?}"),
            after(3 * MS) => "short",
            at(began + LONG) => "at",
        };
        assert_eq!(chosen, "short");
        assert!(began.elapsed() >= 3 * MS);
        assert_eq!(csp::alt! { at(began) => 1, skip => 2 }, 1);
    };
    runtime(1).run(check);
    runtime(2).run(check);
    check();
}

#[test]
fn a_channel_that_ends_is_ready() {
    runtime(1).run(|| {
        let (to, mut from) = csp::channel::<u32>();
        let (_quiet, mut silent) = csp::channel::<u32>();
        let ender = csp::spawn(move || {
            csp::yield_now();
            drop(to);
        });
        assert_eq!(csp::alt! { recv(silent) -> x => x, recv(from) -> x => x }, Err(RecvError));
        assert_eq!(csp::alt! { recv(silent) -> x => x, recv(from) -> x => x }, Err(RecvError));
        ender.join().unwrap();
        let (mut to, mut from) = csp::channel::<u32>();
        let poisoner = csp::spawn(move || to.poison());
        assert_eq!(csp::alt! { recv(silent) -> x => x, recv(from) -> x => x }, Err(RecvError));
        assert!(from.is_poisoned());
        poisoner.join().unwrap();
    });
}

#[test]
fn receivers_may_be_used_in_the_branches() {
    runtime(1).run(|| {
        let (mut to, mut from) = csp::channel();
        let sender = csp::spawn(move || (0..4).for_each(|n| to.send(n).unwrap()));
        let mut sum = 0;
        loop {
            csp::alt! {
                recv(from) -> n => match n {
                    Ok(n) => sum += n + 10 * from.recv().unwrap(),
                    Err(_) => break,
                },
                after(LONG) => {
                    unreachable!()
                }
            }
        }
        assert_eq!(sum, 42);
        sender.join().unwrap();
    });
}

#[test]
fn guards_can_be_written_out() {
    runtime(1).run(|| {
        let (mut to, mut from) = csp::channel();
        let sender = csp::spawn(move || to.send(String::from("text")).unwrap());
        let (mut message, mut time) = (RecvGuard::new(&mut from), TimeGuard::after(LONG));
        assert_eq!(csp::choose(Order::Priority, [&mut time, &mut message]), 1);
        assert_eq!(message.received().unwrap().unwrap(), "text");
        sender.join().unwrap();
    });
}

#[test]
fn an_array_has_deadlines_too() {
    runtime(2).run(|| {
        let (mut senders, mut receivers) = channels::<u32>(4);
        let mut alternation = Alternation::prioritised();
        assert!(alternation.recv_until(&mut receivers, |_| true, Instant::now() + 2 * MS).is_none());
        assert!(alternation.recv_until(&mut receivers, |_| false, Instant::now()).is_none());
        let mut last = senders.pop().unwrap();
        let sender = csp::spawn(move || last.send(3).unwrap());
        assert_eq!(alternation.recv_if(&mut receivers, |n| n != 0), (3, Ok(3)));
        sender.join().unwrap();
        assert_eq!(alternation.recv_if(&mut receivers, |n| n == 3), (3, Err(RecvError)));
    });
}

/// Many senders, some with deadlines, against one who alternates: each value comes exactly once, or back.
#[test]
fn nothing_is_lost_beside_the_chosen() {
    for workers in [1, 2] {
        let rt = runtime(workers);
        let kept = Arc::new(());
        let token = kept.clone();
        rt.run(move || {
            let (senders, mut receivers) = channels::<(usize, usize, Arc<()>)>(5);
            let spawn = |(who, mut to): (usize, Sender<_>)| {
                let token = token.clone();
                csp::spawn(move || {
                    for n in 0..300 {
                        let mut value = (who, n, token.clone());
                        if who % 2 == 0 {
                            to.send(value).unwrap();
                            continue;
                        }
                        let patience = Duration::from_micros(n as u64 % 10);
                        while let Err(back) = to.send_timeout(value, patience) {
                            let std::sync::mpsc::TrySendError::Full(back) = back else { unreachable!() };
                            value = back;
                            csp::yield_now();
                        }
                    }
                })
            };
            let all: Vec<_> = senders.into_iter().enumerate().map(spawn).collect();
            let (mut alternation, mut next) = (Alternation::fair(), [0; 5]);
            while next.iter().any(|n| *n < 300) {
                let until = Instant::now() + Duration::from_micros(20);
                let Some((from, value)) = alternation.recv_until(&mut receivers, |n| next[n] < 300, until)
                else {
                    continue;
                };
                let (who, n, _) = value.unwrap();
                assert_eq!((who, n), (from, next[from]));
                next[from] += 1;
            }
            all.into_iter().for_each(|s| s.join().unwrap());
            drop(token);
        });
        assert_eq!(rt.shutdown(), 0);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}

#[test]
fn os_threads_alternate_too() {
    let (senders, mut receivers) = channels::<usize>(3);
    std::thread::scope(|s| {
        for (n, mut to) in senders.into_iter().enumerate() {
            s.spawn(move || (0..300).for_each(|_| to.send(n).unwrap()));
        }
        let (mut alternation, mut counts) = (Alternation::fair(), [0; 3]);
        while counts.iter().any(|n| *n < 300) {
            let (n, value) = alternation.recv_if(&mut receivers, |n| counts[n] < 300);
            assert_eq!(value, Ok(n));
            counts[n] += 1;
        }
    });
}
