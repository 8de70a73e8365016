//! Owns: `ThreadBuilder`, what a program gets that makes a pool's OS threads itself, and the two ways to make them.
//! May use: `raddle-core`.
//! Never: a worker's memory freed because the program has not run it.

use raddle_core::os_thread;
use std::fmt;
use std::io;
use std::thread::JoinHandle;

/// One OS thread that a pool is to have: see [`ThreadPoolBuilder::spawn_handler`](super::ThreadPoolBuilder).
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    index: usize,
    body: LoopBody,
}

/// A worker's loop. Unused it is kept, since it holds what others point to.
struct LoopBody(Option<Box<dyn FnOnce() + Send>>);

impl Drop for LoopBody {
    fn drop(&mut self) {
        std::mem::forget(self.0.take());
    }
}

impl ThreadBuilder {
    pub(super) fn new(
        index: usize,
        name: Option<String>,
        stack_size: Option<usize>,
        body: Box<dyn FnOnce() + Send>,
    ) -> Self {
        ThreadBuilder { name, stack_size, index, body: LoopBody(Some(body)) }
    }

    /// The number of its worker, counted from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name that [`thread_name`](super::ThreadPoolBuilder::thread_name) has given it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The bytes that [`stack_size`](super::ThreadPoolBuilder::stack_size) has asked for.
    ///
    /// The pool's jobs have stacks of that size; what its OS threads have, matters to none of them.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool; returns when that has been dropped and everything in it has ended. To be called on the new
    /// thread.
    ///
    /// It does not return if a job of the pool that has begun here never ends, since it waits for what nobody does any
    /// more: the job may have lent others a thread-local variable of this OS thread.
    ///
    /// That may be any flow of control: an OS thread, a `thread`, a process, a job of another pool. One of Raddle's own
    /// makes way as for [`blocking`](raddle_core::blocking::blocking): its worker goes on with others, and one of the
    /// spare OS threads does the work. What runs on the pool's worker finds the thread-local variables of that OS
    /// thread, or, if a `thread` calls, its own.
    ///
    /// # Panics
    /// Inside a task, which must not wait. The pool lacks a worker then.
    ///
    /// ```
    /// use raddle::{ThreadPoolBuilder, csp};
    /// let spawn = |thread: raddle::ThreadBuilder| Ok(drop(csp::spawn(|| thread.run())));
    /// let pool = ThreadPoolBuilder::new().num_threads(2).spawn_handler(spawn).build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), raddle::ThreadPoolBuildError>(())
    /// ```
    #[track_caller]
    pub fn run(mut self) {
        raddle_core::runtime::lend(&mut self.body.0);
    }

    /// As [`run`](Self::run), on an OS thread that has been made for it and does nothing else.
    fn run_alone(mut self) {
        self.body.0.take().into_iter().for_each(|body| body());
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// A way to make a pool's OS threads. Not to be implemented: the two there are belong to the builder.
pub trait ThreadSpawn {
    /// Whether the program does it.
    #[doc(hidden)]
    const IS_CUSTOM: bool;

    /// Makes one, or has the program do so.
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<Option<JoinHandle<()>>>;
}

/// By the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    const IS_CUSTOM: bool = false;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<Option<JoinHandle<()>>> {
        let name = thread.name().map_or_else(|| format!("raddle-{}", thread.index()), str::to_owned);
        os_thread::begin(name, Box::new(|| thread.run_alone())).map(Some)
    }
}

/// By the program.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(super) F);

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    const IS_CUSTOM: bool = true;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<Option<JoinHandle<()>>> {
        (self.0)(thread).map(|()| None)
    }
}
