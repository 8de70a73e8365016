//! What is said to `tracing` stands in the trace, under its name and at its place.

use raddle::Runtime;
use raddle::trace::Level;
use raddle_trace::event::Event;
use raddle_trace::log::{At, Log};
use raddle_tracing::Recorder;
use tracing_core::LevelFilter;

#[test]
fn spans_and_events_are_in_the_trace() {
    let recorder = Recorder::new().with_max_level(LevelFilter::INFO);
    tracing::subscriber::set_global_default(recorder).expect("nobody else has");
    let path = std::env::temp_dir().join(format!("raddle-tracing-{}.rdt", std::process::id()));
    let runtime = Runtime::builder().workers(1).trace(&path).trace_level(Level::User);
    let runtime = runtime.build().expect("a runtime");
    runtime.run(|| {
        for rows in [50_u64, 51] {
            let _sorting = tracing::info_span!("sorting").entered();
            tracing::info!(name = "no number", rows, columns = 7, "half way");
            tracing::debug!("too much said");
        }
    });
    // Nobody records for an OS thread, and nothing goes wrong.
    tracing::info!("outside");
    drop(runtime);
    let log = Log::read(&std::fs::read(&path).expect("it has been written")).expect("it is a trace");
    std::fs::remove_file(&path).expect("it is ours");
    let own = [Event::SpanBegin, Event::SpanEnd, Event::Mark];
    let seen: Vec<&At> = log.workers[0].events.iter().filter(|at| own.contains(&at.event)).collect();
    let order: Vec<Event> = seen.iter().map(|at| at.event).collect();
    assert_eq!(order, [Event::SpanBegin, Event::Mark, Event::SpanEnd].repeat(2));
    assert!(log.string(seen[0].a).starts_with("sorting (crates/raddle-tracing/tests/recorder.rs:"));
    assert_eq!(seen[0].a, seen[2].a);
    assert!(
        log.string(seen[1].a).starts_with("recorder (crates/raddle-tracing/"),
        "{}",
        log.string(seen[1].a)
    );
    assert_eq!((seen[1].b, seen[4].b), (50, 51));
}
