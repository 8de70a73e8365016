//! Owns: `QueueSite`: who holds a queue lock, in builds that pay for knowing.
//! May use: `host::describe`, `host::holder`, `raddle-core`.
//! Never: a store in an optimised build.

use crate::host::Subject;
#[cfg(debug_assertions)]
use crate::host::{Held, Holder};
use std::panic::Location;

/// Who holds a queue lock: known in builds with debug assertions. In others three more stores would be a fifth of an
/// uncontended lock (PERF: bench `queue_lock`).
#[derive(Debug)]
pub(super) struct QueueSite {
    #[cfg(debug_assertions)]
    holder: Holder,
    /// Its address is the lock's, for reports.
    #[cfg(not(debug_assertions))]
    no_holder: u8,
}

impl QueueSite {
    #[cfg(debug_assertions)]
    pub(super) const fn new() -> QueueSite {
        QueueSite { holder: Holder::nobody() }
    }

    #[cfg(not(debug_assertions))]
    pub(super) const fn new() -> QueueSite {
        QueueSite { no_holder: 0 }
    }

    #[inline(always)]
    pub(super) fn note(&self, site: &'static Location<'static>) {
        #[cfg(debug_assertions)]
        self.holder.note(site);
        #[cfg(not(debug_assertions))]
        let _unused = (self.no_holder, site);
    }

    /// The caller is about to hand the lock on. Whoever gets it may not run for long: its predecessor holds it no more,
    /// and is in no cycle by it.
    #[inline(always)]
    pub(super) fn forget(&self) {
        #[cfg(debug_assertions)]
        self.holder.forget();
    }
}

impl Subject for QueueSite {
    const KIND: &'static str = "queue lock";

    #[cfg(debug_assertions)]
    fn held(&self) -> Option<Held> {
        self.holder.held()
    }
}
