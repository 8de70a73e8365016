//! Owns: barriers: who has come, who is let go on, who becomes a member and who is one no more.
//! May use: `atom`, `machine`, `memory`, `process`, `scheduler`, `stop`, `loom`, `raddle-bytecode`.
//! Never: trusts a barrier's words: they lie in the program's memory. Who waits at which barrier does not.
//!
//! | word | meaning |
//! |---|---|
//! | enrolled | how many members there are; changed under the machine's lock for enrolments |
//! | left | how many of them have not come in this phase |
//! | last | who came last and waits; each has the number of who came before it in its record |
//!
//! **A phase.** Who comes says so in its record, puts itself before those who wait, and counts itself down in `left`.
//! The last of all, whom that brings to zero, takes the list; it has everybody in it, since each put itself there
//! before it counted. It sets `left` to the members for the next phase before it lets anybody go on. Each is claimed by
//! an exchange of its `wait`, so that a forged list, or one that runs in a circle, leads to a trap.
//!
//! **Members.** Who becomes one while others wait must not be counted twice: by itself and by the last, who counts the
//! members anew. That `left` is zero says that somebody is about to. So nobody raises it from zero but the last, or
//! whoever finds no member at all; and the last counts under the lock.

use crate::atom;
use crate::machine::Machine;
use crate::memory::FLOOR;
use crate::prim::{AtomicU32, Ordering};
use crate::process::{LOCK, Process, Step};
use crate::scheduler::Scheduler;
use crate::stop::Stop;
use raddle_bytecode::Trap;

/// After so many who are let go on it is asked whether the machine is to stop.
const READY_A_PIECE: u32 = 1024;
/// What fewer than so many cost is not counted.
const MANY: u32 = 16;

/// Its words.
struct BarrierWords<'m> {
    at: u32,
    enrolled: &'m AtomicU32,
    left: &'m AtomicU32,
    last: &'m AtomicU32,
}

impl<L: Default> Machine<L> {
    fn barrier(&self, at: u32) -> Result<BarrierWords<'_>, Trap> {
        if at < FLOOR {
            return Err(Trap::Undefined);
        }
        let word = |number: u32| self.memory.word(at.checked_add(4 * number)?);
        let words = || Some((word(0)?, word(1)?, word(2)?));
        let (enrolled, left, last) = words().ok_or(Trap::Address)?;
        Ok(BarrierWords { at, enrolled, left, last })
    }

    /// `sync`. The caller has saved itself.
    #[inline]
    pub(crate) fn sync<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        at: u32,
    ) -> Result<Step, Stop> {
        let barrier = self.barrier(at)?;
        if S::CHECKED {
            self.races.came(me.id(), at);
        }
        // Nobody else has to come: who comes last need not wait.
        if atom::exchange::<SHARED>(barrier.left, 1, 0).is_err() {
            me.wait.store(at | LOCK, Ordering::Relaxed);
            let mut before = barrier.last.load(Ordering::Relaxed);
            loop {
                me.message.set(before);
                match atom::exchange::<SHARED>(barrier.last, before, me.id()) {
                    Ok(()) => break,
                    Err(now) => before = now,
                }
            }
            // From here on somebody else may be running us, unless we are the last.
            if atom::add::<SHARED>(barrier.left, u32::MAX) != 0 {
                return Ok(Step::Waits);
            }
        }
        if S::CHECKED {
            self.races.passed(me.id(), at);
        }
        let count = self.let_go::<S, SHARED>(scheduler, &barrier, me.id())?;
        if count < MANY {
            return Ok(Step::Done);
        }
        me.length.set(count);
        Err(Stop::Spent)
    }

    /// All have come: begins the next phase, and lets those go on who wait, but for `me`, who does not wait any more.
    #[inline]
    fn let_go<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        barrier: &BarrierWords<'_>,
        me: u32,
    ) -> Result<u32, Stop> {
        let first = {
            let _enrolments = self.enrolments.lock();
            // Who came before us has put itself there before it counted, and nobody else comes now.
            let first = barrier.last.load(Ordering::Relaxed);
            barrier.last.store(0, Ordering::Relaxed);
            // Release pairs with the acquire of those who count down in the next phase.
            barrier.left.store(barrier.enrolled.load(Ordering::Relaxed), Ordering::Release);
            first
        };
        let (mut next, mut count) = (first, 0);
        while next != 0 {
            let process = self.processes.get(next).ok_or(Trap::Channel)?;
            atom::exchange::<SHARED>(&process.wait, barrier.at | LOCK, 0).map_err(|_| Trap::Channel)?;
            next = process.message.get();
            if process.id() == me {
                continue;
            }
            if S::CHECKED {
                self.races.passed(process.id(), barrier.at);
            }
            scheduler.ready(process);
            count += 1;
            if S::COUNTED {
                scheduler.worked(1);
            }
            if count % READY_A_PIECE == 0 && scheduler.look() {
                return Err(Stop::Over);
            }
        }
        if S::CHECKED {
            self.races.all_passed(barrier.at);
        }
        Ok(count)
    }

    /// `enroll`: by a member that has not come, or by who is none.
    pub(crate) fn enroll<const SHARED: bool>(&self, at: u32, more: u32) -> Result<(), Trap> {
        let BarrierWords { enrolled, left, .. } = self.barrier(at)?;
        let _enrolments = self.enrolments.lock();
        let before = enrolled.load(Ordering::Relaxed);
        enrolled.store(before.wrapping_add(more), Ordering::Relaxed);
        if before == 0 {
            left.store(more, Ordering::Relaxed);
            return Ok(());
        }
        let mut seen = atom::load::<SHARED>(left);
        while seen != 0 {
            match atom::exchange::<SHARED>(left, seen, seen.wrapping_add(more)) {
                Ok(()) => return Ok(()),
                Err(now) => seen = now,
            }
        }
        Ok(())
    }

    /// `resign`: by a member that has not come. All others may have.
    pub(crate) fn resign<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        at: u32,
    ) -> Result<(), Stop> {
        let barrier = self.barrier(at)?;
        if S::CHECKED {
            self.races.came(me.id(), at);
        }
        let all = {
            let _enrolments = self.enrolments.lock();
            let members = barrier.enrolled.load(Ordering::Relaxed).wrapping_sub(1);
            barrier.enrolled.store(members, Ordering::Relaxed);
            // Without members nobody waits.
            atom::add::<SHARED>(barrier.left, u32::MAX) == 0 && members != 0
        };
        if !all {
            return Ok(());
        }
        let count = self.let_go::<S, SHARED>(scheduler, &barrier, 0)?;
        if count < MANY {
            return Ok(());
        }
        me.length.set(count);
        Err(Stop::Spent)
    }
}
