//! Owns: `Group`; waiting for tasks, and running others meanwhile.
//! May use: `engine::member`, `engine::reduction`, `engine::team`, `told`, `raddle-core`.
//! Never: running what does not descend from who waits, but at a barrier.

use super::{Task, run};
use crate::engine::member::{self, Member, me};
use crate::engine::reduction::Registered;
use crate::engine::team::Team;
use crate::told::{self, Construct};
use raddle_core::trace::TeamStep;
use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

/// The tasks of a `taskgroup`.
pub(crate) struct Group {
    /// Those that are not over.
    count: AtomicU32,
    cancelled: AtomicBool,
    /// Made for a construct of the whole team: what cancels or is cancelled is the group around.
    pub(crate) is_shared: Cell<bool>,
    /// Who waits at its end.
    owner: Cell<*const Member>,
    pub(crate) outer: Cell<*const Group>,
    /// Tasks of several members read it at once.
    reductions: RwLock<Vec<Registered>>,
    /// gcc's tables of reductions; those of the groups around come after them.
    pub(crate) tables: Cell<usize>,
}

impl Group {
    pub(crate) fn new() -> Group {
        Group {
            count: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            is_shared: Cell::new(false),
            owner: Cell::new(null()),
            outer: Cell::new(null()),
            reductions: RwLock::new(Vec::new()),
            tables: Cell::new(0),
        }
    }

    /// What runs here is in a new one.
    pub(crate) fn begin() {
        let member = me();
        let task = member.task();
        let group = Group::new();
        group.owner.set(member);
        group.outer.set(task.group.get());
        group.tables.set(task.group().map_or(0, |outer| outer.tables.get()));
        task.group.set(Box::into_raw(Box::new(group)));
    }

    /// Its variables with copies.
    pub(crate) fn reductions(&self) -> RwLockReadGuard<'_, Vec<Registered>> {
        self.reductions.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has these, too.
    pub(crate) fn add_reductions(&self, more: impl IntoIterator<Item = Registered>) {
        self.reductions.write().unwrap_or_else(PoisonError::into_inner).extend(more);
    }

    pub(crate) fn enter(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Nothing of the group is touched after the count.
    pub(crate) fn leave(&self) {
        let owner = self.owner.get();
        // pairs with the acquire in `end_group`
        if self.count.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::SeqCst); // pairs with the fence in `WakeWord::wait`
            // SAFETY: members are never freed.
            if let Some(owner) = unsafe { owner.as_ref() } {
                owner.event.poke_sleeper();
            }
        }
    }

    /// The group that the program means.
    fn meant(&self) -> &Group {
        if self.is_shared.get() { self.outer().unwrap_or(self) } else { self }
    }

    pub(crate) fn cancel(&self) {
        self.meant().cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || self.meant().cancelled.load(Ordering::Relaxed)
    }
}

/// What runs here waits for all tasks of its group, and leaves it.
pub(crate) fn end_group() {
    let task = me().task();
    let Some(group) = task.group() else { return };
    wait_for(|| group.count.load(Ordering::Acquire) == 0); // pairs with the release in `leave`
    task.group.set(group.outer.get());
    group.reductions().iter().filter(|item| item.is_owned).for_each(Registered::finish);
    // SAFETY: made by `begin`, and none of its tasks is left.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(group).cast_mut()) });
}

/// What runs here waits for its children.
pub(crate) fn wait_for_children() {
    let member = me();
    let task = member.task();
    super::kin::settle_own(member, task);
    if !task.has_no_children() {
        wait_for(|| task.has_no_children());
    }
}

/// Runs descendants of what runs here until `done`.
pub(crate) fn wait_for(done: impl Fn() -> bool) {
    let member = me();
    let task = member.task();
    let team = member.team();
    // What descends from a waiting task stands at the ends of queues, but for what waited for a dependence.
    const NEAR: usize = 4;
    let take = |reach| team.queues.take(member.tid.get(), reach, |other: &Task| other.descends_from(task));
    let site = member.site.get();
    let is_noted = told::is_traced() && !done();
    if is_noted {
        told::note(TeamStep::BarrierBegin, Construct::Tasks, site, (member.tid.get(), team.number.get()));
    }
    loop {
        super::kin::settle_own(member, task);
        if done() {
            break;
        }
        // PERF: what others write is read only by who has nothing of its own. `arrivals` is on the lines of all queues,
        // so each wait took those lines from their members (`lab openmp`, fib).
        if let Some(ready) = team.queues.take_near(member.tid.get(), NEAR, |other| other.descends_from(task))
        {
            run(ready.0);
            continue;
        }
        let arrivals = team.queues.arrivals();
        let is_other = || done() || team.queues.arrivals() != arrivals;
        if let Some(ready) = take(NEAR) {
            run(ready.0);
            continue;
        }
        super::settle(member);
        if !raddle_core::door::team::spin_until(team.spin(), is_other) {
            // Before it sleeps it looks at all, and once more when others see that it is about to.
            match take(usize::MAX) {
                Some(ready) => run(ready.0),
                None => {
                    let fits = |other: &Task| other.descends_from(task);
                    let is_other = || done() || team.queues.has_one(fits);
                    member.waits_in.set(task, task.depth.get());
                    member.wait(&member::TASKS, Duration::ZERO, (&team.queues.sleepers, true), is_other);
                }
            }
        }
    }
    super::kin::settle_others(member, task);
    if is_noted {
        told::note(TeamStep::BarrierEnd, Construct::Tasks, site, (member.tid.get(), team.number.get()));
    }
}

/// Runs a task of the team, if there is any and the region is still this one.
#[inline(never)]
pub(crate) fn run_any(team: &'static Team, member: &'static Member, region: u32) -> bool {
    let is_mine = || team.region.load(Ordering::Relaxed) == region;
    let mut near = Vec::new();
    let note = |moved: &Task| team.each_waiting(moved.parent(), |waits| near.push(waits));
    let taken = team.queues.take_some(member.tid.get(), is_mine, note);
    for waits in near {
        waits.event.claim(&team.queues.sleepers, true);
    }
    match taken {
        Some(ready) => {
            run(ready.0);
            true
        }
        None => false,
    }
}
