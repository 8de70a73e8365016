//! Owns: the three forms of work that two cores can share, as numbers.
//! May use: `raddle_measure::work`.
//! Never: a runtime; a program spawns what a form says in its own idiom.

use std::time::Instant;

use raddle_measure::{Job, Sample};

/// What to compute: `a` spawned processes that yield between slices, `b` the main one and a spawned one, `c`
/// spawned processes that never yield.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// So many spawned processes of so many slices each.
    Spawned { count: u64, slices: u64 },
    /// The caller computes with seed 0 while a spawned process computes with seed 1.
    MainAndOne,
}

impl Form {
    /// The form and the steps of a slice that the runner asked for.
    pub fn of(job: &Job) -> Result<(Form, u64), String> {
        let form = match job.text("form")? {
            "a" => Form::Spawned { count: 4, slices: 5 },
            "b" => Form::MainAndOne,
            "c" => Form::Spawned { count: 8, slices: 1 },
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
