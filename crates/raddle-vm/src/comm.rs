//! Owns: channels: who waits in a channel's word, who may take whom, and the copy.
//! May use: `atom`, `block`, `machine`, `memory`, `process`, `races::shadow`, `scheduler`, `stop`, `loom`,
//! `raddle-bytecode`.
//! Never: trusts a channel's word: it lies in the program's memory. What a process waits for lies outside.
//!
//! A channel's word is one of
//!
//! | word | meaning |
//! |---|---|
//! | 0 | nobody waits |
//! | p | process p waits to output or to input; its `wait` says which, and where |
//! | p + `IN_ALT` | process p would input, among other things |
//! | `UNTOUCHED` | nobody has used it yet, and who does first is told of (`ranks`) |
//!
//! **Rendezvous.** The first to come notes what it wants in its own record, sets `wait` to the channel and its
//! direction, and puts its number into the word (exchange 0 -> p). From there on it must not be touched by itself.
//! The second finds p, and claims it: exchange `wait`: (channel, other direction) -> 0. Only one claim can succeed,
//! so a word that somebody forged, or a number that is long out of date, leads to a trap and not to a process that is
//! queued twice. Then it clears the word, copies, and makes p ready. Each side pays one exchange.
//!
//! **Extended rendezvous.** Who outputs is in the word until the receiver's process ends. If it came first, the
//! receiver copies its message and leaves it there, claiming nobody. If it comes second, it finds by the receiver's
//! record that it has to stay: it claims the receiver as ever, copies, puts itself into the word, and makes the
//! receiver ready. At the end the receiver claims it from there. So a plain input or output does not look for any of
//! this, and an extended one pays one exchange, too. (PERF: an ALT of one guard, which needs no word of this, takes
//! three.)

use crate::atom;
use crate::block::{BYTES_A_STEP, PIECE_BYTES};
use crate::machine::Machine;
use crate::memory::FLOOR;
use crate::prim::{AtomicU32, Ordering};
use crate::process::{
    ANY, EXTENDED, IN_ALT, IN_SLOT, INPUT, OUTPUT, Process, READY, Step, UNTOUCHED, WAITING,
};
use crate::races::Deed;
use crate::scheduler::{Port, Scheduler};
use crate::stop::Stop;
use raddle_bytecode::Trap;

/// What a shorter message costs is not counted: leaving the loop for it would cost more.
const LONG_BYTES: u32 = 256;
/// So many bytes are written to the screen at once; that is slower than to copy them.
const PORT_PIECE_BYTES: u32 = PIECE_BYTES / 16;
const PORT_BYTES_A_STEP: u32 = 4;

/// So many bytes have been passed on, of which some cost as much as an instruction.
fn done<L>(me: &Process<L>, bytes: u32, bytes_a_step: u32) -> Result<Step, Stop> {
    if bytes < LONG_BYTES {
        return Ok(Step::Done);
    }
    me.length.set(bytes / bytes_a_step);
    Err(Stop::Spent)
}

/// What is to be sent, or where to put what comes.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    pub(crate) at: u32,
    /// Bytes; with `IN_SLOT` if it is a value in a slot, with `EXTENDED` if who sends it is to wait on.
    pub(crate) length: u32,
}

impl Message {
    /// Where, and how many bytes.
    fn range(self) -> (u32, u32) {
        (self.at, self.bytes())
    }

    fn bytes(self) -> u32 {
        self.length & !(IN_SLOT | EXTENDED)
    }
}

/// What a communication has done to the other one, beside the message.
pub(crate) struct Met<'m, L> {
    /// Who was made ready last, and cannot run before the caller asks the scheduler for the next; 0 if nobody.
    pub(crate) kept: u32,
    /// Whom the caller, who waits, goes on with, without asking; in no queue.
    pub(crate) next: Option<&'m Process<L>>,
}

impl<L> Default for Met<'_, L> {
    fn default() -> Self {
        Met { kept: 0, next: None }
    }
}

impl<L: Default> Machine<L> {
    /// One side of a communication. On [`Step::Waits`] the caller must have saved itself before, and is gone. A long
    /// message is done, too, when it costs something.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn communicate<'m, S: Scheduler<Link = L>, const SHARED: bool>(
        &'m self,
        scheduler: &S,
        me: &Process<L>,
        channel: u32,
        direction: u32,
        message: Message,
        met: &mut Met<'m, L>,
    ) -> Result<Step, Stop> {
        if S::CHECKED {
            self.races.use_end(me, channel, direction)?;
        }
        if channel < FLOOR {
            return self.at_port::<S, SHARED>(scheduler, me, channel, direction, message);
        }
        let word = self.memory.word(channel).ok_or(Trap::Address)?;
        self.meet::<S, SHARED>(scheduler, me, (word, channel | direction), message, met)
    }

    /// `end` is the channel and the direction.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn meet<'m, S: Scheduler<Link = L>, const SHARED: bool>(
        &'m self,
        scheduler: &S,
        me: &Process<L>,
        (word, end): (&AtomicU32, u32),
        message: Message,
        met: &mut Met<'m, L>,
    ) -> Result<Step, Stop> {
        let mut seen = atom::load::<SHARED>(word);
        loop {
            if seen != 0 && seen & IN_ALT == 0 {
                return self.take::<S, SHARED>(scheduler, me, (word, end), seen, message, met);
            }
            if seen != 0 && end & INPUT != 0 {
                return Err(Stop::Trap(Trap::Channel));
            }
            me.message.set(message.at);
            me.length.set(message.length);
            me.wait.store(end, Ordering::Relaxed);
            match atom::exchange::<SHARED>(word, seen, me.id()) {
                Ok(()) => break,
                Err(now) if self.withdraw::<SHARED>(me, end) => seen = now,
                Err(_) => return Ok(Step::Waits),
            }
        }
        // We are in the word: somebody else may be running us by now.
        if seen != 0 {
            self.signal::<S, SHARED>(scheduler, seen & !IN_ALT);
        }
        Ok(Step::Waits)
    }

    /// Takes back what was noted in `wait`. False if somebody has claimed us already, which takes a forged word:
    /// then we are made ready by them, and must not go on here.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn withdraw<const SHARED: bool>(&self, me: &Process<L>, wait: u32) -> bool {
        atom::exchange::<SHARED>(&me.wait, wait, 0).is_ok()
    }

    /// The second to come: the other one waits.
    #[cfg_attr(feature = "large", inline(always))]
    fn take<'m, S: Scheduler<Link = L>, const SHARED: bool>(
        &'m self,
        scheduler: &S,
        me: &Process<L>,
        (word, end): (&AtomicU32, u32),
        other: u32,
        message: Message,
        met: &mut Met<'m, L>,
    ) -> Result<Step, Stop> {
        let Some(other) = self.processes.get(other) else {
            return self.meet_untouched::<S, SHARED>(scheduler, me, (word, end), other, message, met);
        };
        let wanted = end ^ OUTPUT ^ INPUT;
        if message.length & EXTENDED != 0 {
            return self.copy_from_waiting(scheduler, me, other, wanted, message);
        }
        atom::exchange::<SHARED>(&other.wait, wanted, 0).map_err(|_| Trap::Channel)?;
        let theirs = Message { at: other.message.get(), length: other.length.get() };
        let (from, to) = if end & OUTPUT != 0 { (message, theirs) } else { (theirs, message) };
        let is_word = from.length == 4 | IN_SLOT && to.length == from.length;
        // Before the channel's word is cleared, which may be what is sent, as compiled code has it.
        let value = if is_word { self.memory.load_w(from.at).ok_or(Trap::Address)? } else { 0 };
        word.store(0, Ordering::Relaxed);
        if S::CHECKED {
            let what = (end & (OUTPUT | INPUT), from.range(), to.range());
            self.races.met(me, other, self.keyboard().id(), what)?;
        }
        if is_word {
            self.memory.store_w(to.at, value).ok_or(Trap::Address)?;
            if scheduler.ready_here(other) {
                met.kept = other.id();
            }
            return Ok(Step::Done);
        }
        if theirs.length & EXTENDED != 0 {
            return self.stay(scheduler, me, other, (word, end), (message, theirs), met);
        }
        self.pass_any(scheduler, (from, to), (me, other), &mut met.kept)
    }

    /// In the word is no process: nobody has used the channel yet, or it is damaged.
    #[cold]
    #[inline(never)]
    fn meet_untouched<'m, S: Scheduler<Link = L>, const SHARED: bool>(
        &'m self,
        scheduler: &S,
        me: &Process<L>,
        (word, end): (&AtomicU32, u32),
        seen: u32,
        message: Message,
        met: &mut Met<'m, L>,
    ) -> Result<Step, Stop> {
        if seen != UNTOUCHED {
            return Err(Stop::Trap(Trap::Channel));
        }
        self.first_touch::<S, SHARED>(scheduler, end)?;
        self.meet::<S, SHARED>(scheduler, me, (word, end), message, met)
    }

    /// An extended input comes second: who outputs waits on.
    fn copy_from_waiting<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        other: &Process<L>,
        wanted: u32,
        to: Message,
    ) -> Result<Step, Stop> {
        if other.wait.load(Ordering::Relaxed) != wanted {
            return Err(Stop::Trap(Trap::Channel));
        }
        let from = Message { at: other.message.get(), length: other.length.get() };
        if S::CHECKED {
            self.races.met(me, other, self.keyboard().id(), (INPUT, from.range(), to.range()))?;
        }
        self.copy_message(scheduler, from, to)?;
        done(me, from.bytes(), BYTES_A_STEP)
    }

    /// An output comes second, to an extended input: it waits where it has come to, and the receiver goes on, if it
    /// can in the place of who waits now. (PERF: a word received by `??` took 1.6 of one by `?`; so, 1.31.)
    #[cfg_attr(feature = "large", inline(always))]
    fn stay<'m, S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        other: &'m Process<L>,
        (word, end): (&AtomicU32, u32),
        (from, to): (Message, Message),
        met: &mut Met<'m, L>,
    ) -> Result<Step, Stop> {
        if from.length == 4 | IN_SLOT && to.length == from.length | EXTENDED {
            let value = self.memory.load_w(from.at).ok_or(Trap::Address)?;
            self.memory.store_w(to.at, value).ok_or(Trap::Address)?;
        } else {
            self.copy_message(scheduler, from, to)?;
        }
        me.message.set(from.at);
        me.length.set(from.length);
        me.wait.store(end, Ordering::Relaxed);
        // Release pairs with the acquire of the look in `end_extended`.
        word.store(me.id(), Ordering::Release);
        if scheduler.hand_over(other) {
            met.next = Some(other);
        }
        Ok(Step::Waits)
    }

    /// `xend`: the process of an extended input has ended.
    pub(crate) fn end_extended<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        channel: u32,
    ) -> Result<(), Trap> {
        let word = self.memory.word(channel).ok_or(Trap::Address)?;
        let other = self.processes.get(atom::load::<SHARED>(word)).ok_or(Trap::Channel)?;
        atom::exchange::<SHARED>(&other.wait, channel | OUTPUT, 0).map_err(|_| Trap::Channel)?;
        word.store(0, Ordering::Relaxed);
        if S::CHECKED && other.id() != self.keyboard().id() {
            self.races.lets_go(me.id(), other.id());
        }
        scheduler.ready(other);
        Ok(())
    }

    /// Copies a message that is not a word, and makes the other one ready.
    #[inline(never)]
    fn pass_any<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        (from, to): (Message, Message),
        (me, other): (&Process<L>, &Process<L>),
        kept: &mut u32,
    ) -> Result<Step, Stop> {
        self.copy_message(scheduler, from, to)?;
        if scheduler.ready_here(other) {
            *kept = other.id();
        }
        done(me, from.bytes(), BYTES_A_STEP)
    }

    fn copy_message<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        from: Message,
        to: Message,
    ) -> Result<(), Stop> {
        let length = from.bytes();
        if to.length == ANY {
            // It stays with who outputs until another rank has it.
            return Ok(());
        }
        if length != to.bytes() {
            return Err(Stop::Trap(Trap::Message));
        }
        let memory = &self.memory;
        match (to.length & IN_SLOT != 0, length) {
            (true, 1) => {
                memory.load_b(from.at).and_then(|byte| memory.store_w(to.at, byte)).ok_or(Trap::Address)?
            }
            (true, 2) => {
                memory.load_h(from.at).and_then(|half| memory.store_w(to.at, half)).ok_or(Trap::Address)?
            }
            (true, 4) => {
                memory.load_w(from.at).and_then(|word| memory.store_w(to.at, word)).ok_or(Trap::Address)?
            }
            _ => self.copy_block(scheduler, (to.at, from.at), length)?,
        }
        Ok(())
    }

    /// The world's channels.
    #[cold]
    fn at_port<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        channel: u32,
        direction: u32,
        message: Message,
    ) -> Result<Step, Stop> {
        let port = match (channel, direction) {
            (16, INPUT) => {
                scheduler.want_key();
                let word = self.memory.word(channel).ok_or(Trap::Address)?;
                return self.meet::<S, SHARED>(
                    scheduler,
                    me,
                    (word, channel | direction),
                    message,
                    &mut Met::default(),
                );
            }
            // The second of each is the one with locks behind it, for those who share it.
            (20 | 32, OUTPUT) => Port::Screen,
            (24 | 44, OUTPUT) => Port::Error,
            _ => return Err(Stop::Trap(Trap::Address)),
        };
        let mut at = message.at;
        let behind = at.checked_add(message.bytes()).ok_or(Trap::Address)?;
        if S::CHECKED {
            self.races.touch(me, me.ip.get().wrapping_sub(1), message.range(), Deed::Read)?;
        }
        if behind - at == 1 {
            // PERF: most programs write a byte at a time; see the host's screen.
            let byte = self.memory.load_b(at).ok_or(Trap::Address)? as u8;
            scheduler.output(port, &[byte]);
            if S::COUNTED {
                scheduler.worked(1);
            }
            return done(me, 1, PORT_BYTES_A_STEP);
        }
        let mut bytes = [0; 64];
        while at < behind {
            let count = (behind - at).min(64) as usize;
            for (offset, byte) in bytes[..count].iter_mut().enumerate() {
                *byte = self.memory.load_b(at + offset as u32).ok_or(Trap::Address)? as u8;
            }
            scheduler.output(port, &bytes[..count]);
            at += count as u32;
            if S::COUNTED {
                scheduler.worked(count as u64);
            }
            if (at - message.at).is_multiple_of(PORT_PIECE_BYTES) && scheduler.look() {
                return Err(Stop::Over);
            }
        }
        done(me, at - message.at, PORT_BYTES_A_STEP)
    }

    /// The keyboard's process outputs a byte. When it is dispatched next, the byte has been taken.
    ///
    /// # Errors
    /// If the program has damaged the channel.
    pub fn offer_key<S: Scheduler<Link = L>>(&self, scheduler: &S, key: u8) -> Result<Step, Trap> {
        let channel = Port::Keyboard as u32;
        self.memory.store_w(FLOOR - 4, u32::from(key)).ok_or(Trap::Address)?;
        let message = Message { at: FLOOR - 4, length: 1 };
        let word = self.memory.word(channel).ok_or(Trap::Address)?;
        let (mut others, end) = (Met::default(), (word, channel | OUTPUT));
        let met = if S::SHARED {
            self.meet::<S, true>(scheduler, self.keyboard(), end, message, &mut others)
        } else {
            self.meet::<S, false>(scheduler, self.keyboard(), end, message, &mut others)
        };
        // Nobody runs here in whose place it could go on.
        others.next.into_iter().for_each(|next| scheduler.ready(next));
        match met {
            Ok(step) => Ok(step),
            Err(Stop::Trap(trap)) => Err(trap),
            // One byte costs nothing.
            Err(Stop::Over | Stop::Dry | Stop::Spent) => Ok(Step::Done),
        }
    }

    /// Something has come for a process that may be in an ALT, or waits for time.
    pub(crate) fn signal<S: Scheduler<Link = L>, const SHARED: bool>(&self, scheduler: &S, id: u32) {
        let Some(process) = self.processes.get(id) else { return };
        if atom::swap::<SHARED>(&process.alt, READY) == WAITING {
            scheduler.ready(process);
        }
    }

    /// The time has come for which the process asked.
    pub fn ring<S: Scheduler<Link = L>>(&self, scheduler: &S, id: u32) {
        if S::SHARED {
            self.signal::<S, true>(scheduler, id);
        } else {
            self.signal::<S, false>(scheduler, id);
        }
    }
}

/// `now AFTER time`.
#[cfg_attr(feature = "large", inline(always))]
pub(crate) fn after(now: u32, time: u32) -> bool {
    (now.wrapping_sub(time) as i32) > 0
}
