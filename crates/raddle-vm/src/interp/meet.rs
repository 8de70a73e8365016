//! Owns: processes that begin, end, wait and talk, as instructions.
//! May use: `comm`, `par`, `process`, `scheduler`, `stop`, `raddle-bytecode`.
//! Never: a step that may wait without the process saved: from then on somebody else may run it.

use super::cpu::Cpu;
use crate::comm::{Message, Met};
use crate::par::Many;
use crate::process::{EXTENDED, IN_SLOT, OUTPUT};
use crate::scheduler::Scheduler;
use crate::stop::Stop;
use raddle_bytecode::{END_PLACED, Trap};

impl<L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'_, L, S, SHARED> {
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn fork(&mut self) -> Result<(), Trap> {
        let entry = self.at.wrapping_add_signed(self.insn.distance() as isize) as u32;
        let about = (entry, self.fp, self.slot_at(self.insn.a));
        self.machine.fork(self.scheduler, self.local, self.me, about, false)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn join(&mut self) -> Result<(), Stop> {
        let join = self.slot_at(self.insn.a);
        self.me.save(self.at, self.fp);
        let step = self.machine.join::<SHARED>(self.me, join);
        self.after(step, |cpu| cpu.note_joined(join))
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn fork_many(&mut self) -> Result<(), Stop> {
        let function = &self.machine.program.module().functions[self.imm() as usize];
        let (entry, slots, state) = (function.first, function.slots, self.slot_at(self.insn.a));
        let many = Many { entry, slots, state, link: self.fp };
        self.machine.fork_many(self.scheduler, self.local, self.me, many)
    }

    /// Comes here again when all have ended.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn join_many(&mut self) -> Result<(), Stop> {
        let state = self.slot_at(self.insn.a);
        self.me.save(self.at - 1, self.fp);
        let step = self.machine.join_many::<SHARED>(self.me, state);
        self.after(step, |cpu| cpu.note_joined(state))
    }

    /// In a debug build: the process goes on after all that counted there.
    #[cfg_attr(feature = "large", inline(always))]
    fn note_joined(&self, join: u32) {
        if S::CHECKED {
            self.machine.races.joined(self.me.id(), join);
        }
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn open_forks(&self) -> Result<(), Trap> {
        self.machine.open_forks(self.me, self.slot_at(self.insn.a)).ok_or(Trap::Address)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn spawn(&mut self) -> Result<(), Trap> {
        let (function, about) = (self.imm() as usize, (self.a(), self.a_next()));
        self.machine.spawn::<S, SHARED>(self.scheduler, self.local, self.me, function, about)
    }

    /// The frame came from the heap, and nobody else is in it. Of its block's count see `par`: who may run at once, and
    /// who not, does not matter there.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn end_forked(&mut self) -> Result<(), Stop> {
        self.machine.free::<SHARED>(self.fp)?;
        self.machine.end::<S, SHARED>(self.scheduler, self.local, self.me, 0)?;
        self.next()
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn end(&mut self) -> Result<(), Stop> {
        self.machine.end::<S, SHARED>(self.scheduler, self.local, self.me, self.kept)?;
        self.next()
    }

    /// The value of slot `b`, as a message of `c` bytes.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn slot_message(&self) -> Message {
        Message { at: self.slot_at(self.insn.b), length: u32::from(self.insn.c) | IN_SLOT }
    }

    /// So many bytes as slot `c` says, where slot `b` says.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn message(&self) -> Result<Message, Trap> {
        let message = Message { at: self.b(), length: self.c() };
        let fits = self.machine.memory.has(message.at, message.length) && message.length < EXTENDED;
        if fits { Ok(message) } else { Err(Trap::Address) }
    }

    /// The same message, whose sender is to wait on.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn extended(message: Message) -> Message {
        Message { length: message.length | EXTENDED, ..message }
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn talk(&mut self, direction: u32, message: Message) -> Result<(), Stop> {
        let channel = self.a();
        self.local.stats.messages += u64::from(direction == OUTPUT);
        self.me.save(self.at, self.fp);
        let (scheduler, me) = (self.scheduler, self.me);
        let mut met = Met { kept: self.kept, next: None };
        let step =
            self.machine.communicate::<S, SHARED>(scheduler, me, channel, direction, message, &mut met);
        self.kept = met.kept;
        if met.next.is_some() {
            return self.next_or(met.next);
        }
        self.after(step, |_| ())
    }

    /// A step of an ALT, whose state is in slot `b`, about a guard.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn guard(&self, operand: u32, number: u32) -> Result<(), Trap> {
        self.alt((operand, self.slot_at(self.insn.b), number))
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn alt(&self, about: (u32, u32, u32)) -> Result<(), Trap> {
        self.machine.alt_step::<S, SHARED>(self.scheduler, self.me, self.insn, about)
    }

    /// A step of a PLACED PAR.
    #[cold]
    pub(super) fn place(&mut self) -> Result<(), Stop> {
        if self.imm() == END_PLACED {
            self.me.save(self.at, self.fp);
            let step = self.machine.end_placed(self.scheduler, self.me);
            return self.after(step, |_| ());
        }
        // Another rank begins here, too.
        self.me.save(self.at - 1, self.fp);
        Ok(self.machine.host_step(self.scheduler, self.me, self.slot_at(self.insn.a), self.imm())?)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn alt_wait(&mut self) -> Result<(), Stop> {
        self.me.save(self.at, self.fp);
        let step = self.machine.alt_wait::<S, SHARED>(self.scheduler, self.me, self.slot_at(self.insn.a));
        self.after(step, |_| ())
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn wait(&mut self) -> Result<(), Stop> {
        let time = self.a();
        self.me.save(self.at - 1, self.fp);
        let step = self.machine.wait_until::<S, SHARED>(self.scheduler, self.me, time);
        self.after(Ok::<_, Trap>(step), |_| ())
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn sync(&mut self) -> Result<(), Stop> {
        let barrier = self.a();
        self.me.save(self.at, self.fp);
        let step = self.machine.sync::<S, SHARED>(self.scheduler, self.me, barrier);
        self.after(step, |_| ())
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn claim(&mut self) -> Result<(), Stop> {
        let lock = self.a();
        self.me.save(self.at, self.fp);
        let step = self.machine.claim::<SHARED>(self.me, lock);
        let claimed = |cpu: &Self| {
            if S::CHECKED {
                cpu.machine.races.claimed(cpu.me.id(), lock);
            }
        };
        self.after(step, claimed)
    }
}
