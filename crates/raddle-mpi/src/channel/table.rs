//! Owns: `ChannelTable`: the ends of a rank, who has bound which, and what is under way of what they say and hear.
//! May use: `error`, `post`, `shim`.
//! Never: a wait. All of it is under the engine's lock.

use super::bell::{DueRing, EndBell, ReadyListener};
use super::flight::{AheadReceive, FrameFlight, FrameMemory};
use super::frame::{Binding, EndRole, FrameHead, FrameKind};
use super::record::EndRecord;
use super::talk::OwedTake;
use crate::error::NetError;
use crate::post::Post;
use crate::shim::{Address, Shim};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io::Write as _;
use std::sync::Arc;

/// The communicator of channels: frames have the first tag, a message's own bytes one more than the number of the end
/// that receives them.
pub(super) const CHANNEL_SPACE: c_int = 3;
pub(super) const FRAME_TAG: c_int = 0;
/// As many ends at a time as there are tags in every MPI.
const ENDS_MAX: usize = 32_000;

/// What is to be done when the lock is free again.
#[derive(Default)]
pub(crate) struct Heard {
    /// How much was heard.
    pub(crate) count: usize,
    pub(super) rings: Vec<DueRing>,
    /// Messages that were taken. These are to begin under the lock.
    pub(crate) launches: Vec<Arc<Post>>,
    /// Who is told that it is late.
    late: Vec<Arc<dyn ReadyListener>>,
    /// Circles of ranks that were found, in words.
    pub(super) told: Vec<String>,
}

impl Heard {
    /// Wakes those for whom something has come.
    pub(crate) fn ring(self) {
        self.rings.into_iter().for_each(DueRing::ring);
        self.late.iter().for_each(|listener| listener.is_late());
        for circle in self.told {
            let _unwritable =
                writeln!(std::io::stderr(), "raddle-mpi: {circle}; they wait until their deadlines");
        }
    }
}

/// The ends of this rank.
#[derive(Default)]
pub(crate) struct ChannelTable {
    pub(super) rank: usize,
    pub(super) ends: Vec<Option<EndRecord>>,
    /// Numbers of ends that are over. Each may be another end's: the other side has said `Close`, its last word to that
    /// number; and of a message whose bytes still come, MPI has matched the tag before it matches one of the next end.
    pub(super) free: Vec<u32>,
    /// What others have bound and nobody here has yet: of which rank, and by which number.
    pub(super) unclaimed: Vec<(usize, u32, Binding)>,
    pub(super) going: Vec<FrameFlight>,
    pub(super) ahead: Option<AheadReceive>,
    pub(super) spare: Vec<FrameMemory>,
    /// How many frames have gone to each rank, and come from it.
    pub(super) traffic: BTreeMap<usize, [u64; 2]>,
    /// How many ends were ever bound here.
    pub(super) bound: u64,
    /// How many ends are not over.
    pub(super) open: usize,
    /// How many wait at ends, or listen.
    pub(crate) waits: usize,
    /// How many messages are offered whose bytes are still here.
    pub(super) kept: usize,
    /// How much of what is under way the engine counts for this.
    pub(crate) counted: usize,
    pub(crate) is_closing: bool,
    /// When the first of those that listen is late, or another that did.
    late_ns: Option<u64>,
    /// Something was said since the last look.
    pub(crate) has_said: bool,
    /// Nothing more is said: others have been told how much was.
    pub(super) is_silent: bool,
    /// Somebody looks soon, whoever waits: what is owed will be said.
    pub(crate) may_owe: bool,
    pub(super) owed: Option<OwedTake>,
    /// Something is owed, or was, so many looks ago at most: counts as under way.
    ///
    /// PERF: of ranks that answer each other each owes again and again; to begin and end what workers look after took
    /// two readings of the clock and four locked instructions a message; example `ring`.
    pub(super) owes: u32,
    /// The last end of which something was taken, if nobody has looked since.
    pub(super) last_taken: Option<(usize, u32)>,
    /// What MPI has refused.
    pub(crate) broken: Option<NetError>,
    /// Who waits has been told of that.
    pub(super) has_told_broken: bool,
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

    pub(super) fn end_mut(&mut self, end: u32) -> Option<&mut EndRecord> {
        self.ends.get_mut(end as usize)?.as_mut()
    }

    /// Whether anything may come.
    pub(crate) fn is_open(&self) -> bool {
        // At the end also what was said to a rank that has made no end.
        self.open != 0 || self.is_closing || !self.going.is_empty()
    }

    /// How much is under way: frames, those who wait, and messages that are offered and whose bytes are still here.
    pub(crate) fn under_way(&self) -> usize {
        self.going.len() + self.waits + self.kept + usize::from(self.owes != 0 && self.open != 0)
    }

    /// Whether of what is under way, so much with all others', nothing moves until another rank says something.
    pub(crate) fn is_lull(&self, pending: usize) -> bool {
        pending == self.waits + self.kept
    }

    /// Whether something was said since this was asked last.
    pub(crate) fn has_said(&mut self) -> bool {
        std::mem::take(&mut self.has_said)
    }

    /// Somebody uses that end.
    pub(crate) fn used_by(&mut self, end: u32, user: u64) {
        if let Some(record) = self.end_mut(end) {
            record.used_by(user);
        }
    }

    /// Somebody listens who is late then.
    pub(crate) fn will_be_late(&mut self, until_ns: u64) {
        self.late_ns = Some(self.late_ns.map_or(until_ns, |first| first.min(until_ns)));
    }

    /// Those who listen and are late now are to be told.
    pub(crate) fn look_for_late(&mut self, now: u64, heard: &mut Heard) {
        if self.late_ns.is_none_or(|first| first > now) {
            return;
        }
        let mut first = u64::MAX;
        for record in self.ends.iter().flatten() {
            let (late, next) = record.bell.late(now);
            heard.late.extend(late);
            first = first.min(next);
        }
        self.late_ns = (first != u64::MAX).then_some(first);
    }

    /// The ends at which somebody waits, or which are in a choice.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = (u32, &EndRecord)> {
        let numbered = (0..).zip(&self.ends).filter_map(|(number, record)| Some((number, record.as_ref()?)));
        numbered.filter(|(_, record)| record.bell.is_waited_for() || record.bell.is_listened_to())
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
        let next = self.free.pop().or_else(|| {
            let is_room = self.ends.len() < ENDS_MAX;
            is_room.then(|| {
                self.ends.push(None);
                self.ends.len() as u32 - 1
            })
        });
        let Some(number) = next else {
            return Err(NetError::Misuse(format!(
                "channel `{}`: rank {rank} has {ENDS_MAX} ends, as many as there are tags; drop some that are no \
                 longer used: a number is free again when both ends of its channel are dropped",
                binding.name
            )));
        };
        let said = binding.write();
        let at = self.unclaimed.iter().position(|(from, _, other)| *from == peer && binding.meets(other));
        self.ends[number as usize] = Some(EndRecord::new((peer, self.bound), binding, bell));
        self.bound += 1;
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
        self.going.is_empty() && (0..of.len()).all(|rank| came(rank) >= of[rank])
    }

    /// Nothing is heard any more: MPI is about to end, and what is posted ahead to be taken back before.
    pub(crate) fn end_hearing(&mut self) -> Option<AheadReceive> {
        self.ahead.take()
    }

    /// Whether there has ever been an end here.
    pub(crate) fn is_used(&self) -> bool {
        !self.ends.is_empty() || !self.unclaimed.is_empty()
    }
}

pub(super) fn address(peer: usize, tag: c_int) -> Address {
    Address { peer: c_int::try_from(peer).expect("MPI counts ranks in an int"), tag, space: CHANNEL_SPACE }
}
