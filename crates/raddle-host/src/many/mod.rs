//! Owns: several workers: the machine's processes as runnables of `raddle-core`.
//! May use: `compile`, `long_calls`, `one`, `options`, `outcome`, `screen`, `watch`, `world`, `raddle-bytecode`,
//! `raddle-core`, `raddle-vm`.
//! Never: touches a process that it has made ready.
//!
//! A program begins on the caller's thread, with the machine's own scheduler (the *serial phase*), and comes here when
//! it has work for several workers. The caller's thread then continues as the first worker (PERF: two new ones take 85
//! us to start, with no work done meanwhile; `granularity` at 1 on two workers takes 0.63 of one's time so, 0.59 with
//! the caller). A process begins with the scheduler's link, so that a link that comes out of a queue is a process. A
//! watcher runs meanwhile (`outside`): on another OS thread, once it is needed; or on the caller's, if all workers are
//! new OS threads.

mod hand_over;
mod levels;
mod outside;
pub(crate) mod ranks;
mod recorded;
mod scheduler;

use crate::long_calls::LongCalls;
use crate::one::{Outside, report};
use crate::options::RunOptions;
use crate::outcome::{RunOutcome, RunRefusal};
use crate::screen::Screen;
use crate::watch::WatchEvent;
use crate::world::World;
use hand_over::HandOver;
use outside::{FromOutside, Watcher};
use raddle_bytecode::{Effect, Verified, Wait};
use raddle_core::engine::{Alarm, Engine, Gate, Handle, Link, StopReason, Turn, is_outside};
use raddle_core::{BuildError, Builder, Policy, Runtime};
use raddle_vm::quiet::Visits;
use raddle_vm::solo::{self, Failure, Rest};
use raddle_vm::{Machine, Process, Scheduler as _, WorkerLocal};
use ranks::Keeper;
use recorded::{PhaseOutcome, SerialPhase};
use scheduler::{Alarms, KeyTaken, OnWorker, StandIns};
use std::cell::UnsafeCell;
use std::collections::{HashMap, VecDeque};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// One worker's part of the machine.
#[derive(Default)]
#[repr(align(128))]
struct WorkerSlot {
    local: UnsafeCell<WorkerLocal>,
    visits: Visits,
    /// Turns that went by in a row, since somebody of a higher priority can run.
    deferred: AtomicU32,
    /// Each its own: a line that all write would cost more than most calls.
    long_calls: LongCalls,
}

// SAFETY: the local is touched by the worker of that number only, and by the caller of `run` when all have ended.
unsafe impl Sync for WorkerSlot {}

/// What all workers share.
struct MachineHost<'m> {
    machine: &'m Machine<Link>,
    slots: Box<[WorkerSlot]>,
    gate: Gate,
    screen: Arc<Screen>,
    world: Arc<dyn World>,
    events: Sender<WatchEvent>,
    watcher: Watcher,
    begun: Instant,
    over: AtomicBool,
    wants_key: AtomicBool,
    /// The watcher runs.
    is_watched: AtomicBool,
    /// Its functions are so long that a batch of slices, each from one end of a function to the other, takes long.
    has_long_slices: bool,
    failure: OnceLock<Failure>,
    alarms: Mutex<Alarms>,
    /// The names of processes in a trace, by their first instruction.
    names: Mutex<HashMap<u32, Arc<str>>>,
    handle: OnceLock<Handle>,
    /// The trace's numbers of the sites at which processes stop, by instruction; allocated when a trace is recorded.
    sites: OnceLock<Box<[AtomicU32]>>,
    /// The serial phase, which the worker that gets the first process runs, if the program is traced.
    serial_phase: Mutex<Option<SerialPhase<'m>>>,
    /// What was handed over and is not queued yet.
    handed_over: Mutex<Option<HandOver<&'m Process<Link>>>>,
    /// Whether there may be something in one of these two.
    has_handed_over: AtomicBool,
    /// Who can run, of those with a higher priority than most.
    above: levels::ReadyAbove,
    /// What there is of other ranks.
    ranks: Option<Arc<Keeper>>,
}

/// How a program begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// On the caller's thread, with the machine's own scheduler.
    Serial,
    /// With the machine's own scheduler on a worker, which records it.
    Traced,
    /// In the workers' queues.
    Queued,
}

fn link_of(process: &Process<Link>) -> NonNull<Link> {
    NonNull::from(process).cast()
}

impl<'m> MachineHost<'m> {
    fn new(
        machine: &'m Machine<Link>,
        runtime: &Runtime,
        outside: &Outside,
        (world, screen): (Arc<dyn World>, Arc<Screen>),
        ranks: Option<Arc<Keeper>>,
    ) -> Self {
        MachineHost {
            machine,
            slots: (0..runtime.workers()).map(|_| WorkerSlot::default()).collect(),
            gate: runtime.gate(),
            screen,
            world,
            events: outside.keys.events(),
            watcher: Watcher::default(),
            begun: outside.begun,
            over: AtomicBool::new(false),
            wants_key: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
            has_long_slices: machine.longest_function() > FUNCTION_MAX,
            failure: OnceLock::new(),
            alarms: Mutex::default(),
            names: Mutex::default(),
            sites: OnceLock::new(),
            handle: OnceLock::new(),
            serial_phase: Mutex::new(None),
            handed_over: Mutex::new(None),
            has_handed_over: AtomicBool::new(false),
            above: levels::ReadyAbove::default(),
            ranks,
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

    /// A reference for an alarm or another OS thread.
    ///
    /// # Safety
    /// It is not used after the host is dropped.
    unsafe fn outliving(&self) -> &'static MachineHost<'static> {
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
        let _told = self.events.send(WatchEvent::Over);
    }

    /// Like [`end`](MachineHost::end), by a worker: the others stop without waiting for the watcher.
    fn end_here(&self, turn: Turn<'_>, failure: Option<Failure>) {
        self.end(failure);
        turn.stop();
        turn.end_batch();
    }

    fn now(&self) -> u32 {
        self.begun.elapsed().as_micros() as u32
    }

    /// Queues processes that the single thread has handed over, as many as there is room for: from the worker's own
    /// share, and from another one's if it `has_nothing_else`.
    ///
    /// The fresh list keeps its capacity: a million at once would cost 24 bytes each. A worker comes here before it
    /// looks elsewhere for work, so that no worker sleeps while processes wait here.
    #[cold]
    fn queue_handed_over(&self, scheduler: &OnWorker<'_, '_>, has_nothing_else: bool) {
        self.watch_later(scheduler.turn);
        let mut all = self.handed_over.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(handed_over) = all.as_mut() else { return };
        for (id, time) in handed_over.alarms.drain(..) {
            if let Some(process) = self.machine.process(id) {
                scheduler.alarm(process, time);
            }
        }
        let turn = scheduler.turn;
        let room = FRESH_MAX.saturating_sub(turn.fresh_waiting());
        let taken = handed_over.take(turn.index(), room, has_nothing_else);
        for process in taken {
            // SAFETY: it was ready, and has been given up.
            unsafe { turn.come_over(link_of(process)) };
        }
        if handed_over.is_empty() {
            *all = None;
            self.has_handed_over.store(false, Ordering::Relaxed);
        }
    }

    /// For the trace: the running process stops at this instruction, and may still be ready.
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
            Some(Wait::Barrier) => StopReason::Wait,
            None if matches!(effect, Some(Effect::End | Effect::Return)) => StopReason::Exit,
            None => StopReason::Wait,
        };
        let waits = !ready && reason != StopReason::Exit;
        turn.stops(reason, if waits { self.site(turn, at) } else { 0 });
    }

    /// The trace's number of an instruction's site.
    fn site(&self, turn: Turn<'_>, at: u32) -> u32 {
        let count = self.machine.program().module().code.len();
        let sites = self.sites.get_or_init(|| (0..count).map(|_| AtomicU32::new(0)).collect());
        let Some(site) = sites.get(at as usize) else { return 0 };
        let known = site.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // Two workers may both store a number: the names are the same.
        let number = turn.number_of_site(self.machine.site_name(at));
        site.store(number, Ordering::Relaxed);
        number
    }

    /// Enters the machine for `run`; before and after it, queues what was handed over.
    #[inline(always)]
    fn visit(&self, turn: Turn<'_>, run: impl FnOnce(&OnWorker<'_, 'm>, &mut WorkerLocal)) {
        let slot = &self.slots[turn.index()];
        // SAFETY: this is the worker of that number, and it is here once.
        let local = unsafe { &mut *slot.local.get() };
        slot.visits.enter(local);
        let scheduler = OnWorker::new(self, turn);
        if self.has_long_slices {
            turn.cut_batch();
        }
        if self.has_handed_over.load(Ordering::Relaxed) {
            if self.run_serial_phase(turn, local) {
                return slot.visits.leave(local);
            }
            self.queue_handed_over(&scheduler, false);
        }
        run(&scheduler, local);
        if self.has_handed_over.load(Ordering::Relaxed) && !self.over.load(Ordering::Relaxed) {
            self.queue_handed_over(&scheduler, turn.is_alone());
        }
        slot.visits.leave(local);
    }

    /// Adds what the workers have counted, who have ended.
    fn count_into(&self, local: &mut WorkerLocal) {
        for slot in &self.slots {
            // SAFETY: the workers have ended.
            local.count(unsafe { &*slot.local.get() }.stats());
        }
    }

    fn has_stand_ins(&self, handle: Handle) {
        if let Some(keeper) = &self.ranks {
            keeper.has_stand_ins(handle);
        }
    }

    /// How often the workers have been in the machine; `None` if one is.
    fn visits(&self) -> Option<u32> {
        Visits::sum(self.slots.iter().map(|slot| &slot.visits))
    }
}

// SAFETY: the worker that dequeued the process runs it, until it waits or is made ready again.
unsafe impl Engine for MachineHost<'_> {
    fn run(&self, turn: Turn<'_>, link: NonNull<Link>) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        self.visit(turn, |scheduler, local| {
            // SAFETY: the worker took it out of a queue.
            let process = unsafe { self.process_of(link) };
            debug_assert!(!self.machine.is_keyboard(process), "it is of another engine");
            if self.machine.uses_levels() && !scheduler.may_run(process) {
                return;
            }
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

/// Runs a program on up to `workers` OS threads, as one of several ranks if it has a keeper. With an error of that kind
/// it has not begun.
pub(crate) fn run(
    program: Verified,
    options: &RunOptions,
    start: Start,
    (runtime, workers): (Builder, usize),
    world: Arc<dyn World>,
    ranks: Option<&Arc<Keeper>>,
) -> Result<RunOutcome, RunRefusal> {
    let mut local = WorkerLocal::default();
    let mut machine: Machine<Link> = match Machine::new(program, options.memory_bytes, &mut local) {
        Ok(machine) => machine,
        Err(trap) => return Ok(RunOutcome::not_begun(trap)),
    };
    if let Some(keeper) = ranks.filter(|keeper| !keeper.is_first())
        && !keeper.wait_for_image(&machine)?
    {
        return Ok(RunOutcome::nothing_to_do(machine.memory_bytes()));
    }
    machine.keep_apart();
    #[cfg(feature = "native")]
    crate::compile::prepare(&mut machine, options.compiler.as_deref());
    let mut outside = Outside::new(world.clone());
    let outcome = match start {
        Start::Serial => Some(solo::run_serial_phase(&machine, &mut outside, &mut local)),
        Start::Traced => None,
        Start::Queued => {
            let ready = [machine.main()].into();
            Some(Ok(Some(Rest { ready, alarms: Vec::new(), wants_keys: false, key_offered: false })))
        }
    };
    outside.screen.flush();
    let screen = Arc::new(Screen::new(world.clone()));
    let (result, workers) = match outcome {
        Some(Err(failure)) => (Err(failure), 1),
        Some(Ok(None)) => (Ok(()), 1),
        unfinished => {
            let rest = unfinished.and_then(|outcome| outcome.ok().flatten());
            let parallel = run_parallel(
                &machine,
                (runtime, workers),
                (world.clone(), screen.clone()),
                rest,
                (outside, &mut local),
                ranks.cloned(),
            );
            match parallel {
                Ok(result) => (result, workers),
                Err(error) => {
                    screen.flush();
                    give_back(machine, &*world);
                    return Err(error.into());
                }
            }
        }
    };
    screen.flush();
    let report = result.err().and_then(|failure| report(&machine, failure));
    let (memory_max, memory_left) = (machine.memory_max(), machine.memory_in_use());
    let memory_bytes = machine.memory_bytes();
    let checks = crate::outcome::checks(&machine);
    give_back(machine, &*world);
    let stats = local.stats();
    Ok(RunOutcome { result, report, stats, memory_max, memory_left, memory_bytes, checks, workers })
}

/// Gives back the machine, unless a foreign routine may use its memory.
fn give_back(machine: Machine<Link>, world: &dyn World) {
    if world.holds_memory() {
        std::mem::forget(machine);
    }
}

/// In a program with a longer function a worker looks after each process whether the program is over.
const FUNCTION_MAX: u32 = 1 << 14;
/// The most handed-over processes in a worker's list at once.
const FRESH_MAX: usize = 4096;
/// Sorting more than this takes longer than it saves.
const SORTED_MAX: usize = 4096;

/// The ready processes, in the order of their frames in memory.
///
/// Each worker gets a contiguous share of them, and an idle one takes a contiguous part of another's. In the queue's
/// order a replicated PAR would be divided at two places instead of one, and processes that update elements of the same
/// cache line would more often be on different workers.
fn in_memory_order(ready: VecDeque<&Process<Link>>) -> Vec<&Process<Link>> {
    let mut ready = Vec::from(ready);
    if ready.len() <= SORTED_MAX {
        ready.sort_by_key(|process| process.frame());
    }
    ready
}

/// Stops the runtime and the watcher before the host is dropped, which both refer to.
struct StopOnDrop<'h, 'm> {
    host: &'h MachineHost<'m>,
    runtime: Option<Runtime>,
    /// Who hears other ranks.
    listener: Option<JoinHandle<()>>,
}

impl Drop for StopOnDrop<'_, '_> {
    fn drop(&mut self) {
        self.host.over.store(true, Ordering::Relaxed);
        let watcher_result = self.host.end_watch();
        let alarms: Vec<Alarm> = self.host.alarms().set.drain().map(|(_, (_, alarm))| alarm).collect();
        alarms.into_iter().for_each(|alarm| self.host.gate.cancel(alarm));
        // First: a runtime does not end while its workers expect something; and what is heard makes processes ready,
        // for which the workers have to be there (`Gate::ready`).
        if let Some(keeper) = &self.host.ranks {
            keeper.stop_hearing(self.listener.as_ref());
        }
        if let Some(listener) = self.listener.take() {
            let _its_panic_was_shown = listener.join();
        }
        self.runtime.take().map(Runtime::stop);
        if let Err(panic) = watcher_result
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Runs the rest of a program on several workers, or the whole of a traced one.
fn run_parallel<'m>(
    machine: &'m Machine<Link>,
    (runtime, workers): (Builder, usize),
    (world, screen): (Arc<dyn World>, Arc<Screen>),
    rest: Option<Rest<'m, Link>>,
    (outside, local): (Outside, &mut WorkerLocal),
    ranks: Option<Arc<Keeper>>,
) -> Result<Result<(), Failure>, BuildError> {
    let runtime = runtime.workers(workers).door("occam");
    // A thread that runs something of another runtime cannot become a worker of this one; and a traced program does not
    // begin on this thread.
    let (runtime, caller) = if rest.is_some() && is_outside() {
        let (runtime, caller) = runtime.build_with_caller()?;
        (runtime, Some(caller))
    } else {
        (runtime.build()?, None)
    };
    let policy = runtime.policy();
    let host = Box::new(MachineHost::new(machine, &runtime, &outside, (world, screen), ranks));
    // SAFETY: the host is in a box that is dropped after the runtime has ended.
    let handle = unsafe { Handle::new(&*host) };
    assert!(host.handle.set(handle).is_ok(), "just made");
    let key_taken = KeyTaken(&host);
    // SAFETY: neither it nor its handle is moved or dropped before the runtime has ended.
    let key_taken_handle = unsafe { Handle::new(&key_taken) };
    if rest.is_none() {
        machine.main().link.belongs_to(host.handle());
    }
    machine.keyboard().link.belongs_to(&key_taken_handle);
    let stand_ins = StandIns(&host);
    // SAFETY: as above; the handle is the keeper's, which the host has.
    host.has_stand_ins(unsafe { Handle::new(&stand_ins) });
    // From here on, since the world's functions may panic.
    let stop_on_drop = StopOnDrop { host: &host, listener: host.listen(&runtime), runtime: Some(runtime) };
    let from_outside = FromOutside { host: &host };
    let (mut outside, outcome) = match rest {
        Some(rest) => (outside, Ok(Some(rest))),
        None => run_serial_phase_on_worker(&from_outside, outside, workers > 1),
    };
    match outcome {
        Ok(Some(rest)) => {
            let key_is_awaited = outside.asked || rest.key_offered;
            if rest.wants_keys && !key_is_awaited {
                let _told = host.events.send(WatchEvent::KeyTaken);
            }
            outside.offered = rest.key_offered;
            let hand_over = || distribute(&from_outside, (policy, workers), rest);
            match caller {
                Some(caller) => {
                    host.watcher.wait_with(outside);
                    hand_over();
                    if host.wants_key.load(Ordering::Relaxed) {
                        host.watch();
                    }
                    caller.work();
                }
                None => {
                    host.is_watched.store(true, Ordering::Relaxed);
                    hand_over();
                    outside::watch(&from_outside, &mut outside);
                }
            }
        }
        Ok(None) => host.over.store(true, Ordering::Relaxed),
        Err(failure) => host.end(Some(failure)),
    }
    drop(stop_on_drop);
    host.count_into(local);
    Ok(host.failure.get().copied().map_or(Ok(()), Err))
}

/// Runs the serial phase on the first worker, while the caller waits.
fn run_serial_phase_on_worker<'m>(
    outside: &FromOutside<'_, 'm>,
    world: Outside,
    may_spread: bool,
) -> (Outside, PhaseOutcome<'m>) {
    let host = outside.host;
    let (done, begun) = channel();
    *host.serial_phase.lock().unwrap_or_else(PoisonError::into_inner) =
        Some(SerialPhase { outside: world, may_spread, done });
    host.has_handed_over.store(true, Ordering::Relaxed);
    outside.ready_at(0, host.machine.main());
    let begun = begun.recv().expect("the worker reports its end");
    host.has_handed_over.store(false, Ordering::Relaxed);
    begun
}

/// Distributes the ready processes over the workers.
fn distribute<'m>(outside: &FromOutside<'_, 'm>, (policy, workers): (Policy, usize), rest: Rest<'m, Link>) {
    let Rest { ready, alarms, wants_keys, key_offered: _ } = rest;
    let host = outside.host;
    assert!(!ready.is_empty(), "work for several workers means a ready process");
    host.wants_key.store(wants_keys, Ordering::Relaxed);
    let shares = if policy.steals() && !policy.queues_shared() { workers } else { 1 };
    let mut handed_over = HandOver::new(in_memory_order(ready), shares, alarms);
    let first_of_each = handed_over.take_first_of_each();
    host.machine.share();
    host.machine.living().for_each(|process| {
        process.link.belongs_to(host.handle());
        process.link.leave_worker();
    });
    host.machine.keyboard().link.leave_worker();
    *host.handed_over.lock().unwrap_or_else(PoisonError::into_inner) = Some(handed_over);
    host.has_handed_over.store(true, Ordering::Relaxed);
    for (worker, process) in first_of_each {
        outside.ready_at(worker, process);
    }
}
