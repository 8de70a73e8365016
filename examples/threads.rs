//! Threads that migrate between workers, each with its own thread-local storage.
//!
//! `cargo raddle run examples/threads.rs --workers 2 -- 8`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use raddle::thread;
use std::cell::RefCell;
use std::time::{Duration, Instant};

thread_local! {
    /// The OS threads that this thread has run on. No other thread sees this variable, on whatever worker it runs.
    static DIARY: RefCell<Vec<(u32, String)>> = const { RefCell::new(Vec::new()) };
}

/// The id of the OS thread that runs the caller now.
fn os_thread() -> String {
    let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    link.file_name().map_or_else(|| "?".to_owned(), |number| number.to_string_lossy().into_owned())
}

fn compute_for(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// Computes in slices, waits between them, and records where it ran.
fn walk() -> Vec<(u32, String)> {
    for slice in 0..20 {
        compute_for(Duration::from_millis(1));
        DIARY.with_borrow_mut(|diary| diary.push((slice, os_thread())));
        thread::sleep(Duration::from_millis(1));
    }
    DIARY.take()
}

#[raddle::main]
fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_else(|| "4".to_owned());
    let Ok(walkers) = wanted.parse::<usize>() else {
        eprintln!("threads: `{wanted}` is no number; usage: threads [THREADS]");
        std::process::exit(2);
    };
    let name = |n: usize| thread::Builder::new().name(format!("walker {n}"));
    let walkers: Vec<_> = (0..walkers).map(|n| name(n).spawn(walk).expect("a thread")).collect();
    for walker in walkers {
        let name = walker.thread().name().unwrap_or_default().to_owned();
        let diary = walker.join().expect("a walker panicked");
        assert!((0..20).eq(diary.iter().map(|(slice, _)| *slice)), "a page of another thread's diary");
        let moves = diary.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
        println!("{name}: 20 entries, all its own; changed its OS thread {moves} times");
    }
}
