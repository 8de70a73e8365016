//! Owns: the proof on the machine: histories, traps for zombies, programs against a model, and mistakes that are found.
//! May use: `chaos`, `mistake`.
//! Never: a test of speed.

mod histories;
mod history;
mod litmus;
mod mistakes;
mod programs;
mod reclaim;
mod undo;
mod waits;

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Runs `act` on so many OS threads, each with its number, which pause here and there as `seed` says.
fn on_threads<R: Send + 'static>(
    count: usize,
    seed: u64,
    act: impl Fn(usize) -> R + Send + Sync + 'static,
) -> Vec<R> {
    let act = Arc::new(act);
    let (done, results) = channel();
    for number in 0..count {
        let (act, done) = (act.clone(), done.clone());
        std::thread::spawn(move || {
            crate::chaos::tests::begin(seed * 64 + number as u64 + 1);
            let _ = done.send((number, act(number)));
        });
    }
    drop(done);
    let mut all: Vec<_> = (0..count).map(|_| watched(results.recv_timeout(patience()))).collect();
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Nothing here takes a tenth of that, on a machine that is not busy with much else.
const PATIENCE: Duration = Duration::from_secs(300);

/// With a mistake made, who waits for ever is expected.
fn patience() -> Duration {
    if std::env::var_os(crate::mistake::VARIABLE).is_some() { PATIENCE / 30 } else { PATIENCE }
}

/// Who waits for ever has lost a wake; who has panicked has said why.
#[track_caller]
fn watched<T>(result: Result<T, RecvTimeoutError>) -> T {
    result.unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => panic!("some thread waits for ever: a wake is lost"),
        RecvTimeoutError::Disconnected => panic!("some thread has panicked"),
    })
}

/// Numbers by chance, from a seed.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}
