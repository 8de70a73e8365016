//! Owns: what members share of a loop: its plan, who takes which iterations, `ordered`, doacross.
//! May use: `icv`, `wait`.
//! Never: types of loop variables; a loop is so many iterations here.
//!
//! A team has a ring of places for loops, since members without a barrier between run ahead. Member by member all begin
//! the same loops in the same order; the first to come to a loop sets its place up, the last to leave it frees it for
//! the loop that comes a ring later.

mod dealt;
mod order;

use crate::engine::member::{Member, MyLoop};
use crate::engine::team::{LOOP, SECTIONS};
use crate::icv::{AUTO, DYNAMIC, GUIDED, MONOTONIC, STATIC};
use crate::wait::{breathe, sleep_at, wake_all};
use dealt::DealtShare;
pub(crate) use order::Doacross;
use std::cell::UnsafeCell;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

const RING: usize = 8;

/// A loop as one of its members has it. All have the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) first: u64,
    pub(crate) step: u64,
    /// How many iterations.
    pub(crate) trip: u64,
    pub(crate) schedule: u32,
    pub(crate) chunk: u64,
    /// Chunks may come in any order: each member begins with a share of its own.
    pub(crate) is_dealt: bool,
}

impl Plan {
    /// `runtime` is resolved; what is left is static, dynamic or guided, with a chunk.
    pub(crate) fn new((first, step, trip): (u64, u64, u64), schedule: u32, chunk: i64) -> Plan {
        let kind = schedule & !MONOTONIC;
        let kind = if kind == AUTO || kind == 0 { STATIC } else { kind };
        let chunk = u64::try_from(chunk).unwrap_or(0);
        let chunk = if kind == STATIC { chunk } else { chunk.max(1) };
        Plan { first, step, trip, schedule: kind, chunk, is_dealt: false }
    }

    /// The same, with chunks in any order.
    pub(crate) fn nonmonotonic(self) -> Plan {
        let is_small = self.trip < DEALT_MOST.0 && self.chunk < DEALT_MOST.1;
        Plan { is_dealt: self.schedule == DYNAMIC && is_small, ..self }
    }

    /// By the schedule of the caller's task.
    pub(crate) fn by_runtime(bounds: (u64, u64, u64), member: &Member) -> Plan {
        let icv = member.task().icv.get();
        Plan::new(bounds, icv.schedule, icv.chunk.into())
    }

    /// The same, by vectors of so many iterations: chunks are multiples of them.
    pub(crate) fn in_units(self, unit: i64, threads: u32) -> Plan {
        let unit = u64::try_from(unit).unwrap_or(1).max(1);
        let chunk = match self.chunk {
            0 => self.trip.div_ceil(threads.into()).next_multiple_of(unit),
            chunk => chunk.saturating_mul(unit),
        };
        Plan { chunk, ..self }
    }

    /// The value of the loop's variable at an iteration.
    pub(crate) fn value(&self, iteration: u64) -> u64 {
        self.first.wrapping_add(iteration.wrapping_mul(self.step))
    }
}

/// What members write all the time, apart from what they read all the time, and from its neighbours: of the two lines
/// that a core may fetch together, too.
///
/// PERF: with the plan beside it, each chunk took two turns of the line, one to read the plan and one to count
/// (`lab openmp`, dynamic by 1).
#[repr(align(128))]
pub(crate) struct Alone<T>(T);

impl<T> Deref for Alone<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// One loop of all.
#[repr(align(128))]
pub(crate) struct Shared {
    /// Which loop has the place, or is to have it.
    number: AtomicU32,
    /// Whether it is set up.
    state: AtomicU32,
    left: AtomicU32,
    plan: UnsafeCell<Plan>,
    next: Alone<AtomicU64>,
    /// The members' shares, where the plan deals.
    shares: OnceLock<Box<[Alone<DealtShare>]>>,
    /// How many iterations have passed `ordered`.
    pub(crate) ordered: Alone<AtomicU64>,
    pub(crate) doacross: Doacross,
    /// Of task reductions: what the first has allocated for all.
    pub(crate) memory: Published,
    pub(crate) tables: Published,
}

const EMPTY: u32 = 0;
const BEGINNING: u32 = 1;
const READY: u32 = 2;

pub(crate) struct Shares {
    ring: [Shared; RING],
}

impl Shares {
    pub(crate) fn new() -> Shares {
        Shares { ring: std::array::from_fn(|n| Shared::new(n as u32)) }
    }

    /// A region begins.
    pub(crate) fn reset(&self) {
        for (n, shared) in self.ring.iter().enumerate() {
            if shared.number.load(Ordering::Relaxed) != n as u32
                || shared.state.load(Ordering::Relaxed) != EMPTY
            {
                shared.clear();
                shared.number.store(n as u32, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn of(&self, number: u32) -> &Shared {
        &self.ring[number as usize % RING]
    }
}

/// A loop of more iterations, or with larger chunks, has a counter for all.
const DEALT_MOST: (u64, u64) = (1 << 31, 1 << 30);

/// How many iterations of a loop are dealt: all but those of its last chunk.
fn dealt_of(plan: &Plan) -> u64 {
    plan.trip.div_ceil(plan.chunk).saturating_sub(1) * plan.chunk
}

impl Shared {
    fn new(number: u32) -> Shared {
        Shared {
            number: AtomicU32::new(number),
            state: AtomicU32::new(EMPTY),
            left: AtomicU32::new(0),
            plan: UnsafeCell::new(Plan {
                first: 0,
                step: 1,
                trip: 0,
                schedule: STATIC,
                chunk: 0,
                is_dealt: false,
            }),
            next: Alone(AtomicU64::new(0)),
            shares: OnceLock::new(),
            ordered: Alone(AtomicU64::new(0)),
            doacross: Doacross::new(),
            memory: Published::new(),
            tables: Published::new(),
        }
    }

    fn clear(&self) {
        self.left.store(0, Ordering::Relaxed);
        self.next.store(0, Ordering::Relaxed);
        self.ordered.store(0, Ordering::Relaxed);
        self.doacross.clear();
        self.memory.clear();
        self.tables.clear();
        self.state.store(EMPTY, Ordering::Relaxed);
    }

    /// By the first of a team, while the others wait.
    fn deal(&self, plan: &Plan, members: usize, threads: u32) {
        let all = self.shares.get_or_init(|| (0..members).map(|_| Alone(DealtShare::new())).collect());
        let threads = threads.into();
        (0..threads).zip(all).for_each(|(at, share)| share.deal(dealt_of(plan), plan.chunk, (at, threads)));
    }

    /// A member's next chunk: of its share, else of another's, else the loop's last one. Compilers have what the last
    /// iteration left from the member whose last chunk it was: so nothing comes behind that.
    #[inline]
    fn next_dealt(&self, plan: &Plan, at: usize, threads: usize) -> Option<(u64, u64)> {
        let all = self.shares.get()?;
        let own = all.get(at)?;
        own.next(plan.chunk).or_else(|| self.next_of_others(plan, all, (at, threads)))
    }

    #[inline(never)]
    fn next_of_others(
        &self,
        plan: &Plan,
        all: &[Alone<DealtShare>],
        (at, threads): (usize, usize),
    ) -> Option<(u64, u64)> {
        let own = &all[at];
        if own.is_over(plan.trip) {
            return None;
        }
        let mut others = (1..threads).map(|step| &all[(at + step) % threads]);
        let half = others.find_map(|other| other.half(own, plan.chunk));
        let last = || {
            let is_there = plan.trip > 0 && self.next.swap(1, Ordering::Relaxed) == 0;
            is_there.then(|| {
                own.end(plan.trip);
                (dealt_of(plan), plan.trip)
            })
        };
        half.or_else(last)
    }

    #[inline]
    pub(crate) fn plan(&self) -> &Plan {
        // SAFETY: written before the loop was ready, and not until its last member has left it.
        unsafe { &*self.plan.get() }
    }
}

/// What runs here begins a loop; true if it is the first of its team to do so.
pub(crate) fn begin(member: &Member, plan: Plan, dimensions: &[u64]) -> bool {
    let team = member.team();
    let number = member.loops.get();
    member.loops.set(number.wrapping_add(1));
    member.my_loop.set(MyLoop { number, is_inside: true, ..MyLoop::default() });
    let shared = team.shares.of(number);
    loop {
        let now = shared.number.load(Ordering::Acquire); // pairs with the release in `end`
        if now == number {
            break;
        }
        sleep_at(&shared.number, now);
    }
    // pairs with the release below
    match shared.state.compare_exchange(EMPTY, BEGINNING, Ordering::Acquire, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: of all members one is here, and the others wait for `READY`.
            unsafe { *shared.plan.get() = plan };
            if !dimensions.is_empty() {
                shared.doacross.begin(dimensions);
            }
            if plan.is_dealt {
                shared.deal(&plan, team.members.len(), team.threads());
            }
            shared.state.store(READY, Ordering::Release); // pairs with the acquire above and below
            true
        }
        Err(_) => {
            let mut times = 0;
            // pairs with the release above
            while shared.state.load(Ordering::Acquire) != READY {
                breathe(&mut times);
            }
            false
        }
    }
}

/// The loop that the caller is in.
pub(crate) fn here(member: &Member) -> &'static Shared {
    member.team().shares.of(member.my_loop.get().number)
}

/// The caller's next chunk: from and to, in iterations.
#[inline]
pub(crate) fn next(member: &Member) -> Option<(u64, u64)> {
    let team = member.team();
    let shared = team.shares.of(member.my_loop.number());
    if team.is_cancelled(LOOP | SECTIONS) {
        return None;
    }
    let plan = shared.plan();
    if plan.is_dealt {
        return shared.next_dealt(plan, member.tid.get() as usize, team.threads() as usize);
    }
    let mut my = member.my_loop.get();
    let chunk = match plan.schedule {
        DYNAMIC => dynamic(shared, plan),
        GUIDED => guided(shared, plan, team.threads()),
        _ => {
            let chunk = by_turn(plan, my.turn, member.tid.get().into(), team.threads().into());
            my.turn += 1;
            chunk
        }
    };
    if let Some((from, to)) = chunk {
        (my.from, my.to) = (from, to);
    }
    my.bumped = false;
    member.my_loop.set(my);
    chunk
}

#[inline]
fn dynamic(shared: &Shared, plan: &Plan) -> Option<(u64, u64)> {
    if plan.trip < 1 << 62 && plan.chunk < 1 << 31 {
        // It cannot come round.
        let from = shared.next.fetch_add(plan.chunk, Ordering::Relaxed);
        return (from < plan.trip).then(|| (from, (from + plan.chunk).min(plan.trip)));
    }
    take(shared, |from| plan.chunk.min(plan.trip - from), plan.trip)
}

fn guided(shared: &Shared, plan: &Plan, threads: u32) -> Option<(u64, u64)> {
    let share = |from: u64| {
        let left = plan.trip - from;
        let share = (left / (2 * u64::from(threads))).max(plan.chunk);
        // In whole chunks, which may be vectors.
        (share - share % plan.chunk).min(left)
    };
    take(shared, share, plan.trip)
}

fn take(shared: &Shared, share: impl Fn(u64) -> u64, trip: u64) -> Option<(u64, u64)> {
    let mut from = shared.next.load(Ordering::Relaxed);
    while from < trip {
        let to = from + share(from);
        match shared.next.compare_exchange_weak(from, to, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some((from, to)),
            Err(now) => from = now,
        }
    }
    None
}

/// Of a static schedule: the `turn`th chunk of this one of so many.
pub(crate) fn by_turn(plan: &Plan, turn: u64, tid: u64, threads: u64) -> Option<(u64, u64)> {
    if plan.chunk == 0 {
        let (share, rest) = (plan.trip / threads, plan.trip % threads);
        let from = share * tid + rest.min(tid);
        let to = from + share + u64::from(tid < rest);
        return (turn == 0 && from < to).then_some((from, to));
    }
    let from = turn.checked_mul(threads)?.checked_add(tid)?.checked_mul(plan.chunk)?;
    (from < plan.trip).then(|| (from, plan.trip.min(from.saturating_add(plan.chunk))))
}

/// The caller leaves its loop.
pub(crate) fn end(member: &Member) {
    let mut my = member.my_loop.get();
    if !my.is_inside {
        return;
    }
    my.is_inside = false;
    member.my_loop.set(my);
    let team = member.team();
    let shared = team.shares.of(my.number);
    // pairs with itself: the last one sees that all have left
    if shared.left.fetch_add(1, Ordering::AcqRel) + 1 == team.threads() {
        shared.clear();
        // pairs with the acquire in `begin`
        shared.number.store(my.number.wrapping_add(RING as u32), Ordering::Release);
        wake_all(&shared.number);
    }
}

/// Waits until all iterations before the caller's chunk have passed `ordered`.
pub(crate) fn wait_for_turn(member: &Member) {
    let from = member.my_loop.get().from;
    let shared = here(member);
    let is_turn = |passed: u64| passed >= from;
    order::wait_word(&shared.ordered, is_turn, member.team().spin());
}

/// Iterations up to this one have passed.
pub(crate) fn pass(member: &Member, count: u64) {
    let shared = here(member);
    // pairs with the acquire in `wait_word`
    shared.ordered.fetch_add(count, Ordering::Release);
    if member.team().threads() > 1 {
        wake_all(&*shared.ordered);
    }
}

/// Whether the caller is the first of its team at its next `single`.
pub(crate) fn is_first(member: &Member) -> bool {
    let number = member.singles.get();
    member.singles.set(number.wrapping_add(1));
    let (passed, relaxed) = (&member.team().singles, Ordering::Relaxed);
    passed.compare_exchange(number, number.wrapping_add(1), relaxed, relaxed).is_ok()
}

/// An address that the first member of a loop has for all.
pub(crate) struct Published(AtomicUsize);

impl Published {
    fn new() -> Published {
        Published(AtomicUsize::new(0))
    }

    fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(crate) fn publish(&self, address: usize) {
        self.0.store(address, Ordering::Release); // pairs with the acquire in `wait`
    }

    pub(crate) fn wait(&self) -> usize {
        let mut times = 0;
        loop {
            // pairs with the release in `publish`
            match self.0.load(Ordering::Acquire) {
                0 => breathe(&mut times),
                address => return address,
            }
        }
    }
}
