//! Owns: jumps, calls and returns, and whose turn it is.
//! May use: `process`, `scheduler`, `stop`, `raddle-bytecode`.
//! Never: a return that the verifier's numbers do not bound: the words of a call lie where a program could forge them.

use super::cpu::Cpu;
use crate::process::{Process, Step};
use crate::scheduler::Scheduler;
use crate::stop::Stop;
use raddle_bytecode::Trap;

/// Instructions that a process may run before others get their turn.
///
/// They are not counted one by one: a jump backwards costs as many as it goes back. What was run since the last such
/// jump lies between there and here, and so is counted by the next one, or is no more than the function has. A call and
/// a return cost a part of what may follow; a block of bytes, its length. Whoever has to wait leaves the rest to the
/// next one: so the scheduler is told again and again, whatever is run ([`Scheduler::out_of_fuel`]).
pub(super) const FUEL: i32 = 16_384;

impl<'m, L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'m, L, S, SHARED> {
    /// The process waits, or is over: goes on with the next.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn next(&mut self) -> Result<(), Stop> {
        self.scheduler.stops(self.at as u32 - 1, false);
        self.go_on()
    }

    /// The process waits, or is over: goes on with that one, to whom the turn was handed over, or else with the next.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn next_or(&mut self, next: Option<&'m Process<L>>) -> Result<(), Stop> {
        match next {
            Some(next) => {
                self.resume(next);
                Ok(())
            }
            None => self.next(),
        }
    }

    /// Somebody else has its turn.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn give_way(&mut self) -> Result<(), Stop> {
        self.me.save(self.at, self.fp);
        self.yield_turn()
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn yield_turn(&mut self) -> Result<(), Stop> {
        self.scheduler.ready(self.me);
        self.scheduler.stops(self.at as u32, true);
        self.go_on()
    }

    #[cfg_attr(feature = "large", inline(always))]
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
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn after<E: Into<Stop>>(
        &mut self,
        step: Result<Step, E>,
        done: impl FnOnce(&Self),
    ) -> Result<(), Stop> {
        if step.map_err(Into::into)? == Step::Waits {
            return self.next();
        }
        done(self);
        Ok(())
    }

    /// The instruction is done, and has cost so much. What there is to do then is done outside the loop.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn spend(&mut self, cost: i32) -> Result<(), Stop> {
        self.fuel -= cost;
        if self.fuel <= 0 { Err(Stop::Dry) } else { Ok(()) }
    }

    /// An instruction has cost so much more. If the fuel is used up, there is more, for this process or the next.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn refuel(&mut self, cost: u32) -> Result<(), Stop> {
        self.fuel = self.fuel.saturating_sub_unsigned(cost);
        if self.fuel > 0 {
            return Ok(());
        }
        let alone = self.local.fuel_before == FUEL;
        self.scheduler.out_of_fuel(alone);
        (self.fuel, self.local.fuel_before) = (FUEL, FUEL);
        if alone { self.give_way() } else { Ok(()) }
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn jump(&mut self) -> Result<(), Stop> {
        let distance = self.insn.distance();
        self.at = self.at.wrapping_add_signed(distance as isize);
        if distance < 0 { self.spend(-distance) } else { Ok(()) }
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn jump_if(&mut self, condition: bool) -> Result<(), Stop> {
        if condition { self.jump() } else { Ok(()) }
    }

    /// The end of a loop's body: the index goes on by `step`, the count down.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn repeat(&mut self, step: u32) -> Result<(), Stop> {
        self.word(self.a().wrapping_add(step));
        let left = self.b().wrapping_sub(1);
        self.count(left);
        self.jump_if(left as i32 > 0)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn call(&mut self) -> Result<(), Stop> {
        let token = self.imm() as u32 + 1;
        let site = &self.machine.sites[self.imm() as usize];
        // SAFETY: the callee's frame lies within this one.
        unsafe { self.enter(site.entry, self.fp + site.base_bytes) };
        self.set_caller(token);
        self.spend(site.call_cost)
    }

    /// A call with a frame that does not lie in the caller's.
    #[cfg_attr(feature = "large", inline(always))]
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
        self.spend(site.call_cost)
    }

    #[cfg_attr(feature = "large", inline(always))]
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
            self.machine.free::<SHARED>(from)?;
        }
        // A token that somebody forged may lead back.
        self.spend(site.return_cost)
    }
}
