//! Owns: how a transaction reads, and how it commits: lock, tick, validate, store, unlock.
//! May use: `chaos`, `mistake`, `prim`.
//! Never: a wait; what is read or written.
//!
//! The algorithm is TL2 (Dice, Shalev, Shavit: Transactional Locking II, DISC 2006) with the extension of snapshots of
//! LSA (Riegel, Felber, Fetzer: A Lazy Snapshot Algorithm with Eager Validation, DISC 2006). `versions.md` has the
//! argument.

use crate::mistake::{Mistake, made};
use crate::prim::fence_after_locked;
use crate::protocol::clock::VersionClock;
use crate::protocol::word::{Seen, Word};

/// Something that a transaction is about to write.
pub(crate) trait Write {
    /// The word of the variable.
    fn word(&self) -> &Word;

    /// What the word was when it was locked.
    fn before(&self) -> Seen;

    /// Keeps what the word was.
    fn set_before(&mut self, seen: Seen);

    /// Exchanges the variable's value for the new one.
    fn exchange(&mut self);
}

/// Somebody else was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict;

/// Why a commit was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Somebody else was faster: what was read is not so any more.
    Conflict,
    /// Commits must wait. Nothing was found against this one.
    Closed,
    /// The transaction with this ticket keeps one of the variables as it is.
    Reserved(u64),
}

/// Reads a value with its word; the word alone, if that is locked.
#[inline(always)]
pub(crate) fn read<V>(word: &Word, mut load: impl FnMut() -> V) -> Result<(V, Seen), Seen> {
    loop {
        if let Some(there) = try_read(word, &mut load) {
            return Ok(there);
        }
        let seen = word.look();
        if seen.is_locked() {
            return Err(seen);
        }
    }
}

/// Reads a value of the snapshot of `time`, which the clock has shown; none if another look is needed, by [`read`].
#[inline(always)]
pub(crate) fn read_of<V>(word: &Word, time: u64, load: impl FnOnce() -> V) -> Option<V> {
    let seen = word.look();
    let mistake = if seen.is_locked() { Mistake::TakesLocked } else { Mistake::TakesNewer };
    if !seen.is_of_shown(time) && !made(mistake) {
        return None;
    }
    let value = load();
    (word.is_just(seen) || made(Mistake::LooksOnce)).then_some(value)
}

/// Reads a value with its word, unless somebody has that locked, or stores meanwhile.
#[inline(always)]
fn try_read<V>(word: &Word, load: impl FnOnce() -> V) -> Option<(V, Seen)> {
    let seen = word.look();
    if seen.is_locked() {
        return None;
    }
    let value = load();
    (word.is_still(seen) || made(Mistake::LooksOnce)).then_some((value, seen))
}

/// Whether all of `reads` are what they were at `time`. Those that `owner` has locked it has judged before.
#[inline]
pub(crate) fn are_of<'w>(time: u64, owner: u64, mut reads: impl Iterator<Item = &'w Word>) -> bool {
    reads.all(|word| {
        let seen = word.look();
        seen.is_of(time) || seen.is_locked_by(owner) || (seen.is_locked() && made(Mistake::IgnoresLocks))
    })
}

/// Commits `writes` of a transaction whose snapshot is of `time`, and returns when. The writes are in the order of
/// their addresses, or in the reverse of it if they are `reversed`; each variable once. `owner` is nobody else's.
/// `holds` says whether all that was read is at some time, which the clock has shown, what it was; `may` is asked when
/// all is locked.
#[inline(always)]
pub(crate) fn commit<W: Write>(
    clock: &VersionClock,
    (time, owner): (u64, u64),
    (writes, reversed): (&mut [W], bool),
    holds: impl Fn(u64) -> bool,
    may: impl FnOnce(&[W]) -> Result<(), Refusal>,
) -> Result<u64, Refusal> {
    let early = made(Mistake::TicksTooEarly).then(|| clock.tick());
    let mut judged = time;
    let count = writes.len();
    for turn in 0..count {
        let at = if reversed { count - 1 - turn } else { turn };
        let write = &mut writes[at];
        let seen = write.word().look();
        if seen.is_of_shown(judged) && write.word().try_lock(seen, owner).is_ok() {
            write.set_before(seen);
        } else if lock(clock, write, owner, &mut judged, &holds).is_err() {
            step_back(if reversed { &writes[at + 1..] } else { &writes[..at] });
            return Err(Refusal::Conflict);
        }
        crate::chaos::point();
    }
    // Three things are behind the locks by this one: the look at the gate, as `gate.rs` says; the tick, for who reads
    // the clock by an acquire (`VersionClock::now`); and the stores of the values, for who loads one of them and looks
    // at the word again behind an acquire fence (`Word::is_still`). A release fence before the stores would add
    // nothing.
    fence_after_locked();
    if let Err(refusal) = may(writes) {
        step_back(writes);
        return Err(refusal);
    }
    let version = early.unwrap_or_else(|| clock.tick());
    crate::chaos::point();
    // The next time of all: nobody has committed since the snapshot.
    if version != time + 1 && !made(Mistake::CommitsUnchecked) && !holds(version) {
        step_back(writes);
        return Err(Refusal::Conflict);
    }
    for write in writes {
        if made(Mistake::UnlocksTooEarly) {
            write.word().unlock(version);
            crate::chaos::point();
        }
        write.exchange();
        crate::chaos::point();
        if !made(Mistake::UnlocksTooEarly) {
            write.word().unlock(version);
        }
    }
    Ok(version)
}

/// Locks one, or says that it cannot be: another has it, or has written it since it was read. What was read was still
/// what it was when the clock showed `judged`.
///
/// PERF: by itself, for what is newer or taken: what most commits do is above, and is shorter without it.
#[cold]
#[inline(never)]
fn lock<W: Write>(
    clock: &VersionClock,
    write: &mut W,
    owner: u64,
    judged: &mut u64,
    holds: &impl Fn(u64) -> bool,
) -> Result<(), Conflict> {
    let mut seen = write.word().look();
    loop {
        if seen.is_locked() {
            return Err(Conflict);
        }
        // What is newer may be written over, unless it was read: validation takes what is the owner's own for good. So
        // all that was read is looked at, as when a snapshot is moved. PERF: once, as a rule, for all that is written;
        // to look for each among what was read took 2 s for 50000 of both.
        if !seen.is_of(*judged) && !made(Mistake::CommitsUnchecked) {
            let now = clock.now();
            if !holds(now) {
                return Err(Conflict);
            }
            *judged = now;
        }
        match write.word().try_lock(seen, owner) {
            Ok(()) => break,
            Err(now) => seen = now,
        }
    }
    write.set_before(seen);
    Ok(())
}

/// Unlocks what was locked: nothing was stored.
#[cold]
fn step_back<W: Write>(locked: &[W]) {
    locked.iter().for_each(|write| write.word().step_back(write.before()));
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Writing<'w>(&'w Word, Seen);

    impl Write for Writing<'_> {
        fn word(&self) -> &Word {
            self.0
        }

        fn before(&self) -> Seen {
            self.1
        }

        fn set_before(&mut self, seen: Seen) {
            self.1 = seen;
        }

        fn exchange(&mut self) {}
    }

    /// It writes over what is newer, and has read as much.
    #[test]
    fn what_was_read_is_looked_at_twice() {
        const MANY: usize = 1000;
        let clock = VersionClock::new();
        let newer = clock.tick();
        let written: Vec<_> = (0..MANY).map(|_| Word::new(newer)).collect();
        let read: Vec<_> = (0..MANY).map(|_| Word::new(0)).collect();
        let mut writes: Vec<_> = written.iter().map(|word| Writing(word, Seen::NOTHING)).collect();
        let looks = Cell::new(0);
        let holds = |_| are_of(0, 1, read.iter().inspect(|_| looks.set(looks.get() + 1)));
        assert_eq!(commit(&clock, (0, 1), (&mut writes, false), holds, |_| Ok(())), Ok(2));
        assert_eq!(looks.get(), 2 * MANY);
        assert!(written.iter().all(|word| word.look().is_of(2) && !word.look().is_of(1)));
    }

    #[test]
    fn what_was_read_and_is_newer_is_not_written_over() {
        let clock = VersionClock::new();
        let word = Word::new(clock.tick());
        let mut writes = [Writing(&word, Seen::NOTHING)];
        let holds = |_| are_of(0, 1, [&word].into_iter());
        assert_eq!(commit(&clock, (0, 1), (&mut writes, false), holds, |_| Ok(())), Err(Refusal::Conflict));
        assert!(word.look().is_of(1));
    }

    /// Those behind it in the slice, which come first in the order in which they are locked.
    #[test]
    fn in_reverse_what_was_locked_is_unlocked_when_one_is_taken() {
        const OTHER: u64 = 9;
        let (clock, words) = (VersionClock::new(), [Word::new(0), Word::new(0), Word::new(0)]);
        assert!(words[1].try_lock(words[1].look(), OTHER).is_ok());
        let mut writes = words.each_ref().map(|word| Writing(word, Seen::NOTHING));
        let refused = commit(&clock, (0, 1), (&mut writes, true), |_| true, |_| Ok(()));
        assert_eq!(refused, Err(Refusal::Conflict));
        assert!(words[0].look().is_of(0) && words[1].look().is_locked_by(OTHER) && words[2].look().is_of(0));
        words[1].step_back(Seen::NOTHING);
        assert_eq!(commit(&clock, (0, 1), (&mut writes, true), |_| true, |_| Ok(())), Ok(1));
        assert!(words.iter().all(|word| word.look().is_of(1) && !word.look().is_of(0)));
    }
}
