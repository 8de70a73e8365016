//! Owns: stealing: whom to look at, what may be taken, and when to leave others alone.
//! May use: `counters`, `policy`, `raddle-protocol`.
//! Never: a wait for a victim.
//!
//! *Age.* A fresh runnable may be taken when it has waited longer than a steal costs, and is worth one: `looks`.
//!
//! *Profit.* A steal that gave less work than it cost (the thief is dry again within `PROFIT_NS`) doubles a number of
//! looks during which windows are left alone; one that paid clears it. If what was stolen keeps waking its old
//! worker, the two are coupled: the rest of the catch goes home at once, and the thief backs off as if it had been
//! unprofitable. (What has waited in a fresh list is exempt: it has never run, and has no peers yet. So is what has
//! waited in a ready list: it has waited for longer than a steal costs, while its owner had other things to do. With
//! them under this rule, threads behind an endless slice waited for 64 looks: bench `started` took 40 ms on two
//! workers, as on one.)
//!
//! It uses the windows, fresh lists and timers of other workers.

use super::looks::{Look, Seen};
use super::{LocalWorker, Worker, has_left};
use crate::counters::Counters;
use crate::policy::{QUANTUM_NS, STEAL_NS, Victim};
use raddle_protocol::fifo::Fifo;
use raddle_protocol::header::{MOVABLE, Runnable};
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

/// A catch that lasts less than this was not worth it, ns.
pub(super) const PROFIT_NS: u64 = 2 * STEAL_NS;
/// A worker that has passed no boundary for so long is in a long slice, ns.
const LONG_NS: u64 = 2 * QUANTUM_NS;
/// So many wakes of the victim's within one catch mean that thief and victim are coupled.
const COUPLED_WAKES: u32 = 16;
/// The lists of a victim in which age decides.
const FRESH: usize = 0;
const READY: usize = 1;
const BACK_OFF_MAX: u32 = 64;
/// Who has been called so often in vain takes no closer look than after fewer times.
const IN_VAIN_MAX: u32 = 4;
/// What a worker remembers between its searches.
pub(super) struct StealState {
    /// What each other worker's lists were like when this worker last looked.
    looks: RefCell<Vec<[Look; 2]>>,
    /// The victim and the time of the last steal from a window, until it is judged.
    catch: Cell<Option<(usize, u64)>>,
    cross_wakes: Cell<u32>,
    /// Looks to pass by, and how many the next disappointment will cost.
    pass_by: Cell<u32>,
    back_off: Cell<u32>,
    random: Cell<u64>,
    ring: Cell<usize>,
    /// How often it has been called since it last found anything; a few are as good as many.
    in_vain: Cell<u32>,
}

impl StealState {
    pub(super) fn new(index: usize) -> Self {
        StealState {
            looks: RefCell::new(Vec::new()),
            catch: Cell::new(None),
            cross_wakes: Cell::new(0),
            pass_by: Cell::new(0),
            back_off: Cell::new(1),
            random: Cell::new(0x9e37_79b9_7f4a_7c15 ^ (index as u64 + 1) << 17),
            ring: Cell::new(index),
            in_vain: Cell::new(0),
        }
    }

    /// Somebody has called this worker to search. Returns how often it has come in vain before.
    pub(super) fn note_call(&self) -> u32 {
        self.in_vain.replace((self.in_vain.get() + 1).min(IN_VAIN_MAX))
    }

    pub(super) fn note_found(&self) {
        self.in_vain.set(0);
    }

    /// Something of ours woke something of `of`'s.
    pub(super) fn note_cross_wake(&self, of: usize) {
        if self.catch.get().is_some_and(|(victim, _)| victim == of) {
            self.cross_wakes.set(self.cross_wakes.get() + 1);
        }
    }

    fn disappointed(&self) {
        self.pass_by.set(self.back_off.get());
        self.back_off.set((self.back_off.get() * 2).min(BACK_OFF_MAX));
    }

    /// Marsaglia's xorshift64 (2003).
    fn next_random(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }
}

impl LocalWorker {
    /// Looks for work at all other workers'. What is found is in this worker's own places then.
    pub(super) fn search(&self, now: u64) -> Option<Runnable> {
        let shared = self.shared();
        self.judge_catch(now);
        self.take_shared(1);
        if let Some(found) = self.turns().batch.pop() {
            return Some(found);
        }
        self.ring_overdue(now);
        if let Some(found) = self.turns().batch.pop() {
            return Some(found);
        }
        if shared.policy.takes_from_other_groups()
            && let Some(found) = shared.take_from_other_group(self)
        {
            return Some(found);
        }
        if self.has_no_core(now) {
            return None;
        }
        self.steal_from_others(now)
    }

    /// More workers are awake than there are cores, and each of them comes to what waits there: one that stole it would
    /// only take the core from another, and what that one has would wait for a slice of the kernel's. Not so if one of
    /// them stands, in a call of the kernel or in a long slice.
    ///
    /// PERF: bench `granularity`, 64 packets, 2 cores, 4 and 8 workers over 2: granularity 1, 1.36, 1.38 -> 1.0, 1.05;
    /// 1000, on a machine with others at work, 1.1, 1.15 -> 0.95, 1.1.
    fn has_no_core(&self, now: u64) -> bool {
        let shared = self.shared();
        let stands = |other: &&Worker| {
            now.saturating_sub(other.boundary_ns.get()) >= shared.policy.tick_ns()
                && !shared.worker_sleeps(other.index)
        };
        shared.idle.is_crowded()
            && !shared.workers().iter().filter(|other| other.index != self.index).any(|other| stands(&other))
    }

    /// Looks for work at other workers', if the policy says that it may be taken.
    pub(super) fn steal_from_others(&self, now: u64) -> Option<Runnable> {
        if !self.shared().policy.steals() {
            return None;
        }
        let workers = self.shared().workers();
        if let Some(found) = self.steal_from_extra(now) {
            return Some(found);
        }
        if workers.len() < 2 {
            return None;
        }
        let (first, by) = self.choose_first(workers);
        for step in 0..workers.len() {
            let victim = &workers[(first + step) % workers.len()];
            if victim.index == self.index {
                continue;
            }
            Counters::add(&self.counters.steals_tried, 1);
            if let Some(found) = self.steal_from(victim, now) {
                Counters::add(&self.counters.steals, 1);
                Counters::add(self.counters.chosen_by(by), 1);
                self.trace_steal(victim.index);
                return Some(found);
            }
        }
        self.steal_what_was_asked_for().inspect(|_| self.note_job(now))
    }

    /// What has come to an extra worker, or began there, is everybody's as it is at any worker.
    fn steal_from_extra(&self, now: u64) -> Option<Runnable> {
        let mut extras = self.shared().extra_workers();
        let others = extras.by_ref().filter(|extra| extra.index != self.index);
        let found = others.into_iter().find_map(|extra| self.steal_from(extra, now))?;
        Counters::add(&self.counters.steals, 1);
        Some(found)
    }

    /// Where to look first, by the policy.
    fn choose_first(&self, workers: &[Worker]) -> (usize, Victim) {
        let by = self.shared().policy.victim;
        let backlog = |index: usize| {
            let of = &workers[index];
            of.published.backlog_ns.load(Ordering::Relaxed)
                + (of.ready.len_hint() + of.fresh.len_hint()) as u64
        };
        let (random, last) = (|| self.own().steal.next_random(), self.own().steal.ring.get());
        let first = by.first(self.index, workers.len(), backlog, random, last);
        self.own().steal.ring.set(first);
        (first, by)
    }

    fn steal_from(&self, victim: &Worker, now: u64) -> Option<Runnable> {
        if let Some(job) = self.steal_job(victim) {
            self.note_job(now);
            return Some(job);
        }
        let passes_by = self.own().steal.pass_by.get();
        if passes_by > 0 {
            self.own().steal.pass_by.set(passes_by - 1);
        } else if self.shared().policy.moves_started() {
            let chain = victim.window.take();
            if !chain.is_empty() {
                self.note_catch(victim, now);
                self.turns().batch.append(chain);
                return self.turns().batch.pop();
            }
        }
        if self.shared().policy.moves_started()
            && let Some(thread) = self.steal_threads(victim, now, passes_by > 0)
        {
            return Some(thread);
        }
        self.steal_fresh(victim, now, passes_by > 0).or_else(|| self.steal_mail(victim, now))
    }

    /// Who was woken on its way out of a worker, before it had left its stack, lies in that one's mail
    /// ([`wake`](LocalWorker::wake)), and so behind whatever has begun to run there since. If that goes on for long, it
    /// comes here, with all else there that may move.
    fn steal_mail(&self, victim: &Worker, now: u64) -> Option<Runnable> {
        let is_busy = now.saturating_sub(victim.boundary_ns.get()) >= LONG_NS;
        let moves = self.shared().policy.moves_started() && !self.ways.scatters;
        let may_take = is_busy && victim.inbox.has_mail() && moves;
        if !may_take || self.shared().worker_sleeps(victim.index) {
            return None;
        }
        self.take_mail_of(victim);
        self.turns().batch.pop().or_else(|| self.my_ready().pop())
    }

    /// What was handed to it and may run anywhere comes here; the rest goes back.
    pub(super) fn take_mail_of(&self, other: &Worker) {
        for runnable in other.inbox.take_for_owner() {
            // Who is woken on its way out, for which that worker stands, is not to be taken along.
            let may_come = runnable.header().is(MOVABLE) && has_left(runnable.header());
            if may_come { self.queue_mail(runnable) } else { other.deliver(runnable) }
        }
    }

    /// A steal that will be judged by how long it lasts.
    fn note_catch(&self, victim: &Worker, now: u64) {
        self.own().steal.catch.set(Some((victim.index, now)));
        self.own().steal.cross_wakes.set(0);
    }

    /// Half of the threads that have waited long enough for the victim wait here now; the oldest runs at once.
    fn steal_threads(&self, victim: &Worker, now: u64, passes_by: bool) -> Option<Runnable> {
        let aged = self.aged_threads(victim, now);
        let caught = Fifo::new();
        let count = victim.ready.steal_half(aged, |runnable| caught.push(runnable));
        if count == 0 && !passes_by {
            self.probe(victim, READY, now, &caught);
        }
        let oldest = caught.pop()?;
        self.note_threads_stolen();
        while let Some(thread) = caught.pop() {
            self.my_ready().push(thread);
        }
        Some(oldest)
    }

    /// Half of what has waited long enough in the victim's fresh list becomes fresh here; the oldest runs at once.
    fn steal_fresh(&self, victim: &Worker, now: u64, passes_by: bool) -> Option<Runnable> {
        let caught = Fifo::new();
        let aged = self.aged_fresh(victim, now);
        let mut count = victim.fresh.steal_half(aged, |runnable| caught.push(runnable));
        if count == 0 && !passes_by && self.shared().policy.moves_started() {
            count = self.probe(victim, FRESH, now, &caught);
        }
        if count == 0 && !passes_by {
            count = victim.later.steal_half(victim.later.reach(), |runnable| caught.push(runnable));
            if count > 0 {
                self.note_catch(victim, now);
            }
        }
        Counters::add(&self.counters.fresh_stolen, count as u64);
        let oldest = caught.pop();
        while let Some(runnable) = caught.pop() {
            // Who made it runs elsewhere.
            self.my_fresh().push_of(runnable, std::ptr::null_mut());
        }
        oldest
    }

    /// Half of a list in which none waits for long, but some always wait: a steal that will be judged.
    fn probe(&self, victim: &Worker, which: usize, now: u64, caught: &Fifo) -> usize {
        let list = if which == FRESH { &victim.fresh } else { &victim.ready };
        let reach = self
            .with_looks(victim.index, |looks| if looks[READY].flows() { looks[which].probe() } else { 0 });
        if reach == 0 {
            return 0;
        }
        let count = list.steal_half(reach, |runnable| caught.push(runnable));
        if count > 0 {
            self.note_catch(victim, now);
        }
        count
    }

    /// Everything below this index of the victim's ready list has waited longer than a steal costs.
    fn aged_threads(&self, victim: &Worker, now: u64) -> usize {
        let list = &victim.ready;
        let seen = Seen { reach: list.reach(), passed: list.passed(), ..Seen::default() };
        self.with_looks(victim.index, |looks| looks[READY].threads(now, seen, list.mark()))
    }

    /// Everything below this index of the victim's fresh list has waited longer than a steal costs, and is worth one.
    fn aged_fresh(&self, victim: &Worker, now: u64) -> usize {
        let seen = Seen {
            reach: victim.fresh.reach(),
            passed: victim.fresh.passed(),
            started: victim.fresh.taken_by_owner(),
            ended: victim.counters.exits.load(Ordering::Relaxed),
        };
        self.with_looks(victim.index, |looks| looks[FRESH].fresh(now, seen))
    }

    fn with_looks(&self, victim: usize, f: impl FnOnce(&mut [Look; 2]) -> usize) -> usize {
        let mut looks = self.own().steal.looks.borrow_mut();
        looks.resize(self.came_from.len(), Default::default());
        f(&mut looks[victim])
    }

    /// Whether something waits here that has never run.
    pub(super) fn has_fresh(&self) -> bool {
        !self.fresh.is_empty_for_owner() || !self.later.is_empty_for_owner()
    }

    /// Was the last catch worth it?
    fn judge_catch(&self, now: u64) {
        if let Some((_, at)) = self.own().steal.catch.take() {
            if now - at < PROFIT_NS {
                Counters::add(&self.counters.unprofitable, 1);
                self.own().steal.disappointed();
            } else {
                self.own().steal.back_off.set(1);
            }
        }
    }

    /// At a boundary: a catch that keeps waking its old worker goes home.
    pub(super) fn send_home_if_coupled(&self) {
        let Some((victim, _)) = self.own().steal.catch.get() else { return };
        if self.own().steal.cross_wakes.get() < COUPLED_WAKES {
            return;
        }
        self.own().steal.catch.set(None);
        self.own().steal.disappointed();
        let chain = self.turns().batch.split_movable(usize::MAX);
        if !chain.is_empty() {
            Counters::add(&self.counters.sent_home, 1);
            self.send(victim, chain);
        }
    }

    /// Alarms of workers that are too busy to hear them.
    fn ring_overdue(&self, now: u64) {
        for other in self.shared().everybody() {
            if other.timers().is_due(now) {
                self.ring(other, now);
            }
        }
    }

    /// Whether a last look, after the announcement of sleep, sees anything that this worker could take; its own fresh
    /// list, too, since the alarms that were rung during the search may have spawned.
    pub(super) fn sees_work(&self) -> bool {
        let shared = self.shared();
        let is_over = shared.is_stopping() || self.own().nested.is_over();
        let is_over = is_over || (shared.retires() && !self.own().retires.get());
        if shared.has_shared(self.index) || is_over || self.has_fresh() {
            return true;
        }
        if !self.ready.is_empty_for_owner() || self.jobs.waiting() > 0 {
            return true;
        }
        // Who watches may have laid out what was in the batch, while this worker stood in a call of its search.
        if self.window.filled() > 0 {
            return true;
        }
        if shared.idle.is_full() {
            return false;
        }
        let others = || shared.everybody().filter(|w| w.index != self.index);
        if shared.policy.steals() && others().any(|w| w.jobs.waiting() > 0) {
            return true;
        }
        let takes =
            shared.policy.steals() && shared.policy.moves_started() && self.own().steal.pass_by.get() == 0;
        takes && others().any(|w| w.window.filled() > 0)
    }
}
