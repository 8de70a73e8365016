//! Owns: an attempt's begin, its reads, and its end: by a commit, a wait for a change, or in vain.
//! May use: `algorithm`, `arena`, `chaos`, `effort`, `gate`, `handles`, `host`, `log`, `mistake`, `panics`,
//! `protocol::commit`, `reservations`, `stop`, `value`, `variable`, `raddle-core`, `raddle-protocol`.
//! Never: a value's type.

use super::hooks::Hooks;
use super::{ALL_FAR, Tx};
use crate::algorithm::Algorithm;
use crate::arena::{self, CLOCK};
use crate::effort::Tried;
use crate::gate::{self, Passage};
use crate::handles::Variables;
use crate::host;
use crate::log::{Entry, Log, Mark, bit};
use crate::mistake::{Mistake, made};
use crate::panics::Panics;
use crate::prim::give_way;
use crate::protocol::commit::{self, Refusal};
use crate::reservations::{self, BREAKS};
use crate::stop::sealed::Says;
use crate::stop::{Stop, Stops, Why};
use crate::value::{ValueKind, Words};
use crate::variable::HeadRef;
use std::marker::PhantomData;
use std::panic::Location;

/// Nobody else can have.
const OVERTAKEN_BY_ITSELF: &str =
    "an irrevocable transaction cannot commit: a transaction inside of its body has written what it has read";

/// After so many waits for what others have reserved, of whom there may always be one, the attempt was in vain: in the
/// end the transaction has the token, and then nobody else begins to reserve.
pub(super) const WAITS_FOR_RESERVED: u32 = 4;

/// Nobody's number, of those who lock.
const NO_OWNER: u64 = 0;

/// Which reads of an attempt by this algorithm have a long way, of those with a bit of `written`. Before each read and
/// the commit of a process that follows a seed another one may be chosen to go on: that is done on the long ways, so
/// that others do not even ask.
#[inline(always)]
fn far(algorithm: Algorithm, is_seeded: bool, written: u64) -> u64 {
    if algorithm == Algorithm::Versioned && !is_seeded { written } else { ALL_FAR }
}

impl Tx<'_> {
    /// Begins an attempt of the transaction at `site`, which notes what it reads if `has_notes`, of a process that
    /// follows a seed if `is_seeded`.
    #[inline(always)]
    pub(crate) fn begin(
        algorithm: Algorithm,
        has_notes: bool,
        is_seeded: bool,
        tried: Tried,
        site: &'static Location<'static>,
    ) -> Self {
        let (slot, time) = arena::enter();
        crate::chaos::point();
        let mark = Mark::default();
        let ticket = tried.ticket;
        if algorithm == Algorithm::Pessimistic {
            reservations::enter(ticket);
        }
        Tx {
            slot,
            time,
            far: far(algorithm, is_seeded, 0),
            stopped: None,
            is_over: false,
            has_notes,
            has_token: tried.has_token,
            is_once: tried.is_once,
            has_seal: tried.has_seal,
            is_irrevocable: false,
            extensions: tried.extensions,
            mark,
            algorithm,
            ticket,
            breaks: if algorithm == Algorithm::Pessimistic { BREAKS.now() } else { 0 },
            gives_way_to: None,
            site,
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

    /// What the variable has for this transaction.
    #[inline(always)]
    pub(super) fn look(&mut self, head: HeadRef, kind: &ValueKind) -> Result<Words, Stop> {
        if self.far == 0 || self.far & bit(head) == 0 {
            // SAFETY: the caller has a handle.
            let there = unsafe { head.as_ref() };
            if let Some(words) = commit::read_of(&there.watched.word, self.time, || there.value.load(kind)) {
                if self.has_notes {
                    self.log().reads.push(head);
                }
                return Ok(words);
            }
        }
        self.look_again(head, kind)
    }

    /// As [`look`](Self::look), whatever there is.
    #[inline(never)]
    fn look_again(&mut self, head: HeadRef, kind: &ValueKind) -> Result<Words, Stop> {
        if let Some(why) = self.stopped {
            return Err(Stop(why));
        }
        if let Some(written) = self.log().written(head) {
            return Ok(*written);
        }
        host::access_at("Tx::read", self.site);
        if self.is_pessimistic() {
            return self.look_reserved(head, kind);
        }
        // SAFETY: the caller has a handle.
        let there = unsafe { head.as_ref() };
        loop {
            match commit::read(&there.watched.word, || there.value.load(kind)) {
                Ok((words, seen)) if seen.version() <= self.time => {
                    if self.has_notes {
                        self.log().reads.push(head);
                    }
                    if self.algorithm == Algorithm::Norec {
                        self.log().values.push(words);
                    }
                    return Ok(words);
                }
                Ok(_) => self.extend()?,
                Err(_) => wait_until_unlocked(there),
            }
        }
    }

    /// Whether the body may write the variable: an error if it was stopped, or an older one has reserved it.
    #[cold]
    pub(super) fn may_write(&mut self, head: HeadRef) -> Result<(), Stop> {
        match self.stopped {
            Some(why) => Err(Stop(why)),
            None if self.is_pessimistic() => self.reserve(head),
            None => Ok(()),
        }
    }

    /// From now on the body is not stopped, if it was: an alternative is tried.
    pub(super) fn go_on(&mut self) {
        self.stopped = None;
        self.far = far(self.algorithm, host::follows_seed(), self.log().filter());
    }

    /// Moves the snapshot to now, if all that was read is still so; and it was not moved too often before.
    #[cold]
    fn extend(&mut self) -> Result<(), Stop> {
        let now = CLOCK.now();
        let (has_notes, extensions) = (self.has_notes, self.extensions);
        let costs = u32::from(!self.log().reads.is_empty());
        if has_notes && extensions >= costs && (made(Mistake::ExtendsUnchecked) || self.reads_hold(now)) {
            self.time = now;
            self.extensions = extensions - costs;
            return Ok(());
        }
        Err(self.stop(Why::Conflict))
    }

    /// Whether all that was read is at `at`, which the clock has shown, what it was.
    ///
    /// An irrevocable one waits for who has locked some of it: that one comes to a gate that is shut, and steps back,
    /// or has been beyond it before, and then what is stored is newer than `time`.
    fn reads_hold(&mut self, at: u64) -> bool {
        let time = self.time;
        let waits = self.is_irrevocable;
        if waits {
            // SAFETY: variables that a transaction has met are there as long as it runs.
            let mut heads = self.log().reads.iter().map(|head| unsafe { head.as_ref() });
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
        self.log().reads().hold((time, NO_OWNER), at)
    }

    /// Commits. False if that cannot be: somebody else was faster.
    #[inline(always)]
    pub(crate) fn commit(&mut self) -> bool {
        if !(self.log().is_read_only() || self.publish()) {
            assert!(!self.is_irrevocable, "{OVERTAKEN_BY_ITSELF}");
            return false;
        }
        if self.is_pessimistic() {
            self.give_back_reservations();
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
        if self.far != ALL_FAR && !self.is_irrevocable {
            let (who, site) = ((self.time, self.owner()), self.site);
            let log = self.log();
            let (writes, reads) = log.parts();
            let is_free = || gate::is_open() && !reservations::are_there();
            let may = |_: &[Entry]| if is_free() { Ok(()) } else { Err(Refusal::Closed) };
            match commit::commit(&CLOCK, who, writes, |at| reads.hold(who, at), may) {
                Ok(version) => {
                    log.committed(version, site);
                    if host::notes() {
                        host::note_committed(version, log.written_count());
                    }
                    return true;
                }
                Err(Refusal::Conflict) => return false,
                Err(_) => {}
            }
        }
        self.publish_again()
    }

    /// As [`publish`](Self::publish), whatever is in the way.
    #[inline(never)]
    fn publish_again(&mut self) -> bool {
        host::access_at("commit", self.site);
        let is_pessimistic = self.is_pessimistic();
        let mut passage = match (self.has_token, is_pessimistic) {
            (true, _) => Passage::Own,
            (false, true) => Passage::Unsealed,
            (false, false) => Passage::Opened,
        };
        let mut to_break = Vec::new();
        let (mut round, mut waits) = (0, 0);
        loop {
            let (who, breaks, site) = ((self.time, self.owner()), self.breaks, self.site);
            let log = self.log();
            let (writes, reads) = log.parts();
            let passes = || match passage {
                Passage::Own => true,
                Passage::Unsealed => !gate::is_sealed(),
                Passage::Opened | Passage::Shut => false,
            };
            let may = |writes: &[Entry]| match () {
                () if !(gate::is_open() || passes()) => Err(Refusal::Closed),
                () if is_pessimistic => Ok(()),
                () if reservations::are_there() => are_free(writes, &to_break),
                () => Ok(()),
            };
            let holds = |at| if is_pessimistic { BREAKS.now() == breaks } else { reads.hold(who, at) };
            match commit::commit(&CLOCK, who, writes, holds, may) {
                Ok(version) => {
                    log.committed(version, site);
                    if host::notes() {
                        host::note_committed(version, log.written_count());
                    }
                    return true;
                }
                // Somebody had one of them locked, and steps back.
                Err(Refusal::Conflict) if self.tries_again() => {
                    give_way(round);
                    round += 1;
                }
                Err(Refusal::Conflict) => return false,
                Err(Refusal::Reserved(ticket)) => {
                    waits += 1;
                    if waits > WAITS_FOR_RESERVED && !self.has_token && !self.is_irrevocable {
                        return false;
                    }
                    wait_for(ticket, &mut to_break, site);
                }
                // What is reserved others wait for, who may be before the gate.
                Err(Refusal::Closed) if is_pessimistic && !gate::is_holder() => return false,
                Err(Refusal::Closed) => passage = gate::wait_until_open(site),
            }
            if matches!(passage, Passage::Shut) {
                return false;
            }
        }
    }

    /// Whether a commit is to be tried again, after a conflict: what was read is still so, and another has locked
    /// something and steps back.
    fn tries_again(&mut self) -> bool {
        if self.is_pessimistic() {
            !self.is_overtaken()
        } else {
            self.is_irrevocable && self.reads_hold(self.time)
        }
    }

    /// Nothing more is read or written, nor anything committed, whatever the body makes of it.
    #[cold]
    pub(super) fn stop(&mut self, why: Why) -> Stop {
        assert!(!(self.is_irrevocable && why == Why::Conflict), "{OVERTAKEN_BY_ITSELF}");
        self.far = ALL_FAR;
        Stop(*self.stopped.get_or_insert(why))
    }

    /// It retries, and is to begin anew: gives back what it has if that is little; else its drop does.
    ///
    /// PERF: bench `retry`, form `turn`: what `fail` asks for and calls is a tenth of a turn.
    #[inline(always)]
    pub(crate) fn put_off(&mut self) {
        let is_plain = self.algorithm == Algorithm::Versioned && self.stopped == Some(Why::Retry);
        if is_plain && self.hooks.is_none() && self.log().is_read_only() {
            self.log().clear();
            self.slot.give_back();
            self.is_over = true;
        }
    }

    /// Whether its body was told nothing that forbids a commit.
    #[inline(always)]
    pub(crate) fn is_to_commit(&self) -> bool {
        self.stopped.is_none()
    }

    /// Why what its body has done is not to be, if it is not: what it has been told, whatever it returns.
    #[inline(always)]
    pub(crate) fn verdict<R, S: Stops>(&self, done: &Result<R, S>) -> Option<Why> {
        self.stopped.or_else(|| done.as_ref().err().map(Says::why))
    }

    /// Which transaction it has failed for: an older one, or one that waits for others.
    pub(crate) fn gives_way_to(&self) -> Option<u64> {
        self.gives_way_to
    }

    /// What it waits for a change of since when, if it retries; unless it has no notes of that.
    pub(crate) fn waits_for(&mut self) -> Option<(Variables, u64)> {
        if !self.has_notes {
            return None;
        }
        let time = if self.is_pessimistic() { self.moment()? } else { self.time };
        // A copy: the log's own memory is for the next transaction, and larger than one that waits should keep.
        // SAFETY: variables that a transaction has met are there as long as it runs.
        let variables = unsafe { Variables::hold(&self.log().reads) };
        Some((variables, time))
    }
}

/// Whether nobody has reserved any of these. A task breaks all reservations, and others those of `to_break`.
#[cold]
fn are_free(writes: &[Entry], to_break: &[u64]) -> Result<(), Refusal> {
    let breaks_all = host::at_home();
    let mut is_counted = true;
    for write in writes {
        let reservation = write.reservation();
        match reservation.of_another(0) {
            None => {}
            Some(holder) if breaks_all || to_break.contains(&holder) => {
                reservation.break_of(holder);
                is_counted = false;
            }
            Some(holder) => return Err(Refusal::Reserved(holder)),
        }
    }
    if !is_counted {
        BREAKS.count();
    }
    Ok(())
}

/// Waits until the transaction with this ticket has ended, unless the caller is inside of it, or it waits for others.
#[cold]
fn wait_for(ticket: u64, to_break: &mut Vec<u64>, site: &'static Location<'static>) {
    let waits = || reservations::let_go_while(|| reservations::wait_until_ended(ticket, site));
    if reservations::is_inside_of(ticket) || !waits() {
        to_break.push(ticket);
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
pub(super) fn wait_until_unlocked(head: &crate::variable::Head) {
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
    /// Says of which variable the value is not what was read, or which is locked. None is, if the body has panicked.
    #[cold]
    fn note_overtaken(&mut self) {
        // One that is pessimistic has seen later values than of its begin.
        let time = self.time;
        let found = if self.is_pessimistic() { self.broken() } else { self.log().changed_since(time) };
        if let Some((head, version)) = found {
            host::note_overtaken(head.site, version);
        }
    }

    #[cold]
    fn fail(&mut self) {
        if host::notes() && matches!(self.stopped, None | Some(Why::Conflict)) {
            self.note_overtaken();
        }
        if self.is_pessimistic() {
            self.give_back_reservations();
        }
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
