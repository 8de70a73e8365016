//! Owns: `Team`: the members of a region and what they share; rounds, in which barriers and regions end.
//! May use: `abi`, `icv`, `micro`, `told`, `wait`, `raddle-core`.
//! Never: being freed: who was in it looks at it late.
//!
//! # Rounds
//! A round ends when all members have arrived *and* all tasks of the team are over. Both are counted in one word,
//! beside the number of the round, so that one addition tells who was the last; that one ends the round. A member that
//! has arrived runs tasks until then. The last round of a region is that of its end: only the master waits for it, and
//! the others wait for their next region, and run tasks meanwhile.
//!
//! ```text
//! state = round << 32 | arrivals missing + tasks not over
//! ```
//!
//! What makes a task is a member that has not arrived, or a task that is not over: so the count does not reach zero
//! before all is done. For the same reason it may be too high while such a member runs: members count in advance, and
//! keep what has ended for what they begin next (`Member::credit`). They settle when they arrive, and when they find
//! nothing to run after that.

use crate::engine::bound::Binding;
use crate::engine::member::{self, Member, MyLoop, me};
use crate::engine::place::BindingKey;
use crate::engine::queue::Queues;
use crate::engine::share::Shares;
use crate::engine::task::{Group, Task};
use crate::icv::Icv;
use crate::told::{self, Construct, ProgramSite};
use crate::wait::TeamWake;
use raddle_core::door::team::default_spin;
use raddle_core::trace::TeamStep;
use std::cell::Cell;
use std::ptr::{from_ref, null};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

/// How much work a round of a team that has more members than there are workers must have, so that it pays to wake them
/// on all workers; and how much for that to go on. A round without any work takes 2.8 us so (8 members, 2 workers), and
/// 1.0 else.
const SPREADS_NS: u64 = 30_000;
const STAYS_SPREAD_NS: u64 = 15_000;
/// A round counts one part of so many of the mean, and no more than this.
const WEIGHT: u64 = 16;
const MOST_WORK_NS: u64 = 10_000_000;

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// What is cancelled in a team.
pub(crate) const PARALLEL: u32 = 1;
pub(crate) const LOOP: u32 = 2;
pub(crate) const SECTIONS: u32 = 4;

/// What the members run: set by the master before it releases them.
#[derive(Clone, Copy)]
pub(crate) enum RegionWork {
    /// Nothing: the master alone, at the root.
    None,
    /// As gcc has it.
    Data(crate::abi::CFunction, *mut u8),
    /// As clang has it: the function, and its arguments in a row.
    Micro(crate::micro::Micro, usize, *const usize),
}

/// A loop or sections that all members begin with.
pub(crate) type Preset = Option<crate::engine::share::Plan>;

/// What all members change when they arrive.
#[repr(align(64))]
struct TeamRound {
    state: AtomicU64,
    /// Whether those who arrive have come to the region's end.
    ending: AtomicBool,
}

/// Of a team that has more members than there are workers: how much they do. By who ends a round, or begins a region.
#[derive(Default)]
#[repr(align(64))]
struct TeamLoad {
    /// When the round began.
    round_began: Cell<Option<Instant>>,
    /// How long all members together have worked since the last round ended, and the mean of that.
    work_ns: AtomicU64,
    mean_work_ns: Cell<u64>,
    /// Over how many workers members are to be spread, if that is much.
    spread: Cell<Option<u32>>,
    /// How long a member spins whose worker has nobody else: where others wait for it on other workers.
    spin: Cell<Duration>,
}

/// A region, one after the other.
pub(crate) struct Team {
    pub(crate) master: &'static Member,
    /// All that it has, of which the first `count` are in the region.
    pub(crate) members: Vec<&'static Member>,
    count: AtomicU32,
    /// Where it is nested: how deep, in how many active regions; whose region is around, and who the master was there.
    pub(crate) level: u32,
    /// How its members are bound, if they are, and where its master is then.
    pub(crate) bound: Cell<Option<(BindingKey, Binding)>>,
    /// Before which fork of the process it was made.
    pub(crate) forks: u32,
    pub(crate) active: Cell<u32>,
    pub(crate) outer: Cell<*const Team>,
    pub(crate) outer_tid: Cell<u32>,
    pub(crate) implicit: Vec<Task>,
    /// Where the region stands, and its number in a trace.
    pub(crate) site: Cell<ProgramSite>,
    pub(crate) number: Cell<u32>,
    pub(crate) work: Cell<RegionWork>,
    pub(crate) preset: Cell<Preset>,
    now: TeamRound,
    /// Barriers of a region that may be cancelled: rounds, arrivals missing, whether all wait for tasks.
    early_round: AtomicU32,
    early_missing: AtomicU32,
    is_draining: AtomicBool,
    is_cancellable: bool,
    /// Counts regions: who looks into the queues belongs to this one.
    pub(crate) region: AtomicU32,
    pub(crate) is_busy: Cell<bool>,
    /// How many threads of a limited number it has.
    pub(crate) taken: Cell<u32>,
    pub(crate) queues: Queues,
    pub(crate) shares: Shares,
    pub(crate) singles: AtomicU32,
    pub(crate) copied: AtomicPtr<u8>,
    pub(crate) cancelled: AtomicU32,
    /// Whether the region was cancelled when the latest round ended.
    was_cancelled: AtomicBool,
    spin: Cell<Duration>,
    load: TeamLoad,
    /// What the master goes back to.
    kept: Cell<Kept>,
    /// Of a region with reductions over tasks: the group of all of its tasks.
    pub(crate) group: Group,
    pub(crate) modifiers: [crate::engine::reduction::Modifier; 2],
}

/// What a thread is in, apart from its region.
#[derive(Clone, Copy)]
struct Kept {
    tid: u32,
    task: *const Task,
    my_loop: MyLoop,
    loops: u32,
    singles: u32,
    credit: u32,
    bound: Option<Binding>,
    works_since: Option<Instant>,
}

/// Where a team's members run that are woken.
#[derive(Clone, Copy)]
enum TeamWakes {
    Near,
    Apart,
    /// So many over so many workers, from this one on.
    Spread {
        count: u32,
        workers: u32,
        first: u32,
    },
}

impl TeamWakes {
    #[inline]
    fn of(self, tid: u32) -> TeamWake {
        match self {
            TeamWakes::Near => TeamWake::Near,
            TeamWakes::Apart => TeamWake::Apart,
            TeamWakes::Spread { count, workers, first } => {
                TeamWake::At((tid * workers / count + first) as usize)
            }
        }
    }
}

impl Team {
    pub(crate) fn make(capacity: u32, level: u32, master: &'static Member) -> &'static Team {
        Team::with_members(vec![master], capacity, level, &[])
    }

    /// A team of these, and of as many new threads as are missing, each bound where `bound` says, if it does.
    pub(crate) fn with_members(
        mut members: Vec<&'static Member>,
        capacity: u32,
        level: u32,
        bound: &[Binding],
    ) -> &'static Team {
        let master = members[0];
        while members.len() < capacity as usize {
            let place = bound.get(members.len()).copied();
            let Some(member) = crate::engine::start::spawn(place) else { break };
            members.push(member);
        }
        let count = members.len();
        let team = Box::leak(Box::new(Team {
            master,
            members,
            count: AtomicU32::new(1),
            level,
            bound: Cell::new(None),
            forks: crate::engine::start::forks(),
            active: Cell::new(0),
            outer: Cell::new(null()),
            outer_tid: Cell::new(0),
            implicit: (0..count).map(|_| Task::implicit()).collect(),
            site: Cell::new(ProgramSite::default()),
            number: Cell::new(0),
            work: Cell::new(RegionWork::None),
            preset: Cell::new(None),
            now: TeamRound { state: AtomicU64::new(1), ending: AtomicBool::new(false) },
            early_round: AtomicU32::new(0),
            early_missing: AtomicU32::new(1),
            is_draining: AtomicBool::new(false),
            is_cancellable: crate::icv::settings().is_cancellation,
            region: AtomicU32::new(0),
            is_busy: Cell::new(false),
            taken: Cell::new(0),
            queues: Queues::new(count),
            shares: Shares::new(),
            singles: AtomicU32::new(0),
            copied: AtomicPtr::default(),
            cancelled: AtomicU32::new(0),
            was_cancelled: AtomicBool::new(false),
            spin: Cell::new(Duration::ZERO),
            load: TeamLoad::default(),
            kept: Cell::new(Kept {
                tid: 0,
                task: null(),
                my_loop: MyLoop::default(),
                loops: 0,
                singles: 0,
                credit: 0,
                bound: None,
                works_since: None,
            }),
            group: Group::new(),
            modifiers: Default::default(),
        }));
        &*team
    }

    /// The region around all: of one, who is the master.
    pub(crate) fn begin_root(&'static self, member: &'static Member) {
        member.team.set(self);
        self.is_busy.set(true);
        self.implicit[0].begin_implicit(self, member, crate::icv::settings().first, null());
        member.task.set(&raw const self.implicit[0]);
    }

    pub(crate) fn threads(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn outer(&self) -> Option<&'static Team> {
        // SAFETY: teams are never freed.
        unsafe { self.outer.get().as_ref() }
    }

    /// The master enters, with so many.
    pub(crate) fn begin(
        &'static self,
        member: &'static Member,
        count: u32,
        icv: Icv,
        spin: Duration,
        tables: usize,
    ) {
        let outer = member.team();
        let parent = member.task();
        self.kept.set(Kept {
            tid: member.tid.get(),
            task: parent,
            my_loop: member.my_loop.get(),
            loops: member.loops.get(),
            singles: member.singles.get(),
            credit: member.credit.take(),
            bound: member.bound.get(),
            works_since: member.works_since.take(),
        });
        self.is_busy.set(true);
        self.count.store(count, Ordering::Relaxed);
        self.outer.set(outer);
        self.outer_tid.set(member.tid.get());
        self.active.set(outer.active.get() + u32::from(count > 1));
        self.spin.set(spin);
        if spin.is_zero() {
            self.load.round_began.set((count > 1).then(Instant::now));
            self.note_spin();
        }
        self.singles.store(0, Ordering::Relaxed);
        self.cancelled.store(0, Ordering::Relaxed);
        self.now.ending.store(false, Ordering::Relaxed);
        self.early_missing.store(count, Ordering::Relaxed);
        self.shares.reset();
        self.region.fetch_add(1, Ordering::Relaxed);
        let round = self.now.state.load(Ordering::Relaxed) >> 32;
        self.now.state.store(round << 32 | u64::from(count), Ordering::Relaxed);
        for (task, member) in self.implicit.iter().zip(&self.members).take(count as usize) {
            task.begin_implicit(self, member, icv, parent);
            if tables != 0 {
                self.group.tables.set(tables);
                task.group.set(&raw const self.group);
            }
        }
        for tid in 1..count {
            let other = self.members[tid as usize];
            other.next_team.store(from_ref(self).cast_mut(), Ordering::Relaxed);
            other.next_tid.store(tid, Ordering::Relaxed);
            // pairs with the acquire in `start::serve`
            other.job.fetch_add(1, Ordering::Release);
            other.event.note();
        }
        self.enter(member, 0);
        self.wake_noted(count, self.wakes_to());
        self.begin_work(member);
    }

    /// By a member: it is in this region now, and is this one of it.
    pub(crate) fn enter(&'static self, member: &'static Member, tid: u32) {
        member.team.set(self);
        member.tid.set(tid);
        member.task.set(&raw const self.implicit[tid as usize]);
        member.loops.set(0);
        member.singles.set(0);
        member.my_loop.set(MyLoop::default());
    }

    /// Where members of this region run that are woken.
    ///
    /// PERF: a team that fits the workers has one for each. A member that joins its waker's stays there, region after
    /// region, and its share runs behind the waker's (NPB's cg took twice as long on two workers). Of a larger team the
    /// last to arrive wakes all others: where they do little all go on there, one after the other, and nobody waits for
    /// another core; where they do much, they go on at the workers in turn, since else all other workers would
    /// have to find and take their parts anew in each round (cg with 4 threads on 2 workers: 0.56 s, libgomp's 0.42; to
    /// go on where each ran last is no better, since they do not stay evenly spread).
    fn wakes_to(&self) -> TeamWakes {
        if !self.spin.get().is_zero() {
            return TeamWakes::Apart;
        }
        match self.load.spread.get() {
            Some(workers) => TeamWakes::Spread { count: self.threads(), workers, first: self.master.gtid },
            None => TeamWakes::Near,
        }
    }

    /// By who ends a round, before others know.
    fn note_round(&self) {
        if !self.spin.get().is_zero() {
            return;
        }
        let Some(began) = self.load.round_began.get() else { return };
        let now = Instant::now();
        self.load.round_began.set(Some(now));
        let is_spread = self.load.spread.get().is_some();
        // Where all run on one worker, one after the other, the round is as long as their work.
        let work =
            if is_spread { self.load.work_ns.swap(0, Ordering::Relaxed) } else { nanoseconds(now - began) };
        let mean = self.load.mean_work_ns.get();
        let mean = mean - mean / WEIGHT + work.min(MOST_WORK_NS) / WEIGHT;
        self.load.mean_work_ns.set(mean);
        let spreads = mean >= if is_spread { STAYS_SPREAD_NS } else { SPREADS_NS };
        let workers = || raddle_core::door::thread::workers() as u32;
        self.load.spread.set(spreads.then(workers));
        self.note_spin();
    }

    fn note_spin(&self) {
        let is_apart = self.load.spread.get().is_some() || self.bound.get().is_some();
        let spin = if is_apart { default_spin(2) } else { Duration::ZERO };
        if self.load.spin.get() != spin {
            self.load.spin.set(spin);
        }
    }

    /// The caller goes on: from here to its arrival it works, which is only measured where members are spread.
    #[inline]
    pub(crate) fn begin_work(&self, member: &Member) {
        if self.spin.get().is_zero() && self.load.spread.get().is_some() {
            member.works_since.set(Some(Instant::now()));
        }
    }

    #[inline]
    fn end_work(&self, member: &Member) {
        if let Some(since) = member.works_since.get() {
            member.works_since.set(None);
            // Relaxed: the arrival, which follows, orders it.
            self.load.work_ns.fetch_add(nanoseconds(since.elapsed()), Ordering::Relaxed);
        }
    }

    /// `to` is what the region said that has been; the team may have another one by now.
    fn wake_noted(&self, count: u32, to: TeamWakes) {
        if count > 1 {
            fence(Ordering::SeqCst); // pairs with the fence in `WakeWord::wait`
            let here = from_ref(me());
            for (tid, member) in (0..count).zip(&self.members) {
                if from_ref(*member) == here {
                    continue;
                }
                member.event.wake_noted_to(to.of(tid));
            }
        }
    }

    /// The master leaves, when all have arrived.
    pub(crate) fn end(&'static self, member: &'static Member) {
        let round = self.round();
        let credit = member.credit.take();
        if self.threads() > 1 || self.now.state.load(Ordering::Relaxed) as u32 > 1 + credit {
            self.now.ending.store(true, Ordering::Relaxed);
            member.site.set(ProgramSite::default());
            self.end_work(member);
            self.less(1 + credit, member);
            self.wait_for_end(round, member);
        }
        let kept = self.kept.get();
        member.team.set(self.outer.get());
        member.tid.set(kept.tid);
        member.task.set(kept.task);
        member.my_loop.set(kept.my_loop);
        member.loops.set(kept.loops);
        member.singles.set(kept.singles);
        member.credit.set(kept.credit);
        member.bound.set(kept.bound);
        member.works_since.set(kept.works_since);
        self.is_busy.set(false);
    }

    /// Any other member has come to the region's end.
    pub(crate) fn arrive_at_end(&'static self, member: &'static Member) {
        self.now.ending.store(true, Ordering::Relaxed);
        self.end_work(member);
        self.less(1 + member.credit.take(), member);
    }

    fn round(&self) -> u32 {
        (self.now.state.load(Ordering::Acquire) >> 32) as u32 // pairs with the release in `end_round`
    }

    /// By a member that begins a task.
    #[inline]
    pub(crate) fn one_more(&self, member: &Member) {
        const ADVANCE: u32 = 32;
        match member.credit.get() {
            _ if !std::ptr::eq(member.team.get(), self) => {
                self.now.state.fetch_add(1, Ordering::Relaxed);
            }
            0 => {
                self.now.state.fetch_add(ADVANCE.into(), Ordering::Relaxed);
                member.credit.set(ADVANCE - 1);
            }
            credit => member.credit.set(credit - 1),
        }
    }

    /// A task is over.
    #[inline]
    pub(crate) fn one_less(&'static self, member: &'static Member) {
        if std::ptr::eq(member.team.get(), self) {
            member.credit.set(member.credit.get() + 1);
        } else {
            self.less(1, member);
        }
    }

    /// By a member that has arrived, and has nothing to run: false if there is nothing to settle.
    pub(crate) fn settle(&'static self, member: &'static Member) -> bool {
        crate::engine::task::settle(member);
        let credit = member.credit.take();
        if credit > 0 {
            self.less(credit, member);
        }
        credit > 0
    }

    /// So much is over that was counted; who brings the count to zero ends the round.
    fn less(&'static self, count: u32, member: &'static Member) {
        // pairs with itself: the last one sees what all did
        let before = self.now.state.fetch_sub(count.into(), Ordering::AcqRel);
        if before as u32 == count {
            self.end_round(member, before >> 32);
            return;
        }
        if !self.is_cancellable {
            return;
        }
        fence(Ordering::SeqCst); // pairs with the fence in `barrier_or_cancelled`
        if self.is_draining.load(Ordering::Relaxed) {
            self.poke_all();
        }
    }

    fn end_round(&'static self, member: &'static Member, round: u64) {
        let count = self.threads();
        let ending = self.now.ending.load(Ordering::Relaxed);
        self.note_round();
        let (master, to) = (self.master, self.wakes_to());
        if self.is_cancellable {
            let cancelled = self.cancelled.fetch_and(!(LOOP | SECTIONS), Ordering::Relaxed);
            self.was_cancelled.store(cancelled & PARALLEL != 0, Ordering::Relaxed);
        }
        let next = u64::from((round as u32).wrapping_add(1)) << 32 | u64::from(count);
        self.now.state.store(next, Ordering::Release); // pairs with the acquire in `round`
        // From here on the region may be over, and another one begun.
        if ending {
            if !std::ptr::eq(master, member) {
                master.event.note();
                fence(Ordering::SeqCst); // pairs with the fence in `WakeWord::wait`
                master.event.wake_noted_to(to.of(0));
            }
            return;
        }
        for other in &self.members[..count as usize] {
            if !std::ptr::eq(*other, member) {
                other.event.note();
            }
        }
        self.wake_noted(count, to);
    }

    /// A barrier of all members.
    pub(crate) fn barrier(&'static self, member: &'static Member) {
        let site = member.site.get();
        told::note(TeamStep::BarrierBegin, Construct::Barrier, site, (member.tid.get(), self.number.get()));
        let round = self.round();
        self.end_work(member);
        self.less(1 + member.credit.take(), member);
        self.wait_for_end(round, member);
        self.begin_work(member);
        told::note(TeamStep::BarrierEnd, Construct::Barrier, site, (member.tid.get(), self.number.get()));
    }

    fn wait_for_end(&'static self, round: u32, member: &'static Member) {
        self.wait_until(member, || self.round() != round);
    }

    /// Runs tasks until it is so; who makes it so pokes.
    fn wait_until(&'static self, member: &'static Member, is_so: impl Fn() -> bool) {
        let region = self.region.load(Ordering::Relaxed);
        while !is_so() {
            let has_run = self.queues.has_some() && crate::engine::task::run_any(self, member, region);
            if !has_run && !self.settle(member) {
                let sleepers = (&self.queues.sleepers, false);
                let done = || is_so() || self.queues.has_some();
                member.wait(&member::BARRIER, self.spin(), sleepers, done);
            }
        }
        crate::engine::task::settle(member);
    }

    /// A barrier of a region that may be cancelled, which ends it: true then. Its arrivals are counted apart: whoever
    /// leaves it early must not be missing, nor counted, at the region's end.
    pub(crate) fn barrier_or_cancelled(&'static self, member: &'static Member) -> bool {
        self.end_work(member);
        let is_cancelled = self.early_barrier(member);
        self.begin_work(member);
        is_cancelled
    }

    fn early_barrier(&'static self, member: &'static Member) -> bool {
        let is_cancelled = || self.is_cancelled(PARALLEL);
        if is_cancelled() {
            return true;
        }
        let round = self.early_round.load(Ordering::Acquire); // pairs with the release below
        // pairs with itself: the last one sees what all did
        if self.early_missing.fetch_sub(1, Ordering::AcqRel) > 1 {
            // pairs with the release below
            self.wait_until(member, || self.early_round.load(Ordering::Acquire) != round || is_cancelled());
            return is_cancelled();
        }
        // All are here, and none has arrived elsewhere: what is counted besides are tasks.
        let count = self.threads();
        self.is_draining.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst); // pairs with the fence in `less`
        // pairs with the subtraction in `less`
        self.wait_until(member, || self.now.state.load(Ordering::Acquire) as u32 <= count || is_cancelled());
        self.is_draining.store(false, Ordering::Relaxed);
        self.cancelled.fetch_and(!(LOOP | SECTIONS), Ordering::Relaxed);
        self.early_missing.store(count, Ordering::Relaxed);
        self.early_round.fetch_add(1, Ordering::Release); // pairs with the acquire above
        self.poke_all();
        is_cancelled()
    }

    fn poke_all(&self) {
        self.members[..self.threads() as usize].iter().for_each(|member| member.event.poke());
    }

    pub(crate) fn is_cancelled(&self, what: u32) -> bool {
        self.cancelled.load(Ordering::Relaxed) & what != 0
    }

    /// By a member behind a barrier, and before its next one: what all others are told, too.
    pub(crate) fn was_cancelled(&self) -> bool {
        self.was_cancelled.load(Ordering::Relaxed)
    }

    /// All who wait look again.
    pub(crate) fn cancel(&self, what: u32) {
        self.cancelled.fetch_or(what, Ordering::Relaxed);
        self.poke_all();
    }

    /// A child of that one has come, and somebody sleeps: wakes who waits for it, perhaps the only one who may run it,
    /// and one who may run anything.
    #[cold]
    pub(crate) fn wake_for(&self, parent: &Task) {
        let sleepers = &self.queues.sleepers;
        self.each_waiting(parent, |member| {
            member.event.claim(sleepers, true);
        });
        let mut all = self.members[..self.threads() as usize].iter();
        let _one = all.find(|member| member.event.claim(sleepers, false));
    }

    /// Those who sleep until something comes that descends from what they run, as a child of this task does.
    pub(crate) fn each_waiting(&self, parent: &Task, mut what: impl FnMut(&'static Member)) {
        let sleepers = &self.queues.sleepers;
        if !sleepers.has_picky() {
            return;
        }
        for member in &self.members[..self.threads() as usize] {
            // What it waits in is read behind the queue's lock: if it has looked there before the task came, this is
            // what it was when it looked, or later.
            if member.event.sleeps(sleepers, true) && parent.is_of(member.waits_in.get()) {
                what(member);
            }
        }
    }

    /// How long a member spins before it sleeps.
    pub(crate) fn spin(&self) -> Duration {
        let flat = self.spin.get();
        if flat.is_zero() { self.load.spin.get() } else { flat }
    }
}
