//! Owns: tests of channels of every capacity.
//! May use: `raddle-sync`, `sleepers`.
//! Never: an order between senders.

use crate::sleepers::{together, woken};
use raddle_sync::channel::{
    Receiver, RecvTimeoutError, SendTimeoutError, Sender, after, bounded, tick, unbounded,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(1);

/// Three send, three receive: each message arrives once, then the channel is disconnected.
fn check((sender, receiver): (Sender<usize>, Receiver<usize>)) {
    let (sum, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let senders: [_; 3] = std::array::from_fn(|_| std::sync::Mutex::new(Some(sender.clone())));
    drop(sender);
    together(6, |number| {
        if let Some(sender) = senders.get(number) {
            let sender = sender.lock().unwrap().take().expect("it is taken once");
            (0..2_000).for_each(|n| sender.send(number * 2_000 + n).expect("there are receivers"));
        } else {
            for message in &receiver {
                sum.fetch_add(message, Ordering::Relaxed);
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    assert_eq!((count.into_inner(), sum.into_inner()), (6_000, (0..6_000).sum()));
}

#[test]
fn every_message_arrives_once() {
    check(bounded(0));
    check(bounded(1));
    check(bounded(5));
    check(unbounded());
}

#[test]
fn who_sleeps_at_a_channel_is_woken() {
    for capacity in [0, 1] {
        let (sender, receiver) = bounded(capacity);
        assert_eq!(woken(|| receiver.recv(), || sender.send(7).unwrap()), Ok(7));
        (0..capacity).for_each(|n| sender.send(n).unwrap());
        let takes = || assert!(receiver.recv().is_ok());
        assert_eq!(woken(|| sender.send(8), takes), Ok(()));
        (0..capacity).for_each(|_| takes());
        let receives = || receiver.recv_timeout(Duration::from_secs(3_600));
        assert_eq!(woken(receives, || sender.send(9).unwrap()), Ok(9));
        assert!(woken(|| receiver.recv(), move || drop(sender)).is_err());
    }
}

#[test]
fn a_message_with_a_deadline_is_given_up() {
    let (sender, receiver) = bounded(0);
    assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    assert_eq!(sender.send_timeout(1, SHORT), Err(SendTimeoutError::Timeout(1)));
    let (sender, receiver) = bounded(1);
    sender.send(2).unwrap();
    assert_eq!(sender.send_timeout(3, SHORT), Err(SendTimeoutError::Timeout(3)));
    assert!(receiver.try_iter().eq([2]));
}

#[test]
fn clocks_have_messages() {
    let begun = std::time::Instant::now();
    assert!(after(SHORT).recv().unwrap() >= begun + SHORT);
    let ticks = tick(SHORT);
    assert!(ticks.recv().unwrap() < ticks.recv().unwrap());
}
