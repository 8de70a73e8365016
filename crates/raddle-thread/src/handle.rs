//! Owns: `Thread`, by which anybody can unpark one, and `JoinHandle`, by which one can wait for its end.
//! May use: `id`, `wait`, `raddle-core`.
//! Never: a block.

use super::id::ThreadId;
use super::wait::refuse_in_task;
use raddle_core::process::handle::Joiner;
use raddle_core::process::{self, Process};
use raddle_core::worker::choice::now;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::thread::Result;
use std::time::Duration;

/// A handle to a thread: its name, its number, and [`unpark`](Thread::unpark). Cheap to clone; may outlive it.
///
/// ```
/// use raddle::thread;
/// let named = thread::Builder::new().name("weaver".into()).spawn(|| thread::current().name().map(String::from))?;
/// assert_eq!(named.join().unwrap().as_deref(), Some("weaver"));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Thread(ThreadKind);

#[derive(Clone)]
enum ThreadKind {
    /// A thread of ours, or a process.
    Ours(Process),
    System(std::thread::Thread),
}

// What a panic leaves half done in a thread is behind its join handle; this one only wakes and names.
impl UnwindSafe for Thread {}
impl RefUnwindSafe for Thread {}

impl Thread {
    pub(super) fn of_ours(process: Process) -> Thread {
        Thread(ThreadKind::Ours(process))
    }

    /// Ends the thread's current or next [`park`](super::park). Does nothing if the thread has ended.
    ///
    /// May be called from anywhere: a thread, a process, a task, an OS thread.
    pub fn unpark(&self) {
        match &self.0 {
            ThreadKind::Ours(process) => process.unpark(),
            ThreadKind::System(thread) => thread.unpark(),
        }
    }

    /// Its number, which no other thread of the program has had or will have.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        match &self.0 {
            ThreadKind::Ours(process) => ThreadId::of_ours(process.id().number()),
            ThreadKind::System(thread) => ThreadId::of_system(thread.id()),
        }
    }

    /// The name that it was given by [`Builder::name`](super::Builder::name).
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            ThreadKind::Ours(process) => process.name(),
            ThreadKind::System(thread) => thread.name(),
        }
    }
}

/// An OS thread of the program. `std`'s parking and ours are the same for it.
impl From<std::thread::Thread> for Thread {
    fn from(thread: std::thread::Thread) -> Thread {
        Thread(ThreadKind::System(thread))
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The thread that calls. In a process that process; on an OS thread, and in a task, the OS thread.
///
/// ```
/// use raddle::thread;
/// let here = thread::current();
/// thread::spawn(move || here.unpark());
/// thread::park();
/// ```
#[must_use]
pub fn current() -> Thread {
    match process::current() {
        Some(process) => Thread(ThreadKind::Ours(process)),
        None => Thread(ThreadKind::System(std::thread::current())),
    }
}

/// The right to wait for a thread's end and to have its result. Dropping it detaches the thread.
pub struct JoinHandle<T> {
    joiner: Joiner<T>,
    thread: Thread,
}

// SAFETY: whoever makes a thread must have shown that its value may be sent (`Builder::spawn_unchecked` asks for it,
// too), so that the handle need not ask again.
unsafe impl<T> Send for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    pub(super) fn new(joiner: Joiner<T>) -> Self {
        let thread = Thread::of_ours(joiner.process());
        JoinHandle { joiner, thread }
    }

    /// The thread, to unpark it or to ask for its name.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for the thread's end, its thread-locals' destructors included. What waits leaves its worker to others.
    ///
    /// # Errors
    /// The payload of the thread's panic.
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        refuse_in_task("thread::JoinHandle::join");
        self.joiner.join_or_unwind()
    }

    /// As [`join`](Self::join), and gives up when `timeout` has passed. Not part of `std`'s.
    ///
    /// # Errors
    /// The handle, if the thread has not ended by then; else as `join`.
    ///
    /// # Panics
    /// As `join`.
    #[track_caller]
    pub fn join_timeout(self, timeout: Duration) -> std::result::Result<Result<T>, JoinHandle<T>> {
        refuse_in_task("thread::JoinHandle::join_timeout");
        let JoinHandle { joiner, thread } = self;
        joiner.join_until(now().checked_add(timeout)).map_err(|joiner| JoinHandle { joiner, thread })
    }

    /// Whether the thread's function has ended, so that [`join`](Self::join) returns soon.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.joiner.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
