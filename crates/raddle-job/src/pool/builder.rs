//! Owns: `ThreadPoolBuilder`: from rayon-core's settings to a pool.
//! May use: `raddle-core`.
//! Never: a setting that Rayon does not have; those are `runtime::Builder`'s.

use super::error::{ThreadPoolBuildError, Why};
use super::launch::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
use super::{ThreadPool, max_num_threads};
use raddle_core::os_thread::passing;
use raddle_core::runtime::{self, BuildError, Builder, Runtime, place};
use raddle_core::worker::hooks::Hooks;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Settings for a [`ThreadPool`] that is to be built, or for the default runtime.
///
/// ```
/// let pool = raddle::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .thread_name(|index| format!("mine-{index}"))
///     .build()?;
/// let name = pool.install(|| std::thread::current().name().map(String::from));
/// assert!(name.is_some_and(|name| name.starts_with("mine-")));
/// # Ok::<(), raddle::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    stack_size: Option<usize>,
    use_current_thread: bool,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    hooks: Hooks,
    spawn_handler: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            stack_size: None,
            use_current_thread: false,
            thread_name: None,
            hooks: Hooks::default(),
            spawn_handler: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// Default settings: as many workers as there are cores for.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool for as long as `with_pool` runs. Each of its OS threads calls `wrapper`, which may prepare
    /// something there, also borrowed, and goes on by [`ThreadBuilder::run`].
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// # Panics
    /// As `with_pool`; and if a `wrapper` does.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        std::thread::scope(|scope| {
            let spawn = |thread: ThreadBuilder| {
                let mut builder = std::thread::Builder::new();
                if let Some(name) = thread.name() {
                    builder = builder.name(name.to_owned());
                }
                if let Some(bytes) = thread.stack_size() {
                    builder = builder.stack_size(bytes);
                }
                builder.spawn_scoped(scope, passing(move || wrapper(thread))).map(drop)
            };
            let pool = self.spawn_handler(spawn).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Starts the workers.
    ///
    /// # Errors
    /// If the system refuses an OS thread, or the spawn handler answers with an error; if a `RADDLE_*` variable is
    /// wrong; if the calling OS thread is to be part of the pool, and is of another one.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let joins = self.joins()?;
        let shared = self.start().map_err(ThreadPoolBuildError::from)?.release();
        if joins {
            place::join_pool(leak(shared.clone()));
        }
        Ok(ThreadPool { shared })
    }

    /// Starts the workers as the default runtime, which lives until the program ends.
    ///
    /// # Errors
    /// As [`build`](Self::build), and if the default runtime has been started already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let joins = self.joins()?;
        runtime::install_default(|| self.start())?;
        if joins {
            place::join_default();
        }
        Ok(())
    }

    /// Whether the calling OS thread is to be part of the pool.
    fn joins(&self) -> Result<bool, ThreadPoolBuildError> {
        if self.use_current_thread && place::place().is_some() {
            return Err(Why::CurrentThreadAlreadyInPool.into());
        }
        Ok(self.use_current_thread)
    }

    /// Whether the program does something to the OS threads that jobs may see.
    fn prepares_threads(&self) -> bool {
        S::IS_CUSTOM || self.thread_name.is_some() || self.hooks.start.is_some() || self.hooks.exit.is_some()
    }

    fn start(mut self) -> Result<Runtime, BuildError> {
        let mut builder = Builder::default();
        if let Some(count) = workers_wanted(self.num_threads) {
            builder = builder.workers(count.min(max_num_threads()));
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        if self.prepares_threads() {
            builder = builder.jobs_hold_threads();
        }
        self.hooks.first_is_foreign = self.use_current_thread;
        builder.hooks(self.hooks.clone()).build_with(&mut |index, body| {
            let foreign = index == 0 && self.use_current_thread;
            let name = self.thread_name.as_mut().filter(|_| !foreign).map(|name| name(index));
            let thread = ThreadBuilder::new(index, name, self.stack_size, body);
            if foreign { DefaultSpawn.spawn(thread) } else { self.spawn_handler.spawn(thread) }
        })
    }
}

/// A pool with an OS thread of the program in it stays, since nobody hears of that thread's end.
fn leak<T>(shared: Arc<T>) -> &'static T {
    Box::leak(Box::new(shared))
}

/// As said, by `RAYON_NUM_THREADS`, or as a runtime would have it.
fn workers_wanted(said: usize) -> Option<usize> {
    let by_environment = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok();
    Some(said).filter(|&count| count > 0).or_else(by_environment).filter(|&count| count > 0)
}

impl<S> ThreadPoolBuilder<S> {
    /// The number of workers. 0, the default, means `RAYON_NUM_THREADS`, and without that as many as a
    /// [`Runtime`] would have. At most [`max_num_threads`].
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// The least stack of the pool's jobs, in bytes; default: that of a thread, 2 MiB, or `RUST_MIN_STACK`.
    ///
    /// Stacks cost address space until they are touched.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// What to call the OS thread of the worker of a number.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// The calling OS thread is to be the first worker of the pool.
    ///
    /// [`current_thread_index`](super::current_thread_index) says 0 there, what it spawns and joins belongs to the
    /// pool, and the handlers are not called for it. The jobs of its share are run by an OS thread of the pool's own,
    /// under number 0 too, but only while the calling thread waits, by `scope`, `join` or another of Raddle's means, or
    /// calls [`yield_now`](super::yield_now): never are two at work under that number. Meanwhile the other workers run
    /// what it spawns; a pool that has none runs nothing. What is bound to that worker (a job of `broadcast`, or one
    /// that has begun there and waited) stays until then. When its wait is over the calling thread goes on as soon as
    /// the job that runs there ends or waits itself.
    ///
    /// The pool is not freed when it is dropped. From then on its workers run what is left, the first one also while
    /// the calling thread is at work.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Called with the payload of a panic that nobody else receives: of a spawned job, of a handler.
    ///
    /// Without one the program aborts; so it does if this panics.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.hooks.panic = Some(Arc::new(panic_handler));
        self
    }

    /// Is called on each OS thread of the pool when it begins, with the number of its worker. A panic goes to the
    /// [panic handler](Self::panic_handler), and the thread begins nevertheless.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.hooks.start = Some(Arc::new(start_handler));
        self
    }

    /// Is called on each OS thread of the pool before it ends, with the number of its worker. A panic goes to the
    /// [panic handler](Self::panic_handler).
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.hooks.exit = Some(Arc::new(exit_handler));
        self
    }

    /// Lets the program create the OS threads: `spawn` is called for each, and must make a new thread call
    /// [`ThreadBuilder::run`].
    ///
    /// They end when the pool has been dropped and everything in it has ended.
    ///
    /// ```
    /// let pool = raddle::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), raddle::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            stack_size: self.stack_size,
            use_current_thread: self.use_current_thread,
            thread_name: self.thread_name,
            hooks: self.hooks,
            spawn_handler: CustomSpawn(spawn),
        }
    }

    /// A hint that has no effect: in which order jobs begin, `scope_fifo` and `spawn_fifo` say.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(self) -> Self {
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}
