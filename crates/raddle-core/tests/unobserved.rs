//! Owns: tests of the scheduler in a program that links no observer.
//! May use: `raddle-core` alone.
//! Never: `raddle`, which would link them.

use raddle_core::observe::{OnDeadlock, WATCHER};
use raddle_core::stamp::Stamp;
use raddle_core::{BuildError, Builder, Runtime};
use std::time::Duration;

#[test]
fn a_program_without_the_watcher_runs_and_starts_none() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    assert_eq!(runtime.run(|| 7), 7);
    assert!(WATCHER.get().is_none(), "no observer is linked");
    assert_eq!(Stamp::now().to_bits(), 0, "nobody says what time it is");
}

#[test]
fn who_asks_for_reports_of_hangs_is_told_what_they_need() {
    let refused = |builder: Builder| match builder.workers(1).build() {
        Err(BuildError::Config(wrong)) => wrong.to_string(),
        other => panic!("{other:?}"),
    };
    let deadlock = refused(Runtime::builder().deadlock(OnDeadlock::Report));
    assert!(deadlock.starts_with("RADDLE_DEADLOCK") && deadlock.contains("feature `hang`"), "{deadlock}");
    let handler = refused(Runtime::builder().on_deadlock(|_dump| ()));
    assert!(handler.starts_with("Builder::on_deadlock"), "{handler}");
    let slow = refused(Runtime::builder().slow_slice(Some(Duration::from_secs(1))));
    assert!(slow.starts_with("RADDLE_SLOW_SLICE"), "{slow}");
    let quit = refused(Runtime::builder().dump_on_quit(true));
    assert!(quit.starts_with("RADDLE_SIGQUIT"), "{quit}");
    let off = Runtime::builder().workers(1).deadlock(OnDeadlock::Off).slow_slice(None).dump_on_quit(false);
    assert_eq!(off.build().unwrap().run(|| 7), 7);
}
