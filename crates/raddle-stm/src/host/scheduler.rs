//! Owns: how transactions wait in a program with a scheduler.
//! May use: `raddle-core`, `raddle-syscall`.
//! Never: a wait of its own making. The twin `threads` has each of these names.

pub(crate) use raddle_core::in_turn::InTurn;
pub(crate) use raddle_core::observe::{ToldWait, WaitingFuture};
pub(crate) use raddle_core::region::{graver, lose};
pub(crate) use raddle_core::trace::{note_committed, note_overtaken};
use raddle_core::wait::{Author, CallOn, Outcome, Wait, WaitCall, WaitReason, park, who_runs};
pub(crate) use raddle_core::wait::{Subject as Told, Waiter};
pub(crate) use raddle_core::worker::at_home;
pub(crate) use raddle_core::worker::choice::{
    access_at, counted_point_at, counted_point_if_seeded, follows_seed,
};
pub(crate) use raddle_core::worker::choice::{is_on as notes, settle_at};
use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::time::Instant;

const RETRY: WaitCall = WaitCall::new("retry", WaitReason::Wait);

/// What a panic has thrown.
pub(crate) type Thrown = Box<dyn Any + Send>;

/// Opens the caller's wait for a change.
///
/// # Panics
/// In a task, which must not wait.
pub(crate) fn waiter() -> Waiter {
    Waiter::new(const { &RETRY })
}

/// Waits for a change of `what`. False if the deadline passes first, or the caller is cancelled.
pub(crate) fn wait<S: Told + 'static>(
    waiter: &Waiter,
    what: &S,
    site: &'static Location<'static>,
    deadline: Option<Instant>,
) -> bool {
    let wait = Wait::on(const { &CallOn::<S>::new(RETRY.name(), RETRY.reason()) }, what, site);
    let _shown = wait.show();
    waiter.wait(deadline) != Outcome::Expired
}

/// Unwinds if the caller has been cancelled.
pub(crate) fn check_cancelled() {
    raddle_core::region::check();
}

/// Runs `f`, whose waits no cancellation ends.
pub(crate) fn shield(f: impl FnOnce()) {
    raddle_core::region::shield(f);
}

/// Lets others run, on the caller's worker if it has one.
pub(crate) fn let_others_run() {
    if at_home() {
        raddle_syscall::yield_processor();
    } else {
        park::let_others_run();
    }
}

/// Whether others are ready on the caller's worker, who would run by [`let_ready_run`].
#[inline(always)]
pub(crate) fn others_are_ready() -> bool {
    !at_home() && park::processes_wait_here()
}

/// Lets those run who [are ready](others_are_ready).
#[inline(always)]
pub(crate) fn let_ready_run() {
    park::let_ready_run();
}

/// Who runs here, for a report that may be made when he is gone.
#[inline(always)]
pub(crate) fn author() -> u64 {
    Author::here().to_bits()
}

/// Who that is, in words.
pub(crate) fn tell_author(author: u64, out: &mut dyn fmt::Write) -> fmt::Result {
    write!(out, "{}", Author::from_bits(author))
}

/// What tells whoever runs here from all others.
pub(crate) fn caller() -> usize {
    who_runs().0.addr()
}
