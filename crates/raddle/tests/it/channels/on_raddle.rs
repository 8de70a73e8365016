//! The tests in `agree` against Raddle: it does what `crossbeam-channel` does, wherever the caller runs.

use raddle::channel;
use raddle::{csp, thread};
use std::panic::resume_unwind;

type Test = fn();

/// Where each test is run: on an OS thread, on threads that move, and in processes of runtimes with so many workers.
const PLACES: &[fn(Test)] = &[
    |test| test(),
    |test| own(test).join().unwrap_or_else(|panic| resume_unwind(panic)),
    |test| on_workers(1, test),
    |test| on_workers(2, test),
    |test| on_workers(8, test),
];

const OWN: &str = "has its own thread-locals";

fn own<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().name(OWN.into()).spawn(f).expect("a thread")
}

fn on_workers(workers: usize, test: Test) {
    raddle::Runtime::builder().workers(workers).build().expect("a runtime").run(test);
}

/// Runs `f` beside the caller, as one of its kind; what is returned waits for it.
fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Box<dyn FnOnce() -> T> {
    let join: Box<dyn FnOnce() -> std::thread::Result<T>> = if thread::current().name() == Some(OWN) {
        let thread = own(f);
        Box::new(|| thread.join())
    } else if csp::current().is_some() {
        let process = csp::spawn(f);
        Box::new(|| process.join())
    } else {
        let thread = std::thread::spawn(f);
        Box::new(|| thread.join())
    };
    Box::new(move || join().unwrap_or_else(|panic| resume_unwind(panic)))
}

fn pause(time: std::time::Duration) {
    csp::sleep(time);
}

#[path = "agree/mod.rs"]
mod agree;
