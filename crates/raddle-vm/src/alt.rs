//! Owns: ALT: enabling, waiting, disabling, and which guard is chosen.
//! May use: `atom`, `comm`, `machine`, `memory`, `process`, `scheduler`, `loom`, `raddle-bytecode`.
//! Never: trusts a channel's word: it lies in the program's memory.
//!
//! **ALT.** The word `alt` of the one who inputs goes `IDLE` -> `ENABLING` -> `WAITING`; who has something for it
//! puts `READY`, and whoever thereby replaces `WAITING`, makes it ready. It enables a channel by 0 -> p + `IN_ALT`. An
//! output that finds this puts itself there in its place and waits, as the first of a rendezvous; then it signals.
//! The one in the ALT takes back each word that still is its own; where it is not, somebody waits to output, and
//! that guard is ready. Its input then finds the output waiting. A signal may come late, when the ALT is over, since
//! its sender first put itself into the word: so an ALT that is woken and finds nothing begins again, and a signal
//! between ALTs is forgotten when the next one begins.

use crate::atom;
use crate::comm::after;
use crate::machine::Machine;
use crate::memory::FLOOR;
use crate::prim::{AtomicU32, Ordering};
use crate::process::{ENABLING, IDLE, IN_ALT, INPUT, Process, READY, Step, UNTOUCHED, WAITING};
use crate::scheduler::{Port, Scheduler};
use raddle_bytecode::Trap;

/// Slots of the state of an ALT.
pub(crate) const CHOSEN: u32 = 0;
pub(crate) const LAST: u32 = 4;
pub(crate) const ENABLED: u32 = 8;
pub(crate) const HAS_TIME: u32 = 12;
pub(crate) const TIME: u32 = 16;

impl<L: Default> Machine<L> {
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
            Err(UNTOUCHED) => {
                self.first_touch::<S, SHARED>(scheduler, channel | INPUT)?;
                self.enable_touched::<SHARED>(me, word)
            }
            Err(_) => {
                me.alt.store(READY, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// The same, where nobody else inputs: it was the first to.
    #[cold]
    fn enable_touched<const SHARED: bool>(&self, me: &Process<L>, word: &AtomicU32) -> Result<(), Trap> {
        if atom::exchange::<SHARED>(word, 0, me.id() | IN_ALT).is_err() {
            me.alt.store(READY, Ordering::Relaxed);
        }
        Ok(())
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
