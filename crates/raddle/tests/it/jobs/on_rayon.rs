//! The tests in `agree` against `rayon-core`: they ask for no more than it does.

use rayon_core as jobs;

type Test = fn();

/// Where each test is run: outside of any pool, and in pools of so many workers.
const PLACES: &[fn(Test)] =
    &[|test| test(), |test| on_workers(1, test), |test| on_workers(2, test), |test| on_workers(8, test)];

fn on_workers(workers: usize, test: impl FnOnce() + Send) {
    jobs::ThreadPoolBuilder::new().num_threads(workers).build().expect("a pool").install(test);
}

#[path = "agree/mod.rs"]
mod agree;
