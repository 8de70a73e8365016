//! Owns: `JoinError`: why a task has no output.
//! May use: nothing.
//! Never: a panic that is lost.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Why a task has ended without an output: it panicked, or it was cancelled. The names are `tokio`'s.
///
/// ```
/// use raddle::task;
/// task::block_on(async {
///     let error = task::spawn(async { panic!("no output") }).await.unwrap_err();
///     assert!(error.is_panic());
///     assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "no output");
/// });
/// ```
pub struct JoinError(Box<dyn Any + Send>);

/// In the place of a payload: by `abort`.
struct Aborted;

/// In the place of a payload: nobody could wake it any more.
struct Lost;

// SAFETY: by a shared reference the payload is asked for its type, which it answers without a look at itself, and is
// looked at only if that is one of four which all threads may look at.
unsafe impl Sync for JoinError {}

impl UnwindSafe for JoinError {}
impl RefUnwindSafe for JoinError {}

impl JoinError {
    pub(crate) fn aborted() -> JoinError {
        JoinError(Box::new(Aborted))
    }

    pub(crate) fn lost() -> JoinError {
        JoinError(Box::new(Lost))
    }

    pub(crate) fn panic(payload: Box<dyn Any + Send>) -> JoinError {
        JoinError(payload)
    }

    /// Whether the task was dropped before its end: it was aborted, or nobody held its waker any more.
    pub fn is_cancelled(&self) -> bool {
        self.0.is::<Aborted>() || self.0.is::<Lost>()
    }

    /// Whether the task panicked.
    pub fn is_panic(&self) -> bool {
        !self.is_cancelled()
    }

    /// What the task panicked with, for [`resume_unwind`](std::panic::resume_unwind).
    ///
    /// # Panics
    /// If it has not panicked.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        self.try_into_panic().expect("the task has panicked")
    }

    /// What the task panicked with.
    ///
    /// # Errors
    /// The error itself, if the task has not panicked.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, JoinError> {
        if self.is_panic() { Ok(self.0) } else { Err(self) }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is::<Aborted>() {
            return f.write_str("the task was aborted");
        }
        if self.0.is::<Lost>() {
            return f.write_str("the task was dropped before its end: nobody held its waker");
        }
        let text = self.0.downcast_ref::<&str>().copied();
        match text.or_else(|| self.0.downcast_ref::<String>().map(String::as_str)) {
            Some(text) => write!(f, "the task panicked: {text}"),
            None => f.write_str("the task panicked"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl Error for JoinError {}
