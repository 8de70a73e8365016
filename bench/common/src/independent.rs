//! Owns: the parameters of the three kinds of work that two cores can share.
//! May use: `raddle_measure::work`.
//! Never: a runtime; each program spawns the work in its own idiom.

use std::time::Instant;

use raddle_measure::{Job, Sample};

/// What to compute: `a` spawned processes that yield between slices, `b` the main one and a spawned one, `c`
/// spawned processes that never yield.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WorkKind {
    /// Several spawned processes of several slices each.
    Spawned { count: u64, slices: u64 },
    /// The caller computes with seed 0 while a spawned process computes with seed 1.
    MainAndOne,
}

impl WorkKind {
    /// The kind of work and the steps per slice that the runner requested.
    pub fn of(job: &Job) -> Result<(WorkKind, u64), String> {
        let form = match job.text("form")? {
            "a" => WorkKind::Spawned { count: 4, slices: 5 },
            "b" => WorkKind::MainAndOne,
            "c" => WorkKind::Spawned { count: 8, slices: 1 },
            other => return Err(format!("no form is called {other:?}; there are a b c")),
        };
        Ok((form, job.number("steps")?))
    }
}

/// A sample in milliseconds of a body that returns its checksum.
pub fn sample(body: impl FnOnce() -> u64) -> Sample {
    let start = Instant::now();
    let checksum = body();
    Sample::new(start.elapsed().as_secs_f64() * 1e3, checksum)
}
