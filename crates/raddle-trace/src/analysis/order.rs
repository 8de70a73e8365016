//! Owns: the cost of running a thread out of order: after another thread than the last time.
//! May use: nothing.
//! Never: a cost that the trace does not show.
//!
//! When threads take turns in the same order again and again, the next one's data are in the cache: its stack is near
//! the previous one, or was prefetched. On a line of 2000 processes a slice took 33 ns in order and 43 out of order,
//! traced, on either worker. A placement changes the order, since wakes from another worker come at any time.

use super::timeline::WorkerTime;
use std::collections::HashMap;

/// Which slices came out of order: after another thread than the last time, on the same worker.
pub(super) fn out_of_order(worker: &WorkerTime) -> Vec<bool> {
    let mut last: HashMap<u32, u32> = HashMap::new();
    let mut before = 0;
    let follows = |thread: u32| {
        let after = std::mem::replace(&mut before, thread);
        last.insert(thread, after) != Some(after)
    };
    worker.slices.iter().map(|slice| slice.thread).map(follows).collect()
}

/// The extra cost of a slice out of order, in nanoseconds, in the trace that has more of them.
pub(super) fn cost_ns(one: &[WorkerTime], two: &[WorkerTime]) -> u64 {
    [one, two].map(of).into_iter().max_by_key(|(count, _)| *count).map_or(0, |(_, ns)| ns)
}

/// How many slices came out of order, and how much longer they took on average; 0 if there are too few to say.
fn of(workers: &[WorkerTime]) -> (usize, u64) {
    let mut kinds = [Vec::new(), Vec::new()];
    for worker in workers {
        for (slice, out_of_order) in worker.slices.iter().zip(out_of_order(worker)) {
            kinds[usize::from(out_of_order)].push(slice.ns());
        }
    }
    let count = kinds[1].len();
    let [in_order, out_of_order] = kinds.map(mean);
    (count, in_order.zip(out_of_order).map_or(0, |(within, out)| out.saturating_sub(within)))
}

/// The mean without outliers: slices of over four times the median did something else, or were interrupted.
fn mean(mut runs: Vec<u64>) -> Option<u64> {
    if runs.len() < RUNS_MIN {
        return None;
    }
    let middle = runs.len() / 2;
    let most = runs.select_nth_unstable(middle).1.saturating_mul(4);
    runs.retain(|ns| *ns <= most);
    runs.iter().sum::<u64>().checked_div(runs.len() as u64)
}

/// With fewer slices the mean is not reliable.
const RUNS_MIN: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StopReason;
    use crate::log::Log;
    use crate::log::tests::Script;

    /// Threads run in this order on worker 0, each as long as `ns` says for its position.
    fn turns(order: &[u32], ns: impl Fn(usize) -> u64) -> Log {
        let mut script = Script::new(1, 1_000_000_000);
        let mut at = 0;
        for (place, thread) in order.iter().enumerate() {
            let stopped = if place == 0 { StopReason::None } else { StopReason::Yield };
            script.switch(0, at, stopped, *thread);
            at += ns(place);
        }
        script.switch(0, at, StopReason::Yield, 0);
        script.log()
    }

    fn workers(log: &Log) -> Vec<WorkerTime> {
        super::super::Analysis::of(log).workers
    }

    #[test]
    fn who_follows_another_than_the_last_time_is_out_of_order() {
        let of = |order: &[u32]| out_of_order(&workers(&turns(order, |_| 10))[0]);
        assert_eq!(of(&[1, 2, 3, 1, 2, 3]), [true, true, true, true, false, false]);
        // 3 comes too early, and 2 follows another thread than before.
        assert_eq!(of(&[1, 2, 1, 2, 3, 2])[2..], [true, false, true, true]);
    }

    #[test]
    fn what_is_out_of_order_takes_longer_by_the_mean_of_the_trace_that_has_more_of_it() {
        // Three threads take turns; two of them change places every second time.
        let order: Vec<u32> =
            (0..2000).flat_map(|turn| if turn % 2 == 0 { [1, 2, 3] } else { [1, 3, 2] }).collect();
        let mixed: Vec<u32> = (0..2000).flat_map(|_| [1, 2, 3]).chain(order).collect();
        let all = out_of_order(&workers(&turns(&mixed, |_| 10))[0]);
        let log = turns(&mixed, |place| if all[place] { 50 } else { 30 });
        let quiet = workers(&turns(&[1, 2, 3].repeat(2000), |_| 30));
        assert_eq!(cost_ns(&workers(&log), &quiet), 20);
        assert_eq!(cost_ns(&quiet, &workers(&log)), 20);
        assert_eq!(cost_ns(&quiet, &quiet), 0, "it says nothing of it");
        // One in a hundred is interrupted for long.
        let hit = turns(&mixed, |place| {
            if place % 100 == 7 {
                10_000
            } else if all[place] {
                50
            } else {
                30
            }
        });
        assert_eq!(cost_ns(&workers(&hit), &quiet), 20);
    }
}
