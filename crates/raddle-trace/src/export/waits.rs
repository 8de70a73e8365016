//! Owns: the waits of each thread: from when until when, why, where, and for which object.
//! May use: `analysis`, `event`, `log`.
//! Never: the time in which a thread is ready because it yielded.
//!
//! A wait lasts from the end of a slice to the begin of the thread's next one, or to the end of the trace: so long is
//! the call in which the thread waits. For how much of that it was ready again, the states of the thread say, which
//! Perfetto derives from the wakes.

use crate::analysis::{Analysis, Slice};
use crate::event::StopReason;
use crate::log::Log;

/// A thread waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitSlice {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) reason: StopReason,
    /// The string of the place in the program, 0 if it was not recorded.
    pub(super) site: u32,
    /// The number of what it waited for, 0 if it was not recorded.
    pub(super) object: u32,
}

/// The slices of all threads: thread, begin, the worker's index, the slice's index there; sorted.
pub(super) struct Runs(Vec<(u32, u64, u32, u32)>);

impl Runs {
    pub(super) fn of(analysis: &Analysis) -> Runs {
        let mut runs = Vec::with_capacity(analysis.workers.iter().map(|worker| worker.slices.len()).sum());
        for (place, worker) in (0..).zip(&analysis.workers) {
            let slices = (0..).zip(&worker.slices);
            runs.extend(slices.map(|(number, slice)| (slice.thread, slice.begin_ns, place, number)));
        }
        runs.sort_unstable();
        Runs(runs)
    }

    /// The threads that ran, in order.
    pub(super) fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.chunk_by(|one, two| one.0 == two.0).map(|of_thread| of_thread[0].0)
    }

    /// The waits of a thread, by time.
    pub(super) fn waits<'a>(
        &'a self,
        thread: u32,
        log: &'a Log,
        analysis: &'a Analysis,
    ) -> impl Iterator<Item = WaitSlice> + 'a {
        let first = self.0.partition_point(|run| run.0 < thread);
        let of_thread = &self.0[first..self.0.partition_point(|run| run.0 <= thread)];
        let next = of_thread.iter().skip(1).map(|run| run.1).chain([log.end_ns]);
        of_thread.iter().zip(next).filter_map(|((.., worker, slice), end_ns)| {
            wait(&analysis.workers[*worker as usize].slices[*slice as usize], end_ns)
        })
    }
}

/// The wait after a slice, if there is one, until the next.
fn wait(slice: &Slice, end_ns: u64) -> Option<WaitSlice> {
    let Slice { end_ns: begin_ns, stopped: reason, site, object, .. } = *slice;
    let waits = !reason.is_ready() && !matches!(reason, StopReason::Exit | StopReason::None);
    (waits && begin_ns < end_ns).then_some(WaitSlice { begin_ns, end_ns, reason, site, object })
}
