//! Owns: `Gate`, at which those stand still whom somebody wants to look at.
//! May use: `order`, `prim`, `loom`, `raddle-syscall`.
//! Never: how they are called there; an allocation, or a lock: who comes may have been interrupted anywhere.
//!
//! | gate | meaning |
//! |---|---|
//! | even | open; who finds it so has come late, and goes |
//! | odd | closed: who comes notes its arrival with this number, and stays until the number is another |
//!
//! One looks at a time; closings are numbered, so that an arrival tells for which one it is, and a call that was meant
//! for an earlier one does no harm: who comes to a closed gate stands there, whoever called it. After 2^31 closings a
//! number comes again.
//!
//! What the inspector wrote before it closed the gate, who comes sees; what those did who have arrived, the inspector
//! sees; and they see that it is done before they go on.

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]

use crate::order;
use crate::prim::{AtomicU32, Ordering, const_fn, futex_wait, futex_wake_all, futex_wake_one};
use std::time::Duration;

/// The gate.
#[derive(Debug)]
pub struct Gate {
    number: AtomicU32,
    /// Changes with each arrival.
    arrivals: AtomicU32,
}

/// Which closing one has arrived at last; 0 for none. Belongs to who comes; anybody reads.
#[derive(Debug)]
pub struct Arrived(AtomicU32);

/// A closing of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "those who have come stand until the gate is opened"]
pub struct Closing(u32);

impl Arrived {
    const_fn! {
        /// Nowhere yet.
        #[inline]
        pub fn nowhere() -> Arrived {
            Arrived(AtomicU32::new(0))
        }
    }

    /// Somebody else takes this over.
    #[inline]
    pub fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether it stands at this closing: then what it did before is seen.
    #[inline]
    pub fn is_at(&self, closing: Closing) -> bool {
        self.0.load(order::GATE_SEE_ARRIVED()) == closing.0
    }
}

impl Gate {
    const_fn! {
        /// Open.
        #[inline]
        pub fn new() -> Gate {
            Gate { number: AtomicU32::new(0), arrivals: AtomicU32::new(0) }
        }
    }

    /// Closes it. The caller is the only one to.
    #[inline]
    pub fn close(&self) -> Closing {
        Closing(self.number.fetch_add(1, order::GATE_CLOSE()).wrapping_add(1))
    }

    /// Opens it: whoever stands there goes on.
    #[inline]
    pub fn open(&self, closing: Closing) {
        self.number.store(closing.0.wrapping_add(1), order::GATE_OPEN());
        futex_wake_all(&self.number);
    }

    /// Stands here while the gate is closed, after `note`. False if it is open.
    #[inline]
    pub fn stand(&self, arrived: &Arrived, note: impl FnOnce()) -> bool {
        let number = self.number.load(order::GATE_SEE_CLOSED());
        if number.is_multiple_of(2) {
            return false;
        }
        note();
        arrived.0.store(number, order::GATE_ARRIVE());
        self.arrivals.fetch_add(1, order::GATE_COUNT());
        futex_wake_one(&raw const self.arrivals);
        while self.number.load(order::GATE_SEE_OPEN()) == number {
            futex_wait(&self.number, number, None);
        }
        true
    }

    /// Waits until that one stands at this closing. False if there is no time `left` before.
    #[inline]
    pub fn wait_for(&self, arrived: &Arrived, closing: Closing, left: impl Fn() -> Duration) -> bool {
        loop {
            let arrivals = self.arrivals.load(order::GATE_SEE_COUNT());
            if arrived.is_at(closing) {
                return true;
            }
            let left = left();
            if left.is_zero() {
                return false;
            }
            futex_wait(&self.arrivals, arrivals, Some(left));
        }
    }
}
