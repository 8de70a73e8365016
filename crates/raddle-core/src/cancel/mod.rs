// Owns: cancellation: tokens, regions, deadlines for whole regions, shields; and how a cancelled flow ends.
// May use: `region`, `task::sleep`, `worker::choice`.
// Never: stopping anybody who does not wait; a look at a flag on the way of one who is in no region.

// *Alternatives.* A context that is passed along and asked (Go): each function has one more parameter, and whoever
// forgets it cannot be stopped. An interrupt flag, and errors from waits (Java): each wait returns one more error,
// and `lock()` none. Cancellation from outside at any instruction (`pthread_cancel`, asynchronous): nothing can be
// held. Futures that are dropped (Rust's own): for tasks that is what happens here, too; a stack cannot be dropped,
// so it unwinds. What is here is Trio's and Kotlin's: regions that nest, cancelled from above, at waits.
//
// *What it costs.* The flag that a process is in a region is tested with those that each wait tests anyway: who is in
// none pays nothing. Who is in one waits the long way, as with a deadline, and leaves what ends its wait at its own
// node (a lock that hardly anybody else takes) as it would leave an alarm with a clock: a cancellation is an alarm
// that somebody else rings. The other way considered was to mark any process from outside, at its worker, and to take
// it out of whatever it waits in: a rendezvous is emptied by a plain store of the peer, a queue lock by its holder,
// and each of them would pay for the possibility.
//
// | module | what |
// |---|---|
// | `node` | what is cancelled, and who hears of it |
// | `region` | what a flow of control is in |
// | `scope` | children that are cancelled together or one by one |
// | `future` | the same for tasks |

//! End what is no longer needed, or takes too long: cancel a [`Token`], or give a region a deadline, and what waits
//! there unwinds.
//!
//! ```
//! use raddle::cancel::Token;
//! use raddle::csp;
//!
//! let token = Token::new();
//! let inside = token.clone();
//! let waits = csp::spawn(move || inside.run(csp::park));
//! token.cancel();
//! assert!(waits.join().unwrap().is_err());
//! ```
//!
//! A [`Token`] is cancelled once. What runs inside of [`Token::run`], and all processes and threads that are spawned in
//! scopes there, ends at its next wait: the wait unwinds with [`Cancelled`], which prints nothing; whatever the frames
//! hold is released in order, scopes wait for their children (which end the same way), and `run` returns `Err`.
//! What waits already is woken for it. `docs/CANCEL.md` is the user's page.

mod future;
mod scope;

pub use crate::region::{Cancelled, check, shield, was_cancelled};
pub use future::Cancellable;
#[doc(hidden)]
pub use scope::CancelScope as Scope;
pub use scope::{CancelScope, ScopedHandle, scope};

use crate::region::{Node, Stay, hold};
use crate::task::Sleep;
use crate::worker::choice::{counted_look, now, point, settle};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// Something that can be cancelled: once, from anywhere, with all that [runs](Self::run) under it. Cheap to clone.
///
/// ```
/// use raddle::{cancel::Token, csp};
/// let token = Token::new();
/// let inside = token.clone();
/// let waits = csp::spawn(move || {
///     let (_to, mut from) = csp::channel::<u8>();
///     inside.run(|| from.recv())
/// });
/// token.cancel();
/// waits.join().unwrap().expect_err("nobody sends");
/// ```
#[derive(Clone, Debug)]
pub struct Token(Arc<Node>);

impl Token {
    /// Its region, for a schedule whose processes are born into it.
    #[doc(hidden)]
    pub fn region(&self) -> Arc<dyn Any + Send + Sync> {
        self.0.clone()
    }
}

impl Default for Token {
    fn default() -> Self {
        Token::new()
    }
}

impl Token {
    /// A token of its own.
    pub fn new() -> Token {
        Token(Node::below([]))
    }

    /// A token that is cancelled with this one, or alone.
    #[must_use = "a token that is dropped has no use"]
    pub fn child(&self) -> Token {
        Token(Node::below([&self.0]))
    }

    /// A token that is cancelled with the region that the caller is in, if any.
    fn here() -> Token {
        Token(Node::below(hold().iter()))
    }

    /// Cancels it, its children, and all that runs under them. Never waits; the second time does nothing.
    #[track_caller]
    pub fn cancel(&self) {
        point("cancel::Token::cancel");
        self.0.strike();
        settle("cancel::Token::cancel");
    }

    /// As [`cancel`](Self::cancel), by whoever may not wait, nor leave its stack.
    #[doc(hidden)]
    pub fn strike(&self) {
        self.0.strike();
    }

    /// Whether it has been cancelled.
    #[track_caller]
    pub fn is_cancelled(&self) -> bool {
        counted_look("cancel::Token::is_cancelled", || self.0.is_struck())
    }

    /// Runs `f` in a region of this token: when it is cancelled, or the region around it, what waits inside unwinds.
    ///
    /// If it is cancelled already, `f` does not run.
    ///
    /// # Errors
    /// If it was cancelled before `f` came to its end.
    ///
    /// # Panics
    /// As `f`. If the region around it is cancelled, that cancellation goes on through this call.
    pub fn run<T>(&self, f: impl FnOnce() -> T) -> Result<T, Cancelled> {
        let outer = hold();
        let stay = Stay::new(Some(Node::below([&self.0].into_iter().chain(&outer))));
        let result = catch_unwind(AssertUnwindSafe(|| {
            check();
            f()
        }));
        let is_ours = self.0.is_struck() && !outer.is_some_and(|outer| outer.is_struck());
        drop(stay);
        match result {
            Ok(value) => Ok(value),
            Err(payload) if is_ours && was_cancelled(&*payload) => Err(Cancelled(())),
            Err(payload) => resume_unwind(payload),
        }
    }

    /// The future with this token: it is dropped at the first poll after the token was cancelled.
    pub fn future<F: Future>(&self, future: F) -> Cancellable<F> {
        Cancellable::new(&self.0, future)
    }

    /// Cancels it at `deadline`, unless what is returned is dropped before.
    pub fn cancel_at(&self, deadline: Instant) -> Deadline {
        let mut alarm = Box::pin(crate::task::sleep_until(deadline));
        let waker = Waker::from(self.0.clone());
        if alarm.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            self.0.strike();
        }
        Deadline { _alarm: alarm }
    }
}

/// A deadline of a [`Token`]. Dropping it takes the deadline back.
#[derive(Debug)]
#[must_use = "a deadline that is dropped has been taken back"]
pub struct Deadline {
    _alarm: Pin<Box<Sleep>>,
}

/// Runs `f`, in which all waits end when `deadline` passes; see [`Token::run`].
///
/// # Errors
/// If `f` had not come to its end by then.
///
/// # Panics
/// As [`Token::run`].
pub fn until<T>(deadline: Instant, f: impl FnOnce() -> T) -> Result<T, Cancelled> {
    let token = Token::new();
    let _deadline = token.cancel_at(deadline);
    token.run(f)
}

/// As [`until`], `timeout` from now.
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
///
/// ```
/// use raddle::{cancel, csp};
/// use std::time::Duration;
/// let late = csp::spawn(|| cancel::within(Duration::from_millis(1), csp::park).is_err());
/// assert!(late.join().unwrap());
/// ```
pub fn within<T>(timeout: Duration, f: impl FnOnce() -> T) -> Result<T, Cancelled> {
    match now().checked_add(timeout) {
        Some(deadline) => until(deadline, f),
        None => Ok(f()),
    }
}

/// Whether the region that the caller is in has been cancelled.
#[track_caller]
pub fn is_cancelled() -> bool {
    counted_look("cancel::is_cancelled", || hold().is_some_and(|node| node.is_struck()))
}
