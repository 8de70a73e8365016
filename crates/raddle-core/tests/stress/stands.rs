//! Workers that stand in calls of `std`, and are helped, while jobs hold their OS threads, and one thread is lent.
//!
//! What each does is chosen by a seed, which a failure names. Whatever the choice, everything ends: who receives from a
//! channel of `std` has a sender that a worker can run, or that an OS thread has.

use super::{Progress, Watchdog, times};
use raddle::{Runtime, ThreadPool, ThreadPoolBuilder, blocking, csp, task, thread};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A worker is stopped by a signal for what is in its batch; ThreadSanitizer hands signals over late.
const BATCHES_ARE_HELPED: bool = !cfg!(any(raddle_tsan, raddle_twin, target_arch = "aarch64"));

/// A small generator (xorshift).
struct Choices(u64);

impl Choices {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

/// Sends by an OS thread, when some time has passed: until then who receives stands.
struct Outside(Mutex<Sender<(Sender<u64>, u64)>>);

impl Outside {
    fn begin() -> (Outside, std::thread::JoinHandle<()>) {
        let (give, given) = channel::<(Sender<u64>, u64)>();
        let sends = std::thread::spawn(move || {
            for (to, number) in given {
                // Not to wait for anybody: it takes so long until a worker is seen to stand.
                std::thread::sleep(Duration::from_millis(15));
                let _gone = to.send(number);
            }
        });
        (Outside(Mutex::new(give)), sends)
    }

    fn later(&self, number: u64) -> Receiver<u64> {
        let (to, from) = channel();
        self.0.lock().unwrap().send((to, number)).unwrap();
        from
    }
}

/// One of several things that two do together, on the runtime that it is called on.
fn pair(kind: u64, number: u64, outside: &Outside) -> Vec<csp::JoinHandle<()>> {
    let (to, from) = channel();
    match kind {
        // One stands until the other, which has not begun, has sent.
        0 if BATCHES_ARE_HELPED => vec![
            csp::spawn(move || assert_eq!(from.recv(), Ok(number))),
            csp::spawn(move || to.send(number).unwrap()),
        ],
        // As above, and the other has begun, and is woken.
        1 if BATCHES_ARE_HELPED => {
            let sends = csp::spawn(move || {
                csp::park();
                to.send(number).unwrap();
            });
            let wakes = sends.process().clone();
            let receives = csp::spawn(move || {
                wakes.unpark();
                assert_eq!(from.recv(), Ok(number));
            });
            vec![sends, receives]
        }
        // A lock of `std` is held over a switch.
        2 if BATCHES_ARE_HELPED => {
            let lock = Arc::new(Mutex::new(0));
            let adds = |lock: Arc<Mutex<u64>>| {
                csp::spawn(move || {
                    let mut held = lock.lock().unwrap();
                    csp::yield_now();
                    *held += 1;
                })
            };
            vec![adds(lock.clone()), adds(lock)]
        }
        // Two that are none of this.
        3 => {
            let (mut to, mut from) = csp::channel();
            vec![
                csp::spawn(move || (0..10).for_each(|n| to.send(n).unwrap())),
                csp::spawn(move || (0..10).for_each(|n| assert_eq!(from.recv(), Ok(n)))),
            ]
        }
        4 => vec![csp::spawn(|| csp::sleep(Duration::from_micros(300)))],
        5 => vec![
            csp::spawn(move || assert_eq!(blocking(move || from.recv()), Ok(number))),
            csp::spawn(move || to.send(number).unwrap()),
        ],
        6 => {
            let waits = task::spawn(async move {
                task::yield_now().await;
                number
            });
            vec![csp::spawn(move || assert_eq!(task::block_on(waits).unwrap(), number))]
        }
        7 => vec![csp::spawn(move || {
            let storage = thread::spawn(|| std::cell::Cell::new(1).replace(2));
            assert_eq!(storage.join().unwrap(), 1);
            assert!(raddle::dump().to_string().starts_with("raddle: "));
        })],
        _ => {
            let from = outside.later(number);
            vec![csp::spawn(move || assert_eq!(from.recv(), Ok(number)))]
        }
    }
}

/// Jobs that wait for jobs, and now and then stand until somebody elsewhere has sent.
fn jobs(depth: u64, choices: &mut Choices, outside: &Outside) -> u64 {
    if depth == 0 {
        return match choices.next(6) {
            0 => outside.later(1).recv().unwrap(),
            1 => {
                csp::yield_now();
                1
            }
            _ => 1,
        };
    }
    let (mut left, mut right) = (Choices(choices.0 | 1), Choices(choices.next(u64::MAX) | 1));
    let (left, right) =
        raddle::join(|| jobs(depth - 1, &mut left, outside), || jobs(depth - 1, &mut right, outside));
    left + right
}

fn prepared_pool(lends: bool) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(2).start_handler(|_| ());
    let pool = if lends { pool.use_current_thread() } else { pool };
    pool.build().expect("a pool")
}

fn round(seed: u64, workers: usize, progress: &Progress) {
    let (outside, sends) = Outside::begin();
    let runtime = Runtime::builder().workers(workers).build().expect("a runtime");
    let pool = prepared_pool(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut choices = Choices(seed | 1);
            for _ in 0..4 {
                runtime.run(|| {
                    let all: Vec<_> =
                        (0..8).flat_map(|n| pair(choices.next(9), n, &outside)).collect::<Vec<_>>();
                    all.into_iter().for_each(|one| one.join().unwrap());
                });
                progress.note();
            }
        });
        s.spawn(|| {
            let mut choices = Choices(seed.rotate_left(20) | 1);
            assert_eq!(pool.install(|| jobs(6, &mut choices, &outside)), 64);
            progress.note();
        });
        // This one ends with its OS thread.
        s.spawn(|| {
            let lent = prepared_pool(true);
            let mut choices = Choices(seed.rotate_left(40) | 1);
            assert_eq!(lent.install(|| jobs(5, &mut choices, &outside)), 32);
            progress.note();
        });
    });
    assert_eq!(runtime.shutdown(), 0);
    drop((pool, outside));
    sends.join().unwrap();
}

#[test]
fn stands_among_nested_waits_and_a_lent_thread() {
    for seed in 1..=times() as u64 {
        for workers in [1, 2] {
            let progress = Progress::default();
            let what = format!("stands, seed {seed}, {workers} workers");
            let _dog = Watchdog::new(what, progress.clone(), || raddle::dump().to_string());
            round(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), workers, &progress);
        }
    }
}
