//! What waits at a futex: who holds what it guards, if an owner is named, and at which word, if none is.

use crate::child::{in_program, stderr};
use crate::futex_locks::{Barrier, Lock};
use crate::plain;
use crate::runtime;
use raddle::thread;
use raddle_core::door::futex::{self, WaitOptions};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Two threads take two locks of an adaptor's in two orders.
pub(super) fn owners() {
    runtime(2).run(|| {
        let shared = Arc::new((Lock::default(), Lock::default(), Barrier::new(2)));
        let other = shared.clone();
        let warp = thread::Builder::new().name("warp".into()).spawn(move || {
            let (first, second, both) = &*shared;
            first.lock();
            both.wait();
            second.lock();
        });
        let weft = thread::Builder::new().name("weft".into()).spawn(move || {
            let (first, second, both) = &*other;
            second.lock();
            both.wait();
            first.lock();
        });
        warp.unwrap().join().unwrap();
        weft.unwrap().join().unwrap();
    });
}

/// Nobody is known to hold it.
pub(super) fn alone() {
    runtime(1).run(|| {
        let word = AtomicU32::new(0);
        futex::wait(&word, 0, &WaitOptions::default());
    });
}

/// The numbers of addresses are not the same twice.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("(0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "(0x.." + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

#[test]
fn a_cycle_of_an_adaptors_locks_names_their_owners() {
    let output = in_program("futex_owners", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = plain(&without_addresses(&stderr(&output)));
    let here = "crates/raddle-hang/tests/it/futex.rs:N";
    let one = |name| format!("thread '{name}' (#N, spawned at {here}) waits in futex::wait(0x..) at ");
    let first = text.lines().next().unwrap();
    for (who, holder) in [("warp", "weft"), ("weft", "warp")] {
        let sentence = first.split("; ").find(|part| part.contains(&one(who))).expect(first);
        assert!(sentence.ends_with(&format!(", held by '{holder}'")), "{text}");
    }
    assert!(first.starts_with("raddle: deadlock: thread 'w"), "{text}");
}

#[test]
fn who_waits_without_an_owner_says_at_which_word() {
    let output = in_program("futex_alone", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = without_addresses(&stderr(&output));
    let first = text.lines().next().unwrap();
    assert!(first.contains(" waits in futex::wait(0x..) at crates/raddle-hang/tests/it/futex.rs:"), "{text}");
    assert!(!first.contains("held by"), "{text}");
}
