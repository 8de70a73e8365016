//! What a user of processes, cells and runtimes may rely on, grouped by behaviour.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

mod blocking;
mod cancel;
mod cells;
mod channel_histories;
mod channel_places;
mod crowd;
mod csp_alt;
mod csp_channel;
mod csp_par;
mod default;
// One worker, step by step: there is nothing in it for them; and what it abandons takes more mappings than qemu has.
#[cfg(not(any(raddle_asan, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
mod explore;
mod fairness;
mod fork;
// Elsewhere a program has OS threads that are not its own and could wake anybody; the twin's processes are such, too.
#[cfg(not(any(raddle_tsan, raddle_twin, target_arch = "aarch64")))]
mod hang;
mod jobs;
mod join;
mod level0;
mod native;
mod panics;
mod park;
// Whole programs, as those of `hang`.
#[cfg(not(any(raddle_tsan, raddle_twin, target_arch = "aarch64")))]
mod patient;
#[cfg(all(target_env = "gnu", not(raddle_tsan)))]
mod rights;
mod runtimes;
mod scope;
mod shutdown;
mod spawn;
mod threads;
mod time;
mod trace;
mod workers;

#[path = "../support/child.rs"]
mod child;
#[path = "../support/watch.rs"]
mod watch;

use raddle_core::Runtime;

/// A runtime of `n` workers with the default policy.
fn runtime(n: usize) -> Runtime {
    Runtime::builder().workers(n).build().expect("a runtime")
}
