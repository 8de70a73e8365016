//! Owns: the turns of a loop, all of them cheap or the last eighth dear, and what they are judged by.
//! May use: `raddle_measure`.
//! Never: a loop that runs them.

use raddle_measure::Job;
use raddle_measure::work::burn;

/// A loop of `count` turns; a turn of the last eighth computes `steps` steps.
#[derive(Clone, Copy, Debug)]
pub struct LoopShape {
    /// How many turns.
    pub count: usize,
    cheap: usize,
    steps: u64,
}

impl LoopShape {
    /// # Errors
    /// When a parameter is missing.
    pub fn of(job: &Job) -> Result<LoopShape, String> {
        let count = job.number("count")? as usize;
        let steps = job.number("steps")?;
        Ok(LoopShape { count, cheap: if steps == 0 { count } else { count - count / 8 }, steps })
    }

    /// The value of turn `n`.
    #[inline(always)]
    pub fn value(&self, n: usize) -> u64 {
        if n < self.cheap { 3 * n as u64 + 1 } else { burn(n as u64, self.steps) }
    }

    /// A digest that costs nothing: the first value, the middle one and the last.
    pub fn digest(&self, value: impl Fn(usize) -> u64) -> u64 {
        [0, self.count / 2, self.count - 1].map(value).into_iter().fold(0, u64::wrapping_add)
    }
}
