//! Owns: libomp's calls, as clang makes them: regions, barriers, critical, single, reductions, ordered.
//! May use: `abi`, `engine`, `icv`, `lock`, `micro`, `told`, `wait`, `raddle-core`.
//! Never: a rule of OpenMP's; that is the engine's.

mod atomic;
mod cancel;
pub(crate) mod extra;
mod loops;
mod privates;
mod tasks;

use crate::abi::At;
use crate::engine::fork;
use crate::engine::member::me;
use crate::engine::share;
use crate::engine::team::RegionWork;
use crate::micro::{Micro, nth, variadic_after_three};
use crate::told::ProgramSite;
use crate::wait;
use std::sync::atomic::Ordering;

/// Where in the source a call stands.
pub(crate) type SourceSite = *const u8;

fn row(count: i32, spilled: At<usize>, stack: At<usize>) -> Vec<usize> {
    let count = count as usize;
    let mut arguments: Vec<usize> = (0..count).map(|n| nth(spilled, stack, 3, n)).collect();
    // Four are read, whether they are there or not.
    arguments.resize(count.max(4), 0);
    arguments
}

/// The return address of a variadic call lies before what it has on the stack.
fn site_of(source: SourceSite, stack: At<usize>) -> ProgramSite {
    ProgramSite::of_source(source, stack.at(usize::MAX).get())
}

extern "C-unwind" fn fork_call(
    source: SourceSite,
    count: i32,
    function: Micro,
    spilled: At<usize>,
    stack: At<usize>,
) {
    me().site.set(site_of(source, stack));
    let mut few = [0; 8];
    if count as usize <= few.len() {
        (0..count as usize).for_each(|n| few[n] = nth(spilled, stack, 3, n));
        fork::region(RegionWork::Micro(function, count as usize, few.as_ptr()), 0, None);
        return;
    }
    let arguments = row(count, spilled, stack);
    fork::region(RegionWork::Micro(function, count as usize, arguments.as_ptr()), 0, None);
}

variadic_after_three!(__kmpc_fork_call => fork_call);

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_fork_call_if(
    source: SourceSite,
    count: i32,
    function: Micro,
    condition: i32,
    data: usize,
) {
    let arguments = [data, 0, 0, 0];
    let wanted = u32::from(condition == 0);
    me().site.set(ProgramSite::of_source(source, 0));
    let body = RegionWork::Micro(function, count.clamp(0, 1) as usize, arguments.as_ptr());
    fork::region(body, wanted, None);
}

extern "C-unwind" fn fork_teams(
    _: SourceSite,
    count: i32,
    function: Micro,
    spilled: At<usize>,
    stack: At<usize>,
) {
    let arguments = row(count, spilled, stack);
    let member = me();
    let (teams, limit) = member.pushed_teams.replace((0, 0));
    let set = crate::icv::TEAMS.load(Ordering::Relaxed);
    let teams = if teams > 0 { teams } else { set.max(1) };
    fork::league(teams.cast_unsigned(), limit.max(0).cast_unsigned(), || {
        let body = RegionWork::Micro(function, count as usize, arguments.as_ptr());
        let member = me();
        let team = member.team();
        team.work.set(body);
        fork::work(team, member);
    });
}

variadic_after_three!(__kmpc_fork_teams => fork_teams);

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_push_num_threads(_: SourceSite, _: i32, threads: i32) {
    me().pushed.set(threads.max(0).cast_unsigned());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_push_proc_bind(_: SourceSite, _: i32, bind: i32) {
    me().pushed_bind.set(crate::engine::place::clause(bind.cast_unsigned()));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_push_num_teams(_: SourceSite, _: i32, teams: i32, limit: i32) {
    me().pushed_teams.set((teams, limit));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_push_num_teams_51(_: SourceSite, _: i32, least: i32, most: i32, limit: i32) {
    me().pushed_teams.set((if most > 0 { most } else { least }, limit));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_set_thread_limit(_: SourceSite, _: i32, limit: i32) {
    let task = me().task();
    let mut icv = task.icv.get();
    if limit > 0 {
        icv.limit = limit.cast_unsigned();
    }
    task.icv.set(icv);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_serialized_parallel(source: SourceSite, _: i32) {
    let member = me();
    member.pushed.set(0);
    member.site.set(ProgramSite::of_source(source, 0));
    fork::begin(RegionWork::None, 1, None);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_serialized_parallel(_: SourceSite, _: i32) {
    fork::end();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_begin(_: SourceSite, _: i32) {}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end(_: SourceSite) {}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_global_thread_num(_: SourceSite) -> i32 {
    me().gtid.cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_bound_thread_num(_: SourceSite) -> i32 {
    me().tid.get().cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_global_num_threads(_: SourceSite) -> i32 {
    me().team().threads().cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_bound_num_threads(_: SourceSite) -> i32 {
    me().team().threads().cast_signed()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_ok_to_fork(_: SourceSite) -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_in_parallel(_: SourceSite) -> i32 {
    (me().team().active.get() > 0).into()
}

pub(crate) extern "C-unwind" fn barrier(source: SourceSite, _: i32, code: usize) {
    let member = me();
    member.site.set(ProgramSite::of_source(source, code));
    member.team().barrier(member);
}

crate::micro::from_where! {
    __kmpc_barrier => barrier, "rdx";
}

/// Of a barrier with work for the master: it goes on first, the others at its end.
#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_barrier_master(site: SourceSite, gtid: i32) -> i32 {
    barrier(site, gtid, 0);
    if me().tid.get() == 0 {
        return 1;
    }
    barrier(site, gtid, 0);
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_barrier_master(site: SourceSite, gtid: i32) {
    barrier(site, gtid, 0);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_barrier_master_nowait(site: SourceSite, gtid: i32) -> i32 {
    barrier(site, gtid, 0);
    (me().tid.get() == 0).into()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_flush(_: SourceSite) {
    std::sync::atomic::fence(Ordering::SeqCst); // pairs with the flushes of the program's other threads
    raddle_core::door::tick::yield_if_due();
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_master(_: SourceSite, _: i32) -> i32 {
    (me().tid.get() == 0).into()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_master(_: SourceSite, _: i32) {}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_masked(_: SourceSite, _: i32, filter: i32) -> i32 {
    (me().tid.get().cast_signed() == filter).into()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_masked(_: SourceSite, _: i32) {}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_scope(_: SourceSite, _: i32, _: *mut u8) {}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_scope(_: SourceSite, _: i32, _: *mut u8) {}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_single(_: SourceSite, _: i32) -> i32 {
    share::is_first(me()).into()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_single(_: SourceSite, _: i32) {}

type CopyAll = unsafe extern "C-unwind" fn(*mut u8, *mut u8);

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_copyprivate(
    site: SourceSite,
    gtid: i32,
    _: usize,
    data: *mut u8,
    copy: CopyAll,
    did: i32,
) {
    let copied = &me().team().copied;
    if did != 0 {
        copied.store(data, Ordering::Relaxed);
    }
    barrier(site, gtid, 0);
    if did == 0 {
        // SAFETY: the compiler's, for these.
        unsafe { copy(data, copied.load(Ordering::Relaxed)) };
    }
    barrier(site, gtid, 0);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_copyprivate_light(site: SourceSite, gtid: i32, data: *mut u8) -> *mut u8 {
    let copied = &me().team().copied;
    if !data.is_null() {
        copied.store(data, Ordering::Relaxed);
    }
    barrier(site, gtid, 0);
    copied.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_critical(_: SourceSite, _: i32, name: At<u32>) {
    crate::lock::take(crate::lock::word(name));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_critical_with_hint(_: SourceSite, _: i32, name: At<u32>, _: u32) {
    crate::lock::take(crate::lock::word(name));
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_critical(_: SourceSite, _: i32, name: At<u32>) {
    wait::unlock(crate::lock::word(name));
}

type Reduce = *mut u8;

/// The caller puts its share into the variables, while no other does.
#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_reduce_nowait(
    _: SourceSite,
    _: i32,
    _: i32,
    _: usize,
    _: *mut u8,
    _: Reduce,
    name: At<u32>,
) -> i32 {
    if me().team().threads() > 1 {
        crate::lock::take(crate::lock::word(name));
    }
    1
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_reduce_nowait(_: SourceSite, _: i32, name: At<u32>) {
    if me().team().threads() > 1 {
        wait::unlock(crate::lock::word(name));
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_reduce(
    site: SourceSite,
    gtid: i32,
    number: i32,
    bytes: usize,
    data: *mut u8,
    reduce: Reduce,
    name: At<u32>,
) -> i32 {
    __kmpc_reduce_nowait(site, gtid, number, bytes, data, reduce, name)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_reduce(site: SourceSite, gtid: i32, name: At<u32>) {
    __kmpc_end_reduce_nowait(site, gtid, name);
    barrier(site, gtid, 0);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_ordered(_: SourceSite, _: i32) {
    let member = me();
    if member.my_loop.get().is_inside {
        share::wait_for_turn(member);
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_end_ordered(_: SourceSite, _: i32) {
    let member = me();
    let mut my = member.my_loop.get();
    if my.is_inside {
        my.bumped = true;
        member.my_loop.set(my);
        share::pass(member, 1);
    }
}
