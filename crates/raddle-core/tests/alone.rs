//! The scheduler without its observers: this program links `raddle-core` alone, and names no crate above it.
#![cfg(not(loom))]

use raddle_core::Runtime;

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
