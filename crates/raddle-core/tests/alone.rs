//! The scheduler without its observers: this program links `raddle-core` alone, and names no crate above it.
#![cfg(not(loom))]

use raddle_core::observe::OnDeadlock;
use raddle_core::stamp::Stamp;
use raddle_core::worker::watching::WATCHER;
use raddle_core::{Builder, Runtime};
use std::time::Duration;

#[test]
fn it_runs() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    assert_eq!(runtime.run(|| 6 * 7), 42);
    assert_eq!(runtime.schedule_hash(), None);
}

#[test]
fn a_seed_is_refused_with_the_feature_that_is_missing() {
    let by_text = || Runtime::builder().setting("RADDLE_SEED", "12:1").unwrap();
    for builder in [Runtime::builder().seed(7), by_text()] {
        let said = builder.build().unwrap_err().to_string();
        assert_eq!(
            said,
            "a seed is set (RADDLE_SEED), and this program is built without `raddle-explore`; build it with the \
             feature `explore` of the crate `raddle`"
        );
    }
}

#[test]
fn it_runs_without_a_watcher() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    assert_eq!(runtime.run(|| 7), 7);
    assert!(WATCHER.get().is_none(), "none is linked");
    assert_eq!(Stamp::now().to_bits(), 0, "nobody says what time it is");
}

#[test]
fn reports_of_hangs_are_refused_only_to_who_asks_for_them() {
    let refused = |builder: Builder| builder.workers(1).build().unwrap_err().to_string();
    assert_eq!(
        refused(Runtime::builder().deadlock(OnDeadlock::Report)),
        "reports of deadlocks are asked for (RADDLE_DEADLOCK), and this program is built without `raddle-hang`; build \
         it with the feature `hang` of the crate `raddle`"
    );
    assert!(refused(Runtime::builder().on_deadlock(|_dump| ())).contains("Builder::on_deadlock"));
    let slow = Runtime::builder().slow_slice(Some(Duration::from_secs(1)));
    assert!(refused(slow).contains("RADDLE_SLOW_SLICE"));
    assert!(refused(Runtime::builder().dump_on_quit(true)).contains("RADDLE_SIGQUIT"));
    let off = Runtime::builder().workers(1).deadlock(OnDeadlock::Off).slow_slice(None).dump_on_quit(false);
    assert_eq!(off.build().unwrap().run(|| 7), 7);
}

#[test]
fn a_trace_is_refused_with_the_feature_that_is_missing() {
    let by_text = || Runtime::builder().setting("RADDLE_TRACE_LEVEL", "sched").unwrap();
    for builder in [Runtime::builder().trace("a.rdt"), by_text()] {
        let said = builder.build().unwrap_err().to_string();
        assert_eq!(
            said,
            "a trace is wanted (RADDLE_TRACE), and this program is built without `raddle-recorder`; build it with \
             the feature `trace` of the crate `raddle`"
        );
    }
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let said = runtime.dump_trace("a.rdt").unwrap_err().to_string();
    assert!(said.contains("the feature `trace`"), "{said}");
}
