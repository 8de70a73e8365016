//! Owns: which workers stand: in a call that the scheduler does not know, before others that could run elsewhere.
//! May use: `runtimes`, `stop`, `raddle-core`, `raddle-syscall`.
//! Never: a worker stopped; a file read for one that moves, or behind which nobody waits.
//!
//! A worker *stands* if for at least [`STANDS`] it has dispatched nothing, its OS thread has had no processor and asks
//! for none, and nobody has taken what waits behind it. The scheduler then has an extra worker take it
//! (`raddle_core::runtime::extra`), until the worker goes on.
//!
//! Alternatives: the state of all OS threads, read from `/proc` each time, is a hundred times as dear as two reads of a
//! clock; a timer's signal to each worker, as in Go's first preemptive versions, ends system calls early.
//!
//! *The batch* of a worker is private: its words are plain, and nobody else may take from it. If something waits
//! there, too, the worker is stopped as for a report, once for each stand. An OS thread that was interrupted in a
//! system call is in the midst of no operation of its batch, since none makes one, and is not in a handler of another
//! signal's if it blocks no more signals than ever. Then what is movable of the batch goes to the inbox of an extra
//! worker, and the worker may go on.

use crate::runtimes::runtimes;
use crate::stop;
use raddle_core::os_thread::{self, Record, Role};
use raddle_core::runtime::{Shared, extra};
use raddle_core::worker::Worker;
use std::collections::HashMap;
use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// So long a worker stands before it is helped, and so often is looked.
pub(crate) const STANDS: Duration = Duration::from_millis(10);

/// What a worker was at when it was last seen to move.
struct Standing {
    os_thread: i32,
    progress: [u64; 3],
    processor: Option<Duration>,
    taken: usize,
    since: Instant,
    is_helped: bool,
    /// At which progress its batch has been looked at last, and how many were left in it. To stop it takes a processor,
    /// too, and is no progress.
    searched: Option<([u64; 3], usize)>,
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
            let was_helped = self.helped.contains(&address);
            if standing.is_empty() && !was_helped {
                continue;
            }
            // Without another extra worker it stands on; `slow` tells of that.
            let is_standing = |worker: &Worker| standing.contains(&worker.index);
            let _is_helped = extra::help(shared, is_standing, is_starved);
            if shared.everybody().any(|worker| self.search_batch(shared, worker)) {
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
                || seen.processor != processor
                || processor.is_none()
                || (seen.taken != taken && !seen.is_helped)
        });
        if moved {
            let os_thread = if processor.is_none() { os_thread_of(key) } else { os_thread };
            let (since, is_helped, searched) = (Instant::now(), false, before.and_then(|seen| seen.searched));
            self.seen
                .insert(key, Standing { os_thread, progress, processor, taken, since, is_helped, searched });
            return None;
        }
        let seen = self.seen.get_mut(&key)?;
        let has_batch = seen.is_to_search(worker);
        let is_starved =
            (waiting > 0 && seen.taken == taken) || shared.has_shared(0) || worker.has_alarm_due();
        seen.taken = taken;
        if !seen.is_helped && (is_starved || has_batch) && seen.since.elapsed() >= STANDS {
            seen.is_helped = asks_for_no_processor(os_thread);
        }
        seen.is_helped.then_some(is_starved)
    }
}

impl Stands {
    /// What waits in the batch of a worker that stands is its OS thread's only, which is stopped for it, once. True if
    /// there is something, and no extra worker to have it.
    fn search_batch(&mut self, shared: &Shared, worker: &Worker) -> bool {
        let key = std::ptr::from_ref(worker).addr();
        let is_to_search = |seen: &&mut Standing| seen.is_helped && seen.is_to_search(worker);
        let Some(seen) = self.seen.get_mut(&key).filter(is_to_search) else { return false };
        let mut has_taker = true;
        let records = os_thread::records();
        let own = records.iter().find(|record| record.tid() == seen.os_thread);
        // SAFETY: it stands there while this is called.
        let hand_on = || has_taker = unsafe { shared.hand_on_batch(worker) };
        let _stood = own.is_some_and(|record| stop::while_in_system_call(record, hand_on));
        drop(records);
        shared.call_extras();
        seen.searched = has_taker.then(|| (worker.progress(), worker.waiting_in_batch()));
        !has_taker
    }
}

impl Standing {
    /// Whether there is something in the worker's batch, and it has not been looked at yet.
    fn is_to_search(&self, worker: &Worker) -> bool {
        let waiting = worker.waiting_in_batch();
        waiting > 0 && self.searched != Some((worker.progress(), waiting))
    }
}

/// The OS thread of this worker; 0 if it has none.
pub(crate) fn os_thread_of(worker: usize) -> i32 {
    // A record that is nobody's may still name a worker that lay at the same address.
    let is_it =
        |record: &&&Record| record.tid() != 0 && record.is(Role::Worker) && record.worker().addr() == worker;
    os_thread::records().iter().find(is_it).map_or(0, |record| record.tid())
}

fn asks_for_no_processor(os_thread: i32) -> bool {
    let stat = read_to_string(format!("/proc/self/task/{os_thread}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    state.is_some_and(|state| matches!(state, 'S' | 'D'))
}
