//! Ticks and teams as C sees them.

use raddle_core::door::futex::WaitOutcome;
use raddle_core::door::team::{self, TeamWord};
use raddle_core::door::tick;
use std::ffi::c_int;
use std::time::Duration;

#[unsafe(no_mangle)]
extern "C" fn door_tick_due() -> c_int {
    tick::due().into()
}

#[unsafe(no_mangle)]
extern "C" fn door_yield_if_due() -> c_int {
    tick::yield_if_due().into()
}

#[unsafe(no_mangle)]
extern "C" fn door_team_round(word: &TeamWord) -> u32 {
    word.round()
}

#[unsafe(no_mangle)]
extern "C" fn door_team_begin_next(word: &TeamWord) {
    word.begin_next();
}

/// 0, or `ECANCELED`.
#[unsafe(no_mangle)]
extern "C" fn door_team_wait(word: &TeamWord, round: u32, spin_nanoseconds: u64) -> c_int {
    match word.wait(round, Duration::from_nanos(spin_nanoseconds)) {
        WaitOutcome::Cancelled => libc::ECANCELED,
        _ => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn door_team_default_spin(members: usize) -> u64 {
    team::default_spin(members).as_nanos() as u64
}
