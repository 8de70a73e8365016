//! Owns: the workloads: what they allocate, who frees it, how long an operation takes.
//! May use: `libc`.
//! Never: the workloads of others' suites: these have their shapes, and no line of theirs.
//!
//! | row | an operation |
//! |---|---|
//! | pair | 64 bytes are allocated and freed |
//! | window | one of a thousand blocks of 16 to 1039 bytes is replaced |
//! | bulk | of a million blocks of 16 to 271 bytes, which are freed in another order |
//! | start | an OS thread starts, allocates, frees and ends |
//! | consumer | one thread allocates 16 to 527 bytes, another one frees them |
//! | larson | as `window`; after 50 000 of them the thread hands its blocks to a new thread, and ends |
//! | exchange | a block goes into a slot of all threads', and the one that was there is freed |
//! | batches | each thread allocates batches of 120 blocks of 64 bytes, and frees those of others |

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::mpsc;
use std::time::Instant;
use std::{hint, ptr, thread};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) as usize * bound) >> 32
    }
}

/// A block and its size.
struct Held(AtomicPtr<u8>, usize);

fn new<A: GlobalAlloc>(allocator: &A, size: usize) -> Held {
    // SAFETY: the size is not nought.
    let block = unsafe { allocator.alloc(layout(size)) };
    assert!(!block.is_null());
    // SAFETY: ours, of this size.
    unsafe { block.write(1) };
    Held(AtomicPtr::new(hint::black_box(block)), size)
}

fn drop_held<A: GlobalAlloc>(allocator: &A, held: Held) {
    // SAFETY: it was allocated with this layout, and is given up.
    unsafe { allocator.dealloc(held.0.into_inner(), layout(held.1)) };
}

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, 8).expect("a layout")
}

pub(crate) fn resident_megabytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("the program's own memory");
    let pages: f64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number of pages");
    pages * 4096.0 / 1e6
}

/// Runs a workload; nanoseconds for an operation, of the time that passes, times the cores that it may use.
pub(crate) fn run<A: GlobalAlloc + Sync>(allocator: &'static A, row: &str, threads: usize) -> f64 {
    // The first calls set things up.
    (0..1000).for_each(|_| drop_held(allocator, new(allocator, 64)));
    let began = Instant::now();
    let operations = match row {
        "pair" => pair(allocator),
        "window" => window(allocator),
        "bulk" => bulk(allocator),
        "start" => start(allocator),
        "consumer" => consumer(allocator),
        "larson" => larson(allocator, threads),
        "exchange" => exchange(allocator, threads),
        "batches" => batches(allocator, threads),
        other => panic!("`{other}` is no row"),
    };
    began.elapsed().as_secs_f64() * 1e9 / operations as f64
}

fn pair<A: GlobalAlloc>(allocator: &A) -> usize {
    let count = 40_000_000;
    (0..count).for_each(|_| drop_held(allocator, new(allocator, hint::black_box(64))));
    count
}

fn replaces<A: GlobalAlloc>(allocator: &A, blocks: &mut [Held], random: &mut Random, count: usize) {
    for _ in 0..count {
        let place = random.below(blocks.len());
        let block = new(allocator, 16 + random.below(1024));
        drop_held(allocator, std::mem::replace(&mut blocks[place], block));
    }
}

fn some<A: GlobalAlloc>(allocator: &A, random: &mut Random, count: usize) -> Vec<Held> {
    (0..count).map(|_| new(allocator, 16 + random.below(1024))).collect()
}

fn window<A: GlobalAlloc>(allocator: &A) -> usize {
    let (count, mut random) = (10_000_000, Random(88_172_645_463_325_252));
    let mut blocks = some(allocator, &mut random, 1000);
    replaces(allocator, &mut blocks, &mut random, count);
    blocks.into_iter().for_each(|held| drop_held(allocator, held));
    count
}

fn bulk<A: GlobalAlloc>(allocator: &A) -> usize {
    let (count, mut random) = (1_000_000, Random(362_436_069));
    for _ in 0..4 {
        let mut blocks: Vec<Held> = (0..count).map(|_| new(allocator, 16 + random.below(256))).collect();
        while !blocks.is_empty() {
            // Those near each other are freed near each other, but in disorder.
            let place = blocks.len() - 1 - random.below(blocks.len().min(5000));
            drop_held(allocator, blocks.swap_remove(place));
        }
    }
    4 * count
}

fn start<A: GlobalAlloc + Sync>(allocator: &'static A) -> usize {
    let count = 20_000;
    for _ in 0..count {
        let one = move || drop_held(allocator, new(allocator, 100));
        thread::Builder::new().stack_size(64 << 10).spawn(one).expect("a thread").join().expect("its end");
    }
    count
}

fn consumer<A: GlobalAlloc + Sync>(allocator: &'static A) -> usize {
    let (rounds, batch) = (20_000, 200);
    let (send, receive) = mpsc::sync_channel::<Vec<Held>>(16);
    let consumes = thread::spawn(move || {
        receive.into_iter().flatten().for_each(|held| drop_held(allocator, held));
    });
    let mut random = Random(521_288_629);
    for _ in 0..rounds {
        send.send((0..batch).map(|_| new(allocator, 16 + random.below(512))).collect()).expect("it lives");
    }
    drop(send);
    consumes.join().expect("its end");
    rounds * batch
}

fn larson<A: GlobalAlloc + Sync>(allocator: &'static A, threads: usize) -> usize {
    let generations = (80 / threads).max(2);
    let each = 50_000;
    fn generation<A: GlobalAlloc + Sync>(
        allocator: &'static A,
        mut blocks: Vec<Held>,
        mut random: Random,
        left: usize,
    ) {
        replaces(allocator, &mut blocks, &mut random, 50_000);
        if left > 1 {
            // The next thread is waited for, so that the number of them that run stays.
            thread::spawn(move || generation(allocator, blocks, random, left - 1)).join().expect("its end");
        } else {
            blocks.into_iter().for_each(|held| drop_held(allocator, held));
        }
    }
    let all: Vec<_> = (0..threads)
        .map(|number| {
            let mut random = Random(number as u64 * 7919 + 1);
            let blocks = some(allocator, &mut random, 1000);
            thread::spawn(move || generation(allocator, blocks, random, generations))
        })
        .collect();
    all.into_iter().for_each(|thread| thread.join().expect("its end"));
    threads * generations * each
}

fn exchange<A: GlobalAlloc + Sync>(allocator: &'static A, threads: usize) -> usize {
    static SLOTS: [AtomicPtr<Held>; 4096] = [const { AtomicPtr::new(ptr::null_mut()) }; 4096];
    let each = 4_000_000 / threads;
    let frees = |old: *mut Held| {
        if !old.is_null() {
            // SAFETY: whoever takes it out of its slot frees it; the block begins with what it is.
            let held = unsafe { old.read() };
            drop_held(allocator, held);
        }
    };
    thread::scope(|scope| {
        for number in 0..threads {
            scope.spawn(move || {
                let mut random = Random(number as u64 * 104_729 + 1);
                for _ in 0..each {
                    let held = new(allocator, 16 + random.below(512));
                    let place = held.0.load(Ordering::Relaxed).cast::<Held>();
                    // SAFETY: ours, and large enough for what is kept there.
                    unsafe { place.write(held) };
                    frees(SLOTS[random.below(SLOTS.len())].swap(place, Ordering::AcqRel)); // pairs with itself
                }
            });
        }
    });
    SLOTS.iter().for_each(|slot| frees(slot.swap(ptr::null_mut(), Ordering::Acquire))); // pairs with the exchange
    threads * each
}

fn batches<A: GlobalAlloc + Sync>(allocator: &'static A, threads: usize) -> usize {
    let each = 32_000 / threads;
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..threads).map(|_| mpsc::channel::<Vec<Held>>()).unzip();
    thread::scope(|scope| {
        for (number, receive) in receivers.into_iter().enumerate() {
            // To the next one, in a ring.
            let send = senders[(number + 1) % threads].clone();
            scope.spawn(move || {
                for _ in 0..each {
                    send.send((0..120).map(|_| new(allocator, 64)).collect()).expect("it lives");
                    receive.try_iter().flatten().for_each(|held| drop_held(allocator, held));
                }
                drop(send);
                receive.into_iter().flatten().for_each(|held| drop_held(allocator, held));
            });
        }
        drop(senders);
    });
    threads * each * 120
}
