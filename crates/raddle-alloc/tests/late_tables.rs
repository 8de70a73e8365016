//! Owns: what the hardened mode knows of a page that a thread gives back which has had its heap since before the mode.
//! May use: `raddle-alloc`.
//! Never: a time.

use std::sync::mpsc;
use std::thread;

#[global_allocator]
static ALLOCATOR: raddle_alloc::RaddleAlloc = raddle_alloc::RaddleAlloc;

/// Of a class that nothing else here has: 21 to a page.
const SIZE: usize = 3000;

#[test]
fn a_page_that_becomes_one_of_smaller_blocks_has_a_table_of_its_own() {
    let (sends, sent) = mpsc::channel::<Vec<u8>>();
    let (goes_on, may_go_on) = mpsc::channel::<()>();
    let (is_back, came_back) = mpsc::channel::<()>();
    let other = thread::spawn(move || {
        let mut blocks: Vec<Vec<u8>> = (0..600).map(|n| vec![n as u8; SIZE]).collect();
        // One of each page.
        (0..600).step_by(21).for_each(|n| sends.send(std::mem::take(&mut blocks[n])).unwrap());
        may_go_on.recv().unwrap();
        // These go into the cache of the thread's heap, and from there into its pages, which it gives back.
        drop(blocks);
        is_back.send(()).unwrap();
        may_go_on.recv().unwrap();
    });
    let theirs: Vec<Vec<u8>> = (0..600_usize.div_ceil(21)).map(|_| sent.recv().unwrap()).collect();
    assert_eq!(raddle_alloc::configure("hardened=on"), Ok(()));
    // The pages have tables from now on.
    drop(theirs);
    goes_on.send(()).unwrap();
    came_back.recv().unwrap();
    // As many as an arena has room for, so that the pages that came back are among theirs.
    let small: Vec<Box<[u8; 1000]>> = (0..512 * 64).map(|n| Box::new([n as u8; 1000])).collect();
    assert!(small.iter().enumerate().all(|(n, block)| block.iter().all(|byte| *byte == n as u8)));
    drop(small);
    goes_on.send(()).unwrap();
    other.join().unwrap();
}
