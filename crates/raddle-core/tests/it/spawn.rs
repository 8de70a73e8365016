//! Spawn, join, results, names, numbers.

use crate::runtime;
use raddle::{Runtime, csp};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A runtime with room on its stacks for what is large: where nothing is optimised, each call on its way copies it.
fn roomy(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).stack_size(1 << 20).build().unwrap()
}

#[test]
fn results_of_any_shape_arrive() {
    #[repr(align(256))]
    struct Aligned([u8; 300]);
    struct NotCopy(Vec<String>);
    for workers in [1, 2] {
        roomy(workers).run(|| {
            assert_eq!(csp::spawn(|| 7_u8).join().unwrap(), 7);
            assert_eq!(csp::spawn(|| [3_u64; 1000]).join().unwrap(), [3; 1000]);
            let aligned = csp::spawn(|| Aligned([9; 300])).join().unwrap();
            assert_eq!((aligned.0[299], std::ptr::from_ref(&aligned).addr() % 256), (9, 0));
            csp::spawn(|| ()).join().unwrap();
            let vec = csp::spawn(|| NotCopy(vec![String::from("a"); 3])).join().unwrap();
            assert_eq!(vec.0.concat(), "aaa");
        });
    }
}

#[test]
fn closures_of_any_size_arrive() {
    for workers in [1, 2] {
        roomy(workers).run(|| {
            let (small, large) = ([1_u8; 3], [2_u8; 5000]);
            let sum = csp::spawn(move || small.iter().map(|&b| u32::from(b)).sum::<u32>());
            assert_eq!(sum.join().unwrap(), 3);
            let sum = csp::spawn(move || large.iter().map(|&b| u32::from(b)).sum::<u32>());
            assert_eq!(sum.join().unwrap(), 10_000);
        });
    }
}

#[test]
fn many_are_joined_in_any_order() {
    for workers in [1, 2, 8] {
        runtime(workers).run(|| {
            let spawn_all = || (0..2000_usize).map(|n| csp::spawn(move || n)).collect::<Vec<_>>();
            for (n, handle) in spawn_all().into_iter().enumerate() {
                assert_eq!(handle.join().unwrap(), n);
            }
            for (n, handle) in spawn_all().into_iter().enumerate().rev() {
                assert_eq!(handle.join().unwrap(), n);
            }
        });
    }
}

#[test]
fn a_joiner_waits_for_one_that_waits() {
    let depth = runtime(2).run(|| {
        fn below(n: u32) -> u32 {
            if n == 0 { 0 } else { csp::spawn(move || below(n - 1)).join().unwrap() + 1 }
        }
        below(500)
    });
    assert_eq!(depth, 500);
}

#[test]
fn one_worker_starts_processes_in_the_order_of_their_spawns() {
    let order = runtime(1).run(|| {
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let spawn = |n| {
            let seen = seen.clone();
            csp::spawn(move || seen.lock().unwrap().push(n))
        };
        (0..300).map(spawn).collect::<Vec<_>>().into_iter().for_each(|h| h.join().unwrap());
        Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
    });
    assert_eq!(order, (0..300).collect::<Vec<_>>());
}

#[test]
fn a_detached_process_goes_on_and_its_result_is_dropped() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let rt = runtime(2);
    let counted = drops.clone();
    rt.run(move || {
        for _ in 0..50 {
            let before = Counted(counted.clone());
            drop(csp::spawn(move || before));
            // This one's handle goes after the end.
            let after = Counted(counted.clone());
            let late = csp::spawn(move || after);
            while !late.is_finished() {
                csp::yield_now();
            }
        }
    });
    drop(rt);
    assert_eq!(drops.load(Ordering::Relaxed), 100);
}

#[test]
fn names_and_numbers_are_as_given_and_never_twice() {
    let rt = runtime(2);
    let ids = rt.run(|| {
        let me = csp::current().expect("a process");
        assert_eq!(me.name(), None);
        let named = csp::Builder::new().name("weaver").spawn(|| csp::current().unwrap()).unwrap();
        assert_eq!(named.process().name(), Some("weaver"));
        let (outside, inside) = (named.process(), named.join().unwrap());
        assert_eq!((outside.id(), outside.name()), (inside.id(), inside.name()));
        assert!(format!("{outside:?}").contains("weaver"));
        let unnamed = (0..20_000).map(|_| csp::spawn(|| csp::current().unwrap().id()));
        let mut ids: Vec<_> = unnamed.map(|h| h.join().unwrap()).collect();
        ids.extend([me.id(), outside.id()]);
        ids
    });
    let distinct: HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
    assert!(csp::current().is_none());
    assert!(rt.block_on(async { raddle::task::spawn(async { csp::current().is_none() }).await.unwrap() }));
}

#[test]
fn is_finished_tells_the_end() {
    runtime(1).run(|| {
        let child = csp::spawn(csp::yield_now);
        assert!(!child.is_finished(), "one worker, and nobody has yielded");
        while !child.is_finished() {
            csp::yield_now();
        }
        child.join().unwrap();
    });
}

#[test]
fn a_stack_is_as_large_as_was_asked_for() {
    // By reference: a copy would double the frame where nothing is optimised.
    fn use_stack(bytes: usize) -> usize {
        let frame = [1_u8; 4096];
        let first = usize::from(std::hint::black_box(&frame)[0]);
        if bytes <= 4096 { first } else { use_stack(bytes - 4096) + usize::from(frame[7]) }
    }
    let rt = Runtime::builder().workers(1).stack_size(256 << 10).build().unwrap();
    rt.run(|| {
        assert_eq!(csp::spawn(|| use_stack(200 << 10)).join().unwrap(), 50);
        let large = csp::Builder::new().stack_size(8 << 20).spawn(|| use_stack(4 << 20)).unwrap();
        assert_eq!(large.join().unwrap(), 1 << 10);
        let refused = csp::Builder::new().stack_size(2 << 30).spawn(|| ()).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
        assert!(refused.to_string().contains("the largest is 1048576 KiB"), "{refused}");
    });
    let refused = Runtime::builder().stack_size(2 << 30).build().unwrap_err();
    assert!(matches!(refused, raddle::BuildError::Stack(_)), "{refused}");
}

#[test]
fn stacks_are_measured_while_one_is_started_on_what_the_last_has_left() {
    // Calls, not a large array: AddressSanitizer keeps arrays elsewhere.
    fn deep(calls: u64) -> u64 {
        if calls == 0 { 0 } else { std::hint::black_box(deep(std::hint::black_box(calls - 1))) + 1 }
    }
    let deepest = |calls: u64| {
        let rt = Runtime::builder().workers(1).measure_stacks(true).build().unwrap();
        rt.run(|| {
            // All wait in the fresh list, so that each is started by the end of the one before.
            let all: Vec<_> = (0..100).map(|_| csp::spawn(move || deep(calls))).collect();
            assert_eq!(all.into_iter().map(|h| h.join().unwrap()).sum::<u64>(), 100 * calls);
        });
        rt.deepest_stack().expect("it is measured")
    };
    // A call leaves 16 bytes at least; what is deepest without any may lie beside them, and not below.
    let (shallow, deep) = (deepest(0), deepest(400));
    assert!(deep >= 400 * 16 && deep >= shallow + 1000, "{deep} bytes for 400 calls, {shallow} for none");
}
