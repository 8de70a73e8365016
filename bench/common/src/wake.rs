//! Owns: the measurement of waking a sleeping thread, and a plain futex sleeper for comparison.
//! May use: the state of threads in `/proc`, futexes.
//! Never: a runtime; the runtime's program says how it wakes.
//!
//! The waker waits until the kernel says that the sleeper sleeps, computes for a while (its core must not sleep
//! too), takes the time, wakes, and spins until the woken code has written *its* time. Both times are of one
//! clock. Spinning occupies the waker's core only; sleeper and waker are on different ones.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use raddle_measure::stats::percentile;
use raddle_measure::{Sample, machine, work};

use crate::{cores, futex};

/// About 100 us on the waker's core after the sleeper sleeps, so that the sleeper's core is really idle.
const SETTLE_STEPS: u64 = 100_000;

/// One clock for both sides, and the time at which the woken side ran.
pub struct Meter {
    start: Instant,
    ran_ns: AtomicU64,
}

impl Default for Meter {
    fn default() -> Self {
        Meter { start: Instant::now(), ran_ns: AtomicU64::new(0) }
    }
}

impl Meter {
    /// The woken code calls this first.
    pub fn ran(&self) {
        self.ran_ns.store(self.now_ns(), Ordering::Release);
    }

    /// Nanoseconds from the call of `wake` to the woken code; `sleeper` is its thread id.
    pub fn measure(&self, sleeper: u32, wake: impl FnOnce()) -> f64 {
        while !machine::thread_sleeps(sleeper) {
            spin_loop();
        }
        std::hint::black_box(work::burn(1, SETTLE_STEPS));
        self.ran_ns.store(0, Ordering::Relaxed);
        let called_ns = self.now_ns();
        wake();
        loop {
            match self.ran_ns.load(Ordering::Acquire) {
                0 => spin_loop(),
                ran_ns => return ran_ns.saturating_sub(called_ns) as f64,
            }
        }
    }

    /// Like [`Meter::measure`], `wakes` times.
    pub fn series(&self, wakes: u64, sleeper: u32, wake: impl Fn()) -> Vec<f64> {
        (0..wakes).map(|_| self.measure(sleeper, &wake)).collect()
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64 + 1
    }
}

/// Wakes a runtime's sleeper and the futex sleeper alternately, `wakes` times each; the sample holds both.
pub fn compare(
    meter: &Meter,
    wakes: u64,
    sleeper: u32,
    mut wake: impl FnMut(),
    bare: &FutexSleeper,
) -> Result<Sample, String> {
    let (mut runtime, mut futex) = (Vec::new(), Vec::new());
    for _ in 0..wakes {
        runtime.push(meter.measure(sleeper, &mut wake));
        futex.push(bare.measure());
    }
    let (sample, bare) = (summary(wakes, &runtime)?, summary(wakes, &futex)?);
    let sample = sample.with("futex_ns", bare.ns_per_op).with("futex_p99_ns", bare.extra["p99_ns"]);
    Ok(sample.with("futex_max_ns", bare.extra["max_ns"]))
}

/// The median of `series`, its 99th percentile, and the latest.
pub fn summary(wakes: u64, series: &[f64]) -> Result<Sample, String> {
    let at = |percent| percentile(series, percent).ok_or("no wake was measured".to_owned());
    Ok(Sample::new(at(50.0)?, wakes).with("p99_ns", at(99.0)?).with("max_ns", at(100.0)?))
}

/// An OS thread that does nothing but sleep in a futex.
pub struct FutexSleeper {
    shared: Arc<SleeperState>,
    id: u32,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct SleeperState {
    meter: Meter,
    word: AtomicU32,
    over: AtomicBool,
    id: AtomicU32,
}

impl FutexSleeper {
    /// Starts the thread, pinned to core `core` if one is given.
    pub fn start(core: Option<usize>) -> Result<Self, String> {
        let shared = Arc::new(SleeperState::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::spawn(move || sleep_until_over(&theirs, core));
        let mut id = 0;
        while id == 0 {
            if thread.is_finished() {
                return Err("the futex sleeper could not be pinned".into());
            }
            std::thread::yield_now();
            id = shared.id.load(Ordering::Acquire);
        }
        Ok(FutexSleeper { shared, id, thread: Some(thread) })
    }

    /// Nanoseconds of one wake.
    pub fn measure(&self) -> f64 {
        self.shared.meter.measure(self.id, || self.shared.next())
    }
}

impl Drop for FutexSleeper {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.shared.next();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl SleeperState {
    fn next(&self) {
        self.word.fetch_add(1, Ordering::Release);
        futex::wake(&self.word);
    }
}

fn sleep_until_over(shared: &SleeperState, core: Option<usize>) {
    if core.is_some_and(|core| cores::pin(core).is_err()) {
        return;
    }
    shared.id.store(machine::thread_id().unwrap_or(0), Ordering::Release);
    let mut seen = 0;
    while !shared.over.load(Ordering::Relaxed) {
        while shared.word.load(Ordering::Acquire) == seen {
            futex::wait(&shared.word, seen);
        }
        shared.meter.ran();
        seen = seen.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wake_is_measured_and_the_sleeper_ends() {
        let bare = FutexSleeper::start(None).unwrap();
        assert!((0..5).map(|_| bare.measure()).all(|ns| ns > 0.0));
    }
}
