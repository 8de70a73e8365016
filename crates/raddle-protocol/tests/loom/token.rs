//! The token: unparkers and a deadline against the one who parks.

use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering};
use raddle_protocol::model::{Saved, Token};
use std::sync::Arc;

/// A parker with a letter box for each of two unparkers, and a count of how often it was queued.
struct Parker {
    token: Token,
    context: Saved,
    queued: AtomicUsize,
    letters: [UnsafeCell<u32>; 2],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Parker {}
// SAFETY: as above.
unsafe impl Send for Parker {}

impl Parker {
    fn new() -> Arc<Parker> {
        Arc::new(Parker {
            token: Token::default(),
            context: Saved::default(),
            queued: AtomicUsize::new(0),
            letters: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    fn write(&self, number: usize) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.letters[number].with_mut(|p| unsafe { *p = 1 });
    }

    fn read(&self, number: usize) -> u32 {
        // SAFETY: as above.
        self.letters[number].with(|p| unsafe { *p })
    }

    /// Whoever was told to wake puts the parker into a queue: it reads the saved context and links it.
    fn queue(&self) {
        self.context.resume();
        self.queued.fetch_add(1, Ordering::Relaxed);
    }

    /// The parker waits for its turn. The queue orders nothing here: all order must come from the token.
    fn wait_for_turn(&self, turn: usize) {
        while self.queued.load(Ordering::Relaxed) < turn {
            loom::thread::yield_now();
        }
    }

    /// `park`, as `crates/raddle-core/src/wait/park.rs` does it. True if it really waited.
    fn park(&self, turn: usize) -> bool {
        if self.token.take() {
            return false;
        }
        self.context.save();
        let waited = self.token.park();
        if waited {
            self.wait_for_turn(turn);
        } else {
            // The token came first: the next context, on the same worker, queues it again.
            self.context.resume();
        }
        self.token.consume();
        waited
    }

    fn unparker(self: &Arc<Parker>, letter: usize) -> loom::thread::JoinHandle<bool> {
        let (parker, life) = (self.clone(), self.token.generation());
        go(move || {
            parker.write(letter);
            let wake = parker.token.notify(life);
            if wake {
                parker.queue();
            }
            wake
        })
    }

    fn deadline(self: &Arc<Parker>) -> loom::thread::JoinHandle<bool> {
        let (parker, life) = (self.clone(), self.token.generation());
        go(move || {
            parker.write(1);
            let wake = parker.token.expire(life);
            if wake {
                parker.queue();
            }
            wake
        })
    }
}

#[test]
fn an_unparked_one_sees_what_its_unparker_did() {
    check(ALL, || {
        let parker = Parker::new();
        let unparker = parker.unparker(0);
        let waited = parker.park(1);
        assert_eq!(parker.read(0), 1, "woken, and does not see why");
        assert_eq!(unparker.join().unwrap(), waited, "queued without having waited, or the reverse");
    });
}

#[test]
fn of_two_unparkers_one_queues() {
    check(Some(3), || {
        let parker = Parker::new();
        let unparkers = [parker.unparker(0), parker.unparker(1)];
        let waited = parker.park(1);
        let queued = unparkers.map(|unparker| unparker.join().unwrap());
        assert_eq!(queued.iter().filter(|&&q| q).count(), usize::from(waited));
    });
}

#[test]
fn one_that_keeps_its_os_thread_is_called_once_and_sees_why() {
    check(Some(3), || {
        let parker = Parker::new();
        let unparkers = [parker.unparker(0), parker.unparker(1)];
        while !parker.token.block() {}
        if parker.token.take() {
            assert_eq!(parker.read(0) + parker.read(1), 2, "the second token hides what came with it");
        }
        let queued = unparkers.map(|unparker| unparker.join().unwrap());
        assert_eq!(queued, [false, false], "it was not suspended, and has been queued");
    });
}

#[test]
fn one_that_keeps_its_os_thread_sees_what_its_unparker_did() {
    check(ALL, || {
        let parker = Parker::new();
        let unparker = parker.unparker(0);
        while !parker.token.block() {}
        assert_eq!(parker.read(0), 1, "called, and does not see why");
        assert!(!unparker.join().unwrap());
    });
}

#[test]
fn a_second_unpark_is_seen_or_leaves_a_token() {
    check(Some(3), || {
        let parker = Parker::new();
        let unparkers = [parker.unparker(0), parker.unparker(1)];
        parker.park(1);
        if parker.token.take() {
            assert_eq!(parker.read(0) + parker.read(1), 2, "the second token hides what came with it");
        }
        unparkers.into_iter().for_each(|unparker| drop(unparker.join()));
    });
}

#[test]
fn a_deadline_against_an_unpark() {
    check(Some(3), || {
        let parker = Parker::new();
        let (deadline, unparker) = (parker.deadline(), parker.unparker(0));
        let waited = parker.park(1);
        let (expired, unparked) = (deadline.join().unwrap(), unparker.join().unwrap());
        assert_eq!(u8::from(expired) + u8::from(unparked), u8::from(waited), "queued twice, or never");
    });
}

#[test]
fn an_expired_one_sees_what_was_done_before_its_deadline() {
    check(ALL, || {
        let parker = Parker::new();
        parker.context.save();
        let waits = parker.token.park();
        assert!(waits);
        let deadline = parker.deadline();
        parker.wait_for_turn(1);
        parker.token.consume();
        assert_eq!(parker.read(1), 1);
        assert!(deadline.join().unwrap());
    });
}

#[test]
fn a_handle_of_an_earlier_life_does_nothing() {
    check(ALL, || {
        let parker = Parker::new();
        let (stale, deadline) = (parker.unparker(0), parker.deadline());
        // This life ends without having parked, and the block lives again and parks.
        parker.token.end_life();
        parker.context.save();
        let parked = parker.token.park();
        assert!(parked, "a new life starts without a token");
        assert!(!stale.join().unwrap() && !deadline.join().unwrap(), "the block's next owner was woken");
    });
}
