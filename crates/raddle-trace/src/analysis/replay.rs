//! Owns: a run done again, in thought, on other workers than it was.
//! May use: `timeline`, `order`; the causes of `path`.
//! Never: a figure that is not of a trace, but for the rules that `Rules` names.
//!
//! Each thread does again what it did, stretch by stretch, each of which takes as long as it did, with what the
//! scheduler took before it, less what the kernel took. Between them it wakes others, yields, sleeps, or waits for what
//! had woken it; if that has come already, it goes on. Where two meet at a channel that keeps nothing, either of them
//! waits for the other, whoever waited in the trace: else who sends would run ahead of who receives. Each worker takes
//! what is ready first in, first out: of its own and, where the rules let it, of what lies open to all. So the order of
//! what is ready may be another one than in the trace, and nothing else is but what that costs (`order`).

use super::order;
use super::path::{self, Cause, Run, Threads};
use super::timeline::WorkerTime;
use crate::event::Event;
use crate::log::Log;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// What the workers may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// How many there are.
    pub(super) workers: usize,
    /// Nobody takes the last that lies open, but for the worker that has made it ready.
    pub(super) last_stays: bool,
    /// How long it takes until an idle worker runs what another one has made ready.
    pub(super) ways: Ways,
    /// What each record took, in nanoseconds, which is left out.
    pub(super) record_ns: u64,
    /// What a run takes longer if it follows another thread than the last time, in nanoseconds.
    pub(super) order_ns: u64,
}

/// How long the way to a worker that has nothing to do takes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ways {
    /// By the length of its idleness: below each of [`Ways::BELOW_NS`], and from the last on.
    pub(super) ns: [u64; Ways::BELOW_NS.len() + 1],
}

impl Ways {
    /// First it looks again and again, then its OS thread sleeps, then its core.
    pub(super) const BELOW_NS: [u64; 3] = [1_000, 10_000, 100_000];

    /// Which of the lengths that is.
    pub(super) fn place(idle_ns: u64) -> usize {
        Ways::BELOW_NS.iter().filter(|below| idle_ns >= **below).count()
    }
}

/// On which worker a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On this one.
    At(usize),
    /// On the one that begins it.
    WhereBegun,
    /// On any, at each run.
    Any,
}

/// What each thread did.
pub(super) struct Replay {
    threads: Vec<Thread>,
    steps: Vec<Step>,
    /// Who waits for each moment before anything has been done: a thread that another one makes.
    unborn: Vec<u32>,
    /// When those threads begin that no run wakes.
    roots: Vec<(u64, u32)>,
    /// From the end of the last run to that of the trace.
    tail_ns: u64,
}

struct Thread {
    number: u32,
    /// Its first step.
    first: u32,
}

/// A thread runs for so long, in which it wrote so many records, and then does that.
struct Step {
    ns: u64,
    records: u32,
    /// A run began with it that came out of order.
    broken: bool,
    then: Then,
}

/// Moments have numbers. A thread has a number of its own here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It brings a moment about, and goes on.
    Bring(u32),
    /// It waits for a moment, unless it has been.
    Await(u32),
    /// Two do this: the first of them waits for the second.
    Meet(u32),
    /// It is ready.
    Yield,
    /// It is ready so long after.
    Sleep(u64),
    /// It has ended.
    End,
}

/// How a run began.
#[derive(Clone, Copy)]
enum Begun {
    /// By that moment.
    By(u32),
    /// Its thread was ready.
    Ready,
    /// So long after its thread's last run.
    After(u64),
    /// No run woke it, and its thread had not run: it was ready then.
    Root(u64),
}

/// Runs and moments as they are found.
struct Reading<'a> {
    workers: &'a [WorkerTime],
    threads: Threads,
    /// Of each moment, whether two meet there.
    meets: Vec<bool>,
    /// In which run, when, and which moment.
    brought: Vec<(Run, u64, u32)>,
}

impl Reading<'_> {
    fn begun(&mut self, run: Run) -> Begun {
        let workers = self.workers;
        let slice = &workers[run.0].slices[run.1];
        let of = |own: Run| &workers[own.0].slices[own.1];
        let own = self.threads.last_run(slice.thread, slice.begin_ns);
        if own.is_some_and(|own| of(own).stopped.is_ready()) {
            return Begun::Ready;
        }
        match path::cause(&self.threads, workers, run) {
            Some(Cause::Woken(ns, by)) => {
                let moment = self.meets.len() as u32;
                self.meets.push(own.is_some_and(|own| of(own).stopped.meets()));
                self.brought.push((by, ns, moment));
                Begun::By(moment)
            }
            // After an alarm, or what else is not of this program.
            Some(Cause::Own(own, woken)) => {
                let ended = of(own).end_ns.min(slice.begin_ns);
                Begun::After(woken.unwrap_or(slice.begin_ns).clamp(ended, slice.begin_ns) - ended)
            }
            Some(Cause::Outside(ns, _, Some(own))) => Begun::After(ns.saturating_sub(of(own).end_ns)),
            Some(Cause::Outside(ns, _, None) | Cause::Unknown(ns)) => Begun::Root(ns.min(slice.begin_ns)),
            None => Begun::Root(slice.begin_ns),
        }
    }
}

impl Replay {
    /// Reads what was done.
    pub(super) fn of(log: &Log, workers: &[WorkerTime]) -> Replay {
        let mut order: Vec<(u64, Run)> = Vec::new();
        for (at, worker) in workers.iter().enumerate() {
            order.extend(worker.slices.iter().enumerate().map(|(slice, of)| (of.begin_ns, (at, slice))));
        }
        order.sort_unstable();
        let threads = Threads::of(log, workers);
        let mut reading = Reading { workers, threads, meets: Vec::new(), brought: Vec::new() };
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut runs: Vec<(u32, Vec<(Run, Begun)>)> = Vec::new();
        for (_, run) in order {
            let thread = workers[run.0].slices[run.1].thread;
            let place = *places.entry(thread).or_insert(runs.len());
            if place == runs.len() {
                runs.push((thread, Vec::new()));
            }
            let begun = reading.begun(run);
            runs[place].1.push((run, begun));
        }
        reading.brought.sort_unstable();
        let last_ns = workers.iter().filter_map(|worker| worker.slices.last()).map(|last| last.end_ns).max();
        let mut replay = Replay {
            threads: Vec::with_capacity(runs.len()),
            steps: Vec::new(),
            unborn: vec![NOT_YET; reading.meets.len()],
            roots: Vec::new(),
            tail_ns: log.end_ns - last_ns.unwrap_or(log.end_ns).min(log.end_ns),
        };
        let records = Records::of(log, workers);
        let broken: Vec<Vec<bool>> = workers.iter().map(order::broken).collect();
        for (number, runs) in runs {
            replay.add(number, &runs, &reading, (&records, &broken), log.begin_ns);
        }
        replay
    }

    fn add(
        &mut self,
        number: u32,
        runs: &[(Run, Begun)],
        reading: &Reading<'_>,
        (records, broken): (&Records, &[Vec<bool>]),
        begin_ns: u64,
    ) {
        let thread = self.threads.len() as u32;
        self.threads.push(Thread { number, first: self.steps.len() as u32 });
        let slice = |run: Run| &reading.workers[run.0].slices[run.1];
        match runs[0] {
            (_, Begun::By(moment)) => self.unborn[moment as usize] = thread,
            (_, Begun::Root(ns)) => self.roots.push((ns.saturating_sub(begin_ns), thread)),
            (run, _) => self.roots.push((slice(run).begin_ns.saturating_sub(begin_ns), thread)),
        }
        let meeting = |moment: u32, else_: Then| {
            if reading.meets[moment as usize] { Then::Meet(moment) } else { else_ }
        };
        for (place, (run, _)) in runs.iter().enumerate() {
            let worker = &reading.workers[run.0];
            let mut first = (scheduler_ns(worker, run.1), broken[run.0][run.1]);
            let mut step = |ns: u64, records: u32, then: Then| {
                let (before_ns, broken) = std::mem::take(&mut first);
                self.steps.push(Step { ns: own_ns(before_ns + ns, worker), records, broken, then });
            };
            let of = slice(*run);
            let mut since = of.begin_ns;
            let first = reading.brought.partition_point(|brought| brought.0 < *run);
            let brought = reading.brought[first..].iter().take_while(|brought| brought.0 == *run);
            let mut others = records.in_run(*run);
            for (_, ns, moment) in brought {
                let ns = (*ns).clamp(since, of.end_ns);
                step(ns - since, 1, meeting(*moment, Then::Bring(*moment)));
                (since, others) = (ns, others.saturating_sub(1));
            }
            let then = match runs.get(place + 1) {
                None => Then::End,
                Some((_, Begun::By(moment))) => meeting(*moment, Then::Await(*moment)),
                Some((_, Begun::Ready)) => Then::Yield,
                Some((_, Begun::After(ns))) => Then::Sleep(*ns),
                Some((run, Begun::Root(_))) => Then::Sleep(slice(*run).begin_ns.saturating_sub(of.end_ns)),
            };
            step(of.end_ns - since, others.saturating_add(1), then);
        }
    }

    /// Does it all, each thread where `place` says; says when all has ended. None if some wait for each other: of a
    /// trace whose clocks disagree, say.
    pub(super) fn finish(&self, rules: Rules, place: impl FnMut(u32) -> Place) -> Option<u64> {
        let workers = rules.workers.max(1);
        let mut stage = Stage {
            replay: self,
            rules,
            place,
            places: vec![None; self.threads.len()],
            at: self.threads.iter().map(|thread| thread.first).collect(),
            owed_ns: vec![0; self.threads.len()],
            moments: self.unborn.clone(),
            coming: BinaryHeap::new(),
            noted: 0,
            own: vec![VecDeque::new(); workers],
            open: VecDeque::new(),
            seats: vec![Seat::Idle(0); workers],
            followed: vec![NOBODY; self.threads.len()],
            last: vec![NOBODY; workers],
            ended: 0,
        };
        for (ns, thread) in &self.roots {
            stage.note(*ns, Coming::Ready(*thread));
        }
        let end = stage.play();
        (stage.ended == self.threads.len()).then(|| end.saturating_add(self.tail_ns))
    }
}

/// How long the scheduler took before a run, since the run before it; nothing if the worker was idle between.
fn scheduler_ns(worker: &WorkerTime, slice: usize) -> u64 {
    let begin_ns = worker.slices[slice].begin_ns;
    let before = slice.checked_sub(1).map(|before| worker.slices[before].end_ns);
    let gap = worker.gaps.partition_point(|gap| gap.begin_ns < begin_ns).checked_sub(1);
    let idle_until = gap.map_or(0, |gap| worker.gaps[gap].end_ns);
    before.filter(|end_ns| idle_until <= *end_ns).map_or(0, |end_ns| begin_ns - end_ns)
}

/// Of a stretch of a worker's running time what it had the core for, as the kernel's share is spread evenly.
fn own_ns(ns: u64, worker: &WorkerTime) -> u64 {
    let (own, all) = (u128::from(worker.running_ns), u128::from(worker.running_ns + worker.kernel_ns));
    (u128::from(ns) * own).checked_div(all).map_or(ns, |ns| ns as u64)
}

/// Whether a worker read its clock for such a record. A place shares the stamp of its switch; samples are the helper's.
pub(super) fn takes_time(event: Event) -> bool {
    !matches!(event, Event::Site | Event::Sample | Event::KernelTook)
}

/// How many records each run wrote beside its switch.
struct Records(Vec<Vec<u32>>);

impl Records {
    fn of(log: &Log, workers: &[WorkerTime]) -> Records {
        let of_worker = |(events, worker): (&crate::log::Worker, &WorkerTime)| {
            let mut counts = vec![0; worker.slices.len()];
            let mut slice = 0;
            for at in &events.events {
                if at.event == Event::Switch || !takes_time(at.event) {
                    continue;
                }
                while worker.slices.get(slice).is_some_and(|slice| slice.end_ns < at.ns) {
                    slice += 1;
                }
                if worker.slices.get(slice).is_some_and(|slice| slice.begin_ns <= at.ns) {
                    counts[slice] += 1;
                }
            }
            counts
        };
        Records(log.workers.iter().zip(workers).map(of_worker).collect())
    }

    fn in_run(&self, (worker, slice): Run) -> u32 {
        self.0[worker][slice]
    }
}

/// What half of the runs took for each record that was written in them, or less, in nanoseconds.
pub(super) fn ns_a_record(log: &Log, workers: &[WorkerTime]) -> Option<u64> {
    let records = Records::of(log, workers);
    let runs = workers.iter().zip(&records.0).flat_map(|(worker, records)| worker.slices.iter().zip(records));
    let mut each: Vec<u64> = runs.map(|(slice, records)| slice.ns() / (u64::from(*records) + 1)).collect();
    let middle = each.len() / 2;
    (middle > 0).then(|| *each.select_nth_unstable(middle).1)
}

/// Of a moment: it has not been, and nobody waits for it.
const NOT_YET: u32 = u32::MAX;
/// It has been.
const BEEN: u32 = u32::MAX - 1;

/// No thread.
const NOBODY: u32 = u32::MAX;

/// A replay on its way.
struct Stage<'a, P> {
    replay: &'a Replay,
    rules: Rules,
    place: P,
    /// Of threads that have been ready.
    places: Vec<Option<Place>>,
    /// The next step of each thread.
    at: Vec<u32>,
    /// What records of each thread took that has not been left out yet, since they took longer than what it did.
    owed_ns: Vec<u64>,
    /// [`NOT_YET`], [`BEEN`], or the thread that waits for it.
    moments: Vec<u32>,
    /// By time, and in the order in which they were noted down.
    coming: BinaryHeap<Reverse<(u64, u64, Coming)>>,
    noted: u64,
    /// What is ready: on each worker, and for any, with the worker that made it so; by its number in order.
    own: Vec<VecDeque<(u64, u32)>>,
    open: VecDeque<(u64, u32, Option<usize>)>,
    seats: Vec<Seat>,
    /// Which thread each followed when it ran last, and which ran last on each worker.
    followed: Vec<u32>,
    last: Vec<u32>,
    /// How many threads have.
    ended: usize,
}

/// What a worker does.
#[derive(Clone, Copy)]
enum Seat {
    /// Nothing, since then.
    Idle(u64),
    /// It is on its way out of its idleness.
    Woken,
    /// It runs a thread.
    Runs(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Coming {
    /// A worker has run its thread to the end of a step, or is awake.
    Worker(usize),
    /// A thread becomes ready by itself.
    Ready(u32),
}

impl<P: FnMut(u32) -> Place> Stage<'_, P> {
    fn note(&mut self, ns: u64, coming: Coming) {
        self.noted += 1;
        self.coming.push(Reverse((ns, self.noted, coming)));
    }

    fn play(&mut self) -> u64 {
        let mut end = 0;
        while let Some(Reverse((now, _, coming))) = self.coming.pop() {
            match coming {
                Coming::Ready(thread) => self.make_ready(now, thread, None),
                Coming::Worker(worker) => {
                    if let Seat::Runs(thread) = self.seats[worker] {
                        end = now;
                        self.step(now, worker, thread);
                    } else {
                        self.take(now, worker);
                    }
                }
            }
        }
        end
    }

    /// A thread has come to the end of a step.
    fn step(&mut self, now: u64, worker: usize, thread: u32) {
        let at = &mut self.at[thread as usize];
        let then = self.replay.steps[*at as usize].then;
        *at += 1;
        let (mut woken, mut goes_on) = (None, false);
        match then {
            Then::Bring(moment) => {
                woken = self.bring(moment);
                goes_on = true;
            }
            Then::Await(moment) => goes_on = self.awaits(moment, thread),
            Then::Meet(moment) if self.moments[moment as usize] == NOT_YET => {
                self.moments[moment as usize] = thread;
            }
            Then::Meet(moment) => {
                woken = self.bring(moment);
                goes_on = true;
            }
            Then::Yield => self.queue(thread, Some(worker)),
            Then::Sleep(ns) => self.note(now.saturating_add(ns), Coming::Ready(thread)),
            Then::End => self.ended += 1,
        }
        if goes_on {
            self.go_on(now, worker, thread, 0);
        } else {
            self.take(now, worker);
        }
        if let Some(woken) = woken {
            self.make_ready(now, woken, Some(worker));
        } else if then == Then::Yield {
            self.call_one(now, Some(worker), None);
        }
    }

    /// Brings a moment about; says who waited for it.
    fn bring(&mut self, moment: u32) -> Option<u32> {
        let before = std::mem::replace(&mut self.moments[moment as usize], BEEN);
        (before != NOT_YET && before != BEEN).then_some(before)
    }

    /// Whether the moment has been; else the thread waits for it.
    fn awaits(&mut self, moment: u32, thread: u32) -> bool {
        let of = &mut self.moments[moment as usize];
        if *of != BEEN {
            *of = thread;
        }
        *of == BEEN
    }

    /// A thread begins to run, in its order or not.
    fn run(&mut self, now: u64, worker: usize, thread: u32) {
        let before = std::mem::replace(&mut self.last[worker], thread);
        let broken = std::mem::replace(&mut self.followed[thread as usize], before) != before;
        let step = &self.replay.steps[self.at[thread as usize] as usize];
        let more_ns = if broken && !step.broken { self.rules.order_ns } else { 0 };
        self.go_on(now, worker, thread, more_ns);
    }

    /// A thread runs its next step, which takes so much longer.
    fn go_on(&mut self, now: u64, worker: usize, thread: u32, more_ns: u64) {
        let step = &self.replay.steps[self.at[thread as usize] as usize];
        let owed = &mut self.owed_ns[thread as usize];
        *owed = owed.saturating_add(self.rules.record_ns.saturating_mul(step.records.into()));
        let left_out = step.ns.min(*owed);
        *owed -= left_out;
        self.seats[worker] = Seat::Runs(thread);
        let ns = (step.ns - left_out).saturating_add(more_ns);
        self.note(now.saturating_add(ns), Coming::Worker(worker));
    }

    fn make_ready(&mut self, now: u64, thread: u32, by: Option<usize>) {
        self.queue(thread, by);
        let home = match self.places[thread as usize] {
            Some(Place::At(home)) => Some(home),
            _ => None,
        };
        self.call_one(now, by, home);
    }

    fn queue(&mut self, thread: u32, by: Option<usize>) {
        self.noted += 1;
        let (place, number, count) = (&mut self.place, self.noted, self.own.len());
        let name = self.replay.threads[thread as usize].number;
        let placed = self.places[thread as usize].get_or_insert_with(|| match place(name) {
            Place::At(home) => Place::At(home % count),
            place => place,
        });
        match *placed {
            Place::At(home) => self.own[home].push_back((number, thread)),
            _ => self.open.push_back((number, thread, by)),
        }
    }

    /// Has a worker look at what is ready: its `home`, or whichever is idle.
    fn call_one(&mut self, now: u64, by: Option<usize>, home: Option<usize>) {
        let mut idle = (0..self.seats.len()).filter_map(|worker| match self.seats[worker] {
            Seat::Idle(since) if home.is_none_or(|home| home == worker) => Some((worker, since)),
            _ => None,
        });
        let Some((worker, since)) = idle.next() else { return };
        if home.is_none() && !self.open.iter().any(|(_, _, made_by)| self.may_take(worker, *made_by)) {
            return;
        }
        let way = by.map_or(0, |_| self.rules.ways.ns[Ways::place(now.saturating_sub(since))]);
        self.seats[worker] = Seat::Woken;
        self.note(now.saturating_add(way), Coming::Worker(worker));
    }

    fn may_take(&self, worker: usize, made_by: Option<usize>) -> bool {
        !self.rules.last_stays || self.open.len() > 1 || made_by.is_none_or(|by| by == worker)
    }

    /// A worker takes what has been ready for longest, of its own and of what is open; else it is idle.
    fn take(&mut self, now: u64, worker: usize) {
        let own = self.own[worker].front().map(|own| own.0);
        let open = self.open.front().filter(|open| self.may_take(worker, open.2)).map(|open| open.0);
        let thread = if open.is_some_and(|open| own.is_none_or(|own| open < own)) {
            let taken = self.open.pop_front().map(|(_, thread, _)| thread);
            if let Some(place @ Some(Place::WhereBegun)) =
                taken.map(|thread| &mut self.places[thread as usize])
            {
                *place = Some(Place::At(worker));
            }
            taken
        } else {
            self.own[worker].pop_front().map(|(_, thread)| thread)
        };
        match thread {
            Some(thread) => self.run(now, worker, thread),
            None => self.seats[worker] = Seat::Idle(now),
        }
    }
}
