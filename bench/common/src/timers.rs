//! Owns: how long those sleep that a timer wakes, and how late they are.
//! May use: `raddle_measure`.
//! Never: a clock of a runtime.

use raddle_measure::{Job, Sample, machine};
use std::time::Duration;

/// So many sleep at once, each so often.
#[derive(Clone, Copy, Debug)]
pub struct TimerShape {
    pub count: u64,
    pub rounds: u64,
}

impl TimerShape {
    /// # Errors
    /// When a parameter is missing.
    pub fn of(job: &Job) -> Result<TimerShape, String> {
        Ok(TimerShape { count: job.number("count")?, rounds: job.number("rounds")? })
    }

    /// Between 100 and 1000 ms: no two of a round alike.
    pub fn pause(&self, index: u64, round: u64) -> Duration {
        Duration::from_nanos(100_000_000 + (index + round * self.count) * 7_777_777_777 % 900_000_000)
    }
}

/// The processor time that a sleep has taken, and how late its end was.
///
/// # Errors
/// When the processor time cannot be read, or nobody has slept.
pub fn sample(begun_ns: u64, mut late_ns: Vec<u64>) -> Result<Sample, String> {
    let used_ns = machine::processor_ns()? - begun_ns;
    late_ns.sort_unstable();
    let at = |percent: usize| late_ns.get(late_ns.len() * percent / 100).copied().ok_or("nobody has slept");
    let (half, late) = (at(50)? as f64 / 1e3, at(99)? as f64 / 1e3);
    let sleeps = late_ns.len() as u64;
    let each = used_ns as f64 / sleeps as f64;
    Ok(Sample::new(each, sleeps).with("late_p50_us", half).with("late_p99_us", late))
}
