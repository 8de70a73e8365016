//! Owns: `scope_fifo` and `in_place_scope_fifo`: jobs that run in the order in which they were spawned.
//! May use: `raddle-core`.
//! Never: an order among the jobs of a scope and those of another.
//!
//! A scope calls the youngest of its jobs first, since that one lies on top of its flow's list. So what lies there for
//! a job of this scope is only the *turn* of one, and the jobs themselves wait in a queue of the scope: whoever runs a
//! turn, be it the youngest or one that was taken, runs the oldest job. (rayon-core does it so, with a queue for each
//! thread. Before, the owner let go of all its jobs, and its worker took them in order: then jobs of a scope around
//! this one were in the same line, and ran first.)

use super::broadcast::BroadcastContext;
use super::flow::{Without, in_runtime};
use super::scope::{Scope, scope_here};
use raddle_core::in_turn::is_in_turn;
use raddle_core::runtime::Shared;
use raddle_core::worker::rooms::{give_room, put_into_room, take_out_of_room};
use std::collections::VecDeque;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::{NonNull, null};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A scope whose jobs run in the order in which they were spawned; see [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    scope: *const Scope<'scope>,
    jobs: *const Jobs<'scope>,
}

/// A job: a closure in a room of its own, and what calls and what drops it.
struct FifoJob<'scope> {
    room: NonNull<()>,
    call: unsafe fn(NonNull<()>, &ScopeFifo<'scope>),
    drop: unsafe fn(NonNull<()>),
}

// SAFETY: what lies in the room is `Send`: `new` asks for it.
unsafe impl Send for FifoJob<'_> {}

impl<'scope> FifoJob<'scope> {
    fn new<F: FnOnce(&ScopeFifo<'scope>) + Send + 'scope>(f: F) -> FifoJob<'scope> {
        unsafe fn call<'scope, F: FnOnce(&ScopeFifo<'scope>)>(room: NonNull<()>, scope: &ScopeFifo<'scope>) {
            // SAFETY: an `F` was put there, says the caller, who never looks at it again.
            let f = unsafe { take_out_of_room::<F>(room.cast()) };
            f(scope);
        }
        unsafe fn drop_there<F>(room: NonNull<()>) {
            // SAFETY: as above.
            unsafe { room.cast::<F>().drop_in_place() };
            // SAFETY: as above.
            unsafe { give_room::<F>(room.cast()) };
        }
        FifoJob { room: put_into_room(f).cast(), call: call::<F>, drop: drop_there::<F> }
    }

    fn call(self, scope: &ScopeFifo<'scope>) {
        let job = ManuallyDrop::new(self);
        // SAFETY: what lies in the room is what `call` is for, and is not dropped again.
        unsafe { (job.call)(job.room, scope) };
    }
}

impl Drop for FifoJob<'_> {
    fn drop(&mut self) {
        // SAFETY: as in `call`; nobody has called it.
        unsafe { (self.drop)(self.room) };
    }
}

/// Jobs that have not begun, as many as turns.
type Jobs<'scope> = Mutex<VecDeque<FifoJob<'scope>>>;

// SAFETY: both parts may be used by several threads; who has one of these is the scope's body or one of its jobs, and
// the scope outlives those.
unsafe impl Sync for ScopeFifo<'_> {}
// SAFETY: as above.
unsafe impl Send for ScopeFifo<'_> {}

/// As [`scope`](super::scope()), but of the jobs that nobody has begun, the oldest runs first.
///
/// Its jobs lie in a queue that all workers share, which costs more than a job of [`scope`](super::scope()).
///
/// # Panics
/// As [`scope`](super::scope()).
///
/// ```
/// let order = std::sync::Mutex::new(Vec::new());
/// raddle::scope_fifo(|s| {
///     for n in 0..3 {
///         let order = &order;
///         s.spawn_fifo(move |_| order.lock().unwrap().push(n));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap().len(), 3);
/// ```
#[track_caller]
pub fn scope_fifo<'scope, Body, R>(body: Body) -> R
where
    Body: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    fifo_at(Location::caller(), body)
}

/// As [`scope_fifo`], called at `site` in the program.
pub(crate) fn fifo_at<'scope, Body, R>(site: &'static Location<'static>, body: Body) -> R
where
    Body: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    match Without::of_caller() {
        Without::Thread if !is_in_turn() => in_runtime(site, || fifo_here(null(), body, site)),
        _ => fifo_here(null(), body, site),
    }
}

/// As [`scope_fifo`], but `body` runs here on an OS thread, too, and need not be `Send`.
///
/// # Panics
/// As [`scope_fifo`].
#[track_caller]
pub fn in_place_scope_fifo<'scope, Body, R>(body: Body) -> R
where
    Body: FnOnce(&ScopeFifo<'scope>) -> R,
{
    fifo_here(null(), body, Location::caller())
}

/// As [`in_place_scope_fifo`], called at `site` in the program; see [`scope_here`].
pub(crate) fn fifo_here<'scope, Body, R>(
    pool: *const Shared,
    body: Body,
    site: &'static Location<'static>,
) -> R
where
    Body: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let jobs = Jobs::default();
    scope_here(pool, |scope| body(&ScopeFifo { scope, jobs: &raw const jobs }), site)
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns a job that may borrow what outlives the scope, and may spawn further ones in it.
    ///
    /// # Panics
    /// On an OS thread, if the default runtime cannot be started.
    #[inline]
    #[track_caller]
    pub fn spawn_fifo<Body>(&self, body: Body)
    where
        Body: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let job = FifoJob::new(body);
        // SAFETY: the queue outlives the caller, who is the scope's body or one of its jobs.
        lock(unsafe { &*self.jobs }).push_back(job);
        let turn = Turn(self.jobs);
        // SAFETY: as above.
        unsafe { &*self.scope }.spawn(move |scope| turn.run(scope));
    }

    /// Spawns a job on each worker of the pool; see [`Scope::spawn_broadcast`].
    ///
    /// # Panics
    /// As [`spawn_fifo`](Self::spawn_fifo).
    #[track_caller]
    pub fn spawn_broadcast<Body>(&self, body: Body)
    where
        Body: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let jobs = Turn(self.jobs);
        // SAFETY: the scope outlives the caller, who is its body or one of its jobs.
        unsafe { &*self.scope }.spawn_broadcast(move |scope, context| jobs.lend(scope, |s| body(s, context)));
    }
}

/// The right to run one job.
struct Turn<'scope>(*const Jobs<'scope>);

// SAFETY: as for `ScopeFifo`.
unsafe impl Send for Turn<'_> {}
// SAFETY: as above.
unsafe impl Sync for Turn<'_> {}

impl<'scope> Turn<'scope> {
    /// Runs the oldest job.
    fn run(self, scope: &Scope<'scope>) {
        // SAFETY: the queue outlives the scope, one of whose jobs calls.
        let oldest = lock(unsafe { &*self.0 }).pop_front();
        let job = oldest.expect("there are as many jobs as turns");
        job.call(&ScopeFifo { scope, jobs: self.0 });
    }

    /// Calls `f` with the scope whose queue this is of.
    fn lend(&self, scope: &Scope<'scope>, f: impl FnOnce(&ScopeFifo<'scope>)) {
        f(&ScopeFifo { scope, jobs: self.0 });
    }
}

fn lock<'a, 'scope>(jobs: &'a Jobs<'scope>) -> MutexGuard<'a, VecDeque<FifoJob<'scope>>> {
    // Nothing panics inside but for want of memory.
    jobs.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").finish_non_exhaustive()
    }
}
