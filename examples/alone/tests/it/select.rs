//! Owns: tests of `select!` and `Select`.
//! May use: `raddle-sync`, `sleepers`.
//! Never: an order between the ready.

use crate::sleepers::{together, woken};
use raddle_sync::channel::{Select, after, bounded, never, select, unbounded};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn several_select_what_several_send() {
    let ((sends_a, a), (sends_b, b)) = (bounded(0), bounded(2));
    let (sum, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let all = 4_000;
    let (end, ended) = bounded::<()>(0);
    let end = std::sync::Mutex::new(Some(end));
    let note = |message: Result<usize, _>| {
        sum.fetch_add(message.expect("the ends stay"), Ordering::Relaxed);
        if done.fetch_add(1, Ordering::Relaxed) + 1 == all {
            drop(end.lock().unwrap().take());
        }
    };
    together(4, |number| match number {
        // These send to whichever takes it.
        0 | 1 => (0..all / 2).for_each(|n| {
            select! {
                send(sends_a, n) -> sent => sent.unwrap(),
                send(sends_b, n) -> sent => sent.unwrap(),
            }
        }),
        _ => loop {
            select! {
                recv(a) -> message => note(message),
                recv(b) -> message => note(message),
                recv(ended) -> _ => break,
            }
        },
    });
    assert_eq!(sum.into_inner(), 2 * (0..all / 2).sum::<usize>());
}

#[test]
fn who_sleeps_at_several_channels_is_woken() {
    let ((_sends_a, a), (sends_b, b)) = (bounded::<u8>(0), unbounded());
    let waits = || {
        select! {
            recv(a) -> _ => unreachable!("nobody sends there"),
            recv(b) -> message => message.unwrap(),
        }
    };
    assert_eq!(woken(waits, || sends_b.send(5).unwrap()), 5);
    let ready = || {
        let mut select = Select::new();
        select.recv(&a);
        let second = select.recv(&b);
        select.ready() == second
    };
    assert!(woken(ready, || sends_b.send(6).unwrap()));
    assert_eq!(b.recv(), Ok(6));
}

#[test]
fn a_choice_ends_by_its_time() {
    let (sender, full) = bounded(1);
    sender.send(1).unwrap();
    let expired = select! {
        send(sender, 2) -> _ => false,
        recv(never::<u8>()) -> _ => false,
        recv(after(Duration::from_millis(1))) -> _ => true,
    };
    assert!(expired);
    let expired = select! {
        send(sender, 3) -> _ => false,
        default(Duration::from_millis(1)) => true,
    };
    assert!(expired && full.try_iter().eq([1]));
}
