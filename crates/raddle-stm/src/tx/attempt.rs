//! Owns: an attempt's begin, its reads, and its end: by a commit, a wait for a change, or in vain.
//! May use: `arena`, `chaos`, `effort`, `gate`, `handles`, `log`, `mistake`, `panics`, `protocol::commit`,
//! `stop`, `value`, `variable`, `raddle-protocol`.
//! Never: a value's type.

use super::Tx;
use super::hooks::Hooks;
use crate::arena::{self, CLOCK};
use crate::effort::Effort;
use crate::gate::{self, Passage};
use crate::handles::Variables;
use crate::log::{Log, Mark};
use crate::mistake::{Mistake, made};
use crate::panics::Panics;
use crate::prim::give_way;
use crate::protocol::commit::{self, Refusal, are_of};
use crate::stop::sealed::Says;
use crate::stop::{Stop, Stops, Why};
use crate::value::{ValueKind, Words};
use crate::variable::HeadRef;
use std::marker::PhantomData;

/// Nobody else can have.
const OVERTAKEN_BY_ITSELF: &str =
    "an irrevocable transaction cannot commit: a transaction inside of its body has written what it has read";

/// Nobody's number, of those who lock.
const NO_OWNER: u64 = 0;

impl Tx<'_> {
    /// Begins an attempt, which notes what it reads if `has_notes`.
    #[inline(always)]
    pub(crate) fn begin(has_notes: bool, effort: &Effort) -> Self {
        let (slot, time) = arena::enter();
        crate::chaos::point();
        let mark = Mark::default();
        Tx {
            slot,
            time,
            stopped: None,
            is_over: false,
            has_notes,
            has_token: effort.has_token(),
            is_once: effort.is_once(),
            has_seal: effort.has_seal(),
            is_irrevocable: false,
            extensions: effort.extensions(),
            mark,
            hooks: None,
            of: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn log(&mut self) -> &mut Log {
        // SAFETY: the slot is ours, and nobody else has a reference to what is inside.
        unsafe { &mut *self.slot.inside() }
    }

    /// The number by which variables that this transaction has locked are known.
    #[inline(always)]
    fn owner(&self) -> u64 {
        // A word has as many bits for it as an aligned address needs.
        (std::ptr::from_ref(self.slot).addr() as u64) >> 2
    }

    #[inline(always)]
    pub(super) fn look(&mut self, head: HeadRef, kind: &ValueKind) -> Result<Words, Stop> {
        if let Some(why) = self.stopped {
            return Err(Stop(why));
        }
        if let Some(written) = self.log().written(head) {
            return Ok(*written);
        }
        // SAFETY: the caller has a handle.
        let there = unsafe { head.as_ref() };
        loop {
            match commit::read(&there.watched.word, || there.value.load(kind)) {
                Ok((words, seen)) if seen.version() <= self.time || made(Mistake::TakesNewer) => {
                    if self.has_notes {
                        self.log().reads.push(head);
                    }
                    return Ok(words);
                }
                Ok(_) => self.extend()?,
                Err(_) => wait_until_unlocked(there),
            }
        }
    }

    /// Moves the snapshot to now, if all that was read is still so; and it was not moved too often before.
    #[cold]
    fn extend(&mut self) -> Result<(), Stop> {
        let now = CLOCK.now();
        let time = self.time;
        let (has_notes, extensions) = (self.has_notes, self.extensions);
        // SAFETY: variables that a transaction has met are there as long as it runs.
        let mut reads = self.log().reads.iter().map(|head| &unsafe { head.as_ref() }.watched.word);
        let costs = u32::from(reads.len() > 0);
        if has_notes
            && extensions >= costs
            && (made(Mistake::ExtendsUnchecked) || are_of(time, NO_OWNER, &mut reads))
        {
            self.time = now;
            self.extensions = extensions - costs;
            return Ok(());
        }
        Err(self.stop(Why::Conflict))
    }

    /// Commits. False if that cannot be: somebody else was faster.
    #[inline(always)]
    pub(crate) fn commit(&mut self) -> bool {
        if !(self.log().is_read_only() || self.publish()) {
            assert!(!self.is_irrevocable, "{OVERTAKEN_BY_ITSELF}");
            return false;
        }
        let log = self.log();
        log.clear();
        let is_full = log.heap.is_full();
        self.slot.give_back();
        self.is_over = true;
        if is_full || self.hooks.is_some() {
            // What they do may be a wait for others.
            if self.has_seal {
                gate::unseal();
            }
            run_committed(self.hooks.take(), is_full);
        }
        true
    }

    /// Has others see what was written.
    #[inline(always)]
    fn publish(&mut self) -> bool {
        let mut passage = if self.has_token { Passage::Own } else { Passage::Opened };
        loop {
            let who = (self.time, self.owner());
            let log = self.log();
            let (writes, reads) = log.parts();
            let passes = || match passage {
                Passage::Own => true,
                Passage::Unsealed => !gate::is_sealed(),
                Passage::Opened | Passage::Shut => false,
            };
            match commit::commit(&CLOCK, who, writes, reads, || gate::is_open() || passes()) {
                Ok(version) => {
                    log.committed(version);
                    return true;
                }
                Err(Refusal::Conflict) => return false,
                Err(Refusal::Closed) => passage = gate::wait_until_open(),
            }
            if matches!(passage, Passage::Shut) {
                return false;
            }
        }
    }

    /// Nothing more is read or written, nor anything committed, whatever the body makes of it.
    #[cold]
    pub(super) fn stop(&mut self, why: Why) -> Stop {
        assert!(!(self.is_irrevocable && why == Why::Conflict), "{OVERTAKEN_BY_ITSELF}");
        Stop(*self.stopped.get_or_insert(why))
    }

    /// Why what its body has done is not to be, if it is not: what it has been told, whatever it returns.
    #[inline(always)]
    pub(crate) fn verdict<R, S: Stops>(&self, done: &Result<R, S>) -> Option<Why> {
        self.stopped.or_else(|| done.as_ref().err().map(Says::why))
    }

    /// What it waits for a change of since when, if it retries; unless it has no notes of that.
    pub(crate) fn waits_for(&mut self) -> Option<(Variables, u64)> {
        if !self.has_notes {
            return None;
        }
        let time = self.time;
        // A copy: the log's own memory is for the next transaction, and larger than one that waits should keep.
        let read = self.log().reads.clone();
        // SAFETY: variables that a transaction has met are there as long as it runs.
        let variables = unsafe { Variables::hold(read) };
        Some((variables, time))
    }
}

/// What is for later is done now, and what nobody reads is dropped, if much waits for that. It is code of the
/// program's: it may wait for what others commit, so that the gate is open meanwhile.
#[cold]
fn run_committed(hooks: Option<Box<Hooks>>, is_full: bool) {
    let mut panics = Panics::default();
    gate::open_while(|| {
        if let Some(hooks) = hooks {
            hooks.committed(&mut panics);
        }
        if is_full {
            arena::collect(&mut panics);
        }
    });
    panics.go_on();
}

/// It is locked for a few instructions, unless the kernel has stopped who does it.
#[cold]
fn wait_until_unlocked(head: &crate::variable::Head) {
    let mut round = 0;
    while head.watched.word.look().is_locked() {
        give_way(round);
        round += 1;
    }
}

/// In vain, or its body panics: nothing was written.
impl Drop for Tx<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.is_over {
            self.fail();
        }
    }
}

impl Tx<'_> {
    #[cold]
    fn fail(&mut self) {
        let garbage = self.log().discard();
        let hooks = self.hooks.take();
        self.slot.give_back();
        if garbage.is_empty() && hooks.is_none() {
            return;
        }
        // Code of the program's, which may begin transactions of its own, and wait for those of others.
        let mut panics = Panics::default();
        gate::open_while(|| {
            if let Some(hooks) = hooks {
                hooks.aborted(&mut panics);
            }
            panics.catch_drops(garbage);
        });
        panics.go_on();
    }
}
