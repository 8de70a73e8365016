//! Owns: what a look at channels finds: frames that have gone, and those that have come, one after the other.
//! May use: `error`, `shim`.
//! Never: a wait, or a message that begins: who looks begins it.

use super::bell::DueRing;
use super::chase::Question;
use super::flight::{AheadReceive, FrameMemory};
use super::frame::{Binding, FRAME_MAX, FrameHead, FrameKind, HEAD_BYTES};
use super::protocol::ProtocolBroken;
use super::record::{EndRecord, EndState, OfferedMessage};
use super::table::{CHANNEL_SPACE, ChannelTable, FRAME_TAG, Heard};
use crate::error::NetError;
use crate::shim::{MpiRefusal, Shim};

/// A look hears at most so many frames: others want to look, too.
const FRAMES_A_LOOK: usize = 64;
/// So many offers of an end lie in the memory in which they came. Those behind them have memory of their own size: a
/// buffer may have room for millions.
const ROOMY: usize = 8;

/// So many of its bytes in memory of that size, and the memory that is free by that.
fn shrink(memory: FrameMemory, bytes: usize) -> (FrameMemory, Option<FrameMemory>) {
    let Some(mut own) = FrameMemory::new(bytes) else { return (memory, None) };
    own.bytes_mut().copy_from_slice(&memory.bytes()[..bytes]);
    (own, Some(memory))
}

impl ChannelTable {
    /// Looks at what has come.
    pub(crate) fn look(&mut self, shim: &Shim) -> Heard {
        let mut heard = Heard::default();
        if self.is_open()
            && self.broken.is_none()
            && let Err(refusal) = self.look_or_refuse(shim, &mut heard)
        {
            self.refused(refusal);
        }
        if self.broken.is_some() && !std::mem::replace(&mut self.has_told_broken, true) {
            self.ring_all(&mut heard);
        }
        heard
    }

    /// All who wait or listen at ends have an answer: that nothing comes any more.
    pub(crate) fn ring_all(&self, heard: &mut Heard) {
        heard.rings.extend(self.ends.iter().flatten().map(|record| record.bell.due(true)));
    }

    /// Those who wait at ends are to look again, whatever has come.
    pub(crate) fn ring_who_waits(&self, heard: &mut Heard) {
        let waited = self.ends.iter().flatten().filter(|record| record.bell.is_waited_for());
        heard.rings.extend(waited.map(|record| record.bell.due(false)));
    }

    /// Another rank says what cannot be read.
    fn not_understood(&mut self, peer: usize) {
        let text = format!("rank {peer} says of channels what cannot be read: is it the same program?");
        self.broken = Some(NetError::Disagree(text));
    }

    fn look_or_refuse(&mut self, shim: &Shim, heard: &mut Heard) -> Result<(), MpiRefusal> {
        self.pay(shim);
        let mut at = 0;
        while at < self.going.len() {
            if self.going[at].is_done(shim)? {
                let memory = self.going.swap_remove(at).land();
                self.keep(memory);
            } else {
                at += 1;
            }
        }
        while heard.count < FRAMES_A_LOOK {
            // In their order, by which what an end says arrives as it was said: one is posted at a time.
            let Some((peer, bytes, memory)) = self.next_frame(shim)? else { break };
            heard.count += 1;
            self.hear(shim, (peer, bytes), memory, heard);
            // PERF: who waits for that goes on first: to find nothing more costs system calls over TCP; example `ring`.
            if heard.rings.iter().any(DueRing::is_awaited) {
                break;
            }
        }
        Ok(())
    }

    /// Whose frame has come, of how many bytes, and a copy of it: the memory into which the next one comes stays.
    ///
    /// PERF: to look for a message (`MPI_Iprobe`), receive and test it takes 0.4 us a round of 8 bytes more than to
    /// test a receive that is posted ahead, in plain C under Open MPI, and 0.25 under MPICH.
    fn next_frame(&mut self, shim: &Shim) -> Result<Option<(usize, usize, FrameMemory)>, MpiRefusal> {
        let mut ahead = match self.ahead.take() {
            Some(ahead) => ahead,
            None => {
                let Some(memory) = FrameMemory::new(FRAME_MAX) else { return Ok(None) };
                AheadReceive::begin(shim, memory, (FRAME_TAG, CHANNEL_SPACE))?
            }
        };
        let mut found = None;
        if let Some((peer, frame)) = ahead.came(shim)? {
            let Some(mut memory) = self.memory(frame.len()) else { return Ok(None) };
            memory.bytes_mut()[..frame.len()].copy_from_slice(frame);
            found = Some((peer, frame.len(), memory));
            ahead.again(shim)?;
        }
        self.ahead = Some(ahead);
        Ok(found)
    }

    /// A frame has come.
    fn hear(&mut self, shim: &Shim, (peer, bytes): (usize, usize), memory: FrameMemory, heard: &mut Heard) {
        self.traffic.entry(peer).or_default()[1] += 1;
        let Some((head, rides)) = FrameHead::read(&memory.bytes()[..bytes]) else {
            return self.not_understood(peer);
        };
        if let Some(end) = head.also_taken {
            let take = FrameHead::new(FrameKind::Take, end, 0);
            let _no_memory = self.hear_at_end(peer, take, None, heard);
        }
        let spare = if head.kind == FrameKind::Chase {
            match Question::read(rides) {
                Some(question) => self.hear_question(shim, (peer, head.end), question, heard),
                None => self.not_understood(peer),
            }
            Some(memory)
        } else if head.kind == FrameKind::Bind {
            match Binding::read(rides) {
                Some(other) => self.hear_binding(shim, (peer, head.end), other, heard),
                None => self.not_understood(peer),
            }
            Some(memory)
        } else {
            self.hear_at_end(peer, head, Some(memory), heard)
        };
        spare.into_iter().for_each(|memory| self.keep(memory));
    }

    /// Something is said to an end; what it does not keep of the memory in which it was said.
    fn hear_at_end(
        &mut self,
        peer: usize,
        head: FrameHead,
        memory: Option<FrameMemory>,
        heard: &mut Heard,
    ) -> Option<FrameMemory> {
        // What is said to an end that is over has crossed with its own close.
        let record = self.ends.get_mut(head.end as usize).and_then(Option::as_mut);
        let Some(record) = record.filter(|record| record.peer == peer) else { return memory };
        let length = usize::try_from(head.bytes).unwrap_or(usize::MAX);
        let (told, spare) = match (&mut record.state, head.kind, memory) {
            (EndState::Receiving(end), FrameKind::Small, Some(memory)) => {
                let whole = HEAD_BYTES + length;
                let (memory, spare) =
                    if end.waiting() < ROOMY { (memory, None) } else { shrink(memory, whole) };
                (end.hear_offer(OfferedMessage::Small(memory, length)), spare)
            }
            (EndState::Receiving(end), FrameKind::Large, memory) => {
                (end.hear_offer(OfferedMessage::Large(length)), memory)
            }
            (EndState::Sending(end), FrameKind::Take, memory) => {
                let taken = end.hear_take();
                self.kept -= usize::from(matches!(taken, Ok(Some(_))));
                (taken.map(|kept| heard.launches.extend(kept)), memory)
            }
            (EndState::Receiving(end), FrameKind::Close, memory) => {
                end.hear_close();
                (Ok(()), memory)
            }
            (EndState::Sending(end), FrameKind::Close, memory) => {
                self.kept -= end.kept();
                end.hear_close();
                (Ok(()), memory)
            }
            (.., memory) => (Err(ProtocolBroken), memory),
        };
        if told.is_err() {
            let text = format!("{}: it says {:?}, which it may not", record.describe(), head.kind);
            record.fault = Some(NetError::Disagree(text));
        }
        heard.rings.push(record.due());
        self.bury(head.end);
        spare
    }

    fn hear_binding(&mut self, shim: &Shim, (peer, theirs): (usize, u32), other: Binding, heard: &mut Heard) {
        let waits = |record: &EndRecord| {
            record.peer == peer && record.theirs.is_none() && record.binding.meets(&other)
        };
        let ends = self.ends.iter().enumerate();
        let waiting = ends.filter_map(|(number, end)| Some((number, end.as_ref().filter(|end| waits(end))?)));
        match waiting.min_by_key(|(_, end)| end.order).map(|(number, _)| number) {
            Some(end) => self.meet(shim, end as u32, (theirs, &other), heard),
            None => self.unclaimed.push((peer, theirs, other)),
        }
    }
}
