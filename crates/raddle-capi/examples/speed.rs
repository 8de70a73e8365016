//! What `tests/c/speed.c` measures from C, from Rust: each line is a name and nanoseconds. `docs/C.md` has the figures.

use raddle::sync::Mutex;
use raddle::{channel, csp, thread};
use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

const BATCH: usize = 100;
const TURNS: usize = 2_000;

fn report(name: &str, count: usize, body: impl FnOnce()) {
    let begun = Instant::now();
    body();
    let ns = begun.elapsed().as_nanos() as f64 / count as f64;
    let _unwritable = writeln!(std::io::stdout(), "{name} {ns:.2}");
}

/// Spawns a batch, then joins it, again and again.
fn create<H>(name: &str, spawn: impl Fn(usize) -> H, join: impl Fn(H) -> usize) {
    report(name, BATCH * TURNS, || {
        for _ in 0..TURNS {
            let all: Vec<H> = (0..BATCH).map(&spawn).collect();
            for one in all {
                black_box(join(one));
            }
        }
    });
}

fn yields(name: &str, light: bool) {
    let body = || (0..BATCH * TURNS).for_each(|_| csp::yield_now());
    report(name, 2 * BATCH * TURNS, || {
        let spawn = || {
            if light {
                // SAFETY: it uses no thread-local variable.
                unsafe { csp::spawn_light(body) }
            } else {
                csp::spawn(body)
            }
        };
        let two = [spawn(), spawn()];
        two.into_iter().for_each(|one| one.join().unwrap());
    });
}

fn measure() {
    create("thread-create-join", |n| thread::spawn(move || n), |one| one.join().unwrap());
    create("process-create-join", |n| csp::spawn(move || n), |one| one.join().unwrap());
    // SAFETY: it uses no thread-local variable.
    create("light-create-join", |n| unsafe { csp::spawn_light(move || n) }, |one| one.join().unwrap());
    create("fork-join", |n| raddle::fork(move || n), |one| one.join());
    yields("process-yield", false);
    yields("light-yield", true);
    let mutex = Mutex::new(());
    report("mutex-lock-unlock", 10 * BATCH * TURNS, || {
        for _ in 0..10 * BATCH * TURNS {
            drop(black_box(mutex.lock().unwrap()));
        }
    });
    let (sender, receiver) = channel::bounded(0);
    report("rendezvous", BATCH * TURNS, || {
        let sends = csp::spawn(move || (0..BATCH * TURNS).for_each(|n| sender.send(n).unwrap()));
        (0..BATCH * TURNS).for_each(|_| {
            black_box(receiver.recv().unwrap());
        });
        sends.join().unwrap();
    });
}

fn main() {
    csp::Builder::new().stack_size(8 << 20).spawn(measure).unwrap().join().unwrap();
}
