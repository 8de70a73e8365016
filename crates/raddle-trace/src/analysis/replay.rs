//! Owns: a run done again, in thought, on other workers than it was.
//! May use: `timeline`; the causes of `path`.
//! Never: a figure that is not of a trace, but for the rules that `Rules` names.
//!
//! Each run of the trace takes as long as it did, less what the kernel took; it comes after its thread's last one, and
//! after the run that woke it has come to that point. Each worker takes what is ready first in, first out: of its own
//! and, where the rules let it, of what lies open to all. So the order of what is ready may be another one than in the
//! trace, and nothing else is.

use super::path::{self, Cause, Run, Threads};
use super::timeline::{Slice, WorkerTime};
use crate::log::Log;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// None follows.
const NONE: u32 = u32::MAX;

/// What the workers may do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// How many there are.
    pub(super) workers: usize,
    /// Who has begun on a worker stays there.
    pub(super) started_stay: bool,
    /// Nobody takes the last that lies open, but for the worker that has made it ready.
    pub(super) last_stays: bool,
    /// How long it takes until an idle worker runs what another one has made ready, ns.
    pub(super) wake_ns: u64,
}

/// Runs, in the order in which they began, and what each of them has to wait for.
#[derive(Clone)]
pub(super) struct Replay {
    runs: Vec<Planned>,
    /// What comes after a run, as lists.
    after: Vec<After>,
    /// When those can run that wait for no run.
    roots: Vec<(u64, u32)>,
    /// From the end of the last run to that of the trace.
    tail_ns: u64,
}

#[derive(Clone)]
struct Planned {
    thread: u32,
    ns: u64,
    /// How many others it still waits for.
    waits: u8,
    /// The first of what comes after it.
    after: u32,
}

/// This run waits for a moment of another one: so long after its beginning.
#[derive(Clone)]
struct After {
    run: u32,
    ns: u64,
    next: u32,
}

impl Replay {
    pub(super) fn of(log: &Log, workers: &[WorkerTime]) -> Replay {
        let mut order: Vec<(u64, Run)> = Vec::new();
        for (at, worker) in workers.iter().enumerate() {
            order.extend(worker.slices.iter().enumerate().map(|(slice, of)| (of.begin_ns, (at, slice))));
        }
        order.sort_unstable();
        let mut ranks: Vec<Vec<u32>> = workers.iter().map(|worker| vec![NONE; worker.slices.len()]).collect();
        let threads = Threads::of(log, workers);
        let last_ns = workers.iter().filter_map(|worker| worker.slices.last()).map(|last| last.end_ns).max();
        let mut replay = Replay {
            runs: Vec::with_capacity(order.len()),
            after: Vec::new(),
            roots: Vec::new(),
            tail_ns: log.end_ns - last_ns.unwrap_or(log.end_ns).min(log.end_ns),
        };
        for (rank, (begin_ns, run)) in order.into_iter().enumerate() {
            ranks[run.0][run.1] = rank as u32;
            let worker = &workers[run.0];
            let slice = &worker.slices[run.1];
            let ns = own_ns(slice.ns(), worker);
            replay.runs.push(Planned { thread: slice.thread, ns, waits: 0, after: NONE });
            for (of, ns) in waits(&threads, workers, run).into_iter().flatten() {
                // Clocks of two workers may disagree: what has not begun yet is nobody's cause.
                let rank_of = ranks[of.0][of.1];
                if rank_of != NONE && rank_of != rank as u32 {
                    // What comes after its end was no running: an alarm, or what is not of this program.
                    let ran = workers[of.0].slices[of.1].ns().min(ns);
                    replay.wait(rank as u32, rank_of, own_ns(ran, &workers[of.0]) + (ns - ran));
                }
            }
            if replay.runs[rank].waits == 0 {
                replay.roots.push((begin_ns - log.begin_ns.min(begin_ns), rank as u32));
            }
        }
        replay.reverse();
        replay
    }

    /// Puts what comes after a run, whose last was noted first, into the order in which it was done.
    fn reverse(&mut self) {
        for run in &mut self.runs {
            let (mut at, mut before) = (run.after, NONE);
            while let Some(after) = self.after.get_mut(at as usize) {
                let next = std::mem::replace(&mut after.next, before);
                before = std::mem::replace(&mut at, next);
            }
            run.after = before;
        }
    }

    fn wait(&mut self, run: u32, of: u32, ns: u64) {
        let first = &mut self.runs[of as usize].after;
        let next = std::mem::replace(first, self.after.len() as u32);
        self.after.push(After { run, ns, next });
        self.runs[run as usize].waits += 1;
    }

    /// Does it all, each thread on the worker that `place` names or, of none, on any; says when all has ended.
    pub(super) fn finish(self, rules: Rules, place: impl FnMut(u32) -> Option<usize>) -> u64 {
        let (roots, tail_ns) = (self.roots.clone(), self.tail_ns);
        let workers = rules.workers.max(1);
        let mut stage = Stage {
            replay: self,
            rules,
            place,
            homes: HashMap::new(),
            moments: BinaryHeap::new(),
            noted: 0,
            own: vec![VecDeque::new(); workers],
            open: VecDeque::new(),
            busy: vec![false; workers],
        };
        for (ns, run) in roots {
            stage.replay.runs[run as usize].waits = 1;
            stage.note(ns, Moment::Waits { run, by: None });
        }
        stage.play() + tail_ns
    }
}

/// Of a stretch of a worker's running time what it had the core for, as the kernel's share is spread evenly.
fn own_ns(ns: u64, worker: &WorkerTime) -> u64 {
    let (own, all) = (u128::from(worker.running_ns), u128::from(worker.running_ns + worker.kernel_ns));
    (u128::from(ns) * own).checked_div(all).map_or(ns, |ns| ns as u64)
}

/// A replay on its way.
struct Stage<P> {
    replay: Replay,
    rules: Rules,
    place: P,
    /// Where each thread has to run, if anywhere.
    homes: HashMap<u32, Option<usize>>,
    /// By time, and in the order in which they were noted down.
    moments: BinaryHeap<Reverse<(u64, u64, Moment)>>,
    noted: u64,
    /// What is ready: on each worker, and for any, with the worker that made it so; by its number in order.
    own: Vec<VecDeque<(u64, u32)>>,
    open: VecDeque<(u64, u32, Option<usize>)>,
    busy: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// A worker has done its run, or is awake.
    Free(usize),
    /// A run waits for one thing less, which that worker did.
    Waits { run: u32, by: Option<usize> },
}

impl<P: FnMut(u32) -> Option<usize>> Stage<P> {
    fn note(&mut self, ns: u64, moment: Moment) {
        self.noted += 1;
        self.moments.push(Reverse((ns, self.noted, moment)));
    }

    fn play(&mut self) -> u64 {
        let mut end = 0;
        while let Some(Reverse((now, number, moment))) = self.moments.pop() {
            let freed = match moment {
                Moment::Free(worker) => {
                    self.busy[worker] = false;
                    worker
                }
                Moment::Waits { run, by } => {
                    let planned = &mut self.replay.runs[run as usize];
                    planned.waits -= 1;
                    if planned.waits > 0 {
                        continue;
                    }
                    let Some(woken) = self.make_ready(number, run, by) else { continue };
                    if by.is_some_and(|by| by != woken) && self.rules.wake_ns > 0 {
                        self.busy[woken] = true;
                        self.note(now.saturating_add(self.rules.wake_ns), Moment::Free(woken));
                        continue;
                    }
                    woken
                }
            };
            if let Some(run) = self.next(freed) {
                end = self.run(now, freed, run).max(end);
            }
        }
        end
    }

    /// Queues a run, and says which idle worker is to have it.
    fn make_ready(&mut self, number: u64, run: u32, by: Option<usize>) -> Option<usize> {
        let thread = self.replay.runs[run as usize].thread;
        let place = &mut self.place;
        let home = *self.homes.entry(thread).or_insert_with(|| place(thread));
        if let Some(home) = home {
            self.own[home].push_back((number, run));
            return Some(home).filter(|home| !self.busy[*home]);
        }
        self.open.push_back((number, run, by));
        let mut idle = (0..self.busy.len()).filter(|worker| !self.busy[*worker]);
        by.filter(|by| !self.busy[*by]).or_else(|| idle.next())
    }

    /// What a free worker runs: of its own and of what is open, what has been ready for longest.
    fn next(&mut self, worker: usize) -> Option<u32> {
        let may_take = |(number, _, by): &(u64, u32, Option<usize>)| {
            (!self.rules.last_stays || self.open.len() > 1 || by.is_none_or(|by| by == worker))
                .then_some(*number)
        };
        let (own, open) = (self.own[worker].front().map(|own| own.0), self.open.front().and_then(may_take));
        if open.is_some_and(|open| own.is_none_or(|own| open < own)) {
            let (_, run, _) = self.open.pop_front()?;
            if self.rules.started_stay {
                self.homes.insert(self.replay.runs[run as usize].thread, Some(worker));
            }
            return Some(run);
        }
        self.own[worker].pop_front().map(|(_, run)| run)
    }

    /// Begins a run, and notes down what comes of it; says when it ends.
    fn run(&mut self, now: u64, worker: usize, run: u32) -> u64 {
        let Planned { ns, mut after, .. } = self.replay.runs[run as usize];
        let end = now.saturating_add(ns);
        self.busy[worker] = true;
        self.note(end, Moment::Free(worker));
        while let Some(&After { run, ns, next }) = self.replay.after.get(after as usize) {
            self.note(now.saturating_add(ns), Moment::Waits { run, by: Some(worker) });
            after = next;
        }
        end
    }
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
