//! Owns: what a program's call before a worker's sleep may do.
//! May use: `raddle`.
//! Never: another test in this program, which has one such call.

use raddle::csp;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static SLEEPER: OnceLock<csp::Process> = OnceLock::new();

fn wakes_once() {
    static HAS_WOKEN: AtomicBool = AtomicBool::new(false);
    if let Some(sleeper) = SLEEPER.get()
        && !HAS_WOKEN.swap(true, Ordering::Relaxed)
    {
        sleeper.unpark();
    }
}

#[test]
fn whom_it_wakes_runs_before_the_sleep() {
    raddle::Runtime::builder().workers(1).build().expect("a runtime").run(|| {
        let sleeper = csp::spawn(csp::park);
        assert!(SLEEPER.set(sleeper.process().clone()).is_ok());
        assert!(raddle::before_sleep(wakes_once));
        sleeper.join().expect("it ends");
    });
}
