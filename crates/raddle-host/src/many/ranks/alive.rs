//! Owns: whether the other ranks are there: each says so now and then, and who says nothing for long is given up.
//! May use: nothing.
//! Never: a rank given up because this one did not listen.
//!
//! A rank whose process is stopped, or whose machine is gone, says nothing, and no other rank would ever learn it: who
//! waits for a message of occam's waits as long as that takes. So an OS thread of each rank says to rank 0 that it is
//! there, and rank 0's says it to all, three times within the deadline; whatever else is said counts as well. It is not
//! by the clock that a rank is given up, but when the one who hears has looked four times, each time for so long, and
//! has found nothing: a job that was stopped as a whole goes on.

use super::RankLink;
use super::frame::RankFrame;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// So often a rank says that it is there within the deadline.
const TIMES: u32 = 3;

/// How often in a row one who hears has found nothing of each other rank.
pub(super) struct HeardOf {
    /// Of whom something is to be heard, and how often that was not so.
    missed: Vec<(usize, u32)>,
    looked: Instant,
    deadline: Duration,
}

impl HeardOf {
    pub(super) fn new((rank, size): (usize, usize), deadline: Duration) -> HeardOf {
        let missed = partners(rank, size).map(|other| (other, 0)).collect();
        HeardOf { missed, looked: Instant::now(), deadline }
    }

    /// How long to wait for a message.
    pub(super) fn patience(&self) -> Duration {
        self.deadline / TIMES
    }

    /// Something has come of that rank, or nothing in time.
    ///
    /// # Errors
    /// Which rank is given up.
    pub(super) fn note(&mut self, from: Option<usize>) -> Result<(), String> {
        self.missed.iter_mut().filter(|(rank, _)| Some(*rank) == from).for_each(|(_, missed)| *missed = 0);
        if self.looked.elapsed() < self.patience() {
            return Ok(());
        }
        self.looked = Instant::now();
        self.missed.iter_mut().for_each(|(_, missed)| *missed += 1);
        // One more, since what is said and who looks are not in step.
        let lost = self.missed.iter().find(|(_, missed)| *missed > TIMES);
        let text = |rank: usize| {
            let deadline = self.deadline;
            format!("rank {rank} has said nothing for {deadline:?}: it is stopped, or its machine is gone")
        };
        lost.map_or(Ok(()), |(rank, _)| Err(text(*rank)))
    }
}

/// To whom a rank says that it is there, and of whom it hears it.
fn partners(rank: usize, size: usize) -> impl Iterator<Item = usize> {
    (0..size).filter(move |other| (rank == 0) != (*other == 0))
}

/// The OS thread that says so.
pub(super) struct SaysAlive {
    is_over: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl SaysAlive {
    pub(super) fn begin(link: &Arc<dyn RankLink>) -> SaysAlive {
        let is_over = Arc::<AtomicBool>::default();
        let (over, link) = (is_over.clone(), link.clone());
        if link.size() == 1 {
            return SaysAlive { is_over, thread: Mutex::default() };
        }
        let says = move || {
            let (rank, size, every) = (link.rank(), link.size(), link.deadline() / TIMES);
            let mut said = Instant::now();
            while !over.load(Ordering::Relaxed) {
                std::thread::park_timeout(every.saturating_sub(said.elapsed()));
                if said.elapsed() >= every {
                    said = Instant::now();
                    // Who cannot be reached is heard of by who hears.
                    partners(rank, size).for_each(|to| drop(link.send(to, RankFrame::Alive.write())));
                }
            }
        };
        // Without one the others give this rank up: better than to end at once where they need not.
        let thread = std::thread::Builder::new().name("raddle-alive".to_owned()).spawn(says).ok();
        SaysAlive { is_over, thread: Mutex::new(thread) }
    }

    /// Nothing more is said.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            let _its_panic_was_shown = thread.join();
        }
    }
}

impl Drop for SaysAlive {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_nothing_is_given_up_and_nobody_else() {
        let mut heard = HeardOf::new((0, 3), Duration::ZERO);
        // With no deadline each look counts.
        for _ in 0..TIMES {
            assert_eq!(heard.note(Some(1)), Ok(()));
        }
        let lost = heard.note(Some(1)).expect_err("nothing of rank 2");
        assert!(lost.starts_with("rank 2 has said nothing for "), "{lost}");
        assert_eq!(partners(0, 3).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(partners(2, 3).collect::<Vec<_>>(), [0]);
        assert_eq!(partners(0, 1).count(), 0);
    }
}
