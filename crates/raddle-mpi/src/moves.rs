//! Owns: `Moves`: what all plans have in common: persistent requests, started and waited for many times.
//! May use: `engine`, `error`, `net`, `post`, `shim`.
//! Never: knowing what the messages carry.

use crate::engine::Engine;
use crate::error::NetError;
use crate::net::Net;
use crate::post::Post;
use crate::shim::Direction;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a plan's exchanges have taken, on this rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanReport {
    /// How many there were.
    pub exchanges: u64,
    /// The time in which somebody waited for them.
    pub waited: Duration,
    /// From their beginnings until their last messages were found to be done.
    pub under_way: Duration,
    /// Copying to where MPI takes it, and from where it puts it.
    pub copying: Duration,
}

impl PlanReport {
    /// How much of the time under way nobody has waited: `1 - waited / under way`; 0 if nothing was under way.
    pub fn hidden(&self) -> f64 {
        let under_way = self.under_way.as_secs_f64();
        if under_way > 0.0 { (1.0 - self.waited.as_secs_f64() / under_way).max(0.0) } else { 0.0 }
    }

    /// Of two plans together.
    #[must_use]
    pub fn and(&self, other: &PlanReport) -> PlanReport {
        PlanReport {
            exchanges: self.exchanges + other.exchanges,
            waited: self.waited + other.waited,
            under_way: self.under_way + other.under_way,
            copying: self.copying + other.copying,
        }
    }
}

/// Messages of one or several ways to use a plan, of which one is under way at a time.
pub(crate) struct Moves {
    engine: Arc<Engine>,
    pub(crate) deadline: Duration,
    pub(crate) posts: Vec<Arc<Post>>,
    at: usize,
    pub(crate) report: PlanReport,
}

impl Moves {
    pub(crate) fn new(net: &Net, posts: Vec<Post>) -> Result<Moves, NetError> {
        let posts: Vec<_> = posts.into_iter().map(Arc::new).collect();
        posts.iter().try_for_each(|post| net.engine.prepare(post))?;
        let (engine, deadline) = (net.engine.clone(), net.deadline);
        Ok(Moves { engine, deadline, posts, at: 0, report: PlanReport::default() })
    }

    /// Whether nothing of it is under way.
    pub(crate) fn is_free(&self) -> bool {
        self.posts.iter().all(|post| post.is_done())
    }

    pub(crate) fn post(&self) -> &Post {
        &self.posts[self.at]
    }

    /// Begins one of its ways.
    pub(crate) fn start(&mut self, at: usize) -> Result<(), NetError> {
        self.at = at;
        self.engine.pace(&self.posts[0])?;
        self.engine.start(&self.posts[at])
    }

    /// Waits for what was started.
    pub(crate) fn finish(&mut self) -> Result<(), NetError> {
        let began = Instant::now();
        let post = &self.posts[self.at];
        let result = self.engine.wait(post, self.deadline);
        let waited = began.elapsed();
        self.engine.note_wait(waited);
        self.report.exchanges += 1;
        self.report.waited += waited;
        let span = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let under_way = span(&post.done_ns).saturating_sub(span(&post.posted_ns));
        self.report.under_way += Duration::from_nanos(under_way);
        result
    }

    /// How many bytes this rank sends, by the first of its ways.
    pub(crate) fn bytes_out(&self) -> usize {
        let out = self.posts[0].transfers.iter().filter(|transfer| transfer.direction == Direction::Out);
        out.map(|transfer| transfer.buffer.len()).sum()
    }
}

impl Drop for Moves {
    fn drop(&mut self) {
        self.posts.iter().for_each(|post| self.engine.forget(post));
    }
}
