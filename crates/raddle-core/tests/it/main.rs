//! What a user of processes, tasks and runtimes may rely on, grouped by behaviour.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

// What depends on the machine: its registers and stacks, its memory order.
mod blocking;
mod default;
mod door;
mod floats;
mod fork;
mod panics;
mod park;
mod runtimes;
mod shutdown;
mod spawn;
// Frames are larger under a sanitizer, and lie elsewhere in the twin.
#[cfg(not(any(raddle_twin, raddle_asan, raddle_tsan)))]
mod stacks;
// Each context is an OS thread there, with storage of its own that ends with it.
#[cfg(not(raddle_twin))]
mod storage;
mod task_ends;
mod tasks;
mod workers;

// What does not; an emulator takes long to say so.
#[cfg(not(target_arch = "aarch64"))]
mod any_machine;

#[cfg(not(any(raddle_asan, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
#[path = "../support/address_space.rs"]
mod address_space;
#[path = "../support/child.rs"]
mod child;
#[cfg(not(target_arch = "aarch64"))]
#[path = "../support/futex_locks.rs"]
mod futex_locks;
#[path = "../support/left_out.rs"]
mod left_out;
#[cfg(not(target_arch = "aarch64"))]
#[path = "../support/lock_waits.rs"]
mod lock_waits;
#[path = "../support/watch.rs"]
mod watch;
#[path = "../support/workers.rs"]
mod workers_only;

use workers_only::{only, runtime};
