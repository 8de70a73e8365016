//! Owns: libgomp's loops, of `long` and of `unsigned long long`, with all schedules, ordered ones and doacross.
//! May use: `abi`, `engine::fork`, `engine::member`, `engine::reduction`, `engine::share`, `engine::task::wait`,
//! `engine::team`, `icv`, `micro`.
//! Never: who takes which iterations.

use crate::abi::{At, CFunction};
use crate::engine::fork;
use crate::engine::member::me;
use crate::engine::reduction;
use crate::engine::share::{self, Plan};
use crate::engine::task::Group;
use crate::engine::team::RegionWork;
use crate::icv::{AUTO, DYNAMIC, GUIDED, MONOTONIC, STATIC};

const RUNTIME: u32 = 0;

/// How many iterations a loop has, from its bounds.
fn bounds(start: i64, end: i64, step: i64) -> (u64, u64, u64) {
    let (span, by) = if step > 0 {
        (if start < end { end.wrapping_sub(start) as u64 } else { 0 }, step as u64)
    } else {
        (if start > end { start.wrapping_sub(end) as u64 } else { 0 }, step.unsigned_abs())
    };
    (start as u64, step as u64, if by == 0 { 0 } else { span.div_ceil(by) })
}

fn bounds_unsigned(up: bool, start: u64, end: u64, step: u64) -> (u64, u64, u64) {
    let (span, by) =
        if up { (end.saturating_sub(start), step) } else { (start.saturating_sub(end), step.wrapping_neg()) };
    (start, step, if by == 0 { 0 } else { span.div_ceil(by) })
}

/// In calls: `dynamic` with chunks in any order.
const NONMONOTONIC_DYNAMIC: u32 = 1 << 16 | DYNAMIC;

fn plan(bounds: (u64, u64, u64), schedule: u32, chunk: i64) -> Plan {
    if schedule & !MONOTONIC == RUNTIME {
        return Plan::by_runtime(bounds, me());
    }
    if schedule == NONMONOTONIC_DYNAMIC {
        return Plan::new(bounds, DYNAMIC, chunk).nonmonotonic();
    }
    Plan::new(bounds, schedule, chunk)
}

/// The next chunk; `ordered` passes the one before.
fn next(ordered: bool, from: At<u64>, to: At<u64>) -> bool {
    let member = me();
    if ordered {
        pass_chunk();
    }
    let Some((begin, end)) = share::next(member) else { return false };
    let plan = share::here(member).plan();
    from.set_if(plan.value(begin));
    to.set_if(plan.value(end));
    true
}

/// All before the caller's chunk have passed `ordered`, and then this does.
fn pass_chunk() {
    let member = me();
    let my = member.my_loop.get();
    if my.is_inside && my.to > my.from {
        share::wait_for_turn(member);
        share::pass(member, my.to - my.from);
    }
}

/// Begins a loop, with reductions over tasks, and memory for all members.
pub(super) fn begin_with(plan: Plan, dimensions: &[u64], reductions: At<usize>, memory: At<usize>) {
    let member = me();
    let first = share::begin(member, plan, dimensions);
    if reductions.is_null() && memory.is_null() {
        return;
    }
    let shared = share::here(member);
    let threads = member.team().threads() as usize;
    if !reductions.is_null() {
        let old = super::tasks::registered();
        Group::begin();
        if let Some(group) = member.task().group() {
            group.is_shared.set(true);
        }
        if first {
            reduction::register_tables(reductions, old, 0, threads);
            shared.tables.publish(reductions.pointer().expose_provenance());
        } else {
            reduction::register_tables(reductions, old, shared.tables.wait(), threads);
        }
        super::tasks::set_registered(reductions.pointer().expose_provenance());
    }
    if !memory.is_null() {
        if first {
            shared.memory.publish(reduction::zeroed(memory.get(), 64));
        }
        memory.set(shared.memory.wait());
    }
}

macro_rules! starts {
    ($($start:ident $next:ident $ull:ident $ull_next:ident = $schedule:expr, $ordered:expr;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $start(
            start: i64, end: i64, step: i64, chunk: i64, from: At<u64>, to: At<u64>,
        ) -> bool {
            share::begin(me(), plan(bounds(start, end, step), $schedule, chunk), &[]);
            next(false, from, to)
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $next(from: At<u64>, to: At<u64>) -> bool {
            next($ordered, from, to)
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $ull(
            up: bool, start: u64, end: u64, step: u64, chunk: u64, from: At<u64>, to: At<u64>,
        ) -> bool {
            let chunk = i64::try_from(chunk).unwrap_or(i64::MAX);
            share::begin(me(), plan(bounds_unsigned(up, start, end, step), $schedule, chunk), &[]);
            next(false, from, to)
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $ull_next(from: At<u64>, to: At<u64>) -> bool {
            next($ordered, from, to)
        }
    )* };
}

starts! {
    GOMP_loop_static_start GOMP_loop_static_next GOMP_loop_ull_static_start GOMP_loop_ull_static_next
        = STATIC, false;
    GOMP_loop_dynamic_start GOMP_loop_dynamic_next GOMP_loop_ull_dynamic_start GOMP_loop_ull_dynamic_next
        = DYNAMIC, false;
    GOMP_loop_guided_start GOMP_loop_guided_next GOMP_loop_ull_guided_start GOMP_loop_ull_guided_next
        = GUIDED, false;
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_dynamic_next
        GOMP_loop_ull_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_next
        = NONMONOTONIC_DYNAMIC, false;
    GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_guided_next
        GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_next = GUIDED, false;
    GOMP_loop_ordered_static_start GOMP_loop_ordered_static_next
        GOMP_loop_ull_ordered_static_start GOMP_loop_ull_ordered_static_next = STATIC, true;
    GOMP_loop_ordered_dynamic_start GOMP_loop_ordered_dynamic_next
        GOMP_loop_ull_ordered_dynamic_start GOMP_loop_ull_ordered_dynamic_next = DYNAMIC, true;
    GOMP_loop_ordered_guided_start GOMP_loop_ordered_guided_next
        GOMP_loop_ull_ordered_guided_start GOMP_loop_ull_ordered_guided_next = GUIDED, true;
}

macro_rules! runtime_starts {
    ($($start:ident $next:ident $ull:ident $ull_next:ident = $ordered:expr;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $start(start: i64, end: i64, step: i64, from: At<u64>, to: At<u64>) -> bool {
            share::begin(me(), plan(bounds(start, end, step), RUNTIME, 0), &[]);
            next(false, from, to)
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $next(from: At<u64>, to: At<u64>) -> bool {
            next($ordered, from, to)
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $ull(
            up: bool, start: u64, end: u64, step: u64, from: At<u64>, to: At<u64>,
        ) -> bool {
            share::begin(me(), plan(bounds_unsigned(up, start, end, step), RUNTIME, 0), &[]);
            next(false, from, to)
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $ull_next(from: At<u64>, to: At<u64>) -> bool {
            next($ordered, from, to)
        }
    )* };
}

runtime_starts! {
    GOMP_loop_runtime_start GOMP_loop_runtime_next GOMP_loop_ull_runtime_start GOMP_loop_ull_runtime_next = false;
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_nonmonotonic_runtime_next
        GOMP_loop_ull_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_next = false;
    GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_maybe_nonmonotonic_runtime_next
        GOMP_loop_ull_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_next = false;
    GOMP_loop_ordered_runtime_start GOMP_loop_ordered_runtime_next
        GOMP_loop_ull_ordered_runtime_start GOMP_loop_ull_ordered_runtime_next = true;
}

macro_rules! parallel_loops {
    ($($name:ident $begin:ident = $schedule:expr;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(
            function: CFunction, data: *mut u8, threads: u32, start: i64, end: i64, step: i64, chunk: i64, flags: u32,
        ) {
            super::note_flags(flags);
            let plan = plan(bounds(start, end, step), $schedule, chunk);
            fork::region(RegionWork::Data(function, data), threads, Some(plan));
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $begin(
            function: CFunction, data: *mut u8, threads: u32, start: i64, end: i64, step: i64, chunk: i64,
        ) {
            let plan = plan(bounds(start, end, step), $schedule, chunk);
            fork::begin(RegionWork::Data(function, data), threads, Some(plan));
        }
    )* };
}

parallel_loops! {
    GOMP_parallel_loop_static GOMP_parallel_loop_static_start = STATIC;
    GOMP_parallel_loop_dynamic GOMP_parallel_loop_dynamic_start = DYNAMIC;
    GOMP_parallel_loop_guided GOMP_parallel_loop_guided_start = GUIDED;
    GOMP_parallel_loop_nonmonotonic_dynamic GOMP_parallel_loop_nonmonotonic_dynamic_start
        = NONMONOTONIC_DYNAMIC;
    GOMP_parallel_loop_nonmonotonic_guided GOMP_parallel_loop_nonmonotonic_guided_start = GUIDED;
}

macro_rules! parallel_runtime_loops {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(
            function: CFunction, data: *mut u8, threads: u32, start: i64, end: i64, step: i64, flags: u32,
        ) {
            super::note_flags(flags);
            let plan = plan(bounds(start, end, step), RUNTIME, 0);
            fork::region(RegionWork::Data(function, data), threads, Some(plan));
        }
    )* };
}

parallel_runtime_loops! {
    GOMP_parallel_loop_runtime GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_parallel_loop_runtime_start(
    function: CFunction,
    data: *mut u8,
    threads: u32,
    start: i64,
    end: i64,
    step: i64,
) {
    let plan = plan(bounds(start, end, step), RUNTIME, 0);
    fork::begin(RegionWork::Data(function, data), threads, Some(plan));
}

/// Schedules of the calls with reductions: as in the environment's, but zero is `runtime`.
fn by_number(schedule: i64) -> u32 {
    match schedule as u32 & !MONOTONIC {
        2 => DYNAMIC,
        3 => GUIDED,
        1 => STATIC,
        4 => AUTO,
        _ => RUNTIME,
    }
}

macro_rules! general_starts {
    ($($name:ident $ull:ident;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(
            start: i64, end: i64, step: i64, schedule: i64, chunk: i64, from: At<u64>, to: At<u64>,
            reductions: At<usize>, memory: At<usize>,
        ) -> bool {
            let plan = plan(bounds(start, end, step), by_number(schedule), chunk);
            begin_with(plan, &[], reductions, memory);
            from.is_null() || next(false, from, to)
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $ull(
            up: bool, start: u64, end: u64, step: u64, schedule: i64, chunk: u64, from: At<u64>, to: At<u64>,
            reductions: At<usize>, memory: At<usize>,
        ) -> bool {
            let chunk = i64::try_from(chunk).unwrap_or(i64::MAX);
            let plan = plan(bounds_unsigned(up, start, end, step), by_number(schedule), chunk);
            begin_with(plan, &[], reductions, memory);
            from.is_null() || next(false, from, to)
        }
    )* };
}

general_starts! {
    GOMP_loop_start GOMP_loop_ull_start;
    GOMP_loop_ordered_start GOMP_loop_ull_ordered_start;
}

/// The sizes of all dimensions of an ordered loop.
fn sizes(counts: At<u64>, number: u32) -> Vec<u64> {
    (0..number as usize).map(|n| counts.at(n).get()).collect()
}

macro_rules! doacross_starts {
    ($($name:ident $ull:ident = $schedule:expr;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name(
            number: u32, counts: At<u64>, chunk: i64, from: At<u64>, to: At<u64>,
        ) -> bool {
            let plan = plan((0, 1, counts.get()), $schedule, chunk);
            share::begin(me(), plan, &sizes(counts, number));
            next(false, from, to)
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $ull(
            number: u32, counts: At<u64>, chunk: u64, from: At<u64>, to: At<u64>,
        ) -> bool {
            $name(number, counts, i64::try_from(chunk).unwrap_or(i64::MAX), from, to)
        }
    )* };
}

doacross_starts! {
    GOMP_loop_doacross_static_start GOMP_loop_ull_doacross_static_start = STATIC;
    GOMP_loop_doacross_dynamic_start GOMP_loop_ull_doacross_dynamic_start = DYNAMIC;
    GOMP_loop_doacross_guided_start GOMP_loop_ull_doacross_guided_start = GUIDED;
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_loop_doacross_runtime_start(
    number: u32,
    counts: At<u64>,
    from: At<u64>,
    to: At<u64>,
) -> bool {
    share::begin(me(), plan((0, 1, counts.get()), RUNTIME, 0), &sizes(counts, number));
    next(false, from, to)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_loop_ull_doacross_runtime_start(
    number: u32,
    counts: At<u64>,
    from: At<u64>,
    to: At<u64>,
) -> bool {
    GOMP_loop_doacross_runtime_start(number, counts, from, to)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_loop_doacross_start(
    number: u32,
    counts: At<u64>,
    schedule: i64,
    chunk: i64,
    from: At<u64>,
    to: At<u64>,
    reductions: At<usize>,
    memory: At<usize>,
) -> bool {
    let plan = plan((0, 1, counts.get()), by_number(schedule), chunk);
    begin_with(plan, &sizes(counts, number), reductions, memory);
    from.is_null() || next(false, from, to)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_loop_ull_doacross_start(
    number: u32,
    counts: At<u64>,
    schedule: i64,
    chunk: u64,
    from: At<u64>,
    to: At<u64>,
    reductions: At<usize>,
    memory: At<usize>,
) -> bool {
    let chunk = i64::try_from(chunk).unwrap_or(i64::MAX);
    GOMP_loop_doacross_start(number, counts, schedule, chunk, from, to, reductions, memory)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_doacross_post(counts: At<u64>) {
    let doacross = &share::here(me()).doacross;
    let at: Vec<u64> = (0..doacross.dimensions()).map(|n| counts.at(n).get()).collect();
    doacross.post(&at);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_doacross_ull_post(counts: At<u64>) {
    GOMP_doacross_post(counts);
}

extern "C-unwind" fn doacross_wait(first: usize, spilled: At<usize>, stack: At<usize>) {
    let member = me();
    let doacross = &share::here(member).doacross;
    let rest = (1..doacross.dimensions()).map(|n| crate::micro::nth(spilled, stack, 5, n - 1));
    let at: Vec<u64> = std::iter::once(first).chain(rest).map(|word| word as u64).collect();
    doacross.wait(&at, member.team().spin());
}

crate::micro::variadic_after_one!(GOMP_doacross_wait => doacross_wait);
crate::micro::variadic_after_one!(GOMP_doacross_ull_wait => doacross_wait);

pub(super) extern "C-unwind" fn loop_end(code: usize) {
    share::end(me());
    super::barrier(code);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn GOMP_loop_end_nowait() {
    share::end(me());
}

extern "C-unwind" fn unregister(cancelled: bool, code: usize) {
    let data = super::tasks::registered();
    crate::engine::task::end_group();
    if !cancelled {
        super::barrier(code);
    }
    if me().tid.get() == 0 {
        reduction::unregister_tables(At::new(std::ptr::with_exposed_provenance_mut(data)));
    }
}

crate::micro::from_where! {
    GOMP_loop_end => loop_end, "rdi";
    GOMP_workshare_task_reduction_unregister => unregister, "rsi";
}
