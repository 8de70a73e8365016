//! Owns: tests of the locks that `std` has not, and of `sync::mpsc`.
//! May use: `raddle-sync`, `sleepers`.
//! Never: an order that the locks do not promise.

use crate::sleepers::{together, woken};
use raddle_sync::sync::mpsc::{self, RecvTimeoutError};
use raddle_sync::sync::{ClhLock, McsLock, SpinLock, TicketLock};
use std::time::Duration;

#[test]
fn queue_locks_let_one_in_at_a_time() {
    let (mcs, clh) = (McsLock::new(0), ClhLock::new(0));
    // More than the cores have room for, so that some are far back and sleep.
    together(16, |_| {
        for turn in 0..500 {
            if turn % 2 == 0 {
                mcs.with(|count| *count += 1);
                *clh.lock() += 1;
            } else {
                *mcs.lock() += 1;
                clh.with(|count| *count += 1);
            }
        }
    });
    assert_eq!((*mcs.lock(), *clh.lock()), (8_000, 8_000));
}

#[test]
fn spinning_locks_let_one_in_at_a_time() {
    let (ticket, spin) = (TicketLock::new(0), SpinLock::new(0));
    together(3, |_| {
        for _ in 0..1_000 {
            *ticket.lock() += 1;
            *spin.lock() += 1;
        }
    });
    assert_eq!((*ticket.lock(), *spin.lock()), (3_000, 3_000));
}

#[test]
fn messages_of_mpsc_arrive_in_order() {
    for bound in [0, 2] {
        let (sender, receiver) = mpsc::sync_channel(bound);
        std::thread::scope(|scope| {
            scope.spawn(move || (0..500).for_each(|n| sender.send(n).expect("it is received")));
            assert!(receiver.iter().eq(0..500));
        });
    }
    let (sender, receiver) = mpsc::channel::<u8>();
    assert_eq!(receiver.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout));
    assert!(woken(move || receiver.recv(), || drop(sender)).is_err());
}
