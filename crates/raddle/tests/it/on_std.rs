//! The tests in `agree` against the standard library: they ask for no more than it does.

use std::{thread, thread_local};

type Test = fn();

/// Where each test is run.
const PLACES: &[fn(Test)] = &[|test| test(), in_a_thread];

fn in_a_thread(test: Test) {
    thread::spawn(test).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[path = "agree/mod.rs"]
mod agree;
