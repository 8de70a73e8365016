//! Owns: libomp's loops: static ones by bounds, others by chunks; distribute; doacross.
//! May use: `abi`, `engine::member`, `engine::share`, `icv`.
//! Never: who takes which iterations.

use super::SourceSite;
use crate::abi::At;
use crate::engine::member::me;
use crate::engine::share::{self, Plan};
use crate::icv::{DYNAMIC, GUIDED, STATIC};

/// A type of loop variables.
trait LoopVariable: Copy {
    /// As a number of 64 bits, extended by its sign if it has one.
    fn wide(self) -> u64;
    fn narrow(wide: u64) -> Self;
    fn is_less(self, other: Self) -> bool;
}

macro_rules! variables {
    ($($type:ty;)*) => { $(
        impl LoopVariable for $type {
            fn wide(self) -> u64 {
                self as i64 as u64
            }
            fn narrow(wide: u64) -> Self {
                wide as $type
            }
            fn is_less(self, other: Self) -> bool {
                self < other
            }
        }
    )* };
}

variables! { i32; u32; i64; u64; }

/// How many iterations from the lower to the upper bound, which belongs to the loop.
fn trip<T: LoopVariable>(lower: T, upper: T, step: i64) -> u64 {
    let mask = if size_of::<T>() == 4 { u64::from(u32::MAX) } else { u64::MAX };
    let (from, to, by) = if step > 0 {
        (lower, upper, step.unsigned_abs())
    } else {
        (upper, lower, step.unsigned_abs().max(1))
    };
    if to.is_less(from) {
        return 0;
    }
    ((to.wide().wrapping_sub(from.wide()) & mask) / by).wrapping_add(1)
}

/// `sched_type` without modifiers, ordering, and the wish not to be merged.
fn kind(schedule: i32) -> i32 {
    let plain = schedule & !(1 << 29) & !(1 << 30);
    match plain {
        160..=191 => plain - 160 + 32,
        // Of a loop with `ordered`; what comes behind them shares out teams.
        64..=72 => plain - 64 + 32,
        192..=223 => plain - 192 + 32,
        plain => plain,
    }
}

/// Of `sched_type`: chunks may come in any order.
const NONMONOTONIC: i32 = 1 << 30;
const DYNAMIC_CHUNKED: i32 = 35;
const CHUNKED: i32 = 33;
const BALANCED_CHUNKED: i32 = 45;

/// The caller's share of a loop that is shared out among so many.
fn static_init<T: LoopVariable>(
    (number, threads): (u32, u32),
    schedule: i32,
    last: At<i32>,
    (lower, upper, stride): (At<T>, At<T>, At<T>),
    step: i64,
    chunk: i64,
) {
    let (first, end) = (lower.get(), upper.get());
    let trip = trip(first, end, step);
    let step = step as u64;
    let (number, threads) = (u64::from(number), u64::from(threads));
    if trip == 0 {
        last.set_if(0);
        stride.set(T::narrow(step));
        return;
    }
    let value = |iteration: u64| T::narrow(first.wide().wrapping_add(iteration.wrapping_mul(step)));
    let chunk = match kind(schedule) {
        CHUNKED | 91 => u64::try_from(chunk).unwrap_or(1).max(1),
        BALANCED_CHUNKED => {
            let chunk = u64::try_from(chunk).unwrap_or(1).max(1);
            trip.div_ceil(threads).next_multiple_of(chunk)
        }
        _ => 0,
    };
    if chunk == 0 {
        let (share, rest) = (trip / threads, trip % threads);
        let from = share * number + rest.min(number);
        let count = share + u64::from(number < rest);
        last.set_if(i32::from(count > 0 && from + count == trip));
        stride.set(T::narrow(trip));
        if count == 0 {
            // Nothing: an upper bound below the lower one.
            lower.set(value(trip));
            upper.set(value(trip.wrapping_sub(1)));
            return;
        }
        lower.set(value(from));
        upper.set(value(from + count - 1));
        return;
    }
    let span = chunk.wrapping_mul(step);
    lower.set(T::narrow(first.wide().wrapping_add(span.wrapping_mul(number))));
    upper.set(T::narrow(lower.get().wide().wrapping_add(span).wrapping_sub(step)));
    stride.set(T::narrow(span.wrapping_mul(threads)));
    last.set_if(i32::from((trip - 1) / chunk % threads == number));
}

/// Who the caller is for a construct: of the teams of a league, or of the threads of its team.
fn place(schedule: i32) -> (u32, u32) {
    let member = me();
    if matches!(kind(schedule), 91 | 92) {
        return member.teams_around();
    }
    (member.tid.get(), member.team().threads())
}

macro_rules! loops {
    ($($type:ty, $signed:ty: $static:ident $init:ident $next:ident $fini:ident $dist:ident $both:ident
        $team:ident;)*) => { $(
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $static(
            _: SourceSite, _: i32, schedule: i32, last: At<i32>, lower: At<$type>, upper: At<$type>, stride: At<$type>,
            step: $signed, chunk: $signed,
        ) {
            let step = i64::from(step);
            static_init(place(schedule), schedule, last, (lower, upper, stride), step, chunk.into());
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $team(
            _: SourceSite, _: i32, last: At<i32>, lower: At<$type>, upper: At<$type>, stride: At<$type>,
            step: $signed, chunk: $signed,
        ) {
            let place = me().teams_around();
            static_init(place, CHUNKED, last, (lower, upper, stride), step.into(), chunk.into());
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $both(
            _: SourceSite, _: i32, schedule: i32, last: At<i32>, lower: At<$type>, upper: At<$type>,
            team_upper: At<$type>, stride: At<$type>, step: $signed, chunk: $signed,
        ) {
            // First the share of the team in the league, then that of the caller in the team.
            let (mut of_league, mut of_team) = (0, 0);
            let step = i64::from(step);
            static_init(me().teams_around(), 92, At::new(&raw mut of_league), (lower, upper, stride), step, 0);
            team_upper.set(upper.get());
            let member = me();
            let place = (member.tid.get(), member.team().threads());
            let of_team_at = At::new(&raw mut of_team);
            static_init(place, schedule, of_team_at, (lower, upper, stride), step, chunk.into());
            last.set_if(of_league & of_team);
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $init(
            _: SourceSite, _: i32, schedule: i32, lower: $type, upper: $type, step: $signed, chunk: $signed,
        ) {
            let step = i64::from(step);
            begin(schedule, (lower.wide(), step as u64, trip(lower, upper, step)), chunk.into());
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $dist(
            _: SourceSite, _: i32, schedule: i32, last: At<i32>, lower: $type, upper: $type, step: $signed,
            chunk: $signed,
        ) {
            let (number, teams) = me().teams_around();
            let step = i64::from(step);
            let plan = Plan::new((lower.wide(), step as u64, trip(lower, upper, step)), STATIC, 0);
            let share = share::by_turn(&plan, 0, number.into(), teams.into());
            let (from, to) = share.unwrap_or((0, 0));
            last.set_if(i32::from(to == plan.trip && from < to));
            begin(schedule, (plan.value(from), step as u64, to - from), chunk.into());
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $next(
            _: SourceSite, _: i32, last: At<i32>, lower: At<$type>, upper: At<$type>, stride: At<$signed>,
        ) -> i32 {
            let member = me();
            if !member.my_loop.is_inside() {
                return 0;
            }
            let shared = share::here(member);
            let plan = shared.plan();
            match share::next(member) {
                Some((from, to)) => {
                    lower.set(<$type>::narrow(plan.value(from)));
                    upper.set(<$type>::narrow(plan.value(to - 1)));
                    stride.set_if(plan.step as $signed);
                    last.set_if(i32::from(to == plan.trip));
                    1
                }
                // What was said of the chunk before stands: the program looks at it after the loop.
                None => {
                    share::end(member);
                    0
                }
            }
        }

        #[unsafe(no_mangle)]
        extern "C-unwind" fn $fini(_: SourceSite, _: i32) {
            end_iteration();
        }
    )* };
}

loops! {
    i32, i32: __kmpc_for_static_init_4 __kmpc_dispatch_init_4 __kmpc_dispatch_next_4 __kmpc_dispatch_fini_4
        __kmpc_dist_dispatch_init_4 __kmpc_dist_for_static_init_4 __kmpc_team_static_init_4;
    u32, i32: __kmpc_for_static_init_4u __kmpc_dispatch_init_4u __kmpc_dispatch_next_4u __kmpc_dispatch_fini_4u
        __kmpc_dist_dispatch_init_4u __kmpc_dist_for_static_init_4u __kmpc_team_static_init_4u;
    i64, i64: __kmpc_for_static_init_8 __kmpc_dispatch_init_8 __kmpc_dispatch_next_8 __kmpc_dispatch_fini_8
        __kmpc_dist_dispatch_init_8 __kmpc_dist_for_static_init_8 __kmpc_team_static_init_8;
    u64, i64: __kmpc_for_static_init_8u __kmpc_dispatch_init_8u __kmpc_dispatch_next_8u __kmpc_dispatch_fini_8u
        __kmpc_dist_dispatch_init_8u __kmpc_dist_for_static_init_8u __kmpc_team_static_init_8u;
}

fn begin(schedule: i32, bounds: (u64, u64, u64), chunk: i64) {
    let member = me();
    let plan = match kind(schedule) {
        37 => Plan::by_runtime(bounds, member),
        // Of a loop with `simd`: its chunks are so many vectors of this length.
        47 => Plan::by_runtime(bounds, member).in_units(chunk, member.team().threads()),
        DYNAMIC_CHUNKED | 43 => Plan::new(bounds, DYNAMIC, chunk),
        36 | 39 | 42 | 46 => Plan::new(bounds, GUIDED, chunk),
        // Stealing: the same iterations, in another order.
        44 => Plan::new(bounds, DYNAMIC, chunk),
        CHUNKED => Plan::new(bounds, STATIC, chunk.max(1)),
        _ => Plan::new(bounds, STATIC, 0),
    };
    // It is said of loops with `ordered`, too.
    let plan = if schedule == NONMONOTONIC | DYNAMIC_CHUNKED { plan.nonmonotonic() } else { plan };
    share::begin(member, plan, &[]);
}

/// An iteration of a loop with `ordered` is over: it passes, if it has not.
fn end_iteration() {
    let member = me();
    let mut my = member.my_loop.get();
    if !my.is_inside {
        return;
    }
    if !my.bumped {
        share::wait_for_turn(member);
        share::pass(member, 1);
    }
    my.bumped = false;
    member.my_loop.set(my);
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_for_static_fini(_: SourceSite, _: i32) {}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_dispatch_deinit(_: SourceSite, _: i32) {}

/// `struct kmp_dim`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Dimension {
    lower: i64,
    upper: i64,
    step: i64,
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_doacross_init(_: SourceSite, _: i32, number: i32, dimensions: At<Dimension>) {
    let member = me();
    let all: Vec<Dimension> = (0..number as usize).map(|n| dimensions.at(n).get()).collect();
    let sizes: Vec<u64> = all.iter().map(|one| trip(one.lower, one.upper, one.step)).collect();
    // The loop itself is begun beside it: this one only has the iterations that were passed.
    let plan = Plan::new((0, 1, sizes.first().copied().unwrap_or(0)), STATIC, 0);
    share::begin(member, plan, &sizes);
    let bases = all.iter().map(|one| (one.lower, one.step)).collect();
    member.doacross.borrow_mut().push((member.my_loop.get(), bases));
}

fn vector(at: At<i64>, bases: &[(i64, i64)]) -> Vec<u64> {
    let steps = bases.iter().enumerate();
    steps.map(|(n, (lower, step))| (at.at(n).get().wrapping_sub(*lower) / step) as u64).collect()
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_doacross_wait(_: SourceSite, _: i32, at: At<i64>) {
    let member = me();
    let doacross = member.doacross.borrow();
    let Some((my, bases)) = doacross.last() else { return };
    let (shared, at) = (member.team().shares.of(my.number), vector(at, bases));
    drop(doacross);
    shared.doacross.wait(&at, member.team().spin());
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_doacross_post(_: SourceSite, _: i32, at: At<i64>) {
    let member = me();
    let doacross = member.doacross.borrow();
    if let Some((my, bases)) = doacross.last() {
        member.team().shares.of(my.number).doacross.post(&vector(at, bases));
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn __kmpc_doacross_fini(_: SourceSite, _: i32) {
    let member = me();
    let Some((my, _)) = member.doacross.borrow_mut().pop() else { return };
    member.my_loop.set(my);
    share::end(member);
}
