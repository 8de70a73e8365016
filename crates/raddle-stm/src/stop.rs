//! Owns: `Stop` and `StopOr`, why a transaction's body does not go on; `abort`, which says so.
//! May use: nothing.
//! Never: what is done about it.

use std::fmt;

/// Why a transaction's body must return: it is passed on by `?`.
///
/// Either what it has read is not so any more, and it will be run again at once; or it has called
/// [`retry`](crate::Tx::retry), and will be run again when something has changed. Who drops it, and goes on, reads
/// nothing more, writes nothing, and commits nothing: whatever the body returns, the transaction does as was said.
#[derive(Debug)]
#[must_use = "the transaction cannot go on: return this"]
pub struct Stop(pub(crate) Why);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// What was read is not so any more.
    Conflict,
    /// What was read is not what the body wants.
    Retry,
    /// The body does not want to commit.
    Abort,
    /// The body is to run once for certain.
    Irrevocable,
}

/// As [`Stop`], or an error of the program's own, after which the transaction is not run again:
/// [`atomically_or_err`](crate::atomically_or_err).
#[derive(Debug)]
#[must_use = "the transaction cannot go on: return this"]
pub enum StopOr<E> {
    /// It will be run again.
    Stop(Stop),
    /// It is rolled back, and this is its result.
    Abort(E),
}

impl<E> From<Stop> for StopOr<E> {
    fn from(stop: Stop) -> StopOr<E> {
        StopOr::Stop(stop)
    }
}

/// What a body may return instead of a result: [`Stop`] or [`StopOr`].
pub trait Stops: From<Stop> + sealed::Says {}

impl Stops for Stop {}
impl<E> Stops for StopOr<E> {}

pub(crate) mod sealed {
    /// Says which of them it is.
    pub trait Says {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "nobody else implements or calls it")]
        fn why(&self) -> super::Why;
    }
}

impl sealed::Says for Stop {
    #[allow(private_interfaces, reason = "as the trait's")]
    fn why(&self) -> Why {
        self.0
    }
}

impl<E> sealed::Says for StopOr<E> {
    #[allow(private_interfaces, reason = "as the trait's")]
    fn why(&self) -> Why {
        match self {
            StopOr::Stop(stop) => stop.0,
            StopOr::Abort(_) => Why::Abort,
        }
    }
}

/// Ends the transaction with an error of the program's own: all that it has written is rolled back.
///
/// # Errors
/// Always.
pub fn abort<R, E>(error: E) -> Result<R, StopOr<E>> {
    Err(StopOr::Abort(error))
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Why::Conflict => "what the transaction has read is not so any more",
            Why::Retry => "the transaction waits for a change",
            Why::Abort => "the transaction was rolled back",
            Why::Irrevocable => "the transaction begins anew, as the only one",
        })
    }
}

impl std::error::Error for Stop {}

/// The deadline has passed before the transaction could commit: [`atomically_until`](crate::atomically_until).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired(pub(crate) ());

impl fmt::Display for Expired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline has passed before the transaction could commit")
    }
}

impl std::error::Error for Expired {}
