//! Owns: the places at which a seed may have another go on, and the one switch that turns them on.
//! May use: `block::control`, `block::current`, `message`, `observe::seed`, `raddle-protocol`.
//! Never: more than a load and a branch in a program that uses no seed, and has no trace of its operations.
//!
//! The operations of locks, channels, timers, processes and forks begin with a [`point`]. It stands before anything is
//! done, outside of every lock of ours. What a program does between two of its operations by itself, on plain atomics
//! for instance, is one step; a `yield_now` there makes it two. An operation that has made somebody ready [`settle`]s:
//! who was woken may go on before the caller does anything more. Each says which line of the program it stands in, as
//! far as the functions between are `#[track_caller]`.

use crate::block::Block;
use crate::observe::Seeded;
pub use crate::worker::slice::{count, count_in_task, give_way, is_used_up};
use crate::worker::{Here, LocalWorker, Worker, current_header};
use raddle_protocol::header::{AWAY, Kind, OWN_TLS};
use std::any::Any;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Some runtime of this program follows, or has followed, a seed, or records operations.
static ON: AtomicBool = AtomicBool::new(false);

/// Turns the points on, for good.
pub fn turn_on() {
    // Relaxed: workers that follow a seed are started, or given work, after this, which orders it.
    ON.store(true, Ordering::Relaxed);
}

/// Whether some runtime of this program follows a seed or records operations, or has.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// What [`is_on`] reads.
pub(crate) fn switch() -> &'static AtomicBool {
    &ON
}

/// An operation begins: another process may be chosen to go on before it.
#[inline(always)]
#[track_caller]
pub fn point(operation: &'static str) {
    point_at(operation, Location::caller());
}

/// As [`point`], of an operation that the program calls at `site`.
#[inline(always)]
pub fn point_at(operation: &'static str, site: &'static Location<'static>) {
    if is_on() {
        point_by_seed(operation, site);
    }
}

/// As [`point`], before an access to one variable, of which there are too many for a trace.
#[inline(always)]
#[track_caller]
pub fn access(operation: &'static str) {
    access_at(operation, Location::caller());
}

/// As [`access`], of an operation that the program calls at `site`.
#[inline(always)]
pub fn access_at(operation: &'static str, site: &'static Location<'static>) {
    if is_on() {
        preempt(operation, site);
    }
}

/// As [`counted_point_at`]; whether the caller is a process that follows a seed, by the same look at the switch.
#[inline(always)]
pub fn counted_point_if_seeded(operation: &'static str, site: &'static Location<'static>) -> bool {
    let is_seeded = is_on() && {
        point_by_seed(operation, site);
        is_seeded()
    };
    count();
    is_seeded
}

/// Whether the caller is a process that follows a seed, which others may be chosen to go on before.
#[inline(always)]
pub fn follows_seed() -> bool {
    is_on() && is_seeded()
}

#[cold]
#[inline(never)]
fn is_seeded() -> bool {
    here().is_some()
}

/// As [`point`], at the begin of an operation that programs may repeat without ever waiting: it [counts](count)
/// against the caller's slice, and if that is over, others have a turn.
#[inline(always)]
#[track_caller]
pub fn counted_point(operation: &'static str) {
    counted_point_at(operation, Location::caller());
}

/// As [`counted_point`], of an operation that the program calls at `site`.
#[inline(always)]
pub fn counted_point_at(operation: &'static str, site: &'static Location<'static>) {
    point_at(operation, site);
    count();
}

/// A look that programs repeat until it is true. If it is not, it is an operation as at a [`counted_point`]; one that
/// is costs no more than the look.
#[inline(always)]
#[track_caller]
pub fn counted_look(operation: &'static str, look: impl FnOnce() -> bool) -> bool {
    let is_true = look();
    if !is_true {
        counted_point(operation);
    }
    is_true
}

#[cold]
#[inline(never)]
fn point_by_seed(operation: &'static str, site: &'static Location<'static>) {
    // SAFETY: it is gone before anything leaves its stack.
    if let Some(worker) = unsafe { Here::current() } {
        worker.trace_operation(operation);
    }
    if operation == "join" && std::thread::panicking() && is_ending() {
        // Whom it joins has been cancelled, too, and a drop that unwraps that would abort the program.
        abandons();
    }
    preempt(operation, site);
}

#[cold]
#[inline(never)]
fn preempt(operation: &'static str, site: &'static Location<'static>) {
    if let Some((worker, block)) = here() {
        // SAFETY: it is what runs here.
        unsafe { worker.preempt_by_seed(block, operation, site) };
    }
}

/// An operation is done; if it has made somebody ready, another process may be chosen to go on before what follows.
#[inline(always)]
#[track_caller]
pub fn settle(operation: &'static str) {
    settle_at(operation, Location::caller());
}

/// As [`settle`], of an operation that the program calls at `site`.
#[inline(always)]
pub fn settle_at(operation: &'static str, site: &'static Location<'static>) {
    if is_on() {
        settle_by_seed(operation, site);
    }
}

#[cold]
#[inline(never)]
fn settle_by_seed(operation: &'static str, site: &'static Location<'static>) {
    if let Some((worker, block)) = here() {
        // SAFETY: it is what runs here.
        unsafe { worker.settle_by_seed(block, operation, site) };
    }
}

/// The process that runs here by a seed, and may leave its stack now.
fn here<'w>() -> Option<(Here<'w>, &'static Block)> {
    let header = current_header();
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { header.as_ref() }?;
    let may_switch = !running.is(AWAY) && (!std::thread::panicking() || running.is(OWN_TLS));
    if running.kind != Kind::Process || !may_switch || running.holds_thread() {
        return None;
    }
    // SAFETY: it runs, and not away: it has a worker, whose OS thread this is. That is its runtime's only one, which
    // nothing leaves for another.
    let worker = unsafe { Here::of(running) };
    // SAFETY: the kind says that it is a block.
    worker.follows_seed().then(|| (worker, unsafe { Block::of_header(header) }))
}

/// The caller lets others run: it may be waiting for them in a loop.
#[inline(always)]
#[track_caller]
pub fn yields() {
    if is_on()
        && let Some((worker, block)) = here()
        && let Some(seeded) = worker.seeded()
    {
        seeded.yields(block.as_header(), Location::caller());
    }
}

/// A number below `n` from the seed of whoever runs here; `None` without one.
#[inline(always)]
pub fn choose(n: usize) -> Option<usize> {
    if is_on() { choose_by_seed(n) } else { None }
}

#[cold]
#[inline(never)]
fn choose_by_seed(n: usize) -> Option<usize> {
    asked(|seeded| seeded.choose(n))
}

/// What time it is to whoever runs here: by a seed, time passes only when nothing else can happen.
#[inline]
pub fn now() -> Instant {
    if is_on()
        && let Some(now) = Worker::with_current(|worker| worker.shared().clock.virtual_now()).flatten()
    {
        return now;
    }
    Instant::now()
}

/// Something begins that no seed decides: says so, once in a program.
#[inline]
pub(crate) fn outside(what: &str) {
    if is_on() && Worker::with_current(Worker::follows_seed) == Some(true) {
        say_outside(what);
    }
}

#[cold]
fn say_outside(what: &str) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if !SAID.swap(true, Ordering::Relaxed) {
        crate::message::not_by_seed(what);
    }
}

/// What a process that begins here is born into: the region of the run that is explored, if one is.
#[inline(always)]
pub(crate) fn region() -> Option<Arc<dyn Any + Send + Sync>> {
    if is_on() { region_by_seed() } else { None }
}

#[cold]
fn region_by_seed() -> Option<Arc<dyn Any + Send + Sync>> {
    asked(|seeded| seeded.region()).flatten()
}

/// Asks the seed of whoever runs here, if there is one.
fn asked<R>(ask: impl FnOnce(&Seeded) -> R) -> Option<R> {
    // SAFETY: a worker that follows a seed is its runtime's only one, so that what runs here stays here; and without a
    // seed nothing more is done.
    let here = unsafe { Here::current() }?;
    here.seeded().map(ask)
}

/// If the run of whoever runs here is over, and what is left in it unwinds.
fn is_ending() -> bool {
    is_on() && asked(|seeded| seeded.is_ending()).unwrap_or(false)
}

/// Whether a lock is in doubt whose holder unwinds: not by the taking down of a run. Drops need not reckon with that.
pub fn poisons() -> bool {
    !is_ending()
}

/// Whoever runs here has been cancelled, and is about to unwind.
pub(crate) fn note_unwinding() {
    if is_ending() {
        let _known = asked(|ending| ending.unwinds(current_header()));
    }
}

/// The caller, which unwinds, is about to block its worker. If its run is over, and others are to unwind, too, it is
/// left as it is, for good: then this does not return.
pub(crate) fn abandons() {
    let header = current_header();
    if !is_on() || header.is_null() {
        return;
    }
    // SAFETY: the header of what runs here, which is alive.
    let running = unsafe { &*header };
    if !running.is_process_on_worker() || running.holds_thread() {
        return;
    }
    // SAFETY: only processes are said to be so.
    let block = unsafe { Block::of_header(header) };
    // SAFETY: it runs on its worker, and leaves by this only.
    let worker = unsafe { Here::of(&block.header) };
    // SAFETY: as above.
    unsafe { worker.abandon_by_seed(block) };
}

/// A process has come to its end, here.
#[inline(always)]
pub(crate) fn ended(worker: &LocalWorker, block: &Block) {
    if is_on() {
        ended_by_seed(worker, block);
    }
}

#[cold]
#[inline(never)]
fn ended_by_seed(worker: &LocalWorker, block: &Block) {
    if let Some(seeded) = worker.seeded() {
        seeded.ended(block.as_header());
    }
}

/// A panic has reached the base of a process, and nobody asks for it.
#[inline]
pub(crate) fn unseen_panic() {
    if is_on() {
        let _without = asked(|seeded| seeded.unseen_panic());
    }
}

/// The process that an exploration began with has come to its end.
pub fn first_has_ended(panicked: bool) {
    let _without = asked(|seeded| seeded.first_has_ended(panicked));
}

/// A panic begins, at this place of a process or a task; true if whoever explores will say so.
pub(crate) fn takes_panic(info: &std::panic::PanicHookInfo<'_>) -> bool {
    let note = |seeded: &Seeded| {
        if seeded.is_ending() && !seeded.unwinds(current_header()) {
            crate::message::say(&seeded.last_words());
        }
        let place = info.location().map_or_else(String::new, |at| format!(" at {at}"));
        let what = info.payload_as_str().unwrap_or("a value that is no text");
        seeded.note_panic(&format!("panicked{place}: {what}"))
    };
    is_on() && asked(note).unwrap_or(false)
}
