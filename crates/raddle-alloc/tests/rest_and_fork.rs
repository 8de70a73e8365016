//! Owns: a thread whose heap rests has it again, also in the child of a fork.
//! May use: `raddle-alloc`, `libc`.
//! Never: a time.

use raddle_alloc::{allocate, free, rest_heap};

/// Of a class that nothing else here has.
const BYTES: usize = 5000;

#[test]
fn a_forked_child_finds_the_heap_that_rested() {
    let block = allocate(BYTES);
    let address = block.addr();
    // SAFETY: ours.
    unsafe { free(block) };
    rest_heap();
    // SAFETY: the child allocates, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // The cache has it on top, if it is the same cache.
        let has_it = allocate(BYTES).addr() == address;
        // SAFETY: it ends the child.
        unsafe { libc::_exit(i32::from(!has_it)) };
    }
    let mut status = 0;
    // SAFETY: it writes the status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child has its heap");
    assert_eq!(allocate(BYTES).addr(), address, "and so has the parent");
}
