//! An allocator that knows how much is allocated, and the most there was: for tests that bound the memory that damaged
//! input may cost. A test program that wants it says `#[global_allocator] static HEAP: peak::Heap = peak::Heap::new();`

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counted.
pub(crate) struct Heap {
    bytes: AtomicUsize,
    most: AtomicUsize,
}

impl Heap {
    /// Nothing is allocated yet.
    pub(crate) const fn new() -> Heap {
        Heap { bytes: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// The most bytes that were allocated at once while `f` ran, beyond those before. Of whatever else runs, too: a
    /// test program that measures has one thread that allocates.
    pub(crate) fn most_during<T>(&self, f: impl FnOnce() -> T) -> (T, usize) {
        let before = self.bytes.load(Ordering::Relaxed);
        self.most.store(before, Ordering::Relaxed);
        let result = f();
        (result, self.most.load(Ordering::Relaxed).saturating_sub(before))
    }

    fn add(&self, bytes: usize) {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(now, Ordering::Relaxed);
    }
}

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.add(size);
        self.bytes.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}
