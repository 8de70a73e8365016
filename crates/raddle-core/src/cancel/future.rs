//! Owns: `Cancellable`, a future that is dropped when its token is cancelled.
//! May use: `region`.
//! Never: a wait.

use crate::cancel::Cancelled;
use crate::region::{Heir, Node};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A future under a [`Token`](crate::cancel::Token). Once that is cancelled, the next poll drops the future and returns
/// an error.
///
/// ```
/// use raddle::{cancel::Token, task};
/// let token = Token::new();
/// let task = task::spawn(token.future(std::future::pending::<()>()));
/// token.cancel();
/// task::block_on(task).unwrap().expect_err("it was cancelled");
/// ```
#[must_use = "a future does nothing until it is awaited"]
pub struct Cancellable<F> {
    node: Arc<Node>,
    /// Where its waker hangs, and a copy of that.
    heir: Option<(usize, Waker)>,
    /// None once it has ended, in whatever way.
    future: Option<Pin<Box<F>>>,
}

impl<F> Unpin for Cancellable<F> {}

impl<F: Future> Cancellable<F> {
    pub(super) fn new(node: &Arc<Node>, future: F) -> Self {
        Cancellable { node: node.clone(), heir: None, future: Some(Box::pin(future)) }
    }

    /// Hangs the waker below the node, unless it hangs there. False if the node is cancelled.
    fn listen(&mut self, waker: &Waker) -> bool {
        if let Some((_, hung)) = &self.heir
            && hung.will_wake(waker)
        {
            return !self.node.is_struck();
        }
        self.forget();
        let place = self.node.add(Heir::Waker(waker.clone()));
        self.heir = place.map(|place| (place, waker.clone()));
        self.heir.is_some()
    }
}

impl<F> Cancellable<F> {
    fn forget(&mut self) {
        if let Some((place, _)) = self.heir.take() {
            self.node.remove(place);
        }
    }
}

impl<F: Future> Future for Cancellable<F> {
    type Output = Result<F::Output, Cancelled>;

    /// # Panics
    /// If it is polled again after it was ready; as the future.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let listens = self.listen(context.waker());
        let future = self.future.as_mut().expect("a future was polled after it was ready");
        let output = match (listens, listens.then(|| future.as_mut().poll(context))) {
            (true, Some(Poll::Pending)) => return Poll::Pending,
            (_, Some(Poll::Ready(output))) => Ok(output),
            (_, _) => Err(Cancelled(())),
        };
        self.future = None;
        self.forget();
        Poll::Ready(output)
    }
}

impl<F> Drop for Cancellable<F> {
    fn drop(&mut self) {
        self.forget();
    }
}

impl<F> fmt::Debug for Cancellable<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellable").field("cancelled", &self.node.is_struck()).finish_non_exhaustive()
    }
}
