//! Owns: the calls that programs make themselves: `omp_*`, for C and for Fortran.
//! May use: `abi`, `engine`, `icv`, `libc`, `raddle-core`.
//! Never: what compilers call.

mod aliases;
mod fortran;
pub(crate) mod memory;
mod places;

use crate::abi::At;
use crate::engine::member::me;
use crate::engine::team::Team;
use crate::icv::{MONOTONIC, TEAMS, TEAMS_LIMIT, processors, settings};
use raddle_core::door::tick;
use std::sync::atomic::Ordering;

/// A call that a program may make again and again while it waits for another thread lets others run.
fn breathe() {
    tick::yield_if_due();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_thread_num() -> i32 {
    me().tid.get().cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_num_threads() -> i32 {
    me().team().threads().cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_max_threads() -> i32 {
    me().task().icv.get().threads.cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_set_num_threads(threads: i32) {
    let task = me().task();
    let mut icv = task.icv.get();
    icv.threads = threads.max(1).cast_unsigned();
    task.icv.set(icv);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_num_procs() -> i32 {
    processors() as i32
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_in_parallel() -> i32 {
    (me().team().active.get() > 0).into()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_in_final() -> i32 {
    me().task().is_final.get().into()
}

macro_rules! variables {
    ($($set:ident $get:ident: |$icv:ident, $value:ident| $change:expr, $read:expr;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $set($value: i32) {
            let task = me().task();
            let mut $icv = task.icv.get();
            $change;
            task.icv.set($icv);
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $get() -> i32 {
            let $icv = me().task().icv.get();
            $read
        }
    )* };
}

variables! {
    omp_set_dynamic omp_get_dynamic: |icv, value| icv.is_dynamic = value != 0, icv.is_dynamic.into();
    omp_set_nested omp_get_nested: |icv, value|
        icv.levels_max = if value == 0 { 1 } else { i32::MAX as u32 }, i32::from(icv.levels_max > 1);
    omp_set_max_active_levels omp_get_max_active_levels: |icv, value|
        if value >= 0 { icv.levels_max = value.cast_unsigned() }, icv.levels_max.cast_signed();
    omp_set_default_device omp_get_default_device: |icv, value| icv.device = value.max(0), icv.device;
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_supported_active_levels() -> i32 {
    i32::MAX
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_thread_limit() -> i32 {
    me().task().icv.get().limit.cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_cancellation() -> i32 {
    settings().is_cancellation.into()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_max_task_priority() -> i32 {
    settings().priority_max
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_set_schedule(kind: u32, chunk: i32) {
    let task = me().task();
    let mut icv = task.icv.get();
    let plain = kind & !MONOTONIC;
    if (1..=4).contains(&plain) {
        icv.schedule = kind;
        // A chunk below one asks for the usual one.
        let usual = i32::from(plain == 2 || plain == 3);
        icv.chunk = if plain == 4 {
            0
        } else if chunk < 1 {
            usual
        } else {
            chunk
        };
        task.icv.set(icv);
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_schedule(kind: At<u32>, chunk: At<i32>) {
    let icv = me().task().icv.get();
    kind.set(icv.schedule);
    chunk.set(icv.chunk);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_level() -> i32 {
    me().team().level.cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_active_level() -> i32 {
    me().team().active.get().cast_signed()
}

/// The team around the caller at a level, and which of it the caller descends from.
fn at_level(level: i32) -> Option<(&'static Team, u32)> {
    let member = me();
    let (mut team, mut tid) = (member.team(), member.tid.get());
    let level = u32::try_from(level).ok().filter(|level| *level <= team.level)?;
    while team.level > level {
        tid = team.outer_tid.get();
        team = team.outer()?;
    }
    Some((team, tid))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_ancestor_thread_num(level: i32) -> i32 {
    at_level(level).map_or(-1, |(_, tid)| tid.cast_signed())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_team_size(level: i32) -> i32 {
    at_level(level).map_or(-1, |(team, _)| team.threads().cast_signed())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_team_num() -> i32 {
    me().teams_around().0.cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_num_teams() -> i32 {
    me().teams_around().1.cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_set_num_teams(teams: i32) {
    // The environment comes first.
    settings();
    TEAMS.store(teams.max(0), Ordering::Relaxed);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_max_teams() -> i32 {
    settings();
    TEAMS.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_set_teams_thread_limit(limit: i32) {
    settings();
    TEAMS_LIMIT.store(limit.max(0), Ordering::Relaxed);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_teams_thread_limit() -> i32 {
    settings();
    TEAMS_LIMIT.load(Ordering::Relaxed)
}

/// Seconds since the system began.
#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_wtime() -> f64 {
    breathe();
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_wtick() -> f64 {
    1e-9
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_num_devices() -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_initial_device() -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_get_device_num() -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_is_initial_device() -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_display_env(verbose: i32) {
    crate::icv::display(verbose != 0);
}

/// Threads are kept: there is nothing to give back. Refused inside of a region, as the interface has it.
#[unsafe(no_mangle)]
extern "C-unwind" fn omp_pause_resource(_kind: i32, device: i32) -> i32 {
    if device != 0 { -1 } else { omp_pause_resource_all(0) }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn omp_pause_resource_all(_kind: i32) -> i32 {
    if me().team().active.get() > 0 {
        return -1;
    }
    crate::engine::fork::forget_teams(me());
    0
}
