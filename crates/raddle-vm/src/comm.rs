//! Owns: channels and ALT: who waits in a channel's word, who may take whom, and the copy.
//! May use: `atom`, `process`, `memory`.
//! Never: trusts a channel's word: it lies in the program's memory. What a process waits for lies outside.
//!
//! A channel's word is one of
//!
//! | word | meaning |
//! |---|---|
//! | 0 | nobody waits |
//! | p | process p waits to output or to input; its `wait` says which, and where |
//! | p + `IN_ALT` | process p would input, among other things |
//!
//! **Rendezvous.** The first to come notes what it wants in its own record, sets `wait` to the channel and its
//! direction, and puts its number into the word (exchange 0 -> p). From there on it must not be touched by itself.
//! The second finds p, and claims it: exchange `wait`: (channel, other direction) -> 0. Only one claim can succeed,
//! so a word that somebody forged, or a number that is long out of date, leads to a trap and not to a process that is
//! queued twice. Then it clears the word, copies, and makes p ready. Each side pays one exchange.
//!
//! **ALT.** The word `alt` of the one who inputs goes `IDLE` -> `ENABLING` -> `WAITING`; who has something for it
//! puts
//! `READY`, and whoever thereby replaces `WAITING`, makes it ready. It enables a channel by 0 -> p + `IN_ALT`. An
//! output that finds this puts itself there in its place and waits, as the first of a rendezvous; then it signals.
//! The one in the ALT takes back each word that still is its own; where it is not, somebody waits to output, and
//! that guard is ready. Its input then finds the output waiting. A signal may come late, when the ALT is over, since
//! its sender first put itself into the word: so an ALT that is woken and finds nothing begins again, and a signal
//! between ALTs is forgotten when the next one begins.

use crate::atom;
use crate::interp::Step;
use crate::machine::{FLOOR, Machine, Port, Scheduler};
use crate::prim::{AtomicU32, Ordering};
use crate::process::{ENABLING, IDLE, IN_ALT, IN_SLOT, INPUT, OUTPUT, Process, READY, WAITING};
use raddle_bytecode::Trap;

/// What is to be sent, or where to put what comes.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    pub(crate) at: u32,
    /// Bytes; with `IN_SLOT` if it is a value in a slot.
    pub(crate) length: u32,
}

/// Slots of the state of an ALT.
pub(crate) const CHOSEN: u32 = 0;
pub(crate) const LAST: u32 = 4;
pub(crate) const ENABLED: u32 = 8;
pub(crate) const HAS_TIME: u32 = 12;
pub(crate) const TIME: u32 = 16;

impl<L: Default> Machine<L> {
    /// One side of a communication. On [`Step::Waits`] the caller must have saved itself before, and is gone.
    #[inline(always)]
    pub(crate) fn communicate<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        channel: u32,
        direction: u32,
        message: Message,
    ) -> Result<Step, Trap> {
        if channel < FLOOR {
            return self.at_port::<S, SHARED>(scheduler, me, channel, direction, message);
        }
        let word = self.memory.word(channel).ok_or(Trap::Address)?;
        self.meet::<S, SHARED>(scheduler, me, (word, channel), direction, message)
    }

    #[inline(always)]
    fn meet<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        (word, channel): (&AtomicU32, u32),
        direction: u32,
        message: Message,
    ) -> Result<Step, Trap> {
        let mut seen = atom::load::<SHARED>(word);
        loop {
            if seen != 0 && seen & IN_ALT == 0 {
                return self.take::<S, SHARED>(scheduler, (word, channel), seen, direction, message);
            }
            if seen != 0 && direction == INPUT {
                return Err(Trap::Channel);
            }
            me.message.set(message.at);
            me.length.set(message.length);
            me.wait.store(channel | direction, Ordering::Relaxed);
            match atom::exchange::<SHARED>(word, seen, me.id()) {
                Ok(()) => break,
                Err(now) if self.withdraw::<SHARED>(me, channel | direction) => seen = now,
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
    #[inline(always)]
    pub(crate) fn withdraw<const SHARED: bool>(&self, me: &Process<L>, wait: u32) -> bool {
        atom::exchange::<SHARED>(&me.wait, wait, 0).is_ok()
    }

    /// The second to come: the other one waits.
    #[inline(always)]
    fn take<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        (word, channel): (&AtomicU32, u32),
        other: u32,
        direction: u32,
        message: Message,
    ) -> Result<Step, Trap> {
        let other = self.processes.get(other).ok_or(Trap::Channel)?;
        let wanted = channel | (direction ^ OUTPUT ^ INPUT);
        atom::exchange::<SHARED>(&other.wait, wanted, 0).map_err(|_| Trap::Channel)?;
        word.store(0, Ordering::Relaxed);
        let theirs = Message { at: other.message.get(), length: other.length.get() };
        let (from, to) = if direction == OUTPUT { (message, theirs) } else { (theirs, message) };
        self.pass(from, to)?;
        scheduler.ready(other);
        Ok(Step::Done)
    }

    /// Copies a message.
    #[inline(always)]
    fn pass(&self, from: Message, to: Message) -> Result<(), Trap> {
        if from.length == 4 | IN_SLOT && to.length == from.length {
            let value = self.memory.load_w(from.at).ok_or(Trap::Address)?;
            return self.memory.store_w(to.at, value).ok_or(Trap::Address);
        }
        self.pass_any(from, to)
    }

    #[inline(never)]
    fn pass_any(&self, from: Message, to: Message) -> Result<(), Trap> {
        let length = from.length & !IN_SLOT;
        if length != to.length & !IN_SLOT {
            return Err(Trap::Message);
        }
        let memory = &self.memory;
        let done = match (to.length & IN_SLOT != 0, length) {
            (true, 1) => memory.load_b(from.at).and_then(|byte| memory.store_w(to.at, byte)),
            (true, 2) => memory.load_h(from.at).and_then(|half| memory.store_w(to.at, half)),
            _ => memory.copy(to.at, from.at, length),
        };
        done.ok_or(Trap::Address)
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
    ) -> Result<Step, Trap> {
        let port = match (channel, direction) {
            (16, INPUT) => {
                scheduler.want_key();
                let word = self.memory.word(channel).ok_or(Trap::Address)?;
                return self.meet::<S, SHARED>(scheduler, me, (word, channel), direction, message);
            }
            // The second of each is the one with locks behind it, for those who share it.
            (20 | 32, OUTPUT) => Port::Screen,
            (24 | 44, OUTPUT) => Port::Error,
            _ => return Err(Trap::Address),
        };
        let mut at = message.at;
        let behind = at.checked_add(message.length & !IN_SLOT).ok_or(Trap::Address)?;
        let mut bytes = [0; 64];
        while at < behind {
            let count = (behind - at).min(64) as usize;
            for (offset, byte) in bytes[..count].iter_mut().enumerate() {
                *byte = self.memory.load_b(at + offset as u32).ok_or(Trap::Address)? as u8;
            }
            scheduler.output(port, &bytes[..count]);
            at += count as u32;
        }
        Ok(Step::Done)
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
        if S::SHARED {
            self.meet::<S, true>(scheduler, self.keyboard(), (word, channel), OUTPUT, message)
        } else {
            self.meet::<S, false>(scheduler, self.keyboard(), (word, channel), OUTPUT, message)
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

    /// `alt`.
    pub(crate) fn alt_open(&self, me: &Process<L>, state: u32) -> Option<()> {
        me.alt.store(ENABLING, Ordering::Relaxed);
        self.memory.store_w(state + CHOSEN, u32::MAX)?;
        self.memory.store_w(state + ENABLED, 0)?;
        self.memory.store_w(state + HAS_TIME, 0)
    }

    fn count_enabled(&self, state: u32) -> Option<()> {
        self.memory.store_w(state + ENABLED, self.memory.load_w(state + ENABLED)?.wrapping_add(1))
    }

    /// `enc`.
    pub(crate) fn enable<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        channel: u32,
        state: u32,
    ) -> Result<(), Trap> {
        if channel < FLOOR {
            if channel != Port::Keyboard as u32 {
                return Err(Trap::Address);
            }
            scheduler.want_key();
        }
        self.count_enabled(state).ok_or(Trap::Address)?;
        let word = self.memory.word(channel).ok_or(Trap::Address)?;
        match atom::exchange::<SHARED>(word, 0, me.id() | IN_ALT) {
            Ok(()) => Ok(()),
            Err(now) if now == me.id() | IN_ALT => Ok(()),
            Err(now) if now & IN_ALT != 0 => Err(Trap::Channel),
            Err(_) => {
                me.alt.store(READY, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// `ent`.
    pub(crate) fn enable_time(&self, now: u32, me: &Process<L>, time: u32, state: u32) -> Option<()> {
        self.count_enabled(state)?;
        if after(now, time) {
            me.alt.store(READY, Ordering::Relaxed);
            return Some(());
        }
        let has = self.memory.load_w(state + HAS_TIME)?;
        if has == 0 || after(self.memory.load_w(state + TIME)?, time) {
            self.memory.store_w(state + TIME, time)?;
        }
        self.memory.store_w(state + HAS_TIME, 1)
    }

    /// `ens`.
    pub(crate) fn enable_skip(&self, me: &Process<L>, state: u32) -> Option<()> {
        me.alt.store(READY, Ordering::Relaxed);
        self.count_enabled(state)
    }

    /// `altw`. The caller has saved itself.
    pub(crate) fn alt_wait<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        state: u32,
    ) -> Result<Step, Trap> {
        if self.memory.load_w(state + ENABLED) == Some(0) {
            return Err(Trap::Alt);
        }
        if me.alt.load(Ordering::Relaxed) == READY {
            return Ok(Step::Done);
        }
        if self.memory.load_w(state + HAS_TIME) == Some(1) {
            let time = self.memory.load_w(state + TIME).ok_or(Trap::Address)?;
            self.memory.store_w(state + HAS_TIME, 2).ok_or(Trap::Address)?;
            scheduler.alarm(me, time);
        }
        match atom::exchange::<SHARED>(&me.alt, ENABLING, WAITING) {
            Ok(()) => Ok(Step::Waits),
            Err(_) => Ok(Step::Done),
        }
    }

    /// `disc`: whether somebody waits to output there.
    pub(crate) fn disable<const SHARED: bool>(&self, me: &Process<L>, channel: u32) -> Result<bool, Trap> {
        let word = self.memory.word(channel).ok_or(Trap::Address)?;
        match atom::exchange::<SHARED>(word, me.id() | IN_ALT, 0) {
            Ok(()) => Ok(false),
            Err(now) => Ok(now != 0),
        }
    }

    /// A guard is ready: it is chosen if its number comes before that chosen so far, counted from behind the last
    /// one.
    pub(crate) fn choose(&self, state: u32, number: u32) -> Option<()> {
        let so_far = self.memory.load_w(state + CHOSEN)? as i32;
        let last = self.memory.load_w(state + LAST)? as i32;
        let number = number as i32;
        if so_far < 0
            || (number > last && so_far <= last)
            || (number < so_far && (number > last) == (so_far > last))
        {
            self.memory.store_w(state + CHOSEN, number as u32)?;
        }
        Some(())
    }

    /// `alte`: whether something was chosen.
    pub(crate) fn alt_close<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        state: u32,
    ) -> Option<bool> {
        me.alt.store(IDLE, Ordering::Relaxed);
        if self.memory.load_w(state + HAS_TIME)? == 2 {
            scheduler.cancel(me, self.memory.load_w(state + TIME)?);
        }
        let chosen = self.memory.load_w(state + CHOSEN)?;
        if (chosen as i32) < 0 {
            return Some(false);
        }
        self.memory.store_w(state + LAST, chosen)?;
        Some(true)
    }
}

/// `now AFTER time`.
#[inline(always)]
pub(crate) fn after(now: u32, time: u32) -> bool {
    (now.wrapping_sub(time) as i32) > 0
}
