//! Owns: what may's programs share: its workers, and its spawn.
//! May use: may.
//! Never: a benchmark.

use std::sync::{Arc, OnceLock};

use bench_common::turns::Turns;
use may::coroutine::{Coroutine, JoinHandle, park, spawn};

/// Sets may up for `workers` workers and runs `main` as a coroutine.
pub fn run<T: Send + 'static>(
    workers: usize,
    main: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    set_workers(workers);
    start(main).join().map_err(|_| "the coroutine panicked".to_owned())
}

/// Sets may up for so many workers.
pub fn set_workers(workers: usize) {
    // In words of 8 bytes: 64 KiB as everybody else.
    may::config().set_workers(workers).set_stack_size(8 << 10);
}

/// Spawns a coroutine.
pub fn start<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // SAFETY: what these programs' coroutines run uses no thread-local state and needs far less than 64 KiB.
    unsafe { spawn(body) }
}

/// Passes a token round a ring of `processes` coroutines by park and unpark, `rounds` times; returns the wakes.
pub fn ring(processes: usize, rounds: u64) -> u64 {
    let shared = Arc::new((Turns::new(processes), OnceLock::<Vec<Coroutine>>::new()));
    let member = |place: usize, shared: Arc<(Turns, OnceLock<Vec<Coroutine>>)>| {
        move || {
            let (turns, ring) = &*shared;
            let next = (place + 1) % processes;
            for _ in 0..rounds {
                while !turns.take(place) {
                    park();
                }
                turns.give(next);
                ring.get().expect("it is set before the first turn")[next].unpark();
            }
            rounds
        }
    };
    let members: Vec<_> = (0..processes).map(|place| start(member(place, Arc::clone(&shared)))).collect();
    let (turns, ring) = &*shared;
    let first = &ring.get_or_init(|| members.iter().map(|member| member.coroutine().clone()).collect())[0];
    turns.give(0);
    first.unpark();
    members.into_iter().map(|member| member.join().expect("it does not panic")).sum()
}
