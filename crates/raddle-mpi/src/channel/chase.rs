//! Owns: circles of ranks that wait for each other at channels: a question that goes round by them.
//! May use: `shim`.
//! Never: a circle told while anything is on its way in it.
//!
//! Who has waited at an end for a second asks: it says to the other end's rank who waits there, and how much that has
//! heard. That rank passes it on, if as much was said, and if the process that has used the other end last waits, too,
//! at an end of its own, without a time of its own: to the rank of that one's other end. (Chandy, Misra and Haas's
//! probes, for waits of which each has one end.) A question that comes back to a wait that has not ended since has gone
//! round a circle: each in it waits for the next, nothing was on its way between two, and while the first waits none of
//! them goes on. The smallest rank of the circle tells it. Who waits asks again after twice the time, until its
//! deadline.
//!
//! That the last user of an end still has it is likely, and not known: so the circle is told, and the program goes on.

use super::frame::{FRAME_MAX, FrameHead, FrameKind, HEAD_BYTES};
use super::record::{EndRecord, EndState};
use super::table::{ChannelTable, Heard};
use crate::shim::Shim;

/// A circle of more ranks is not followed.
const HOPS_MAX: usize = 64;
/// More of a wait's words are not told.
const WORDS_MAX: usize = 300;
const _: () =
    assert!(HOPS_MAX * (8 + WORDS_MAX) + 64 <= FRAME_MAX - HEAD_BYTES, "the largest frame has room");

/// Who waits at an end, for so long that others may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LongWait {
    /// No other wait of the rank has it.
    pub(crate) number: u64,
    pub(crate) user: u64,
    /// In words: who, and where.
    pub(crate) words: String,
}

/// What goes round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    /// Who has asked: the rank, its end, the number of the wait.
    rank: u32,
    end: u32,
    number: u64,
    /// What who has passed it on has heard of the other end: offers, or, if it sends, takes.
    heard: u64,
    /// The waits that it has come by: the rank, and in words.
    hops: Vec<(u32, String)>,
}

impl Question {
    fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.rank.to_le_bytes());
        bytes.extend(self.end.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.heard.to_le_bytes());
        for (rank, words) in &self.hops {
            bytes.extend(rank.to_le_bytes());
            bytes.extend((words.len() as u32).to_le_bytes());
            bytes.extend(words.as_bytes());
        }
        bytes
    }

    pub(super) fn read(mut from: &[u8]) -> Option<Question> {
        let mut take = |count: usize| {
            let (head, rest) = from.split_at_checked(count)?;
            from = rest;
            Some(head)
        };
        let word = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).ok();
        let long = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
        let (rank, end) = (word(take(4)?)?, word(take(4)?)?);
        let (number, heard) = (long(take(8)?)?, long(take(8)?)?);
        let mut hops = Vec::new();
        while let Some(rank) = take(4) {
            let length = word(take(4)?)? as usize;
            hops.push((word(rank)?, String::from_utf8_lossy(take(length)?).into_owned()));
        }
        Some(Question { rank, end, number, heard, hops })
    }
}

impl EndRecord {
    /// Somebody uses it.
    pub(crate) fn used_by(&mut self, user: u64) {
        self.user = Some(user);
    }

    /// What it has heard of the other end.
    fn heard(&self) -> u64 {
        match &self.state {
            EndState::Sending(end) => end.counts().1,
            EndState::Receiving(end) => end.heard(),
        }
    }

    /// As much of what it has said as the other end counts.
    fn said(&self) -> u64 {
        match &self.state {
            EndState::Sending(end) => end.counts().0,
            EndState::Receiving(end) => end.heard() - end.waiting() as u64,
        }
    }

    /// Who waits at it cannot go on by what has come.
    fn is_stuck(&self) -> bool {
        self.fault.is_none()
            && match &self.state {
                // One that has room again goes on, whatever else of it nobody has taken.
                EndState::Sending(end) => end.room().is_none(),
                EndState::Receiving(end) => !end.is_ready(),
            }
    }
}

impl ChannelTable {
    /// Somebody has waited at that end for long: asks whether those wait for each other in a circle.
    pub(crate) fn ask_round(&mut self, shim: &Shim, end: u32, wait: LongWait) {
        let rank = self.rank as u32;
        let Some(record) = self.end_mut(end) else { return };
        let number = wait.number;
        record.wait = Some(wait);
        let question = Question { rank, end, number, heard: 0, hops: Vec::new() };
        self.pass_on(shim, end, question);
    }

    /// That wait is over.
    pub(crate) fn ends_wait(&mut self, end: u32, number: u64) {
        if let Some(record) = self.end_mut(end)
            && record.wait.take_if(|wait| wait.number == number).is_some()
        {
            record.circle = None;
        }
    }

    /// The wait at that end is in the way of a question.
    fn pass_on(&mut self, shim: &Shim, end: u32, mut question: Question) {
        let rank = self.rank as u32;
        let Some(record) = self.end(end) else { return };
        let (Some(theirs), Some(wait)) = (record.theirs, &record.wait) else { return };
        if !record.is_stuck() || question.hops.len() >= HOPS_MAX {
            return;
        }
        let mut words = wait.words.clone();
        words.truncate(words.floor_char_boundary(WORDS_MAX));
        question.hops.push((rank, words));
        question.heard = record.heard();
        let (peer, bytes) = (record.peer, question.write());
        let head = FrameHead::new(FrameKind::Chase, theirs, bytes.len());
        self.say(shim, peer, head, bytes.len(), |to| to.copy_from_slice(&bytes));
    }

    /// A rank asks: who waits at the other end of that one waits for who has used this.
    pub(super) fn hear_question(
        &mut self,
        shim: &Shim,
        (peer, end): (usize, u32),
        question: Question,
        heard: &mut Heard,
    ) {
        let Some(record) = self.end(end).filter(|record| record.peer == peer && !record.is_closed()) else {
            return;
        };
        // Else something is on its way to who waits.
        let Some(user) = record.user.filter(|_| record.said() == question.heard) else { return };
        let waits = |record: &EndRecord| record.wait.as_ref().is_some_and(|wait| wait.user == user);
        let at = self.ends.iter().position(|record| record.as_ref().is_some_and(waits));
        let Some(at) = at.map(|at| at as u32) else { return };
        let is_first = self.rank as u32 == question.rank && at == question.end;
        if !is_first {
            return self.pass_on(shim, at, question);
        }
        let Some(record) = self.end_mut(at).filter(|record| record.is_stuck()) else { return };
        let is_same = record.wait.as_ref().is_some_and(|wait| wait.number == question.number);
        let is_smallest = question.hops.iter().all(|(rank, _)| *rank >= question.rank);
        if is_same && is_smallest && record.circle.is_none() {
            let circle = circle(&question.hops);
            record.circle = Some(circle.clone());
            heard.told.push(circle);
        }
    }
}

/// In words.
fn circle(hops: &[(u32, String)]) -> String {
    let next = |at: usize| hops[(at + 1) % hops.len()].0;
    let each = hops
        .iter()
        .enumerate()
        .map(|(at, (rank, words))| format!("rank {rank} for rank {}: {words}", next(at)));
    format!(
        "these ranks wait for each other in a circle, each for who has used the other end last: {}",
        each.collect::<Vec<_>>().join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_it_was_written() {
        let hops = vec![(0, "one".to_owned()), (7, String::new())];
        let question = Question { rank: 3, end: 9, number: 1 << 40, heard: 5, hops };
        let bytes = question.write();
        assert_eq!(Question::read(&bytes), Some(question.clone()));
        assert_eq!(Question::read(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Question::read(&bytes[..20]), None);
        let told = circle(&question.hops);
        assert!(told.ends_with("rank 0 for rank 7: one; rank 7 for rank 0: "), "{told}");
    }
}
