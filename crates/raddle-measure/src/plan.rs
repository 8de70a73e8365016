//! Owns: warm-up, calibrated repetition and the clock around a benchmark's body.
//! May use: `sample`.
//! Never: output; what was measured is returned.
//!
//! A run shorter than [`Plan::run_ns_min`] is repeated inside the process until it is long enough: the clock and
//! the start of a run then cost less than the figure's own noise. The number of repetitions is found by doubling
//! and then kept, so that all samples of a process did the same. Calibration is at the same time the warm-up.

use std::future::ready;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use crate::Sample;

/// How many samples a program takes and how long each lasts at least.
///
/// ```
/// use raddle_measure::{Plan, work};
/// let plan = Plan { samples: 3, run_ns_min: 100_000 };
/// let samples = plan.time(1000, || work::burn(1, 1000)).unwrap();
/// assert_eq!(samples.len(), 3);
/// assert_eq!(samples[0].checksum, work::burned(1, 1000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Samples to take, each one repetition of the calibrated body.
    pub samples: usize,
    /// A sample lasts at least this long, in nanoseconds.
    pub run_ns_min: u64,
}

/// A call that lasts so many times what a sample must last needs no warm-up.
const LONG: u64 = 50;

impl Default for Plan {
    /// Three samples of at least 20 ms: twice what a sample must last, so that a fast spell does not undercut it.
    fn default() -> Self {
        Plan { samples: 3, run_ns_min: 20_000_000 }
    }
}

impl Plan {
    /// Times `body`, which performs `operations` operations a call and returns their checksum.
    ///
    /// # Errors
    /// When two calls of `body` return different checksums: it then did not do the same work each time.
    ///
    /// # Panics
    /// When `operations` is 0.
    pub fn time(&self, operations: u64, mut body: impl FnMut() -> u64) -> Result<Vec<Sample>, String> {
        let timing = pin!(self.time_async(operations, || ready(body())));
        match timing.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(samples) => samples,
            Poll::Pending => unreachable!("a future made of ready futures is ready"),
        }
    }

    /// As [`Plan::time`], for a body that is a future.
    ///
    /// # Errors
    /// As [`Plan::time`].
    ///
    /// # Panics
    /// As [`Plan::time`].
    pub async fn time_async<F: Future<Output = u64>>(
        &self,
        operations: u64,
        mut body: impl FnMut() -> F,
    ) -> Result<Vec<Sample>, String> {
        assert!(operations > 0, "a benchmark's body must perform at least one operation");
        let (mut calls, begun, checksum) = (1, Instant::now(), body().await);
        let first_ns = begun.elapsed().as_nanos() as u64;
        if first_ns >= self.run_ns_min.max(1).saturating_mul(LONG) {
            return self.time_long(operations, (first_ns, checksum), body).await;
        }
        while timed(calls, checksum, &mut body).await? < self.run_ns_min {
            calls *= 2;
        }
        let mut samples = Vec::with_capacity(self.samples);
        for _ in 0..self.samples {
            let elapsed_ns = timed(calls, checksum, &mut body).await?;
            samples.push(Sample::new(elapsed_ns as f64 / (calls * operations) as f64, checksum));
        }
        Ok(samples)
    }

    /// The samples of a body so long that its first call needed no warm-up, and is one of them.
    async fn time_long<F: Future<Output = u64>>(
        &self,
        operations: u64,
        (first_ns, checksum): (u64, u64),
        mut body: impl FnMut() -> F,
    ) -> Result<Vec<Sample>, String> {
        let mut samples = vec![Sample::new(first_ns as f64 / operations as f64, checksum)];
        while samples.len() < self.samples {
            let elapsed_ns = timed(1, checksum, &mut body).await?;
            samples.push(Sample::new(elapsed_ns as f64 / operations as f64, checksum));
        }
        Ok(samples)
    }

    /// Takes the plan's number of samples from a body that measures by itself, after one call to warm up.
    ///
    /// # Errors
    /// The first error of `body`.
    pub fn repeat(&self, mut body: impl FnMut() -> Result<Sample, String>) -> Result<Vec<Sample>, String> {
        body()?;
        (0..self.samples).map(|_| body()).collect()
    }
}

async fn timed<F: Future<Output = u64>>(
    calls: u64,
    checksum: u64,
    body: &mut impl FnMut() -> F,
) -> Result<u64, String> {
    let start = Instant::now();
    let mut differing = None;
    for _ in 0..calls {
        let got = body().await;
        if got != checksum {
            differing = Some(got);
        }
    }
    let elapsed_ns = start.elapsed().as_nanos() as u64;
    match differing {
        None => Ok(elapsed_ns),
        Some(got) => Err(format!("the checksum was {checksum} in the first run and {got} in a later one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_repeated_until_a_sample_is_long_enough() {
        let mut calls = 0_u64;
        let plan = Plan { samples: 2, run_ns_min: 1_000_000 };
        let samples = plan.time(10, || {
            calls += 1;
            5
        });
        assert_eq!(samples.unwrap().len(), 2);
        assert!(calls > 1000, "an empty body cannot fill 1 ms in {calls} calls");
    }

    #[test]
    fn a_long_body_is_called_no_more_often_than_there_are_samples() {
        let mut calls = 0;
        let plan = Plan { samples: 2, run_ns_min: 1 };
        let samples = plan.time(1, || {
            calls += 1;
            crate::work::burn(1, 1000)
        });
        assert_eq!((samples.unwrap().len(), calls), (2, 2));
    }

    #[test]
    fn a_body_that_changes_its_answer_is_refused() {
        let mut answer = 0;
        let plan = Plan { samples: 2, run_ns_min: 0 };
        let refused = plan.time(1, || {
            answer += 1;
            answer
        });
        assert!(refused.unwrap_err().contains("checksum"));
    }

    #[test]
    fn a_self_measuring_body_is_called_once_more_than_it_has_samples() {
        let mut calls = 0;
        let plan = Plan { samples: 4, run_ns_min: 0 };
        let samples = plan.repeat(|| {
            calls += 1;
            Ok(Sample::new(f64::from(calls), 0))
        });
        let figures: Vec<f64> = samples.unwrap().iter().map(|s| s.ns_per_op).collect();
        assert_eq!(figures, [2.0, 3.0, 4.0, 5.0]);
    }
}
