//! Owns: `scope`: threads that may borrow from their maker, because it waits for them.
//! May use: `builder`, `handle`, `wait`, `raddle-core`.
//! Never: returning, even by a panic, while a thread of the scope runs.

use super::builder::Builder;
use super::handle::Thread;
use super::wait::refuse_in_task;
use raddle_core::message::end_if_of_settings;
use raddle_core::process::handle::Joiner;
use raddle_core::process::scope::ScopeData;
use raddle_core::region;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::thread::Result;

/// A scope to spawn threads in; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    data: ScopeData,
    /// Invariant: a scope that could be taken for a shorter one would let go of borrows too early.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `f` with a scope, waits for every thread spawned in it, and returns what `f` returned.
///
/// # Panics
/// As `f`; and if a thread panicked whose handle was not joined. Inside a task, which must not wait.
///
/// ```
/// use raddle::thread;
/// let (mut numbers, mut sum) = (vec![1, 2, 3], 0);
/// thread::scope(|s| {
///     s.spawn(|| println!("borrowed: {numbers:?}"));
///     s.spawn(|| sum = numbers.iter().sum());
/// });
/// numbers.push(sum);
/// assert_eq!(numbers, [1, 2, 3, 6]);
/// ```
///
/// A thread may not borrow what ends with the closure that spawned it:
///
/// ```compile_fail
/// raddle::thread::scope(|s| {
///     s.spawn(|| {
///         let inner = String::from("gone too early");
///         s.spawn(|| println!("{inner}"));
///     });
/// });
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    refuse_in_task("thread::scope");
    let scope = Scope { data: ScopeData::open(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    scope.data.wait(Location::caller());
    match result {
        Err(panic) => resume_unwind(panic),
        Ok(_) if scope.data.has_panicked() => panic!("a scoped thread panicked"),
        Ok(value) => {
            region::check();
            value
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Spawns a thread that may borrow what outlives the scope.
    ///
    /// # Panics
    /// If it cannot be made; [`Builder::spawn_scoped`] returns that as an error.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new()
            .spawn_scoped(self, f)
            .inspect_err(|error| end_if_of_settings(error))
            .expect("failed to spawn thread")
    }
}

impl Builder {
    /// Spawns the thread in `scope`, from which it may borrow.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    ///
    /// # Panics
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let entered = scope.data.enter();
        // SAFETY: the scope does not end before its threads have, and what they borrow outlives it.
        let joiner = unsafe { self.make(&scope.data, f) }?;
        entered.keep();
        let thread = Thread::of_ours(joiner.process());
        Ok(ScopedJoinHandle { joiner, thread, scope: PhantomData })
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("num_running_threads", &self.data.children())
            .field("a_thread_panicked", &self.data.has_panicked())
            .finish_non_exhaustive()
    }
}

/// The handle of a scoped thread. Dropping it leaves the thread to the scope, which waits for it.
pub struct ScopedJoinHandle<'scope, T> {
    joiner: Joiner<T>,
    thread: Thread,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// The thread, to unpark it or to ask for its name.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for the thread's end; see [`JoinHandle::join`](super::JoinHandle::join).
    ///
    /// # Errors
    /// The payload of the thread's panic; the scope then does not panic for it.
    ///
    /// # Panics
    /// Inside a task, which must not wait.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        refuse_in_task("thread::ScopedJoinHandle::join");
        self.joiner.join_or_unwind()
    }

    /// Whether the thread's function has ended, so that [`join`](Self::join) returns soon.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.joiner.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
