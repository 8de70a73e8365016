//! The ring under loom: a writer that overwrites, against a reader that copies; each weakened ordering is noticed.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p raddle-trace --release --test loom`

#![cfg(loom)]

use loom::sync::Arc;
use raddle_trace::ring::weak;
use raddle_trace::{Event, Record, Ring};
use std::process::Command;
use std::sync::atomic::Ordering;

const VARIABLE: &str = "RADDLE_LOOM_WEAKEN";

fn record(n: usize) -> Record {
    Record::new(n as u64 + 1, Event::Mark, n as u32 + 1, n as u32 + 1)
}

fn weaken_as_asked() {
    let weakened = std::env::var(VARIABLE).ok().and_then(|site| site.parse().ok()).unwrap_or(0);
    weak::WEAKENED.store(weakened, Ordering::Relaxed);
}

/// Copies concurrently with a writer, and checks that each record is whole and in its place.
///
/// The writer is the model's first thread: loom finds the points of interruption from the last access to each word, and
/// a writer that is the second thread would hide the reader by reading its own head.
fn beside_a_writer(ring: &Arc<Ring>, write: impl Fn(&Ring)) {
    let reader = {
        let ring = ring.clone();
        loom::thread::spawn(move || {
            let copied = ring.copy(0, 10);
            for (number, got) in (copied.first..).zip(&copied.records) {
                assert_eq!(*got, record(number), "record {number}");
            }
        })
    };
    write(ring);
    reader.join().unwrap();
}

/// Places enough: what the head says is there is there.
#[test]
fn what_is_published_is_complete() {
    weaken_as_asked();
    loom::model(|| {
        let ring = Arc::new(Ring::new(4));
        beside_a_writer(&ring, |ring| (0..2).for_each(|n| ring.push(record(n))));
    });
}

/// Two places, four records, one copy: what is overwritten meanwhile is not taken for the old.
#[test]
fn a_copy_is_never_torn() {
    weaken_as_asked();
    loom::model(|| {
        let ring = Arc::new(Ring::new(2));
        ring.push(record(0));
        beside_a_writer(&ring, |ring| (1..4).for_each(|n| ring.push(record(n))));
        let rest = ring.copy(0, 10);
        assert_eq!((rest.first, rest.records), (3, vec![record(3)]));
    });
}

/// A model that fails ends its process: each weakening gets one of its own.
#[test]
fn every_weakened_ordering_is_noticed() {
    let program = std::env::current_exe().expect("a test program has a path");
    let models = ["what_is_published_is_complete", "a_copy_is_never_torn"];
    for site in [weak::HEAD, weak::PUBLISH, weak::BEFORE_WORDS, weak::AFTER_WORDS] {
        let notices = |model| {
            let ran =
                Command::new(&program).args(["--exact", model]).env(VARIABLE, site.to_string()).output();
            !ran.expect("this program runs").status.success()
        };
        assert!(models.into_iter().any(notices), "no model notices a weakened {site}");
    }
}
