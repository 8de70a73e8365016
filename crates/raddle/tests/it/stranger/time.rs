//! Time that is told wrongly.

use super::{Planted, Way, panics};
use raddle::channel::{tick, unbounded};
use raddle::explore::now;
use raddle::thread;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A clock of ticks: work that takes longer than a tick loses those that came meanwhile.
#[test]
fn ticks_are_counted_as_time() {
    fn program(way: Way) {
        let (give, jobs) = unbounded();
        let gives = thread::spawn(move || [3, 25].into_iter().try_for_each(|ms: u32| give.send(ms)));
        let (began, beat, mut ticks) = (now(), tick(10 * MS), 0);
        for ms in jobs {
            thread::sleep(ms * MS);
            ticks += beat.try_iter().count() as u32;
        }
        gives.join().unwrap().unwrap();
        let elapsed = now() - began;
        let told = if way == Planted { ticks * 10 * MS } else { elapsed };
        assert!(elapsed - told < 10 * MS, "{elapsed:?} have passed, {told:?} are told");
    }
    panics(program, &["have passed"]);
}
