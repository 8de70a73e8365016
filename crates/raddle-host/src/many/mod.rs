//! Owns: several workers: the machine's processes as runnables of `raddle-core`.
//! May use: `raddle_core::engine`.
//! Never: touches a process that it has made ready.
//!
//! A program begins on the caller's thread, with the machine's own scheduler, and comes here when it has work for more
//! than one.
//!
//! A process begins with the scheduler's link, so that a link that comes out of a queue is a process. The caller's
//! thread watches meanwhile: it offers keys, and looks some tens of times in a second whether anybody still runs. A
//! program is in a deadlock if twice, some time apart, no worker was in the machine, no worker had been since, no alarm
//! is set, no key is awaited, and every living process waits.

use crate::one::{Outside, report};
use crate::screen::Screen;
use crate::watch::{Keys, News};
use crate::world::World;
use crate::{Failure, Options, Outcome};
use raddle_bytecode::Verified;
use raddle_core::Runtime;
use raddle_core::engine::{Alarm, Engine, Handle, Link, Turn};
use raddle_vm::solo::{self, Rest};
use raddle_vm::{Lane, Machine, Port, Process, Scheduler, Step};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(10);

/// One worker's share of the machine.
#[derive(Default)]
#[repr(align(128))]
struct Place {
    lane: UnsafeCell<Lane>,
    /// Goes up when the worker enters the machine, and when it leaves: odd while it is in there.
    visits: AtomicU64,
}

// SAFETY: the lane is touched by the worker of that number only, and by the watcher when all workers have ended.
unsafe impl Sync for Place {}

/// The alarm of each process that has one, with a number by which a late bell knows that it is not meant.
#[derive(Default)]
struct Alarms {
    set: HashMap<u32, (u64, Alarm)>,
    ever: u64,
}

/// What all workers share.
struct Host<'m> {
    machine: &'m Machine<Link>,
    places: Box<[Place]>,
    screen: &'m Screen,
    world: Arc<dyn World>,
    news: Sender<News>,
    begun: Instant,
    over: AtomicBool,
    wants_key: AtomicBool,
    failure: OnceLock<Failure>,
    alarms: Mutex<Alarms>,
    handle: OnceLock<Handle>,
    /// What has come over, for the first worker to queue.
    arrived: Mutex<Option<Arrived>>,
    has_arrived: AtomicBool,
}

/// Processes and alarms that come over.
struct Arrived {
    ready: Vec<u32>,
    alarms: Vec<(u32, u32)>,
}

/// The scheduler as one worker sees it.
struct OnWorker<'h> {
    host: &'h Host<'h>,
    turn: Turn<'h>,
}

/// The scheduler as the watcher sees it.
struct FromOutside<'h> {
    host: &'h Host<'h>,
    runtime: &'h Runtime,
}

fn link_of(process: &Process<Link>) -> NonNull<Link> {
    NonNull::from(process).cast()
}

impl<'m> Host<'m> {
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

    fn now(&self) -> u32 {
        self.begun.elapsed().as_micros() as u32
    }

    /// Queues what has come over from the single thread.
    #[cold]
    fn welcome(&self, scheduler: &OnWorker<'_>) {
        self.has_arrived.store(false, Ordering::Relaxed);
        let arrived = self.arrived.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(arrived) = arrived else { return };
        for process in arrived.ready.iter().filter_map(|&id| self.machine.process(id)) {
            // SAFETY: it was ready, and has been given up.
            unsafe { scheduler.turn.fresh(link_of(process)) };
        }
        for (id, time) in arrived.alarms {
            if let Some(process) = self.machine.process(id) {
                scheduler.alarm(process, time);
            }
        }
    }

    /// Whether nobody has been in the machine between this and the last call with that sum; and the sum.
    fn visits(&self) -> Option<u64> {
        let mut sum = 0;
        for place in &self.places {
            // Acquire pairs with the release on leaving: what the worker did is seen.
            let visits = place.visits.load(Ordering::Acquire);
            if visits & 1 == 1 {
                return None;
            }
            sum += visits;
        }
        Some(sum)
    }
}

// SAFETY: the process is run by the one who has dequeued it, until it waits or is made ready again.
unsafe impl Engine for Host<'_> {
    fn run(&self, turn: Turn<'_>, link: NonNull<Link>) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let place = &self.places[turn.index()];
        let visits = place.visits.load(Ordering::Relaxed);
        place.visits.store(visits + 1, Ordering::Relaxed);
        // SAFETY: this is the worker of that number, and it is here once.
        let lane = unsafe { &mut *place.lane.get() };
        let scheduler = OnWorker { host: self, turn };
        if self.has_arrived.load(Ordering::Relaxed) {
            self.welcome(&scheduler);
        }
        // SAFETY: the worker took it out of a queue.
        let process = unsafe { self.process_of(link) };
        if let Some(first) = scheduler.unless_keyboard(process).or_else(|| scheduler.next())
            && let Err(fault) = self.machine.run(&scheduler, lane, first)
        {
            self.end(Some(Failure::Fault(fault)));
        }
        // Release pairs with the acquire in `visits`.
        place.visits.store(visits + 2, Ordering::Release);
    }
}

impl<'h> OnWorker<'h> {
    #[inline(always)]
    fn unless_keyboard<'p>(&self, process: &'p Process<Link>) -> Option<&'p Process<Link>> {
        if std::ptr::eq(process, self.host.machine.keyboard()) {
            let _told = self.host.news.send(News::KeyTaken);
            return None;
        }
        Some(process)
    }
}

impl Scheduler for OnWorker<'_> {
    const SHARED: bool = true;
    type Link = Link;

    #[inline(always)]
    fn ready(&self, process: &Process<Link>) {
        // SAFETY: the machine gives up the process, which stays until the runtime has ended.
        unsafe { self.turn.ready(link_of(process)) };
    }

    #[inline(always)]
    fn begin(&self, process: &Process<Link>, many: bool) {
        process.link.belongs_to(self.host.handle());
        process.link.forget_worker();
        if many {
            // SAFETY: as above.
            unsafe { self.turn.fresh(link_of(process)) };
        } else {
            self.ready(process);
        }
    }

    #[inline(always)]
    fn next(&self) -> Option<&Process<Link>> {
        if self.host.over.load(Ordering::Relaxed) {
            return None;
        }
        loop {
            let link = self.turn.next(self.host.handle())?;
            // SAFETY: it came out of a queue.
            let next = self.unless_keyboard(unsafe { self.host.process_of(link) });
            if next.is_some() {
                return next;
            }
        }
    }

    fn alarm(&self, process: &Process<Link>, time: u32) {
        let after = time.wrapping_sub(self.host.now()) as i32;
        let after = Duration::from_micros(u64::try_from(after).unwrap_or(0) + 1);
        // SAFETY: the host lives until the runtime has ended, and no alarm is rung after that.
        let host: &'static Host<'static> = unsafe { &*std::ptr::from_ref(self.host).cast() };
        let mut alarms = self.host.alarms();
        if self.host.over.load(Ordering::Relaxed) {
            return;
        }
        alarms.ever += 1;
        let number = alarms.ever;
        let waker = Waker::from(Arc::new(Bell { host, process: process.id(), number }));
        let before = alarms.set.insert(process.id(), (number, self.turn.alarm(after, waker)));
        drop(alarms);
        if let Some((_, before)) = before {
            self.turn.cancel(before);
        }
    }

    fn cancel(&self, process: &Process<Link>, _: u32) {
        let alarm = self.host.alarms().set.remove(&process.id());
        if let Some((_, alarm)) = alarm {
            self.turn.cancel(alarm);
        }
    }

    fn now(&self) -> u32 {
        self.host.now()
    }

    fn output(&self, port: Port, bytes: &[u8]) {
        self.host.screen.write(port, bytes);
    }

    fn want_key(&self) {
        if !self.host.wants_key.swap(true, Ordering::Relaxed) {
            let _told = self.host.news.send(News::WantsKey);
        }
    }

    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        self.host.world.call(number, words)
    }

    fn finished(&self) {
        self.host.end(None);
    }
}

impl Scheduler for FromOutside<'_> {
    const SHARED: bool = true;
    type Link = Link;

    fn ready(&self, process: &Process<Link>) {
        process.link.belongs_to(self.host.handle());
        // SAFETY: the machine gives up the process, which stays until the runtime has ended.
        unsafe { self.runtime.ready(link_of(process)) };
    }

    fn next(&self) -> Option<&Process<Link>> {
        None
    }

    fn alarm(&self, _: &Process<Link>, _: u32) {}
    fn cancel(&self, _: &Process<Link>, _: u32) {}

    fn now(&self) -> u32 {
        self.host.now()
    }

    fn output(&self, _: Port, _: &[u8]) {}
    fn want_key(&self) {}

    fn call(&self, _: i32, _: [u32; 4]) -> Option<[u32; 4]> {
        None
    }

    fn finished(&self) {}
}

/// Rings for a process.
struct Bell {
    host: &'static Host<'static>,
    process: u32,
    number: u64,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let mut alarms = self.host.alarms();
        if alarms.set.get(&self.process).is_some_and(|(number, _)| *number == self.number) {
            alarms.set.remove(&self.process);
        }
        drop(alarms);
        if let Some(turn) = Turn::current() {
            self.host.machine.ring(&OnWorker { host: self.host, turn }, self.process);
        }
    }
}

/// Runs a program on up to `workers` OS threads.
pub(crate) fn run(program: Verified, options: Options, workers: usize, world: Arc<dyn World>) -> Outcome {
    let mut lane = Lane::default();
    let machine: Machine<Link> = match Machine::new(program, options.memory_bytes, &mut lane) {
        Ok(machine) => machine,
        Err(trap) => return Outcome::not_begun(trap),
    };
    let mut outside = Outside::new(world.clone());
    let begun = if options.at_once {
        let ready = [machine.main()].into();
        Ok(Some(Rest { ready, alarms: Vec::new(), wants_keys: false, key_offered: false }))
    } else {
        solo::run_while_tight(&machine, &mut outside, &mut lane)
    };
    let result = match begun {
        Err(failure) => Err(failure),
        Ok(None) => Ok(()),
        Ok(Some(rest)) => match spread(&machine, workers, world, rest, (&mut outside, &mut lane)) {
            Some(result) => result,
            None => return Outcome::not_begun(raddle_bytecode::Trap::Host),
        },
    };
    outside.screen.flush();
    let report = result.err().and_then(|failure| report(&machine, failure));
    Outcome { result, report, stats: lane.stats(), memory_max: machine.memory_max(), workers }
}

/// The rest of a program, on several workers. `None` if the system refuses their OS threads.
fn spread(
    machine: &Machine<Link>,
    workers: usize,
    world: Arc<dyn World>,
    rest: Rest<'_, Link>,
    (outside, lane): (&mut Outside, &mut Lane),
) -> Option<Result<(), Failure>> {
    let runtime = Runtime::builder().workers(workers).build().ok()?;
    let places: Box<[Place]> = (0..workers).map(|_| Place::default()).collect();
    let (first, others) = rest.ready.iter().next().map(|first| (*first, rest.ready.iter().skip(1)))?;
    let arrived = Arrived { ready: others.map(|process| process.id()).collect(), alarms: rest.alarms };
    let host = Box::new(Host {
        machine,
        places,
        screen: &outside.screen,
        world,
        news: outside.keys.news(),
        begun: outside.begun,
        over: AtomicBool::new(false),
        wants_key: AtomicBool::new(rest.wants_keys),
        failure: OnceLock::new(),
        alarms: Mutex::default(),
        handle: OnceLock::new(),
        arrived: Mutex::new(Some(arrived)),
        has_arrived: AtomicBool::new(true),
    });
    // SAFETY: the host lies in a box that is dropped after the runtime has ended.
    let handle = unsafe { Handle::new(&*host) };
    assert!(host.handle.set(handle).is_ok(), "just made");
    machine.keyboard().link.belongs_to(host.handle());
    machine.living().for_each(|process| process.link.belongs_to(host.handle()));
    let from_outside = FromOutside { host: &host, runtime: &runtime };
    from_outside.ready(first);
    let asked = outside.asked;
    if rest.wants_keys && !rest.key_offered && !asked {
        let _told = host.news.send(News::KeyTaken);
    }
    watch(&from_outside, &mut outside.keys, &outside.news, asked);
    let alarms: Vec<Alarm> = host.alarms().set.drain().map(|(_, (_, alarm))| alarm).collect();
    alarms.into_iter().for_each(|alarm| runtime.cancel(alarm));
    runtime.shutdown();
    for place in &host.places {
        // SAFETY: the workers have ended.
        lane.count(unsafe { &*place.lane.get() }.stats());
    }
    Some(host.failure.get().copied().map_or(Ok(()), Err))
}

/// The caller's thread while the program runs.
fn watch(outside: &FromOutside<'_>, keys: &mut Keys, news: &Receiver<News>, asked: bool) {
    let host = outside.host;
    let mut awaited = asked;
    let mut quiet = None;
    loop {
        match news.recv_timeout(TICK) {
            Ok(News::Over) | Err(RecvTimeoutError::Disconnected) => return,
            Ok(News::WantsKey | News::KeyTaken) => {
                awaited = true;
                host.screen.flush();
                keys.ask();
            }
            Ok(News::Key(None)) => awaited = false,
            Ok(News::Key(Some(key))) => {
                awaited = false;
                match host.machine.offer_key(outside, key) {
                    Ok(Step::Waits) => {}
                    Ok(Step::Done) => {
                        awaited = true;
                        keys.ask();
                    }
                    Err(_) => return host.end(Some(Failure::Quit)),
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                host.screen.flush();
                if host.world.wants_end() {
                    return host.end(Some(Failure::Quit));
                }
                let visits = host.visits();
                let still = visits.is_some() && visits == quiet && !awaited && host.alarms().set.is_empty();
                if still && host.machine.all_wait() && host.visits() == visits {
                    return host.end(Some(Failure::Deadlock));
                }
                quiet = visits;
            }
        }
    }
}
