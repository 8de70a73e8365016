//! Owns: `scope` and `in_place_scope`: any number of jobs that their maker waits for.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: a scope that returns while one of its jobs lives.
//!
//! The behaviour is that of rayon-core's `scope`. A job that nobody has taken when the body is over is
//! called by the scope's owner, the youngest first.
//!
//! *What is counted.* Jobs in the owner's private list are counted without an atomic, by the owner. Every other job
//! that somebody could still run is counted in the shared count *before* it leaves the list that it was in. A flow that
//! runs a counted job empties its own list of jobs of that scope, or promotes them, before that job counts as
//! ended. So when both counts are zero there is none left.

use super::broadcast::BroadcastContext;
use super::flow::{self, Flow, Without, in_runtime, with_list};
use raddle_core::in_turn::is_in_turn;
use raddle_core::message;
use raddle_core::process::make::{inject_job, spawn_roomy};
use raddle_core::process::scope::{LOST, ScopeData};
use raddle_core::region;
use raddle_core::runtime::Shared;
use raddle_core::runtime::place;
use raddle_core::trace::name_this_job;
use raddle_core::worker::jobs::Slot;
use raddle_core::worker::{self, Here};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::jobs::{How, Node};
use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, PoisonError};

type Panic = Box<dyn Any + Send>;

/// A scope to spawn jobs in; see [`scope`].
pub struct Scope<'scope> {
    data: ScopeData,
    /// The first panic of a job.
    panic: Mutex<Option<Panic>>,
    /// The flow that waits at the end; null if that is an OS thread.
    owner: *const Header,
    /// Jobs in the owner's list; touched by the owner only.
    private: Cell<usize>,
    /// In a task's poll, which must not wait, or where nobody else is to run a job: jobs run at once.
    at_once: bool,
    /// Where its jobs run, if not where its maker does; null if there.
    pool: *const Shared,
    jobs: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: `private` is touched by the owner only; the rest is made of atomics and a lock.
unsafe impl Sync for Scope<'_> {}
// SAFETY: as above.
unsafe impl Send for Scope<'_> {}

/// Runs `body` with a scope, waits for every job that was spawned in it, and returns what `body` returned.
///
/// On an OS thread `body` runs in the default runtime; see [`in_place_scope`].
///
/// # Panics
/// When all have ended: as `body`, or as the first job that panicked.
///
/// ```
/// let mut numbers = [1, 2, 3];
/// raddle::scope(|s| {
///     for number in &mut numbers {
///         s.spawn(move |_| *number *= 10);
///     }
/// });
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
#[track_caller]
pub fn scope<'scope, Body, R>(body: Body) -> R
where
    Body: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    scope_at(Location::caller(), body)
}

/// As [`scope`], called at `site` in the program.
pub(crate) fn scope_at<'scope, Body, R>(site: &'static Location<'static>, body: Body) -> R
where
    Body: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    match Without::of_caller() {
        Without::Thread if !is_in_turn() => in_runtime(site, || scope_here(null(), body, site)),
        _ => scope_here(null(), body, site),
    }
}

/// As [`scope`], but `body` runs here on an OS thread, too, and need not be `Send`.
///
/// # Panics
/// As [`scope`].
#[track_caller]
pub fn in_place_scope<'scope, Body, R>(body: Body) -> R
where
    Body: FnOnce(&Scope<'scope>) -> R,
{
    scope_here(null(), body, Location::caller())
}

/// As [`in_place_scope`], called at `site` in the program. The jobs run in `pool`, to which the caller does not belong
/// and which outlives the call; if it is null, where the caller belongs.
pub(crate) fn scope_here<'scope, Body, R>(
    pool: *const Shared,
    body: Body,
    site: &'static Location<'static>,
) -> R
where
    Body: FnOnce(&Scope<'scope>) -> R,
{
    match (Flow::current(), Without::of_caller()) {
        (None, Without::Process(header)) => with_list(header, || run_scope(pool, body, site)),
        _ => run_scope(pool, body, site),
    }
}

fn run_scope<'scope, Body, R>(pool: *const Shared, body: Body, site: &'static Location<'static>) -> R
where
    Body: FnOnce(&Scope<'scope>) -> R,
{
    // No job for another pool is put into the caller's list.
    let flow = Flow::current().filter(|_| pool.is_null());
    let scope = Scope {
        data: ScopeData::open(),
        panic: Mutex::new(None),
        owner: flow.map_or(null(), |flow| flow.home().cast()),
        private: Cell::new(0),
        at_once: matches!(Without::of_caller(), Without::Poll) || is_in_turn(),
        pool,
        jobs: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    if let Some(flow) = flow {
        while scope.private.get() > 0 {
            scope.run_youngest(flow);
        }
    }
    if !scope.at_once {
        scope.data.wait(site);
    }
    let job_panic = scope.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (result, job_panic) {
        (Ok(_), None) if scope.data.has_lost_some() => panic!("{LOST}"),
        (Ok(value), None) => value,
        (Ok(_), Some(panic)) | (Err(panic), None) => resume_unwind(panic),
        (Err(panic), Some(later)) => {
            let (panic, lost) = region::graver(panic, later);
            region::lose(lost);
            resume_unwind(panic)
        }
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a job that may borrow what outlives the scope, and may spawn further ones in it.
    ///
    /// # Panics
    /// On an OS thread, if the default runtime cannot be started.
    #[inline]
    #[track_caller]
    pub fn spawn<Body>(&self, body: Body)
    where
        Body: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        if self.at_once {
            return self.run(body);
        }
        if !self.pool.is_null() && !place::is_on_worker_of(self.pool) {
            return self.spawn_in_pool(Location::caller(), body);
        }
        let home = std::ptr::from_ref(self).cast();
        let flow = Flow::current();
        // SAFETY: it is gone when the closure is there, and nothing leaves its stack meanwhile.
        let here = flow.map(|flow| unsafe { flow.here() });
        // SAFETY: as above.
        let here = here.or_else(|| unsafe { Here::current() });
        let node = Slot::make_on(here.as_deref(), home, act::<Body>, body);
        if flow.is_some_and(|flow| std::ptr::eq(flow.home().cast(), self.owner)) {
            self.private.set(self.private.get() + 1);
        }
        // SAFETY: just made; the slot stays until the job has been run.
        unsafe { flow::place(flow, node, Location::caller()) };
    }

    /// From outside of the pool that it is a scope of.
    #[cold]
    #[inline(never)]
    fn spawn_in_pool<Body>(&self, site: &'static Location<'static>, body: Body)
    where
        Body: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let node = Slot::make(std::ptr::from_ref(self).cast(), act::<Body>, body);
        // SAFETY: a pool outlives its scopes.
        let pool = unsafe { &*self.pool };
        // SAFETY: just made; the slot stays until the job has been run.
        unsafe { inject_job(pool, node, site) };
    }

    /// Spawns one job on each worker of the pool, which starts it when it next has nothing to run, and which nobody
    /// else can take. If jobs panic, one of the panics resumes at the end of the scope.
    ///
    /// # Panics
    /// On an OS thread, if the default runtime cannot be started.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// let count = AtomicUsize::new(0);
    /// raddle::scope(|s| {
    ///     s.spawn_broadcast(|_, _| {
    ///         count.fetch_add(1, Ordering::Relaxed);
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), raddle::current_num_threads());
    /// ```
    #[track_caller]
    pub fn spawn_broadcast<Body>(&self, body: Body)
    where
        Body: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let site = Location::caller();
        // SAFETY: null, or a pool, which outlives its scopes.
        match unsafe { self.pool.as_ref() } {
            Some(pool) => self.spawn_broadcast_in(pool, site, body),
            None => place::with_runtime(|runtime| self.spawn_broadcast_in(runtime, site, body)),
        }
    }

    fn spawn_broadcast_in<Body>(&self, pool: &Shared, site: &'static Location<'static>, body: Body)
    where
        Body: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let (count, body) = (pool.workers().len(), Arc::new(body));
        for index in 0..count {
            let body = body.clone();
            let job = move |scope: &Scope<'scope>| body(scope, BroadcastContext::new(index, count));
            if self.at_once {
                self.run(job);
                continue;
            }
            self.data.enter().keep();
            let scope = InScope(self);
            // SAFETY: the scope waits until the job has left it; what the job borrows outlives the scope.
            drop(unsafe { spawn_roomy(pool, Some(index), site, move || scope.run_to_end(job)) });
        }
    }

    /// Runs one job; a panic is kept for the owner.
    #[inline(always)]
    fn run<Body: FnOnce(&Scope<'scope>)>(&self, body: Body) {
        match self.data.region() {
            None => self.run_plainly(body),
            Some(region) => self.run_in(region, body),
        }
    }

    /// A job of a scope that may be cancelled: its waits end with those of the scope's maker, whoever runs it; and if
    /// it is cancelled before it has begun, it does not run.
    #[cold]
    #[inline(never)]
    fn run_in<Body: FnOnce(&Scope<'scope>)>(&self, region: &Arc<region::Node>, body: Body) {
        let _stay = region::stay_below(region);
        self.run_plainly(|scope| {
            region::check();
            body(scope);
        });
    }

    #[inline(always)]
    fn run_plainly<Body: FnOnce(&Scope<'scope>)>(&self, body: Body) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(self))) {
            self.keep(panic);
        }
    }

    #[cold]
    #[inline(never)]
    fn keep(&self, panic: Panic) {
        let mut kept = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = kept.take() else {
            *kept = Some(panic);
            return;
        };
        let (panic, lost) = region::graver(first, panic);
        *kept = Some(panic);
        // Its drop runs the program's code.
        drop(kept);
        region::lose(lost);
    }

    /// The owner's flow runs the youngest job of this scope in its list, in which there is one.
    fn run_youngest(&self, flow: Flow<'_>) {
        let forks = flow.forks();
        let mut at = forks.top();
        while let Some(node) = at {
            // SAFETY: what is in the list above a job of a scope that has not ended is a slot: all joins have ended.
            if unsafe { Slot::home(node.as_ptr()) } == std::ptr::from_ref(self).cast() {
                // SAFETY: in the list.
                unsafe { forks.unlink(node.as_ptr()) };
                // The owner's list, also in a forked child, where the owner is an OS thread.
                self.private.set(self.private.get() - 1);
                // SAFETY: just had back; a job of a scope returns nothing.
                unsafe { Node::run_here(node.as_ptr(), null_mut()) };
                return flow.poll();
            }
            // SAFETY: as above.
            at = forks.unless_base(unsafe { node.as_ref() }.older());
        }
        // Not there: the count and the list would disagree.
        message::fatal("a scope has lost a job");
    }

    /// A job leaves the list of this flow; null if it was in none.
    fn leave_list(&self, flow: *const Header) {
        if !flow.is_null() && std::ptr::eq(flow, self.owner) {
            self.private.set(self.private.get() - 1);
        }
    }

    /// What runs a job that was taken: with a list of its own, out of which all of this scope are run at the end.
    fn run_taken<Body: FnOnce(&Scope<'scope>)>(&self, body: Body) {
        let Without::Process(header) = Without::of_caller() else { return self.run(body) };
        with_list(header, || {
            self.run(body);
            let Some(flow) = Flow::current() else { return };
            let mut at = flow.forks().top();
            while let Some(node) = at {
                // SAFETY: what is in this list now are slots: all joins have ended.
                if unsafe { Slot::home(node.as_ptr()) } == std::ptr::from_ref(self).cast() {
                    // SAFETY: in the list.
                    unsafe { flow.forks().unlink(node.as_ptr()) };
                    // SAFETY: just had back; a job of a scope returns nothing.
                    unsafe { Node::run_here(node.as_ptr(), null_mut()) };
                    flow.poll();
                    at = flow.forks().top();
                } else {
                    // SAFETY: as above.
                    at = flow.forks().unless_base(unsafe { node.as_ref() }.older());
                }
            }
        });
    }
}

/// A scope that cannot end yet: somebody who has been counted there holds this.
struct InScope<'a, 'scope>(&'a Scope<'scope>);

impl<'scope> InScope<'_, 'scope> {
    fn run_to_end<Body>(self, body: Body)
    where
        Body: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        run_taken(self.0, body);
    }
}

/// # Safety
/// `node` begins a slot of a job made of a `Body`, whose scope lives, and `how` is as the lists promise.
unsafe fn act<'scope, Body>(node: *mut Node, how: How)
where
    Body: FnOnce(&Scope<'scope>) + Send + 'scope,
{
    // SAFETY: a scope outlives its jobs.
    let scope: *const Scope<'scope> = unsafe { Slot::home(node) }.cast();
    // SAFETY: as above.
    let scope = unsafe { &*scope };
    if let How::Promote(flow) = how {
        scope.data.enter().keep();
        return scope.leave_list(flow);
    }
    // SAFETY: the closure has not run, and is the caller's.
    let body = unsafe { Slot::take::<Body>(node) };
    // SAFETY: in no list, and nobody has a handle.
    unsafe { Slot::free(node) };
    match how {
        How::Here(_) => scope.run(body),
        _ => run_taken(scope, body),
    }
}

/// Out of line, so that a call here saves no registers for it.
#[cold]
#[inline(never)]
fn run_taken<'scope, Body>(scope: &Scope<'scope>, body: Body)
where
    Body: FnOnce(&Scope<'scope>) + Send + 'scope,
{
    name_this_job::<Body>();
    scope.run_taken(body);
    scope.data.leave(false, |owner| {
        // SAFETY: the owner registered itself to be woken once, by this.
        unsafe { worker::wake(owner) };
    });
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
