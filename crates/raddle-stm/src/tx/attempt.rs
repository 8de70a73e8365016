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
        let costs = u32::from(!self.log().reads.is_empty());
        if has_notes && extensions >= costs && (made(Mistake::ExtendsUnchecked) || self.reads_are_of(time)) {
            self.time = now;
            self.extensions = extensions - costs;
            return Ok(());
        }
        Err(self.stop(Why::Conflict))
    }

    /// Whether all that was read is what it was at `time`.
    ///
    /// An irrevocable one waits for who has locked some of it: that one comes to a gate that is shut, and steps back,
    /// or has been beyond it before, and then what is stored is newer than `time`.
    fn reads_are_of(&mut self, time: u64) -> bool {
        let waits = self.is_irrevocable;
        // SAFETY: variables that a transaction has met are there as long as it runs.
        let mut heads = self.log().reads.iter().map(|head| unsafe { head.as_ref() });
        if waits {
            return heads.all(|head| {
                let mut round = 0;
                loop {
                    let seen = head.watched.word.look();
                    if !seen.is_locked() {
                        return seen.is_of(time);
                    }
                    give_way(round);
                    round += 1;
                }
            });
        }
        are_of(time, NO_OWNER, heads.map(|head| &head.watched.word))
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
        let mut round = 0;
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
                // Somebody had one of them locked, and steps back.
                Err(Refusal::Conflict) if self.is_irrevocable && self.reads_are_of(self.time) => {
                    give_way(round);
                    round += 1;
                    continue;
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
        if self.has_seal {
            gate::unseal();
        }
        gate::open_while(|| {
            if let Some(hooks) = hooks {
                hooks.aborted(&mut panics);
            }
            panics.catch_drops(garbage);
        });
        if self.has_seal {
            gate::seal();
        }
        panics.go_on();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{TVar, atomically};
    use std::sync::mpsc;
    use std::thread::Scope;

    /// Nobody's: slots are aligned, and not so low.
    const OTHER: u64 = 3;

    /// Has `tvar` locked, as by a commit that finds the gate shut, for some while from now on.
    fn lock_for_a_while<'s>(scope: &'s Scope<'s, '_>, tvar: &'s TVar<u32>) {
        let (lock, locked) = mpsc::channel();
        scope.spawn(move || {
            let word = &tvar.head().watched.word;
            let mut seen = word.look();
            while let Err(now) = if seen.is_locked() { Err(word.look()) } else { word.try_lock(seen, OTHER) }
            {
                seen = now;
            }
            lock.send(()).unwrap();
            (0..1000).for_each(|_| crate::host::let_others_run());
            word.step_back(seen);
        });
        locked.recv().unwrap();
    }

    #[test]
    fn who_locks_and_steps_back_is_no_conflict_for_an_irrevocable_one() {
        let (read, written, newer) = (TVar::new(1), TVar::new(2), TVar::new(3));
        for (other, moves) in [(&read, false), (&written, false), (&read, true), (&written, true)] {
            let mut runs = 0;
            std::thread::scope(|scope| {
                atomically(|tx| {
                    tx.irrevocable()?;
                    runs += 1;
                    let n = tx.read(&read)?;
                    tx.write(&written, n)?;
                    // It is newer than the snapshot.
                    newer.store(n);
                    lock_for_a_while(scope, other);
                    if moves {
                        assert_eq!(tx.read(&newer)?, n);
                    }
                    Ok(())
                });
            });
            assert_eq!(runs, 1);
        }
    }
}
