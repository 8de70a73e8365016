//! Loops that never wait: on one worker, others get their turns, and alarms ring, all the same. By one table of the
//! operations that need not wait.

use crate::watch::{Progress, Watchdog};
use raddle::cancel::{self, Token};
use raddle::channel::{Select, after, bounded, never, tick, unbounded};
use raddle::csp::Alternation;
use raddle::stm::{self, TVar, atomically, atomically_or_err, atomically_until, read_only};
use raddle::sync::{
    Barrier, ClhLock, Condvar, LazyLock, McsLock, Mutex, Once, OnceLock, RwLock, Semaphore, SpinLock,
    TicketLock, mpsc,
};
use raddle::{Balance, Runtime, channel, csp, task, thread};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How long the one sleeps for whom the loop waits.
const SLEEP: Duration = Duration::from_millis(20);
const FAR: Duration = Duration::from_secs(1000);
const NOT: Duration = Duration::ZERO;

/// An operation with all that it needs.
type Operation = Box<dyn FnMut()>;
type Make = fn() -> Operation;

fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A lock that somebody holds for ever.
fn held<L, G>(lock: L, take: impl Fn(&'static L) -> G) -> &'static L {
    let lock = kept(lock);
    std::mem::forget(take(lock));
    lock
}

/// Of a task that somebody may wake, but nobody does.
fn waits_for_ever(context: &mut Context<'_>) -> Poll<()> {
    std::mem::forget(context.waker().clone());
    Poll::Pending
}

/// Whether a future is ready, for one who asks again and again.
fn by_hand(future: &mut (impl Future + Unpin)) -> bool {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// A set of one operation.
fn set(add: impl FnOnce(&mut Select<'static>) -> usize) -> Select<'static> {
    let mut all = Select::new();
    add(&mut all);
    all
}

macro_rules! operations {
    ($($name:literal: { $($given:stmt;)* } $done:expr;)*) => {
        &[$(($name, || { $($given)* Box::new(move || { let _done = $done; }) })),*]
    };
}

/// `name: { what is there } what is done`. Each is done again and again without waiting once.
#[rustfmt::skip]
const OPERATIONS: &[(&str, Make)] = operations! {
    "channel: send, unbounded": { let (s, r) = unbounded(); } (s.send(1).unwrap(), r.same_channel(&r));
    "channel: send and recv": { let (s, r) = bounded(1); } (s.send(1), r.recv().unwrap());
    "channel: send, disconnected": { let s = bounded(1).0; } s.send(1).unwrap_err();
    "channel: recv, disconnected": { let r = bounded::<u8>(1).1; } r.recv().unwrap_err();
    "channel: try_send": { let (s, r) = unbounded(); } (s.try_send(1).unwrap(), r.same_channel(&r));
    "channel: try_send, full": { let (s, r) = bounded(0); } (s.try_send(1).unwrap_err(), r.same_channel(&r));
    "channel: send_timeout": { let (s, r) = unbounded(); } (s.send_timeout(1, FAR).unwrap(), r.same_channel(&r));
    "channel: send_timeout, over": { let (s, r) = bounded(0); }
        (s.send_timeout(1, NOT).unwrap_err(), r.same_channel(&r));
    "channel: send_deadline, over": { let (s, r) = bounded(0); let then = Instant::now(); }
        (s.send_deadline(1, then).unwrap_err(), r.same_channel(&r));
    "channel: try_recv": { let (s, r) = bounded::<u8>(1); } (r.try_recv().unwrap_err(), s.same_channel(&s));
    "channel: recv_timeout, over": { let (s, r) = bounded::<u8>(1); }
        (r.recv_timeout(NOT).unwrap_err(), s.same_channel(&s));
    "channel: recv_deadline, over": { let (s, r) = bounded::<u8>(1); let then = Instant::now(); }
        (r.recv_deadline(then).unwrap_err(), s.same_channel(&s));
    "channel: try_iter": { let (s, r) = bounded::<u8>(1); } (r.try_iter().count(), s.same_channel(&s));
    "channel: Sender::len": { let (s, r) = bounded::<u8>(1); } (s.len(), r.same_channel(&r));
    "channel: Sender::is_empty": { let (s, r) = bounded::<u8>(1); } (s.is_empty(), r.same_channel(&r));
    "channel: Sender::is_full": { let (s, r) = bounded::<u8>(1); } (s.is_full(), r.same_channel(&r));
    "channel: Receiver::len": { let (s, r) = bounded::<u8>(1); } (r.len(), s.same_channel(&s));
    "channel: Receiver::is_empty": { let (s, r) = bounded::<u8>(1); } (r.is_empty(), s.same_channel(&s));
    "channel: Receiver::is_full": { let (s, r) = bounded::<u8>(1); } (r.is_full(), s.same_channel(&s));
    "channel: never": { let r = never::<u8>(); } r.try_recv().unwrap_err();
    "channel: never, over": { let r = never::<u8>(); } r.recv_timeout(NOT).unwrap_err();
    "channel: after": { let r = after(FAR); } r.try_recv().unwrap_err();
    "channel: after, over": { let r = after(FAR); } r.recv_timeout(NOT).unwrap_err();
    "channel: after 0": {} after(NOT).recv().unwrap();
    "channel: tick 0": { let r = tick(NOT); } r.recv().unwrap();
    "select! with a default": { let r = never::<u8>(); }
        raddle::select! { recv(r) -> _ => unreachable!(), default => () };
    "select! of what is possible": { let (s, r) = unbounded(); }
        raddle::select! { send(s, 1) -> done => done.unwrap(), recv(never::<u8>()) -> _ => drop(r.clone()) };
    "select_biased! with a default": { let r = never::<u8>(); }
        raddle::select_biased! { recv(r) -> _ => unreachable!(), default => () };
    "select!, over": { let r = never::<u8>(); } raddle::select! { recv(r) -> _ => unreachable!(), default(NOT) => () };
    "Select::try_select": { let r = kept(never::<u8>()); let mut all = set(|all| all.recv(r)); }
        assert!(all.try_select().is_err());
    "Select::select_timeout": { let r = kept(never::<u8>()); let mut all = set(|all| all.recv(r)); }
        assert!(all.select_timeout(NOT).is_err());
    "Select::try_ready": { let r = kept(never::<u8>()); let mut all = set(|all| all.recv(r)); }
        assert!(all.try_ready().is_err());
    "Select::ready": { let (s, r) = kept(unbounded::<u8>()); let mut all = set(|all| all.send(s)); }
        (all.ready(), r.same_channel(r));
    "Select::ready_timeout": { let r = kept(never::<u8>()); let mut all = set(|all| all.recv(r)); }
        assert!(all.ready_timeout(NOT).is_err());

    "mpsc: Sender::send": { let (s, r) = mpsc::channel(); } { s.send(1).unwrap(); let _keeps = &r; };
    "mpsc: SyncSender::send and recv": { let (s, r) = mpsc::sync_channel(1); } (s.send(1).unwrap(), r.recv().unwrap());
    "mpsc: SyncSender::try_send": { let (s, r) = mpsc::sync_channel(0); }
        { s.try_send(1).unwrap_err(); let _keeps = &r; };
    "mpsc: try_recv": { let (s, r) = mpsc::channel::<u8>(); } { r.try_recv().unwrap_err(); let _keeps = &s; };
    "mpsc: recv_timeout, over": { let (s, r) = mpsc::channel::<u8>(); }
        { r.recv_timeout(NOT).unwrap_err(); let _keeps = &s; };
    "mpsc: recv, disconnected": { let r = mpsc::channel::<u8>().1; } r.recv().unwrap_err();

    "Mutex::lock": { let lock = Mutex::new(0); } *lock.lock().unwrap() += 1;
    "Mutex::try_lock": { let lock = Mutex::new(0); } *lock.try_lock().unwrap() += 1;
    "Mutex::try_lock, refused": { let lock = held(Mutex::new(0), |lock| lock.lock()); }
        assert!(lock.try_lock().is_err());
    "Mutex::try_lock_for": { let lock = Mutex::new(0); } *lock.try_lock_for(FAR).unwrap() += 1;
    "Mutex::try_lock_for, over": { let lock = held(Mutex::new(0), |lock| lock.lock()); }
        assert!(lock.try_lock_for(NOT).is_err());
    "RwLock::read": { let lock = RwLock::new(0); } *lock.read().unwrap();
    "RwLock::write": { let lock = RwLock::new(0); } *lock.write().unwrap() += 1;
    "RwLock::try_read": { let lock = RwLock::new(0); } *lock.try_read().unwrap();
    "RwLock::try_read, refused": { let lock = held(RwLock::new(0), |lock| lock.write()); }
        assert!(lock.try_read().is_err());
    "RwLock::try_write": { let lock = RwLock::new(0); } *lock.try_write().unwrap() += 1;
    "RwLock::try_write, refused": { let lock = held(RwLock::new(0), |lock| lock.read()); }
        assert!(lock.try_write().is_err());
    "RwLock::try_read_for, over": { let lock = held(RwLock::new(0), |lock| lock.write()); }
        assert!(lock.try_read_for(NOT).is_err());
    "RwLock::try_write_for, over": { let lock = held(RwLock::new(0), |lock| lock.read()); }
        assert!(lock.try_write_for(NOT).is_err());
    "Condvar::notify_one": { let told = Condvar::new(); } told.notify_one();
    "Condvar::notify_all": { let told = Condvar::new(); } told.notify_all();
    "Condvar::wait_timeout, over": { let (lock, told) = (Mutex::new(0), Condvar::new()); }
        assert!(told.wait_timeout(lock.lock().unwrap(), NOT).unwrap().1.timed_out());
    "Condvar::wait_timeout_while, over": { let (lock, told) = (Mutex::new(0), Condvar::new()); }
        assert!(told.wait_timeout_while(lock.lock().unwrap(), NOT, |_| true).unwrap().1.timed_out());
    "Barrier::wait": { let barrier = Barrier::new(1); } barrier.wait().is_leader();
    "Barrier::wait_timeout, over": { let barrier = Barrier::new(2); } assert!(barrier.wait_timeout(NOT).is_none());
    "Semaphore::acquire": { let permits = Semaphore::new(1); } permits.acquire().unwrap().count();
    "Semaphore::try_acquire": { let permits = Semaphore::new(1); } permits.try_acquire().unwrap().count();
    "Semaphore::try_acquire, refused": { let permits = Semaphore::new(0); } assert!(permits.try_acquire().is_err());
    "Semaphore::acquire_timeout, over": { let permits = Semaphore::new(0); }
        assert!(permits.acquire_timeout(NOT).is_err());
    "Semaphore::add_permits": { let permits = Semaphore::new(0); } permits.add_permits(1);
    "Semaphore::available_permits": { let permits = Semaphore::new(0); } permits.available_permits();
    "Semaphore::is_closed": { let permits = Semaphore::new(0); } permits.is_closed();
    "Semaphore::close": { let permits = Semaphore::new(0); } permits.close();
    "Once::is_completed": { let once = Once::new(); } assert!(!once.is_completed());
    "OnceLock::get": { let once = OnceLock::<u8>::new(); } assert!(once.get().is_none());
    "LazyLock::get": { let lazy: LazyLock<u8> = LazyLock::new(|| 1); } assert!(LazyLock::get(&lazy).is_none());
    "McsLock::lock": { let lock = McsLock::new(0); } *lock.lock() += 1;
    "McsLock::with": { let lock = McsLock::new(0); } lock.with(|count| *count += 1);
    "McsLock::try_lock": { let lock = McsLock::new(0); } *lock.try_lock().unwrap() += 1;
    "ClhLock::lock": { let lock = ClhLock::new(0); } *lock.lock() += 1;
    "ClhLock::with": { let lock = ClhLock::new(0); } lock.with(|count| *count += 1);
    "TicketLock::lock": { let lock = TicketLock::new(0); } *lock.lock() += 1;
    "SpinLock::lock": { let lock = SpinLock::new(0); } *lock.lock() += 1;

    "csp: try_send": { let (mut to, from) = csp::channel(); } (to.try_send(1).unwrap_err(), from.is_poisoned());
    "csp: try_recv": { let (to, mut from) = csp::channel::<u8>(); } (from.try_recv().unwrap_err(), to.is_poisoned());
    "csp: send_timeout, over": { let (mut to, from) = csp::channel(); }
        (to.send_timeout(1, NOT).unwrap_err(), from.is_poisoned());
    "csp: recv_timeout, over": { let (to, mut from) = csp::channel::<u8>(); }
        (from.recv_timeout(NOT).unwrap_err(), to.is_poisoned());
    "csp: send, closed": { let mut to = csp::channel().0; } to.send(1).unwrap_err();
    "csp: recv, closed": { let mut from = csp::channel::<u8>().1; } from.recv().unwrap_err();
    "csp: is_poisoned": { let (to, from) = csp::channel::<u8>(); } (to.is_poisoned(), from.is_poisoned());
    "csp: alt! with skip": { let (to, mut from) = csp::channel::<u8>(); }
        csp::alt! { recv(from) -> _ => assert!(to.is_poisoned()), skip => () };
    "csp: pri_alt!, over": { let (to, mut from) = csp::channel::<u8>(); }
        csp::pri_alt! { recv(from) -> _ => assert!(to.is_poisoned()), after(NOT) => () };
    "csp: Alternation::recv, closed": { let mut all = [csp::channel::<u8>().1]; let mut some = Alternation::fair(); }
        some.recv(&mut all).1.unwrap_err();
    "csp: Alternation::recv_if, closed": { let mut all = [csp::channel::<u8>().1];
        let mut some = Alternation::prioritised(); } some.recv_if(&mut all, |_| true).1.unwrap_err();
    "csp: Alternation::recv_until, over": { let (to, from) = csp::channel::<u8>(); let mut all = [from]; }
        assert!(Alternation::fair().recv_until(&mut all, |_| !to.is_poisoned(), Instant::now()).is_none());
    "csp: Barrier::sync": { let mut barrier = csp::Barrier::new(); } barrier.sync();
    "csp: Barrier::sync_timeout, over": { let mut barrier = csp::Barrier::new(); let other = barrier.enrol(); }
        (barrier.sync_timeout(NOT), other.members());
    "csp: Shared::claim": { let shared = csp::Shared::new(1); } drop(shared.claim());
    "csp: Shared::try_claim": { let shared = csp::Shared::new(1); } drop(shared.try_claim().unwrap());
    "csp: Shared::try_claim, refused": { let shared = held(csp::Shared::new(1), |shared| shared.claim()); }
        assert!(shared.try_claim().is_none());
    "csp: Shared::claim_timeout, over": { let shared = held(csp::Shared::new(1), |shared| shared.claim()); }
        assert!(shared.claim_timeout(NOT).is_none());

    "stm: TVar::load": { let variable = TVar::new(0); } variable.load();
    "stm: TVar::store": { let variable = TVar::new(0); } variable.store(1);
    "stm: atomically": { let variable = TVar::new(0); } atomically(|tx| tx.modify(&variable, |n| n + 1));
    "stm: atomically_or_err, aborted": {} atomically_or_err(|_| stm::abort::<(), _>(())).unwrap_err();
    "stm: atomically_until, over": { let (variable, then) = (TVar::new(0), Instant::now()); }
        atomically_until(then, |tx| { let n = tx.read(&variable)?; tx.check(n == 1) }).unwrap_err();
    "stm: read_only": { let variable = TVar::new(0); } read_only(|tx| tx.read(&variable));

    "park with a token": {} { csp::current().unwrap().unpark(); csp::park() };
    "park_timeout, over": {} csp::park_timeout(NOT);
    "sleep, over": {} csp::sleep(NOT);
    "sleep_until, over": { let then = Instant::now(); } csp::sleep_until(then);
    "yield_now": {} csp::yield_now();
    "JoinHandle::is_finished": { let waits = csp::spawn(csp::park); } assert!(!waits.is_finished());
    "JoinHandle::join_timeout, over": { let mut waits = Some(csp::spawn(csp::park)); }
        waits = Some(waits.take().unwrap().join_timeout(NOT).unwrap_err());
    "thread::JoinHandle::is_finished": { let waits = thread::spawn(thread::park); } assert!(!waits.is_finished());
    "task::JoinHandle::is_finished": { let waits = task::spawn(poll_fn(waits_for_ever)); }
        assert!(!waits.is_finished());
    "task::JoinHandle by hand": { let mut waits = task::spawn(poll_fn(waits_for_ever)); } assert!(!by_hand(&mut waits));
    "task::AbortHandle::is_finished": { let waits = task::spawn(poll_fn(waits_for_ever)).abort_handle(); }
        assert!(!waits.is_finished());
    "task::JoinSet::try_join_next": {
        let mut set = task::JoinSet::new();
        let _waits = set.spawn(poll_fn(waits_for_ever));
    }
        assert!(set.try_join_next().is_none());
    "task::Notify": { let notify = task::Notify::new(); }
        { notify.notify_one(); task::block_on(notify.notified()) };
    "task::Notify by hand": { let notify = kept(task::Notify::new()); let mut notified = notify.notified(); }
        assert!(!by_hand(&mut notified));
    "channel: recv_async by hand": { let (s, r) = kept(bounded::<u8>(0)); let mut future = r.recv_async(); }
        (assert!(!by_hand(&mut future)), s.same_channel(s));
    "channel: send_async by hand": { let (s, r) = kept(bounded::<u8>(0)); let mut future = s.send_async(1); }
        (assert!(!by_hand(&mut future)), r.same_channel(r));
    "Semaphore: acquire_async by hand": { let none = kept(Semaphore::new(0)); let mut future = none.acquire_async(); }
        assert!(!by_hand(&mut future));
    "Token::is_cancelled": { let token = Token::new(); } assert!(!token.is_cancelled());
    "cancel::is_cancelled": {} assert!(!cancel::is_cancelled());
};

/// A runtime of one worker whose time slices are short.
fn one_worker() -> Runtime {
    Runtime::builder().workers(1).tick(Duration::from_millis(1)).build().expect("a runtime")
}

/// As [`one_worker`], and its processes share the storage of the worker.
fn one_light_worker() -> Runtime {
    // SAFETY: nothing here depends on a thread-local variable while it waits.
    let builder = unsafe { Runtime::builder().light_processes() };
    builder.workers(1).tick(Duration::from_millis(1)).build().expect("a runtime")
}

/// Does it until another process has slept.
fn repeat(operation: Make) {
    let (flag, count) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let other = flag.clone();
    let sets = csp::spawn(move || {
        csp::sleep(SLEEP);
        other.store(true, Ordering::Release);
    });
    let mut operation = operation();
    while !flag.load(Ordering::Acquire) {
        operation();
        count.fetch_add(1, Ordering::Relaxed);
    }
    assert!(count.into_inner() > 0);
    sets.join().unwrap();
}

/// Aborts with a word about the operation that keeps its worker.
fn watched(what: &'static str, all: impl FnOnce(&dyn Fn(&'static str))) {
    let (now, progress) = (Arc::new(StdMutex::new("")), Progress::default());
    let seen = now.clone();
    let _dog =
        Watchdog::new(what.to_owned(), progress.clone(), move || format!("in {}", seen.lock().unwrap()));
    all(&|operation| {
        *now.lock().unwrap() = operation;
        progress.note();
    });
}

fn each(what: &'static str, runtime: fn() -> Runtime, as_one: impl Fn(Make) + Sync) {
    watched(what, |begin| {
        for (name, operation) in OPERATIONS {
            begin(name);
            runtime().run(|| as_one(*operation));
        }
    });
}

#[test]
fn a_light_process_that_never_waits_starves_nobody() {
    each("light processes", one_light_worker, |operation| {
        csp::spawn(move || repeat(operation)).join().unwrap()
    });
}

#[test]
fn a_process_that_never_waits_starves_nobody() {
    each("processes", one_worker, |operation| csp::spawn(move || repeat(operation)).join().unwrap());
}

#[test]
fn a_thread_that_never_waits_starves_nobody() {
    each("threads", one_worker, |operation| thread::spawn(move || repeat(operation)).join().unwrap());
}

#[test]
fn a_fork_that_never_waits_starves_nobody() {
    each("forks", one_worker, |operation| {
        csp::spawn(move || raddle::join(|| raddle::join(|| (), || repeat(operation)), || ())).join().unwrap();
    });
}

#[test]
fn who_comes_from_outside_gets_a_turn_beside_such_a_loop() {
    watched("from outside", |begin| {
        begin("try_recv");
        let runtime = one_worker();
        let (s, r) = bounded(1);
        let polls = runtime.spawn(move || (0_u64..).find_map(|_| r.try_recv().ok()));
        runtime.spawn(move || s.send(7).unwrap()).join().unwrap();
        assert_eq!(polls.join().unwrap(), Some(7));
    });
}

#[test]
fn two_that_poll_meet_the_partner_that_they_poll_for() {
    watched("polls", |begin| {
        begin("recv_timeout(0), csp");
        one_worker().run(|| {
            let (mut to, mut from) = csp::channel();
            let polls = csp::spawn(move || (0_u64..).find_map(|_| from.recv_timeout(NOT).ok()));
            let sends = csp::spawn(move || to.send(8));
            assert_eq!(polls.join().unwrap(), Some(8));
            sends.join().unwrap().unwrap();
        });
        begin("send_timeout(0), csp");
        one_worker().run(|| {
            let (mut to, mut from) = csp::channel();
            let polls = csp::spawn(move || (0_u64..).any(|_| to.send_timeout(9, NOT).is_ok()));
            let receives = csp::spawn(move || from.recv());
            assert_eq!(receives.join().unwrap(), Ok(9));
            assert!(polls.join().unwrap());
        });
        begin("select_timeout(0), channel");
        one_worker().run(|| {
            let (s, r) = bounded(0);
            let polls = csp::spawn(move || {
                (0_u64..).find_map(|_| raddle::select! { recv(r) -> got => got.ok(), default(NOT) => None })
            });
            let sends = csp::spawn(move || s.send(10));
            assert_eq!(polls.join().unwrap(), Some(10));
            sends.join().unwrap().unwrap();
        });
    });
}

#[test]
fn a_task_that_is_never_pending_starves_nobody() {
    watched("a task", |begin| {
        begin("task::sleep(0)");
        one_worker().run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let polls = task::spawn(async move {
                while !flag.load(Ordering::Acquire) {
                    task::sleep(NOT).await;
                }
            });
            csp::sleep(SLEEP);
            other.store(true, Ordering::Release);
            task::block_on(polls).unwrap();
        });
    });
}

/// Polls for three slices at least.
struct Polls(channel::Receiver<u8>, Arc<AtomicBool>);

impl Drop for Polls {
    fn drop(&mut self) {
        let begun = Instant::now();
        while begun.elapsed() < SLEEP {
            assert!(self.0.try_recv().is_err());
        }
        assert!(!self.1.load(Ordering::Acquire), "another ran meanwhile");
    }
}

#[test]
fn a_light_process_that_unwinds_keeps_its_worker() {
    watched("unwinding", |begin| {
        begin("try_recv");
        // Nobody takes what waits behind it: to unwind, it may stand for long at a lock of the dynamic linker's.
        // SAFETY: nothing here depends on a thread-local variable while it waits.
        let builder = unsafe { Runtime::builder().light_processes() };
        let alone = builder.workers(1).balance(Balance::None).tick(Duration::from_millis(1));
        alone.build().expect("a runtime").run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let (polls, other) = (Polls(never(), flag.clone()), flag.clone());
            let unwinds = csp::spawn(move || {
                let _polls = polls;
                // Nothing is printed.
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            let sets = csp::spawn(move || other.store(true, Ordering::Release));
            assert_eq!(unwinds.join().unwrap_err().downcast_ref(), Some(&"on purpose"));
            sets.join().unwrap();
        });
    });
}
