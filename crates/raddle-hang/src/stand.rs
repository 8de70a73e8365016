//! Owns: which workers stand: in a call that the scheduler does not know, before others that could run elsewhere.
//! May use: `kernel`, `runtimes`, `stop`, `raddle-core`, `raddle-syscall`.
//! Never: a worker stopped; a file read for one that moves, or behind which nobody waits.
//!
//! A worker *stands* if for at least [`STANDS`] it has dispatched nothing, its OS thread has had no processor and asks
//! for none, and nobody has taken what waits behind it: a runnable, an alarm that is due, or the next question to a
//! poller at which something is outstanding, if no other worker asks. The scheduler then has an extra worker take it
//! (`raddle_core::runtime::extra`), until the worker goes on.
//!
//! Alternatives: the state of all OS threads, read from `/proc` each time, is a hundred times as dear as two reads of a
//! clock; a timer's signal to each worker, as in Go's first preemptive versions, ends system calls early.
//!
//! *The batch* of a worker is private: its words are plain, and nobody else may take from it. If something waits
//! there, too, the worker is stopped as for a report. An OS thread that was interrupted in a system call is in the
//! midst of no operation of its batch, since none makes one, and is not in a handler of another signal's if it blocks
//! no more signals than ever. Then what is movable of the batch is laid out in the worker's window, and the worker may
//! go on.
//!
//! *The forks* of the process that runs there are private, too, until they are promoted, which is seldom done: what the
//! call waits for may be one of them. Where a fork has been left private, as its worker's queue of jobs says, a worker
//! that stands is stopped for these as for its batch, and up to 64 of a list and 8 of a bag are promoted at a time. The
//! records of those in a bag are brought along, since the OS thread that stands may hold the lock of whoever gives
//! memory.
//!
//! A call that is interrupted may fail with `EINTR`. So a worker is asked only where somebody could take what is found,
//! only if it would answer at once (not in an uninterruptible sleep), and once for each stand; if that was of no use,
//! not again for a time that doubles, from [`PAUSE_MIN`] to [`PAUSE_MAX`], whatever stands there meanwhile.

use crate::kernel;
use crate::runtimes::runtimes;
use crate::stop;
use raddle_core::os_thread::{self, Record, Role};
use raddle_core::runtime::{Shared, extra};
use raddle_core::worker::Worker;
use raddle_core::worker::jobs::SpareSlot;
use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// So long a worker stands before it is helped, and so often is looked.
pub(crate) const STANDS: Duration = Duration::from_millis(10);

/// After a question of no use, a worker is not asked again for so long at first,
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// and at last: what has come into its batch meanwhile waits no longer.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// To stop takes so much of its processor at most.
const STOP_TAKES: Duration = Duration::from_micros(300);

/// So many forks that lie in a bag are promoted at a time for a worker that stands.
const SPARES: usize = 8;

/// What a worker was at when it was last seen to move.
struct Standing {
    os_thread: i32,
    progress: [u64; 3],
    processor: Option<Duration>,
    taken: usize,
    since: Instant,
    /// Since when it has dispatched nothing, whether it has used a processor or not.
    slice_since: Instant,
    is_helped: bool,
    /// It has been stopped since the last look: that took its processor for a moment, and is no move.
    was_stopped: bool,
    asked: Asked,
}

/// When a worker was asked for what is in its batch. To stop it takes a processor, too, and is no progress.
#[derive(Clone, Copy)]
struct Asked {
    /// At which progress its batch has been looked at last, and how many were left in it.
    searched: Option<([u64; 3], usize)>,
    next: Instant,
    pause: Duration,
}

impl Asked {
    fn never() -> Asked {
        Asked { searched: None, next: Instant::now(), pause: PAUSE_MIN }
    }

    /// Now; and whether something for others was found, and what was left in the batch at which progress, if it could
    /// be looked at.
    fn note(&mut self, found: bool, left: Option<([u64; 3], usize)>) {
        self.searched = left;
        if found {
            return *self = Asked { searched: self.searched, ..Asked::never() };
        }
        self.next = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }
}

/// The workers that may stand, by address.
#[derive(Default)]
pub(crate) struct Stands {
    seen: HashMap<usize, Standing>,
    /// The runtimes with workers that stand, by address.
    helped: Vec<usize>,
}

impl Stands {
    /// Looks at all workers, and has those helped that stand.
    pub(crate) fn look(&mut self) {
        // The twin's workers stand while their processes, which are other OS threads, run.
        if cfg!(raddle_twin) {
            return;
        }
        let list = runtimes();
        if list.is_empty() {
            self.seen.clear();
        }
        for watched in list.iter() {
            let shared = watched.shared();
            let address = std::ptr::from_ref(shared).addr();
            let mut is_starved = false;
            let mut standing = Vec::new();
            for worker in shared.everybody() {
                if let Some(starves) = self.stands(shared, worker) {
                    standing.push(worker.index);
                    is_starved |= starves;
                }
            }
            let all_stand = shared.workers().iter().all(|worker| standing.contains(&worker.index));
            is_starved |= all_stand && shared.extra_workers().any(|extra| self.waits_behind(extra));
            let was_helped = self.helped.contains(&address);
            if standing.is_empty() && !was_helped {
                continue;
            }
            // Without another extra worker it stands on; `slow` tells of that.
            let is_standing = |worker: &Worker| standing.contains(&worker.index);
            let _is_helped = extra::help(shared, is_standing, is_starved);
            let found = shared.everybody().filter(|worker| self.search_batch(shared, worker)).count();
            if found > 0 {
                let _next_time = extra::help(shared, is_standing, true);
            }
            self.helped.retain(|other| *other != address);
            self.helped.extend((!standing.is_empty()).then_some(address));
        }
    }

    /// Whether the worker stands; and if so, whether something waits behind it that nobody has taken since the last
    /// look.
    fn stands(&mut self, shared: &Shared, worker: &Worker) -> Option<bool> {
        let key = std::ptr::from_ref(worker).addr();
        if worker.follows_seed() || shared.worker_sleeps(worker.index) {
            self.seen.remove(&key);
            return None;
        }
        let before = self.seen.get(&key);
        let os_thread = before.map_or_else(|| os_thread_of(key), |seen| seen.os_thread);
        let (waiting, taken) = worker.waiting_for_others();
        let progress = worker.progress();
        let processor = (os_thread != 0).then(|| raddle_syscall::processor_time(os_thread)).flatten();
        let moved = before.is_none_or(|seen| {
            seen.progress != progress
                || !seen.has_stood(processor)
                || processor.is_none()
                || (seen.taken != taken && !seen.is_helped)
        });
        if moved {
            let os_thread = if processor.is_none() { os_thread_of(key) } else { os_thread };
            let (since, is_helped) = (Instant::now(), false);
            // Without its OS thread it is gone: another lies at its address, of which nothing is known.
            let same = before.filter(|seen| seen.os_thread == os_thread);
            let in_slice = same.filter(|seen| seen.progress == progress);
            let slice_since = in_slice.map_or_else(Instant::now, |seen| seen.slice_since);
            let asked = same.map_or_else(Asked::never, |seen| seen.asked);
            let now = Standing {
                os_thread,
                progress,
                processor,
                taken,
                since,
                slice_since,
                is_helped,
                was_stopped: false,
                asked,
            };
            self.seen.insert(key, now);
            return None;
        }
        let seen = self.seen.get_mut(&key)?;
        (seen.processor, seen.was_stopped) = (processor, false);
        let has_batch = seen.is_to_search(worker);
        let is_starved = (waiting > 0 && seen.taken == taken)
            || shared.has_shared(0)
            || worker.has_alarm_due()
            || shared.asks_no_poller(STANDS);
        seen.taken = taken;
        if !seen.is_helped && (is_starved || has_batch) && seen.since.elapsed() >= STANDS {
            seen.is_helped = matches!(kernel::state(os_thread), Some('S' | 'D'));
        }
        seen.is_helped.then_some(is_starved)
    }
}

impl Stands {
    /// Whether something waits behind a long slice of this extra worker.
    fn waits_behind(&self, extra: &Worker) -> bool {
        let in_slice = self.seen.get(&std::ptr::from_ref(extra).addr());
        in_slice.is_some_and(|seen| seen.slice_since.elapsed() >= STANDS) && extra.waiting_for_others().0 > 0
    }

    /// What waits in the batch of a worker that stands, and the forks of what runs there, are its OS thread's only,
    /// which is stopped for them. True if something was found, which now waits for others.
    fn search_batch(&mut self, shared: &Shared, worker: &Worker) -> bool {
        let key = std::ptr::from_ref(worker).addr();
        let is_to_search = |seen: &&mut Standing| seen.is_helped && seen.is_to_search(worker);
        let Some(seen) = self.seen.get_mut(&key).filter(is_to_search) else { return false };
        // Elsewhere in the kernel it answers when it will, and who waits for that looks at nobody else.
        if !shared.takes_batch_of(worker) || kernel::state(seen.os_thread) != Some('S') {
            return false;
        }
        let (mut found, mut left) = (false, None);
        // Before it stands still: it may hold the lock of whoever gives memory.
        let mut spares: Vec<SpareSlot> = Vec::new();
        if worker.jobs.has_left() {
            spares.extend(std::iter::repeat_with(SpareSlot::take).take(SPARES));
        }
        let records = os_thread::records();
        let own = records.iter().find(|record| record.tid() == seen.os_thread);
        let lay_out = || {
            // SAFETY: it stands there while this is called.
            found = unsafe { shared.lay_out_batch(worker) };
            let running = own.map_or(null_mut(), |record| record.running.load(Ordering::Relaxed));
            // SAFETY: as above, and it was noted there what runs.
            found |= unsafe { worker.promote_for_standing(running.cast(), &mut spares) };
            // As long as it stands: when it goes on it may come to its next stand before this has noted of which one
            // it knows what is left.
            left = Some((worker.progress(), worker.waiting_in_batch()));
        };
        seen.was_stopped = true;
        let _stood = own.is_some_and(|record| stop::while_in_system_call(record, lay_out));
        drop(records);
        seen.asked.note(found, left);
        if found {
            shared.call_idle();
        }
        found
    }
}

impl Standing {
    /// Whether it has had no processor since the last look, or only as much as it takes to be stopped.
    fn has_stood(&self, processor: Option<Duration>) -> bool {
        let most = if self.was_stopped { STOP_TAKES } else { Duration::ZERO };
        processor.zip(self.processor).is_some_and(|(now, then)| now.saturating_sub(then) <= most)
    }

    /// Whether there may be something in the worker's batch, or forks of what runs there, and it has not been looked at
    /// yet, or in vain.
    fn is_to_search(&self, worker: &Worker) -> bool {
        let waiting = worker.waiting_in_batch();
        let has_batch = waiting > 0 && self.asked.searched != Some((worker.progress(), waiting));
        (has_batch || worker.jobs.has_left()) && Instant::now() >= self.asked.next
    }
}

/// The OS thread of this worker; 0 if it has none.
pub(crate) fn os_thread_of(worker: usize) -> i32 {
    // A record that is nobody's may still name a worker that lay at the same address.
    let is_it =
        |record: &&&Record| record.tid() != 0 && record.is(Role::Worker) && record.worker().addr() == worker;
    os_thread::records().iter().find(is_it).map_or(0, |record| record.tid())
}
