//! Owns: each class, alignment and size is served or refused.
//! May use: `raddle-alloc`.
//! Never: a block that is left.

use raddle_alloc::{allocate, allocate_aligned, allocate_zeroed, free, reallocate, usable_size};

/// Sizes around each border: of classes, pages, runs, mappings.
fn sizes() -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..=1100).collect();
    for log in 10..=26 {
        for part in [0, 1, 2, 3] {
            let size = (1_usize << log) + part * (1 << (log - 2));
            sizes.extend([size - 1, size, size + 1]);
        }
    }
    sizes
}

fn check(block: *mut u8, size: usize, align: usize) {
    assert!(!block.is_null(), "{size} bytes at {align}");
    assert!(block.addr().is_multiple_of(align), "{size} bytes at {align}: {block:?}");
    // SAFETY: the block is ours.
    let usable = unsafe { usable_size(block) };
    assert!(usable >= size && usable <= 2 * size.max(align) + 65536, "{size} bytes at {align}: {usable}");
    for place in [0, size / 2, size.saturating_sub(1)] {
        if place < size {
            // SAFETY: within the block.
            unsafe { block.wrapping_add(place).write(place as u8) };
        }
    }
}

#[test]
fn each_size_is_served() {
    for size in sizes() {
        let block = allocate(size);
        check(block, size, 16);
        // SAFETY: ours.
        unsafe { free(block) };
    }
}

#[test]
fn each_size_is_served_at_each_alignment() {
    for log in 0..=27 {
        for size in sizes().into_iter().step_by(17).chain([0, 1, 1 << log]) {
            let blocks = [(); 3].map(|()| allocate_aligned(size, 1 << log));
            blocks.iter().for_each(|block| check(*block, size, 1 << log));
            assert!(blocks[0] != blocks[1] && blocks[1] != blocks[2] && blocks[0] != blocks[2]);
            // SAFETY: ours.
            blocks.iter().for_each(|block| unsafe { free(*block) });
        }
    }
}

/// What the kernel has no room for is refused, and leaves nothing behind: so the next one is as the first.
#[test]
fn each_size_and_alignment_up_to_2_47_is_served_or_refused() {
    let largest = |align: usize| {
        let mut served = 0;
        for log in 27..=47 {
            for size in [(1_usize << log) - 1, 1 << log, (1 << log) + 1, 3 << (log - 1)] {
                let block = allocate_aligned(size, align);
                if !block.is_null() {
                    check(block, size, align);
                    served = size.max(served);
                }
                // SAFETY: ours, or null.
                unsafe { free(block) };
            }
        }
        served
    };
    for log in [4, 12, 16, 21, 25, 30, 40, 46, 47] {
        let served = [(); 2].map(|()| largest(1 << log));
        assert_eq!(served[0], served[1], "at {log}");
        assert!(log > 30 || served[0] >= 1 << 30, "only {} at {log}", served[0]);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for log in 48..64 {
        for size in [
            (1_usize << log) - 1,
            1 << log,
            (1 << log) + 1,
            usize::MAX,
            usize::MAX - 4096,
            isize::MAX as usize,
        ] {
            assert!(size < 1 << 48 || allocate(size).is_null(), "{size}");
            assert!(size < 1 << 48 || allocate_zeroed(size).is_null(), "{size}");
            assert!(allocate_aligned(1 << 40, 1 << log).is_null(), "at {log}");
        }
    }
    let block = allocate(100);
    // SAFETY: ours.
    unsafe { block.write(7) };
    // SAFETY: ours; what is refused leaves it.
    assert!(unsafe { reallocate(block, usize::MAX, 16) }.is_null());
    // SAFETY: ours.
    assert_eq!(unsafe { block.read() }, 7);
    // SAFETY: ours.
    unsafe { free(block) };
    // SAFETY: null is none.
    unsafe { free(std::ptr::null_mut()) };
}

#[test]
fn zeroes_are_zeroes_whatever_was_there() {
    for size in sizes().into_iter().step_by(5) {
        // Both ends, and something in between.
        let places =
            [0, 1, 7, 15, 100, 4095, 4096, 65_536, size / 2, size.saturating_sub(2), size.saturating_sub(1)];
        for _ in 0..2 {
            let block = allocate_zeroed(size);
            for place in places.into_iter().filter(|place| *place < size) {
                // SAFETY: ours, of this size.
                assert_eq!(unsafe { block.wrapping_add(place).read() }, 0, "{size} at {place}");
            }
            for place in places.into_iter().filter(|place| *place < size) {
                // SAFETY: as above.
                unsafe { block.wrapping_add(place).write(0xff) };
            }
            // SAFETY: ours.
            unsafe { free(block) };
        }
    }
}

#[test]
fn a_block_keeps_its_contents_when_it_grows_and_shrinks() {
    let sizes =
        [1, 17, 100, 1000, 5000, 40_000, 70_000, 200_000, 1 << 20, 3 << 20, 15 << 20, 17 << 20, 40 << 20];
    for align in [16, 64, 4096, 1 << 17] {
        let mut block = allocate_aligned(1, align);
        let mut size = 1;
        for next in sizes.into_iter().chain(sizes.into_iter().rev()) {
            // SAFETY: ours, of this size.
            (0..size).step_by(997).for_each(|at| unsafe { block.wrapping_add(at).write((at % 251) as u8) });
            // SAFETY: ours.
            block = unsafe { reallocate(block, next, align) };
            assert!(!block.is_null() && block.addr().is_multiple_of(align), "{next} at {align}");
            let mut kept = (0..size.min(next)).step_by(997);
            // SAFETY: ours, of both sizes.
            let byte = |at: usize| unsafe { block.wrapping_add(at).read() };
            assert!(kept.all(|at| byte(at) == (at % 251) as u8), "{size} {next}");
            // SAFETY: ours.
            assert!(unsafe { usable_size(block) } >= next);
            size = next;
        }
        // SAFETY: ours.
        unsafe { free(block) };
    }
}

/// A mapping that was kept is made longer, shorter, or moved for the next block; what is in use beside it stays.
#[test]
fn large_blocks_of_changing_sizes_hold_what_was_written() {
    let mut kept: [(*mut u8, usize); 4] = [(std::ptr::null_mut(), 0); 4];
    let mut seed = 1_usize;
    for round in 0..200_usize {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (place, size) = (seed >> 60 & 3, (5 << 20) + (seed >> 20) % (30 << 20));
        let block = if round % 3 == 0 { allocate_zeroed(size) } else { allocate(size) };
        assert!(!block.is_null());
        for at in [0, size / 3, size / 2, size - 1] {
            // SAFETY: within the block.
            let byte = unsafe { block.wrapping_add(at).replace(place as u8 + 1) };
            assert!(round % 3 != 0 || byte == 0, "{byte} at {at} of {size}");
        }
        let (old, old_size) = std::mem::replace(&mut kept[place], (block, size));
        if !old.is_null() {
            for at in [0, old_size / 3, old_size / 2, old_size - 1] {
                // SAFETY: within the block.
                assert_eq!(unsafe { old.wrapping_add(at).read() }, place as u8 + 1);
            }
        }
        // SAFETY: ours, or null.
        unsafe { free(old) };
    }
    // SAFETY: ours, or null.
    kept.iter().for_each(|(block, _)| unsafe { free(*block) });
}
