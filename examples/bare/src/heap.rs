//! Owns: the memory that `alloc` gives out: a static array, from its front to its end.
//! May use: one cell; there is one thread and no interrupt.
//! Never: takes anything back but the last block.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::{Cell, UnsafeCell};

const BYTES: usize = 64 * 1024;

/// As far as anything asks for: processes come in groups that begin with a line of the cache.
const ALIGN: usize = 64;

#[repr(align(64))]
struct Heap {
    bytes: UnsafeCell<[u8; BYTES]>,
    used: Cell<usize>,
}

// SAFETY: there is one thread.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap { bytes: UnsafeCell::new([0; BYTES]), used: Cell::new(0) };

// SAFETY: blocks do not overlap, and are aligned, since the array is to `ALIGN` and nothing asks for more.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let at = self.used.get().next_multiple_of(layout.align());
        if layout.align() > ALIGN || BYTES - at.min(BYTES) < layout.size() {
            return core::ptr::null_mut();
        }
        self.used.set(at + layout.size());
        // SAFETY: within the array, as just compared.
        unsafe { self.bytes.get().cast::<u8>().add(at) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let at = block as usize - self.bytes.get() as usize;
        if at + layout.size() == self.used.get() {
            self.used.set(at);
        }
    }
}
