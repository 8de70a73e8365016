//! Owns: the model of the gate: what its holder has read stays as it is.
//! May use: `protocol::clock`, `protocol::commit`, `loom`, `raddle-protocol`.
//! Never: who waits at it.

use super::{Variable, check, publish};
use crate::prim::{AtomicUsize, Ordering, fence};
use crate::protocol::clock::VersionClock;
use crate::protocol::commit::are_of;
use loom::sync::Arc;
use loom::thread;

/// A task passes a gate that is closed, but not one that is sealed.
#[test]
fn what_is_read_under_the_seal_stays_so() {
    check(Some(3), || {
        let shared =
            Arc::new((VersionClock::new(), AtomicUsize::new(1), AtomicUsize::new(0), Variable::new()));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            let (clock, holder, sealed, x) = &*other;
            let passes = || holder.load(Ordering::Relaxed) == 0 || sealed.load(Ordering::Relaxed) == 0;
            let _ = publish(clock, (clock.now(), 1), &[(x, 1)], &[], passes);
        });
        let (clock, _, sealed, x) = &*shared;
        // As `gate::GateSeal::set`.
        sealed.store(1, Ordering::Relaxed);
        stays(clock, x, || thread.join().unwrap());
    });
}

#[test]
fn what_the_holder_has_read_stays_so() {
    check(Some(3), || {
        let shared = Arc::new((VersionClock::new(), AtomicUsize::new(0), Variable::new()));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            let (clock, holder, x) = &*other;
            let is_open = || holder.load(Ordering::Relaxed) == 0;
            let _ = publish(clock, (clock.now(), 1), &[(x, 1)], &[], is_open);
        });
        let (clock, holder, x) = &*shared;
        // As `gate::CommitToken::take`.
        holder.store(1, Ordering::Relaxed);
        stays(clock, x, || thread.join().unwrap());
    });
}

/// What is read after the gate was closed, or sealed, is what stands there when the other is at its end.
fn stays(clock: &VersionClock, x: &Variable, end: impl FnOnce()) {
    fence(Ordering::SeqCst); // pairs with `fence_after_locked` in `commit`
    let mut value = None;
    let mut time = 0;
    while value.is_none() {
        time = clock.now();
        value = x.read(time);
        thread::yield_now();
    }
    // The other may have locked it again, to step back: it has stored nothing.
    while !are_of(time, 0, [&x.word].into_iter()) {
        assert!(x.word.look().is_locked() || x.word.look().is_of(time), "it was written meanwhile");
        thread::yield_now();
    }
    assert_eq!(x.read(u64::MAX).or(value), value);
    end();
    assert_eq!(x.read(u64::MAX), value);
}
