//! rayon and blake3, with Raddle's scheduler in the place of rayon's.

use raddle::channel::bounded;
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// On pools of one, two and four, and on the default one.
fn everywhere(test: impl Fn() + Sync) {
    for threads in [1, 2, 4] {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&test);
    }
    test();
}

#[test]
fn iterators_give_what_std_gives() {
    let numbers: Vec<u64> = (0..100_000).map(|n| n * 7919 % 100_003).collect();
    everywhere(|| {
        let squares: Vec<u64> = numbers.par_iter().map(|n| n * n).collect();
        assert_eq!(squares, numbers.iter().map(|n| n * n).collect::<Vec<_>>());
        let even: Vec<u64> = numbers.par_iter().copied().filter(|n| n % 2 == 0).collect();
        assert_eq!(even, numbers.iter().copied().filter(|n| n % 2 == 0).collect::<Vec<_>>());
        assert_eq!(numbers.par_iter().sum::<u64>(), numbers.iter().sum());
        assert_eq!(numbers.par_iter().max(), numbers.iter().max());
        assert_eq!(numbers.par_iter().position_first(|n| *n == 7919), Some(1));
        assert_eq!(numbers.par_chunks(1000).map(|c| c.len()).sum::<usize>(), numbers.len());
        let zipped = numbers.par_iter().zip(&squares).all(|(n, square)| n * n == *square);
        assert!(zipped && numbers.par_iter().any(|n| *n == 0));
    });
}

#[test]
fn sorts_sort() {
    let numbers: Vec<u32> = (0..50_000_u32).map(|n| n.wrapping_mul(2_654_435_761) % 1000).collect();
    let mut sorted: Vec<(u32, usize)> = numbers.iter().copied().zip(0..).collect();
    sorted.sort_by_key(|(n, _)| *n);
    everywhere(|| {
        let mut stable: Vec<(u32, usize)> = numbers.iter().copied().zip(0..).collect();
        stable.par_sort_by_key(|(n, _)| *n);
        assert_eq!(stable, sorted);
        let mut unstable = numbers.clone();
        unstable.par_sort_unstable();
        assert!(unstable.is_sorted());
    });
}

#[test]
fn errors_and_panics_come_back() {
    everywhere(|| {
        let failed: Result<Vec<u32>, u32> =
            (0..10_000_u32).into_par_iter().map(|n| if n == 777 { Err(n) } else { Ok(n) }).collect();
        assert_eq!(failed, Err(777));
        let panic = catch_unwind(AssertUnwindSafe(|| {
            (0..1000).into_par_iter().for_each(|n| assert!(n != 500, "at five hundred"));
        }));
        assert_eq!(*panic.unwrap_err().downcast_ref::<&str>().unwrap(), "at five hundred");
    });
}

/// What rayon's own scheduler cannot do: the one thread of the pool is not blocked by a turn that waits for another.
#[test]
fn a_turn_may_wait_for_another() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (sender, receiver) = bounded::<usize>(0);
    let sum = AtomicUsize::new(0);
    pool.install(|| {
        rayon::scope(|s| {
            s.spawn(|_| {
                (0..100).for_each(|_| {
                    sum.fetch_add(receiver.recv().unwrap(), Ordering::Relaxed);
                })
            });
            s.spawn(|_| (0..100).for_each(|n| sender.send(n).unwrap()));
        });
    });
    assert_eq!(sum.into_inner(), 4950);
}

#[test]
fn blake3_hashes_in_parallel() {
    let data: Vec<u8> = (0..3_000_000_u32).map(|n| (n ^ n >> 11) as u8).collect();
    everywhere(|| {
        let parallel = blake3::Hasher::new().update_rayon(&data).finalize();
        assert_eq!(parallel, blake3::hash(&data));
    });
}

/// It is Raddle's scheduler that runs them.
#[test]
fn turns_run_in_processes() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert!(pool.install(|| (0..100).into_par_iter().all(|_| raddle::csp::current().is_some())));
    assert!((0..100).into_par_iter().all(|_| raddle::csp::current().is_some()), "on the default pool, too");
}
