//! Owns: what-if simulation: a recorded run, simulated on other workers or with another placement.
//! May use: `event`, `log`.
//! Never: a figure that is not of a trace, but for the rules that `Rules` names.
//!
//! The simulation is driven by the trace. Each thread repeats what it did, step by step. A step takes as long as it did
//! in the trace, with the scheduler's time before it and without the time that the kernel took. At the end of a step
//! the thread sends a signal (it wakes another), yields, sleeps, or waits for the signal that woke it in the trace; if
//! that signal has been sent already, it continues. At a rendezvous either side may wait for the other, whichever
//! waited in the trace: otherwise a sender would run ahead of its receiver. Each worker takes ready threads first in,
//! first out: those placed on it and, where the rules allow it, those that any worker may take. So the simulated order
//! of threads may differ from the recorded one; `order` says what that costs.

use super::order;
use super::path::{self, Cause, SliceId, Threads};
use super::timeline::WorkerTime;
use crate::event::Event;
use crate::log::Log;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// How the simulated scheduler works.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The number of workers.
    pub(super) workers: usize,
    /// The last thread in the shared queue is left to the worker that made it ready.
    pub(super) keep_last: bool,
    /// How long an idle worker takes until it runs what another worker made ready.
    pub(super) wake_latency: WakeLatency,
    /// The cost of writing one record, in nanoseconds; it is subtracted from the recorded times.
    pub(super) record_ns: u64,
    /// The extra cost of a slice that follows another thread than it did the last time, in nanoseconds.
    pub(super) out_of_order_ns: u64,
}

/// The latency from a wake to the run on a worker that was idle, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WakeLatency {
    /// By how long the worker had been idle: below each of [`WakeLatency::BELOW_NS`], and from the last bound on.
    pub(super) ns: [u64; WakeLatency::BELOW_NS.len() + 1],
}

impl WakeLatency {
    /// An idle worker first spins, then its OS thread sleeps, then its core goes into a sleep state.
    pub(super) const BELOW_NS: [u64; 3] = [1_000, 10_000, 100_000];

    /// The index in `ns` for a worker that has been idle this long.
    pub(super) fn index(idle_ns: u64) -> usize {
        WakeLatency::BELOW_NS.iter().filter(|below| idle_ns >= **below).count()
    }
}

/// On which worker a thread runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Always on this worker.
    At(usize),
    /// On the worker that starts it.
    WhereStarted,
    /// On any worker, at each run.
    Any,
}

/// The recorded behaviour of every thread.
pub(super) struct Simulation {
    threads: Vec<Thread>,
    steps: Vec<Step>,
    /// For each signal the thread that it starts, if it does: one that another thread spawned.
    first_waiters: Vec<u32>,
    /// When each thread begins that no slice wakes.
    roots: Vec<(u64, u32)>,
    /// From the end of the last slice to the end of the trace.
    tail_ns: u64,
}

struct Thread {
    number: u32,
    /// Its first step.
    first: u32,
}

/// A part of a slice: the thread runs for `ns`, writes `records` records meanwhile, and then does `then`.
struct Step {
    ns: u64,
    records: u32,
    /// It is the first step of a slice that came out of order in the trace.
    out_of_order: bool,
    then: Action,
}

/// What a thread does at the end of a step. Signals are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// It sends a signal and continues.
    Signal(u32),
    /// It waits for a signal, unless it has been sent.
    Wait(u32),
    /// Two threads meet: the first of them waits for the second.
    Rendezvous(u32),
    /// It yields: it stays ready.
    Yield,
    /// It becomes ready after this many nanoseconds.
    Sleep(u64),
    /// It ends.
    End,
}

/// How a slice came to start.
#[derive(Clone, Copy)]
enum SliceStart {
    /// This signal woke its thread.
    Woken(u32),
    /// Its thread was still ready.
    Ready,
    /// This many nanoseconds after its thread's last slice.
    After(u64),
    /// No slice woke its thread, which had not run before: it was ready at this time.
    Root(u64),
}

/// Collects slices and signals from the trace.
struct TraceReader<'a> {
    workers: &'a [WorkerTime],
    threads: Threads,
    /// For each signal, whether it is a rendezvous.
    rendezvous: Vec<bool>,
    /// Each sent signal: the sending slice, the time, the number.
    signals_sent: Vec<(SliceId, u64, u32)>,
}

impl TraceReader<'_> {
    fn slice_start(&mut self, run: SliceId) -> SliceStart {
        let workers = self.workers;
        let slice = &workers[run.0].slices[run.1];
        let of = |own: SliceId| &workers[own.0].slices[own.1];
        let own = self.threads.last_run(slice.thread, slice.begin_ns);
        if own.is_some_and(|own| of(own).stopped.is_ready()) {
            return SliceStart::Ready;
        }
        match path::cause(&self.threads, workers, run) {
            Some(Cause::Woken(ns, by)) => {
                let signal = self.rendezvous.len() as u32;
                self.rendezvous.push(own.is_some_and(|own| of(own).stopped.meets()));
                self.signals_sent.push((by, ns, signal));
                SliceStart::Woken(signal)
            }
            // After a timer, or something else outside the program.
            Some(Cause::Own(own, woken)) => {
                let ended = of(own).end_ns.min(slice.begin_ns);
                SliceStart::After(woken.unwrap_or(slice.begin_ns).clamp(ended, slice.begin_ns) - ended)
            }
            Some(Cause::Outside(ns, _, Some(own))) => SliceStart::After(ns.saturating_sub(of(own).end_ns)),
            Some(Cause::Outside(ns, _, None) | Cause::Unknown(ns)) => {
                SliceStart::Root(ns.min(slice.begin_ns))
            }
            None => SliceStart::Root(slice.begin_ns),
        }
    }
}

impl Simulation {
    /// Reads the behaviour of all threads from a trace.
    pub(super) fn of(log: &Log, workers: &[WorkerTime]) -> Simulation {
        let mut order: Vec<(u64, SliceId)> = Vec::new();
        for (at, worker) in workers.iter().enumerate() {
            order.extend(worker.slices.iter().enumerate().map(|(slice, of)| (of.begin_ns, (at, slice))));
        }
        order.sort_unstable();
        let threads = Threads::of(log, workers);
        let mut reader = TraceReader { workers, threads, rendezvous: Vec::new(), signals_sent: Vec::new() };
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut runs: Vec<(u32, Vec<(SliceId, SliceStart)>)> = Vec::new();
        for (_, run) in order {
            let thread = workers[run.0].slices[run.1].thread;
            let place = *places.entry(thread).or_insert(runs.len());
            if place == runs.len() {
                runs.push((thread, Vec::new()));
            }
            let start = reader.slice_start(run);
            runs[place].1.push((run, start));
        }
        reader.signals_sent.sort_unstable();
        let last_ns = workers.iter().filter_map(|worker| worker.slices.last()).map(|last| last.end_ns).max();
        let mut simulation = Simulation {
            threads: Vec::with_capacity(runs.len()),
            steps: Vec::new(),
            first_waiters: vec![NOT_SENT; reader.rendezvous.len()],
            roots: Vec::new(),
            tail_ns: log.end_ns - last_ns.unwrap_or(log.end_ns).min(log.end_ns),
        };
        let records = RecordCounts::of(log, workers);
        let out_of_order: Vec<Vec<bool>> = workers.iter().map(order::out_of_order).collect();
        for (number, runs) in runs {
            simulation.add(number, &runs, &reader, (&records, &out_of_order), log.begin_ns);
        }
        simulation
    }

    fn add(
        &mut self,
        number: u32,
        runs: &[(SliceId, SliceStart)],
        reader: &TraceReader<'_>,
        (records, out_of_order): (&RecordCounts, &[Vec<bool>]),
        begin_ns: u64,
    ) {
        let thread = self.threads.len() as u32;
        self.threads.push(Thread { number, first: self.steps.len() as u32 });
        let slice = |run: SliceId| &reader.workers[run.0].slices[run.1];
        match runs[0] {
            (_, SliceStart::Woken(signal)) => self.first_waiters[signal as usize] = thread,
            (_, SliceStart::Root(ns)) => self.roots.push((ns.saturating_sub(begin_ns), thread)),
            (run, _) => self.roots.push((slice(run).begin_ns.saturating_sub(begin_ns), thread)),
        }
        let meeting = |signal: u32, else_: Action| {
            if reader.rendezvous[signal as usize] { Action::Rendezvous(signal) } else { else_ }
        };
        for (place, (run, _)) in runs.iter().enumerate() {
            let worker = &reader.workers[run.0];
            let mut first = (scheduler_ns(worker, run.1), out_of_order[run.0][run.1]);
            let mut step = |ns: u64, records: u32, then: Action| {
                let (before_ns, out_of_order) = std::mem::take(&mut first);
                self.steps.push(Step { ns: own_ns(before_ns + ns, worker), records, out_of_order, then });
            };
            let of = slice(*run);
            let mut since = of.begin_ns;
            let first = reader.signals_sent.partition_point(|sent| sent.0 < *run);
            let signals_sent = reader.signals_sent[first..].iter().take_while(|sent| sent.0 == *run);
            let mut others = records.in_run(*run);
            for (_, ns, signal) in signals_sent {
                let ns = (*ns).clamp(since, of.end_ns);
                step(ns - since, 1, meeting(*signal, Action::Signal(*signal)));
                (since, others) = (ns, others.saturating_sub(1));
            }
            let then = match runs.get(place + 1) {
                None => Action::End,
                Some((_, SliceStart::Woken(signal))) => meeting(*signal, Action::Wait(*signal)),
                Some((_, SliceStart::Ready)) => Action::Yield,
                Some((_, SliceStart::After(ns))) => Action::Sleep(*ns),
                Some((run, SliceStart::Root(_))) => {
                    Action::Sleep(slice(*run).begin_ns.saturating_sub(of.end_ns))
                }
            };
            step(of.end_ns - since, others.saturating_add(1), then);
        }
    }

    /// Simulates the whole run with each thread placed as `place` says, and returns its length in nanoseconds. `None`
    /// if threads wait for each other, as they may in a trace whose clocks disagree.
    pub(super) fn length_ns(&self, rules: Rules, place: impl FnMut(u32) -> Placement) -> Option<u64> {
        let workers = rules.workers.max(1);
        let mut simulator = Simulator {
            recorded: self,
            rules,
            place,
            places: vec![None; self.threads.len()],
            at: self.threads.iter().map(|thread| thread.first).collect(),
            unsubtracted_ns: vec![0; self.threads.len()],
            signals: self.first_waiters.clone(),
            pending: BinaryHeap::new(),
            sequence: 0,
            own: vec![VecDeque::new(); workers],
            shared: VecDeque::new(),
            states: vec![WorkerState::Idle(0); workers],
            followed: vec![NOBODY; self.threads.len()],
            last: vec![NOBODY; workers],
            ended: 0,
        };
        for (ns, thread) in &self.roots {
            simulator.schedule(*ns, Pending::Ready(*thread));
        }
        let end = simulator.run_to_end();
        (simulator.ended == self.threads.len()).then(|| end.saturating_add(self.tail_ns))
    }
}

/// The scheduler's time between a slice and the one before it; 0 if the worker was idle between them.
fn scheduler_ns(worker: &WorkerTime, slice: usize) -> u64 {
    let begin_ns = worker.slices[slice].begin_ns;
    let before = slice.checked_sub(1).map(|before| worker.slices[before].end_ns);
    let gap = worker.gaps.partition_point(|gap| gap.begin_ns < begin_ns).checked_sub(1);
    let idle_until = gap.map_or(0, |gap| worker.gaps[gap].end_ns);
    before.filter(|end_ns| idle_until <= *end_ns).map_or(0, |end_ns| begin_ns - end_ns)
}

/// The part of some running time in which the worker had its core; the kernel's share is spread evenly.
fn own_ns(ns: u64, worker: &WorkerTime) -> u64 {
    let (own, all) = (u128::from(worker.running_ns), u128::from(worker.running_ns + worker.kernel_ns));
    (u128::from(ns) * own).checked_div(all).map_or(ns, |ns| ns as u64)
}

/// Whether a worker read its clock for such a record. A `Site` shares the time stamp of its switch; samples come from
/// the helper thread.
pub(super) fn takes_time(event: Event) -> bool {
    !matches!(event, Event::Site | Event::Sample | Event::KernelTook)
}

/// The number of records that each slice wrote, its switch not counted.
struct RecordCounts(Vec<Vec<u32>>);

impl RecordCounts {
    fn of(log: &Log, workers: &[WorkerTime]) -> RecordCounts {
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
        RecordCounts(log.workers.iter().zip(workers).map(of_worker).collect())
    }

    fn in_run(&self, (worker, slice): SliceId) -> u32 {
        self.0[worker][slice]
    }
}

/// The median over all slices of the time per record written, in nanoseconds.
pub(super) fn ns_per_record(log: &Log, workers: &[WorkerTime]) -> Option<u64> {
    let records = RecordCounts::of(log, workers);
    let runs = workers.iter().zip(&records.0).flat_map(|(worker, records)| worker.slices.iter().zip(records));
    let mut each: Vec<u64> = runs.map(|(slice, records)| slice.ns() / (u64::from(*records) + 1)).collect();
    let middle = each.len() / 2;
    (middle > 0).then(|| *each.select_nth_unstable(middle).1)
}

/// A signal that has not been sent, and for which no thread waits.
const NOT_SENT: u32 = u32::MAX;
/// A signal that has been sent.
const SENT: u32 = u32::MAX - 1;

/// No thread.
const NOBODY: u32 = u32::MAX;

/// The state of a simulation.
struct Simulator<'a, P> {
    recorded: &'a Simulation,
    rules: Rules,
    place: P,
    /// The placement of each thread, decided when it is ready for the first time.
    places: Vec<Option<Placement>>,
    /// The next step of each thread.
    at: Vec<u32>,
    /// For each thread the cost of records still to be subtracted: its steps were too short to subtract it all.
    unsubtracted_ns: Vec<u64>,
    /// For each signal [`NOT_SENT`], [`SENT`], or the thread that waits for it.
    signals: Vec<u32>,
    /// The event queue: by time, then in the order of insertion.
    pending: BinaryHeap<Reverse<(u64, u64, Pending)>>,
    sequence: u64,
    /// The ready threads with their insertion numbers: those of each worker, and those that any worker may take, with
    /// the worker that made them ready.
    own: Vec<VecDeque<(u64, u32)>>,
    shared: VecDeque<(u64, u32, Option<usize>)>,
    states: Vec<WorkerState>,
    /// For each thread the one that it followed when it last ran; for each worker the thread that last ran there.
    followed: Vec<u32>,
    last: Vec<u32>,
    /// How many threads have ended.
    ended: usize,
}

/// What a worker does.
#[derive(Clone, Copy)]
enum WorkerState {
    /// Nothing, since this time.
    Idle(u64),
    /// It is waking up.
    Woken,
    /// It runs a thread.
    Runs(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pending {
    /// A worker's thread comes to the end of a step, or the worker is awake.
    Worker(usize),
    /// A thread becomes ready without being woken by another.
    Ready(u32),
}

impl<P: FnMut(u32) -> Placement> Simulator<'_, P> {
    fn schedule(&mut self, ns: u64, pending: Pending) {
        self.sequence += 1;
        self.pending.push(Reverse((ns, self.sequence, pending)));
    }

    fn run_to_end(&mut self) -> u64 {
        let mut end = 0;
        while let Some(Reverse((now, _, pending))) = self.pending.pop() {
            match pending {
                Pending::Ready(thread) => self.make_ready(now, thread, None),
                Pending::Worker(worker) => {
                    if let WorkerState::Runs(thread) = self.states[worker] {
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

    /// Performs the action at the end of a thread's step.
    fn step(&mut self, now: u64, worker: usize, thread: u32) {
        let at = &mut self.at[thread as usize];
        let then = self.recorded.steps[*at as usize].then;
        *at += 1;
        let (mut woken, mut continues) = (None, false);
        match then {
            Action::Signal(signal) => {
                woken = self.send_signal(signal);
                continues = true;
            }
            Action::Wait(signal) => continues = self.wait_for(signal, thread),
            Action::Rendezvous(signal) if self.signals[signal as usize] == NOT_SENT => {
                self.signals[signal as usize] = thread;
            }
            Action::Rendezvous(signal) => {
                woken = self.send_signal(signal);
                continues = true;
            }
            Action::Yield => self.queue(thread, Some(worker)),
            Action::Sleep(ns) => self.schedule(now.saturating_add(ns), Pending::Ready(thread)),
            Action::End => self.ended += 1,
        }
        if continues {
            self.run_step(now, worker, thread, 0);
        } else {
            self.take(now, worker);
        }
        if let Some(woken) = woken {
            self.make_ready(now, woken, Some(worker));
        } else if then == Action::Yield {
            self.wake_a_worker(now, Some(worker), None);
        }
    }

    /// Sends a signal; returns the thread that waited for it.
    fn send_signal(&mut self, signal: u32) -> Option<u32> {
        let before = std::mem::replace(&mut self.signals[signal as usize], SENT);
        (before != NOT_SENT && before != SENT).then_some(before)
    }

    /// Whether the signal has been sent; otherwise the thread waits for it.
    fn wait_for(&mut self, signal: u32, thread: u32) -> bool {
        let of = &mut self.signals[signal as usize];
        if *of != SENT {
            *of = thread;
        }
        *of == SENT
    }

    /// Starts a slice of a thread.
    fn run(&mut self, now: u64, worker: usize, thread: u32) {
        let before = std::mem::replace(&mut self.last[worker], thread);
        let out_of_order = std::mem::replace(&mut self.followed[thread as usize], before) != before;
        let step = &self.recorded.steps[self.at[thread as usize] as usize];
        let more_ns = if out_of_order && !step.out_of_order { self.rules.out_of_order_ns } else { 0 };
        self.run_step(now, worker, thread, more_ns);
    }

    /// Starts the next step of a thread; it takes `more_ns` longer than recorded.
    fn run_step(&mut self, now: u64, worker: usize, thread: u32, more_ns: u64) {
        let step = &self.recorded.steps[self.at[thread as usize] as usize];
        let unsubtracted = &mut self.unsubtracted_ns[thread as usize];
        *unsubtracted = unsubtracted.saturating_add(self.rules.record_ns.saturating_mul(step.records.into()));
        let left_out = step.ns.min(*unsubtracted);
        *unsubtracted -= left_out;
        self.states[worker] = WorkerState::Runs(thread);
        let ns = (step.ns - left_out).saturating_add(more_ns);
        self.schedule(now.saturating_add(ns), Pending::Worker(worker));
    }

    fn make_ready(&mut self, now: u64, thread: u32, by: Option<usize>) {
        self.queue(thread, by);
        let home = match self.places[thread as usize] {
            Some(Placement::At(home)) => Some(home),
            _ => None,
        };
        self.wake_a_worker(now, by, home);
    }

    fn queue(&mut self, thread: u32, by: Option<usize>) {
        self.sequence += 1;
        let (place, number, count) = (&mut self.place, self.sequence, self.own.len());
        let name = self.recorded.threads[thread as usize].number;
        let placed = self.places[thread as usize].get_or_insert_with(|| match place(name) {
            Placement::At(home) => Placement::At(home % count),
            place => place,
        });
        match *placed {
            Placement::At(home) => self.own[home].push_back((number, thread)),
            _ => self.shared.push_back((number, thread, by)),
        }
    }

    /// Wakes an idle worker that may take a ready thread: `home`, or any if there is none.
    fn wake_a_worker(&mut self, now: u64, by: Option<usize>, home: Option<usize>) {
        let mut idle = (0..self.states.len()).filter_map(|worker| match self.states[worker] {
            WorkerState::Idle(since) if home.is_none_or(|home| home == worker) => Some((worker, since)),
            _ => None,
        });
        let Some((worker, since)) = idle.next() else { return };
        if home.is_none() && !self.shared.iter().any(|(_, _, made_by)| self.may_take(worker, *made_by)) {
            return;
        }
        let latency =
            by.map_or(0, |_| self.rules.wake_latency.ns[WakeLatency::index(now.saturating_sub(since))]);
        self.states[worker] = WorkerState::Woken;
        self.schedule(now.saturating_add(latency), Pending::Worker(worker));
    }

    fn may_take(&self, worker: usize, made_by: Option<usize>) -> bool {
        !self.rules.keep_last || self.shared.len() > 1 || made_by.is_none_or(|by| by == worker)
    }

    /// A worker takes the thread that has been ready longest, of its own and of the shared queue, or becomes idle.
    fn take(&mut self, now: u64, worker: usize) {
        let own = self.own[worker].front().map(|own| own.0);
        let shared =
            self.shared.front().filter(|shared| self.may_take(worker, shared.2)).map(|shared| shared.0);
        let thread = if shared.is_some_and(|shared| own.is_none_or(|own| shared < own)) {
            let taken = self.shared.pop_front().map(|(_, thread, _)| thread);
            if let Some(place @ Some(Placement::WhereStarted)) =
                taken.map(|thread| &mut self.places[thread as usize])
            {
                *place = Some(Placement::At(worker));
            }
            taken
        } else {
            self.own[worker].pop_front().map(|(_, thread)| thread)
        };
        match thread {
            Some(thread) => self.run(now, worker, thread),
            None => self.states[worker] = WorkerState::Idle(now),
        }
    }
}
