//! Owns: processes that each allocate and hash, all alive at once, under the allocator that a feature chooses.
//! May use: `mimalloc`, `raddle`, `raddle-alloc`, `tikv-jemallocator`.
//! Never: an allocator of its own.
//!
//! To an allocator each process with storage of its own is a thread, for which it keeps memory. This prints what that
//! costs: resident bytes for each process that waits, and the processor time to make it and have it do its work.
//!
//! ```console
//! $ cargo run --release --manifest-path bench/allocators/Cargo.toml -- 100000 full
//! $ cargo run --release --manifest-path bench/allocators/Cargo.toml --features jemalloc -- 100000 full
//! $ cargo run --release --manifest-path bench/allocators/Cargo.toml --features raddle-alloc -- 1000000 light
//! ```

use raddle::{Runtime, csp};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(feature = "raddle-alloc")]
#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

const ALLOCATOR_NAME: &str = if cfg!(feature = "raddle-alloc") {
    "raddle"
} else if cfg!(feature = "jemalloc") {
    "jemalloc"
} else if cfg!(feature = "mimalloc") {
    "mimalloc"
} else {
    "glibc"
};

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the program's own memory");
    statm.split(' ').nth(1).and_then(|n| n.parse::<usize>().ok()).expect("a number of pages") * 4096
}

/// Processor time of the calling OS thread, the only worker's: others may be at work on the machine.
fn processor_ns() -> f64 {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the thread's own times");
    schedule.split(' ').next().and_then(|n| n.parse().ok()).expect("nanoseconds on a processor")
}

/// What a small request does: a few strings, a map, a buffer; all of it is freed again.
fn work(number: usize) -> usize {
    let words: HashMap<String, usize> = (0..10).map(|n| (format!("word {n} of {number}"), n)).collect();
    let buffer = vec![number as u8; 1000];
    words.values().sum::<usize>() + usize::from(black_box(buffer)[number % 1000])
}

/// A crowd that works once, and then waits until all have.
struct Crowd {
    all: Vec<csp::JoinHandle<usize>>,
    over: Arc<AtomicBool>,
}

impl Crowd {
    fn new(count: usize, works: bool) -> Crowd {
        let (ready, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let one = |number| {
            let (ready, over) = (ready.clone(), over.clone());
            csp::spawn(move || {
                let sum = if works { work(number) } else { number };
                ready.fetch_add(1, Ordering::Relaxed);
                while !over.load(Ordering::Relaxed) {
                    csp::park();
                }
                sum
            })
        };
        let all: Vec<_> = (0..count).map(one).collect();
        while ready.load(Ordering::Relaxed) < count {
            csp::yield_now();
        }
        Crowd { all, over }
    }

    fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        self.all.iter().for_each(|one| one.process().unpark());
        self.all.into_iter().for_each(|one| _ = one.join().unwrap());
    }
}

/// Nanoseconds and resident bytes of each process: of new ones, and of those that find storage from before.
fn measure(count: usize, works: bool) -> [f64; 3] {
    let each = |total: f64| total / count as f64;
    let before = resident_bytes();
    let began = processor_ns();
    let crowd = Crowd::new(count, works);
    let new_ns = each(processor_ns() - began);
    let bytes = each(resident_bytes().saturating_sub(before) as f64);
    crowd.end();
    let began = processor_ns();
    let crowd = Crowd::new(count, works);
    let again_ns = each(processor_ns() - began);
    crowd.end();
    [bytes, new_ns, again_ns]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let kind = arguments.next().unwrap_or_else(|| "full".to_owned());
    let works = arguments.next().is_none_or(|what| what != "idle");
    let builder = Runtime::builder().workers(1);
    // SAFETY: no process of this program waits while it depends on a thread-local variable.
    let builder = if kind == "light" { unsafe { builder.light_processes() } } else { builder };
    let runtime = builder.build().expect("a runtime");
    let [bytes, new_ns, again_ns] = runtime.run(move || measure(count, works));
    let what = if works { "work" } else { "idle" };
    println!(
        "{ALLOCATOR_NAME:8} {kind:5} {what} {count:7} alive: {bytes:7.0} bytes each, {new_ns:6.0} ns new, \
         {again_ns:6.0} ns again"
    );
    #[cfg(feature = "raddle-alloc")]
    println!("{} heaps", raddle_alloc::statistics().heaps);
    // The destructors of 10^5 storages are no part of this.
    std::process::exit(0);
}
