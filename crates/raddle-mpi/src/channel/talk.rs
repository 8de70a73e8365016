//! Owns: what the ends of a rank say: frames, with memory for them, and what was left to the next one.
//! May use: `error`, `post`, `shim`.
//! Never: a wait.

use super::flight::{FrameFlight, FrameMemory};
use super::frame::{FrameHead, FrameKind, HEAD_BYTES, RIDE_BYTES};
use super::protocol::EndIsGone;
use super::record::{EndRecord, EndState, OfferedMessage};
use super::table::{ChannelTable, FRAME_TAG, address};
use crate::error::NetError;
use crate::post::Post;
use crate::shim::{MpiRefusal, Shim};
use std::sync::Arc;

/// So many frames' memory is kept for the next ones.
const SPARE_FRAMES: usize = 64;

/// After so many looks at which nothing was owed nothing is.
const OWES: u32 = 16;

/// A `Take` that has not been said yet.
#[derive(Clone, Copy)]
pub(super) struct OwedTake {
    peer: usize,
    theirs: u32,
    end: u32,
}

impl ChannelTable {
    /// Says a frame, behind whose head there are so many bytes.
    pub(super) fn say(
        &mut self,
        shim: &Shim,
        peer: usize,
        head: FrameHead,
        rides: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        if self.is_silent {
            return;
        }
        self.has_said = true;
        let bytes = HEAD_BYTES + rides;
        let Some(mut memory) = self.memory(bytes) else { return };
        let also_taken = self.owed.take_if(|owed| owed.peer == peer).map(|owed| owed.theirs);
        let head = FrameHead { also_taken, ..head };
        head.write(&mut memory.bytes_mut()[..HEAD_BYTES]);
        fill(&mut memory.bytes_mut()[HEAD_BYTES..bytes]);
        let begun = FrameFlight::begin(shim, (memory, bytes), address(peer, FRAME_TAG));
        let done = begun.and_then(|mut flight| Ok((flight.is_done(shim)?, flight)));
        match done {
            Ok((is_done, flight)) => {
                self.traffic.entry(peer).or_default()[0] += 1;
                if is_done { self.keep(flight.land()) } else { self.going.push(flight) }
            }
            Err(refusal) => self.refused(refusal),
        }
    }

    /// Memory of so many bytes at least.
    pub(super) fn memory(&mut self, bytes: usize) -> Option<FrameMemory> {
        let spare = if bytes <= HEAD_BYTES + RIDE_BYTES { self.spare.pop() } else { None };
        // Of many that are under way each has what it needs, and not what another one may.
        let least = if self.going.len() < SPARE_FRAMES { HEAD_BYTES + RIDE_BYTES } else { 0 };
        let memory = spare.or_else(|| FrameMemory::new(bytes.max(least)));
        if memory.is_none() {
            let text = "there is no memory for what ends of channels say";
            self.broken = Some(NetError::Misuse(text.to_owned()));
        }
        memory
    }

    /// Keeps memory for the next frame.
    pub(super) fn keep(&mut self, memory: FrameMemory) {
        if self.spare.len() < SPARE_FRAMES && memory.bytes().len() >= HEAD_BYTES + RIDE_BYTES {
            self.spare.push(memory);
        }
    }

    pub(super) fn refused(&mut self, MpiRefusal { class, text }: MpiRefusal) {
        let what = "what ends of channels say".to_owned();
        self.broken = Some(NetError::Mpi { what, class, text });
    }

    /// Offers a message of so many bytes, of which `kept` has those that do not ride along. The number of the offer.
    /// The other end may have gone since there was room.
    pub(crate) fn offer(
        &mut self,
        shim: &Shim,
        end: u32,
        (bytes, kept): (usize, Option<Arc<Post>>),
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<u64, EndIsGone> {
        let Some(EndRecord { peer, theirs: Some(theirs), state: EndState::Sending(sending), .. }) =
            self.end_mut(end)
        else {
            unreachable!("who offers has asked for room")
        };
        let (peer, theirs) = (*peer, *theirs);
        let (kind, rides) = match kept {
            Some(_) => (FrameKind::Large, 0),
            None => (FrameKind::Small, bytes),
        };
        let is_kept = usize::from(kept.is_some());
        let offer = sending.offer(kept)?;
        self.kept += is_kept;
        let answered = self.last_taken.take().filter(|(of, _)| *of == peer);
        if let Some(record) = answered.and_then(|(_, end)| self.end_mut(end)) {
            record.answers = true;
        }
        self.say(shim, peer, FrameHead::new(kind, theirs, bytes), rides, fill);
        Ok(offer)
    }

    /// Takes the oldest offer, if there is one. Of one whose bytes ride along the sender hears; of another one
    /// [`say_take`](Self::say_take) tells it, when there is room for its bytes.
    pub(crate) fn take<R>(
        &mut self,
        shim: &Shim,
        end: u32,
        get: impl FnOnce(Result<&[u8], usize>) -> R,
    ) -> Option<Result<R, EndIsGone>> {
        let Some(EndRecord { state: EndState::Receiving(receiving), .. }) = self.end_mut(end) else {
            return Some(Err(EndIsGone));
        };
        let answers = receiving.answers_all();
        Some(match receiving.take()? {
            Err(EndIsGone) => Err(EndIsGone),
            Ok(OfferedMessage::Large(bytes)) => Ok(get(Err(bytes))),
            Ok(OfferedMessage::Small(memory, bytes)) => {
                if answers {
                    self.say_take_or_owe(shim, end);
                }
                let got = get(Ok(&memory.bytes()[HEAD_BYTES..HEAD_BYTES + bytes]));
                self.keep(memory);
                Ok(got)
            }
        })
    }

    /// Tells the sender that the message was taken: at once, or if who receives here answers that rank each time, with
    /// the answer, and at the latest when somebody looks.
    ///
    /// PERF: a message there and back is two messages of MPI then, and not four; example `ring`.
    fn say_take_or_owe(&mut self, shim: &Shim, end: u32) {
        self.pay(shim);
        let Some(EndRecord { peer, theirs: Some(theirs), answers, .. }) = self.end(end) else { return };
        let (owed, answers) = (OwedTake { peer: *peer, theirs: *theirs, end }, *answers);
        if answers && self.may_owe {
            self.owed = Some(owed);
            self.owes = OWES;
        } else {
            self.say_take(shim, end);
        }
        self.last_taken = Some((owed.peer, end));
    }

    /// Says what is owed: its receiver has sent nothing since.
    pub(crate) fn pay(&mut self, shim: &Shim) {
        self.last_taken = None;
        self.owes = self.owes.saturating_sub(1);
        if let Some(OwedTake { peer, theirs, end }) = self.owed.take() {
            if let Some(record) = self.end_mut(end) {
                record.answers = false;
            }
            self.say(shim, peer, FrameHead::new(FrameKind::Take, theirs, 0), 0, |_| ());
        }
    }

    /// Tells the sender that the message was taken.
    pub(crate) fn say_take(&mut self, shim: &Shim, end: u32) {
        let Some(EndRecord { peer, theirs: Some(theirs), .. }) = self.end(end) else { return };
        let (peer, head) = (*peer, FrameHead::new(FrameKind::Take, *theirs, 0));
        self.say(shim, peer, head, 0, |_| ());
    }

    /// The end is dropped.
    pub(crate) fn close(&mut self, shim: &Shim, end: u32) {
        match self.end_mut(end).map(|record| &mut record.state) {
            Some(EndState::Sending(sending)) => sending.close(),
            Some(EndState::Receiving(receiving)) => receiving.close(),
            None => return,
        }
        self.say_close(shim, end);
    }

    /// All are.
    pub(crate) fn close_all(&mut self, shim: &Shim) {
        self.is_closing = true;
        self.pay(shim);
        (0..self.ends.len() as u32).for_each(|end| self.close(shim, end));
    }

    /// Says that an end is closed, if it is, and if it is known whom to tell.
    pub(super) fn say_close(&mut self, shim: &Shim, end: u32) {
        let Some(record) = self.end_mut(end).filter(|record| record.is_closed()) else { return };
        if let (Some(theirs), false) = (record.theirs, record.has_said_close) {
            record.has_said_close = true;
            let (peer, head) = (record.peer, FrameHead::new(FrameKind::Close, theirs, 0));
            self.say(shim, peer, head, 0, |_| ());
        }
        self.bury(end);
    }

    /// Forgets an end that is over.
    pub(super) fn bury(&mut self, end: u32) {
        if self.end(end).is_some_and(|record| record.is_over() && record.has_said_close) {
            self.ends[end as usize] = None;
            self.free.push(end);
            self.open -= 1;
        }
    }
}
