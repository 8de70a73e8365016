//! Owns: `ReceiveWait`, by which a future or a stream receives.
//! May use: `channel::chan`, `channel::clock`, `channel::core`, `channel::error`, `channel::list`,
//! `channel::receiver`, `channel::stash`, `host`, `raddle-core`.
//! Never: a message lost: what was received and not looked at is given on.

use super::super::chan::Chan;
use super::super::clock::Clock;
use super::super::core::{CAN_RECEIVE, Core, Received, Sent, Side};
use super::super::error::RecvError;
use super::super::list::{Left, Sleeper, Ticket};
use super::super::receiver::{Receiver, ReceiverFlavor};
use super::super::stash::Found;
use super::{Seat, look_or_wait};
use crate::host::choice::{count_in_task, point};
use crate::host::{Awaiting, Sleep, WakeRight, sleep_until};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

type WaitingReceive<T> = Arc<Awaiting<Seat<T>>>;

/// One receive after the other.
pub(super) struct ReceiveWait<T> {
    state: ReceiveState<T>,
    /// Of an earlier wait, to be used again.
    earlier: Option<WaitingReceive<T>>,
    /// At a clock.
    sleep: Option<Sleep>,
}

/// How far a receive has come.
enum ReceiveState<T> {
    Idle,
    /// Stands in the queue of the channel.
    Queued(WaitingReceive<T>),
    /// A selection has agreed to send under this ticket. If it works the message out still, this waits there.
    Agreed(Ticket, Option<WaitingReceive<T>>),
}

/// What a look at the channel has come to.
enum ReceiveStep<T> {
    /// There is more to do.
    On(ReceiveState<T>),
    /// There is nothing to do before the waker is called.
    Wait(ReceiveState<T>),
    /// As `Wait`, and the state is as it was.
    Stay,
    End(Result<T, RecvError>),
}

impl<T> ReceiveWait<T> {
    pub(super) const fn new() -> Self {
        ReceiveWait { state: ReceiveState::Idle, earlier: None, sleep: None }
    }

    pub(super) fn poll(
        &mut self,
        end: &Receiver<T>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        if count_in_task() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if matches!(self.state, ReceiveState::Idle) {
            point("channel::Receiver::recv_async");
        }
        match &end.kind {
            ReceiverFlavor::Chan(chan) => self.poll_channel(chan, context),
            ReceiverFlavor::Alarm(alarm, message) => self.poll_clock(&**alarm, context).map(message).map(Ok),
            ReceiverFlavor::Tick(tick, message) => self.poll_clock(&**tick, context).map(message).map(Ok),
            ReceiverFlavor::Never => Poll::Pending,
        }
    }

    fn poll_clock(&mut self, clock: &dyn Clock, context: &mut Context<'_>) -> Poll<Instant> {
        loop {
            if let Some(due) = clock.try_recv() {
                self.sleep = None;
                return Poll::Ready(due);
            }
            // An alarm that has been taken comes no more.
            let Some(next) = clock.next() else { return Poll::Pending };
            let sleep = self.sleep.insert(sleep_until(next));
            if Pin::new(sleep).poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn poll_channel(&mut self, chan: &Chan<T>, context: &Context<'_>) -> Poll<Result<T, RecvError>> {
        loop {
            let step = match &self.state {
                ReceiveState::Idle => self.begin(chan, context),
                ReceiveState::Queued(_) => self.look(chan, context),
                ReceiveState::Agreed(ticket, _) => self.fetch(chan, *ticket, context),
            };
            match step {
                ReceiveStep::On(state) => self.state = state,
                ReceiveStep::Wait(state) => {
                    self.state = state;
                    return Poll::Pending;
                }
                ReceiveStep::Stay => return Poll::Pending,
                ReceiveStep::End(result) => return Poll::Ready(result),
            }
        }
    }

    /// What has been waited by, when the state is about to change. A waker's code may panic before: what stands in a
    /// queue stays in the state then, to be taken out of it.
    fn take_waiting(&mut self) -> Option<WaitingReceive<T>> {
        match std::mem::replace(&mut self.state, ReceiveState::Idle) {
            ReceiveState::Idle => None,
            ReceiveState::Queued(waiting) => Some(waiting),
            ReceiveState::Agreed(_, waiting) => waiting,
        }
    }

    fn waits_by(&mut self, context: &Context<'_>) -> WaitingReceive<T> {
        Awaiting::by(context.waker().clone(), self.earlier.take(), Seat::new)
    }

    /// Tries, and stands in the queue if that is too early.
    fn begin(&mut self, chan: &Chan<T>, context: &Context<'_>) -> ReceiveStep<T> {
        let wanted = || true;
        if chan.core.look() & CAN_RECEIVE != 0 {
            let received = chan.core.enter(|core| core.receive(wanted));
            if !matches!(received, Received::Empty) {
                return had(chan, received);
            }
        }
        let waiting = self.waits_by(context);
        let seat = &waiting.entry;
        let received = chan.core.enter(|core| {
            let received = core.receive(wanted);
            if matches!(received, Received::Empty) {
                seat.entry.prepare(Sleeper::Parked(waiting.queued()), seat.place.address(), 0);
                // SAFETY: the allocation stays as long as the queue has its reference; the place is empty.
                unsafe { core.wait(Side::Receive, &seat.entry) };
            }
            received
        });
        if matches!(received, Received::Empty) {
            return ReceiveStep::Wait(ReceiveState::Queued(waiting));
        }
        self.earlier = Some(Awaiting::rest(waiting));
        had(chan, received)
    }

    /// It stands, or has stood, in the queue.
    fn look(&mut self, chan: &Chan<T>, context: &Context<'_>) -> ReceiveStep<T> {
        let ReceiveState::Queued(waiting) = &self.state else { return ReceiveStep::Stay };
        let entry = &waiting.entry.entry;
        let left = look_or_wait(chan, waiting, context, |_| match entry.left() {
            Left::Nothing => None,
            left => Some(left),
        });
        let Some(left) = left else { return ReceiveStep::Stay };
        let Some(waiting) = self.take_waiting() else { return ReceiveStep::Stay };
        let step = match left {
            // SAFETY: whoever left this has put a message there.
            Left::Done => ReceiveStep::End(Ok(unsafe { waiting.entry.place.take() })),
            Left::Ticket(ticket) => ReceiveStep::On(ReceiveState::Agreed(ticket, None)),
            _ => ReceiveStep::End(Err(RecvError)),
        };
        self.earlier = Some(Awaiting::rest(waiting));
        step
    }

    /// The message with this ticket, which may be on its way still, and may not come.
    fn fetch(&mut self, chan: &Chan<T>, ticket: Ticket, context: &Context<'_>) -> ReceiveStep<T> {
        let look = |core: &mut Core<T>| match core.stash.take(ticket) {
            Found::NotYet => None,
            found => Some(found),
        };
        let (found, waits) = match &self.state {
            ReceiveState::Agreed(_, Some(waiting)) => (look_or_wait(chan, waiting, context, look), true),
            _ => (chan.core.enter(look), false),
        };
        match (found, waits) {
            (Some(Found::Here(message)), _) => {
                drop(self.take_waiting());
                ReceiveStep::End(Ok(message))
            }
            (Some(_), _) => ReceiveStep::On(ReceiveState::Idle),
            (None, true) => ReceiveStep::Stay,
            (None, false) => {
                let waiting = self.waits_by(context);
                // SAFETY: who takes it from the stash has the only one.
                let right = || unsafe { WakeRight::of(waiting.queued()) };
                if chan.core.enter(|core| core.stash.wait_for(ticket, right)) {
                    return ReceiveStep::Wait(ReceiveState::Agreed(ticket, Some(waiting)));
                }
                ReceiveStep::On(ReceiveState::Agreed(ticket, None))
            }
        }
    }

    /// Leaves the channel. What it has received and not looked at is given on.
    pub(super) fn leave(&mut self, end: &Receiver<T>) {
        let ReceiverFlavor::Chan(chan) = &end.kind else { return };
        let unseen = match std::mem::replace(&mut self.state, ReceiveState::Idle) {
            ReceiveState::Idle => return,
            ReceiveState::Queued(waiting) => leave_queue(chan, &waiting),
            ReceiveState::Agreed(ticket, waiting) => {
                let (unseen, right) = chan.core.enter(|core| abandon(core, ticket));
                if let (Some(_), Some(waiting)) = (right, &waiting) {
                    // SAFETY: the right to wake it is ours, and is not used.
                    unsafe { waiting.take_back() };
                }
                unseen
            }
        };
        match unseen {
            Some(Sent::Taken(wakes)) => chan.wake(wakes),
            // Not inside the lock: a message's drop may use this very channel.
            Some(Sent::Full(message) | Sent::Disconnected(message)) => drop(message),
            None => {}
        }
    }
}

/// What was received at once.
fn had<T>(chan: &Chan<T>, received: Received<T>) -> ReceiveStep<T> {
    match received {
        Received::Message(message, wakes) => {
            chan.wake(wakes);
            ReceiveStep::End(Ok(message))
        }
        Received::Promised(ticket, wakes) => {
            chan.wake(wakes);
            ReceiveStep::On(ReceiveState::Agreed(ticket, None))
        }
        Received::Empty | Received::Disconnected => ReceiveStep::End(Err(RecvError)),
    }
}

/// Takes it out of the queue; a message that it was given before that is given on.
fn leave_queue<T>(chan: &Chan<T>, waiting: &WaitingReceive<T>) -> Option<Sent<T>> {
    let seat = &waiting.entry;
    let (left, unseen) = chan.core.enter(|core| {
        core.leave(Side::Receive, &seat.entry);
        let unseen = match seat.entry.left() {
            // SAFETY: whoever left this has put a message there.
            Left::Done => Some(core.give_back(unsafe { seat.place.take() })),
            Left::Ticket(ticket) => abandon(core, ticket).0,
            Left::Nothing | Left::Reserved | Left::Disconnected => None,
        };
        (seat.entry.left(), unseen)
    });
    if left == Left::Nothing {
        // SAFETY: it has been taken out of the queue by us: nobody has ended its wait.
        unsafe { waiting.take_back() };
    }
    unseen
}

/// Nobody comes for the message with this ticket: it is given on, now or when it has been worked out.
fn abandon<T>(core: &mut Core<T>, ticket: Ticket) -> (Option<Sent<T>>, Option<WakeRight>) {
    let (message, right) = core.stash.abandon(ticket);
    (message.map(|message| core.give_back(message)), right)
}
