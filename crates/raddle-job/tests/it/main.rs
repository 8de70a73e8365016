//! What a user of joins, forks, scopes and pools may rely on, grouped by behaviour.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

// What depends on the machine: its memory order.
mod join;

// What does not; an emulator takes long to say so.
#[cfg(not(target_arch = "aarch64"))]
mod cancel;
#[cfg(not(target_arch = "aarch64"))]
mod current;

// The twin's processes are OS threads, which a fork leaves behind.
#[cfg(not(raddle_twin))]
mod fork;
#[cfg(not(raddle_twin))]
mod lent;

// What does not; an emulator takes long to say so.
#[cfg(not(target_arch = "aarch64"))]
mod jobs;

#[path = "../../../raddle-core/tests/support/child.rs"]
mod child;
#[cfg(not(raddle_twin))]
#[path = "../../../raddle-core/tests/support/fork.rs"]
mod forked;
#[path = "../../../raddle-core/tests/support/watch.rs"]
mod watch;
#[path = "../../../raddle-core/tests/support/workers.rs"]
mod workers_only;

use workers_only::runtime;
