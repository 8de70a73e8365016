//! Owns: `NetCall`: a message by itself, to be awaited by a task, or waited for by a process or an OS thread.
//! May use: `engine`, `error`, `net`, `post`, `shim`.
//! Never: a call of MPI when it is asked whether it is done; whoever looks after what is under way wakes it.

use crate::engine::Engine;
use crate::error::NetError;
use crate::net::{Net, fill};
use crate::post::{Post, Transfer};
use crate::shim::Direction;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A message that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    peer: usize,
    tag: u16,
    /// What is to be sent, or how much room there is for what comes.
    what: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Bytes(Vec<u8>),
    Room(usize),
}

impl Request {
    /// These bytes to that rank.
    pub fn send(peer: usize, tag: u16, bytes: impl Into<Vec<u8>>) -> Request {
        Request { peer, tag, what: Content::Bytes(bytes.into()) }
    }

    /// A message of that rank, of at most so many bytes.
    pub fn receive(peer: usize, tag: u16, room: usize) -> Request {
        Request { peer, tag, what: Content::Room(room) }
    }
}

/// A message under way. As a future it gives what has come, or nothing for one that was sent.
///
/// ```no_run
/// use raddle_mpi::{Net, NetError, Request};
///
/// async fn answer(net: &Net) -> Result<(), NetError> {
///     let question = net.call(Request::receive(1, 7, 1000))?.await?;
///     net.call(Request::send(1, 8, question))?.await.map(drop)
/// }
/// ```
///
/// While one is awaited in mode [`Inline`](crate::Mode::Inline), in which nobody else would look, the net's own OS
/// thread does. Dropped, it is not taken back: what is sent goes, and what was to be received is received and dropped.
#[must_use = "a message that nobody waits for may fail unseen"]
pub struct NetCall {
    engine: Arc<Engine>,
    post: Arc<Post>,
    began: Instant,
    deadline: Duration,
    /// Whether the engine knows that it is awaited.
    is_awaited: bool,
}

impl Net {
    /// Begins to send or receive a message; what has not come within the net's deadline, counted from now, is late.
    ///
    /// # Errors
    /// [`NetError::Misuse`] for a peer or tag that there is not, and for more bytes than there is memory for;
    /// [`NetError::Over`].
    pub fn call(&self, request: Request) -> Result<NetCall, NetError> {
        let Request { peer, tag, what } = request;
        let address = self.address(peer, tag)?;
        let (what, transfer) = match what {
            Content::Bytes(bytes) => (format!("a send to rank {peer}"), Transfer::out(address, &bytes)?),
            Content::Room(room) => (format!("a receive from rank {peer}"), Transfer::into(address, room)?),
        };
        let post = Arc::new(Post::new(what, vec![transfer], false));
        self.engine.start(&post)?;
        let (engine, deadline) = (self.engine.clone(), self.deadline);
        Ok(NetCall { engine, post, began: Instant::now(), deadline, is_awaited: false })
    }
}

impl NetCall {
    /// Waits for it; parks the caller, a process or an OS thread. Returns what has come.
    ///
    /// # Errors
    /// [`NetError::Late`], [`NetError::Mpi`].
    pub fn wait(self) -> Result<Vec<u8>, NetError> {
        self.engine.wait(&self.post, self.deadline.saturating_sub(self.began.elapsed()))?;
        self.came()
    }

    fn came(&self) -> Result<Vec<u8>, NetError> {
        let transfer = &self.post.transfers[0];
        // A send has sizes, too.
        let size = self.post.sizes()?[0];
        let mut bytes = vec![0; if transfer.direction == Direction::In { size } else { 0 }];
        fill(&self.post, 0, &mut bytes)?;
        Ok(bytes)
    }
}

impl Future for NetCall {
    type Output = Result<Vec<u8>, NetError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let call = &mut *self;
        if !call.post.is_done() {
            call.post.wake_by(context.waker());
        }
        // Asked after the waker is there: who ends it in between sees the one, or is seen by the other.
        if call.post.is_done() {
            call.engine.traced.told(&call.post, Duration::ZERO, call.engine.now());
            return Poll::Ready(call.came());
        }
        if let Some(error) = call.engine.given_up() {
            return Poll::Ready(Err(error));
        }
        let waited = call.began.elapsed();
        if waited >= call.deadline {
            call.engine.traced.told(&call.post, waited, call.engine.now());
            let late = call.engine.late(&call.post, waited);
            let Some(more) = call.engine.give_up(&late) else {
                return Poll::Ready(Err(NetError::Late(late)));
            };
            call.deadline = waited.saturating_add(more);
            // The engine has taken it off its list.
            call.engine.list(&call.post, more);
        }
        if !std::mem::replace(&mut call.is_awaited, true) {
            call.engine.await_with(&call.post, call.deadline - waited);
        }
        Poll::Pending
    }
}

impl Drop for NetCall {
    fn drop(&mut self) {
        if self.is_awaited {
            self.engine.awaited.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
