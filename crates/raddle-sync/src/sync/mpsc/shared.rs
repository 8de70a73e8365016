//! Owns: the messages of a channel with a bound, and who waits for them or for room.
//! May use: `chunks`, `host::describe`, `host::region`, `sync::monitor`, `sync::sleepers`, `raddle-core`,
//! `raddle-protocol`.
//! Never: dropping a message while the state is locked: that runs code of users.
//!
//! A queue in a monitor. With a bound of 0 a message is an *offer* with a number: its sender waits until so many have
//! been taken, and takes it back when the receiver goes. `try_send` puts a message only where the receiver waits for
//! one: into the queue, which is empty otherwise.

use super::{RecvTimeoutError, SendError, TryRecvError, TrySendError};
use crate::chunks::ChunkedQueue;
use crate::host::region;
use crate::host::{CallOn, Wait, WaitReason};
use crate::sync::monitor::{Condition, Monitor};
use crate::sync::sleepers::refuse_to_wait_in_task;
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;
use std::time::Instant;

pub(super) struct MpscShared<T> {
    state: Monitor<State<T>>,
    /// For the receiver: a message, or the end of the last sender.
    message: Condition,
    /// For senders: room, or the end of the receiver.
    room: Condition,
    bound: usize,
}

struct State<T> {
    queue: ChunkedQueue<T>,
    offers: VecDeque<(u64, T)>,
    /// So many offers have been made, and so many taken.
    offered: u64,
    taken: u64,
    senders: usize,
    receiver_is_there: bool,
    receiver_waits: bool,
}

impl<T> State<T> {
    fn take(&mut self) -> Option<T> {
        self.queue.pop_front().or_else(|| {
            let (number, offer) = self.offers.pop_front()?;
            self.taken = number + 1;
            Some(offer)
        })
    }
}

const SEND: CallOn<Condition> = CallOn::new("SyncSender::send", WaitReason::Send);
const RECV: CallOn<Condition> = CallOn::new("mpsc::Receiver::recv", WaitReason::Receive);

impl<T> MpscShared<T> {
    pub(super) fn new(bound: usize) -> Arc<Self> {
        let state = State {
            queue: ChunkedQueue::new(),
            offers: VecDeque::new(),
            offered: 0,
            taken: 0,
            senders: 1,
            receiver_is_there: true,
            receiver_waits: false,
        };
        let (message, room) = (Condition::new(), Condition::new());
        Arc::new(MpscShared { state: Monitor::new(state), message, room, bound })
    }

    #[track_caller]
    pub(super) fn send(&self, t: T) -> Result<(), SendError<T>> {
        if self.bound == 0 {
            return self.offer(t);
        }
        let mut state = self.state.lock();
        while state.receiver_is_there && state.queue.len() >= self.bound {
            refuse_to_wait_in_task(SEND.name());
            let wait = Wait::on(const { &SEND }, &self.room, Location::caller());
            let _shown = wait.show();
            let (again, told) = self.room.wait(&self.state, state, SEND.call(), None);
            state = again;
            if !told {
                drop(state);
                region::check();
                state = self.state.lock();
            }
        }
        if !state.receiver_is_there {
            drop(state);
            return Err(SendError(t));
        }
        state.queue.push_back(t);
        drop(state);
        self.message.notify_one();
        Ok(())
    }

    /// A bound of 0: waits until the offer is taken.
    #[track_caller]
    fn offer(&self, t: T) -> Result<(), SendError<T>> {
        let mut state = self.state.lock();
        if !state.receiver_is_there {
            drop(state);
            return Err(SendError(t));
        }
        refuse_to_wait_in_task(SEND.name());
        let number = state.offered;
        state.offered += 1;
        state.offers.push_back((number, t));
        self.message.notify_one();
        while state.taken <= number && state.receiver_is_there {
            let wait = Wait::on(const { &SEND }, &self.room, Location::caller());
            let _shown = wait.show();
            let told;
            (state, told) = self.room.wait(&self.state, state, SEND.call(), None);
            if !told {
                break;
            }
        }
        if state.taken > number {
            return Ok(());
        }
        let is_over = !state.receiver_is_there;
        let mine = state.offers.iter().position(|offer| offer.0 == number);
        let offer = mine.and_then(|mine| state.offers.remove(mine));
        drop(state);
        if !is_over {
            // Cancelled; the offer is taken back.
            region::check();
        }
        Err(SendError(offer.expect("what was not taken is there").1))
    }

    pub(super) fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        let mut state = self.state.lock();
        let full = match self.bound {
            0 => !state.receiver_waits || !state.queue.is_empty() || !state.offers.is_empty(),
            bound => state.queue.len() >= bound,
        };
        if !state.receiver_is_there {
            drop(state);
            return Err(TrySendError::Disconnected(t));
        }
        if full {
            drop(state);
            return Err(TrySendError::Full(t));
        }
        state.queue.push_back(t);
        drop(state);
        self.message.notify_one();
        Ok(())
    }

    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.state.lock();
        let taken = state.take();
        let no_senders = state.senders == 0;
        drop(state);
        match taken {
            Some(message) => Ok(self.taken(message)),
            None if no_senders => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    #[track_caller]
    pub(super) fn recv(
        &self,
        what: &'static str,
        until: Option<Instant>,
        site: &'static Location<'static>,
    ) -> Result<T, RecvTimeoutError> {
        let mut state = self.state.lock();
        let mut in_time = true;
        loop {
            if let Some(message) = state.take() {
                drop(state);
                return Ok(self.taken(message));
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            if !in_time {
                drop(state);
                region::check();
                return Err(RecvTimeoutError::Timeout);
            }
            refuse_to_wait_in_task(what);
            state.receiver_waits = true;
            let wait = Wait::on(const { &RECV }, &self.message, site);
            let _shown = wait.show();
            (state, in_time) = self.message.wait(&self.state, state, RECV.call(), until);
            state.receiver_waits = false;
        }
    }

    /// There is room again.
    fn taken(&self, message: T) -> T {
        match self.bound {
            // Which of the senders made the offer is not known here.
            0 => self.room.notify_all(),
            _ => self.room.notify_one(),
        }
        message
    }

    pub(super) fn add_sender(&self) {
        self.state.lock().senders += 1;
    }

    pub(super) fn remove_sender(&self) {
        let mut state = self.state.lock();
        state.senders -= 1;
        let last = state.senders == 0;
        drop(state);
        if last {
            self.message.notify_all();
        }
    }

    pub(super) fn remove_receiver(&self) {
        let mut state = self.state.lock();
        state.receiver_is_there = false;
        // Offers go back to their senders.
        let lost = std::mem::take(&mut state.queue);
        drop(state);
        self.room.notify_all();
        drop(lost);
    }
}
