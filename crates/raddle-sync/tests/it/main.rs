//! What a user of locks, channels and communicating processes may rely on, grouped by behaviour.
//!
//! None of it depends on the machine; an emulator takes long to say so.
#![cfg(not(any(loom, target_arch = "aarch64")))]

mod channel_awaits;
mod channel_histories;
mod channel_places;
mod contended;
mod crowd;
mod csp_alt;
mod csp_channel;
mod csp_par;
mod described;
mod gives_up;
mod slices;
mod streams;
mod task_locks;

#[path = "../../../raddle-core/tests/support/child.rs"]
mod child;
#[allow(clippy::print_stderr, reason = "a watchdog's last words")]
#[path = "../../../raddle-core/tests/support/watch.rs"]
mod watch;
#[path = "../../../raddle-core/tests/support/workers.rs"]
mod workers_only;

use workers_only::runtime;
