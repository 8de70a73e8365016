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

/// No more than the test's threads, the workers, those that help them.
const FEW: usize = 16;

#[test]
fn heaps_are_workers_and_a_worker_that_sleeps_lets_others_have_its_own() {
    assert!(raddle::before_sleep(rests));
    // SAFETY: no process keeps an address of thread-local storage over a wait.
    let light =
        unsafe { raddle::Runtime::builder().workers(2).light_processes() }.build().expect("it starts");
    let heaps = heaps_of(&light, count());
    assert!(heaps <= FEW, "{heaps} heaps for {} light processes", count());
    // The workers have nothing to do, and lie down.
    while RESTS.load(Ordering::Relaxed) < 2 {
        std::thread::yield_now();
    }
    // Whose heap rests works on with it.
    assert!(heaps_of(&light, 100) <= FEW);
    drop(light);

    // Processes that have storage of their own, of which each worker has seen each other's.
    let runtime = raddle::Runtime::builder().workers(2).build().expect("it starts");
    let heaps = heaps_of(&runtime, count());
    assert!(heaps <= FEW, "{heaps} heaps for {} processes", count());
    let all_rounds = (0..20).map(|_| heaps_of(&runtime, 100)).max();
    assert!(all_rounds <= Some(FEW), "{all_rounds:?} heaps after many rounds");
    let in_handlers = moved::many_move_while_signals_come(&runtime);
    assert!(in_handlers > 0);
    drop(runtime);
    let heaps = raddle_alloc::statistics().heaps;
    assert!(heaps <= FEW + 4, "{heaps} heaps after all");
}

/// Blocks that go from process to process, and processes that go from worker to worker, between any two instructions of
/// which a signal handler allocates.
mod moved {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static OVER: AtomicBool = AtomicBool::new(false);

    extern "C" fn handle(_signal: i32) {
        let size = 16 + CALLS.fetch_add(1, Ordering::Relaxed) % 700;
        let block = raddle_alloc::allocate(size);
        assert!(!block.is_null());
        // SAFETY: of this size, and ours.
        unsafe { block.write_bytes(0xa5, size) };
        // SAFETY: as above.
        unsafe { raddle_alloc::free(block) };
    }

    fn filled(seed: usize) -> Vec<u8> {
        vec![seed as u8; 1 + seed * 37 % 1500]
    }

    fn check(block: &[u8]) {
        assert!(block.iter().all(|byte| *byte == block[0]) && !block.is_empty());
    }

    /// Sends signals to the OS threads that have said that they work, until it is over.
    fn signal_all(numbers: &Mutex<HashSet<i32>>) {
        // SAFETY: no preconditions.
        let program = unsafe { libc::getpid() };
        while !OVER.load(Ordering::Relaxed) {
            let now: Vec<i32> = numbers.lock().expect("nobody panics").iter().copied().collect();
            for number in now {
                // SAFETY: no preconditions; the handler is there.
                unsafe { libc::syscall(libc::SYS_tgkill, program, number, libc::SIGUSR1) };
            }
            std::thread::yield_now();
        }
    }

    /// How often a handler has allocated.
    pub(super) fn many_move_while_signals_come(runtime: &raddle::Runtime) -> usize {
        // SAFETY: all zeroes are a value of it.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handle as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        // SAFETY: a handler that touches nothing that it may have interrupted but the allocator.
        assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) }, 0);
        let numbers = Arc::new(Mutex::new(HashSet::new()));
        let sends = std::thread::spawn({
            let numbers = Arc::clone(&numbers);
            move || signal_all(&numbers)
        });
        runtime.run(move || {
            let (send, receive) = raddle::channel::bounded::<Vec<u8>>(64);
            let one = |number: usize| {
                let (send, receive, numbers) = (send.clone(), receive.clone(), Arc::clone(&numbers));
                raddle::csp::spawn(move || {
                    for round in 0..200 {
                        let own = filled(number + round * 7);
                        // SAFETY: no preconditions.
                        let worker = unsafe { libc::gettid() };
                        numbers.lock().expect("nobody panics").insert(worker);
                        let _or_full = send.try_send(filled(number * 3 + round));
                        raddle::csp::yield_now();
                        if let Ok(block) = receive.try_recv() {
                            check(&block);
                        }
                        check(&own);
                        if round % 50 == 0 {
                            // Others move meanwhile, and their heaps do not.
                            raddle_alloc::leave_heap();
                        }
                    }
                })
            };
            let all: Vec<_> = (0..300).map(one).collect();
            all.into_iter().for_each(|one| one.join().expect("it ends"));
        });
        OVER.store(true, Ordering::Relaxed);
        sends.join().expect("it ends");
        CALLS.load(Ordering::Relaxed)
    }
}
