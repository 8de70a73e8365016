//! Schedules from a seed: the same seed goes the same way, planted bugs are found, correct programs pass.
//!
//! One worker, step by step: there is nothing in it for the sanitizers, for the twin, and for other memory orders; and
//! what it abandons takes more mappings than qemu has.
#![cfg(not(any(loom, raddle_asan, raddle_tsan, raddle_twin, target_arch = "aarch64")))]

mod atomics;
mod bugs;
mod compositions;
mod correct;
mod ending;
mod same_way;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod storage;
mod threads;

#[path = "../../../raddle-core/tests/support/child.rs"]
mod child;

/// So many seeds are tried; fewer where each costs a hundred times as much (sanitizers, emulators, the twin).
fn seeds() -> u32 {
    if cfg!(any(raddle_twin, raddle_tsan, raddle_asan)) || std::env::var_os("STRESS").is_some() {
        30
    } else {
        1000
    }
}
