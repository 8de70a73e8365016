//! Owns: extra workers: they take what waits behind a worker that stands in a call which the scheduler does not know.
//! May use: `counters`, `observe::watcher`, `raddle-context`, `raddle-protocol`, `raddle-syscall`.
//! Never: anything that a worker does which has run dry: an extra worker takes only while one stands.
//!
//! A process may call what blocks its OS thread without saying so: a lock or a channel of `std`, a library of C. What
//! waits behind it on that worker could run elsewhere, if it is movable; idle workers take it. But if all of them
//! stand, or are busy, nobody does, and if the call waits for just that, the program hangs. So whoever watches marks
//! the workers that stand, and calls an extra worker, which has an OS thread of its own and is a worker of the runtime
//! like the others, but for this:
//!
//! | | a worker | an extra worker |
//! |---|---|---|
//! | takes work from others | when it has run dry | while one stands, from that one or an extra one, one at a time |
//! | sleeps | in the idle set, which finds it when there is work | beside it: until there is mail, or it is called |
//! | number | below the number of workers | from there on; nothing is placed on it |
//! | forks of what runs there | idle workers ask for some | they do, too: the flow stays though its worker goes on |
//!
//! When the worker goes on, the extra one takes nothing more. What has come to it stays, or is stolen by idle workers;
//! light processes that have begun there are bound to it. So its OS thread stays, asleep, until the runtime ends.
//!
//! Alternatives, and why not:
//!
//! - *The worker itself goes to another OS thread*, as a P does in Go. But its process believes that it runs there, and
//!   comes back from the call without asking: both would touch the owner's half. Go brackets each call; a foreign one
//!   has no brackets.
//! - *An OS thread in reserve that is always one of the idle workers*. It would take part in each search and wake, for
//!   one program in a thousand.
//! - *The program says so*, as by tokio's `block_in_place` or Java's `ManagedBlocker`: that is `blocking`. This is for
//!   what has not been said.
//!
//! Its parts are those of any worker, with the protocols that these have: the ends of the fresh and ready lists
//! (`protocol::fresh`), and the inbox. What is new is how it sleeps beside the idle set, and is seen asleep when the
//! end of the runtime, or a deadlock, is looked for: its inbox says that it sleeps, from after a fence after its last
//! act to before a fence before its next one. The models are with those of the idle set, in
//! `crates/raddle-protocol/tests/loom/idle.rs`.

use super::{LocalWorker, Worker};
use crate::counters::Counters;
use crate::observe::note_change;
use crate::worker::Shared;
use raddle_context::tls::{TlsPool, UsedBlocks};
use raddle_context::{StackDepot, StackPool};
use raddle_protocol::header::Runnable;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A runtime has no more of them.
pub(crate) const EXTRAS_MAX: usize = 16;
/// So often is looked for something to take while a worker stands.
const LOOK: Duration = Duration::from_millis(1);

/// The extra workers of a runtime.
pub(crate) struct Extras {
    /// Whose stacks they have; none if the runtime has no extra workers.
    depot: OnceLock<(Arc<StackDepot>, Arc<UsedBlocks>, bool)>,
    /// The signals that the workers' maker blocked, and so the workers.
    blocked: AtomicU64,
    /// Dropped by [`Extras`] itself.
    made: ManuallyDrop<[OnceLock<Box<Extra>>; EXTRAS_MAX]>,
    count: AtomicUsize,
    /// A worker stands, and something waits behind it.
    wanted: AtomicBool,
    threads: Mutex<Threads>,
}

impl Drop for Extras {
    /// PERF: the code for a worker's parts stood in three places, since `Shared` is dropped in as many: 3 KB.
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more, and this is the only drop.
        unsafe { ManuallyDrop::drop(&mut self.made) };
    }
}

/// One of them, and where it sleeps.
struct Extra {
    worker: Worker,
    bell: Bell,
    /// How often it has lain down.
    sleeps: AtomicUsize,
}

/// Their OS threads.
#[derive(Default)]
pub(crate) struct Threads {
    /// The runtime has ended: no more of them.
    has_ended: bool,
    handles: Vec<(usize, JoinHandle<()>)>,
}

/// Where one OS thread sleeps that others wake.
#[derive(Default)]
struct Bell {
    has_rung: Mutex<bool>,
    rings: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.has_rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.rings.notify_one();
    }

    /// Until it rings, or has rung since the last time.
    fn wait(&self, at_most: Option<Duration>) {
        let has_rung = self.has_rung.lock().unwrap_or_else(PoisonError::into_inner);
        let mut has_rung = match at_most {
            Some(at_most) => {
                let waited = self.rings.wait_timeout_while(has_rung, at_most, |has_rung| !*has_rung);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                self.rings.wait_while(has_rung, |has_rung| !*has_rung).unwrap_or_else(PoisonError::into_inner)
            }
        };
        *has_rung = false;
    }
}

impl Extras {
    pub(crate) fn new() -> Extras {
        Extras {
            depot: OnceLock::new(),
            blocked: AtomicU64::new(0),
            made: ManuallyDrop::new([const { OnceLock::new() }; EXTRAS_MAX]),
            count: AtomicUsize::new(0),
            wanted: AtomicBool::new(false),
            threads: Mutex::new(Threads::default()),
        }
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> impl Iterator<Item = &Extra> {
        // Acquire pairs with the release in `add_extra`: who is counted is there.
        self.made[..self.count.load(Ordering::Acquire)]
            .iter()
            .filter_map(|made| made.get().map(|extra| &**extra))
    }

    /// Whether all of them sleep; and a number that is another when one has lain down anew.
    pub(crate) fn all_asleep(&self) -> Option<u64> {
        let mut sleeps = 0;
        for extra in self.all() {
            let rests = extra.worker.inbox.is_asleep() && extra.worker.timers().next_ns().is_none();
            sleeps += rests.then(|| extra.sleeps.load(Ordering::Relaxed))?;
        }
        Some(sleeps as u64)
    }

    /// Whether one of them is at something.
    pub(super) fn is_anybody_up(&self) -> bool {
        self.all().any(|extra| !extra.worker.inbox.is_asleep())
    }

    /// Wakes all of them: the runtime is about to end.
    pub(super) fn ring_all(&self) {
        self.all().for_each(|extra| extra.bell.ring());
    }

    /// The runtime has ended, and begins no more of them: their OS threads.
    pub(crate) fn end(&self) -> Vec<(usize, JoinHandle<()>)> {
        let mut threads = self.threads();
        threads.has_ended = true;
        std::mem::take(&mut threads.handles)
    }
}

impl Shared {
    /// This runtime may have extra workers, which take their stacks there.
    pub(crate) fn allow_extras(&self, depot: Arc<StackDepot>, used: Arc<UsedBlocks>, asymmetric: bool) {
        self.extras.blocked.store(raddle_syscall::blocked_signals(), Ordering::Relaxed);
        let _only_once = self.extras.depot.set((depot, used, asymmetric));
    }

    /// The workers, and the extra ones that there are.
    pub fn everybody(&self) -> impl Iterator<Item = &Worker> {
        self.workers().iter().chain(self.extra_workers())
    }

    /// The extra workers that there are.
    #[inline]
    pub fn extra_workers(&self) -> impl Iterator<Item = &Worker> {
        self.extras.all().map(|extra| &extra.worker)
    }

    /// The extra worker of this number.
    #[cold]
    pub(super) fn extra_worker(&self, index: usize) -> &Worker {
        let extra = self.extra_workers().nth(index - self.workers().len());
        extra.expect("the number of a worker")
    }

    /// Wakes the owner of an inbox in which a push found it asleep.
    #[inline]
    pub(super) fn wake_owner(&self, index: usize) {
        if index < self.workers().len() { self.idle.wake_owner(index) } else { self.ring_extra(index) }
    }

    #[cold]
    pub(super) fn ring_extra(&self, index: usize) {
        if let Some(extra) = self.extras.all().nth(index - self.workers().len()) {
            extra.bell.ring();
        }
    }

    /// Marks those of the workers that stand, and calls an extra one to take what waits behind them. False if none
    /// of those that there are is free.
    pub(crate) fn call_extra(&self, stands: impl Fn(&Worker) -> bool) -> bool {
        let mut any = false;
        // The recorder knows the workers that there are when it begins.
        let is_recorded = self.worker(0).is_recorded();
        for worker in self.everybody() {
            let stands = !is_recorded && stands(worker);
            worker.stands.store(stands, Ordering::Relaxed);
            any |= stands;
        }
        self.extras.wanted.store(any, Ordering::Relaxed);
        if !any {
            return true;
        }
        let free = self.extras.all().find(|extra| extra.worker.inbox.is_asleep());
        free.inspect(|extra| extra.bell.ring()).is_some()
    }

    /// Whether what waits in the batch of a worker that stands could be taken by others, if it were laid out now.
    pub fn takes_batch_of(&self, worker: &Worker) -> bool {
        self.extras.depot.get().is_some() && worker.window.has_room()
    }

    /// Lays out what any worker may run, of what waits in the batch of one that stands, in its window, as it does
    /// itself at a boundary: for extra workers, for those that are idle, and for itself if it goes on before. True if
    /// there was something.
    ///
    /// It takes no lock, and allocates nothing: the one that stands may hold any.
    ///
    /// # Safety
    /// The worker's OS thread stands in a system call, with all that it did before to be seen, and does not go on
    /// before this has returned.
    pub unsafe fn lay_out_batch(&self, of: &Worker) -> bool {
        // SAFETY: passed on to the caller.
        let batch = unsafe { of.batch_of_standing() };
        if batch.movable() == 0 || !self.takes_batch_of(of) {
            return false;
        }
        if let Err(chain) = of.window.publish(batch.split_movable(usize::MAX)) {
            batch.append(chain);
            return false;
        }
        true
    }

    /// Something was laid open to everybody for a worker that stands: one of the others may come for it.
    pub fn call_idle(&self) {
        if self.policy.steals() && self.idle.sleepers() > 0 {
            self.idle.notify_if_room();
        }
    }

    /// The calling OS thread, which is to be an extra worker's, blocks the signals that the workers do. It was made by
    /// whoever watches, who blocks all.
    pub(crate) fn block_signals_as_workers(&self) {
        raddle_syscall::block_signals_only(self.extras.blocked.load(Ordering::Relaxed));
    }

    /// One more extra worker, whose OS thread `begin` makes, told its number. False if there is none.
    pub(crate) fn add_extra(&self, begin: impl FnOnce(Arc<Shared>, usize) -> Option<JoinHandle<()>>) -> bool {
        let Some((depot, used, asymmetric)) = self.extras.depot.get() else { return false };
        let mut threads = self.extras.threads();
        let count = self.extras.count.load(Ordering::Relaxed);
        if threads.has_ended
            || count == EXTRAS_MAX
            || self.worker(0).is_recorded()
            || !self.one_more_at_work()
        {
            return false;
        }
        let index = self.workers().len() + count;
        let shared = self.hold();
        let extra = self.extras.made[count].get_or_init(|| {
            let stacks = StackPool::new(depot.clone());
            let worker = Worker::new(index, &shared, 1, *asymmetric, stacks, TlsPool::sharing(used.clone()));
            Box::new(Extra { worker, bell: Bell::default(), sleeps: AtomicUsize::new(0) })
        });
        extra.worker.stands.store(false, Ordering::Relaxed);
        // Release pairs with the acquire in `all`.
        self.extras.count.store(count + 1, Ordering::Release);
        let thread = begin(shared, index);
        let has_begun = thread.is_some();
        if !has_begun {
            // Nobody has met it yet: it had nothing, and gave nobody anything. Release pairs with the acquire in `all`.
            self.extras.count.store(count, Ordering::Release);
            self.one_less_at_work();
            if self.is_closing() {
                // Whoever has looked meanwhile for the end has seen one more that is awake.
                self.idle.wake_for_alarm(0);
            }
        }
        threads.handles.extend(thread.map(|thread| (index, thread)));
        has_begun
    }
}

impl Worker {
    /// Whether it was marked as one that stands.
    fn stands(&self) -> bool {
        self.stands.load(Ordering::Relaxed)
    }

    /// How many are in its batch, at a glance.
    pub fn waiting_in_batch(&self) -> usize {
        self.glance_at_batch().0
    }

    /// How many wait here that an extra worker could take, and how many have been taken from there: at a glance.
    pub fn waiting_for_others(&self) -> (usize, usize) {
        let waiting =
            self.ready.len_hint() + self.fresh.len_hint() + self.later.len_hint() + self.window.filled();
        let waiting = waiting + usize::from(self.inbox.has_mail());
        let taken = self.ready.taken() + self.fresh.taken() + self.later.taken();
        (waiting + self.jobs.waiting(), taken)
    }
}

impl LocalWorker {
    /// As [`wait_for_work`](LocalWorker::wait_for_work), for an extra worker.
    #[cold]
    #[inline(never)]
    pub(super) fn wait_beside(&self) -> Option<Runnable> {
        let shared = self.shared();
        let place = self.index - shared.workers().len();
        let extra = shared.extras.all().nth(place).expect("an extra worker is among them");
        let began = shared.clock.now_ns();
        self.note_idle_begin(began);
        self.renew_budget(began);
        loop {
            let now = shared.clock.now_ns();
            self.fire_timers(now);
            shared.sampler.look(shared, now);
            let mut found = self.take_own();
            if found.is_none() && shared.extras.wanted.load(Ordering::Relaxed) {
                found = self.take_over(now);
            }
            if found.is_some() {
                // It is up: what it wakes, and what it forks, is for whoever is idle, and one of those looks.
                shared.idle.note_up_beside();
                Counters::add(&self.counters.idle_incidents, 1);
                Counters::add(&self.counters.idle_ns, now - began);
                self.note_idle(now - began, false);
                self.restart_clock(now);
                return found;
            }
            if shared.is_stopping() {
                return None;
            }
            self.sleep_beside(extra);
        }
    }

    /// Until there is mail, or it is called, or has an alarm; while a worker stands, no longer than to the next look.
    fn sleep_beside(&self, extra: &Extra) {
        let shared = self.shared();
        fence(Ordering::SeqCst); // pairs with those in `is_quiet`: who sees the mark sees all that was done before
        if self.inbox.try_sleep() {
            extra.sleeps.fetch_add(1, Ordering::Relaxed);
            Counters::advance(&self.counters.parks, 1);
            shared.note_quiet();
            let until_alarm = self.timers().next_ns().map(|at| at.saturating_sub(shared.clock.now_ns()));
            let until_look = shared.extras.wanted.load(Ordering::Relaxed).then_some(LOOK);
            let at_most = until_alarm.map(Duration::from_nanos).into_iter().chain(until_look).min();
            extra.bell.wait(at_most);
            note_change();
        }
        self.take_mail();
        // Pairs with those in `is_quiet`: who sees that something was taken over sees that the mark is gone.
        fence(Ordering::SeqCst);
    }

    /// What has waited longest behind a worker that stands; else what comes from outside.
    fn take_over(&self, now: u64) -> Option<Runnable> {
        let shared = self.shared();
        let own = self.index;
        let standing = || shared.everybody().filter(move |other| other.index != own && other.stands());
        // Alarms of those that stand, too; and pollers are asked, which nobody else may do.
        standing().filter(|other| other.timers().is_due(now)).for_each(|other| self.ring(other, now));
        self.ask_at_boundary(now);
        // Who watches sees that somebody asks.
        self.boundary_ns.set(now);
        let found = self.take_own().or_else(|| standing().find_map(|other| self.take_from(other)));
        // If all workers stand, nobody else takes what waits behind a long slice of another extra one.
        let is_up = move |other: &&Worker| other.index != own && !other.inbox.is_asleep();
        let extras = || shared.extra_workers().filter(is_up);
        let found = found.or_else(|| extras().find_map(|other| self.take_from(other)));
        found.or_else(|| {
            self.take_shared(1);
            self.take_own()
        })
    }

    fn take_from(&self, other: &Worker) -> Option<Runnable> {
        for list in [&other.ready, &other.fresh, &other.later] {
            // One: what is left is its owner's again when that goes on.
            let taken = list.steal_oldest();
            if taken.is_some() {
                return taken;
            }
        }
        self.take_mail_of(other);
        self.turns().batch.append(other.window.take());
        let found = self.take_own();
        found.or_else(|| (other.jobs.waiting() > 0).then(|| self.steal_job(other)).flatten())
    }
}
