//! Programs that are no faster on two workers, each for one reason: `faults REASON [TIMES] [mended]`. `raddle trace
//! stats` is to find that reason, again and again, and no longer in the mended program, which follows the advice; what
//! it forecasts is to be what that takes: `cargo xtask verdicts` tries it.
//!
//! | reason | the program | mended |
//! |---|---|---|
//! | `producer` | makes an item each 30 us, for a consumer that takes 5 us | two make half of them each |
//! | `serial` | has a serial phase before each parallel one | in two parts |
//! | `split` | gives one of two threads 3/4 of the work | half of it |
//! | `placed` | places all of its threads on one worker | none of them |
//! | `stays` | has more to do on one worker, with `RADDLE_BALANCE=none` | with the default |
//! | `fine` | spawns a thread for each 300 ns of work | for a thousand times as much |
//! | `pingpong` | has two threads on different workers pass one number to and fro | on one worker |
//! | `sleep` | calls what blocks a worker: `std::thread::sleep` | in `raddle::blocking` |
//! | `pipe` | reads a pipe of another process, which takes its time | in `raddle::blocking` |
//! | `mutex` | holds a mutex of `std` over a sleep | one of Raddle's, and Raddle's sleep |
//! | `convoy` | has many threads do all of their work under one lock | under a lock for each |
//! | `claims` | the same with short turns under a claim, which goes to the next in the line | with a claim for each |
//! | `storm` | wakes all who wait for each item, of whom one can have it | wakes one |
//! | `lines` | has two threads count in one cache line | in two lines |
//!
//! ```console
//! $ raddle trace run -o sleep.rdt -- --workers 2 examples/faults.rs sleep
//! $ raddle trace stats sleep.rdt
//! ```

use raddle::channel;
use raddle::csp::{self, Builder, JoinHandle, Shared};
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

fn producer(times: u64, mended: bool) {
    let (to, from) = channel::bounded(4);
    let producers = if mended { 2 } else { 1 };
    let producers: Vec<_> = (0..producers)
        .map(|number| {
            let to = to.clone();
            named(&format!("producer {number}"), move || {
                for item in 0..2000 * times / producers {
                    compute(30.0);
                    to.send(item).expect("there is a consumer");
                }
            })
        })
        .collect();
    drop(to);
    let consumer = named("consumer", move || {
        while from.recv().is_ok() {
            compute(5.0);
        }
    });
    join_all(producers.into_iter().chain([consumer]));
}

fn serial(times: u64, mended: bool) {
    let phases = named("phases", move || {
        for _ in 0..20 * times {
            if mended {
                join_all((0..2).map(|half| named(&format!("half {half}"), || compute(1_000.0))));
            } else {
                compute(2_000.0);
            }
            join_all((0..8).map(|part| named(&format!("part {part}"), || compute(200.0))));
        }
    });
    join_all([phases]);
}

fn split(times: u64, mended: bool) {
    let share = move |us: f64| move || (0..times).for_each(|_| compute(us));
    let (one, other) = if mended { (30_000.0, 30_000.0) } else { (45_000.0, 15_000.0) };
    join_all([named("half 0", share(one)), named("half 1", share(other))]);
}

fn placed(times: u64, mended: bool) {
    join_all((0..10 * times).map(|number| {
        let mut item = Builder::new().name(format!("item {number}"));
        if !mended {
            item = item.worker(0);
        }
        item.spawn(|| compute(5_000.0)).expect("there is memory for a process")
    }));
}

/// Mended by a setting.
fn stays(times: u64, _mended: bool) {
    join_all((0..10 * times).map(|number| named(&format!("item {number}"), || compute(5_000.0))));
}

fn fine(times: u64, mended: bool) {
    let (rounds, pieces, us) = if mended { (2, 50, 300.0) } else { (200, 500, 0.3) };
    let spawner = named("spawner", move || {
        for _ in 0..rounds * times {
            let pieces: Vec<_> = (0..pieces).map(|_| csp::spawn(move || compute(us))).collect();
            join_all(pieces);
        }
    });
    join_all([spawner]);
}

fn pingpong(times: u64, mended: bool) {
    let (mut there, mut from_there) = csp::channel();
    let (mut back, mut from_back) = csp::channel();
    let one = Builder::new().name("ping".to_owned()).worker(0);
    let one = one.spawn(move || {
        for number in 0..3000 * times {
            there.send(number).expect("the other one receives");
            from_back.recv().expect("the other one sends");
        }
    });
    let other = Builder::new().name("pong".to_owned()).worker(usize::from(!mended));
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

fn sleep(times: u64, mended: bool) {
    join_all((0..8 * times).map(|client| {
        named(&format!("client {client}"), move || {
            if mended {
                raddle::blocking(ask_a_server);
            } else {
                ask_a_server();
            }
            compute(2_000.0);
        })
    }));
}

#[inline(never)]
fn read_a_line(pipe: &mut impl std::io::Read) {
    let _bytes = pipe.read(&mut [0; 64]).expect("it is a pipe");
}

fn pipe(times: u64, mended: bool) {
    let mut other = Command::new("sh");
    let lines = format!("for i in $(seq {}); do sleep 0.02; echo $i; done", 8 * times);
    let mut child = other.args(["-c", &lines]).stdout(Stdio::piped()).spawn().expect("there is a shell");
    let mut pipe = child.stdout.take().expect("it is a pipe");
    let reader = named("reader", move || {
        for _ in 0..8 * times {
            if mended {
                raddle::blocking(|| read_a_line(&mut pipe));
            } else {
                read_a_line(&mut pipe);
            }
            compute(500.0);
        }
        let mut rest = || std::io::copy(&mut pipe.by_ref(), &mut std::io::sink()).expect("it is a pipe");
        if mended {
            raddle::blocking(rest)
        } else {
            rest()
        };
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

/// The same with what lets others run.
fn update_under_ours(lock: &raddle::sync::Mutex<u64>) {
    let mut held = lock.lock().expect("nobody panics");
    csp::sleep(Duration::from_millis(5));
    *held += 1;
}

fn mutex(times: u64, mended: bool) {
    let lock = Arc::new((Mutex::new(0), raddle::sync::Mutex::new(0)));
    join_all((0..16 * times).map(|number| {
        let lock = lock.clone();
        let update = move || if mended { update_under_ours(&lock.1) } else { update_under(&lock.0) };
        named(&format!("writer {number}"), update)
    }));
}

fn convoy(times: u64, mended: bool) {
    let locks: Vec<_> = (0..16).map(|_| Arc::new(raddle::sync::Mutex::new(0))).collect();
    join_all((0..16).map(|number| {
        let lock = locks[if mended { number } else { 0 }].clone();
        named(&format!("clerk {number}"), move || {
            for _ in 0..200 * times {
                let mut ledger = lock.lock().expect("nobody panics");
                compute(20.0);
                *ledger += 1;
            }
        })
    }));
}

fn claims(times: u64, mended: bool) {
    let shared: Vec<_> = (0..16).map(|_| Shared::new(0_u64)).collect();
    join_all((0..16).map(|number| {
        let shared = shared[if mended { number } else { 0 }].clone();
        named(&format!("guest {number}"), move || {
            for _ in 0..400 * times {
                let mut book = shared.claim();
                compute(10.0);
                *book += 1;
                drop(book);
                compute(2.0);
            }
        })
    }));
}

fn storm(times: u64, mended: bool) {
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
    for _ in 0..2000 * times {
        lock.lock().expect("nobody panics").0 += 1;
        if mended {
            more.notify_one();
        } else {
            more.notify_all();
        }
        csp::yield_now();
        compute(1.0);
    }
    lock.lock().expect("nobody panics").1 = true;
    more.notify_all();
    join_all(takers);
}

/// The first two are beside each other in one cache line; the seventeenth is two lines away, since some processors
/// fetch two at a time.
#[repr(align(128))]
struct Counters([AtomicU64; 32]);

static COUNTERS: Counters = Counters([const { AtomicU64::new(0) }; 32]);

fn lines(times: u64, mended: bool) {
    let apart = if mended { 16 } else { 1 };
    join_all((0..2).map(|number| {
        named(&format!("counter {number}"), move || {
            for _ in 0..4_000_000 * times {
                COUNTERS.0[number * apart].fetch_add(1, Ordering::Relaxed);
            }
        })
    }));
}

/// A reason, and its program; true for the mended one.
type Fault = (&'static str, fn(u64, bool));

#[raddle::main]
fn main() {
    let all: [Fault; 14] = [
        ("producer", producer),
        ("serial", serial),
        ("split", split),
        ("placed", placed),
        ("stays", stays),
        ("fine", fine),
        ("pingpong", pingpong),
        ("sleep", sleep),
        ("pipe", pipe),
        ("mutex", mutex),
        ("convoy", convoy),
        ("claims", claims),
        ("storm", storm),
        ("lines", lines),
    ];
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mended = arguments.pop_if(|last| last == "mended").is_some();
    let reason = arguments.first().cloned().unwrap_or_default();
    let times = arguments.get(1).map_or(1, |times| times.parse().expect("a number"));
    let known = all.iter().find(|(name, _)| *name == reason);
    let (_, program) = known.unwrap_or_else(|| panic!("the reasons are {:?}", all.map(|(name, _)| name)));
    program(times, mended);
}
