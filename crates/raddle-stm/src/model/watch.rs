//! Owns: the models of waits for a change.
//! May use: `protocol`, `loom`, `raddle-protocol`.
//! Never: a deadline.
//!
//! A wake that is lost shows itself as a deadlock.

use super::check;
use crate::protocol::clock::VersionClock;
use crate::protocol::commit::{Refusal, Write, commit};
use crate::protocol::watch::{Stripe, WatchNode, Watched};
use crate::protocol::word::{Seen, Word};
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use raddle_protocol::call::WaitCall;
use raddle_protocol::protocol::sleeper::{Sleeper, TimedSleeper};

/// A sleeper of the models.
struct Woken(Mutex<bool>, Condvar);

// SAFETY: loom's own.
unsafe impl Sleeper for Woken {
    type Right = ();

    fn new(_call: &'static WaitCall) -> Woken {
        Woken(Mutex::new(false), Condvar::new())
    }

    fn wait(&self) {
        let mut woken = self.0.lock().unwrap();
        while !*woken {
            woken = self.1.wait(woken).unwrap();
        }
    }

    fn select(&self) {
        assert!(self.try_select(0).is_some(), "woken twice");
    }

    fn wake((): ()) {}
}

impl TimedSleeper for Woken {
    fn wait_timed(&self) -> Option<u32> {
        self.wait();
        Some(0)
    }

    fn try_select(&self, _outcome: u32) -> Option<()> {
        let mut woken = self.0.lock().unwrap();
        let first = !*woken;
        *woken = true;
        self.1.notify_one();
        first.then_some(())
    }

    fn give_up(&self) {}

    fn discard(self) {}
}

struct Variable {
    watched: Watched<Woken>,
    value: AtomicU64,
}

struct Watching {
    clock: VersionClock,
    stripe: Stripe,
    x: Variable,
    y: Variable,
}

fn shared() -> Arc<Watching> {
    let variable = || Variable { watched: Watched::new(0), value: AtomicU64::new(0) };
    Arc::new(Watching { clock: VersionClock::new(), stripe: Stripe::new(), x: variable(), y: variable() })
}

struct Writing<'v>(&'v Variable, Seen);

impl Write for Writing<'_> {
    fn word(&self) -> &Word {
        &self.0.watched.word
    }

    fn before(&self) -> Seen {
        self.1
    }

    fn set_before(&mut self, seen: Seen) {
        self.1 = seen;
    }

    fn exchange(&mut self) {
        self.0.value.store(1, Ordering::Relaxed);
    }
}

impl Watching {
    /// Writes 1, and wakes who waits for it.
    fn write(&self, variable: &Variable, owner: u64, is_open: bool) {
        let mut writes = [Writing(variable, Seen::NOTHING)];
        let who = (self.clock.now(), owner);
        match commit(
            &self.clock,
            who,
            (&mut writes, false),
            |_| true,
            |_| if is_open { Ok(()) } else { Err(Refusal::Closed) },
        ) {
            // SAFETY: it is the stripe of all.
            Ok(version) if writes[0].1.is_watched() => unsafe {
                variable.watched.wake(&self.stripe, version)
            },
            Ok(_) => {}
            Err(refusal) => assert_eq!(refusal, Refusal::Closed),
        }
    }

    /// Waits, as a transaction does that retries, until one of these is 1.
    fn wait(&self, variables: &[&Variable]) {
        loop {
            let time = self.clock.now();
            let is_set = |variable: &&Variable| match variable.watched.word.look() {
                seen if !seen.is_of(time) => None,
                _ => Some(variable.value.load(Ordering::Relaxed) == 1),
            };
            let seen: Option<Vec<_>> = variables.iter().map(is_set).collect();
            let Some(seen) = seen else {
                thread::yield_now();
                continue;
            };
            if seen.contains(&true) {
                return;
            }
            self.park(variables, time);
        }
    }

    fn park(&self, variables: &[&Variable], time: u64) {
        let woken = Woken::new(const { &WaitCall::new("retry", raddle_protocol::call::WaitReason::Wait) });
        let mut nodes: Vec<_> = variables.iter().map(|_| WatchNode::new(&woken)).collect();
        let mut places = variables.iter().zip(&mut nodes);
        // SAFETY: it stays where it is, and leaves below.
        let all = places.all(|(variable, node)| unsafe { variable.watched.watch(&self.stripe, node, time) });
        if all {
            woken.wait();
        }
        for (variable, node) in variables.iter().zip(&mut nodes) {
            // SAFETY: as above.
            unsafe { variable.watched.unwatch(&self.stripe, node) };
            node.go();
        }
    }
}

#[test]
fn a_change_ends_the_wait() {
    check(Some(3), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || other.write(&other.x, 1, true));
        shared.wait(&[&shared.x]);
        thread.join().unwrap();
    });
}

#[test]
fn a_change_of_either_ends_the_wait() {
    check(Some(2), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || other.write(&other.y, 1, true));
        shared.wait(&[&shared.x, &shared.y]);
        thread.join().unwrap();
    });
}

/// Two wait, and one change wakes both.
#[test]
fn a_change_ends_all_waits() {
    check(Some(1), || {
        let shared = shared();
        let others = [shared.clone(), shared.clone()];
        let threads = others.map(|shared| thread::spawn(move || shared.wait(&[&shared.x])));
        shared.write(&shared.x, 1, true);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A commit locks the variable, and steps back; those who wait are not forgotten.
#[test]
fn a_commit_that_steps_back_leaves_who_waits() {
    check(Some(2), || {
        let shared = shared();
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.write(&other.x, 1, false);
            other.write(&other.x, 1, true);
        });
        shared.wait(&[&shared.x]);
        thread.join().unwrap();
    });
}
