//! Owns: the search for races on what a program's author vouches for, in debug builds.
//! May use: `process`, `spin`, `raddle-bytecode`.
//! Never: a look at the schedule: what counts is what orders two accesses, not which came first.
//!
//! Fork, join, a communication and a lock's way from one holder to the next put accesses into an order; two accesses
//! to the same bytes, one of which changes them, with no such order between them are a race, however far apart they
//! happened. Each process is a **flow** with a vector clock (Lamport 1978; Mattern 1988). A communication orders both
//! ways, since both sides wait for each other. So the verdict is exact for the accesses that this run made: another
//! schedule can find more only by making others.
//!
//! A flow's number is used again by processes that its parent begins after having waited for it: they are later, as
//! the next steps of the same flow would be. So clocks stay as short as the program is wide.
//!
//! | event | what happens to the clocks |
//! |---|---|
//! | fork | the child gets the parent's and a step of its own; the parent makes a step |
//! | end, join | the child's is kept at the word that counts; the parent takes all of them in |
//! | communication | both take the other's in, the message is copied, and both make a step |
//! | to come to a barrier, to go on | the barrier takes in the clocks of all who come; who goes on takes in it |
//! | release, claim | the lock keeps the releaser's, who makes a step; the next holder takes it in |
//!
//! A variable's bytes are touched when a message is copied: after both have met, and before either goes on. So what is
//! sent has been read before the receiver's next access, and what is received is there before the sender's. A channel's
//! end is touched when its user comes.

mod clock;
mod shadow;

use crate::process::{INPUT, OUTPUT, Process};
use crate::spin::Spin;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use clock::Clock;
use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};
use raddle_bytecode::Trap;
use shadow::Shadow;
pub(crate) use shadow::{Access, Deed, Race};

#[derive(Debug, Default)]
struct Flow {
    number: u32,
    clock: Clock,
    /// Numbers of flows that it has waited for.
    spare: Vec<u32>,
}

/// What ended children leave for their parent.
#[derive(Debug, Default)]
struct Left {
    clock: Option<Clock>,
    spare: Vec<u32>,
}

/// Everything known of the order of things.
#[derive(Debug, Default)]
struct HappensBefore {
    /// By process.
    flows: BTreeMap<u32, Flow>,
    /// How many numbers there are.
    count: u32,
    /// By the word that counts.
    joins: BTreeMap<u32, Left>,
    /// By the lock.
    locks: BTreeMap<u32, Clock>,
    /// By the barrier: of those who have come.
    barriers: BTreeMap<u32, Clock>,
    shadow: Shadow,
    found: Option<Race>,
}

impl HappensBefore {
    fn flow(&mut self, process: u32) -> &mut Flow {
        let count = &mut self.count;
        self.flows.entry(process).or_insert_with(|| {
            *count += 1;
            let mut flow = Flow { number: *count, ..Flow::default() };
            flow.clock.tick(flow.number);
            flow
        })
    }

    fn fork(&mut self, parent: u32, child: u32) {
        let flow = self.flow(parent);
        flow.clock.settle();
        let (mut clock, spare) = (flow.clock.clone(), flow.spare.pop());
        flow.clock.tick(flow.number);
        let number = spare.unwrap_or_else(|| {
            self.count += 1;
            self.count
        });
        clock.tick(number);
        self.flows.insert(child, Flow { number, clock, spare: Vec::new() });
    }

    fn end(&mut self, process: u32, join: u32) {
        let Some(flow) = self.flows.remove(&process) else { return };
        let left = self.joins.entry(join).or_default();
        match &mut left.clock {
            Some(clock) => clock.merge(&flow.clock),
            none => *none = Some(flow.clock),
        }
        left.spare.push(flow.number);
        left.spare.extend(flow.spare);
    }

    fn join(&mut self, parent: u32, join: u32) {
        let Some(left) = self.joins.remove(&join) else { return };
        let flow = self.flow(parent);
        left.clock.iter().for_each(|clock| flow.clock.merge(clock));
        flow.spare.extend(left.spare);
    }

    /// Both are there. The copying that follows belongs to the steps that they have in common.
    fn meet(&mut self, one: u32, other: u32) {
        let theirs = self.flow(other).clock.clone();
        let mine = self.flow(one);
        mine.clock.merge(&theirs);
        let all = mine.clock.clone();
        self.flow(other).clock = all;
    }

    /// Both go on.
    fn part(&mut self, one: u32, other: u32) {
        for process in [one, other] {
            let flow = self.flow(process);
            flow.clock.tick(flow.number);
        }
    }

    fn note(&mut self, result: Result<(), Race>) -> Result<(), Trap> {
        result.map_err(|race| {
            self.found = Some(race);
            Trap::Race
        })
    }
}

/// The search.
#[derive(Debug, Default)]
pub(crate) struct Races {
    order: Spin<HappensBefore>,
    /// A bit for each word of memory that is watched, so that others cost one look.
    marks: Box<[AtomicU32]>,
}

const WORDS_A_MARK: u32 = 32;

/// The words that these bytes lie in.
fn words(address: u32, bytes: u32) -> Range<u32> {
    address / 4..address.saturating_add(bytes).div_ceil(4)
}

impl Races {
    /// For a memory of that size.
    pub(crate) fn new(bytes: u32) -> Races {
        let count = (bytes / 4).div_ceil(WORDS_A_MARK);
        Races { order: Spin::default(), marks: (0..count).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Whether any byte of `from..behind` may be watched.
    #[inline(always)]
    fn is_marked(&self, from: u32, behind: u32) -> bool {
        (from / 4..behind.div_ceil(4)).any(|word| {
            let marks = self.marks.get((word / WORDS_A_MARK) as usize);
            marks.is_some_and(|marks| marks.load(Ordering::Relaxed) >> (word % WORDS_A_MARK) & 1 != 0)
        })
    }

    /// Under the lock of `order`: others set their bits of the same marks.
    fn mark(&self, words: Range<u32>, on: bool) {
        for word in words {
            let Some(marks) = self.marks.get((word / WORDS_A_MARK) as usize) else { return };
            let (seen, bit) = (marks.load(Ordering::Relaxed), 1 << (word % WORDS_A_MARK));
            marks.store(if on { seen | bit } else { seen & !bit }, Ordering::Relaxed);
        }
    }

    /// `watch`, of bytes within memory: whether they were not watched yet.
    pub(crate) fn watch(&self, watched: u32, address: u32, bytes: u32) -> bool {
        let order = &mut *self.order.lock();
        let fresh = bytes > 0 && order.shadow.watch(watched, address, bytes);
        if fresh {
            self.mark(words(address, bytes), true);
        }
        fresh
    }

    /// `unwatch`.
    pub(crate) fn unwatch(&self, address: u32) {
        let order = &mut *self.order.lock();
        let bytes = order.shadow.unwatch(address);
        // The first word, and the last, may be watched for a neighbour's bytes, too.
        let mut words = words(address, bytes);
        words.start += u32::from(order.shadow.has_in_word(words.start));
        words.end -= u32::from(!words.is_empty() && order.shadow.has_in_word(words.end - 1));
        self.mark(words, false);
    }

    /// The race that stopped the program, if one did.
    pub(crate) fn found(&self) -> Option<Race> {
        self.order.lock().found
    }

    /// A process touches memory.
    #[inline(always)]
    pub(crate) fn touch<L>(
        &self,
        me: &Process<L>,
        at: u32,
        (address, bytes): (u32, u32),
        deed: Deed,
    ) -> Result<(), Trap> {
        let behind = address.saturating_add(bytes);
        if self.is_marked(address, behind) {
            return self.touch_watched(me, at, (address, behind), deed);
        }
        Ok(())
    }

    #[cold]
    fn touch_watched<L>(&self, me: &Process<L>, at: u32, range: (u32, u32), deed: Deed) -> Result<(), Trap> {
        let order = &mut *self.order.lock();
        let access = order.access(me, at, deed);
        let clock = &order.flows[&me.id()].clock;
        let result = order.shadow.touch(clock, access, range);
        order.note(result)
    }

    /// A process comes to a channel.
    pub(crate) fn use_end<L>(&self, me: &Process<L>, channel: u32, direction: u32) -> Result<(), Trap> {
        if !self.is_marked(channel, channel.saturating_add(4)) {
            return Ok(());
        }
        let order = &mut *self.order.lock();
        let deed = if direction == OUTPUT { Deed::Output } else { Deed::Input };
        let access = order.access(me, me.ip.get().wrapping_sub(1), deed);
        let clock = &order.flows[&me.id()].clock;
        let result = order.shadow.use_end(clock, access, channel);
        order.note(result)
    }

    /// Both sides of a communication are there: what each has done before happened before what the other does next.
    /// One of them may be the `keyboard`, which is the world's.
    pub(crate) fn met<L>(
        &self,
        me: &Process<L>,
        other: &Process<L>,
        keyboard: u32,
        (direction, from, to): (u32, (u32, u32), (u32, u32)),
    ) -> Result<(), Trap> {
        let both = me.id() != keyboard && other.id() != keyboard;
        if both {
            self.order.lock().meet(me.id(), other.id());
        }
        let (sender, receiver) = if direction == INPUT { (other, me) } else { (me, other) };
        if sender.id() != keyboard {
            self.touch(sender, sender.ip.get().wrapping_sub(1), from, Deed::Read)?;
        }
        self.touch(receiver, receiver.ip.get().wrapping_sub(1), to, Deed::Change)?;
        if both {
            self.order.lock().part(me.id(), other.id());
        }
        Ok(())
    }

    /// What the one has done happened before what the other does next.
    pub(crate) fn lets_go(&self, process: u32, other: u32) {
        let order = &mut *self.order.lock();
        let flow = order.flow(process);
        let clock = flow.clock.clone();
        flow.clock.tick(flow.number);
        order.flow(other).clock.merge(&clock);
    }

    /// One process has begun another.
    pub(crate) fn forked(&self, parent: u32, child: u32) {
        self.order.lock().fork(parent, child);
    }

    /// It is about to end.
    pub(crate) fn ending(&self, process: u32, join: u32) {
        self.order.lock().end(process, join);
    }

    /// All that count there have ended.
    pub(crate) fn joined(&self, parent: u32, join: u32) {
        self.order.lock().join(parent, join);
    }

    /// It has come to a barrier, or is a member no more.
    pub(crate) fn came(&self, process: u32, barrier: u32) {
        let order = &mut *self.order.lock();
        let clock = order.flow(process).clock.clone();
        order.barriers.entry(barrier).or_default().merge(&clock);
        let flow = order.flow(process);
        flow.clock.tick(flow.number);
    }

    /// All have come, and it goes on.
    pub(crate) fn passed(&self, process: u32, barrier: u32) {
        let order = &mut *self.order.lock();
        let Some(clock) = order.barriers.get(&barrier).cloned() else { return };
        let flow = order.flow(process);
        flow.clock.merge(&clock);
        flow.clock.tick(flow.number);
    }

    /// All go on.
    pub(crate) fn all_passed(&self, barrier: u32) {
        self.order.lock().barriers.remove(&barrier);
    }

    /// It gives a lock back.
    pub(crate) fn released(&self, process: u32, lock: u32) {
        let order = &mut *self.order.lock();
        let flow = order.flow(process);
        let clock = flow.clock.clone();
        flow.clock.tick(flow.number);
        order.locks.insert(lock, clock);
    }

    /// It holds a lock.
    pub(crate) fn claimed(&self, process: u32, lock: u32) {
        let order = &mut *self.order.lock();
        if let Some(clock) = order.locks.get(&lock).cloned() {
            order.flow(process).clock.merge(&clock);
        }
    }
}

impl HappensBefore {
    fn access<L>(&mut self, process: &Process<L>, at: u32, deed: Deed) -> Access {
        let flow = self.flow(process.id());
        let (flow, time) = (flow.number, flow.clock.get(flow.number));
        Access { flow, time, process: process.id(), at, start: process.beginning(), deed }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_marked_for_who_shares_it() {
        let races = Races::new(64);
        assert!(
            races.watch(1, 8, 6) && races.watch(2, 14, 2) && races.watch(3, 16, 5) && races.watch(4, 21, 2)
        );
        races.unwatch(8);
        assert!(
            !races.is_marked(8, 12) && races.is_marked(14, 16),
            "the second is in the first one's last word"
        );
        races.unwatch(14);
        assert!(!races.is_marked(12, 16));
        races.unwatch(21);
        assert!(races.is_marked(20, 21) && races.is_marked(16, 20));
        races.unwatch(16);
        assert!(!races.is_marked(0, 64));
    }
}
