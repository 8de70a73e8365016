//! Programs that are no faster on two workers, each for one reason: `faults REASON [TIMES]`. `raddle trace stats` is to
//! find that reason, again and again: `cargo xtask verdicts` tries it, but for the last three.
//!
//! | reason | the program |
//! |---|---|
//! | `producer` | makes an item each 30 us, for a consumer that takes 5 us |
//! | `serial` | has a serial phase before each parallel one |
//! | `split` | gives one of two threads 3/4 of the work |
//! | `fine` | spawns a thread for each 300 ns of work |
//! | `pingpong` | has two threads on different workers pass one number to and fro |
//! | `sleep` | calls what blocks a worker: `std::thread::sleep` |
//! | `pipe` | reads a pipe of another process, which takes its time |
//! | `mutex` | holds a mutex of `std` over a sleep |
//! | `convoy` | has many threads do all of their work under one lock |
//! | `storm` | wakes all who wait for each item, of whom one can have it |
//! | `lines` | has two threads count in one cache line |
//!
//! ```console
//! $ raddle trace run -o sleep.rdt -- --workers 2 examples/faults.rs sleep
//! $ raddle trace stats sleep.rdt
//! ```

use raddle::channel;
use raddle::csp::{self, Builder, JoinHandle};
use std::hint::black_box;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Computes for about so long, in microseconds: as many steps as took that on the machine when nobody disturbed.
fn compute(us: f64) {
    static STEPS: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    let steps_per_us = *STEPS.get_or_init(|| {
        let one = || {
            let begun = Instant::now();
            spin(200_000);
            200_000.0 / (begun.elapsed().as_secs_f64() * 1e6)
        };
        (0..5).map(|_| one()).fold(0.0, f64::max)
    });
    spin((us * steps_per_us) as u64);
}

fn spin(steps: u64) {
    let mut sum = 0_u64;
    for step in 0..steps {
        sum = black_box(sum ^ step);
    }
    black_box(sum);
}

fn named(name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new().name(name.to_owned()).spawn(body).expect("there is memory for a process")
}

fn join_all(all: impl IntoIterator<Item = JoinHandle<()>>) {
    // All of them are there before the first is waited for.
    let all: Vec<_> = all.into_iter().collect();
    all.into_iter().for_each(|one| one.join().expect("none panics"));
}

fn producer(times: u64) {
    let (to, from) = channel::bounded(4);
    let producer = named("producer", move || {
        for item in 0..2000 * times {
            compute(30.0);
            to.send(item).expect("there is a consumer");
        }
    });
    let consumer = named("consumer", move || {
        while from.recv().is_ok() {
            compute(5.0);
        }
    });
    join_all([producer, consumer]);
}

fn serial(times: u64) {
    let phases = named("phases", move || {
        for _ in 0..20 * times {
            compute(2_000.0);
            join_all((0..8).map(|part| named(&format!("part {part}"), || compute(200.0))));
        }
    });
    join_all([phases]);
}

fn split(times: u64) {
    let share = move |us: f64| move || (0..times).for_each(|_| compute(us));
    join_all([named("half 0", share(45_000.0)), named("half 1", share(15_000.0))]);
}

fn fine(times: u64) {
    let spawner = named("spawner", move || {
        for _ in 0..200 * times {
            let pieces: Vec<_> = (0..500).map(|_| csp::spawn(|| compute(0.3))).collect();
            join_all(pieces);
        }
    });
    join_all([spawner]);
}

fn pingpong(times: u64) {
    let (mut there, mut from_there) = csp::channel();
    let (mut back, mut from_back) = csp::channel();
    let one = Builder::new().name("ping".to_owned()).worker(0);
    let one = one.spawn(move || {
        for number in 0..3000 * times {
            there.send(number).expect("the other one receives");
            from_back.recv().expect("the other one sends");
        }
    });
    let other = Builder::new().name("pong".to_owned()).worker(1);
    let other = other.spawn(move || {
        while let Ok(number) = from_there.recv() {
            back.send(number).expect("the other one receives");
        }
    });
    join_all([one, other].map(|one| one.expect("there is memory for a process")));
}

/// The call that blocks.
#[inline(never)]
fn ask_a_server() {
    std::thread::sleep(Duration::from_millis(30));
}

fn sleep(times: u64) {
    join_all((0..8 * times).map(|client| {
        named(&format!("client {client}"), || {
            ask_a_server();
            compute(2_000.0);
        })
    }));
}

#[inline(never)]
fn read_a_line(pipe: &mut impl std::io::Read) {
    let _bytes = pipe.read(&mut [0; 64]).expect("it is a pipe");
}

fn pipe(times: u64) {
    let mut other = Command::new("sh");
    let lines = format!("for i in $(seq {}); do sleep 0.02; echo $i; done", 8 * times);
    let mut child = other.args(["-c", &lines]).stdout(Stdio::piped()).spawn().expect("there is a shell");
    let mut pipe = child.stdout.take().expect("it is a pipe");
    let reader = named("reader", move || {
        for _ in 0..8 * times {
            read_a_line(&mut pipe);
            compute(500.0);
        }
        std::io::copy(&mut pipe.by_ref(), &mut std::io::sink()).expect("it is a pipe");
    });
    join_all([reader]);
    child.wait().expect("it is ours");
}

#[inline(never)]
fn update_under(lock: &Mutex<u64>) {
    let mut held = lock.lock().expect("nobody panics");
    std::thread::sleep(Duration::from_millis(5));
    *held += 1;
}

fn mutex(times: u64) {
    let lock = Arc::new(Mutex::new(0));
    join_all((0..16 * times).map(|number| {
        let lock = lock.clone();
        named(&format!("writer {number}"), move || update_under(&lock))
    }));
}

fn convoy(times: u64) {
    let lock = Arc::new(raddle::sync::Mutex::new(0));
    join_all((0..16).map(|number| {
        let lock = lock.clone();
        named(&format!("clerk {number}"), move || {
            for _ in 0..200 * times {
                let mut ledger = lock.lock().expect("nobody panics");
                compute(20.0);
                *ledger += 1;
            }
        })
    }));
}

fn storm(times: u64) {
    let shared = Arc::new((raddle::sync::Mutex::new((0_u64, false)), raddle::sync::Condvar::new()));
    let takers: Vec<_> = (0..32)
        .map(|number| {
            let shared = shared.clone();
            named(&format!("taker {number}"), move || {
                loop {
                    let (lock, more) = &*shared;
                    let mut items = lock.lock().expect("nobody panics");
                    while items.0 == 0 && !items.1 {
                        items = more.wait(items).expect("nobody panics");
                    }
                    if items.0 == 0 {
                        return;
                    }
                    items.0 -= 1;
                }
            })
        })
        .collect();
    let (lock, more) = &*shared;
    for _ in 0..1000 * times {
        lock.lock().expect("nobody panics").0 += 1;
        more.notify_all();
        csp::yield_now();
        compute(20.0);
    }
    lock.lock().expect("nobody panics").1 = true;
    more.notify_all();
    join_all(takers);
}

/// Two counters beside each other.
static COUNTERS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

fn lines(times: u64) {
    join_all((0..2).map(|number| {
        named(&format!("counter {number}"), move || {
            for _ in 0..4_000_000 * times {
                COUNTERS[number].fetch_add(1, Ordering::Relaxed);
            }
        })
    }));
}

/// A reason, and its program.
type Fault = (&'static str, fn(u64));

#[raddle::main]
fn main() {
    let all: [Fault; 11] = [
        ("producer", producer),
        ("serial", serial),
        ("split", split),
        ("fine", fine),
        ("pingpong", pingpong),
        ("sleep", sleep),
        ("pipe", pipe),
        ("mutex", mutex),
        ("convoy", convoy),
        ("storm", storm),
        ("lines", lines),
    ];
    let mut arguments = std::env::args().skip(1);
    let reason = arguments.next().unwrap_or_default();
    let times = arguments.next().map_or(1, |times| times.parse().expect("a number"));
    let known = all.iter().find(|(name, _)| *name == reason);
    let (_, program) = known.unwrap_or_else(|| panic!("the reasons are {:?}", all.map(|(name, _)| name)));
    program(times);
}
