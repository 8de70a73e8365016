// Owns: what tasks hold: a mutex for over an `.await`, permits, notifications; time-outs, intervals; sets of tasks.
// May use: nothing.
// Never: a queue of its own for a lock: processes and OS threads stand in it, too.

//! What tasks share and wait for: a mutex whose guard is held over an `.await`, permits, notifications, time-outs,
//! intervals, sets of tasks.
//!
//! The names are `tokio`'s. The crate `raddle` exports them in its module `task`, with those of the scheduler.

mod abort_on_drop;
mod interval;
mod join_set;
mod mutex;
mod notify;
mod semaphore;
mod timeout;

pub use abort_on_drop::AbortOnDrop;
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use join_set::JoinSet;
pub use mutex::{Mutex, MutexGuard, OwnedMutexGuard, TryLockError};
pub use notify::{Notified, Notify};
pub use semaphore::{OwnedPermit, Semaphore};
pub use timeout::{Elapsed, timeout, timeout_at};
