//! Owns: `Worker`, one OS thread's share of the scheduler, and the way to find the one that we run on.
//! May use: `block::control`, `block::current`, `counters`, `idle_times`, `observe::seed`, `policy`,
//! `tracer`, `raddle-context`, `raddle-protocol`, `raddle-trace`.
//! Never: the half that is its OS thread's alone; that is `own`'s, and the way there `here`'s.
//!
//! A worker is one OS thread and these places where runnables wait, in the order in which it looks:
//!
//! 1. the **batch**: a private first-in-first-out queue; what a running one wakes joins it (no atomics);
//! 2. the **inbox**: what others hand to this very worker;
//! 3. the **ready list**: threads with storage of their own that wait for their turn, open to thieves;
//! 4. the **fresh list**: what was spawned here and has not run, open to thieves;
//! 5. the **window**: surplus of the batch, laid out for thieves, taken back if nobody came;
//! 6. the **shared queues**: injected from outside, and all movable work if the policy says so;
//! 7. other workers' windows, ready and fresh lists, if the policy says `steal`.
//!
//! Every `budget` dispatches there is a *boundary* (`boundary.rs`): the one clock read, timers, mail, injection; and
//! when at least a quantum has passed, the *quantum's* work: start something fresh, lay out surplus, publish.
//!
//! | file | what |
//! |---|---|
//! | `here` | the proof that one is on the worker's own OS thread, and what it opens |
//! | `own` | the half of the worker that is behind it |
//! | `pick` | the fast path from one runnable to the next: who it is |
//! | `enter` | how it comes to run |
//! | `leave` | how the one before gives way |
//! | `engine` | what engines may do on a worker |
//! | `first` | whose turn is next where slices are long |
//! | `hunger` | who looks out for whom others wake |
//! | `gates` | where processes of one worker wait for each other |
//! | `turn` | the loop on the worker's own stack |
//! | `ends` | whether the OS thread may end with it |
//! | `lent` | when an OS thread of the program stands for it |
//! | `slice` | when a time slice has lasted long enough, and what notices it |
//! | `boundary` | what is done once a batch, once a quantum, once a tick |
//! | `promote` | when a fork becomes a job, and a job a process |
//! | `search` | stealing and its manners |
//! | `looks` | what of another's lists is worth a steal |
//! | `sleep` | when nothing is found |
//! | `polling` | who is asked for what ends elsewhere |
//! | `in_den` | who waits for that, and what is spared where one wait follows another |
//! | `room`, `rooms` | memory for what is spawned and is large |
//! | `extra` | workers beside the others, while those stand in calls that the scheduler does not know |
//! | `wake_to` | where who is woken goes |
//! | `seeded` | all of this by a seed |
//! | `seen` | what the watcher may see from outside |
//! | `queued` | who lies in a queue, if all stand still |
//! | `trace` | what is recorded of all that |
//! | `recording` | what the recorder is told and asked |

mod boundary;
mod callback;
pub mod choice;
pub mod ends;
pub(crate) mod engine;
mod enter;
pub(crate) mod extra;
mod first;
mod foreign;
mod gates;
mod heap;
mod here;
pub mod hooks;
pub(crate) mod hunger;
pub(crate) mod in_den;
pub mod jobs;
mod leave;
pub mod lent;
pub(crate) mod live;
pub mod load;
pub(crate) mod looks;
mod nested;
mod own;
mod pick;
pub(crate) mod polling;
pub(crate) mod promote;
mod queued;
pub mod recording;
pub mod rests;
mod room;
pub mod rooms;
mod search;
mod seeded;
mod seen;
pub(crate) mod shared;
pub(crate) mod shared_queue;
mod sleep;
pub mod slice;
mod submit;
pub mod timer;
mod trace;
mod turn;
mod wake_to;
pub mod watching;

use crate::block::Block;
pub use crate::block::current_header;
use crate::block::end_life;
use crate::counters::Counters;
use crate::idle_times::IdleTimes;
use crate::observe::SeedFacts;
use crate::policy::Futures;
use crate::tracer::Tracer;
use crate::worker::extra::EXTRAS_MAX;
use crate::worker::load::Loads;
use crate::worker::timer::Timers;
pub use callback::Callback;
use here::Owned;
pub use here::{Here, LocalWorker};
pub(crate) use nested::Patience;
use own::{Own, Turns};
pub use pick::{fresh_begun, has_work};
use raddle_context::tls::TlsPool;
use raddle_context::{SizeClass, Stack, StackPool};
use raddle_protocol::glance::{GlanceU32, GlanceU64};
use raddle_protocol::header::{AWAY, FOREIGN, Header, Kind, LATER, MOVABLE, OWN_TLS, Runnable, STARTED};
use raddle_protocol::protocol::fresh::FreshQueue;
use raddle_protocol::protocol::inbox::Inbox;
use raddle_protocol::protocol::jobs::JobQueue;
use raddle_protocol::protocol::window::Window;
use raddle_trace::Event;
pub use shared::Shared;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
pub(crate) use submit::submit_task;
pub(crate) use trace::{name_running, trace_job};
pub(crate) use turn::has_no_stack;
pub(crate) use wake_to::WakeTo;

/// Of what watches a worker: it follows a seed.
pub const SEEDED: u8 = 1;
/// It looks out for whom it waits for.
pub const SPINS: u8 = 2;
/// It is recorded.
pub const RECORDED: u8 = 4;
/// It is recorded with every operation.
pub(crate) const OPERATIONS: u8 = 8;

/// Boundaries come at the latest after so many dispatches.
const BUDGET_MAX: u32 = 128;

/// What a worker tells the others about itself, on a line that only it writes, at boundaries.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Published {
    /// Runnables that wait here.
    pub(crate) ready: AtomicUsize,
    /// The nanoseconds that they will take, by the mean of the last slices.
    pub(crate) backlog_ns: AtomicU64,
    /// Waits for the den's that have ended, and are outstanding still.
    put_by: AtomicUsize,
}

/// One worker: the half that is everybody's, and in its midst, closed to all but its own OS thread, the other.
///
/// The words of the first line are those that each switch, spawn or wake looks at, on whichever side they stand.
#[repr(C, align(128))]
pub struct Worker {
    turns: Owned<Turns>,
    /// Counted down by the owner with each dispatch.
    budget: GlanceU32,
    /// How much is recorded.
    trace_level: AtomicU8,
    /// What has waits do more than wait, as bits: [`SEEDED`] and its like. One byte, which they test once.
    watched: AtomicU8,
    /// What the policy says to the two questions that every spawn and every wake ask; `no` while there is a trace, so
    /// that recording costs the plain ways nothing.
    spawns_stay: AtomicBool,
    wakes_stay: AtomicBool,
    pub(crate) ways: Ways,
    /// Dropped by [`Worker`] itself.
    own: ManuallyDrop<Owned<Own>>,

    pub index: usize,
    /// When that was, on the runtime's clock.
    pub(crate) began_ns: u64,
    runtime: Backlink,
    /// Of a worker that follows a seed: what others may know of its schedule.
    pub(crate) seed: Option<SeedFacts>,
    pub(crate) tracer: Tracer,
    pub(crate) inbox: Inbox,
    pub(crate) fresh: FreshQueue,
    /// Threads that wait for their turn, open to thieves as the fresh list is.
    pub(crate) ready: FreshQueue,
    /// What has not run and need not, unless nothing else is left here: the successors of `par_for`. Open to thieves.
    pub(crate) later: FreshQueue,
    pub(crate) window: Window,
    pub jobs: JobQueue,
    pub(crate) published: Published,
    pub(crate) counters: Counters,
    pub(crate) idle_times: IdleTimes,
    pub(crate) loads: Loads,
    timers: Timers,
    /// When the last boundary was. Written by the owner.
    boundary_ns: GlanceU64,
    /// How many started runnables came here from each worker. Written by the owner.
    pub(crate) came_from: Box<[AtomicU64]>,
    /// Said in the end: whether its OS thread stays.
    stays: OnceLock<bool>,
    /// It stands in a call that the scheduler does not know, with others behind it: as far as anybody watches.
    stands: AtomicBool,
    /// The owner's alone: see `door::returns`.
    pub(crate) left_at: AtomicUsize,
}

impl Drop for Worker {
    /// PERF: the code for the parts stood in four places, since workers are dropped in as many: 4 KB.
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more, and this is the only drop.
        unsafe { ManuallyDrop::drop(&mut self.own) };
    }
}

/// How a worker goes about things, by the policy. Never written once it is made.
pub(crate) struct Ways {
    /// Threads that are ready wait where thieves may take them.
    threads_are_open: bool,
    /// In which storage processes run, as flags, and jobs.
    pub(crate) process_flags: u16,
    pub(crate) job_flags: u16,
    scatters: bool,
    /// Looks for a while before it sleeps, and there is somebody to look for.
    spins: bool,
    /// A thread that yields may come to wait elsewhere than in this worker's ready list.
    requeues_elsewhere: bool,
    child_stealing: bool,
    stack_class: SizeClass,
    /// It is one beside the others: see `extra`.
    is_extra: bool,
    /// By whose number it takes from the shared queues.
    takes_as: usize,
}

/// The runtime that a worker is a part of.
struct Backlink(*const Shared);

// SAFETY: it gives shared references only, and what they refer to is `Sync`.
unsafe impl Sync for Backlink {}
// SAFETY: as above.
unsafe impl Send for Backlink {}

/// Whether a task runs here, or the scheduler itself: on the worker's own stack.
///
/// PERF: two loads that wait for nothing, where the kind of what runs is a load behind a load; bench `queue_lock`, CLH.
#[inline(always)]
pub fn at_home() -> bool {
    raddle_context::current::get() == raddle_context::current::home()
}

/// Whether what waits has left its stack, so that whoever holds it may have it run on any worker. What has not is on
/// its way out on the worker that it names, and may be handed to that one: see [`Here::leave_here`].
#[inline]
fn has_left(waiting: &Header) -> bool {
    if waiting.kind != Kind::Process || !waiting.is(STARTED) {
        return true;
    }
    // SAFETY: its kind says that it is a block.
    let block = unsafe { Block::of_header(std::ptr::from_ref(waiting).cast_mut()) };
    // SAFETY: the caller holds it, so that nobody transfers to it meanwhile; the switch that it may be in ends with the
    // one store that is looked for.
    unsafe { &*block.context.get() }.has_left()
}

/// As [`has_left`], and gives it a moment: most often only a few instructions are left of its switch.
#[inline]
fn has_left_by_now(waiting: &Header) -> bool {
    /// About half a microsecond; a wake of a worker that sleeps takes ten times as long.
    const LOOKS: u32 = if cfg!(raddle_twin) { 0 } else { 16 };
    has_left(waiting)
        || (0..LOOKS).any(|_| {
            std::hint::spin_loop();
            has_left(waiting)
        })
}

/// A started thread that may move: it waits where others may take it.
const OPEN: u16 = OWN_TLS | MOVABLE | STARTED;

impl Worker {
    pub(crate) fn new(
        index: usize,
        shared: &Arc<Shared>,
        workers: usize,
        asymmetric: bool,
        stacks: StackPool,
        storages: TlsPool,
    ) -> Self {
        let policy = &shared.policy;
        let ways = Ways::of(shared, index, workers);
        let child_stealing = ways.child_stealing;
        let is_asked_for_jobs = policy.steals() && (workers > 1 || ways.is_extra);
        Worker {
            turns: Owned::new(Turns::new()),
            budget: GlanceU32::new(BUDGET_MAX),
            trace_level: AtomicU8::new(0),
            watched: AtomicU8::new(if ways.spins { SPINS } else { 0 }),
            spawns_stay: AtomicBool::new(policy.spawns_stay()),
            wakes_stay: AtomicBool::new(!policy.queues_shared()),
            ways,
            own: ManuallyDrop::new(Owned::new(Own::new(index, stacks, storages))),
            index,
            began_ns: shared.clock.now_ns(),
            runtime: Backlink(Arc::as_ptr(shared)),
            seed: None,
            tracer: Tracer::new(),
            inbox: Inbox::new(),
            fresh: FreshQueue::new(asymmetric),
            ready: FreshQueue::new(asymmetric),
            later: FreshQueue::new(asymmetric),
            window: Window::new(),
            jobs: JobQueue::new(is_asked_for_jobs, child_stealing),
            published: Published::default(),
            counters: Counters::default(),
            idle_times: IdleTimes::default(),
            loads: Loads::default(),
            timers: Timers::new(),
            left_at: AtomicUsize::new(0),
            boundary_ns: GlanceU64::new(0),
            came_from: (0..shared.idle.workers() + EXTRAS_MAX).map(|_| AtomicU64::new(0)).collect(),
            stays: OnceLock::new(),
            stands: AtomicBool::new(false),
        }
    }

    /// Calls `f` with the worker that this OS thread is, if it is one: its public half. What else it has, [`Here`]
    /// gives. It lives as long as what runs here, and so as `f`.
    #[inline(always)]
    pub fn with_current<T>(f: impl FnOnce(&Worker) -> T) -> Option<T> {
        // SAFETY: `f` cannot keep it.
        unsafe { Worker::current() }.map(f)
    }

    /// The worker that this OS thread is, if it is one: its public half.
    ///
    /// # Safety
    /// It is not used any more when what runs here has ended: its runtime lives as long as that.
    #[inline(always)]
    pub unsafe fn current<'a>() -> Option<&'a Worker> {
        // SAFETY: the word is null or the header of what runs here, which is alive.
        let header = unsafe { current_header().as_ref() }?;
        if header.is(AWAY) {
            return None;
        }
        // SAFETY: what runs has a worker, and it is this thread's.
        Some(unsafe { Worker::of(header) })
    }

    /// The worker of what begins with `header`: its public half.
    ///
    /// # Safety
    /// `header` has been given to a worker, whose runtime lives.
    #[inline(always)]
    pub unsafe fn of<'a>(header: &Header) -> &'a Worker {
        // SAFETY: a worker lives as long as its runtime, and the runtime as long as its runnables.
        unsafe { &*header.worker.get().cast::<Worker>() }
    }

    #[inline(always)]
    pub fn shared(&self) -> &Shared {
        // SAFETY: the runtime's shared part outlives its workers.
        unsafe { &*self.runtime.0 }
    }

    /// The runtime, held. Only while the worker is known to live.
    pub(crate) fn hold_runtime(&self) -> Arc<Shared> {
        // SAFETY: the pointer came from an `Arc`, which lives as long as the worker, its content.
        unsafe { Arc::increment_strong_count(self.runtime.0) };
        // SAFETY: the count was just raised for this one.
        unsafe { Arc::from_raw(self.runtime.0) }
    }

    #[inline(always)]
    fn as_word(&self) -> *mut () {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    pub fn timers(&self) -> &Timers {
        &self.timers
    }

    /// What the runtime's clock says: nanoseconds since it started. It stands still where schedules follow a seed.
    pub fn now_ns(&self) -> u64 {
        self.shared().clock.now_ns()
    }

    /// Is another number after somebody has begun to run here, but for a chance of one in a hundred: counted down with
    /// each dispatch, and set anew at boundaries.
    #[inline]
    pub fn dispatch_count(&self) -> u32 {
        self.budget.get()
    }

    /// The runtime's clock reading at which `after` from now has passed.
    pub fn deadline(&self, after: Duration) -> u64 {
        let now = self.now_ns();
        now.saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Whether what is spawned here, to run where the spawner says, goes there: by some policies it does not.
    pub fn sends_where_told(&self) -> bool {
        self.shared().policy.spawns_stay()
    }

    /// Puts a runnable into this worker's inbox, from any thread.
    pub(crate) fn deliver(&self, runnable: Runnable) {
        if self.inbox.push(runnable) {
            self.shared().wake_owner(self.index);
        }
    }

    #[inline(always)]
    pub(crate) fn stack_class(&self) -> SizeClass {
        self.ways.stack_class
    }
}

impl LocalWorker {
    #[inline(always)]
    pub(crate) fn take_block(&self) -> &'static Block {
        self.own().stores.blocks.take()
    }

    /// Takes back a block whose life is over. The caller was its only holder.
    #[inline(always)]
    pub(crate) fn free_block(&self, block: &'static Block) {
        if block.header.is(FOREIGN) {
            self.give_early_storage(block);
        }
        end_life(block);
        self.own().stores.blocks.give(block);
    }

    #[inline(always)]
    pub(crate) fn give_stack(&self, stack: Stack) {
        // SAFETY: the pool is private to this OS thread, and `give` calls nothing of ours.
        unsafe { &mut *self.own().stores.stacks.get() }.give(stack);
    }

    #[inline(always)]
    pub(crate) fn next_id(&self) -> u64 {
        self.own().stores.ids.next()
    }

    #[inline(always)]
    pub(crate) fn count_exit(&self) {
        Counters::advance(&self.counters.exits, 1);
    }

    /// Queues a runnable on this worker's batch.
    #[inline(always)]
    pub(crate) fn push_local(&self, runnable: Runnable) {
        if self.traces() {
            self.trace_wake(runnable.header(), self.index);
        }
        self.queue(runnable);
    }

    /// Queues what is to run here if nobody else takes it: a thread may be taken by who is idle.
    #[inline(always)]
    fn queue(&self, runnable: Runnable) {
        let flags = runnable.header().flags.get();
        if flags & MOVABLE == 0 {
            self.turns().batch.push_bound(runnable);
        } else if flags & OPEN == OPEN && self.ways.threads_are_open {
            self.queue_thread(runnable);
        } else {
            self.turns().batch.push(runnable);
        }
    }

    /// As [`queue`](Self::queue), for what has been woken and belongs here: the batch counts it as it takes it.
    #[inline(always)]
    fn queue_woken(&self, runnable: Runnable) {
        let flags = runnable.header().flags.get();
        if flags & MOVABLE == 0 {
            self.turns().batch.push_woken(runnable);
        } else if flags & OPEN == OPEN && self.ways.threads_are_open {
            let Some(runnable) = self.unless_sent(runnable) else { return };
            Counters::add(&self.counters.local_wakes, 1);
            self.queue_thread(runnable);
        } else {
            self.turns().batch.push_woken_movable(runnable);
        }
    }

    #[inline(always)]
    fn queue_thread(&self, thread: Runnable) {
        self.my_ready().push(thread);
        if self.shared().idle.wants_knock() {
            self.knock_for_threads();
        }
    }

    /// Somebody sleeps deeply, and more than one thread waits here: have it look.
    #[cold]
    fn knock_for_threads(&self) {
        if self.ready.len_hint() > 1 {
            self.ready.set_mark();
            self.shared().idle.knock();
        }
    }

    /// A thread that has yielded, and left its stack, goes to the end of the queue.
    #[inline(always)]
    fn requeue(&self, thread: Runnable) {
        if self.ways.requeues_elsewhere {
            self.requeue_elsewhere(thread);
        } else if thread.header().is(MOVABLE) && self.ways.threads_are_open {
            self.queue_thread(thread);
        } else {
            self.turns().batch.push(thread);
        }
    }

    #[cold]
    fn requeue_elsewhere(&self, thread: Runnable) {
        let shared = self.shared();
        if !thread.header().is(MOVABLE) || !shared.policy.moves_started() {
            self.turns().batch.push(thread);
        } else if self.ways.scatters {
            let next = (self.index + 1) % shared.workers().len();
            shared.worker(next).deliver(thread);
        } else {
            self.adopt(thread);
        }
    }

    /// Queues what was handed to this worker.
    ///
    /// PERF: a call: wherever it stood in line it made 100 bytes of each program and more.
    #[inline(never)]
    fn take_mail(&self) {
        for runnable in self.inbox.take_all() {
            self.queue_mail(runnable);
        }
    }

    /// Queues what lay in a mail box.
    fn queue_mail(&self, runnable: Runnable) {
        let flags = &runnable.header().flags;
        if flags.get() & LATER != 0 {
            flags.set(flags.get() & !LATER);
            self.my_later().push(runnable);
        } else {
            self.queue(runnable);
        }
    }

    /// Queues what waits: here if it may run here, else where it belongs.
    ///
    /// # Safety
    /// `header` is a waiting runnable (or OS thread) which the caller has just taken the right to queue.
    #[inline(always)]
    pub unsafe fn wake(&self, header: *mut Header) {
        // SAFETY: the caller vouches that it is alive and theirs.
        let waiting = unsafe { &*header };
        let belongs_here = waiting.worker.get() == self.as_word() && self.wakes_stay.load(Ordering::Relaxed);
        if belongs_here {
            // SAFETY: the caller holds the right to queue it.
            let runnable = unsafe { Runnable::from_raw(header) };
            self.queue_woken(runnable.expect("a reference is not null"));
        } else {
            // SAFETY: as above.
            unsafe { self.wake_elsewhere(header) };
        }
    }

    #[cold]
    unsafe fn wake_elsewhere(&self, header: *mut Header) {
        // SAFETY: as in `wake`.
        let waiting = unsafe { &*header };
        if matches!(waiting.kind, Kind::OsThread | Kind::Bell) {
            // SAFETY: the caller holds its one wake.
            return unsafe { wake_otherwise(header) };
        }
        // SAFETY: the caller holds the right to queue it.
        let runnable = unsafe { Runnable::from_raw(header) }.expect("a reference is not null");
        // SAFETY: it waits, so it has a worker, and its runtime lives.
        let home = unsafe { Worker::of(waiting) };
        let same_runtime = std::ptr::eq(home.shared(), self.shared());
        let adopts = waiting.is(MOVABLE) && same_runtime && self.shared().policy.moves_started();
        let adopts = adopts && has_left_by_now(waiting);
        if self.traces() {
            self.trace_wake(waiting, if adopts { self.index } else { home.index });
        }
        if adopts {
            return self.adopt(runnable);
        }
        if home.as_word() == self.as_word() {
            Counters::add(&self.counters.local_wakes, 1);
            return self.queue(runnable);
        }
        if !same_runtime {
            Counters::add(&self.counters.remote_wakes, 1);
            // SAFETY: as above.
            return unsafe { wake_from_outside(header) };
        }
        Counters::add(&self.counters.remote_wakes, 1);
        if !waiting.is(MOVABLE) {
            self.own().steal.note_cross_wake(home.index);
        }
        home.deliver(runnable);
    }

    /// A movable one that somebody here has woken: it comes to its waker, or into the shared queue.
    fn adopt(&self, runnable: Runnable) {
        if self.shared().policy.queues_shared() {
            return self.shared().share(self, runnable);
        }
        let Some(runnable) = self.unless_sent(runnable) else { return };
        Counters::add(&self.counters.local_wakes, 1);
        self.queue(runnable);
    }

    /// Whom `what` wakes, and may move, goes there.
    pub(crate) fn waking<R>(&self, to: WakeTo, what: impl FnOnce() -> R) -> R {
        let before = self.own().wakes_to.replace(to);
        let result = what();
        self.own().wakes_to.set(before);
        result
    }

    /// What is movable and has left its stack, if it is to wait here.
    #[inline(always)]
    fn unless_sent(&self, runnable: Runnable) -> Option<Runnable> {
        if self.own().wakes_to.get() == WakeTo::Here { Some(runnable) } else { self.send_woken(runnable) }
    }

    #[cold]
    fn send_woken(&self, runnable: Runnable) -> Option<Runnable> {
        let shared = self.shared();
        let to = match self.own().wakes_to.get() {
            WakeTo::Here => None,
            WakeTo::First => return self.queue_first(runnable),
            WakeTo::Apart => shared.some_sleeper(self.index),
            WakeTo::Worker(to) => Some(to % shared.workers().len()),
        };
        let Some(to) = to.filter(|to| *to != self.index) else { return Some(runnable) };
        Counters::add(&self.counters.shared_out, 1);
        shared.worker(to).deliver(runnable);
        None
    }

    /// How many wait here, as far as the owner knows.
    fn ready(&self) -> usize {
        self.turns().batch.len() + self.ready.len_hint() + self.fresh.len_hint() + self.later.len_hint()
    }

    fn publish_backlog(&self, slice_ns: u64) {
        let ready = self.ready();
        self.published.ready.store(ready, Ordering::Relaxed);
        self.published.backlog_ns.store(ready as u64 * slice_ns, Ordering::Relaxed);
    }
}

impl Ways {
    fn of(shared: &Shared, index: usize, workers: usize) -> Ways {
        let policy = &shared.policy;
        let is_extra = index >= shared.idle.workers();
        Ways {
            threads_are_open: policy.steals() && policy.moves_started(),
            process_flags: shared.process_flags,
            job_flags: shared.job_flags,
            scatters: shared.scatters,
            spins: policy.spin_ns() > 0 && workers > 1,
            requeues_elsewhere: shared.scatters || policy.queues_shared(),
            child_stealing: policy.futures == Futures::Child,
            stack_class: shared.stack_class,
            is_extra,
            takes_as: if is_extra { 0 } else { index },
        }
    }
}

/// Queues what waits, from any thread.
///
/// # Safety
/// As for [`LocalWorker::wake`].
#[inline]
pub unsafe fn wake(header: *mut Header) {
    // SAFETY: it is gone when this returns, and nothing leaves its stack meanwhile.
    match unsafe { Here::current() } {
        // SAFETY: passed on to the caller.
        Some(worker) => unsafe { worker.wake(header) },
        // SAFETY: passed on to the caller.
        None => unsafe { wake_from_outside(header) },
    }
}

#[cold]
unsafe fn wake_from_outside(header: *mut Header) {
    // SAFETY: the caller vouches that it is alive and theirs.
    let waiting = unsafe { &*header };
    if matches!(waiting.kind, Kind::OsThread | Kind::Bell) {
        // SAFETY: the caller holds its one wake.
        return unsafe { wake_otherwise(header) };
    }
    // SAFETY: the caller holds the right to queue it.
    let runnable = unsafe { Runnable::from_raw(header) }.expect("a reference is not null");
    // SAFETY: it waits, so it has a worker, and its runtime lives.
    let home = unsafe { Worker::of(waiting) };
    // From the moment in which it is queued it may run, end, and let its runtime end, while we still wake its worker.
    let runtime = home.hold_runtime();
    if !runtime.is_here() {
        return; // of a process that has forked this one: what waits there does not exist here
    }
    let moves = waiting.is(MOVABLE) && runtime.policy.moves_started() && has_left_by_now(waiting);
    if runtime.trace.looks_outside() {
        home.trace_outside(Event::WakeOutside, waiting, (!moves).then_some(home.index));
    }
    if moves {
        runtime.inject(runnable);
    } else {
        home.deliver(runnable);
    }
}

/// Wakes what is in no queue.
///
/// # Safety
/// `header` is of kind `OsThread` or `Bell`, and this is its one wake.
unsafe fn wake_otherwise(header: *mut Header) {
    // SAFETY: the caller vouches that it is there.
    let waiting = unsafe { &*header };
    // SAFETY: its kind says how it was made.
    let wake = unsafe { waiting.act() };
    // SAFETY: passed on to the caller.
    unsafe { wake(header) };
}
