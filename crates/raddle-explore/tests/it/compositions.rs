//! Several services at once, under many seeds: channels beside locks, selections and alternations with time-outs,
//! claims and barriers that are given up, queue locks with more waiters than look.

use crate::seeds;
use raddle::explore::{Options, Strategy, explore};
use raddle::sync::{Arc, ClhLock, Condvar, McsLock, Mutex, mpsc};
use raddle::{cancel, channel, csp};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn check(strategy: Strategy, program: impl Fn() + Send + Sync + Copy + 'static) {
    explore(Options { strategy, iterations: seeds().div_ceil(4), ..Options::default() }, program);
}

/// Two feed a channel, one over a condition variable; who receives gives up now and then. Nothing is lost or doubled.
#[test]
fn a_channel_behind_a_lock_and_a_selection_that_gives_up() {
    check(Strategy::Mixed, || {
        let (s, r) = channel::bounded(1);
        let (late_s, late_r) = channel::bounded(0);
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let (opens, feeds) = (gate.clone(), s.clone());
        let first = csp::spawn(move || {
            (0..3).for_each(|n| feeds.send(n).unwrap());
            *opens.0.lock().unwrap() = true;
            opens.1.notify_all();
        });
        let second = csp::spawn(move || {
            let open = gate.0.lock().unwrap();
            drop(gate.1.wait_while(open, |open| !*open).unwrap());
            s.send(3).unwrap();
            late_s.send(4).unwrap();
        });
        let (mut had, mut patience) = (Vec::new(), 0);
        while had.len() < 5 {
            channel::select! {
                recv(r) -> n => had.extend(n),
                recv(late_r) -> n => had.extend(n),
                default(Duration::from_micros(5)) => patience += 1,
            }
            assert!(patience < 10_000, "it waits for ever: {had:?}");
        }
        had.sort_unstable();
        assert_eq!(had, [0, 1, 2, 3, 4]);
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// An alternation, a claim and a barrier, each with a deadline, and the very same without.
#[test]
fn what_is_given_up_is_nobody_elses_harm() {
    check(Strategy::Mixed, || {
        let moment = Duration::from_micros(3);
        let (to, mut from) = csp::channel();
        let to = csp::Shared::new(to);
        let mut barrier = csp::Barrier::new();
        let senders: Vec<_> = (0..2_u32)
            .map(|who| {
                let (to, mut member) = (to.clone(), barrier.enrol());
                csp::spawn(move || {
                    let mut claimed = loop {
                        if let Some(claimed) = to.claim_timeout(moment) {
                            break claimed;
                        }
                    };
                    let mut message = who;
                    while let Err(refused) = claimed.send_timeout(message, moment) {
                        message = match refused {
                            std::sync::mpsc::TrySendError::Full(message) => message,
                            std::sync::mpsc::TrySendError::Disconnected(_) => panic!("the receiver is there"),
                        };
                    }
                    drop(claimed);
                    if !member.sync_timeout(moment) {
                        member.sync();
                    }
                })
            })
            .collect();
        let mut had = Vec::new();
        while had.len() < 2 {
            csp::alt! {
                recv(from) -> n => had.push(n.unwrap()),
                after(moment) => csp::yield_now(),
            }
        }
        barrier.sync();
        had.sort_unstable();
        assert_eq!(had, [0, 1]);
        senders.into_iter().for_each(|one| one.join().unwrap());
    });
}

/// Eight at once: some look, some sleep and are called up.
#[test]
fn far_waiters_of_queue_locks_come_to_their_turn() {
    check(Strategy::Random, || {
        let locks = Arc::new((McsLock::new(0), ClhLock::new(0)));
        let all: Vec<_> = (0..8)
            .map(|_| {
                let locks = locks.clone();
                csp::spawn(move || {
                    locks.0.with(|n| {
                        csp::yield_now();
                        *n += 1;
                    });
                    locks.1.with(|n| {
                        csp::yield_now();
                        *n += 1;
                    });
                })
            })
            .collect();
        all.into_iter().for_each(|one| one.join().unwrap());
        assert_eq!((locks.0.with(|n| *n), locks.1.with(|n| *n)), (8, 8));
    });
}

/// Children that wait for locks, messages and each other, of which some are cancelled at any moment: the others end as
/// ever, nothing is handed over by half, and every lock is free at the end.
#[test]
fn who_is_cancelled_is_nobody_elses_harm() {
    check(Strategy::Mixed, || {
        let (mutex, told, message) = (Mutex::new(0), Condvar::new(), Arc::new(()));
        let lock = || mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        cancel::scope(|s| {
            let (mut to, mut from) = csp::channel();
            let (sender, receiver) = channel::bounded(0);
            let (given, offered) = (message.clone(), message.clone());
            let sends = s.spawn(move || to.send(given).is_ok() && sender.send(offered).is_ok());
            let receives = s.spawn(move || (from.recv().is_ok(), receiver.recv().is_ok()));
            let waits = s.spawn(|| drop(told.wait_while(lock(), |come| *come < 2)));
            let comes = || {
                *lock() += 1;
                told.notify_one();
            };
            let (first, second, third) = (s.spawn(comes), s.spawn(comes), s.spawn(comes));
            second.cancel();
            waits.cancel();
            sends.cancel();
            assert!(first.join().is_ok() && third.join().is_ok(), "nobody has cancelled them");
            let sent = sends.join().is_ok_and(|sent| sent);
            receives.cancel();
            if let Ok((_, last)) = receives.join() {
                assert!(sent || !last, "it was received, and not sent");
            }
        });
        assert!((2..=3).contains(&*lock()));
        assert_eq!(Arc::strong_count(&message), 1, "a message was lost or doubled");
    });
}

/// Of the channels with one receiver: each sender's messages come in their order and once, also by receives that give
/// up, a look finds nothing only if all that was sent before has been received, and the end comes behind the last.
#[test]
fn one_receiver_takes_batches_in_order() {
    check(Strategy::Mixed, || {
        let (to, from) = mpsc::channel();
        let sent = Arc::new(AtomicUsize::new(0));
        let senders: Vec<_> = (0..2)
            .map(|who| {
                let (to, sent) = (to.clone(), sent.clone());
                csp::spawn(move || {
                    for n in 0..5 {
                        to.send((who, n)).unwrap();
                        sent.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        drop(to);
        let (mut next, mut had) = ([0; 2], 0);
        for round in 0.. {
            let before = sent.load(Ordering::Relaxed);
            let received = match round % 3 {
                0 => from.try_recv().ok(),
                1 => from.recv_timeout(Duration::from_micros(1)).ok(),
                _ => from.recv().ok(),
            };
            match received {
                Some((who, n)) => {
                    assert_eq!(n, next[who]);
                    next[who] += 1;
                    had += 1;
                }
                None if round % 3 == 2 => break,
                None => assert!(had >= before, "{before} had been sent and {had} were received"),
            }
        }
        assert_eq!(next, [5, 5]);
        senders.into_iter().for_each(|one| one.join().unwrap());
    });
}
