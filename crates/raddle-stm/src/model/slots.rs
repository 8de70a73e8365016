//! Owns: the models of what may be freed.
//! May use: `protocol::clock`, `protocol::slots`, `loom`.
//! Never: memory that is freed: a cell is written instead, which loom holds against those who read it.

use super::{Variable, check, publish};
use crate::protocol::clock::VersionClock;
use crate::protocol::slots::{CHUNK, Slots, TxSlot};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// What is in a slot: how often somebody has had it, and when the first box was taken out of its variable.
#[derive(Default)]
struct Inside(UnsafeCell<u32>, UnsafeCell<Option<u64>>);

struct Boxes {
    clock: VersionClock,
    slots: Slots<Inside>,
    /// Which of the boxes it points to.
    pointer: Variable,
    boxes: [UnsafeCell<u64>; 2],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Boxes {}
// SAFETY: as above.
unsafe impl Send for Boxes {}

fn shared() -> Arc<Boxes> {
    let slots = Slots::new(std::array::from_fn::<_, CHUNK, _>(|_| TxSlot::new(Inside::default())));
    let boxes = [UnsafeCell::new(0), UnsafeCell::new(0)];
    Arc::new(Boxes { clock: VersionClock::new(), slots, pointer: Variable::new(), boxes })
}

impl Boxes {
    fn reads(&self) {
        let (slot, time) = self.slots.take(0, &self.clock);
        // SAFETY: the slot is ours, as loom checks.
        unsafe { &*slot.inside() }.0.with_mut(|times| unsafe { *times += 1 });
        if let Some(at) = self.pointer.read(time) {
            // SAFETY: loom hands out the pointer after it has checked the access.
            self.boxes[at as usize].with(|value| unsafe { assert_ne!(*value, u64::MAX, "it was freed") });
        }
        slot.give_back();
    }

    fn replaces_and_frees(&self) {
        let (slot, time) = self.slots.take(1, &self.clock);
        let version = publish(&self.clock, (time, 1), &[(&self.pointer, 1)], &[], || true);
        slot.give_back();
        if self.slots.oldest() >= version.expect("nobody else writes") {
            // SAFETY: as above.
            self.boxes[0].with_mut(|value| unsafe { *value = u64::MAX });
        }
    }
}

impl Boxes {
    fn replaces(&self) {
        let (slot, time) = self.slots.take(0, &self.clock);
        let version = publish(&self.clock, (time, 1), &[(&self.pointer, 1)], &[], || true);
        // SAFETY: the slot is ours, as loom checks.
        unsafe { &*slot.inside() }.1.with_mut(|kept| unsafe { *kept = version.ok() });
        slot.give_back();
    }

    /// What another has left in the slot.
    fn frees(&self) {
        let (slot, _) = self.slots.take(0, &self.clock);
        // SAFETY: as above.
        let kept = unsafe { &*slot.inside() }.1.with_mut(|kept| unsafe { (*kept).take() });
        if kept.is_some_and(|version| self.slots.oldest() >= version) {
            // SAFETY: as above.
            self.boxes[0].with_mut(|value| unsafe { *value = u64::MAX });
        }
        slot.give_back();
    }
}

#[test]
fn nothing_is_freed_by_another_that_somebody_reads() {
    check(Some(2), || {
        let shared = shared();
        let others = [shared.clone(), shared.clone()];
        let [reads, replaces] = others;
        let threads = [thread::spawn(move || reads.reads()), thread::spawn(move || replaces.replaces())];
        shared.frees();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn nothing_is_freed_that_somebody_reads() {
    check(Some(3), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || other.reads());
        shared.replaces_and_frees();
        thread.join().unwrap();
    });
}

#[test]
fn a_slot_that_was_taken_again_is_seen_too() {
    check(Some(2), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.reads();
            other.reads();
        });
        shared.replaces_and_frees();
        thread.join().unwrap();
    });
}

#[test]
fn there_are_as_many_slots_as_are_wanted() {
    check(Some(2), || {
        let shared = shared();
        let takes_two = |shared: &Boxes| {
            let slots = [shared.slots.take(0, &shared.clock), shared.slots.take(0, &shared.clock)];
            assert!(!std::ptr::eq(slots[0].0, slots[1].0));
            // SAFETY: the slots are ours, as loom checks.
            slots
                .iter()
                .for_each(|(slot, _)| unsafe { &*slot.inside() }.0.with_mut(|times| unsafe { *times += 1 }));
            slots.into_iter().for_each(|(slot, _)| slot.give_back());
        };
        let other = shared.clone();
        let thread = thread::spawn(move || takes_two(&other));
        takes_two(&shared);
        thread.join().unwrap();
    });
}
