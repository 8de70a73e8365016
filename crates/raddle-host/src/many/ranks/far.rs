//! Owns: channels whose other end is on another rank.
//! May use: `many`, `raddle-core`, `raddle-vm`.
//! Never: telling a sender that its message was taken before a process here has it.
//!
//! A channel between ranks is the protocol of all channels between ranks (`raddle-mpi`'s `channel::protocol`), said in
//! frames: `Offer` has the message with it, of any size, since there is one at most on each channel; `Taken` lets who
//! has output it go on. An offer is never taken back, so an ALT is a look at which have come.
//!
//! `Taken` may be *owed*: if a rank has lately been offered something just after it had been told so, it is told with
//! the next offer, and a word there and back is two messages, not four. It is said before all else that is said to that
//! rank, when another one is owed, and at the latest at the next look for what others say, by whichever worker or by
//! the OS thread. To the other rank that is a message that is longer on its way. It counts as sent from when it is
//! owed, so that no deadlock is found meanwhile.

use super::frame::RankFrame;
use super::touch::Touch;
use super::{Keeper, KeeperState};
use crate::many::MachineHost;
use crate::many::outside::FromOutside;
use raddle_core::engine::Link;
use raddle_vm::{ChannelEnd, Process, Step};

/// A channel of which one end is used here.
pub(super) struct FarEnd {
    peer: usize,
    /// Which is used here.
    end: ChannelEnd,
    /// The process that stands in for the other rank.
    stand_in: u32,
    doing: StandInState,
    /// Who takes a message here offers that rank something next, as far as is known.
    answers: bool,
}

/// That a message was taken, which is not said yet.
#[derive(Clone, Copy)]
pub(super) struct OwedTaken {
    peer: usize,
    channel: u32,
}

/// What is owed, and to whom; and what was taken last, if nobody has looked since.
#[derive(Default)]
pub(super) struct OwedFrames {
    taken: Option<OwedTaken>,
    last: Option<OwedTaken>,
}

/// What a stand-in does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StandInState {
    /// Nothing: the other rank has offered nothing.
    Idle,
    /// It waits in the channel's word.
    Waits,
    /// The message that it has got was offered to the other rank.
    Offered,
}

impl OwedFrames {
    /// Whether that rank is to be told something before all else.
    pub(super) fn is_to(&self, rank: usize) -> bool {
        self.taken.is_some_and(|owed| owed.peer == rank)
    }
}

impl KeeperState {
    /// Whether each stand-in is where it was left: none has been made ready.
    pub(super) fn stand_ins_wait(&self, host: &MachineHost<'_>) -> bool {
        self.far.values().all(|far| {
            far.doing != StandInState::Waits
                || host.machine.process(far.stand_in).is_some_and(Process::waits_at_channel)
        })
    }
}

impl Keeper {
    /// A PLACED PAR has ended here, so nobody is at any of its channels.
    pub(super) fn let_all_go(&self, host: &MachineHost<'_>, state: &mut KeeperState) -> Result<(), String> {
        let channels: Vec<u32> = state.far.keys().copied().collect();
        for channel in channels {
            self.let_go(host, state, channel)?;
        }
        for channel in std::mem::take(&mut state.placed) {
            if !host.machine.untouch(channel) {
                return Err(still_there(channel));
            }
        }
        self.pay(state);
        state.far.clear();
        state.touches.forget();
        state.by_process.clear();
        Ok(())
    }

    fn let_go(&self, host: &MachineHost<'_>, state: &mut KeeperState, channel: u32) -> Result<(), String> {
        let Some(&FarEnd { end, stand_in, doing, .. }) = state.far.get(&channel) else { return Ok(()) };
        let Some(process) = host.machine.process(stand_in) else { return Ok(()) };
        if doing != StandInState::Waits || host.machine.withdraw_stand_in(process, channel, end) {
            state.idle.push(stand_in);
        } else if end == ChannelEnd::Input {
            // The last message was taken, of which no worker has told the stand-in yet.
            state.leaving.insert(stand_in);
            self.take(host, state, channel)?;
        } else {
            return Err(still_there(channel));
        }
        Ok(())
    }

    /// A process here is the first to use a channel.
    pub(in crate::many) fn touched(
        &self,
        host: &MachineHost<'_>,
        channel: u32,
        end: ChannelEnd,
    ) -> Result<(), String> {
        let mut state = self.state();
        let touch = state.touches.own(channel, end);
        if let Touch::Twice(peer) = touch {
            return Err(two_at(channel, end, self.rank, peer));
        }
        let frame = RankFrame::Touched { epoch: state.epoch, channel, end };
        self.send_to_others(&mut state, &frame);
        self.touch(host, &mut state, channel, touch)
    }

    /// A process of another rank is.
    pub(super) fn others_touch(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        (channel, end): (u32, ChannelEnd),
        from: usize,
    ) -> Result<(), String> {
        match state.touches.others((self.rank, from), channel, end) {
            Touch::Twice(other) => Err(two_at(channel, end, other, from)),
            touch => self.touch(host, state, channel, touch),
        }
    }

    fn touch(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        channel: u32,
        touch: Touch,
    ) -> Result<(), String> {
        match touch {
            Touch::Joins(own, peer) => self.connect(host, state, (channel, own), peer),
            Touch::Alone | Touch::Twice(_) => Ok(()),
        }
    }

    /// One end is used here, the other one there.
    fn connect(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        (channel, end): (u32, ChannelEnd),
        peer: usize,
    ) -> Result<(), String> {
        let machine = host.machine;
        let idle = state.idle.pop().and_then(|id| machine.process(id));
        let process = match idle {
            Some(process) => process,
            None => {
                let too_many = || "there are more processes than the machine can number".to_owned();
                machine.stand_in(&mut state.local).ok_or_else(too_many)?
            }
        };
        if let Some(handle) = self.stand_ins.get() {
            process.link.belongs_to(handle);
            process.link.leave_worker();
        }
        let (stand_in, doing) = (process.id(), StandInState::Idle);
        state.far.insert(channel, FarEnd { peer, end, stand_in, doing, answers: false });
        state.by_process.insert(stand_in, channel);
        if end == ChannelEnd::Output { self.listen_at(host, state, channel) } else { Ok(()) }
    }

    /// The stand-in waits for somebody here to output.
    fn listen_at(&self, host: &MachineHost<'_>, state: &mut KeeperState, channel: u32) -> Result<(), String> {
        let Some(far) = state.far.get_mut(&channel) else { return Ok(()) };
        let Some(process) = host.machine.process(far.stand_in) else { return Ok(()) };
        far.doing = StandInState::Waits;
        match host.machine.stand_in_inputs(&FromOutside { host }, process, channel) {
            Ok(Step::Waits) => Ok(()),
            Ok(Step::Done) => self.offer(host, state, channel),
            Err(trap) => Err(broken(channel, trap.what())),
        }
    }

    /// Somebody here outputs, and waits.
    fn offer(&self, host: &MachineHost<'_>, state: &mut KeeperState, channel: u32) -> Result<(), String> {
        let epoch = state.epoch;
        let Some(far) = state.far.get_mut(&channel) else { return Ok(()) };
        far.doing = StandInState::Offered;
        let (peer, no_message) = (far.peer, || broken(channel, "there is no memory for its message"));
        let message = host.machine.offered(channel).ok_or_else(no_message)?;
        if let Some(last) = state.owed.last.take_if(|last| last.peer == peer)
            && let Some(far) = state.far.get_mut(&last.channel)
        {
            far.answers = true;
        }
        let also_taken = state.owed.taken.take_if(|owed| owed.peer == peer).map(|owed| owed.channel);
        self.send(state, peer, &RankFrame::Offer { epoch, channel, also_taken, message });
        Ok(())
    }

    /// Another rank offers a message.
    pub(super) fn offered(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        (from, channel): (usize, u32),
        message: &[u8],
    ) -> Result<(), String> {
        let far = state.far.get_mut(&channel).filter(|far| far.peer == from && far.end == ChannelEnd::Input);
        // Who would take it has ended: whoever offers waits for ever, which is found.
        let Some(far) = far else { return Ok(()) };
        let Some(process) = host.machine.process(far.stand_in) else { return Ok(()) };
        if far.doing != StandInState::Idle {
            return Err(broken(channel, "a second message is offered before the first was taken"));
        }
        far.doing = StandInState::Waits;
        match host.machine.stand_in_outputs(&FromOutside { host }, process, channel, message) {
            Ok(Step::Waits) => Ok(()),
            Ok(Step::Done) => self.take(host, state, channel),
            Err(trap) => Err(broken(channel, trap.what())),
        }
    }

    /// A process here has taken it.
    fn take(&self, host: &MachineHost<'_>, state: &mut KeeperState, channel: u32) -> Result<(), String> {
        let Some(far) = state.far.get_mut(&channel) else { return Ok(()) };
        far.doing = StandInState::Idle;
        let peer = far.peer;
        let given_back = host.machine.process(far.stand_in).is_some_and(|it| host.machine.forget_output(it));
        if !given_back {
            return Err(broken(channel, "the memory of its message is damaged"));
        }
        let (owed, answers) = (OwedTaken { peer, channel }, far.answers);
        self.pay(state);
        state.owed.last = Some(owed);
        self.hearing.owes();
        if answers {
            state.counts.sent += 1;
            state.owed.taken = Some(owed);
            self.hearing.stir();
        } else {
            self.send(state, peer, &RankFrame::Taken { epoch: state.epoch, channel });
        }
        Ok(())
    }

    /// Says what is owed: nothing was offered since.
    pub(super) fn pay(&self, state: &mut KeeperState) {
        state.owed.last = None;
        let Some(OwedTaken { peer, channel }) = state.owed.taken.take() else { return };
        if let Some(far) = state.far.get_mut(&channel) {
            far.answers = false;
        }
        // It was counted when it was owed.
        state.counts.sent -= 1;
        self.send(state, peer, &RankFrame::Taken { epoch: state.epoch, channel });
    }

    /// A process of another rank has taken what one here has output: that one goes on.
    pub(super) fn taken(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        channel: u32,
    ) -> Result<(), String> {
        let far = state.far.get(&channel).filter(|far| far.doing == StandInState::Offered);
        let process = far.and_then(|far| host.machine.process(far.stand_in));
        let Some(process) = process else {
            return Err(broken(channel, "a message was taken that nobody has offered"));
        };
        let went = host.machine.was_taken(&FromOutside { host }, process, channel);
        went.map_err(|trap| broken(channel, trap.what()))?;
        self.listen_at(host, state, channel)
    }

    /// Whether that process is a stand-in; what it has waited for has come then, and is seen to, by the worker that
    /// has made it ready, before it goes on. (Queued as others are, it waited as long as who stood before it ran: for a
    /// worker's only C routine to return, whose rank kept another one waiting.)
    #[inline(never)]
    pub(in crate::many) fn tells_at_once(&self, host: &MachineHost<'_>, process: &Process<Link>) -> bool {
        let is_stand_in = self.stand_ins.get().is_some_and(|handle| process.link.is_of(handle));
        if is_stand_in {
            self.fired(host, process);
        }
        is_stand_in
    }

    /// What a stand-in has waited for has come.
    pub(in crate::many) fn fired(&self, host: &MachineHost<'_>, process: &Process<Link>) {
        let mut state = self.state();
        if state.leaving.remove(&process.id()) {
            return state.idle.push(process.id());
        }
        let Some(&channel) = state.by_process.get(&process.id()) else { return };
        let end = state.far.get(&channel).map(|far| far.end);
        let went = match end {
            Some(ChannelEnd::Output) => self.offer(host, &mut state, channel),
            Some(ChannelEnd::Input) => self.take(host, &mut state, channel),
            None => Ok(()),
        };
        drop(state);
        if let Err(text) = went {
            self.fail(host, text);
        }
    }
}

fn still_there(channel: u32) -> String {
    format!("somebody is still at channel {channel} when its PLACED PAR has ended")
}

fn two_at(channel: u32, end: ChannelEnd, one: usize, other: usize) -> String {
    let does = if end == ChannelEnd::Output { "output on" } else { "input from" };
    format!("processes of rank {one} and of rank {other} {does} channel {channel}")
}

fn broken(channel: u32, what: &str) -> String {
    format!("channel {channel} between ranks: {what}")
}
