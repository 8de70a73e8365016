//! Owns: the list of the runtimes that live, each with what it wants to be watched for.
//! May use: `raddle-core`.
//! Never: a runtime on the list that has ended.

use raddle_core::observe::HangPlan;
use raddle_core::runtime::Shared;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A runtime on the list: it lives as long as it stands there.
pub(crate) struct Watched {
    shared: *const Shared,
    pub(crate) plan: HangPlan,
}

// SAFETY: the runtime's shared part is for every OS thread.
unsafe impl Send for Watched {}

impl Watched {
    pub(crate) fn shared(&self) -> &Shared {
        // SAFETY: a runtime is taken off the list before it goes.
        unsafe { &*self.shared }
    }
}

static RUNTIMES: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// Holds the list of runtimes. Whoever looks at what runs holds it meanwhile.
pub(crate) type Runtimes = MutexGuard<'static, Vec<Watched>>;

/// Locks the list.
pub(crate) fn runtimes() -> Runtimes {
    RUNTIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A runtime has begun.
pub(crate) fn add(shared: &Arc<Shared>, plan: HangPlan) {
    runtimes().push(Watched { shared: Arc::as_ptr(shared), plan });
}

/// A runtime is about to end. When this returns, nobody looks at it.
pub(crate) fn remove(shared: &Shared) {
    runtimes().retain(|watched| !std::ptr::eq(watched.shared, shared));
}
