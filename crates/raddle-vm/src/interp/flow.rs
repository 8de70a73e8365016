//! Owns: jumps, calls and returns, and whose turn it is.
//! May use: `process`, `scheduler`, `raddle-bytecode`.
//! Never: a return that the verifier's numbers do not bound: the words of a call lie where a program could forge them.

use super::cpu::{Cpu, Stop};
use crate::process::Step;
use crate::scheduler::Scheduler;
use raddle_bytecode::Trap;

/// Jumps backwards that a process may make before others get their turn.
pub(super) const FUEL: u32 = 2000;

impl<L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'_, L, S, SHARED> {
    /// The process waits, or is over: goes on with the next.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Result<(), Stop> {
        self.scheduler.stops(self.at as u32 - 1, false);
        self.go_on()
    }

    /// Somebody else has its turn.
    #[inline(always)]
    pub(super) fn give_way(&mut self) -> Result<(), Stop> {
        self.me.save(self.at, self.fp);
        self.yield_turn()
    }

    #[inline(always)]
    fn yield_turn(&mut self) -> Result<(), Stop> {
        self.scheduler.ready(self.me);
        self.scheduler.stops(self.at as u32, true);
        self.go_on()
    }

    #[inline(always)]
    fn go_on(&mut self) -> Result<(), Stop> {
        match self.scheduler.next() {
            Some(next) => {
                self.resume(next);
                Ok(())
            }
            None => Err(Stop::Over),
        }
    }

    /// The process has saved itself, and taken a step that may wait; does `done` if it did not.
    #[inline(always)]
    pub(super) fn after(&mut self, step: Result<Step, Trap>, done: impl FnOnce(&Self)) -> Result<(), Stop> {
        if step? == Step::Waits {
            return self.next();
        }
        done(self);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn spend(&mut self) -> Result<(), Stop> {
        self.fuel -= 1;
        if self.fuel == 0 {
            self.me.save(self.at, self.fp);
            self.scheduler.out_of_fuel();
            return self.yield_turn();
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn jump(&mut self) -> Result<(), Stop> {
        let distance = self.insn.distance();
        self.at = self.at.wrapping_add_signed(distance as isize);
        if distance < 0 { self.spend() } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn jump_if(&mut self, condition: bool) -> Result<(), Stop> {
        if condition { self.jump() } else { Ok(()) }
    }

    /// The end of a loop's body: the index goes on by `step`, the count down.
    #[inline(always)]
    pub(super) fn repeat(&mut self, step: u32) -> Result<(), Stop> {
        self.word(self.a().wrapping_add(step));
        let left = self.b().wrapping_sub(1);
        self.count(left);
        self.jump_if(left as i32 > 0)
    }

    #[inline(always)]
    pub(super) fn call(&mut self) -> Result<(), Stop> {
        let token = self.imm() as u32 + 1;
        let site = &self.machine.sites[self.imm() as usize];
        // SAFETY: the callee's frame lies within this one.
        unsafe { self.enter(site.entry, self.fp + site.base_bytes) };
        self.set_caller(token);
        self.spend()
    }

    /// A call with a frame that does not lie in the caller's.
    #[inline(always)]
    pub(super) fn call_elsewhere(&mut self) -> Result<(), Stop> {
        let token = self.imm() as u32 + 1;
        let site = &self.machine.sites[self.imm() as usize];
        let (from, to) = (self.fp, self.a());
        if to & 3 != 0 || to > site.callee_fp_max {
            return Err(Stop::Trap(Trap::Address));
        }
        // SAFETY: just compared.
        unsafe { self.enter(site.entry, to) };
        self.set_caller(token);
        self.set_callers_frame(from);
        self.spend()
    }

    #[inline(always)]
    pub(super) fn ret(&mut self) -> Result<(), Stop> {
        let token = self.caller();
        if token == 0 {
            return self.end();
        }
        let site = self.machine.sites.get(token as usize - 1).ok_or(Trap::Address)?;
        let from = self.fp;
        let to = if site.dynamic { self.callers_frame() } else { from.wrapping_sub(site.base_bytes) };
        if to & 3 != 0 || to > site.caller_fp_max {
            return Err(Stop::Trap(Trap::Address));
        }
        // SAFETY: just compared: the caller's frame, of which the verifier knows the size, lies within memory.
        unsafe { self.enter(site.back, to) };
        if site.dynamic {
            self.machine.free(from)?;
        }
        // A token that somebody forged may lead back.
        self.spend()
    }
}
