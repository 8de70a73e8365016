//! Owns: instructions that are more than a line in the loop: ALT, waiting for time, routines on words, the host.
//! May use: `arith`, `atom`, `comm`, `machine`, `process`, `scheduler`, `raddle-bytecode`.
//! Never: a slot; the loop has them.

use crate::arith;
use crate::atom;
use crate::comm::after;
use crate::machine::Machine;
use crate::prim::Ordering;
use crate::process::{self, Process, Step};
use crate::scheduler::Scheduler;
use raddle_bytecode::{BEGIN_PLACED, FOREIGN, Insn, Long, Op, Trap};

impl<L: Default> Machine<L> {
    pub(crate) fn alt_step<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        insn: Insn,
        (operand, state, number): (u32, u32, u32),
    ) -> Result<(), Trap> {
        let ready = match insn.op {
            Op::Alt => return self.alt_open(me, state).ok_or(Trap::Address),
            Op::EnC => return self.enable::<S, SHARED>(scheduler, me, operand, state),
            Op::EnT => return self.enable_time(scheduler.now(), me, operand, state).ok_or(Trap::Address),
            Op::EnS => return self.enable_skip(me, state).ok_or(Trap::Address),
            Op::DisC | Op::DisCR => self.disable::<SHARED>(me, operand)?,
            Op::DisT | Op::DisTR => after(scheduler.now(), operand),
            _ => true,
        };
        if ready { self.choose(state, number).ok_or(Trap::Address) } else { Ok(()) }
    }

    /// `wait`. The caller has saved itself so that it comes here again.
    pub(crate) fn wait_until<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        time: u32,
    ) -> Step {
        if after(scheduler.now(), time) {
            return Step::Done;
        }
        me.alt.store(process::ENABLING, Ordering::Relaxed);
        scheduler.alarm(me, time);
        match atom::exchange::<SHARED>(&me.alt, process::ENABLING, process::WAITING) {
            Ok(()) => Step::Waits,
            // It rang at once. Others have their turn before the next look at the clock.
            Err(_) => {
                scheduler.ready(me);
                Step::Waits
            }
        }
    }

    pub(crate) fn long_step(&self, at: u32, routine: i32) -> Result<(), Trap> {
        let mut words = [0; 8];
        for (number, word) in words.iter_mut().enumerate() {
            *word = self.memory.load_w(at + 4 * number as u32).ok_or(Trap::Address)?;
        }
        arith::long(Long::from_number(routine).ok_or(Trap::Host)?, &mut words)?;
        for (number, &word) in words.iter().enumerate() {
            self.memory.store_w(at + 4 * number as u32, word).ok_or(Trap::Address)?;
        }
        Ok(())
    }

    pub(crate) fn host_step<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        at: u32,
        number: i32,
    ) -> Result<(), Trap> {
        if number <= BEGIN_PLACED {
            return self.place_step(scheduler, me, at, number);
        }
        if number < 0 {
            return self.level_step(me, at, number);
        }
        let mut words = [0; 4];
        for (number, word) in words.iter_mut().enumerate() {
            *word = self.memory.load_w(at + 4 * number as u32).ok_or(Trap::Address)?;
        }
        if number >= FOREIGN {
            // Who calls foreign routines is told where the memory lies.
            let base = self.memory.base().expose_provenance() as u64;
            words = [words[0], self.memory.bytes(), base as u32, (base >> 32) as u32];
        }
        let words = scheduler.call(number, words).ok_or(Trap::Host)?;
        for (number, &word) in words.iter().enumerate() {
            self.memory.store_w(at + 4 * number as u32, word).ok_or(Trap::Address)?;
        }
        Ok(())
    }
}
