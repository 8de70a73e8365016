//! Owns: waits for what is under way, by processes, OS threads and tasks, each with an end.
//! May use: `error`, `gate`, `post`, `shim`, `raddle-core`.
//! Never: a worker that waits; only who waits is parked.

use super::Engine;
use crate::error::{Late, NetError};
use crate::gate::lock;
use crate::post::Post;
use crate::shim::Direction;
use raddle_core::door::futex::{self, WaitOptions};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A wait looks itself after so long, whoever else is to look.
const DISTRUST: Duration = Duration::from_millis(100);
/// In mode `Inline`: so many looks without a pause, and then how long to pause, up to the tenth of a millisecond.
const LOOKS: u32 = 20;

/// One who waits, as long as it does; a cancellation may unwind it.
pub(super) struct Waiting<'e>(pub(super) &'e Engine);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Engine {
    /// Waits for all of a post that was started; parks the caller.
    pub(crate) fn wait(&self, post: &Post, deadline: Duration) -> Result<(), NetError> {
        let began = Instant::now();
        let ended = self.wait_untold(post, deadline, true);
        self.traced.told(post, began.elapsed(), self.now());
        ended
    }

    /// The same, whoever has given up, and without a decision if it is late: for the end of a net that is broken.
    pub(crate) fn wait_all_the_same(&self, post: &Post, deadline: Duration) {
        let _late = self.wait_untold(post, deadline, false);
    }

    fn wait_untold(&self, post: &Post, mut deadline: Duration, heeds: bool) -> Result<(), NetError> {
        let (began, mut looks) = (Instant::now(), 0);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(self);
        loop {
            let is_inline = self.mode.load(Ordering::Relaxed) == 0;
            if is_inline {
                self.poll();
            }
            // Acquire pairs with the release in `Post::complete`.
            let left = post.left.load(Ordering::Acquire);
            if left == 0 {
                return post.sizes().map(drop);
            }
            if heeds && let Some(error) = self.given_up() {
                return Err(error);
            }
            let waited = began.elapsed();
            if waited >= deadline {
                let late = self.late(post, waited);
                match if heeds { self.give_up(&late) } else { None } {
                    Some(more) => deadline = waited.saturating_add(more),
                    None => return Err(NetError::Late(late)),
                }
            }
            looks += 1;
            if is_inline && looks <= LOOKS {
                continue;
            }
            let pause = if is_inline { Duration::from_micros(u64::from(looks.min(100))) } else { DISTRUST };
            let options = WaitOptions {
                until: Some(Instant::now() + pause.min(deadline - waited)),
                ..WaitOptions::default()
            };
            let ended = futex::wait(&post.left, left, &options);
            if !is_inline && ended == futex::WaitOutcome::TimedOut {
                self.poll();
            }
        }
    }

    /// A task awaits a post: it is woken when that is done, or late.
    pub(crate) fn await_with(&self, post: &Arc<Post>, rest: Duration) {
        self.awaited.fetch_add(1, Ordering::Relaxed);
        self.list(post, rest);
    }

    /// The task that awaits a post is to be woken after that, too.
    pub(crate) fn list(&self, post: &Arc<Post>, rest: Duration) {
        let rest = u64::try_from(rest.as_nanos()).unwrap_or(u64::MAX);
        let until = self.now().saturating_add(rest);
        let mut state = lock(&self.state);
        state.awaited.retain(|(_, post)| post.strong_count() > 0);
        state.awaited.push((until, Arc::downgrade(post)));
        drop(state);
        self.ring(0);
    }

    /// What has not come, and what has come instead.
    pub(crate) fn late(&self, post: &Post, waited: Duration) -> Late {
        let pending = post.pending();
        let mut strays = Vec::new();
        let state = lock(&self.state);
        // Once the net is over nobody may ask MPI.
        let asks = pending.iter().filter(|_| !state.is_over);
        for transfer in asks.filter(|transfer| transfer.direction == Direction::In) {
            let (peer, space) = (transfer.address.peer, transfer.address.space);
            if let Some((tag, bytes)) = self.shim.probe(peer, space) {
                let text = format!("a message of rank {peer}, tag {tag}, {bytes} bytes");
                if !strays.contains(&text) {
                    strays.push(text);
                }
            }
        }
        let pending = pending.into_iter().map(|transfer| transfer.describe()).collect();
        let times = post.times.load(Ordering::Relaxed);
        let what =
            if post.is_persistent { format!("{}, the {times}. time,", post.what) } else { post.what.clone() };
        Late { what, waited, pending, strays }
    }

    /// Waits for what nobody waits for: MPI cannot end while it moves messages.
    pub(crate) fn drain(&self, deadline: Duration) -> Result<(), NetError> {
        loop {
            let Some(post) = lock(&self.state).active.first().map(|request| request.post.clone()) else {
                return Ok(());
            };
            // What was refused is of no interest to anybody: it is done.
            if let Err(late @ NetError::Late(_)) = self.wait(&post, deadline) {
                return Err(late);
            }
        }
    }
}
