//! Owns: the beginning of messages, and the persistent requests of plans.
//! May use: `channel`, `error`, `gate`, `post`, `shim`.
//! Never: a wait.

use super::{ActiveRequest, DEDICATED, Engine, Finished, GAP_MIN_NS, TransferResult, Underway, WATCHED};
use crate::channel::Heard;
use crate::error::NetError;
use crate::gate::lock;
use crate::post::{Post, Transfer};
use crate::shim::{Direction, MpiRefusal};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// MPIs offer messages of more bytes over a network, and send them when the other rank has cleared them.
const OFFERED: usize = 64 << 10;

/// Whether what goes out of these begins before what comes in. Messages of one tag between two ranks meet in the order
/// in which they begin, so all that go out keep their order among each other.
///
/// PERF: who begins later than its peer finds the peer's offer, and clears it as soon as it begins to receive. If its
/// own offer goes behind that, the peer sends all it has and clears it only then: both directions take turns, and who
/// was later in one exchange is the sooner one in the next, so that they do in each. Over Open MPI's TCP the messages
/// of apps/redblack3d were under way 55 to 68 ms an iteration by that, and not 34.
fn outs_go_first<'a>(mut begin_at_once: impl Iterator<Item = &'a Transfer>) -> bool {
    begin_at_once.any(|transfer| transfer.direction == Direction::Out && transfer.buffer.len() > OFFERED)
}

impl Engine {
    /// Posts all of it.
    pub(crate) fn start(&self, post: &Arc<Post>) -> Result<(), NetError> {
        self.start_beside(post, |_| Ok(()))
    }

    /// The same, and under the same lock what else may refuse it.
    pub(super) fn start_beside(
        &self,
        post: &Arc<Post>,
        act: impl FnOnce(&mut Underway) -> Result<(), NetError>,
    ) -> Result<(), NetError> {
        let mut refused = Vec::new();
        self.traced.begin();
        let mut state = lock(&self.state);
        if state.is_over {
            return Err(NetError::Over);
        }
        act(&mut state)?;
        let ended = self.count_channels(&mut state);
        let now = self.now();
        let ends_lull = self.stir(now);
        let before = state.pending;
        if !self.begin_all(&mut state, post, now, &mut refused) {
            let text = format!("{} is still under way: its exchange was leaked", post.what);
            return Err(NetError::Misuse(text));
        }
        state.pending -= refused.len();
        self.outstanding.store(state.pending, Ordering::Relaxed);
        self.gap_ns.store(GAP_MIN_NS, Ordering::Relaxed);
        self.next_ns.store(self.now() + GAP_MIN_NS, Ordering::Relaxed);
        if let Some(poller) = &state.poller {
            poller.begin(state.pending - before);
        }
        let mut heard = Heard::default();
        if ends_lull {
            // Who looks sleeps for long just now, and what begins moves only when somebody does.
            state.channels.ring_who_waits(&mut heard);
        }
        drop(state);
        heard.ring();
        ended.end();
        for (post, index, told) in refused {
            post.complete(index, told, self.now());
        }
        let keeper_looks = matches!(self.mode.load(Ordering::Relaxed), WATCHED | DEDICATED);
        if keeper_looks || ends_lull && self.awaited.load(Ordering::Relaxed) != 0 {
            self.ring(0);
        }
        Ok(())
    }

    /// Under the lock: all of it is under way; false if it already was. Who is refused is still counted.
    pub(super) fn begin_all(
        &self,
        state: &mut Underway,
        post: &Arc<Post>,
        now: u64,
        refused: &mut Finished,
    ) -> bool {
        if !post.begin(now) {
            return false;
        }
        if state.pending == 0 {
            self.wake_clocks(state, now);
        }
        state.pending += post.transfers.len();
        let firsts = || (0..post.transfers.len()).filter(|index| post.transfers[*index].after.is_none());
        let outs_first = outs_go_first(firsts().map(|index| &post.transfers[index]));
        let is_ahead = |index: &usize| outs_first && post.transfers[*index].direction == Direction::Out;
        for index in firsts().filter(is_ahead).chain(firsts().filter(|index| !is_ahead(index))) {
            self.begin(state, post, index, refused);
        }
        true
    }

    /// Under the lock: nothing was under way before.
    pub(super) fn wake_clocks(&self, state: &mut Underway, now: u64) {
        self.last_ns.store(now, Ordering::Relaxed);
        if let Some(pipes) = &mut state.pipes {
            pipes.begin(now);
        }
    }

    /// Under the lock: a message is under way, or it and all that wait for it are refused.
    fn begin(&self, state: &mut Underway, post: &Arc<Post>, index: usize, refused: &mut Finished) {
        match self.launch(post, index) {
            Ok(word) => {
                let left = post.transfers[index].buffer.len() as f64;
                state.active.push(ActiveRequest { word, index, post: post.clone(), left, told: None });
            }
            Err(refusal) => {
                refused.push((post.clone(), index, Err(refusal.clone())));
                self.follow(state, post, index, &Err(refusal), refused);
            }
        }
    }

    /// Under the lock: begins what has waited for a message that is done.
    pub(super) fn follow(
        &self,
        state: &mut Underway,
        post: &Arc<Post>,
        index: usize,
        told: &TransferResult,
        finished: &mut Finished,
    ) {
        let waits = |other: &usize| post.transfers[*other].after == Some(index);
        for other in (0..post.transfers.len()).filter(waits) {
            match told {
                Ok(_) => self.begin(state, post, other, finished),
                Err(refusal) => {
                    finished.push((post.clone(), other, Err(refusal.clone())));
                    self.follow(state, post, other, told, finished);
                }
            }
        }
    }

    /// Under the lock: has MPI begin one message.
    fn launch(&self, post: &Arc<Post>, index: usize) -> Result<u64, MpiRefusal> {
        let transfer = &post.transfers[index];
        transfer.posted_ns.store(self.now(), Ordering::Relaxed);
        if post.is_persistent {
            let mut word = transfer.request.load(Ordering::Relaxed);
            self.shim.start(&mut word)?;
            transfer.request.store(word, Ordering::Relaxed);
            return Ok(word);
        }
        let buffer = transfer.buffer.room();
        // SAFETY: the post has the buffer, the entry of the message the post; who reads what has come in waits for
        // the end, and what goes out is not written any more.
        unsafe { self.shim.post(transfer.direction, buffer, transfer.address) }
    }

    /// Makes the persistent requests of a post.
    pub(crate) fn prepare(&self, post: &Arc<Post>) -> Result<(), NetError> {
        let mut state = lock(&self.state);
        if state.is_over {
            return Err(NetError::Over);
        }
        self.bury(&mut state);
        for transfer in &post.transfers {
            let buffer = transfer.buffer.room();
            // SAFETY: the post has the buffer; whoever starts it keeps it, and lets nobody access it meanwhile.
            let made = unsafe { self.shim.prepare(transfer.direction, buffer, transfer.address) };
            let word = made.map_err(|MpiRefusal { class, text }| NetError::Mpi {
                what: format!("{}: {}", post.what, transfer.describe()),
                class,
                text,
            })?;
            transfer.request.store(word, Ordering::Relaxed);
            self.requests.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Frees the persistent requests of a post: now, or if it is under way, when the next plan is made or goes after
    /// it has come to its end.
    pub(crate) fn forget(&self, post: &Arc<Post>) {
        let mut state = lock(&self.state);
        state.orphans.push(post.clone());
        self.bury(&mut state);
    }

    /// Under the lock.
    fn bury(&self, state: &mut Underway) {
        if !state.is_over {
            state.orphans.extract_if(.., |post| post.is_done()).for_each(|post| self.free(&post));
        }
    }

    /// Under the lock: nothing of it is under way.
    fn free(&self, post: &Post) {
        for transfer in &post.transfers {
            let mut word = transfer.request.swap(0, Ordering::Relaxed);
            if word != 0 {
                self.requests.fetch_sub(1, Ordering::Relaxed);
                // A request that MPI does not want to free stays until the end.
                let _refused = self.shim.free(&mut word);
            }
        }
    }
}
