//! Owns: what `fork` means to a program that uses Raddle.
//! May use: `block::current`, `block::pool`, `blocking`, `orphan`, `os_thread`, `worker`, `libc`,
//! `raddle-context`.
//! Never: the parent's workers, in the child: it does not have them.
//!
//! As with POSIX threads, the child has only the one that called `fork`. If that is a process, it goes on in the child
//! as an OS thread of its own: it is no process any more, waits by blocking, and what it spawns belongs to a
//! default runtime that the child starts anew. All other processes do not exist there. When its function ends, the
//! child exits as a program does whose `main` ends so: with 0, or with 101 after a panic. A task that forks goes on in
//! the child to the end of its poll, and a call of `blocking` to its own; then the child exits in the same way.
//!
//! A [`Runtime`](crate::Runtime) that the parent built has no OS threads in the child: dropping it there does nothing,
//! and to run something on it is refused by a panic.
//!
//! The locks of ours that another thread might hold at the moment of the fork, and that the child may need, are taken
//! before and released after:
//!
//! | lock | what for, in the child |
//! |---|---|
//! | of the default runtime's start, and of what each start asks of the system once | it starts another |
//! | of the list of runtimes with a trace | its end asks who has a file to write |
//! | of the probe for thread-local storage | its first thread asks what the probe has found |
//! | of the depots of blocks, jobs and thread-local storage, and of glibc's list of them | what it spawns |
//! | of the spare OS threads | its calls of `blocking` |
//! | of the runtimes and OS threads that are watched for hangs | what it starts is watched there |
//! | of the job queues of the runtime whose process forks | it takes back what it has forked and nobody has taken |
//! | of the standard library, when one of our OS threads begins or ends | its OS threads enter themselves there |
//! | of adaptors, as they say ([`hold_for_adaptor`]) | sockets that it opens |
//!
//! What of the parent's runtime has a lock besides is not touched in the child: to wake a process of the parent's, or
//! to take back its alarm, does nothing there. Nobody waits at a futex of `door` there. A lock of the program's own,
//! `raddle::sync`'s among them, stays locked if another thread has it, as with POSIX threads.

use crate::block::pool;
use crate::blocking;
use crate::orphan;
use crate::os_thread::{self, NoPassage, Records};
use crate::runtime::{self, Shared};
use crate::worker::Worker;
use crate::worker::jobs;
use crate::worker::recording::RECORDER;
use crate::worker::watching::{HeldOverFork, WATCHER};
use raddle_context::tls;
use std::any::Any;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

/// What the forking thread holds from `prepare` to `parent` or `child`.
struct ForkGuards {
    _starting: MutexGuard<'static, ()>,
    _building: MutexGuard<'static, ()>,
    /// Before the watcher goes on, which may make a worker.
    _queues: Option<HeldQueues>,
    watched: Option<Box<dyn HeldOverFork>>,
    _traces: Option<Box<dyn Any>>,
    _blocks: pool::DepotGuard,
    _jobs: jobs::DepotGuard,
    spares: blocking::PoolGuard,
    os_threads: Records,
    storages: tls::Held,
    /// Taken behind ours: who has one of ours may take one of theirs.
    _adaptors: HeldAdaptors,
    /// After all: who holds one of them may make an OS thread.
    passages: NoPassage,
}

/// By its name, what takes the locks of an adaptor.
type Adaptor = (&'static str, fn() -> Box<dyn Any>);

static ADAPTORS: Mutex<Vec<Adaptor>> = Mutex::new(Vec::new());

fn adaptors() -> MutexGuard<'static, Vec<Adaptor>> {
    ADAPTORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The locks of the adaptors, and that of their list.
struct HeldAdaptors(
    #[expect(dead_code, reason = "they are held")] Vec<Box<dyn Any>>,
    #[expect(dead_code, reason = "it is held")] MutexGuard<'static, Vec<Adaptor>>,
);

impl HeldAdaptors {
    fn take() -> HeldAdaptors {
        let all = adaptors();
        HeldAdaptors(all.iter().map(|(_, take)| take()).collect(), all)
    }
}

/// From now on a fork holds what `take` returns, taken by the OS thread that forks; once for each name.
pub fn hold_for_adaptor(name: &'static str, take: fn() -> Box<dyn Any>) {
    install();
    let mut all = adaptors();
    if all.iter().all(|(other, _)| *other != name) {
        all.push((name, take));
    }
}

/// The job queues of the runtime whose process, or task, forks; held.
struct HeldQueues(&'static Shared);

impl HeldQueues {
    fn of_caller() -> Option<HeldQueues> {
        // SAFETY: the word is null or the header of what runs here, which is alive.
        let running = unsafe { crate::worker::current_header().as_ref() }?;
        // SAFETY: what runs has a worker, of which only the public half is used.
        let worker = unsafe { Worker::of(running) };
        let shared = worker.shared();
        shared.everybody().for_each(|worker| worker.jobs.hold());
        Some(HeldQueues(shared))
    }
}

impl Drop for HeldQueues {
    fn drop(&mut self) {
        self.0.everybody().for_each(|worker| worker.jobs.let_go());
    }
}

thread_local! {
    /// Without a destructor, so that it is there for a fork in a destructor, too.
    static HELD: RefCell<ManuallyDrop<Option<ForkGuards>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

extern "C" fn prepare() {
    hold(Some(ForkGuards {
        _starting: runtime::starting(),
        _building: runtime::building(),
        watched: WATCHER.get().map(|watcher| watcher.hold_over_fork()),
        _traces: RECORDER.get().map(|recorder| recorder.hold_over_fork()),
        _blocks: pool::depot(),
        _jobs: jobs::depot(),
        spares: blocking::lock_pool(),
        os_threads: os_thread::records(),
        storages: tls::Held::take(),
        _queues: HeldQueues::of_caller(),
        _adaptors: HeldAdaptors::take(),
        passages: NoPassage::wait(),
    }));
}

/// Keeps something for this OS thread; returns what was kept before.
fn hold(new: Option<ForkGuards>) -> Option<ForkGuards> {
    ManuallyDrop::into_inner(HELD.replace(ManuallyDrop::new(new)))
}

extern "C" fn parent() {
    drop(hold(None));
}

extern "C" fn child() {
    // SAFETY: the word is null or the header of what runs here, which is alive.
    let running = unsafe { crate::worker::current_header().as_ref() };
    if let Some(mut held) = hold(None) {
        held.spares.forget();
        held.watched.iter_mut().for_each(|watched| watched.in_child());
        os_thread::forget(&mut held.os_threads);
        held.storages.in_child();
        held.passages.in_child();
    }
    orphan::begin_generation(running.is_some());
    if let Some(forget) = FORGET_WAITERS.get() {
        // SAFETY: the child has been forked just now.
        unsafe { forget() };
    }
    runtime::forget_default();
    // SAFETY: nothing of ours runs here any more.
    unsafe { raddle_context::current::set(std::ptr::null_mut()) };
}

/// Empties what the parent's threads wait in, in a child.
static FORGET_WAITERS: OnceLock<unsafe fn()> = OnceLock::new();

/// As [`install`], for those who wait in a table of the program's: a child calls `forget`, as its only thread.
#[inline]
pub(crate) fn install_with(forget: unsafe fn()) {
    FORGET_WAITERS.get_or_init(|| {
        install();
        forget
    });
}

/// Registers the handlers, once.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: registers functions that live as long as the program; a refusal leaves `fork` as it is without us.
        unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
    });
}
