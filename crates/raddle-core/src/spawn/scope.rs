//! Owns: `scope`: processes that may borrow from their maker, because it waits for them.
//! May use: `message`, `process::handle`, `process::scope`, `region`, `wait::park`.
//! Never: a scope that returns while one of its processes lives.

use crate::message;
use crate::process::handle::{Joiner, Process};
use crate::process::scope::{LOST, ScopeData};
use crate::region::{self};
use crate::spawn::Builder;
use crate::wait::park;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::thread::Result;

/// A scope to spawn processes in; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    data: ScopeData,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `f` with a scope, waits for every process spawned in it, and returns what `f` returned.
///
/// # Panics
/// As `f`; and if a child panicked whose handle was not joined. On an OS thread, if the default runtime cannot start.
///
/// ```
/// use raddle::csp;
/// let mut numbers = [1, 2, 3];
/// csp::scope(|s| {
///     for n in &mut numbers {
///         s.spawn(move || *n *= 10);
///     }
/// });
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    // Refuses a task here: at the end, with children alive, it would be too late to panic.
    park::caller("csp::scope");
    let scope = Scope { data: ScopeData::open(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    scope.data.wait(Location::caller());
    match result {
        Err(panic) => resume_unwind(panic),
        Ok(_) if scope.data.has_panicked() => panic!("a scoped process panicked"),
        Ok(_) if scope.data.has_lost_some() => panic!("{LOST}"),
        Ok(value) => {
            region::check();
            value
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a process that may borrow what outlives the scope.
    ///
    /// # Panics
    /// If the default runtime cannot be started.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        message::started(Builder::new().spawn_scoped(self, f))
    }
}

impl Builder {
    /// Spawns the process in `scope`, from which it may borrow.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let entered = scope.data.enter();
        // SAFETY: the scope does not end before its children have, and what they borrow outlives it.
        let joiner = unsafe { self.spawn_unchecked(&scope.data, f) }?;
        entered.keep();
        Ok(ScopedJoinHandle { joiner, scope: PhantomData })
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("processes", &self.data.children()).finish_non_exhaustive()
    }
}

/// The handle of a scoped process. Dropping it leaves the process to the scope, which waits for it.
pub struct ScopedJoinHandle<'scope, T> {
    joiner: Joiner<T>,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end; see [`JoinHandle::join`](crate::process::JoinHandle::join).
    ///
    /// # Errors
    /// The payload of the process's panic; the scope then does not panic for it.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.joiner.join_or_unwind()
    }

    /// Whether the process has ended.
    pub fn is_finished(&self) -> bool {
        self.joiner.is_finished()
    }

    /// The process, to unpark it or to ask for its name.
    pub fn process(&self) -> Process {
        self.joiner.process()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").field("process", &self.process()).finish_non_exhaustive()
    }
}
