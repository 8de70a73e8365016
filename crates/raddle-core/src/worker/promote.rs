//! Owns: when a fork becomes a job that others may take, and how a job that was taken gets its own stack.
//! May use: `block::current`, `counters`, `orphan`, `tracer`, `raddle-protocol`, `raddle-trace`.
//! Never: a fork's code on a stack that is not its own flow's or a fresh one.
//!
//! *Who asks.* An idle worker's request stands before it is made: a worker whose queue holds fewer than a handful of
//! jobs is asked for the next one, by a word that each fork looks at (`JobQueue::is_wanted`). So the oldest few forks
//! of a computation lie open, and a thief needs nobody's help, even while their flow computes for a second without
//! a fork. Waiting for a request by the thief was the other way: with leaves of 10 ms, the answer comes 10 ms late.
//!
//! *How often.* At most one promotion in `PERIOD_NS`, with a burst of `BURST` after a pause: what a promotion costs
//! that was for nothing (some 40 ns) is then less than a half per cent. A clock costs more than a fork, so that a
//! refused request looks at it after 1, 2, 4, 8... forks: it is read a logarithmic number of times. Who forks more than
//! 64 times within a period does not answer until a thief asks again, which it does at each look around.
//!
//! *Who waits lets go.* A flow that parks or yields promotes all that it has: what it waits for may be behind one of
//! its own forks, and its worker, too, takes from its own queue.
//!
//! *Who stands in the kernel is helped.* A flow whose call blocks its OS thread, unknown to the scheduler, forks no
//! more and lets nothing go. Whoever watches stops that OS thread and promotes the forks in its place.
//!
//! *A taken job is a process.* It gets a block and a roomy stack, may wait like any process, and stands on no stack
//! of anybody else: a thief that waits is simply not running. That is what keeps recursion of steals, and a job that
//! takes a lock which the frame below it holds, from ever happening.

use super::{Here, LocalWorker, Worker, current_header};
use crate::counters::Counters;
use crate::orphan;
use crate::tracer::number_of_job;
use crate::worker::jobs::{self, SpareSlot};
use raddle_protocol::header::{Header, Kind, Runnable};
use raddle_protocol::protocol::jobs::{Forks, Node};
use raddle_trace::Event;
use std::cell::Cell;
use std::hint::spin_loop;
use std::ptr::{NonNull, null};

/// One promotion in so many nanoseconds, in the long run.
const PERIOD_NS: u64 = 10_000;
/// So many after a pause.
const BURST: u64 = 8;
/// Who forks so often within a period leaves requests alone until the next is made.
const LOOKS_AHEAD: u32 = 64;
/// A sleeper is roused for a new job at most once in so many nanoseconds, doubling while nobody takes any.
const ROUSE_NS: u64 = 100_000;
const ROUSE_NS_MAX: u64 = 10_000_000;
/// So often for one that will take long, if the last that was roused has taken some.
const ROUSE_FOR_LONG_NS: u64 = 20_000;
/// So long at most who has run a taken job looks for the next before it sleeps, and half as long as that took: one loop
/// often follows the other, and to wake who sleeps takes longer than a short one does.
///
/// PERF: loops over 10 000 numbers of 5 ns each, one after the other, two workers, of Rayon: 1.9 -> 1.2, values 2.1 ->
/// 1.1; both with fewer cuts (`raddle_job`'s `pace`).
const LINGER_NS: u64 = 30_000;
/// A thief leaves a job alone that has not lain as long as so many looks, about 2 us: its flow may be back at once.
const RIPE_LOOKS: u32 = 64;

/// What a worker remembers between promotions.
pub(super) struct Heart {
    forks: Cell<u32>,
    next_look: Cell<u32>,
    /// Up to here the time has been spent.
    spent_ns: Cell<u64>,
    /// Whether forks in the bag come first at the next promotion.
    futures_turn: Cell<bool>,
    roused_ns: Cell<u64>,
    rouse_every_ns: Cell<u64>,
    taken: Cell<usize>,
    /// How many had been taken when somebody was roused last.
    taken_before: Cell<usize>,
    /// When this worker last took a job of another's, until it is idle; 0 if it has not.
    stole_ns: Cell<u64>,
    /// A fork is on its way out of a bag: by a call that may ask for memory.
    is_promoting: Cell<bool>,
}

impl Heart {
    pub(super) fn new() -> Self {
        Heart {
            forks: Cell::new(0),
            next_look: Cell::new(1),
            spent_ns: Cell::new(0),
            futures_turn: Cell::new(true),
            roused_ns: Cell::new(0),
            rouse_every_ns: Cell::new(ROUSE_NS),
            taken: Cell::new(0),
            taken_before: Cell::new(0),
            stole_ns: Cell::new(0),
            is_promoting: Cell::new(false),
        }
    }

    fn start_over(&self) {
        self.forks.set(0);
        self.next_look.set(1);
    }
}

impl LocalWorker {
    /// Somebody wants jobs from here, and `forks` of the running flow may have some.
    #[cold]
    #[inline(never)]
    pub fn answer(&self, forks: &Forks) {
        if orphan::is_orphan() || !self.jobs.is_open() {
            return self.jobs.ignore_requests();
        }
        if let Some(seeded) = &self.own().seeded {
            return self.answer_by_seed(seeded, forks);
        }
        let heart = &self.own().heart;
        heart.forks.set(heart.forks.get() + 1);
        if self.ways.child_stealing {
            return self.promote_all(forks);
        }
        if heart.forks.get() < heart.next_look.get() || std::thread::panicking() {
            return self.jobs.note_left();
        }
        let now = self.shared().clock.now_ns();
        let spent = heart.spent_ns.get().max(now.saturating_sub(BURST * PERIOD_NS));
        if now < spent + PERIOD_NS {
            heart.next_look.set(heart.next_look.get() * 2);
            if heart.next_look.get() > LOOKS_AHEAD {
                heart.start_over();
                self.jobs.ignore_requests();
            }
            return self.jobs.note_left();
        }
        heart.start_over();
        heart.futures_turn.set(!heart.futures_turn.get());
        if self.promote_one(forks, heart.futures_turn.get()) {
            heart.spent_ns.set(spent + PERIOD_NS);
            Counters::add(&self.counters.promoted, 1);
            self.rouse(now);
        }
    }

    /// Promotes the oldest fork of the list or of the bag, that of the kind whose turn it is if there are both.
    pub(super) fn promote_one(&self, forks: &Forks, futures_first: bool) -> bool {
        let future_first = futures_first && self.promote_oldest_future(forks);
        future_first || self.promote_oldest_fork(forks) || self.promote_oldest_future(forks)
    }

    fn promote_oldest_future(&self, forks: &Forks) -> bool {
        let is_promoting = &self.own().heart.is_promoting;
        is_promoting.set(true);
        let some = jobs::promote_oldest(self, forks);
        is_promoting.set(false);
        some
    }

    fn promote_oldest_fork(&self, forks: &Forks) -> bool {
        forks
            .oldest()
            .into_iter()
            .for_each(|fork| self.trace_job(Event::Promoted, number_of_job(fork.as_ptr()), 0));
        forks.promote_oldest(&self.jobs, current_header())
    }

    /// Child stealing: every fork is open at once, and whoever is idle is called at once.
    fn promote_all(&self, forks: &Forks) {
        if std::thread::panicking() {
            return self.jobs.note_left();
        }
        while self.promote_one(forks, false) {
            Counters::add(&self.counters.children_open, 1);
            if self.shared().idle.sleepers() > 0 {
                self.shared().idle.notify_if_room();
            }
        }
    }

    /// A job is new: somebody who sleeps may come for it.
    fn rouse(&self, now: u64) {
        let heart = &self.own().heart;
        if self.shared().idle.sleepers() == 0 {
            return;
        }
        if heart.taken.replace(self.jobs.taken()) != self.jobs.taken() {
            heart.rouse_every_ns.set(ROUSE_NS);
        }
        if now - heart.roused_ns.get() >= heart.rouse_every_ns.get() {
            heart.rouse_every_ns.set((heart.rouse_every_ns.get() * 2).min(ROUSE_NS_MAX));
            self.rouse_now(now);
        }
    }

    fn rouse_now(&self, now: u64) {
        let heart = &self.own().heart;
        heart.roused_ns.set(now);
        heart.taken_before.set(self.jobs.taken());
        self.shared().idle.notify_if_room();
    }

    /// A job lies open here that will take long, as its loop knows: somebody who sleeps may come for it, unless whoever
    /// was roused last has come in vain.
    pub fn rouse_for_long(&self) {
        let heart = &self.own().heart;
        if self.shared().idle.sleepers() == 0 || heart.taken_before.get() == self.jobs.taken() {
            return;
        }
        let now = self.shared().clock.now_ns();
        if now - heart.roused_ns.get() >= ROUSE_FOR_LONG_NS {
            self.rouse_now(now);
        }
    }

    /// A job of another's was taken, at this time.
    pub(super) fn note_job(&self, now: u64) {
        self.own().heart.stole_ns.set(now.max(1));
    }

    /// This worker is idle from now on: how long it looks for the next job, if the last thing that it ran was one.
    pub(super) fn lingers(&self, now: u64) -> u64 {
        match self.own().heart.stole_ns.replace(0) {
            0 => 0,
            // It would keep a core from one that works.
            _ if self.shared().idle.is_crowded() => 0,
            stole => (now.saturating_sub(stole) / 2).min(LINGER_NS),
        }
    }

    /// The running flow is about to leave its stack: its forks are everybody's now.
    #[inline(always)]
    pub(crate) fn let_go(&self, header: &Header) {
        if !header.forks.get().is_null() {
            self.let_go_of(header);
        }
    }

    /// The running flow yields: the oldest of the jobs here has its turn with the batch.
    #[cold]
    #[inline(never)]
    pub(super) fn let_go_and_start_one(&self, header: &Header) {
        self.let_go_of(header);
        if let Some(job) = self.take_own_job() {
            self.turns().batch.push(job);
        }
    }

    #[cold]
    #[inline(never)]
    fn let_go_of(&self, header: &Header) {
        // SAFETY: not null: the list of the running flow, which is open.
        let Some(forks) = (unsafe { header.forks.get().as_ref() }) else { return };
        let mut some = false;
        while self.promote_one(forks, false) {
            Counters::add(&self.counters.promoted, 1);
            some = true;
        }
        if some && self.shared().policy.steals() {
            self.shared().idle.notify_if_room();
        }
    }

    /// The running flow has ended its outermost call, and something is left that it has not waited for.
    #[cold]
    pub fn promote_rest(&self, forks: &Forks) {
        while self.promote_one(forks, false) {
            Counters::add(&self.counters.promoted, 1);
        }
        forks.bag.close(|chunk| {
            // SAFETY: the bag has just let it go.
            unsafe { self.own().stores.chunks.give(chunk) }
        });
    }

    /// A future of something here that has no list, as a task.
    ///
    /// # Safety
    /// `node` is in no list, and stays until it has been run.
    pub unsafe fn promote_new(&self, node: *mut Node) {
        self.trace_job(Event::Promoted, number_of_job(node), 0);
        // SAFETY: passed on to the caller.
        unsafe { self.jobs.promote(node, null()) };
        Counters::add(&self.counters.promoted, 1);
        if self.shared().policy.steals() && self.shared().idle.sleepers() > 0 {
            self.shared().idle.notify_if_room();
        }
    }

    /// The oldest job of this worker's own queue, as a process. Its flow is suspended, since this worker looks for
    /// work.
    pub(super) fn take_own_job(&self) -> Option<Runnable> {
        self.jobs.take_own().map(|job| self.process_for(job))
    }

    /// The oldest job of another worker, as a process here, if it has lain for a while.
    pub(super) fn steal_job(&self, victim: &Worker) -> Option<Runnable> {
        if victim.jobs.waiting() == 0 {
            victim.jobs.ask();
            return None;
        }
        if !self.ways.child_stealing && !is_ripe(victim) {
            return None;
        }
        let job = victim.jobs.steal()?;
        Counters::add(&self.counters.jobs_stolen, 1);
        Some(self.process_for(job))
    }

    /// All queues were empty and have been asked; who forks often has answered meanwhile.
    pub(super) fn steal_what_was_asked_for(&self) -> Option<Runnable> {
        (0..RIPE_LOOKS / 4).for_each(|_| spin_loop());
        let workers = self.shared().everybody();
        let mut full = workers.filter(|other| other.index != self.index && other.jobs.waiting() > 0);
        full.find_map(|victim| self.steal_job(victim))
    }

    fn process_for(&self, job: NonNull<Node>) -> Runnable {
        Counters::add(&self.counters.spawns, 1);
        // SAFETY: the job has just been taken, and nobody else runs it; its frame lives until it has been run.
        let block = unsafe { (self.shared().make_job)(self, job) };
        self.trace_job(Event::JobTaken, number_of_job(job.as_ptr()), block.id.get() as u32);
        // SAFETY: just made: the right to run it is its maker's.
        unsafe { block.as_runnable() }
    }
}

/// A process ends that has made itself a list: what is left in it is everybody's.
#[cold]
#[inline(never)]
pub(crate) fn end_of_flow(header: &Header) {
    let forks = header.forks.replace(null()).cast_mut();
    // SAFETY: not null, and no call of `with_list` is on its stack any more: it was made by the flow itself, in a box.
    let forks = unsafe { Box::from_raw(forks) };
    // SAFETY: it runs, and this is its worker's OS thread.
    unsafe { Here::of(header) }.promote_rest(&forks);
}

/// So many forks of one list are promoted at a time for a worker that stands.
const OF_A_LIST: usize = 64;

impl Worker {
    /// Whether a job of another worker's lies open.
    pub fn sees_jobs(&self) -> bool {
        self.shared().workers().iter().any(|other| other.index != self.index && other.jobs.waiting() > 0)
    }

    /// Promotes forks of what runs on this worker, `running`, which stands in a call that the scheduler does not know.
    /// `spares` are for those that lie in a bag. True if there were any; some may be left (`JobQueue::has_left`).
    ///
    /// It takes no lock but those of queues and allocates nothing: the one that stands may hold any other.
    ///
    /// # Safety
    /// The worker's OS thread stands in a system call, with all that it did before to be seen, and does not go on
    /// before this has returned: so it is in the midst of no change of a list. `running` is what runs there, or null.
    pub unsafe fn promote_for_standing(&self, running: *const Header, spares: &mut Vec<SpareSlot>) -> bool {
        // SAFETY: passed on to the caller: what runs there lives.
        let flow = unsafe { running.as_ref() }.filter(|flow| flow.kind == Kind::Process);
        // SAFETY: null, or the list of that flow, which is open.
        let Some(forks) = flow.and_then(|flow| unsafe { flow.forks.get().as_ref() }) else {
            self.jobs.none_left();
            return false;
        };
        let mut count = 0;
        while count < OF_A_LIST && forks.promote_oldest(&self.jobs, running) {
            count += 1;
        }
        let mut more = count == OF_A_LIST;
        // SAFETY: passed on to the caller.
        more |= unsafe { self.is_promoting_of_standing() };
        while !more && forks.bag.oldest::<Header>().is_some() {
            let Some(slot) = spares.pop() else {
                more = true;
                break;
            };
            jobs::promote_oldest_into(slot, forks, &self.jobs);
            count += 1;
        }
        if !more {
            self.jobs.none_left();
        }
        count > 0
    }
}

impl Heart {
    /// Whether a fork is on its way out of a bag.
    pub(super) fn is_promoting(&self) -> bool {
        self.is_promoting.get()
    }
}

/// Whether the same job stays the oldest for as long as a steal should pay for.
fn is_ripe(victim: &Worker) -> bool {
    let gone = victim.jobs.gone();
    for _ in 0..RIPE_LOOKS {
        spin_loop();
        if victim.jobs.gone() != gone {
            return false;
        }
    }
    true
}
