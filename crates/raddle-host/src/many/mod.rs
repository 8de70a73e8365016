//! Owns: several workers: the machine's processes as runnables of `raddle-core`.
//! May use: `raddle_core::engine`.
//! Never: touches a process that it has made ready.
//!
//! A program begins on the caller's thread, with the machine's own scheduler, and comes here when it has work for more
//! than one. The caller's thread goes on as the first worker then (PERF: two new ones take 85 us to start, with nobody
//! at work; `granularity` at 1 on two workers takes 0.63 of one's time so, 0.59 with the caller). A process begins with
//! the scheduler's link, so that a link that comes out of a queue is a process. Somebody watches meanwhile (`outside`):
//! another OS thread, once there is something to see; or the caller's, if the workers are all new ones.

mod arrived;
mod outside;
mod recorded;
mod scheduler;

use crate::one::{Outside, report};
use crate::screen::Screen;
use crate::watch::News;
use crate::world::World;
use crate::{Failure, Outcome};
use arrived::Arrived;
use outside::{FromOutside, Watcher};
use raddle_bytecode::{Effect, Verified, Wait};
use raddle_core::engine::{Alarm, Engine, Gate, Handle, Link, StopReason, Turn, is_outside};
use raddle_core::{BuildError, Builder, Policy, Runtime};
use raddle_vm::quiet::Visits;
use raddle_vm::solo::{self, Rest};
use raddle_vm::{Machine, Process, Scheduler as _, WorkerLocal};
use recorded::{PhaseOutcome, SerialPhase};
use scheduler::{Alarms, KeyTaken, OnWorker};
use std::cell::UnsafeCell;
use std::collections::{HashMap, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// One worker's share of the machine.
#[derive(Default)]
#[repr(align(128))]
struct WorkerShare {
    local: UnsafeCell<WorkerLocal>,
    visits: Visits,
}

// SAFETY: `local` is touched by the worker of that number only, and by the caller of `run` when all have ended.
unsafe impl Sync for WorkerShare {}

/// What all workers share.
struct Host<'m> {
    machine: &'m Machine<Link>,
    places: Box<[WorkerShare]>,
    gate: Gate,
    screen: Arc<Screen>,
    world: Arc<dyn World>,
    news: Sender<News>,
    watcher: Watcher,
    begun: Instant,
    over: AtomicBool,
    wants_key: AtomicBool,
    failure: OnceLock<Failure>,
    alarms: Mutex<Alarms>,
    /// What processes are called in a trace, by where they begin.
    names: Mutex<HashMap<u32, Arc<str>>>,
    handle: OnceLock<Handle>,
    /// Numbers of the places at which processes stop, by instruction; made when there is something to record.
    sites: OnceLock<Box<[AtomicU32]>>,
    /// What the worker is to do that gets the first process, if the program is recorded.
    serial_phase: Mutex<Option<SerialPhase<'m>>>,
    /// What has come over and is not queued yet.
    arrived: Mutex<Option<Arrived>>,
    /// There may be something in one of the two.
    has_arrived: AtomicBool,
}

/// How a program begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// On the caller's thread, with the machine's own scheduler.
    Alone,
    /// With that, on a worker, which records it.
    Recorded,
    /// In the workers' queues.
    Queued,
}

fn link_of(process: &Process<Link>) -> NonNull<Link> {
    NonNull::from(process).cast()
}

impl<'m> Host<'m> {
    fn new(machine: &'m Machine<Link>, runtime: &Runtime, outside: &Outside, world: Arc<dyn World>) -> Self {
        Host {
            machine,
            places: (0..runtime.workers()).map(|_| WorkerShare::default()).collect(),
            gate: runtime.gate(),
            screen: outside.screen.clone(),
            world,
            news: outside.keys.news(),
            watcher: Watcher::default(),
            begun: outside.begun,
            over: AtomicBool::new(false),
            wants_key: AtomicBool::new(false),
            failure: OnceLock::new(),
            alarms: Mutex::default(),
            names: Mutex::default(),
            sites: OnceLock::new(),
            handle: OnceLock::new(),
            serial_phase: Mutex::new(None),
            arrived: Mutex::new(None),
            has_arrived: AtomicBool::new(false),
        }
    }

    #[inline(always)]
    fn handle(&self) -> &Handle {
        self.handle.get().expect("set before anything runs")
    }

    /// # Safety
    /// `link` came out of a queue into which one of this machine's processes was put.
    #[inline(always)]
    unsafe fn process_of(&self, link: NonNull<Link>) -> &Process<Link> {
        // SAFETY: a process begins with its link, and the pointer was made from the whole process.
        unsafe { link.cast::<Process<Link>>().as_ref() }
    }

    /// For whoever looks at it from an alarm, or another OS thread.
    ///
    /// # Safety
    /// Nobody looks at it when it is gone.
    unsafe fn outliving(&self) -> &'static Host<'static> {
        // SAFETY: the caller vouches for it.
        unsafe { &*std::ptr::from_ref(self).cast() }
    }

    fn alarms(&self) -> MutexGuard<'_, Alarms> {
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, failure: Option<Failure>) {
        if let Some(failure) = failure {
            let _first = self.failure.set(failure);
        }
        self.over.store(true, Ordering::Relaxed);
        let _told = self.news.send(News::Over);
    }

    /// As [`end`](Host::end), by a worker: the others need not wait for the watcher to be woken and tell them.
    fn end_here(&self, turn: Turn<'_>, failure: Option<Failure>) {
        self.end(failure);
        turn.stop();
        turn.end_batch();
    }

    fn now(&self) -> u32 {
        self.begun.elapsed().as_micros() as u32
    }

    /// Queues of what has come over from the single thread what there is room for: of the worker's own share, and of
    /// another one's, if it `has_nothing_else`.
    ///
    /// The list of what is fresh keeps the room that it once took: with all of a million at once 24 bytes for each. A
    /// worker comes here before it looks elsewhere for work, so that nobody sleeps while somebody waits here.
    #[cold]
    fn welcome(&self, scheduler: &OnWorker<'_, '_>, has_nothing_else: bool) {
        self.watch_later(scheduler.turn);
        let mut all = self.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(arrived) = all.as_mut() else { return };
        for (id, time) in arrived.alarms.drain(..) {
            if let Some(process) = self.machine.process(id) {
                scheduler.alarm(process, time);
            }
        }
        let turn = scheduler.turn;
        let room = FRESH_MAX.saturating_sub(turn.fresh_waiting());
        let taken = arrived.take(turn.index(), room, has_nothing_else);
        for process in taken.iter().filter_map(|&id| self.machine.process(id)) {
            // SAFETY: it was ready, and has been given up.
            unsafe { turn.come_over(link_of(process)) };
        }
        if arrived.is_empty() {
            *all = None;
            self.has_arrived.store(false, Ordering::Relaxed);
        }
    }

    /// For the trace: the process that runs stops at that instruction, and is perhaps still ready.
    #[cold]
    #[inline(never)]
    fn note_stop(&self, turn: Turn<'_>, at: u32, ready: bool) {
        let code = &self.machine.program().module().code;
        let effect = code.get(at as usize).map(|insn| insn.op.effect());
        let reason = match effect.and_then(Effect::waits) {
            _ if ready => StopReason::Preempted,
            Some(Wait::Output) => StopReason::MeetToSend,
            Some(Wait::Input) => StopReason::MeetToReceive,
            Some(Wait::Alt) => StopReason::MeetOne,
            Some(Wait::Join) => StopReason::Join,
            Some(Wait::Time) => StopReason::Sleep,
            Some(Wait::Lock) => StopReason::Lock,
            None if matches!(effect, Some(Effect::End | Effect::Return)) => StopReason::Exit,
            None => StopReason::Wait,
        };
        let waits = !ready && reason != StopReason::Exit;
        turn.stops(reason, if waits { self.site(turn, at) } else { 0 });
    }

    /// The number by which the trace knows the place of an instruction.
    fn site(&self, turn: Turn<'_>, at: u32) -> u32 {
        let count = self.machine.program().module().code.len();
        let sites = self.sites.get_or_init(|| (0..count).map(|_| AtomicU32::new(0)).collect());
        let Some(site) = sites.get(at as usize) else { return 0 };
        let known = site.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // Of two workers that come at once, each names it: the names are the same.
        let number = turn.number_of_site(self.machine.site_name(at));
        site.store(number, Ordering::Relaxed);
        number
    }

    /// The worker is in the machine for `run`; before and behind it what has come over is queued.
    #[inline(always)]
    fn visit(&self, turn: Turn<'_>, run: impl FnOnce(&OnWorker<'_, 'm>, &mut WorkerLocal)) {
        let place = &self.places[turn.index()];
        // SAFETY: this is the worker of that number, and it is here once.
        let local = unsafe { &mut *place.local.get() };
        place.visits.enter(local);
        let scheduler = OnWorker { host: self, turn };
        if self.has_arrived.load(Ordering::Relaxed) {
            if self.run_serial_phase(turn, local) {
                return place.visits.leave(local);
            }
            self.welcome(&scheduler, false);
        }
        run(&scheduler, local);
        if self.has_arrived.load(Ordering::Relaxed) && !self.over.load(Ordering::Relaxed) {
            self.welcome(&scheduler, turn.is_alone());
        }
        place.visits.leave(local);
    }

    /// How often the workers have been in the machine; `None` if one is.
    fn visits(&self) -> Option<u32> {
        Visits::sum(self.places.iter().map(|place| &place.visits))
    }
}

// SAFETY: the process is run by the one who has dequeued it, until it waits or is made ready again.
unsafe impl Engine for Host<'_> {
    fn run(&self, turn: Turn<'_>, link: NonNull<Link>) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        self.visit(turn, |scheduler, local| {
            // SAFETY: the worker took it out of a queue.
            let process = unsafe { self.process_of(link) };
            debug_assert!(!self.machine.is_keyboard(process), "it is of another engine");
            if let Err(fault) = self.machine.run(scheduler, local, process) {
                self.end_here(turn, Some(Failure::Fault(fault)));
            }
        });
    }

    fn name(&self, link: NonNull<Link>) -> Option<Arc<str>> {
        // SAFETY: the caller has it, and it is of this engine.
        let beginning = self.machine.beginning_of(unsafe { self.process_of(link) });
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let name = names.entry(beginning).or_insert_with(|| self.machine.name_of(beginning).into());
        Some(name.clone())
    }
}

/// Runs a program on up to `workers` OS threads.
pub(crate) fn run(
    program: Verified,
    memory_bytes: u32,
    start: Start,
    (runtime, workers): (Builder, usize),
    world: Arc<dyn World>,
) -> Result<Outcome, BuildError> {
    let mut local = WorkerLocal::default();
    let mut machine: Machine<Link> = match Machine::new(program, memory_bytes, &mut local) {
        Ok(machine) => machine,
        Err(trap) => return Ok(Outcome::not_begun(trap)),
    };
    machine.keep_apart();
    let mut outside = Outside::new(world.clone());
    let outcome = match start {
        Start::Alone => Some(solo::run_serial_phase(&machine, &mut outside, &mut local)),
        Start::Recorded => None,
        Start::Queued => {
            let ready = [machine.main()].into();
            Some(Ok(Some(Rest { ready, alarms: Vec::new(), wants_keys: false, key_offered: false })))
        }
    };
    let screen = outside.screen.clone();
    let (result, workers) = match outcome {
        Some(Err(failure)) => (Err(failure), 1),
        Some(Ok(None)) => (Ok(()), 1),
        unfinished => {
            let rest = unfinished.and_then(|outcome| outcome.ok().flatten());
            let spread = spread(&machine, (runtime, workers), world, rest, (outside, &mut local));
            (spread.inspect_err(|_| screen.flush())?, workers)
        }
    };
    screen.flush();
    let report = result.err().and_then(|failure| report(&machine, failure));
    Ok(Outcome { result, report, stats: local.stats(), memory_max: machine.memory_max(), workers })
}

/// So many of those that come over wait in a worker's list at once.
const FRESH_MAX: usize = 4096;
/// Sorting more than this would take longer than it brings.
const SORTED_MAX: usize = 4096;

/// The numbers of those who can run, in the order in which their frames lie.
///
/// Each worker gets a contiguous share of them, and an idle one takes a contiguous part of another's. In the queue's
/// own order a replicated PAR would be cut at two places instead of one, and processes that update elements of one line
/// of the cache side by side would more often be on two workers.
fn in_order_of_place(ready: VecDeque<&Process<Link>>) -> Vec<u32> {
    let mut ready = Vec::from(ready);
    if ready.len() <= SORTED_MAX {
        ready.sort_by_key(|process| process.frame());
    }
    ready.iter().map(|process| process.id()).collect()
}

/// A runtime, and a watcher, that end before the host does, at which they look.
struct Ending<'h, 'm> {
    host: &'h Host<'m>,
    runtime: Option<Runtime>,
}

impl Drop for Ending<'_, '_> {
    fn drop(&mut self) {
        self.host.over.store(true, Ordering::Relaxed);
        let watched = self.host.end_watch();
        let alarms: Vec<Alarm> = self.host.alarms().set.drain().map(|(_, (_, alarm))| alarm).collect();
        alarms.into_iter().for_each(|alarm| self.host.gate.cancel(alarm));
        self.runtime.take().map(Runtime::stop);
        if let Err(panic) = watched
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// The rest of a program, on several workers; or the whole of one that is recorded.
fn spread(
    machine: &Machine<Link>,
    (runtime, workers): (Builder, usize),
    world: Arc<dyn World>,
    rest: Option<Rest<'_, Link>>,
    (outside, local): (Outside, &mut WorkerLocal),
) -> Result<Result<(), Failure>, BuildError> {
    let runtime = runtime.workers(workers).door("occam");
    // Who runs something of another runtime's cannot become a worker of this; and what is recorded from its beginning
    // is not begun here.
    let (runtime, caller) = if rest.is_some() && is_outside() {
        let (runtime, caller) = runtime.build_with_caller()?;
        (runtime, Some(caller))
    } else {
        (runtime.build()?, None)
    };
    let policy = runtime.policy();
    let host = Box::new(Host::new(machine, &runtime, &outside, world));
    // SAFETY: the host lies in a box that is dropped after the runtime has ended.
    let handle = unsafe { Handle::new(&*host) };
    assert!(host.handle.set(handle).is_ok(), "just made");
    let key_taken = KeyTaken(&host);
    // SAFETY: neither it nor its handle is moved or dropped before the runtime has ended.
    let key_taken_handle = unsafe { Handle::new(&key_taken) };
    machine.living().for_each(|process| process.link.belongs_to(host.handle()));
    machine.keyboard().link.belongs_to(&key_taken_handle);
    // From here on, since what the world does may panic.
    let ending = Ending { host: &host, runtime: Some(runtime) };
    let from_outside = FromOutside { host: &host };
    let (mut outside, outcome) = match rest {
        Some(rest) => (outside, Ok(Some(rest))),
        None => record_serial_phase(&from_outside, outside, workers > 1),
    };
    match outcome {
        Ok(Some(rest)) => {
            let key_is_awaited = outside.asked || rest.key_offered;
            if rest.wants_keys && !key_is_awaited {
                let _told = host.news.send(News::KeyTaken);
            }
            outside.offered = rest.key_offered;
            let dealt = || deal(&from_outside, (policy, workers), rest);
            match caller {
                Some(caller) => {
                    host.watcher.wait_with(outside);
                    dealt();
                    if host.wants_key.load(Ordering::Relaxed) {
                        host.watch();
                    }
                    caller.work();
                }
                None => {
                    dealt();
                    outside::watch(&from_outside, &mut outside);
                }
            }
        }
        Ok(None) => host.over.store(true, Ordering::Relaxed),
        Err(failure) => host.end(Some(failure)),
    }
    drop(ending);
    for place in &host.places {
        // SAFETY: the workers have ended.
        local.count(unsafe { &*place.local.get() }.stats());
    }
    Ok(host.failure.get().copied().map_or(Ok(()), Err))
}

/// The serial phase on the first worker, while the caller waits.
fn record_serial_phase<'m>(
    outside: &FromOutside<'_, 'm>,
    world: Outside,
    may_spread: bool,
) -> (Outside, PhaseOutcome<'m>) {
    let host = outside.host;
    let (done, outcome) = channel();
    *host.serial_phase.lock().unwrap_or_else(PoisonError::into_inner) =
        Some(SerialPhase { outside: world, may_spread, done });
    host.has_arrived.store(true, Ordering::Relaxed);
    outside.ready_at(0, host.machine.main());
    let outcome = outcome.recv().expect("the worker tells when it is done");
    host.has_arrived.store(false, Ordering::Relaxed);
    outcome
}

/// Deals what can run to the workers.
fn deal(outside: &FromOutside<'_, '_>, (policy, workers): (Policy, usize), rest: Rest<'_, Link>) {
    let Rest { ready, alarms, wants_keys, key_offered: _ } = rest;
    let host = outside.host;
    assert!(!ready.is_empty(), "who has work for several has somebody ready");
    host.wants_key.store(wants_keys, Ordering::Relaxed);
    let shares = if policy.steals() && !policy.queues_shared() { workers } else { 1 };
    let mut arrived = Arrived::new(in_order_of_place(ready), shares, alarms);
    let heralds = arrived.take_heralds();
    host.machine.share();
    host.machine.living().for_each(|process| {
        process.link.belongs_to(host.handle());
        process.link.leave_worker();
    });
    host.machine.keyboard().link.leave_worker();
    *host.arrived.lock().unwrap_or_else(PoisonError::into_inner) = Some(arrived);
    host.has_arrived.store(true, Ordering::Relaxed);
    for (worker, id) in heralds {
        outside.ready_at(worker, host.machine.process(id).expect("it is ready"));
    }
}
