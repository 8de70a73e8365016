//! Models of every protocol, searched exhaustively by loom, and the test that weakens each ordering in turn.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p raddle-protocol --release --test loom`
//!
//! A model has two or three threads and few steps. What a queue hands over has a payload that loom checks, so that a
//! missing ordering is a race that is found on x86 too. Each file models the protocol of its name; the mutation test
//! finds the models that belong to a row by the first word of the row's name (`INBOX_PUSH`: `inbox::`).

#![cfg(loom)]

mod alternation;
mod barrier;
mod claim;
mod clh;
mod condvar;
mod departure;
mod fresh;
mod futex;
mod gate;
mod idle;
mod inbox;
mod jobs;
mod join;
mod mcs;
mod mutation;
mod mutex;
mod once;
mod outstanding;
mod park;
mod parked;
mod poll;
mod promise;
mod readiness;
mod rendezvous;
mod rwlock;
mod scope;
mod selection;
mod semaphore;
mod shares;
mod short;
mod task;
mod timer;
mod token;
mod waitlist;
mod watch;
mod window;

/// No bound: every interleaving, for the models that are small enough.
const ALL: Option<usize> = None;

/// Runs a model, with the ordering weakened that `mutation` has asked for, if any. `preemptions` bounds how often a
/// thread that could go on is interrupted in one execution.
fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 2_000;
    match mutation::asked_for() {
        Some(mutation) => mutation.apply(|| builder.check(model)),
        None => builder.check(model),
    }
}

/// Spawns a thread of the model.
fn go<T: 'static>(f: impl FnOnce() -> T + 'static) -> loom::thread::JoinHandle<T> {
    loom::thread::spawn(f)
}

/// What a lock guards: loom checks that two are never inside together, and that each sees what those before it did.
#[derive(Debug, Default)]
struct Guarded(loom::cell::UnsafeCell<u32>);

// SAFETY: loom checks the accesses.
unsafe impl Sync for Guarded {}
// SAFETY: as above.
unsafe impl Send for Guarded {}

impl Guarded {
    fn add_one(&self) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.0.with_mut(|p| unsafe { *p += 1 });
    }

    fn read(&self) -> u32 {
        // SAFETY: as above.
        self.0.with(|p| unsafe { *p })
    }
}
