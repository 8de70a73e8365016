//! Owns: the hardened mode that begins while threads are at work; in a program of its own, since it is for good.
//! May use: `raddle-alloc`.
//! Never: a time.

use std::sync::mpsc;
use std::thread;

#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

/// Of a class that nothing else here has.
const SIZE: usize = 3000;

#[test]
fn a_thread_that_had_a_heap_and_one_that_has_none_exchange_blocks() {
    let (asks, asked) = mpsc::channel::<()>();
    let (sends, sent) = mpsc::channel::<Vec<Vec<u8>>>();
    let other = thread::spawn(move || {
        for () in asked {
            sends.send((0..200).map(|n| vec![n as u8; SIZE]).collect()).unwrap();
        }
    });
    for round in 0..6 {
        if round == 1 {
            assert_eq!(raddle_alloc::configure("hardened=on"), Ok(()));
        }
        let ours: Vec<Vec<u8>> = (0..200).map(|n| vec![n as u8; SIZE]).collect();
        drop(ours);
        asks.send(()).unwrap();
        let theirs = sent.recv().unwrap();
        assert!(theirs.iter().enumerate().all(|(n, block)| block.iter().all(|byte| *byte == n as u8)));
    }
    drop(asks);
    other.join().unwrap();
}
