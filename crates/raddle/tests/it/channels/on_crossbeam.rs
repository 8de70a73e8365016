//! The tests in `agree` against `crossbeam-channel`: they ask for no more than it does.

use crossbeam_channel as channel;

type Test = fn();

/// Where each test is run.
const PLACES: &[fn(Test)] = &[|test| test()];

/// Runs `f` beside the caller; what is returned waits for it.
fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Box<dyn FnOnce() -> T> {
    let thread = std::thread::spawn(f);
    Box::new(move || thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

fn pause(time: std::time::Duration) {
    std::thread::sleep(time);
}

#[path = "agree/mod.rs"]
mod agree;
