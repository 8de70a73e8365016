//! Owns: a look at what is under way: what is done, who is told, and the figures of it.
//! May use: `mode`, `post`, `shim`.
//! Never: a wait for the lock: who looks already does it for all.

use super::{ActiveRequest, Engine, GAP_MAX_NS, GAP_MIN_NS, TransferResult, Underway};
use crate::mode::Counters;
use crate::post::Post;
use crate::shim::Direction;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

impl Engine {
    /// Looks after what is under way, if nobody else does at the moment; whether anything was done.
    pub(crate) fn poll(&self) -> bool {
        self.poll_as(false)
    }

    pub(crate) fn poll_as(&self, is_keeper: bool) -> bool {
        let mut state: MutexGuard<'_, Underway> = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) => return false,
        };
        if state.is_over || state.active.is_empty() && !state.channels.is_open() {
            return false;
        }
        let began = self.now();
        let mut finished = Vec::new();
        if let Some(pipes) = &mut state.pipes {
            pipes.look(began);
        }
        let (mut index, mut end) = (0, state.active.len());
        // What is handed on is handed on in the order in which the next rank expects it, whatever comes first here.
        let mut held: Vec<usize> = Vec::new();
        while index < end {
            let ActiveRequest { post, index: which, .. } = &state.active[index];
            let is_in = post.hands_on && post.transfers[*which].direction == Direction::In;
            let post = Arc::as_ptr(post).addr();
            let is_held = is_in && held.contains(&post);
            let told = if is_held { None } else { self.look(&mut state, index, began) };
            let Some(told) = told else {
                if is_in && !is_held {
                    held.push(post);
                }
                index += 1;
                continue;
            };
            // In their order: MPI and a link serve the first one first.
            let entry = state.active.remove(index);
            end -= 1;
            self.follow(&mut state, &entry.post, entry.index, &told, &mut finished);
            finished.push((entry.post, entry.index, told));
        }
        let mut heard = self.hear_channels(&mut state, began, &mut finished);
        state.pending -= finished.len();
        self.outstanding.store(state.pending, Ordering::Relaxed);
        let ended = self.count_channels(&mut state);
        let poller = state.poller.clone();
        state.channels.look_for_late(began, &mut heard);
        let found = finished.len() + heard.count;
        if found != 0 || !state.channels.is_lull(state.pending) {
            self.stir(began);
        }
        let hears = self.hear(&mut state, began);
        if hears {
            state.channels.ring_all(&mut heard);
        }
        let overdue =
            if state.awaited.is_empty() { Vec::new() } else { self.overdue(&mut state, began, hears) };
        self.note_poll(began, found, is_keeper);
        drop(state);
        heard.ring();
        // They say themselves what is late.
        overdue.iter().for_each(|post| post.wake());
        let (count, now) = (finished.len(), self.now());
        for (post, index, told) in finished {
            post.complete(index, told, now);
        }
        if let Some(poller) = poller {
            poller.end(count);
        }
        ended.end();
        found != 0
    }

    /// Under the lock: what came of a message, if it is done.
    fn look(&self, state: &mut Underway, index: usize, now: u64) -> Option<TransferResult> {
        let Underway { active, pipes, .. } = state;
        let entry = &mut active[index];
        if entry.told.is_none() {
            entry.told = match self.shim.test(&mut entry.word) {
                Ok(None) => None,
                Ok(Some(bytes)) => Some(Ok(bytes)),
                Err(refusal) => Some(Err(refusal)),
            };
        }
        if let Some(pipes) = pipes {
            let age = now.saturating_sub(entry.post.posted_ns.load(Ordering::Relaxed));
            let direction = entry.post.transfers[entry.index].direction;
            if !pipes.moves(direction, &mut entry.left, age) && !matches!(entry.told, Some(Err(_))) {
                return None;
            }
        }
        entry.told.take()
    }

    /// Under the lock: those that are late now.
    fn overdue(&self, state: &mut Underway, now: u64, all: bool) -> Vec<Arc<Post>> {
        let mut overdue = Vec::new();
        state.awaited.retain(|(until, post)| {
            let Some(post) = post.upgrade().filter(|post| !post.is_done()) else { return false };
            if *until <= now || all {
                overdue.push(post);
                return false;
            }
            true
        });
        overdue
    }

    /// Under the lock.
    fn note_poll(&self, began: u64, found: usize, is_keeper: bool) {
        let (relaxed, now) = (Ordering::Relaxed, self.now());
        let progress = found != 0;
        self.traced.look(began, now, found, is_keeper);
        self.tally.polls.fetch_add(1, relaxed);
        self.tally.empty.fetch_add(u64::from(!progress), relaxed);
        let since = began.saturating_sub(self.last_ns.swap(now, relaxed));
        self.tally.longest_gap_ns.fetch_max(since, relaxed);
        self.tally.gap_of_late_ns.fetch_max(since, relaxed);
        self.tally.polling_ns.fetch_add(now - began, relaxed);
        if !is_keeper {
            self.tally.by_others_ns.fetch_add(now - began, relaxed);
        }
        let gap = self.gap_ns.load(relaxed);
        let gap = if progress { gap / 2 } else { gap * 2 }.clamp(GAP_MIN_NS, GAP_MAX_NS);
        self.gap_ns.store(gap, relaxed);
        self.next_ns.store(now + gap, relaxed);
    }

    /// The processor time that the keeper has used.
    pub(crate) fn note_keeper(&self, used: Duration) {
        let used = u64::try_from(used.as_nanos()).unwrap_or(u64::MAX);
        self.tally.keeper_ns.store(used, Ordering::Relaxed);
    }

    pub(crate) fn counters(&self) -> Counters {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            polls: of(&self.tally.polls),
            empty: of(&self.tally.empty),
            longest_gap: Duration::from_nanos(of(&self.tally.longest_gap_ns)),
            polling: Duration::from_nanos(of(&self.tally.polling_ns)),
            processor: Duration::from_nanos(of(&self.tally.by_others_ns) + of(&self.tally.keeper_ns)),
        }
    }

    /// For how long nobody has looked at what is under way.
    pub(crate) fn since_last(&self) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(self.last_ns.load(Ordering::Relaxed)))
    }
}
