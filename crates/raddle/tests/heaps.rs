//! Owns: the memory manager under the scheduler: whose heaps are, and what a worker does with its own before it sleeps.
//! May use: `raddle`, `raddle-alloc`.
//! Never: another test in this program: it counts the heaps of the whole program.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

static RESTS: AtomicUsize = AtomicUsize::new(0);

fn rests() {
    raddle_alloc::rest_heap();
    RESTS.fetch_add(1, Ordering::Relaxed);
}

/// More of them with `HEAPS_PROCESSES`.
fn count() -> usize {
    std::env::var("HEAPS_PROCESSES").map_or(20_000, |text| text.parse().expect("a number"))
}

/// Processes that are all alive at once, each with blocks of its own; how many heaps there are then.
fn heaps_of(runtime: &raddle::Runtime, count: usize) -> usize {
    runtime.run(move || {
        let gate = Arc::new(raddle::sync::Barrier::new(count + 1));
        let process = |number: usize| {
            let gate = Arc::clone(&gate);
            raddle::csp::spawn(move || {
                let text = vec![number as u8; 40 + number % 100];
                gate.wait();
                text.len() + vec![1_u8; 600].len()
            })
        };
        let all: Vec<_> = (0..count).map(process).collect();
        gate.wait();
        let sum: usize = all.into_iter().map(|one| one.join().expect("it ends")).sum();
        assert!(sum > 640 * count);
    });
    raddle_alloc::statistics().heaps
}

#[test]
fn light_processes_have_no_heap_and_a_worker_that_sleeps_lets_others_have_its_own() {
    assert!(raddle::before_sleep(rests));
    // SAFETY: no process keeps an address of thread-local storage over a wait.
    let light =
        unsafe { raddle::Runtime::builder().workers(2).light_processes() }.build().expect("it starts");
    let heaps = heaps_of(&light, count());
    // The test's threads, the workers, those that help them.
    assert!(heaps <= 16, "{heaps} heaps for {} light processes", count());
    // The workers have nothing to do, and lie down.
    while RESTS.load(Ordering::Relaxed) < 2 {
        std::thread::yield_now();
    }
    // Whose heap rests works on with it.
    assert!(heaps_of(&light, 100) <= 16);
}
