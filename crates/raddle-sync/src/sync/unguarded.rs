//! Owns: a `Mutex<()>` without guards, for C, whose compilers take and give it back themselves if nobody waits.
//! May use: `host`, `raddle-core`.
//! Never: a lock given back by one who does not hold it.
//!
//! Who holds it is exact, since each who gives it back says so before: the caller is noted if and only if it holds the
//! lock. There are two exceptions, in which nobody asks: in a wait at a condition variable that was late or cancelled,
//! between two takings of the lock, and in the look whether it is taken before it ends. To others the note may be late.
//!
//! PERF: the lock's own instruction waits for each load, each store and each jump that is taken before it, and all that
//! comes after waits for it. So nothing stands before it in the lock but the look at the handle; what stands after it
//! is a chain of two loads. `docs/C.md` has the figures.

use super::Mutex;
use super::mutex::MutexGuard;
use crate::host::choice::{is_on, is_used_up};
use crate::host::{Holder, Running};
use std::mem::offset_of;
use std::panic::Location;

impl Mutex<()> {
    /// Where in it the word lies, who holds it, and the worker of that one.
    #[doc(hidden)]
    pub const LAYOUT: [usize; 3] = {
        let holder = offset_of!(Self, raw.holder);
        [offset_of!(Self, raw.word), holder + Holder::WHO, holder + Holder::WORKER]
    };

    /// A free one. Reports name the caller's line, where C takes it.
    #[doc(hidden)]
    #[track_caller]
    pub fn unguarded() -> Mutex<()> {
        let mutex = Mutex::new(());
        mutex.raw.holder.note_line(Location::caller());
        mutex
    }

    /// As if nobody held it, who has it.
    #[doc(hidden)]
    pub fn nobody_holds(&self) {
        self.raw.holder.clear();
    }

    /// Takes it if that is free, nobody wants to know of it, and the caller is of a runtime.
    #[doc(hidden)]
    #[inline(always)]
    pub fn lock_plainly_unguarded(&self) -> Took {
        if !self.raw.word.try_lock_plainly() {
            return Took::Nothing;
        }
        let caller = Running::in_runtime();
        match caller {
            Some(caller) if !(is_on() || is_used_up()) => {
                self.raw.holder.note_without_line(caller);
                Took::Lock
            }
            _ => Took::Word,
        }
    }

    /// The word was taken by the caller, from 0 to 1, which has noted nothing: goes on from there. False if somebody
    /// wants to know of it: then it is free again, and to be taken in the long way.
    #[doc(hidden)]
    #[inline]
    pub fn took_word(&self) -> bool {
        if is_on() || is_used_up() {
            self.raw.unlock(false);
            return false;
        }
        self.raw.holder.note_without_line(Running::here());
        true
    }

    /// Whether the caller holds it. Exact if all who give it back do so by what stands here.
    #[doc(hidden)]
    #[inline]
    pub fn is_held_by_caller(&self) -> bool {
        self.raw.holder.is(Running::here())
    }

    /// Gives it back, if the caller holds it and is of a runtime.
    #[doc(hidden)]
    #[inline(always)]
    pub fn unlock_plainly_unguarded(&self) -> bool {
        let is_own = Running::in_runtime().is_some_and(|caller| self.raw.holder.is(caller));
        if is_own {
            self.raw.holder.clear();
            self.raw.unlock(false);
        }
        is_own
    }

    /// The guard of the caller, who gives it back by that; none if it does not hold it.
    #[doc(hidden)]
    pub fn guard_of_caller(&self) -> Option<MutexGuard<'_, ()>> {
        if !self.is_held_by_caller() {
            return None;
        }
        self.raw.holder.clear();
        // SAFETY: the caller holds it, without a guard; it is noted no more, so that nobody makes another one.
        Some(unsafe { MutexGuard::of(self) })
    }
}

/// What the short way to a lock has taken.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Took {
    /// Nothing.
    Nothing,
    /// The word: [`took_word`](Mutex::took_word) is next.
    Word,
    /// The lock.
    Lock,
}
