//! Schedules from a seed: the same seed goes the same way, planted bugs are found, correct programs pass.

mod bugs;
mod compositions;
mod correct;
mod ending;
mod same_way;
mod threads;

/// So many seeds are tried; fewer where each costs a hundred times as much (sanitizers, emulators, the twin).
fn seeds() -> u32 {
    if cfg!(any(raddle_twin, raddle_tsan, raddle_asan)) || std::env::var_os("STRESS").is_some() {
        30
    } else {
        1000
    }
}
