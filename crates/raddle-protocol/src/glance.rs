//! Owns: cells of one owner at which other threads may glance.
//! May use: nothing.
//! Never: a decision that needs more than one such word; they come without any order.
//!
//! To its owner such a cell is a [`Cell`](std::cell::Cell): reading and writing it are plain instructions. Who reports
//! hangs and slices looks at some of them while their owner goes on, and what it sees may be old. With a cell and a
//! read from elsewhere that would be a data race, whatever the hardware does; ThreadSanitizer says so.
//!
//! Under loom nobody glances, and they are cells.

#[cfg(not(loom))]
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

macro_rules! glance {
    ($($name:ident, $value:ty, $atomic:ty;)*) => {$(
        #[doc = concat!("A `Cell<", stringify!($value), ">` that other threads may read.")]
        #[cfg(not(loom))]
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name($atomic);

        #[cfg(not(loom))]
        impl $name {
            /// A cell with this value.
            #[inline(always)]
            pub const fn new(value: $value) -> $name {
                $name(<$atomic>::new(value))
            }

            /// From any thread; to all but the owner it may be old.
            #[inline(always)]
            pub fn get(&self) -> $value {
                self.0.load(Ordering::Relaxed)
            }

            /// By the owner.
            #[inline(always)]
            pub fn set(&self, value: $value) {
                self.0.store(value, Ordering::Relaxed);
            }

            /// By the owner: no exchange, but a read and a write.
            #[allow(dead_code, reason = "not each kind is replaced")]
            #[inline(always)]
            pub fn replace(&self, value: $value) -> $value {
                let before = self.get();
                self.set(value);
                before
            }
        }

        #[doc = "A cell, since nobody else looks."]
        #[cfg(loom)]
        pub type $name = std::cell::Cell<$value>;
    )*};
}

glance! {
    GlanceU16, u16, AtomicU16;
    GlanceU32, u32, AtomicU32;
    GlanceU64, u64, AtomicU64;
    GlanceUsize, usize, AtomicUsize;
    GlancePtr, *mut (), AtomicPtr<()>;
}
