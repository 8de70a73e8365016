//! How deep jobs may call: as deep as on the threads of `std`.

use super::*;

/// Uses so many bytes of stack, and some.
#[inline(never)]
fn use_stack(bytes: usize) -> usize {
    let page = std::hint::black_box([1_u8; 4096]);
    if bytes <= page.len() {
        usize::from(page[0])
    } else {
        use_stack(bytes - page.len()) + usize::from(page[1])
    }
}

/// With what an unoptimised build adds, half of two mebibytes.
const HALF: usize = 1 << 19;

#[test]
fn jobs_have_the_stack_of_a_thread() {
    let test = || {
        jobs::join(|| use_stack(HALF), || use_stack(HALF));
        jobs::scope(|s| (0..4).for_each(|_| s.spawn(|_| assert!(use_stack(HALF) > 0))));
        jobs::scope_fifo(|s| s.spawn_fifo(|_| assert!(use_stack(HALF) > 0)));
        jobs::broadcast(|_| use_stack(HALF));
    };
    test();
    pool::pool(2).install(test);
    let (tell, told) = std::sync::mpsc::channel();
    jobs::spawn(move || tell.send(use_stack(HALF)).unwrap());
    assert!(told.recv().is_ok());
}

#[test]
fn a_pool_has_the_stacks_that_were_asked_for() {
    for megabytes in [4, 16] {
        let pool = jobs::ThreadPoolBuilder::new()
            .num_threads(1)
            .stack_size(megabytes << 20)
            .build()
            .expect("a pool");
        assert!(pool.install(|| use_stack((megabytes << 20) / 4)) > 0);
    }
}

/// Each level forks; nobody's stack holds more than one branch.
#[test]
fn joins_nest_hundreds_deep() {
    fn left(depth: usize) -> usize {
        if depth == 0 { 0 } else { jobs::join(|| left(depth - 1), || 1).0 + 1 }
    }
    fn right(depth: usize) -> usize {
        if depth == 0 { 0 } else { jobs::join(|| 1, || right(depth - 1)).1 + 1 }
    }
    let test = || assert_eq!((left(300), right(300)), (300, 300));
    test();
    pool::pool(2).install(test);
}

#[test]
fn jobs_spawn_jobs_a_hundred_thousand_times() {
    fn next<'scope>(s: &jobs::Scope<'scope>, left: usize, count: &'scope AtomicUsize) {
        tick(count);
        if left > 0 {
            s.spawn(move |s| next(s, left - 1, count));
        }
    }
    let count = AtomicUsize::new(0);
    jobs::scope(|s| next(s, 100_000, &count));
    assert_eq!(count.into_inner(), 100_001);
}
