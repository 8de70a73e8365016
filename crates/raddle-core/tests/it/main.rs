//! What a user of processes, cells and runtimes may rely on, grouped by behaviour.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

// What depends on the machine: its registers and stacks, its thread-local storage, its memory order.
mod blocking;
mod cells;
mod default;
mod door;
mod fork;
mod join;
mod native;
mod panics;
mod park;
#[cfg(all(target_env = "gnu", not(raddle_tsan)))]
mod rights;
mod runtimes;
mod shutdown;
mod spawn;
mod threads;
mod workers;

// What does not; an emulator takes long to say so.
#[cfg(not(target_arch = "aarch64"))]
mod cancel;
#[cfg(not(target_arch = "aarch64"))]
mod channel_histories;
#[cfg(not(target_arch = "aarch64"))]
mod channel_places;
#[cfg(not(target_arch = "aarch64"))]
mod crowd;
#[cfg(not(target_arch = "aarch64"))]
mod csp_alt;
#[cfg(not(target_arch = "aarch64"))]
mod csp_channel;
#[cfg(not(target_arch = "aarch64"))]
mod csp_par;
#[cfg(not(target_arch = "aarch64"))]
mod fairness;
#[cfg(not(target_arch = "aarch64"))]
mod futex;
#[cfg(not(target_arch = "aarch64"))]
mod jobs;
#[cfg(not(target_arch = "aarch64"))]
mod level0;
#[cfg(not(target_arch = "aarch64"))]
mod scope;
#[cfg(not(target_arch = "aarch64"))]
mod time;
#[cfg(not(target_arch = "aarch64"))]
mod trace;

// One worker, step by step: there is nothing in it for them; and what it abandons takes more mappings than qemu has.
#[cfg(not(any(raddle_asan, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
mod explore;
// Elsewhere a program has OS threads that are not its own and could wake anybody; the twin's processes are such, too.
#[cfg(not(any(raddle_tsan, raddle_twin, target_arch = "aarch64")))]
mod hang;
// Whole programs, as those of `hang`.
#[cfg(not(any(raddle_tsan, raddle_twin, target_arch = "aarch64")))]
mod patient;

#[path = "../support/child.rs"]
mod child;
#[cfg(not(target_arch = "aarch64"))]
#[path = "../support/futex_locks.rs"]
mod futex_locks;
#[path = "../support/watch.rs"]
mod watch;

use raddle::Runtime;

/// A runtime of `n` workers with the default policy.
fn runtime(n: usize) -> Runtime {
    Runtime::builder().workers(n).build().expect("a runtime")
}
