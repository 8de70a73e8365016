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

/// Of so many looks for channels alone one is measured.
const GUESSED: u64 = 8;

impl Engine {
    /// Looks after what is under way, if nobody else does at the moment; whether anything was done.
    pub(crate) fn poll(&self) -> bool {
        self.poll_at(self.now(), false)
    }

    /// The same, by one who has just read the clock.
    pub(crate) fn poll_at(&self, began: u64, is_keeper: bool) -> bool {
        let mut state: MutexGuard<'_, Underway> = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(TryLockError::WouldBlock) => return false,
        };
        if state.is_over || state.active.is_empty() && !state.channels.is_open() {
            return false;
        }
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
        let poller = if finished.is_empty() { None } else { state.poller.clone() };
        state.channels.look_for_late(began, &mut heard);
        let found = finished.len() + heard.count;
        if state.channels.has_said() || found != 0 || !state.channels.is_lull(state.pending) {
            self.stir(began);
        }
        let hears = self.hear(&mut state, began);
        if hears {
            state.channels.ring_all(&mut heard);
        }
        let overdue =
            if state.awaited.is_empty() { Vec::new() } else { self.overdue(&mut state, began, hears) };
        let may_be_guessed = finished.is_empty() && state.active.is_empty();
        self.note_poll(began, found, is_keeper, may_be_guessed);
        drop(state);
        heard.ring();
        // They say themselves what is late.
        overdue.iter().for_each(|post| post.wake());
        let count = finished.len();
        if count != 0 {
            let now = self.now();
            for (post, index, told) in finished {
                post.complete(index, told, now);
            }
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

    /// Under the lock. Of looks for channels alone that find nothing one in a few is measured, and stands for the
    /// others; so of those that find something.
    fn note_poll(&self, began: u64, found: usize, is_keeper: bool, may_be_guessed: bool) {
        let relaxed = Ordering::Relaxed;
        let progress = found != 0;
        // PERF: who writes these has the lock, so that none is a locked instruction: they were a fifth of a round of 8
        // bytes in memory, example `ring`.
        let add = |counter: &AtomicU64, more: u64| {
            let count = counter.load(relaxed);
            counter.store(count.wrapping_add(more), relaxed);
            count
        };
        let (looks, empty) = (add(&self.tally.polls, 1), add(&self.tally.empty, u64::from(!progress)));
        let count = if progress { looks - empty } else { empty };
        // PERF: to read the clock takes as long as such a look.
        let (now, stands_for) = match may_be_guessed && !self.traced.records() {
            false => (self.now(), 1),
            true if count.is_multiple_of(GUESSED) => (self.now(), GUESSED),
            true => (began, 0),
        };
        self.traced.look(began, now, found, is_keeper);
        let since = began.saturating_sub(self.last_ns.load(relaxed));
        self.last_ns.store(now, relaxed);
        if since > self.tally.longest_gap_ns.load(relaxed) {
            self.tally.longest_gap_ns.store(since, relaxed);
        }
        // Mode `Auto` takes this one away without the lock.
        if since > self.tally.gap_of_late_ns.load(relaxed) {
            self.tally.gap_of_late_ns.fetch_max(since, relaxed);
        }
        let took = now.saturating_sub(began) * stands_for;
        add(&self.tally.polling_ns, took);
        if !is_keeper {
            add(&self.tally.by_others_ns, took);
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
