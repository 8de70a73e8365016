//! The tests in `agree` against Raddle: it does what the standard library does, wherever the caller runs.

use raddle::{thread, thread_local};

type Test = fn();

/// Where each test is run.
const PLACES: &[fn(Test)] = &[|test| test(), in_a_thread, in_a_process];

fn in_a_thread(test: Test) {
    thread::spawn(test).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn in_a_process(test: Test) {
    let roomy = raddle::csp::Builder::new().stack_size(1 << 20).spawn(test).expect("a process");
    roomy.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[path = "agree/mod.rs"]
mod agree;
