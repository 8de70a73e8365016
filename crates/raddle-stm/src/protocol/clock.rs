//! Owns: `VersionClock`, the global clock of versions.
//! May use: `raddle-protocol`.
//! Never: time.

use crate::prim::{AtomicU64, Ordering, const_fn};

/// Counts commits that wrote something. Alone on its cache lines: every such commit writes it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct VersionClock(AtomicU64);

impl VersionClock {
    const_fn! {
        /// A clock at 0.
        pub(crate) fn new() -> VersionClock {
            VersionClock(AtomicU64::new(0))
        }
    }

    /// What it shows.
    #[inline(always)]
    pub(crate) fn now(&self) -> u64 {
        // Acquire pairs with the full fence before `tick`: who sees a commit's time sees its locks.
        self.0.load(Ordering::Acquire)
    }

    /// The next time, which nobody else gets.
    #[inline(always)]
    pub(crate) fn tick(&self) -> u64 {
        // Acquire pairs with the full fence before the ticks of others: whose time is earlier has locked earlier. It
        // need not release: in `commit` that fence stands between the locks and this, and releases by it. Other ticks
        // tell nothing but that they were, and as read-modify-writes they continue what others have released.
        self.0.fetch_add(1, Ordering::Acquire) + 1
    }
}
