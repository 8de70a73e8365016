//! Owns: what all transactions of a program share: the clock, the slots; so what may be freed, and when.
//! May use: `garbage`, `log`, `panics`, `protocol::clock`, `protocol::slots`.
//! Never: a value's type.
//!
//! What a transaction replaces others may still be reading. So it is kept in the slot of the one that replaced it, with
//! the time from which on nobody can find it, until all who run a transaction have begun later. Nobody else collects
//! what lies in a slot: what is in it waits for its next transactions, and each some dozens of those look after it.

use crate::garbage::Garbage;
use crate::log::Log;
use crate::panics::Panics;
use crate::protocol::clock::VersionClock;
use crate::protocol::slots::{CHUNK, Slots, TxSlot};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The clock.
pub(crate) static CLOCK: VersionClock = VersionClock::new();

static SLOTS: Slots<Log> = Slots::new([const { TxSlot::new(Log::new()) }; CHUNK]);

thread_local! {
    /// The slot that the last transaction here has had: most probably it is free, and in this core's cache.
    static LAST: Cell<Option<&'static TxSlot<Log>>> = const { Cell::new(None) };

    /// Where the search for another begins, always: transactions inside of others take the same few slots then, and
    /// what waits in those to be freed is looked after.
    static START: Cell<Option<usize>> = const { Cell::new(None) };

    /// Somebody here drops what was collected. Light processes share that: if it waits meanwhile, others collect later.
    static COLLECTING: Cell<bool> = const { Cell::new(false) };

    /// Something was retired here since this was set to false.
    static HAS_RETIRED: Cell<bool> = const { Cell::new(false) };
}

/// Takes a slot. Returns what time it is then.
#[inline]
pub(crate) fn enter() -> (&'static TxSlot<Log>, u64) {
    if let Some(slot) = LAST.get()
        && let Some(time) = slot.take(&CLOCK)
    {
        return (slot, time);
    }
    enter_elsewhere()
}

#[cold]
fn enter_elsewhere() -> (&'static TxSlot<Log>, u64) {
    /// Flows begin at different slots.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let start = START.get().unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
    START.set(Some(start));
    let (slot, time) = SLOTS.take(start, &CLOCK);
    LAST.set(Some(slot));
    (slot, time)
}

/// Drops what nobody reads any more, of what waits in the slot that the caller's next transaction would have. The
/// caller has none: that runs code of the program.
///
/// What is dropped may hold variables, which are retired then, and hold others: so this is a loop, and who retires
/// something inside of it leaves that to it. A list of variables goes in as little of a stack as one.
#[cold]
pub(crate) fn collect(panics: &mut Panics) {
    if COLLECTING.replace(true) {
        return;
    }
    loop {
        let ripe = ripe();
        if ripe.is_empty() {
            break;
        }
        HAS_RETIRED.set(false);
        panics.catch_drops(ripe);
        if !HAS_RETIRED.get() {
            break;
        }
        // What was retired just now is out of the reach of those who begin after this.
        CLOCK.tick();
    }
    COLLECTING.set(false);
}

/// Takes out of a heap what nobody reads any more.
fn ripe() -> Vec<Garbage> {
    let (slot, _) = enter();
    // SAFETY: the slot is ours.
    let heap = unsafe { &mut (*slot.inside()).heap };
    let ripe = heap.ripe(SLOTS.oldest());
    if !heap.is_empty() {
        // Those who only read do not move the clock: all might begin at the same time for ever.
        CLOCK.tick();
    }
    slot.give_back();
    ripe
}

/// Has something freed when nobody reads it any more.
///
/// # Safety
/// `free` frees `what`, which nobody finds any more who begins a transaction after this.
#[cold]
pub(crate) unsafe fn retire(what: *mut (), free: unsafe fn(*mut ())) {
    let (slot, time) = enter();
    // SAFETY: the slot is ours.
    let heap = unsafe { &mut (*slot.inside()).heap };
    // SAFETY: the clock has moved when it shows a later time; then it is out of reach, says the caller.
    heap.add(unsafe { Garbage::new(what, free, time + 1) });
    let is_full = heap.is_full();
    slot.give_back();
    HAS_RETIRED.set(true);
    if is_full && !COLLECTING.get() {
        // As in the loop.
        CLOCK.tick();
        let mut panics = Panics::default();
        collect(&mut panics);
        panics.go_on();
    }
}
