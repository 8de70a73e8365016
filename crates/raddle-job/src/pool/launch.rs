//! Owns: `ThreadBuilder`, what a program gets that makes a pool's OS threads itself, and the two ways to make them.
//! May use: nothing.
//! Never: a worker's memory freed because the program has not run it.

use std::fmt;
use std::io;
use std::thread::{self, JoinHandle};

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

    /// Works for the pool; returns when that has been dropped and everything has ended. To be called on the new thread.
    pub fn run(mut self) {
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
        thread::Builder::new().name(name).spawn(|| thread.run()).map(Some)
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
