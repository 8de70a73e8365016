//! Owns: the one place from which this crate's protocols import atomics, and a fence that this crate alone needs.
//! May use: `raddle-protocol`.
//! Never: a policy or a data structure.
//!
//! They are `raddle-protocol`'s, which are loom's in the models.

pub(crate) use raddle_protocol::prim::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Link, Ordering, fence, give_way,
};

/// A function that is `const` here and cannot be under loom, whose words are made at run time.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])* $vis const fn $($rest)*
        #[cfg(loom)]
        $(#[$meta])* $vis fn $($rest)*
    };
}
pub(crate) use const_fn;

/// A full fence, directly after a read-modify-write of the caller's.
///
/// On x86-64 that instruction is one already: no load or store passes a locked one, in either direction (Intel's
/// manual, volume 3, section 9.2.3.9), so only the compiler is told.
#[inline(always)]
pub(crate) fn fence_after_locked() {
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst); // pairs with `fence(SeqCst)` of whoever looks from outside
    #[cfg(not(all(target_arch = "x86_64", not(loom))))]
    fence(Ordering::SeqCst); // pairs with `fence(SeqCst)` of whoever looks from outside
}
