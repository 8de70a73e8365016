//! Owns: the mistakes that the tests put into the algorithm, one at a time, each of which some test must find.
//! May use: nothing.
//! Never: an instruction in a program: outside of this crate's own tests none is ever made.
//!
//! A test program makes the mistake that the variable `RADDLE_STM_MISTAKE` names; `proof::mistakes` and
//! `model::mistakes` start themselves with each.

/// What could be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(loom, allow(dead_code, reason = "some are made where there are types"))]
pub(crate) enum Mistake {
    /// A commit does not look at what it has read.
    CommitsUnchecked,
    /// A commit takes what another has locked for unchanged.
    IgnoresLocks,
    /// The clock ticks before the variables are locked.
    TicksTooEarly,
    /// A variable is unlocked before its value is stored.
    UnlocksTooEarly,
    /// A read does not look at the word again.
    LooksOnce,
    /// A read takes what is newer than the snapshot.
    TakesNewer,
    /// A read takes what somebody has locked, and is perhaps storing.
    TakesLocked,
    /// A snapshot is moved to a later time without a look at what has been read.
    ExtendsUnchecked,
    /// A commit writes what a pessimistic transaction has reserved.
    IgnoresReservations,
    /// A pessimistic transaction reads without a reservation.
    ReadsUnreserved,
    /// Who breaks a reservation does not count it.
    BreaksUncounted,
    /// Values that are compared are always taken for the same.
    TakesAnyValue,
    /// A read has the short way also where the transaction is about to write.
    OverlooksWrites,
    /// What a nested transaction wrote stays when it is rolled back.
    KeepsBranch,
    /// Who waits does not look whether the variable is still what it has read.
    WatchesUnchecked,
    /// Who takes somebody out of a list says so before he has.
    LeavesTooEarly,
    /// A commit wakes nobody.
    WakesNobody,
    /// A commit that steps back forgets those who watch.
    ForgetsWatchers,
    /// What was replaced is freed while somebody may still read it.
    FreesAtOnce,
    /// A slot is taken without telling since when.
    AnnouncesTooLate,
}

/// Whether the program is to make this mistake.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn made(_mistake: Mistake) -> bool {
    false
}

/// Whether the program is to make this mistake.
#[cfg(test)]
pub(crate) fn made(mistake: Mistake) -> bool {
    use std::sync::OnceLock;
    static ASKED_FOR: OnceLock<Option<String>> = OnceLock::new();
    let asked_for = ASKED_FOR.get_or_init(|| std::env::var(VARIABLE).ok());
    asked_for.as_ref().is_some_and(|name| *name == format!("{mistake:?}"))
}

/// It names the mistake.
#[cfg(test)]
pub(crate) const VARIABLE: &str = "RADDLE_STM_MISTAKE";
