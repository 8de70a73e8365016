//! Places that a channel keeps for selections: whoever waits meanwhile gets them, used or not.
//!
//! One worker, so that all stand where the test wants them.

use crate::runtime;
use raddle::channel::{Receiver, Select, Sender, TryRecvError, bounded, select};
use raddle::csp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Lets all others go as far as they can.
fn settle() {
    (0..100).for_each(|_| csp::yield_now());
}

/// What a process has received, or that it was told that it may go on.
type Seen = Arc<AtomicU32>;

fn receive(r: &Receiver<u32>, seen: &Seen) {
    let (r, seen) = (r.clone(), seen.clone());
    csp::spawn(move || seen.store(r.recv().unwrap_or(0), Ordering::Relaxed));
}

fn send(s: &Sender<u32>, message: u32, seen: &Seen) {
    let (s, seen) = (s.clone(), seen.clone());
    csp::spawn(move || seen.store(u32::from(s.send(message).is_ok()), Ordering::Relaxed));
}

fn watch(add: impl FnOnce(&mut Select<'_>) + Send + 'static, seen: &Seen) {
    let seen = seen.clone();
    csp::spawn(move || {
        let mut select = Select::new();
        add(&mut select);
        select.ready();
        seen.store(1, Ordering::Relaxed);
    });
}

/// Selects a send, lets `meanwhile` happen, and then sends the message, if there is one.
fn keep_a_place(s: &Sender<u32>, message: Option<u32>, meanwhile: impl FnOnce()) -> Option<()> {
    select! {
        send(s, { meanwhile(); settle(); message? }) -> sent => sent.ok(),
    }
}

fn value(seen: &Seen) -> u32 {
    seen.load(Ordering::Relaxed)
}

#[test]
fn a_place_whose_message_went_straight_to_a_receiver_goes_to_the_next_sender() {
    runtime(1).run(|| {
        let (s, r) = bounded(1);
        let (received, sent) = (Seen::default(), Seen::default());
        keep_a_place(&s, Some(7), || {
            send(&s, 8, &sent);
            settle();
            receive(&r, &received);
        })
        .expect("it is sent");
        settle();
        assert_eq!((value(&received), value(&sent)), (7, 1), "its place is free again");
        assert_eq!(r.try_recv(), Ok(8));
        assert_eq!(r.try_recv(), Err(TryRecvError::Empty));
    });
}

#[test]
fn a_place_that_was_not_used_brings_a_sender_and_a_receiver_together() {
    runtime(1).run(|| {
        let (s, r) = bounded(1);
        let (received, sent) = (Seen::default(), Seen::default());
        let cancelled = keep_a_place(&s, None, || {
            send(&s, 8, &sent);
            settle();
            receive(&r, &received);
        });
        assert_eq!(cancelled, None);
        settle();
        assert_eq!((value(&received), value(&sent)), (8, 1));
        s.try_send(9).expect("the place is free");
        assert_eq!(r.try_recv(), Ok(9));
    });
}

#[test]
fn all_senders_get_in_for_whom_there_are_receivers() {
    runtime(1).run(|| {
        let (s, r) = bounded(1);
        let seen: Vec<_> = (0..6).map(|_| Seen::default()).collect();
        keep_a_place(&s, Some(7), || {
            (8..).zip(&seen[3..]).for_each(|(message, seen)| send(&s, message, seen));
            settle();
            seen[..3].iter().for_each(|seen| receive(&r, seen));
        })
        .expect("it is sent");
        settle();
        assert_eq!(seen.iter().map(value).collect::<Vec<_>>(), [7, 8, 9, 1, 1, 1]);
        assert_eq!(r.try_recv(), Ok(10));
    });
}

#[test]
fn who_only_watches_is_told_of_a_place_that_was_kept() {
    runtime(1).run(|| {
        let (s, r) = bounded(1);
        let (received, told) = (Seen::default(), Seen::default());
        keep_a_place(&s, Some(7), || {
            receive(&r, &received);
            let s = s.clone();
            watch(move |select| _ = select.send(Box::leak(Box::new(s))), &told);
        })
        .expect("it is sent");
        settle();
        assert_eq!((value(&received), value(&told)), (7, 1), "one may send");

        let (sent, told) = (Seen::default(), Seen::default());
        let cancelled = keep_a_place(&s, None, || {
            let r = r.clone();
            watch(move |select| _ = select.recv(Box::leak(Box::new(r))), &told);
            send(&s, 8, &sent);
        });
        assert_eq!(cancelled, None);
        settle();
        assert_eq!((value(&sent), value(&told)), (1, 1), "one may receive");
    });
}
