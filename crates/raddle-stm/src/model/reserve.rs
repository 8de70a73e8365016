//! Owns: the models of reservations: what a pessimistic transaction has read stays as it is.
//! May use: `mistake`, `protocol`, `loom`, `raddle-protocol`.
//! Never: who waits for a reservation.

use super::{Variable, Writing, check, publish};
use crate::mistake::{Mistake, made};
use crate::prim::{AtomicUsize, Ordering};
use crate::protocol::clock::VersionClock;
use crate::protocol::commit::{Refusal, are_of, commit, read};
use crate::protocol::reserve::Breaks;
use crate::protocol::word::Seen;
use loom::sync::Arc;
use loom::thread;

struct Reserving {
    clock: VersionClock,
    /// As in `reservations`.
    count: AtomicUsize,
    breaks: Breaks,
    x: Variable,
    y: Variable,
}

fn shared() -> Arc<Reserving> {
    let (x, y) = (Variable::new(), Variable::new());
    let (clock, count, breaks) = (VersionClock::new(), AtomicUsize::new(0), Breaks::new());
    Arc::new(Reserving { clock, count, breaks, x, y })
}

impl Reserving {
    /// Adds one to each of these, by versions, unless one is reserved or another is faster. Whether it was done.
    fn adds_one(&self, owner: u64, to: &[&Variable]) -> bool {
        let time = self.clock.now();
        let read: Option<Vec<_>> = to.iter().map(|variable| variable.read(time)).collect();
        let Some(values) = read else { return false };
        let writes: Vec<_> = to.iter().copied().zip(values.iter().map(|value| value + 1)).collect();
        // As `Tx::publish`.
        let is_free = || {
            self.count.load(Ordering::Relaxed) == 0
                || to.iter().all(|variable| variable.reservation.of_another(0).is_none())
        };
        publish(&self.clock, (time, owner), &writes, to, is_free).is_ok()
    }

    /// Writes its number to each of `to`, if all of `read` are 0, as a task does: it breaks what `ticket` has reserved.
    fn breaks(&self, (owner, ticket): (u64, u64), read: &[&Variable], to: &[&Variable]) {
        let time = self.clock.now();
        if !read.iter().all(|variable| variable.read(time) == Some(0)) {
            return;
        }
        let writes: Vec<_> = to.iter().map(|variable| (*variable, owner)).collect();
        let breaks = || {
            let broken = |variable: &&&Variable| variable.reservation.of_another(0).is_some();
            let mut are_there = false;
            to.iter().filter(broken).for_each(|variable| {
                variable.reservation.break_of(ticket);
                are_there = true;
            });
            if are_there {
                self.breaks.count();
            }
            true
        };
        let _ = publish(&self.clock, (time, owner), &writes, read, breaks);
    }

    /// What a variable has that is reserved from now on.
    fn reserved(variable: &Variable, ticket: u64) -> Option<u64> {
        if !made(Mistake::ReadsUnreserved) {
            variable.reservation.take(ticket).ok()?;
        }
        loop {
            let load = || variable.halves.each_ref().map(|half| half.load(Ordering::Relaxed));
            match read(&variable.word, load) {
                Ok(([first, second], _)) => {
                    assert_eq!(first, second, "the value is torn");
                    return Some(first);
                }
                Err(_) => thread::yield_now(),
            }
        }
    }

    /// Adds one to what it has reserved.
    fn adds_one_reserved(&self, owner: u64, variable: &Variable) -> bool {
        let Some(value) = Self::reserved(variable, owner) else { return false };
        loop {
            let mut writes = [Writing { variable, value: value + 1, before: Seen::NOTHING, takes: false }];
            let who = (self.clock.now(), owner);
            match commit(&self.clock, who, (&mut writes, false), |_| true, |_| Ok(())) {
                Ok(_) => break,
                Err(Refusal::Conflict) => thread::yield_now(),
                Err(other) => unreachable!("{other:?}"),
            }
        }
        variable.reservation.release();
        true
    }
}

/// By two reads, of which the other may write both in between.
#[test]
fn what_is_reserved_is_of_one_moment() {
    check(Some(3), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || drop(other.adds_one(1, &[&other.x, &other.y])));
        shared.count.store(1, Ordering::Relaxed);
        let x = Reserving::reserved(&shared.x, 2).unwrap();
        let y = Reserving::reserved(&shared.y, 2).unwrap();
        assert_eq!(x, y);
        thread.join().unwrap();
        // The other has locked it at most, to step back.
        assert_eq!((shared.x.read(u64::MAX), shared.y.read(u64::MAX)), (Some(x), Some(y)));
    });
}

#[test]
fn no_increment_is_lost_beside_one_that_reserves() {
    check(Some(3), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || u64::from(other.adds_one(1, &[&other.x])));
        shared.count.store(1, Ordering::Relaxed);
        let done = u64::from(shared.adds_one_reserved(2, &shared.x));
        let done = done + thread.join().unwrap();
        assert_eq!(shared.x.read(u64::MAX), Some(done));
        assert!(are_of(done, 0, [&shared.x.word].into_iter()));
    });
}

#[test]
fn no_increment_of_two_that_reserve_is_lost() {
    check(Some(3), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || u64::from(other.adds_one_reserved(1, &other.x)));
        let done = u64::from(shared.adds_one_reserved(2, &shared.x));
        let done = done + thread.join().unwrap();
        assert_eq!(shared.x.read(u64::MAX), Some(done));
    });
}

/// By two reads, and the other writes both in between.
#[test]
fn who_is_broken_sees_it_before_what_was_stored() {
    check(Some(3), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || other.breaks((1, 2), &[], &[&other.x, &other.y]));
        let before = shared.breaks.now();
        let x = Reserving::reserved(&shared.x, 2).unwrap();
        let y = Reserving::reserved(&shared.y, 2).unwrap();
        if shared.breaks.now() == before {
            assert_eq!(x, y);
        } else {
            assert!(shared.x.reservation.is_broken() || shared.y.reservation.is_broken());
        }
        thread.join().unwrap();
    });
}

/// Each writes one of the two, and has read the other.
#[test]
fn writes_of_one_that_is_broken_are_not_skewed() {
    check(Some(2), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || other.breaks((1, 2), &[&other.y], &[&other.x]));
        let (begin, before) = (shared.clock.now(), shared.breaks.now());
        let x = Reserving::reserved(&shared.x, 2).unwrap();
        let y = Reserving::reserved(&shared.y, 2).unwrap();
        if x + y == 0 && shared.breaks.now() == before {
            let mut writes = [Writing { variable: &shared.y, value: 2, before: Seen::NOTHING, takes: false }];
            let holds = |_| shared.breaks.now() == before;
            let _ = commit(&shared.clock, (begin, 2), (&mut writes, false), holds, |_| Ok(()));
        }
        thread.join().unwrap();
        let both = (shared.x.read(u64::MAX).unwrap(), shared.y.read(u64::MAX).unwrap());
        assert_ne!(both, (1, 2));
    });
}
