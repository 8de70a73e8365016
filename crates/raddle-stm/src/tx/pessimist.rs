//! Owns: what a pessimistic transaction does that others do not: it reserves what it reads and writes.
//! May use: `algorithm`, `arena`, `chaos`, `gate`, `host`, `mistake`, `protocol::commit`, `reservations`,
//! `stop`, `value`, `variable`, `raddle-core`.
//! Never: a version: what is reserved stays as it is.

use super::Tx;
use super::attempt::{WAITS_FOR_RESERVED, wait_until_unlocked};
use crate::algorithm::Algorithm;
use crate::arena::CLOCK;
use crate::gate;
use crate::host;
use crate::mistake::{Mistake, made};
use crate::protocol::commit;
use crate::reservations::{self, BREAKS};
use crate::stop::{Stop, Why};
use crate::value::{ValueKind, Words};
use crate::variable::{Head, HeadRef};

impl Tx<'_> {
    #[inline(always)]
    pub(super) fn is_pessimistic(&self) -> bool {
        self.algorithm == Algorithm::Pessimistic
    }

    /// The value of a variable that is reserved from now on.
    #[inline(never)]
    pub(super) fn look_reserved(&mut self, head: HeadRef, kind: &ValueKind) -> Result<Words, Stop> {
        if !made(Mistake::ReadsUnreserved) {
            self.reserve(head)?;
        }
        self.log().reads.push(head);
        // SAFETY: the caller has a handle.
        let there = unsafe { head.as_ref() };
        loop {
            match commit::read(&there.watched.word, || there.value.load(kind)) {
                Ok(_) if self.is_overtaken() => return Err(self.stop(Why::Conflict)),
                Ok((words, _)) => return Ok(words),
                // A commit that was before us, or that steps back.
                Err(_) => wait_until_unlocked(there),
            }
        }
    }

    /// Has nobody else write the variable before this attempt has ended.
    #[inline(never)]
    pub(super) fn reserve(&mut self, head: HeadRef) -> Result<(), Stop> {
        // SAFETY: the caller has a handle.
        let reservation = &unsafe { head.as_ref() }.reservation;
        let mut waits = 0;
        loop {
            if self.is_overtaken() || (gate::is_sealed() && !gate::is_holder()) {
                return Err(self.stop(Why::Conflict));
            }
            match reservation.take(self.ticket) {
                Ok(is_new) => {
                    if is_new {
                        self.log().reserved.push(head);
                    }
                    return Ok(());
                }
                Err(other) if self.ticket < other && (waits < WAITS_FOR_RESERVED || self.has_token) => {
                    waits += 1;
                    if !reservations::wait_until_ended(other, self.site) {
                        return Err(self.fail_for(Some(other), head));
                    }
                }
                // A younger one, as all before it: the next are not to begin.
                Err(other) if self.ticket < other => return Err(self.fail_for(None, head)),
                Err(older) => return Err(self.fail_for(Some(older), head)),
            }
            crate::chaos::point();
        }
    }

    /// Another has reserved the variable; the next attempt waits until `other` has ended.
    #[cold]
    fn fail_for(&mut self, other: Option<u64>, head: HeadRef) -> Stop {
        if host::notes() {
            // SAFETY: the caller has met it.
            host::note_overtaken(unsafe { head.as_ref() }.site, 0);
        }
        self.gives_way_to = other;
        self.stop(Why::Conflict)
    }

    /// Whether somebody who could not wait has written what it has reserved; then what it would read next may not be of
    /// the same moment.
    pub(super) fn is_overtaken(&mut self) -> bool {
        let breaks = BREAKS.now();
        if breaks == self.breaks {
            return false;
        }
        // SAFETY: variables that a transaction has met are there as long as it runs.
        let is_broken = |head: &HeadRef| unsafe { head.as_ref() }.reservation.is_broken();
        if self.log().reserved.iter().any(is_broken) {
            return true;
        }
        self.breaks = breaks;
        false
    }

    /// A variable that somebody has written though it was reserved, and its version: 0 if it is locked.
    pub(super) fn broken(&mut self) -> Option<(&Head, u64)> {
        // SAFETY: variables that a transaction has met are there as long as it runs.
        let mut reserved = self.log().reserved.iter().map(|head| unsafe { head.as_ref() });
        let head = reserved.find(|head| head.reservation.is_broken())?;
        Some((head, head.newer_than(0).unwrap_or(0)))
    }

    /// All is anybody's again. By an attempt that ends.
    #[cold]
    pub(super) fn give_back_reservations(&mut self) {
        for head in self.log().reserved.drain(..) {
            // SAFETY: variables that a transaction has met are there as long as it runs.
            unsafe { head.as_ref() }.reservation.release();
        }
        reservations::leave(self.ticket);
    }

    /// What it has read is of now: so says who waits for a change. None if it was overtaken.
    pub(super) fn moment(&mut self) -> Option<u64> {
        let now = CLOCK.now();
        (!self.is_overtaken()).then_some(now)
    }
}
