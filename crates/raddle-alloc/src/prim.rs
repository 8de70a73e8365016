//! Owns: the one place from which the protocols import atomics.
//! May use: `loom`.
//! Never: a policy or a data structure.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(all(loom, test))]
pub(crate) use crate::model::counted::AtomicU64;
#[cfg(all(loom, not(test)))]
pub(crate) use loom::sync::atomic::AtomicU64;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{Ordering, fence};

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
