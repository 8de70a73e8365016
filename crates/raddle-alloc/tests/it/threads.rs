//! Owns: threads that start, end, and free what others have allocated.
//! May use: `raddle-alloc`.
//! Never: a time.

use super::random::Random;
use raddle_alloc::{allocate, free, leave_heap, rest_heap};
use std::sync::Barrier;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::{ptr, thread};

#[test]
fn a_consumer_frees_what_a_producer_allocates_and_memory_does_not_grow() {
    let (send, receive) = std::sync::mpsc::sync_channel::<Vec<AtomicPtr<u8>>>(4);
    let consumer = thread::spawn(move || {
        for batch in receive {
            // SAFETY: sent to be freed.
            batch.iter().for_each(|block| unsafe { free(block.load(Ordering::Relaxed)) });
        }
    });
    for round in 0..2000 {
        let size = 16 << (round % 7);
        let batch = (0..200).map(|_| AtomicPtr::new(allocate(size))).collect();
        send.send(batch).unwrap();
    }
    drop(send);
    consumer.join().unwrap();
}

/// Some blocks of each page live on for a while: the rest of the page serves the producer again.
#[test]
fn a_consumer_keeps_no_pages_of_which_it_frees_most() {
    /// Of a class that no other test here has.
    const SIZE: usize = 7000;
    const LIVE: usize = 500;
    let (send, receive) = std::sync::mpsc::sync_channel::<AtomicPtr<u8>>(64);
    let consumer = thread::spawn(move || {
        let live: Vec<AtomicPtr<u8>> = (0..LIVE).map(|_| AtomicPtr::default()).collect();
        for (n, block) in receive.iter().enumerate() {
            let mut gone = block.into_inner();
            if n.is_multiple_of(9) {
                gone = live[n / 9 % LIVE].swap(gone, Ordering::Relaxed);
            }
            // SAFETY: sent to be freed, or kept until now.
            unsafe { free(gone) };
        }
        let all = raddle_alloc::statistics();
        live.iter().for_each(|block| {
            // SAFETY: as above.
            unsafe { free(block.swap(ptr::null_mut(), Ordering::Relaxed)) };
        });
        all
    });
    (0..60_000).for_each(|_| send.send(AtomicPtr::new(allocate(SIZE))).unwrap());
    drop(send);
    let all = consumer.join().unwrap();
    let class = all.classes.iter().find(|class| class.block_bytes >= SIZE).unwrap();
    assert!(class.pages < LIVE / 2, "{} pages for {LIVE} blocks", class.pages);
}

#[test]
fn slots_are_exchanged_by_threads_that_come_and_go() {
    static SLOTS: [AtomicPtr<u8>; 512] = [const { AtomicPtr::new(ptr::null_mut()) }; 512];
    let swap = |random: &mut Random| {
        let new = allocate(1 + random.below(3000));
        // SAFETY: ours until it is in the slot.
        unsafe { new.write(1) };
        let old = SLOTS[random.below(SLOTS.len())].swap(new, Ordering::AcqRel);
        // SAFETY: taken out by one.
        unsafe { free(old) };
    };
    for generation in 0..40_u64 {
        thread::scope(|scope| {
            for number in 0..4_u64 {
                scope.spawn(move || {
                    let mut random = Random(generation * 16 + number + 1);
                    (0..2000).for_each(|_| swap(&mut random));
                });
            }
        });
    }
    // SAFETY: nobody else is there.
    SLOTS.iter().for_each(|slot| unsafe { free(slot.swap(ptr::null_mut(), Ordering::AcqRel)) });
}

#[test]
fn what_a_thread_left_is_used_by_others() {
    // Its pages stay half full: others have to find them.
    let kept: Vec<usize> = thread::spawn(|| {
        let all: Vec<usize> = (0..10_000).map(|_| allocate(48).expose_provenance()).collect();
        let (kept, freed) = all.split_at(5_000);
        // SAFETY: ours.
        freed.iter().for_each(|block| unsafe { free(ptr::with_exposed_provenance_mut(*block)) });
        kept.to_vec()
    })
    .join()
    .unwrap();
    // SAFETY: handed over.
    kept.iter().for_each(|block| unsafe { free(ptr::with_exposed_provenance_mut(*block)) });
}

#[test]
fn a_heap_can_be_left_and_taken_again() {
    let before = allocate(40);
    leave_heap();
    let after = allocate(40);
    assert_ne!(before, after);
    // SAFETY: ours.
    unsafe { free(before) };
    leave_heap();
    leave_heap();
    // SAFETY: ours.
    unsafe { free(after) };
}

/// The blocks of one thread, in a list that is no memory of the allocator's: who rests must not allocate.
static RESTING: [AtomicPtr<u8>; 400] = [const { AtomicPtr::new(ptr::null_mut()) }; 400];

#[test]
fn what_a_thread_has_that_rests_is_used_by_others_until_it_wakes() {
    static STATE: AtomicUsize = AtomicUsize::new(0);
    /// No other test has blocks of this class.
    const BYTES: usize = 7000;
    let comes = |state| {
        // pairs with the other thread's stores
        while STATE.load(Ordering::Acquire) < state {
            thread::yield_now();
        }
    };
    let rests = || {
        RESTING.iter().for_each(|slot| slot.store(allocate(BYTES), Ordering::Relaxed));
        // SAFETY: ours, of this size.
        RESTING.iter().for_each(|slot| unsafe { slot.load(Ordering::Relaxed).write_bytes(7, BYTES) });
        let freed = RESTING.iter().skip(200);
        // SAFETY: ours.
        freed.for_each(|slot| unsafe { free(slot.load(Ordering::Relaxed)) });
        rest_heap();
        STATE.store(1, Ordering::Release); // pairs with `comes`
        comes(2);
        let after = allocate(BYTES);
        // SAFETY: ours.
        unsafe { after.write_bytes(8, BYTES) };
        for slot in &RESTING[..200] {
            let block = slot.load(Ordering::Relaxed);
            assert!(!ptr::eq(block, after));
            // SAFETY: ours, of this size.
            assert!(unsafe { std::slice::from_raw_parts(block, BYTES) }.iter().all(|byte| *byte == 7));
            // SAFETY: as above.
            unsafe { free(block) };
        }
        // SAFETY: ours.
        unsafe { free(after) };
        rest_heap();
    };
    thread::scope(|scope| {
        scope.spawn(rests);
        comes(1);
        let is_his =
            |block: &*mut u8| RESTING[200..].iter().any(|slot| ptr::eq(slot.load(Ordering::Relaxed), *block));
        // It has to have rested for a while: until then others map what they need.
        loop {
            let blocks: Vec<*mut u8> = (0..100).map(|_| allocate(BYTES)).collect();
            let has_his = blocks.iter().any(is_his);
            // SAFETY: ours, of this size.
            blocks.iter().for_each(|block| unsafe { block.write_bytes(9, BYTES) });
            // SAFETY: as above.
            blocks.into_iter().for_each(|block| unsafe { free(block) });
            if has_his {
                break;
            }
            leave_heap();
            thread::yield_now();
        }
        STATE.store(2, Ordering::Release); // pairs with `comes`
    });
}

#[test]
fn destructors_of_keys_allocate_and_free_after_the_heap_has_been_left() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn ends(value: *mut std::ffi::c_void) {
        // SAFETY: what the thread has set.
        unsafe { free(value.cast()) };
        // SAFETY: ours.
        (0..300).for_each(|size| unsafe { free(allocate(size)) });
        RAN.fetch_add(1, Ordering::Relaxed);
    }
    let mut keys = [0; 8];
    // SAFETY: it writes the key.
    keys.iter_mut().for_each(|key| assert_eq!(unsafe { libc::pthread_key_create(key, Some(ends)) }, 0));
    let all = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                all.wait();
                for key in keys {
                    // SAFETY: the key is there.
                    unsafe { libc::pthread_setspecific(key, allocate(100).cast()) };
                }
            });
        }
    });
    // A scope ends when its threads' functions have, not their destructors: those count themselves.
    while RAN.load(Ordering::Relaxed) < 32 {
        thread::yield_now();
    }
}
