//! Owns: the models of reads and commits.
//! May use: `protocol::clock`, `protocol::commit`, `loom`.
//! Never: a wait.

use super::{Variable, check, exchange, publish};
use crate::protocol::clock::VersionClock;
use crate::protocol::commit::{are_of, read};
use loom::sync::Arc;
use loom::sync::atomic::Ordering;
use loom::thread;

struct Two {
    clock: VersionClock,
    x: Variable,
    y: Variable,
}

fn two() -> Arc<Two> {
    Arc::new(Two { clock: VersionClock::new(), x: Variable::new(), y: Variable::new() })
}

impl Two {
    /// Writes both, and has read nothing.
    fn write_both(&self, owner: u64, value: u64) -> bool {
        let time = self.clock.now();
        publish(&self.clock, (time, owner), &[(&self.x, value), (&self.y, value)], &[], || true).is_ok()
    }

    /// Writes its number to one, if it may.
    fn write_x(&self, owner: u64, may: bool) -> bool {
        let who = (self.clock.now(), owner);
        publish(&self.clock, who, &[(&self.x, owner)], &[], || may).is_ok()
    }
}

#[test]
fn a_snapshot_has_all_of_a_commit_or_nothing() {
    check(Some(3), || {
        let shared = two();
        let other = shared.clone();
        let writer = thread::spawn(move || assert!(other.write_both(1, 1)));
        let time = shared.clock.now();
        if let (Some(x), Some(y)) = (shared.x.read(time), shared.y.read(time)) {
            assert_eq!(x, y);
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_snapshot_that_was_moved_is_still_one() {
    check(Some(3), || {
        let shared = two();
        let other = shared.clone();
        let writer = thread::spawn(move || assert!(other.write_both(1, 1)));
        let time = shared.clock.now();
        if let Some(x) = shared.x.read(time) {
            let later = shared.clock.now();
            let moved = crate::mistake::made(crate::mistake::Mistake::ExtendsUnchecked)
                || are_of(time, 0, [&shared.x.word].into_iter());
            if moved && let Some(y) = shared.y.read(later) {
                assert_eq!(x, y);
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn no_increment_is_lost() {
    check(Some(3), || {
        let shared = two();
        let increments = |shared: &Two, owner| {
            let time = shared.clock.now();
            let Some(x) = shared.x.read(time) else { return 0 };
            let who = (time, owner);
            u64::from(publish(&shared.clock, who, &[(&shared.x, x + 1)], &[&shared.x], || true).is_ok())
        };
        let other = shared.clone();
        let thread = thread::spawn(move || increments(&other, 1));
        let done = increments(&shared, 2) + thread.join().unwrap();
        assert_eq!(shared.x.read(u64::MAX), Some(done));
    });
}

/// Each writes one of the two, and has read both.
#[test]
fn writes_are_not_skewed() {
    check(Some(3), || {
        let shared = two();
        let first_writes = |shared: &Two, owner: u64| {
            let time = shared.clock.now();
            let (Some(0), Some(0)) = (shared.x.read(time), shared.y.read(time)) else { return };
            let mine = if owner == 1 { &shared.x } else { &shared.y };
            let _ = publish(&shared.clock, (time, owner), &[(mine, 1)], &[&shared.x, &shared.y], || true);
        };
        let other = shared.clone();
        let thread = thread::spawn(move || first_writes(&other, 1));
        first_writes(&shared, 2);
        thread.join().unwrap();
        assert!(shared.x.read(u64::MAX).unwrap() + shared.y.read(u64::MAX).unwrap() <= 1);
    });
}

/// A commit has time to go between those of another's reads.
#[test]
fn who_reads_and_writes_commits_what_is_of_one_moment() {
    check(Some(2), || {
        let shared = two();
        let other = shared.clone();
        let writer = thread::spawn(move || assert!(other.write_both(1, 1)));
        let time = shared.clock.now();
        let z = Variable::new();
        if let (Some(x), Some(y)) = (shared.x.read(time), shared.y.read(time)) {
            assert_eq!(x, y);
            // The other has committed wholly after this, or wholly before.
            let reads = [&shared.x, &shared.y];
            if let Ok(version) = publish(&shared.clock, (time, 2), &[(&z, x)], &reads, || true) {
                assert_eq!(x, u64::from(version == 2));
            }
        }
        writer.join().unwrap();
    });
}

/// Two write without having read; each takes out what was there, which is freed then: nothing is taken out twice.
#[test]
fn each_value_is_taken_out_once() {
    check(Some(3), || {
        let shared = two();
        let writes = |shared: &Two, owner: u64| {
            let who = (shared.clock.now(), owner);
            let done = exchange(&shared.clock, who, &[(&shared.x, owner)]);
            done.map_or(vec![], |(_, taken)| vec![owner, taken[0]])
        };
        let other = shared.clone();
        let thread = thread::spawn(move || writes(&other, 1));
        let mine = writes(&shared, 2);
        let theirs = thread.join().unwrap();
        let all = [vec![0, shared.x.read(u64::MAX).unwrap()], mine, theirs].concat();
        // Those that went in, and those that came out.
        let (mut into, mut out): (Vec<_>, Vec<_>) = all.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
        into.sort_unstable();
        out.sort_unstable();
        assert_eq!(into, out);
    });
}

/// One commits, another locks and steps back: who sees the version that it has put back sees the value of that.
fn steps_back(steps_back: fn(&Two) -> bool) {
    check(Some(2), move || {
        let shared = two();
        let is_locked = shared.y.word.try_lock(shared.y.word.look(), 3);
        assert!(is_locked.is_ok());
        let (writer, other) = (shared.clone(), shared.clone());
        let writer = thread::spawn(move || writer.write_x(1, true));
        let other = thread::spawn(move || assert!(!steps_back(&other)));
        let load = || shared.x.halves.each_ref().map(|half| half.load(Ordering::Relaxed));
        if let Ok((value, seen)) = read(&shared.x.word, load) {
            assert_eq!(value, [seen.version(); 2]);
        }
        writer.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn what_a_commit_leaves_that_finds_the_gate_closed_is_complete() {
    steps_back(|shared| shared.write_x(2, false));
}

/// Another has locked the second variable.
#[test]
fn what_a_commit_leaves_that_finds_a_lock_is_complete() {
    steps_back(|shared| shared.write_both(2, 2));
}
