//! Owns: `ChannelTable`: the ends of a rank, who has bound which, and what they say and hear.
//! May use: `error`, `post`, `shim`.
//! Never: a wait. All of it is under the engine's lock.

use super::bell::{DueRing, EndBell};
use super::flight::{FrameFlight, FrameMemory};
use super::frame::{Binding, EndRole, FrameHead, FrameKind, HEAD_BYTES, RIDE_BYTES};
use super::protocol::{EndIsGone, ReceivingEnd, SendingEnd};
use crate::error::NetError;
use crate::post::Post;
use crate::shim::{Address, Direction, MpiRefusal, Shim};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_int;
use std::sync::Arc;

/// The communicator of channels: frames have the first tag, a message's own bytes one more than the number of the end
/// that receives them.
pub(super) const CHANNEL_SPACE: c_int = 3;
pub(super) const FRAME_TAG: c_int = 0;
/// As many ends as there are tags in every MPI.
const ENDS_MAX: usize = 32_000;
/// So many frames' memory is kept for the next ones.
const SPARE_FRAMES: usize = 64;

/// What a receiver knows of an offer.
pub(crate) enum OfferedMessage {
    /// It lies behind the head of this frame.
    Small(FrameMemory, usize),
    Large(usize),
}

/// What this end knows of its channel.
pub(crate) enum EndState {
    Sending(SendingEnd<Arc<Post>>),
    Receiving(ReceivingEnd<OfferedMessage>),
}

/// An end.
pub(crate) struct EndRecord {
    pub(crate) peer: usize,
    pub(crate) binding: Binding,
    /// The number of the other end, when its rank has bound it.
    pub(crate) theirs: Option<u32>,
    /// Both do not agree, or the other one says what it may not.
    pub(crate) fault: Option<NetError>,
    pub(super) bell: Arc<EndBell>,
    has_said_close: bool,
    /// Who receives here sends something to the same rank soon after, as far as is known.
    answers: bool,
    pub(crate) state: EndState,
}

/// A `Take` that has not been said yet.
#[derive(Clone, Copy)]
struct OwedTake {
    peer: usize,
    theirs: u32,
    end: u32,
}

/// What is to be done when the lock is free again.
#[derive(Default)]
pub(crate) struct Heard {
    /// How much was heard.
    pub(crate) count: usize,
    pub(super) rings: Vec<DueRing>,
    /// Messages that were taken. These are to begin under the lock.
    pub(crate) launches: Vec<Arc<Post>>,
}

impl Heard {
    /// Wakes those for whom something has come.
    pub(crate) fn ring(self) {
        self.rings.into_iter().for_each(DueRing::ring);
    }
}

/// The ends of this rank.
#[derive(Default)]
pub(crate) struct ChannelTable {
    pub(super) rank: usize,
    pub(super) ends: Vec<Option<EndRecord>>,
    /// What others have bound and nobody here has yet: of which rank, and by which number.
    pub(super) unclaimed: Vec<(usize, u32, Binding)>,
    pub(super) going: Vec<FrameFlight>,
    pub(super) coming: VecDeque<FrameFlight>,
    spare: Vec<FrameMemory>,
    /// How many frames have gone to each rank, and come from it.
    pub(super) traffic: BTreeMap<usize, [u64; 2]>,
    /// How many ends are not over.
    open: usize,
    /// How many wait at ends, or listen.
    pub(crate) waits: usize,
    /// How many messages are offered whose bytes are still here.
    pub(super) kept: usize,
    /// How much of what is under way the engine counts for this.
    pub(crate) counted: usize,
    pub(crate) is_closing: bool,
    /// Nothing more is said: others have been told how much was.
    is_silent: bool,
    /// Somebody looks soon, whoever waits: what is owed will be said.
    pub(crate) may_owe: bool,
    owed: Option<OwedTake>,
    /// The last end of which something was taken, if nobody has looked since.
    last_taken: Option<(usize, u32)>,
    /// What MPI has refused.
    pub(crate) broken: Option<NetError>,
    /// Who waits has been told of that.
    pub(super) has_told_broken: bool,
}

impl EndRecord {
    /// In words: a message is sent to, or received from, whom.
    pub(crate) fn describe(&self) -> String {
        let way = if self.binding.role == EndRole::Sends { "to" } else { "from" };
        format!("channel `{}` {way} rank {}", self.binding.name, self.peer)
    }

    /// Whether a receive has an answer.
    pub(crate) fn is_ready(&self) -> bool {
        self.fault.is_some() || matches!(&self.state, EndState::Receiving(end) if end.is_ready())
    }

    /// Something has come for it.
    pub(super) fn due(&self) -> DueRing {
        self.bell.due(self.is_ready())
    }

    fn is_over(&self) -> bool {
        match &self.state {
            EndState::Sending(end) => end.is_over(),
            EndState::Receiving(end) => end.is_over(),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        match &self.state {
            EndState::Sending(end) => end.is_closed(),
            EndState::Receiving(end) => end.is_closed(),
        }
    }
}

impl ChannelTable {
    /// Where a message's own bytes go, or come from.
    pub(crate) fn data_address(&self, end: u32) -> Option<Address> {
        let record = self.end(end)?;
        let receiver = if record.binding.role == EndRole::Sends { record.theirs? } else { end };
        Some(address(record.peer, 1 + c_int::try_from(receiver).ok()?))
    }

    pub(crate) fn end(&self, end: u32) -> Option<&EndRecord> {
        self.ends.get(end as usize)?.as_ref()
    }

    /// Those of all ends that have been made, also of some that are over.
    pub(crate) fn numbers(&self) -> std::ops::Range<u32> {
        0..self.ends.len() as u32
    }

    pub(crate) fn bell(&self, end: u32) -> Option<Arc<EndBell>> {
        self.end(end).map(|record| record.bell.clone())
    }

    fn end_mut(&mut self, end: u32) -> Option<&mut EndRecord> {
        self.ends.get_mut(end as usize)?.as_mut()
    }

    /// Whether anything may come.
    pub(crate) fn is_open(&self) -> bool {
        // At the end also what was said to a rank that has made no end.
        self.open != 0 || self.is_closing || !self.going.is_empty() || !self.coming.is_empty()
    }

    /// How much is under way: frames, those who wait, and messages that are offered and whose bytes are still here.
    pub(crate) fn under_way(&self) -> usize {
        self.going.len() + self.coming.len() + self.waits + self.kept + usize::from(self.owed.is_some())
    }

    /// Makes an end, and says so; its number.
    pub(crate) fn bind(
        &mut self,
        shim: &Shim,
        (rank, peer): (usize, usize),
        (binding, bell): (Binding, Arc<EndBell>),
        heard: &mut Heard,
    ) -> Result<u32, NetError> {
        self.rank = rank;
        let is_same = |record: &EndRecord| {
            let Binding { name, role, .. } = &record.binding;
            (record.peer, name, *role) == (peer, &binding.name, binding.role) && !record.is_closed()
        };
        if self.ends.iter().flatten().any(is_same) {
            let text =
                format!("channel `{}`: rank {rank} has this end with rank {peer} already", binding.name);
            return Err(NetError::Misuse(text));
        }
        if self.ends.len() >= ENDS_MAX {
            return Err(NetError::Misuse(format!("{ENDS_MAX} ends of channels have used up the tags")));
        }
        let number = self.ends.len() as u32;
        let capacity = binding.capacity as usize;
        let state = match binding.role {
            EndRole::Sends => EndState::Sending(SendingEnd::new(capacity)),
            EndRole::Receives => EndState::Receiving(ReceivingEnd::new(capacity)),
        };
        let said = binding.write();
        let at = self.unclaimed.iter().position(|(from, _, other)| *from == peer && binding.meets(other));
        let (theirs, fault, has_said_close) = (None, None, false);
        let answers = false;
        self.ends.push(Some(EndRecord {
            peer,
            binding,
            theirs,
            fault,
            bell,
            has_said_close,
            answers,
            state,
        }));
        self.open += 1;
        let head = FrameHead::new(FrameKind::Bind, number, said.len());
        self.say(shim, peer, head, said.len(), |to| to.copy_from_slice(&said));
        if let Some(at) = at {
            let (_, theirs, other) = self.unclaimed.remove(at);
            self.meet(shim, number, (theirs, &other), heard);
        }
        Ok(number)
    }

    /// Both ends are there.
    pub(super) fn meet(
        &mut self,
        shim: &Shim,
        end: u32,
        (theirs, other): (u32, &Binding),
        heard: &mut Heard,
    ) {
        let rank = self.rank;
        let Some(record) = self.end_mut(end) else { return };
        record.theirs = Some(theirs);
        if !record.binding.agrees(other) {
            let EndRecord { binding, peer, .. } = record;
            let text = format!("channel `{}`: rank {rank} {binding}; rank {peer} {other}", binding.name);
            record.fault = Some(NetError::Disagree(text));
        }
        heard.rings.push(record.due());
        self.say_close(shim, end);
    }

    /// Says a frame, behind whose head there are so many bytes.
    fn say(&mut self, shim: &Shim, peer: usize, head: FrameHead, rides: usize, fill: impl FnOnce(&mut [u8])) {
        if self.is_silent {
            return;
        }
        let bytes = HEAD_BYTES + rides;
        let Some(mut memory) = self.memory(bytes) else { return };
        let also_taken = self.owed.take_if(|owed| owed.peer == peer).map(|owed| owed.theirs);
        let head = FrameHead { also_taken, ..head };
        head.write(&mut memory.bytes_mut()[..HEAD_BYTES]);
        fill(&mut memory.bytes_mut()[HEAD_BYTES..bytes]);
        let address = address(peer, FRAME_TAG);
        let begun = FrameFlight::begin(shim, Direction::Out, (memory, bytes), (peer, address));
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
        Some(match receiving.take()? {
            Err(EndIsGone) => Err(EndIsGone),
            Ok(OfferedMessage::Large(bytes)) => Ok(get(Err(bytes))),
            Ok(OfferedMessage::Small(memory, bytes)) => {
                self.say_take_or_owe(shim, end);
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
        } else {
            self.say_take(shim, end);
        }
        self.last_taken = Some((owed.peer, end));
    }

    /// Says what is owed: its receiver has sent nothing since.
    pub(crate) fn pay(&mut self, shim: &Shim) {
        self.last_taken = None;
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
    fn say_close(&mut self, shim: &Shim, end: u32) {
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
            self.open -= 1;
        }
    }

    /// What that rank has bound, and nobody here.
    pub(crate) fn unclaimed_of(&self, peer: usize) -> Vec<String> {
        let of = self.unclaimed.iter().filter(|(from, ..)| *from == peer);
        of.map(|(_, _, other)| format!("rank {peer} has bound `{}`, and {other}", other.name)).collect()
    }

    /// How many frames have gone to each of so many ranks; none goes any more. An end whose other end is heard of only
    /// now would say that it is closed: nobody would hear it, and MPI is not to end before everything was.
    pub(crate) fn end_sending(&mut self, ranks: usize) -> Vec<u64> {
        self.is_silent = true;
        (0..ranks).map(|rank| self.traffic.get(&rank).map_or(0, |of| of[0])).collect()
    }

    /// Whether as many have come of each, and nothing is under way.
    pub(crate) fn has_heard_all(&self, of: &[u64]) -> bool {
        let came = |rank: usize| self.traffic.get(&rank).map_or(0, |of| of[1]);
        self.going.is_empty() && self.coming.is_empty() && (0..of.len()).all(|rank| came(rank) >= of[rank])
    }

    /// Whether there has ever been an end here.
    pub(crate) fn is_used(&self) -> bool {
        !self.ends.is_empty() || !self.unclaimed.is_empty()
    }
}

pub(super) fn address(peer: usize, tag: c_int) -> Address {
    Address { peer: c_int::try_from(peer).expect("MPI counts ranks in an int"), tag, space: CHANNEL_SPACE }
}
