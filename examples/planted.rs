//! Fifteen programs with a fault each, written from what users do and not from what `raddle trace` looks for:
//! `planted NAME [mended]`. `cargo xtask verdicts` traces them as it does those of `faults.rs`.
//!
//! | name | the program | mended |
//! |---|---|---|
//! | `pipeline` | four stages, of which `resize` takes eight times as long as the others | four of them |
//! | `reduce` | maps in parallel, and adds all up in one process, round after round | adds halves up in parallel |
//! | `triangle` | deals the rows of a triangle out in two contiguous halves | in turn |
//! | `chain` | each link computes before it starts the next one, and waits for it | starts it first |
//! | `socket` | processes read sockets of `std` | of Raddle |
//! | `queue` | a process receives from a channel of `std` that an OS thread fills | from one of Raddle's |
//! | `child` | processes wait for other programs, by `std` | in `raddle::blocking` |
//! | `cache` | all requests look up and update one map under one lock, and do so for most of their time | eight maps |
//! | `herd` | wakes all waiting servers for each job, of which it has one | wakes one |
//! | `lopsided` | places three of four requests on one worker | half of them |
//! | `crumbs` | starts a process for each of very many additions | for each thousand |
//! | `relay` | passes one token among processes that are dealt out to the workers | that are together |
//! | `stats` | two processes count what they do in neighbouring fields of one struct | each in its own |
//! | `arc` | two processes clone and drop one `Arc` for each item | borrow it |
//! | `ticks` | works for a moment each millisecond, and sleeps meanwhile: it is as fast as it can be | never sleeps |

use raddle::channel;
use raddle::csp::{self, Builder, JoinHandle};
use raddle::sync::{Condvar, Mutex};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

fn placed(name: &str, worker: usize, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let placed = Builder::new().name(name.to_owned()).worker(worker);
    placed.spawn(body).expect("there is memory for a process")
}

fn join_all(all: impl IntoIterator<Item = JoinHandle<()>>) {
    // All of them are there before the first is waited for.
    let all: Vec<_> = all.into_iter().collect();
    all.into_iter().for_each(|one| one.join().expect("none panics"));
}

fn pipeline(mended: bool) {
    let (to, mut from) = channel::bounded(16);
    let mut all = vec![named("load", move || {
        for picture in 0..600_u32 {
            compute(20.0);
            to.send(picture).expect("there is a next stage");
        }
    })];
    for (stage, us, several) in
        [("decode", 20.0, 1), ("resize", 160.0, if mended { 4 } else { 1 }), ("store", 20.0, 1)]
    {
        let (to, next) = channel::bounded(16);
        for number in 0..several {
            let (from, to) = (from.clone(), to.clone());
            all.push(named(&format!("{stage} {number}"), move || {
                while let Ok(picture) = from.recv() {
                    compute(us);
                    // The last stage's are thrown away.
                    let _is_wanted =
                        to.try_send(picture).is_ok() || stage == "store" || to.send(picture).is_ok();
                }
            }));
        }
        from = next;
    }
    join_all(all);
}

fn reduce(mended: bool) {
    let rounds = named("reducer", move || {
        for _ in 0..25 {
            join_all((0..8).map(|part| named(&format!("mapper {part}"), || compute(250.0))));
            if mended {
                join_all((0..2).map(|half| named(&format!("adder {half}"), || compute(1_000.0))));
            } else {
                compute(2_000.0);
            }
        }
    });
    join_all([rounds]);
}

fn triangle(mended: bool) {
    const ROWS: usize = 400;
    join_all((0..2).map(|half| {
        named(&format!("rows {half}"), move || {
            let mine = |row: &usize| if mended { row % 2 == half } else { row * 2 / ROWS == half };
            (0..ROWS).filter(mine).for_each(|row| compute(row as f64));
        })
    }));
}

fn link(number: u32, mended: bool) {
    if number == 0 {
        return;
    }
    let next = move || named(&format!("link {number}"), move || link(number - 1, mended));
    if mended {
        let next = next();
        compute(2_000.0);
        join_all([next]);
    } else {
        compute(2_000.0);
        join_all([next()]);
    }
}

fn chain(mended: bool) {
    join_all([named("link 40", move || link(40, mended))]);
}

/// Answers each connection after 10 ms.
fn slow_server(connections: usize) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let mut stream = stream.expect("somebody connects");
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(10));
                stream.write_all(b"done").expect("the client reads");
            });
        }
    });
    address
}

fn socket(mended: bool) {
    const CLIENTS: usize = 16;
    let address = slow_server(CLIENTS);
    join_all((0..CLIENTS).map(|number| {
        named(&format!("fetch {number}"), move || {
            let mut page = String::new();
            if mended {
                let mut stream = raddle::net::TcpStream::connect(address).expect("there is a server");
                stream.read_to_string(&mut page).expect("the server writes");
            } else {
                let mut stream = std::net::TcpStream::connect(address).expect("there is a server");
                stream.read_to_string(&mut page).expect("the server writes");
            }
            compute(2_000.0);
        })
    }));
}

fn queue(mended: bool) {
    let (std_to, std_from) = std::sync::mpsc::channel();
    let (to, from) = channel::unbounded();
    let feeder = std::thread::spawn(move || {
        for item in 0..20 {
            std::thread::sleep(Duration::from_millis(4));
            if mended {
                to.send(item).is_ok()
            } else {
                std_to.send(item).is_ok()
            };
        }
    });
    let reader = named("reader", move || {
        while if mended { from.recv().is_ok() } else { std_from.recv().is_ok() } {
            compute(300.0);
        }
    });
    // Other work, which one worker has to do while the other one stands.
    join_all((0..2).map(|number| named(&format!("counter {number}"), || compute(30_000.0))).chain([reader]));
    feeder.join().expect("it does not panic");
}

fn child(mended: bool) {
    join_all((0..10).map(|number| {
        named(&format!("build {number}"), move || {
            let run = || std::process::Command::new("sleep").arg("0.02").status().expect("there is a sleep");
            let _status = if mended { raddle::blocking(run) } else { run() };
            compute(1_000.0);
        })
    }));
}

fn cache(mended: bool) {
    let maps: Vec<_> = (0..8).map(|_| Arc::new(Mutex::new(HashMap::new()))).collect();
    join_all((0..24_usize).map(|number| {
        let map = maps[if mended { number % 8 } else { 0 }].clone();
        named(&format!("request {number}"), move || {
            for turn in 0..100 {
                let mut map = map.lock().expect("nobody panics");
                compute(30.0);
                *map.entry(turn % 10).or_insert(0_u64) += 1;
                drop(map);
                compute(1.0);
            }
        })
    }));
}

fn herd(mended: bool) {
    let shared = Arc::new((Mutex::new((Vec::new(), false)), Condvar::new()));
    let server = |number: u32| {
        let shared = shared.clone();
        named(&format!("server {number}"), move || {
            let (jobs, news) = &*shared;
            loop {
                let mut held = jobs.lock().expect("nobody panics");
                let job = loop {
                    match held.0.pop() {
                        Some(job) => break job,
                        None if held.1 => return,
                        None => held = news.wait(held).expect("nobody panics"),
                    }
                };
                drop(held);
                compute(job);
            }
        })
    };
    let mut all: Vec<_> = (0..48).map(server).collect();
    let shared = shared.clone();
    all.push(named("dispatcher", move || {
        let (jobs, news) = &*shared;
        for _ in 0..1500 {
            jobs.lock().expect("nobody panics").0.push(2.0);
            if mended {
                news.notify_one()
            } else {
                news.notify_all()
            };
            compute(4.0);
            csp::yield_now();
        }
        jobs.lock().expect("nobody panics").1 = true;
        news.notify_all();
    }));
    join_all(all);
}

fn lopsided(mended: bool) {
    let worker = |number: usize| if mended { number % 2 } else { usize::from(number.is_multiple_of(4)) };
    join_all((0..40).map(|number| placed(&format!("request {number}"), worker(number), || compute(2_000.0))));
}

fn crumbs(mended: bool) {
    let (pieces, us) = if mended { (100, 200.0) } else { (100_000, 0.2) };
    let spawner = named("spawner", move || {
        let all: Vec<_> = (0..pieces).map(|_| csp::spawn(move || compute(us))).collect();
        join_all(all);
    });
    join_all([spawner]);
}

fn relay(mended: bool) {
    const RUNNERS: usize = 4;
    let mut ends: Vec<_> = (0..RUNNERS).map(|_| csp::channel::<u32>()).collect();
    let mut receivers = Vec::new();
    let mut senders = Vec::new();
    for (to, from) in ends.drain(..) {
        senders.push(to);
        receivers.push(from);
    }
    senders.rotate_left(1);
    let all = senders.into_iter().zip(receivers).enumerate().map(|(number, (mut to, mut from))| {
        placed(&format!("runner {number}"), if mended { 0 } else { number % 2 }, move || {
            if number == 0 {
                to.send(0).expect("there is a next one");
            }
            while let Ok(lap) = from.recv() {
                if lap > 8_000 || to.send(lap + 1).is_err() {
                    return;
                }
            }
        })
    });
    join_all(all.collect::<Vec<_>>());
}

/// What two processes count, side by side, and far from all else.
#[derive(Default)]
#[repr(align(128))]
struct Stats {
    hits: AtomicU64,
    misses: AtomicU64,
}

fn stats(mended: bool) {
    let shared = Arc::new(Stats::default());
    let looker = |name: &str, which: fn(&Stats) -> &AtomicU64| {
        let shared = if mended { Arc::new(Stats::default()) } else { shared.clone() };
        named(name, move || {
            for _ in 0..5_000_000 {
                which(&shared).fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    join_all([looker("looker 0", |stats| &stats.hits), looker("looker 1", |stats| &stats.misses)]);
}

fn arc(mended: bool) {
    let table = Arc::new(vec![1_u64; 64]);
    join_all((0..2).map(|number| {
        let table = table.clone();
        named(&format!("user {number}"), move || {
            let mut sum = 0;
            for item in 0..3_000_000 {
                if mended {
                    sum += black_box(&table)[item % 64];
                } else {
                    sum += black_box(table.clone())[item % 64];
                }
            }
            black_box(sum);
        })
    }));
}

fn ticks(mended: bool) {
    join_all((0..2).map(|number| {
        named(&format!("ticker {number}"), move || {
            for _ in 0..60 {
                if !mended {
                    csp::sleep(Duration::from_millis(1));
                }
                compute(100.0);
            }
        })
    }));
}

/// A name, and its program; true for the mended one.
type Planted = (&'static str, fn(bool));

#[raddle::main]
fn main() {
    let all: [Planted; 15] = [
        ("pipeline", pipeline),
        ("reduce", reduce),
        ("triangle", triangle),
        ("chain", chain),
        ("socket", socket),
        ("queue", queue),
        ("child", child),
        ("cache", cache),
        ("herd", herd),
        ("lopsided", lopsided),
        ("crumbs", crumbs),
        ("relay", relay),
        ("stats", stats),
        ("arc", arc),
        ("ticks", ticks),
    ];
    let name = std::env::args().nth(1).unwrap_or_default();
    let mended = std::env::args().any(|word| word == "mended");
    let known = all.iter().find(|(known, _)| *known == name);
    let (_, program) = known.unwrap_or_else(|| panic!("the names are {:?}", all.map(|(name, _)| name)));
    program(mended);
}
