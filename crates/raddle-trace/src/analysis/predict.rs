//! Owns: how long a run would have taken if an advice had been followed.
//! May use: `timeline`; the causes of `path`; `labels`.
//! Never: a forecast where the trace says too little for one.
//!
//! What the trace itself says: a thread that ran alone, split among all workers, leaves its share; threads that waited
//! beside an idle worker run there; on fewer workers, which have their cores for themselves, all that ran runs.
//!
//! A placement is another matter, since it changes who waits for whom. So the run on one worker is done again, in
//! thought: each of its runs takes as long as it did, comes after its thread's last one, and after the run that woke it
//! has come to that point; each worker takes what is ready first in, first out. What a wake costs that goes from
//! worker to worker is left out.

use super::Analysis;
use super::idle::Class;
use super::labels;
use super::path::{self, Cause, Run, Threads};
use super::timeline::{Slice, WorkerTime};
use super::verdict::Advice;
use crate::log::Log;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// How long it would take if the advice were followed, as far as the trace itself says so.
pub(super) fn followed(advice: &Advice, wall_ns: u64, workers: &[WorkerTime]) -> Option<u64> {
    let count = workers.len().max(1) as u64;
    let sum = |of: fn(&WorkerTime) -> u64| workers.iter().map(of).sum::<u64>();
    match advice {
        Advice::Split(_, alone_ns) => Some(wall_ns.saturating_sub(alone_ns - alone_ns / count)),
        Advice::Migrate | Advice::MakeMovable => {
            Some(wall_ns.saturating_sub(sum(|worker| worker.idle_ns(Class::Misplaced)) / count))
        }
        Advice::FewerWorkers(fewer) => {
            Some(sum(|worker| worker.running_ns + worker.overhead_ns) / (*fewer).max(1) as u64)
        }
        _ => None,
    }
}

/// How long what ran on one worker would take on so many, with these segments of a label each on a worker of its own,
/// and all else on the first.
pub(super) fn placed(log: &Log, one: &Analysis, workers: usize, label: &str, segments: &[(u64, u64)]) -> u64 {
    let place = |thread: u32| {
        let name = log.name(thread);
        let (own, number) = labels::split(&name);
        let number = number.filter(|_| own == label);
        let segment =
            number.and_then(|n| segments.iter().position(|(first, last)| (*first..=*last).contains(&n)));
        segment.unwrap_or(0) % workers.max(1)
    };
    let mut places: HashMap<u32, usize> = HashMap::new();
    Replay::of(log, one, |thread| *places.entry(thread).or_insert_with(|| place(thread)))
        .finish(workers.max(1))
}

/// None follows.
const NONE: u32 = u32::MAX;

/// Runs, in the order in which they began, and what each of them has to wait for.
struct Replay {
    runs: Vec<Planned>,
    /// What comes after a run, as lists.
    after: Vec<After>,
    /// When those can run that wait for no run.
    roots: Vec<(u64, u32)>,
}

struct Planned {
    ns: u64,
    worker: usize,
    /// How many others it still waits for.
    waits: u8,
    /// The first of what comes after it.
    after: u32,
}

/// This run waits for a moment of another one: so long after its beginning.
struct After {
    run: u32,
    ns: u64,
    next: u32,
}

impl Replay {
    fn of(log: &Log, one: &Analysis, mut place: impl FnMut(u32) -> usize) -> Replay {
        let workers = &one.workers;
        let mut order: Vec<(u64, Run)> = Vec::new();
        for (at, worker) in workers.iter().enumerate() {
            order.extend(worker.slices.iter().enumerate().map(|(slice, of)| (of.begin_ns, (at, slice))));
        }
        order.sort_unstable();
        let mut ranks: Vec<Vec<u32>> = workers.iter().map(|worker| vec![NONE; worker.slices.len()]).collect();
        let threads = Threads::of(log, workers);
        let mut replay =
            Replay { runs: Vec::with_capacity(order.len()), after: Vec::new(), roots: Vec::new() };
        for (rank, (begin_ns, run)) in order.into_iter().enumerate() {
            ranks[run.0][run.1] = rank as u32;
            let slice = &workers[run.0].slices[run.1];
            let worker = place(slice.thread);
            replay.runs.push(Planned { ns: slice.ns(), worker, waits: 0, after: NONE });
            for (of, ns) in waits(&threads, workers, run).into_iter().flatten() {
                // Clocks of two workers may disagree: what has not begun yet is nobody's cause.
                let of = ranks[of.0][of.1];
                if of != NONE && of != rank as u32 {
                    replay.wait(rank as u32, of, ns);
                }
            }
            if replay.runs[rank].waits == 0 {
                replay.roots.push((begin_ns - log.begin_ns.min(begin_ns), rank as u32));
            }
        }
        replay
    }

    fn wait(&mut self, run: u32, of: u32, ns: u64) {
        let first = &mut self.runs[of as usize].after;
        let next = std::mem::replace(first, self.after.len() as u32);
        self.after.push(After { run, ns, next });
        self.runs[run as usize].waits += 1;
    }

    /// Does it all, and says when the last has ended.
    fn finish(mut self, workers: usize) -> u64 {
        // By time, and in the order in which they were noted down: what a run must wait for no more, or a free worker.
        let mut events: BinaryHeap<Reverse<(u64, u64, Moment)>> = BinaryHeap::new();
        let mut queues: Vec<VecDeque<u32>> = vec![VecDeque::new(); workers];
        let (mut busy, mut noted, mut end) = (vec![false; workers], 0, 0);
        let mut note = |events: &mut BinaryHeap<_>, ns, moment| {
            noted += 1;
            events.push(Reverse((ns, noted, moment)));
        };
        for (ns, run) in std::mem::take(&mut self.roots) {
            self.runs[run as usize].waits = 1;
            note(&mut events, ns, Moment::Waits(run));
        }
        while let Some(Reverse((now, _, moment))) = events.pop() {
            let worker = match moment {
                Moment::Free(worker) => {
                    busy[worker] = false;
                    worker
                }
                Moment::Waits(run) => {
                    let planned = &mut self.runs[run as usize];
                    planned.waits -= 1;
                    if planned.waits > 0 {
                        continue;
                    }
                    queues[planned.worker].push_back(run);
                    planned.worker
                }
            };
            if busy[worker] {
                continue;
            }
            let Some(run) = queues[worker].pop_front() else { continue };
            let Planned { ns, mut after, .. } = self.runs[run as usize];
            busy[worker] = true;
            end = now.saturating_add(ns).max(end);
            note(&mut events, now.saturating_add(ns), Moment::Free(worker));
            while let Some(follows) = self.after.get(after as usize) {
                note(&mut events, now.saturating_add(follows.ns), Moment::Waits(follows.run));
                after = follows.next;
            }
        }
        end
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// A worker has done its run.
    Free(usize),
    /// A run waits for one thing less.
    Waits(u32),
}

/// What a run has to wait for: at most two runs, and how long after the beginning of each.
fn waits(threads: &Threads, workers: &[WorkerTime], run: Run) -> [Option<(Run, u64)>; 2] {
    let of = |run: Run| -> &Slice { &workers[run.0].slices[run.1] };
    let since = |ns: u64, other: Run| (other, ns.saturating_sub(of(other).begin_ns));
    let slice = of(run);
    match path::cause(threads, workers, run) {
        Some(Cause::Woken(ns, by)) => {
            let own = threads.last_run(slice.thread, slice.begin_ns);
            [Some(since(ns, by)), own.map(|own| (own, of(own).ns()))]
        }
        // Ready at once; or after an alarm, or what else is not of this program.
        Some(Cause::Own(own, _)) if of(own).stopped.is_ready() => [Some((own, of(own).ns())), None],
        Some(Cause::Own(own, woken)) => {
            let woken =
                woken.unwrap_or(slice.begin_ns).clamp(of(own).end_ns.min(slice.begin_ns), slice.begin_ns);
            [Some(since(woken, own)), None]
        }
        Some(Cause::Outside(ns, _, Some(own))) => [Some(since(ns.max(of(own).end_ns), own)), None],
        Some(Cause::Outside(_, _, None) | Cause::Unknown(_)) | None => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StopReason;
    use crate::log::tests::Script;

    /// One worker: four stages hand two numbers on, 100 ns a stage.
    fn line() -> Log {
        let mut script = Script::new(1, 1000);
        for thread in 1..=4 {
            script.name(thread, &format!("stage {}", thread - 1));
        }
        let mut ns = 0;
        // Stages in the order in which the numbers reach them: two numbers follow each other through the line.
        for (step, stage) in [1, 2, 1, 3, 2, 4, 3, 4].into_iter().enumerate() {
            let stopped = if step == 0 { StopReason::None } else { StopReason::Receive };
            script.switch(0, ns, stopped, stage);
            if stage < 4 {
                script.wake(0, ns + 90, stage + 1, 0);
            }
            if step == 0 {
                // The source wakes the first stage again.
                script.wake(0, ns + 95, 1, 0);
            }
            ns += 100;
        }
        script.switch(0, ns, StopReason::Exit, 0);
        script.log()
    }

    #[test]
    fn what_one_worker_did_takes_as_long_again_on_one_and_less_in_segments() {
        let log = line();
        let one = Analysis::of(&log);
        assert_eq!(placed(&log, &one, 1, "stage", &[(0, 3)]), 800);
        // The second worker begins when the first number has come to stage 2, at 190, and has as much to do.
        assert_eq!(placed(&log, &one, 2, "stage", &[(0, 1), (2, 3)]), 590);
    }

    #[test]
    fn what_the_trace_itself_says_is_forecast_from_it() {
        let log = line();
        let one = Analysis::of(&log);
        let forecast = |advice| followed(&advice, one.wall_ns, &one.workers);
        assert_eq!(forecast(Advice::Split("stage 0".to_owned(), 400)), Some(1000));
        assert_eq!(forecast(Advice::FewerWorkers(2)), Some(500));
        assert_eq!(forecast(Advice::MoreWork), None);
    }
}
