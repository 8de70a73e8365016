//! Three programs as people write them for `std::thread`. Only the path of `thread` is another.

use super::*;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex};

type Job = Box<dyn FnOnce() + Send>;

/// A pool of threads that wait, by a `std` lock, for jobs.
struct Pool {
    shared: Arc<(Mutex<Jobs>, Condvar)>,
    threads: Vec<thread::JoinHandle<usize>>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    closed: bool,
}

impl Pool {
    fn new(size: usize) -> Pool {
        let shared: Arc<(Mutex<Jobs>, Condvar)> = Arc::default();
        let start = |n| {
            let shared = shared.clone();
            let named = thread::Builder::new().name(format!("pool-{n}")).stack_size(128 * 1024);
            named.spawn(move || work(&shared)).expect("a thread of the pool")
        };
        let threads = (0..size).map(start).collect();
        Pool { shared, threads }
    }

    fn run(&self, job: impl FnOnce() + Send + 'static) {
        self.shared.0.lock().unwrap().waiting.push_back(Box::new(job));
        self.shared.1.notify_one();
    }

    fn finish(self) -> usize {
        self.shared.0.lock().unwrap().closed = true;
        self.shared.1.notify_all();
        self.threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    }
}

fn work((jobs, more): &(Mutex<Jobs>, Condvar)) -> usize {
    let mut done = 0;
    loop {
        let idle = |jobs: &mut Jobs| jobs.waiting.is_empty() && !jobs.closed;
        let mut jobs = more.wait_while(jobs.lock().unwrap(), idle).unwrap();
        let Some(job) = jobs.waiting.pop_front() else { return done };
        drop(jobs);
        job();
        done += 1;
    }
}

#[test]
fn a_pool_of_threads() {
    // From an OS thread only: the pool's waits are no waits of the module, and hold workers.
    let (pool, sum) = (Pool::new(4), Arc::new(AtomicUsize::new(0)));
    for n in 0..500 {
        let sum = sum.clone();
        pool.run(move || {
            sum.fetch_add(n, Ordering::Relaxed);
        });
    }
    assert_eq!(pool.finish(), 500);
    assert_eq!(sum.load(Ordering::Relaxed), 499 * 500 / 2);
}

/// One place between two threads, who park until it is empty or full.
struct Place {
    value: AtomicUsize,
    ends: Mutex<Vec<thread::Thread>>,
}

impl Place {
    fn new() -> Arc<Place> {
        Arc::new(Place { value: AtomicUsize::new(0), ends: Mutex::default() })
    }

    /// Waits until `change` has changed the value, and wakes the other end.
    fn until(&self, change: impl Fn(usize) -> Option<usize>) -> usize {
        let me = thread::current();
        let mut ends = self.ends.lock().unwrap();
        if ends.iter().all(|end| end.id() != me.id()) {
            ends.push(me.clone());
        }
        drop(ends);
        loop {
            if let Ok(old) = self.value.fetch_update(Ordering::AcqRel, Ordering::Acquire, &change) {
                let ends = self.ends.lock().unwrap();
                ends.iter().filter(|end| end.id() != me.id()).for_each(thread::Thread::unpark);
                return old;
            }
            thread::park();
        }
    }

    fn put(&self, value: usize) {
        self.until(|seen| (seen == 0).then_some(value));
    }

    fn take(&self) -> usize {
        self.until(|seen| (seen != 0).then_some(0))
    }
}

#[test]
fn a_pipeline_that_parks() {
    const END: usize = usize::MAX;
    everywhere(|| {
        let places: Vec<_> = (0..6).map(|_| Place::new()).collect();
        let stages: Vec<_> = places
            .windows(2)
            .map(|pair| {
                let (from, to) = (pair[0].clone(), pair[1].clone());
                thread::spawn(move || {
                    loop {
                        let value = from.take();
                        to.put(if value == END { END } else { value + 1 });
                        if value == END {
                            return;
                        }
                    }
                })
            })
            .collect();
        let (first, last) = (places[0].clone(), places[5].clone());
        let source = thread::spawn(move || {
            (1..=50).for_each(|value| first.put(value));
            first.put(END);
        });
        let sum: usize = std::iter::repeat_with(|| last.take()).take_while(|&value| value != END).sum();
        assert_eq!(sum, 50 * 51 / 2 + 5 * 50);
        source.join().unwrap();
        stages.into_iter().for_each(|stage| stage.join().unwrap());
    });
}

thread_local! {
    static KNOWN: RefCell<HashMap<u64, u64>> = RefCell::default();
}

/// The steps of Collatz's sequence from `n`, with what this thread has found before.
fn steps(n: u64) -> u64 {
    if n == 1 {
        return 0;
    }
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&n).copied()) {
        return known;
    }
    let steps = 1 + steps(if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 });
    KNOWN.with_borrow_mut(|known| known.insert(n, steps));
    steps
}

#[test]
fn a_scoped_sum_with_a_cache_in_each_thread() {
    everywhere(|| {
        let numbers: Vec<u64> = (1..=3000).collect();
        let sum: u64 = thread::scope(|s| {
            let part = |part| {
                s.spawn(move || {
                    assert!(KNOWN.with_borrow(HashMap::is_empty), "a new thread knows nothing");
                    let mut sum = 0;
                    for &n in part {
                        sum += steps(n);
                        thread::yield_now();
                    }
                    sum
                })
            };
            let parts: Vec<_> = numbers.chunks(500).map(part).collect();
            parts.into_iter().map(|part| part.join().unwrap()).sum()
        });
        assert_eq!(sum, 215_063);
    });
}
