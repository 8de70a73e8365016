//! Owns: `Once` and `OnceState`.
//! May use: `host`, `raddle-core`, `raddle-protocol`.
//! Never: what is done.

use super::sleepers::refuse_to_wait_in_task;
use crate::host::choice::{counted_look, counted_point};
use crate::host::{CallOn, Subject, Wait, WaitReason, Waiter};
use crate::host::{Held, Holder};
use raddle_protocol::protocol::once::{BeginOutcome, OnceWord};
use std::cell::Cell;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

/// Does something once, however many ask for it, as [`std::sync::Once`].
///
/// Those who come while it is being done wait until it is. To ask for it from within waits for ever.
///
/// ```
/// use raddle::sync::Once;
/// static START: Once = Once::new();
/// START.call_once(|| ());
/// assert!(START.is_completed());
/// ```
pub struct Once {
    pub(super) word: OnceWord<Waiter>,
    /// Who runs it.
    holder: Holder,
}

const CALL: CallOn<Once> = CallOn::new("Once::call_once", WaitReason::Wait);
const WAIT: CallOn<Once> = CallOn::new("Once::wait", WaitReason::Wait);
const WAIT_FORCE: CallOn<Once> = CallOn::new("Once::wait_force", WaitReason::Wait);

impl Subject for Once {
    const KIND: &'static str = "once";

    fn held(&self) -> Option<Held> {
        self.word.is_running().then(|| self.holder.held()).flatten()
    }
}

impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}

/// What [`Once::call_once_force`] tells the closure of attempts before.
pub struct OnceState {
    poisoned: bool,
    /// Set by those inside the crate whose attempt fails without a panic.
    pub(super) fails: Cell<bool>,
}

/// An [`Once`] that has done nothing.
#[deprecated(since = "0.1.0", note = "the `Once::new()` function is now preferred, as in std")]
#[allow(clippy::declare_interior_mutable_const, reason = "std has it")]
pub const ONCE_INIT: Once = Once::new();

/// The end of an attempt, by whichever way.
struct Attempt<'a> {
    once: &'a Once,
    poisons: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.once.word.finish(self.poisons);
    }
}

#[allow(clippy::new_without_default, reason = "std's has none")]
impl Once {
    /// One that has done nothing.
    #[must_use]
    #[inline]
    pub const fn new() -> Once {
        Once { word: OnceWord::new(), holder: Holder::nobody() }
    }

    pub(super) const fn completed() -> Once {
        Once { word: OnceWord::complete(), holder: Holder::nobody() }
    }

    /// Runs `f` if nothing has been run yet; waits if somebody is at it. Then all sees what `f` did.
    ///
    /// # Panics
    /// If an attempt before has panicked, if `f` panics, or if it has to wait inside a task.
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        if !self.word.is_complete() {
            self.call(false, |_| f());
        }
    }

    /// As [`call_once`](Self::call_once), and tries again what has panicked before.
    ///
    /// # Panics
    /// If `f` panics, or if it has to wait inside a task.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        if !self.word.is_complete() {
            self.call(true, f);
        }
    }

    #[cold]
    #[track_caller]
    pub(super) fn call(&self, forced: bool, f: impl FnOnce(&OnceState)) {
        counted_point("Once::call_once");
        let begun = {
            let wait = Wait::on(const { &CALL }, self, Location::caller());
            let _shown = wait.show();
            self.word.begin(CALL.call(), forced)
        };
        match begun {
            BeginOutcome::Complete => (),
            BeginOutcome::Poisoned => panic!("Once instance has previously been poisoned"),
            BeginOutcome::Yours { poisoned } => {
                self.holder.note(Location::caller());
                let mut attempt = Attempt { once: self, poisons: true };
                let state = OnceState { poisoned, fails: Cell::new(false) };
                f(&state);
                attempt.poisons = state.fails.get();
            }
        }
    }

    /// Whether it has been done; then all sees what was done.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        counted_look("Once::is_completed", || self.word.is_complete())
    }

    /// Waits until it has been done.
    ///
    /// # Panics
    /// If an attempt has panicked, or if it has to wait inside a task.
    #[track_caller]
    pub fn wait(&self) {
        counted_point("Once::wait");
        assert!(
            self.word.is_complete() || self.wait_slow(const { &WAIT }, false),
            "Once instance has previously been poisoned"
        );
    }

    /// Waits until it has been done, whatever has panicked before.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn wait_force(&self) {
        counted_point("Once::wait_force");
        if !self.word.is_complete() {
            self.wait_slow(const { &WAIT_FORCE }, true);
        }
    }

    #[cold]
    #[track_caller]
    fn wait_slow(&self, call: &'static CallOn<Once>, forced: bool) -> bool {
        refuse_to_wait_in_task(call.name());
        let wait = Wait::on(call, self, Location::caller());
        let _shown = wait.show();
        self.word.wait(call.call(), forced)
    }

    /// Who runs it now, and where it was called; `None` if nobody does. Not part of `std`'s.
    pub fn held(&self) -> Option<Held> {
        Subject::held(self)
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl OnceState {
    /// Whether an attempt before has panicked.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.is_poisoned()).finish()
    }
}
