//! Owns: the measurement of a futex that OS threads wait at.
//! May use: `futex_lock`, `cores`.
//! Never: a runtime.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread;

use raddle_measure::{Job, Sample};

use crate::cores;
use crate::futex_lock::{Futex, Lock, pass, wake_nobody};

/// What the job asks for, on as many cores as it has workers.
pub fn run<F: Futex>(job: &Job) -> Result<Vec<Sample>, String> {
    let (rounds, plan) = (job.number("rounds")?, job.plan);
    cores::use_first(job.workers)?;
    match job.text("form")? {
        "nobody" => plan.time(rounds, || wake_nobody::<F>(rounds)),
        "pair" => plan.time(2 * rounds, || pair::<F>(rounds, job.number("placed") == Ok(1))),
        "mutex" => {
            let (threads, lock) = (job.number("threads")?, Lock::<F>::shared());
            let each = rounds / threads;
            plan.time(each * threads, || {
                let one = |_| {
                    let lock = Arc::clone(&lock);
                    thread::spawn(move || lock.add(each))
                };
                let all: Vec<_> = (0..threads).map(one).collect();
                all.into_iter().map(|one| one.join().expect("it does not panic")).sum()
            })
        }
        other => Err(format!("no form is called {other}")),
    }
}

/// Two OS threads; each on a core of its own if they are placed.
fn pair<F: Futex>(rounds: u64, placed: bool) -> u64 {
    let word = Arc::new(AtomicU32::new(0));
    let one = |me: u32| {
        let word = Arc::clone(&word);
        thread::spawn(move || {
            if placed {
                cores::pin(me as usize).expect("there are as many cores");
            }
            pass::<F>(&word, me, rounds)
        })
    };
    [one(0), one(1)].into_iter().map(|one| one.join().expect("it does not panic")).sum()
}
