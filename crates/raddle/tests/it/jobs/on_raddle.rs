//! The tests in `agree` against Raddle: it does what `rayon-core` does, wherever the caller runs.

use raddle as jobs;

type Test = fn();

/// Where each test is run: on an OS thread, on a thread that moves, and in processes of runtimes of so many workers.
const PLACES: &[fn(Test)] = &[
    |test| test(),
    |test| {
        let thread = raddle::thread::Builder::new().spawn(test).expect("a thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    },
    |test| on_workers(1, test),
    |test| on_workers(2, test),
    |test| on_workers(8, test),
];

fn on_workers(workers: usize, test: impl FnOnce() + Send) {
    raddle::Runtime::builder().workers(workers).build().expect("a runtime").run(test);
}

#[path = "agree/mod.rs"]
mod agree;
