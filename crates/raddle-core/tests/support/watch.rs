//! A watchdog: an OS thread that aborts the program, with a report, when nothing has moved for five minutes.
//!
//! It is no assertion about time: it turns a hang, which would say nothing, into a message. It counts its own short
//! sleeps, not the clock, so that a stopped process does not count as one that hangs.

#![allow(dead_code, reason = "each test program uses a part")]

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const BEAT: Duration = Duration::from_millis(100);
/// A test that notes no progress takes no such time even where it has a hundredth of a processor.
const BEATS_MAX: u32 = 3000;

/// What is watched: a number that must go on changing.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Something has moved.
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Watches until it is dropped.
pub(crate) struct Watchdog {
    over: Arc<AtomicBool>,
    dog: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Aborts when `progress` has not changed for five minutes, after it has printed `what` and `report()`.
    pub(crate) fn new(
        what: String,
        progress: Progress,
        report: impl Fn() -> String + Send + 'static,
    ) -> Watchdog {
        let over = Arc::new(AtomicBool::new(false));
        let seen_over = over.clone();
        let dog = move || {
            let (mut last, mut beats) = (0, 0);
            while !seen_over.load(Ordering::Acquire) {
                std::thread::park_timeout(BEAT);
                let now = progress.0.load(Ordering::Relaxed);
                beats = if now == last { beats + 1 } else { 0 };
                last = now;
                if beats > BEATS_MAX {
                    let text = format!("watchdog: {what}: no progress after {last} steps\n{}\n", report());
                    // Not by a macro, whose output the harness keeps until the test ends.
                    let _nowhere = std::io::stderr().write_all(text.as_bytes());
                    std::process::abort();
                }
            }
        };
        Watchdog { over, dog: Some(std::thread::spawn(dog)) }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(dog) = self.dog.take() {
            dog.thread().unpark();
            let _panicked = dog.join();
        }
    }
}
