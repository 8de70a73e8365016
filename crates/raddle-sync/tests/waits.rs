//! Every call in which one waits at a lock is described in reports, ends when it is cancelled, and is refused to a
//! task: by the one table of these calls, which is held against the sources.
#![cfg(not(any(loom, target_arch = "aarch64")))]

#[path = "../../raddle-core/tests/support/lock_waits.rs"]
mod lock_waits;

use lock_waits::{LOCK_WAITS, Waits};
use raddle::cancel::Token;
use raddle::{Runtime, csp, task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// They are held only briefly, or run what others need, and so are not cancelled: `docs/CANCEL.md`.
const NOT_CANCELLED: &[&str] =
    &["McsLock::lock", "ClhLock::lock", "Once::call_once", "Once::wait", "Once::wait_force"];

/// It needs other transactions, which that crate has: its tests see it described and cancelled.
const OF_TRANSACTIONS: &str = "atomically for another transaction's end";

/// The calls that the sources name: `CallOn::new("Mutex::lock")`.
fn calls(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            calls(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let named = text.split("CallOn::new(\"").skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(named.map(str::to_owned));
    }
}

#[test]
fn each_call_that_a_lock_names_is_in_the_table() {
    let mut named = Vec::new();
    calls(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sync"), &mut named);
    assert!(named.len() > 10, "{named:?}");
    for call in named.into_iter().filter(|call| call != OF_TRANSACTIONS) {
        let in_table = LOCK_WAITS.iter().any(|(name, _)| *name == call);
        assert!(
            in_table != NOT_CANCELLED.contains(&call.as_str()),
            "{call}: a row in lock_waits.rs, or its reason"
        );
    }
}

#[test]
fn each_is_described_and_cancelled() {
    Runtime::builder().workers(1).build().expect("a runtime").run(|| {
        for (call, waits) in LOCK_WAITS {
            let token = Token::new();
            let region = token.clone();
            let waiting = csp::spawn(move || region.run(|| waits(&AtomicBool::new(false))).is_err());
            let process = waiting.process();
            let words = loop {
                csp::yield_now();
                // SAFETY: both are on one worker, on which this runs.
                if let Some(words) = unsafe { process.waits_for() } {
                    break words;
                }
                assert!(!waiting.is_finished(), "{call} did not wait");
            };
            assert!(words.starts_with(&format!("waits in {call} at ")), "{call}: {words}");
            token.cancel();
            assert!(waiting.join().expect("it only waits"), "{call} was not cancelled");
        }
    });
}

#[test]
fn each_is_refused_to_a_task_and_told_what_to_do() {
    const ONCE: &[(&str, Waits)] = &[("Once::wait", |_| raddle::sync::Once::new().wait())];
    for (call, waits) in LOCK_WAITS.iter().chain(ONCE) {
        let waits = || waits(&AtomicBool::new(false));
        let panicked = task::block_on(task::spawn(async move { catch_unwind(AssertUnwindSafe(waits)) }));
        let panicked = panicked.expect("the task caught it").expect_err("it must not wait");
        let words = panicked.downcast::<String>().expect("words");
        // Where the type's own name says enough, the module's is left out.
        let name = call.trim_start_matches("mpsc::");
        assert!(words.contains(name) && words.contains(".await"), "{call}: {words}");
    }
}
