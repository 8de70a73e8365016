//! Owns: `WatchWord`, at which one who looks after others now and then sleeps, and is called.
//! May use: `order`, `prim`, `loom`, `raddle-syscall`.
//! Never: what it looks at.
//!
//! | word | meaning | who leaves it |
//! |---|---|---|
//! | `TICKS` | it looks at each tick | itself; who calls |
//! | `SLEEPS` | there was nothing to look at when it last looked | who changes that; who calls |
//! | `CALLED` | it shall look now | itself |
//!
//! Who changes what it looks at, and the watcher that lies down, are the two sides of an event count: each says so,
//! runs a full fence, and looks at the other. A call is a plain store over whatever stands there: a late one costs one
//! look too many.

#![cfg_attr(not(loom), allow(unreachable_pub, reason = "public for the models only"))]

use crate::order;
use crate::prim::{AtomicU32, Ordering, const_fn, futex_wait, futex_wake_one, overwrite};
use std::time::Duration;

const TICKS: u32 = 0;
const SLEEPS: u32 = 1;
const CALLED: u32 = 2;

/// The word.
#[derive(Debug)]
pub struct WatchWord(AtomicU32);

impl WatchWord {
    const_fn! {
        /// It looks at each tick.
        #[inline]
        pub fn new() -> WatchWord {
            WatchWord(AtomicU32::new(TICKS))
        }
    }

    /// A new watcher begins.
    #[inline]
    pub fn begin(&self) {
        overwrite!(self.0, TICKS, Ordering::Relaxed);
    }

    /// The caller has just changed what the watcher may have looked at: it is called if it sleeps.
    #[inline]
    pub fn note_change(&self) {
        order::WATCH_CHANGE_FENCE();
        if self.0.load(Ordering::Relaxed) == SLEEPS {
            self.call();
        }
    }

    /// It shall look now: it sees what the caller has done before.
    #[cold]
    pub fn call(&self) {
        overwrite!(self.0, CALLED, order::WATCH_CALL());
        futex_wake_one(&raw const self.0);
    }

    /// By the watcher: until the next tick, or a call.
    #[inline]
    pub fn tick(&self, at_most: Duration) {
        futex_wait(&self.0, TICKS, Some(at_most));
        self.say(TICKS);
    }

    /// By the watcher: until a change or a call, if there is `nothing_to_do`, which it asks when it has said that it
    /// sleeps. True if nobody has called.
    #[inline]
    pub fn lie_down(&self, at_most: Option<Duration>, nothing_to_do: impl FnOnce() -> bool) -> bool {
        self.say(SLEEPS);
        order::WATCH_SLEEP_FENCE();
        let sleeps = nothing_to_do();
        if sleeps {
            futex_wait(&self.0, SLEEPS, at_most);
        }
        let before = self.say(TICKS);
        sleeps && before == SLEEPS
    }

    /// Whoever has called before this has been heard: what it asked for is looked at next.
    #[inline]
    fn say(&self, what: u32) -> u32 {
        self.0.swap(what, order::WATCH_HEAR())
    }
}
