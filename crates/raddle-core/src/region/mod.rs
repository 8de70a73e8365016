//! Owns: what may be cancelled: nodes, the region that a flow of control is in, and how a cancelled one ends.
//! May use: `worker::choice`.
//! Never: a wait; stopping anybody who does not wait.
//!
//! The waits ask this module. What programs call to cancel, to shield and to set deadlines is `cancel`.

mod node;
mod stay;

pub(crate) use node::Heir;
pub use node::{Node, Ring};
pub(crate) use stay::Stay;
pub use stay::{check, check_process, current, hold, is_cancelled_now, is_in_one};

use crate::worker::choice;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// That something was cancelled: the error, and what a cancelled process unwinds with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cancelled(pub(crate) ());

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// Whether what a `join` gave back as an error is a cancellation, and not a panic.
///
/// ```
/// use raddle::{cancel, csp};
/// let token = cancel::Token::new();
/// let child = token.clone();
/// let waits = csp::spawn(move || child.run(csp::park).is_err());
/// token.cancel();
/// assert!(waits.join().unwrap());
/// let panics = csp::spawn(|| std::panic::resume_unwind(Box::new("a panic")));
/// assert!(!cancel::was_cancelled(&*panics.join().unwrap_err()));
/// ```
pub fn was_cancelled(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Cancelled>()
}

/// Of two payloads the one that goes on, and the one that is lost. The first goes on, unless it says only that
/// something was cancelled.
pub fn graver(first: Payload, later: Payload) -> (Payload, Payload) {
    if was_cancelled(&*first) && !was_cancelled(&*later) { (later, first) } else { (first, later) }
}

/// What a panic has thrown.
type Payload = Box<dyn Any + Send>;

/// Drops a payload for which there is no way on. A panic of its drop has none either.
pub fn lose(payload: Payload) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(panic);
    }
}

/// Runs `f`, whose waits no cancellation ends: to put things in order.
pub fn shield<T>(f: impl FnOnce() -> T) -> T {
    let _shielded = Stay::new(None);
    f()
}

/// Ends the caller, as a panic would, without a word.
#[cold]
#[inline(never)]
pub fn unwind() -> ! {
    choice::note_unwinding();
    resume_unwind(Box::new(Cancelled(())))
}

/// A node for a scope that the caller opens.
#[inline]
pub fn for_scope() -> Option<Arc<Node>> {
    if is_in_one() { hold() } else { None }
}

/// Runs the closure of a process without a scope that its maker waits for.
#[inline(always)]
pub fn born_into<T>(region: Option<Arc<Node>>, f: impl FnOnce() -> T) -> T {
    let _stay = region.map(|above| {
        let stay = Inherited::new(&above);
        check();
        stay
    });
    f()
}

/// Enters a region of its own below `above`, until what is returned goes.
pub fn stay_below(above: &Arc<Node>) -> Inherited {
    Inherited::new(above)
}

/// As [`stay_below`], below the region of a run that is explored: the node of a token, which the run does not know.
pub(crate) fn stay_below_run(run: Arc<dyn Any + Send + Sync>) -> Option<Inherited> {
    run.downcast::<Node>().ok().map(|above| stay_below(&above))
}

/// The stay of a process in what it was born into.
pub struct Inherited(Stay);

impl Inherited {
    #[cold]
    fn new(above: &Arc<Node>) -> Inherited {
        Inherited(Stay::new(Some(Node::below([above]))))
    }

    /// What a process gives back that was cancelled before it began.
    pub(crate) fn refusal(&self) -> Option<Box<dyn Any + Send>> {
        let is_struck = self.0.node().is_some_and(|node| node.is_struck());
        is_struck.then(|| Box::new(Cancelled(())) as Box<dyn Any + Send>)
    }
}
