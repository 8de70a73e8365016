//! The gate: one who looks, and one who stands still for it, called by a signal. With two who stand there are three
//! threads in loops at one time, which loom does not tell from endless ones.

use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering};
use raddle_protocol::model::{Arrived, Gate};
use std::sync::Arc;
use std::time::Duration;

/// What a worker writes while it runs, and the inspector reads while it stands.
struct Place {
    gate: Gate,
    arrived: [Arrived; 1],
    written: [UnsafeCell<u32>; 1],
    wanted: AtomicBool,
    /// The kernel has a signal for it: its locks order that after the sending.
    signal: [AtomicBool; 1],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Place {}
// SAFETY: as above.
unsafe impl Send for Place {}

impl Place {
    fn new() -> Arc<Place> {
        Arc::new(Place {
            gate: Gate::new(),
            arrived: [Arrived::nowhere()],
            written: [UnsafeCell::new(0)],
            wanted: AtomicBool::new(false),
            signal: [AtomicBool::new(false)],
        })
    }

    fn send(&self, me: usize) {
        self.signal[me].store(true, Ordering::Release); // pairs with the acquire in `await_signal`
    }

    fn await_signal(&self, me: usize) {
        // Acquire pairs with the release in `send`.
        while !self.signal[me].load(Ordering::Acquire) {
            loom::thread::yield_now();
        }
    }

    fn write(&self, me: usize, value: u32) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.written[me].with_mut(|p| unsafe { *p = value });
    }

    fn read(&self, me: usize) -> u32 {
        // SAFETY: as above.
        self.written[me].with(|p| unsafe { *p })
    }

    /// Works, is called to the gate, and works on.
    fn work(&self, me: usize) {
        self.write(me, 1);
        self.await_signal(me);
        self.gate.stand(&self.arrived[me], || ());
        self.write(me, 2);
    }
}

fn worker(place: &Arc<Place>, me: usize) -> loom::thread::JoinHandle<()> {
    let place = place.clone();
    go(move || place.work(me))
}

#[test]
fn one_stands_still_while_it_is_looked_at() {
    check(ALL, || {
        let place = Place::new();
        let works = worker(&place, 0);
        let closing = place.gate.close();
        place.send(0);
        assert!(place.gate.wait_for(&place.arrived[0], closing, || Duration::MAX));
        assert_eq!(place.read(0), 1);
        place.gate.open(closing);
        works.join().unwrap();
        assert_eq!(place.read(0), 2);
    });
}

/// A signal that was held back comes when somebody looks anew, or not at all: nobody waits for it.
#[test]
fn a_late_call_finds_the_gate_open_or_sees_what_is_wanted() {
    check(ALL, || {
        let place = Place::new();
        let late = {
            let place = place.clone();
            go(move || {
                place.write(0, 1);
                let wanted = || assert!(place.wanted.load(Ordering::Relaxed), "it is not seen");
                place.gate.stand(&place.arrived[0], wanted);
                place.write(0, 2);
            })
        };
        place.wanted.store(true, Ordering::Relaxed);
        let closing = place.gate.close();
        let stood = place.arrived[0].is_at(closing);
        if stood {
            assert_eq!(place.read(0), 1);
        }
        place.gate.open(closing);
        late.join().unwrap();
    });
}

/// Who stood at one closing is not taken for one who stands at the next.
#[test]
fn an_arrival_counts_for_one_closing() {
    check(Some(3), || {
        let place = Place::new();
        let works = worker(&place, 0);
        let first = place.gate.close();
        place.send(0);
        assert!(place.gate.wait_for(&place.arrived[0], first, || Duration::MAX));
        place.gate.open(first);
        let second = place.gate.close();
        assert!(!place.arrived[0].is_at(second), "it was called once");
        place.gate.open(second);
        works.join().unwrap();
    });
}
