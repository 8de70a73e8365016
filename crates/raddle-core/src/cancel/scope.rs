//! Owns: a scope whose children are cancelled together, or one by one.
//! May use: `message`, `process::handle`, `region`, `spawn`.
//! Never: cancelling the one who has opened it.

use super::{Cancelled, Deadline, Token};
use crate::message;
use crate::process::Process;
use crate::spawn::{self, Builder, ScopedJoinHandle};
use std::cell::RefCell;
use std::fmt;
use std::io;
use std::rc::Rc;
use std::thread::Result;
use std::time::Instant;

/// A scope to spawn processes in that can be cancelled; see [`scope`].
#[derive(Clone)]
pub struct CancelScope<'scope, 'env: 'scope> {
    inner: &'scope spawn::Scope<'scope, 'env>,
    token: Token,
    deadlines: Rc<RefCell<Vec<Deadline>>>,
}

/// Runs `f` with a scope, waits for every process spawned in it, and returns what `f` returned, as
/// `csp::scope` does; [`CancelScope::cancel`] ends the children at their next wait.
///
/// A child that was cancelled counts as ended, not as panicked.
///
/// # Panics
/// As `f`; and if a child panicked whose handle was not joined. On an OS thread, if the default runtime cannot start.
///
/// ```
/// use raddle::{cancel, csp};
/// cancel::scope(|s| {
///     let first = s.spawn(|| csp::park());
///     s.spawn(|| csp::park());
///     first.cancel();
///     first.join().expect_err("it was cancelled");
///     s.cancel();
/// });
/// ```
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&CancelScope<'scope, 'env>) -> T,
{
    let token = Token::here();
    // They count until the children have ended.
    let deadlines: Rc<RefCell<Vec<Deadline>>> = Rc::default();
    spawn::scope(|inner| f(&CancelScope { inner, token, deadlines: deadlines.clone() }))
}

impl<'scope, 'env> CancelScope<'scope, 'env> {
    /// Spawns a process that may borrow what outlives the scope. If it is cancelled before it begins, it does not run.
    ///
    /// # Panics
    /// If the default runtime cannot be started.
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> ScopedHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        message::started(self.spawn_by(Builder::new(), f))
    }

    /// As [`spawn`](Self::spawn), with settings: a name, a stack size, a worker.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_by<F, T>(&self, builder: Builder, f: F) -> io::Result<ScopedHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let token = self.token.child();
        let own = token.clone();
        let inner = builder.spawn_scoped(self.inner, move || own.run(f))?;
        Ok(ScopedHandle { inner, token })
    }

    /// Cancels the children: those that are there, and those to come. Does not cancel the caller.
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// Cancels the children at `deadline`, if the scope has not ended by then.
    pub fn cancel_at(&self, deadline: Instant) {
        self.deadlines.borrow_mut().push(self.token.cancel_at(deadline));
    }

    /// What cancels the children: for whoever is to do that from elsewhere.
    pub fn token(&self) -> &Token {
        &self.token
    }
}

impl fmt::Debug for CancelScope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelScope").field("token", &self.token).finish_non_exhaustive()
    }
}

/// The handle of a child. Dropping it leaves the child to the scope, which waits for it.
pub struct ScopedHandle<'scope, T> {
    inner: ScopedJoinHandle<'scope, std::result::Result<T, Cancelled>>,
    token: Token,
}

impl<T> ScopedHandle<'_, T> {
    /// Cancels this child alone.
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// Waits for the end.
    ///
    /// # Errors
    /// The payload of the child's panic, or [`Cancelled`]; [`was_cancelled`](super::was_cancelled) tells.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.inner.join() {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(cancelled)) => Err(Box::new(cancelled)),
            Err(payload) => Err(payload),
        }
    }

    /// Whether the child has ended.
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }

    /// The process, to unpark it or to ask for its name.
    pub fn process(&self) -> Process {
        self.inner.process()
    }
}

impl<T> fmt::Debug for ScopedHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedHandle").field("process", &self.process()).finish_non_exhaustive()
    }
}
