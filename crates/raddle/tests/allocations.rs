//! Owns: that a spawn takes nothing from the allocator once its pools are full.
//! May use: `raddle`.
//! Never: another test in this program: it counts the allocations of the whole program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Spawns that are alive at once, of one caller.
const BATCH: usize = 100;
const BATCHES: usize = 200;
/// What a batch may take besides, however large it is: it counts what has ended, a queue of a scope doubles.
const ELSE: usize = 8;

fn closure<const N: usize>() -> impl FnOnce() -> [usize; N] + Send + 'static {
    let words = [std::hint::black_box(1); N];
    move || words
}

fn batch<T>(one: impl Fn() -> T) -> [T; BATCH] {
    std::array::from_fn(|_| one())
}

/// A batch of each kind, of closures and results of so many words.
fn kinds<const N: usize>() -> [(&'static str, fn()); 8] {
    [
        ("processes", || {
            for one in batch(|| raddle::csp::spawn(closure::<N>())) {
                assert_eq!(one.join().expect("it ends"), [1; N]);
            }
        }),
        ("threads", || {
            for one in batch(|| raddle::thread::spawn(closure::<N>())) {
                assert_eq!(one.join().expect("it ends"), [1; N]);
            }
        }),
        ("scoped threads", || {
            raddle::thread::scope(|scope| {
                for one in batch(|| scope.spawn(closure::<N>())) {
                    assert_eq!(one.join().expect("it ends"), [1; N]);
                }
            });
        }),
        ("jobs", || {
            all_end(|ended| {
                let words = closure::<N>();
                raddle::spawn(move || add(&ended, &words()));
            });
        }),
        ("jobs in order", || {
            all_end(|ended| {
                let words = closure::<N>();
                raddle::spawn_fifo(move || add(&ended, &words()));
            });
        }),
        ("jobs of a scope", || {
            let sum = AtomicUsize::new(0);
            raddle::scope(|scope| {
                for _ in 0..BATCH {
                    let (words, sum) = (closure::<N>(), &sum);
                    scope.spawn(move |_| add(sum, &words()));
                }
            });
            assert_eq!(sum.into_inner(), BATCH * N);
        }),
        ("jobs of a scope, in order", || {
            let sum = AtomicUsize::new(0);
            raddle::scope_fifo(|scope| {
                for _ in 0..BATCH {
                    let (words, sum) = (closure::<N>(), &sum);
                    scope.spawn_fifo(move |_| add(sum, &words()));
                }
            });
            assert_eq!(sum.into_inner(), BATCH * N);
        }),
        ("tasks", || {
            raddle::task::block_on(async {
                let task = || {
                    let words = closure::<N>();
                    raddle::task::spawn(async move {
                        raddle::task::yield_now().await;
                        words()
                    })
                };
                for one in batch(task) {
                    assert_eq!(one.await.expect("it ends"), [1; N]);
                }
            });
        }),
    ]
}

fn add(sum: &AtomicUsize, words: &[usize]) {
    sum.fetch_add(words.iter().sum(), Ordering::Relaxed);
}

/// A batch of jobs that nobody joins: each has a share of what counts.
fn all_end(spawn: impl Fn(Arc<AtomicUsize>)) {
    let ended = Arc::new(AtomicUsize::new(0));
    (0..BATCH).for_each(|_| spawn(ended.clone()));
    while Arc::strong_count(&ended) > 1 {
        raddle::yield_now();
    }
    assert!(ended.load(Ordering::Relaxed).is_multiple_of(BATCH));
}

#[test]
fn a_spawn_takes_nothing_from_the_allocator() {
    for workers in [1, 2] {
        let runtime = raddle::Runtime::builder().workers(workers).build().expect("it starts");
        for (words, kinds) in [(2, kinds::<2>()), (12, kinds::<12>()), (50, kinds::<50>())] {
            for (kind, spawn) in kinds {
                let count = runtime.run(move || {
                    // The first fill the pools.
                    (0..BATCHES).for_each(|_| spawn());
                    let before = ALLOCATIONS.load(Ordering::Relaxed);
                    (0..BATCHES).for_each(|_| spawn());
                    ALLOCATIONS.load(Ordering::Relaxed) - before
                });
                let all = BATCH * BATCHES;
                assert!(
                    count <= ELSE * BATCHES,
                    "{all} {kind} with {words} words on {workers} workers: {count} allocations"
                );
            }
        }
    }
}
