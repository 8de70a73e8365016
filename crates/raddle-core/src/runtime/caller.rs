//! Owns: OS threads of the program that work for a runtime: the one that builds it, and whoever lends itself.
//! May use: `block::current`, `blocking`, `wait::park`, `libc`, `raddle-syscall`.
//! Never: leaves such a thread otherwise than it was.

use super::Runtime;
use super::builder::{BuildError, Builder};
use crate::blocking::blocking;
use crate::wait::park;
use crate::worker::current_header;
use std::marker::PhantomData;
use std::os::unix::thread::JoinHandleExt as _;
use std::thread::JoinHandle;

/// The first worker's work, to be done by the thread that built the runtime.
///
/// For an engine that goes on with what it has begun by itself: another OS thread would take 50 us to start.
#[doc(hidden)]
#[must_use = "the runtime lacks a worker until it works"]
pub struct Caller {
    body: Box<dyn FnOnce() + Send>,
    /// It stays on this thread.
    here: PhantomData<*const ()>,
}

impl Builder {
    /// Builds a runtime of which the calling OS thread is to be the first worker, as soon as it
    /// [works](Caller::work). It must not be a worker already. What is to run there waits until then; so does whoever
    /// shuts the runtime down otherwise than by [`stop`](Runtime::stop).
    ///
    /// # Errors
    /// As [`build`](Builder::build).
    ///
    /// # Panics
    /// If something of a runtime's runs on the calling OS thread.
    #[doc(hidden)]
    pub fn build_with_caller(self) -> Result<(Runtime, Caller), BuildError> {
        assert!(current_header().is_null(), "the calling OS thread runs something of a runtime's");
        let mut first = None;
        let runtime = self.build_beside(&mut first)?;
        let body = first.expect("a runtime has a first worker");
        Ok((runtime, Caller { body, here: PhantomData }))
    }
}

impl Caller {
    /// Works until the runtime is stopped.
    pub fn work(self) {
        work(self.body);
    }
}

/// Does a worker's work for whoever calls, until that worker's runtime has ended.
///
/// | caller | where |
/// |---|---|
/// | an OS thread of the program, or a process inside of a `blocking` | on it |
/// | a process, a job, a thread | as in [`blocking`]: on a spare OS thread, and the caller's worker goes on |
/// | whoever unwinds | on a new OS thread: what runs would find itself unwinding, too. The caller's OS thread waits |
/// | a task | nowhere: a panic |
///
/// # Panics
/// Inside a task, with nothing done.
#[track_caller]
pub fn lend(body: &mut Option<Box<dyn FnOnce() + Send>>) {
    let unwinds = std::thread::panicking();
    assert!(
        unwinds || park::may_wait(),
        "a task must not work for a pool: it would stop its own worker until that pool ends; let an OS thread, a \
         thread or a process call `ThreadBuilder::run`"
    );
    let Some(body) = body.take() else { return };
    if !unwinds {
        return blocking(|| work(body));
    }
    std::thread::scope(|scope| {
        // If the system refuses one, that is a second panic, which ends the program.
        scope.spawn(body);
    });
}

fn work(body: Box<dyn FnOnce() + Send>) {
    let _as_it_was = Lent::new();
    body();
}

/// A thread that has just been made goes to another processor than this one, if there is one; later it may run
/// anywhere.
///
/// PERF: Linux begins about half of them on their maker's processor, where they wait for 200 us or more, since the
/// maker does not sleep.
pub(super) fn send_elsewhere(thread: &JoinHandle<()>) {
    let (thread, bytes) = (thread.as_pthread_t(), size_of::<libc::cpu_set_t>());
    // SAFETY: a set of bits, for which all zeroes is a value.
    let mut all: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the thread has not been joined; at most the size is written.
    if unsafe { libc::pthread_getaffinity_np(thread, bytes, &raw mut all) } != 0 {
        return;
    }
    // SAFETY: touches no memory of ours.
    let Ok(here) = usize::try_from(unsafe { libc::sched_getcpu() }) else { return };
    let mut others = all;
    // SAFETY: the number of a processor lies within the set, which the kernel has filled.
    unsafe { libc::CPU_CLR(here, &mut others) };
    // SAFETY: it is only read. A set without any is refused below.
    let there_are = unsafe { libc::CPU_COUNT(&others) } > 0;
    for set in [&others, &all].into_iter().filter(|_| there_are) {
        // SAFETY: as above; the set is only read. A refusal leaves it where it is.
        unsafe { libc::pthread_setaffinity_np(thread, bytes, set) };
    }
}

/// What a worker changes of its OS thread.
struct Lent {
    processors: Option<libc::cpu_set_t>,
    slack_ns: Option<usize>,
}

impl Lent {
    fn new() -> Lent {
        // SAFETY: touches no memory of ours.
        let slack_ns = unsafe { raddle_syscall::prctl(libc::PR_GET_TIMERSLACK, 0) };
        Lent { processors: processors(), slack_ns: slack_ns.ok() }
    }
}

/// Where the calling OS thread may run.
pub(super) fn processors() -> Option<libc::cpu_set_t> {
    raddle_syscall::affinity().ok()
}

/// The calling OS thread, which was bound, may run where it might `before`. A refusal leaves it where it is.
///
/// Linux remembers which processors a thread has asked for: when the cpuset of a container is widened it runs there no
/// more, nor do the threads and programs that it begins. So it asks for all, of which the kernel takes those of the
/// cpuset, unless somebody had asked for fewer.
pub(super) fn unbind(before: &libc::cpu_set_t) {
    // SAFETY: a set of bits, for which all zeroes is a value.
    let mut all: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for processor in 0..libc::CPU_SETSIZE as usize {
        // SAFETY: the index is within the set.
        unsafe { libc::CPU_SET(processor, &mut all) };
    }
    let _refused = raddle_syscall::set_affinity(&all);
    if !processors().is_some_and(|now| are_same(before, &now)) {
        let _refused = raddle_syscall::set_affinity(before);
    }
}

fn are_same(one: &libc::cpu_set_t, two: &libc::cpu_set_t) -> bool {
    // SAFETY: two sets, which are only read.
    unsafe { libc::CPU_EQUAL(one, two) }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let now = processors();
        // Only if it was bound: who says where a thread may run says so for good.
        if let (Some(before), Some(now)) = (&self.processors, &now)
            && !are_same(before, now)
        {
            unbind(before);
        }
        if let Some(slack_ns) = self.slack_ns {
            // SAFETY: touches no memory of ours.
            let _refused = unsafe { raddle_syscall::prctl(libc::PR_SET_TIMERSLACK, slack_ns) };
        }
    }
}
