//! Owns: `fork` and `Fork`: a value that is computed at the latest when it is asked for.
//! May use: `raddle-core`, `raddle-protocol`, `raddle-trace`.
//! Never: a fork run on the stack of another flow than the one that made it and now asks for it.

use super::flow::{self, Flow};
use super::in_bag;
use super::waits::{JOIN_FORK, JOIN_PRIVATE_FORK, Promised};
use raddle_core::in_turn::is_in_turn;
use raddle_core::trace::{name_this_job, note_job, number_of_job};
use raddle_core::wait::Wait;
use raddle_core::wait::park;
use raddle_core::worker;
use raddle_core::worker::jobs::Slot;
use raddle_core::worker::jobs::{self, PlaceAct, What};
use raddle_protocol::header::Header;
use raddle_protocol::protocol::bag::{Chunk, Place};
use raddle_protocol::protocol::jobs::{How, Node, Reclaimed};
use raddle_protocol::protocol::join::{Finished, JoinWord, Registered};
use raddle_protocol::protocol::promise::{Asked, Asker};
use raddle_trace::Event;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

/// The handle of a forked call: its value is being computed, or will be when it is asked for; see [`fork`].
///
/// Dropping it does not stop the computation: it runs when a worker is idle, or when its maker waits or ends.
pub struct Fork<T> {
    at: At,
    value: PhantomData<T>,
}

/// Where it is: at a place in its maker's bag; or, marked, in a record, if its maker has none.
#[derive(Clone, Copy)]
struct At(*mut ());

const RECORD: usize = 1;

impl At {
    fn record(node: *mut Node) -> At {
        At(node.cast::<()>().map_addr(|a| a | RECORD))
    }

    /// The place, or the record.
    #[inline(always)]
    fn place(self) -> Result<*mut Place, *mut Node> {
        if self.0.addr() & RECORD == 0 {
            Ok(self.0.cast())
        } else {
            Err(self.0.map_addr(|a| a & !RECORD).cast())
        }
    }

    /// The record of a fork that is no longer private.
    ///
    /// # Safety
    /// The caller has the handle.
    unsafe fn promoted(self) -> Option<*mut Node> {
        match self.place() {
            // SAFETY: a place is in use as long as the handle.
            Ok(place) => unsafe { &(*place).promise }.record().map(<*mut ()>::cast),
            Err(record) => Some(record),
        }
    }

    /// The handle of a promoted fork is used up.
    fn let_go(self) {
        if let Ok(place) = self.place() {
            // SAFETY: this is the handle, and it is used up.
            unsafe { jobs::let_go(place) };
        }
    }
}

// SAFETY: the handle is the right to the value, and to nothing else.
unsafe impl<T: Send> Send for Fork<T> {}
// SAFETY: a shared handle only looks at the join word.
unsafe impl<T> Sync for Fork<T> {}

/// Forks a call of `f`, which an idle worker may run while the caller goes on; [`join`](Fork::join) gives its value.
///
/// Nothing is started for it: if nobody has taken it, `join` calls `f` like a function, so that a million forks cost a
/// few nanoseconds each. When the caller waits, or ends, its forks are offered to all workers. One that was taken runs
/// as a process, with thread-local variables of its own. Unlike Rust's futures, it needs no executor, and may wait.
///
/// [`raddle::join`](crate::join) and scopes fork calls that borrow.
///
/// # Panics
/// On an OS thread, if the default runtime cannot be started.
///
/// ```
/// let squares: Vec<_> = (0..100_u64).map(|n| raddle::fork(move || n * n)).collect();
/// assert_eq!(squares.into_iter().map(|square| square.join()).sum::<u64>(), 328_350);
/// ```
#[inline]
#[track_caller]
pub fn fork<F, T>(f: F) -> Fork<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Flow::current() {
        Some(flow) if !flow.forks_with_care() => make(flow, f),
        _ => make_without_list(f, Location::caller()),
    }
}

/// [`Fork`], by its former name.
#[deprecated(since = "0.1.0", note = "renamed to `Fork`, since it is not a Rust `Future`")]
pub type Future<T> = Fork<T>;

/// [`fork`], by its former name.
///
/// # Panics
/// As `fork`.
#[deprecated(since = "0.1.0", note = "renamed to `fork`, since it makes no Rust `Future`")]
#[inline]
#[track_caller]
pub fn future<F, T>(f: F) -> Fork<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    fork(f)
}

#[cold]
#[inline(never)]
fn make_without_list<F: FnOnce() -> T, T>(f: F, site: &'static Location<'static>) -> Fork<T> {
    if is_in_turn() {
        return make_done(f);
    }
    match Flow::current().or_else(flow::with_own_list) {
        Some(flow) => make(flow, f),
        None => make_record(f, site),
    }
}

/// Where nobody else is to run it, since the caller would wait for him for ever, by chance.
fn make_done<F: FnOnce() -> T, T>(f: F) -> Fork<T> {
    let node = Slot::make(std::ptr::null(), act::<F, T>, f);
    // SAFETY: just made.
    unsafe { Node::renew_join(node) };
    // SAFETY: as above; it is in no list, and this is its one run.
    unsafe { act::<F, T>(node, How::Taken) };
    Fork { at: At::record(node), value: PhantomData }
}

#[inline(always)]
fn make<F: FnOnce() -> T, T>(flow: Flow<'_>, f: F) -> Fork<T> {
    // SAFETY: it is gone when the closure is there, and nothing leaves its stack meanwhile.
    let here = unsafe { flow.here() };
    let place = in_bag::put(&here, flow.forks(), flow.home(), f);
    flow.poll();
    Fork { at: At(place.cast()), value: PhantomData }
}

/// In a task's poll, or on an OS thread.
fn make_record<F: FnOnce() -> T, T>(f: F, site: &'static Location<'static>) -> Fork<T> {
    let node = Slot::make(std::ptr::null(), act::<F, T>, f);
    // SAFETY: just made.
    unsafe { Node::renew_join(node) };
    // SAFETY: as above; the slot stays until the fork has been run and its handle is gone.
    unsafe { flow::place(None, node, site) };
    Fork { at: At::record(node), value: PhantomData }
}

/// # Safety
/// `node` begins a slot of a fork made of an `F`, and `how` is as the lists promise.
pub(super) unsafe fn act<F: FnOnce() -> T, T>(node: *mut Node, how: How) {
    if let How::Promote(_) = how {
        return;
    }
    // SAFETY: the closure has not run, and is the caller's.
    let f = unsafe { Slot::take::<F>(node) };
    // SAFETY: passed on to the caller.
    unsafe { run(node, how, f) };
}

/// # Safety
/// `node` begins a slot of a fork, whose room is empty, since `f` is its closure; it is run, and `how` is as the lists
/// promise.
pub(super) unsafe fn run<F: FnOnce() -> T, T>(node: *mut Node, how: How, f: F) {
    match how {
        // SAFETY: the caller has room for a `T`.
        How::Here(out) => unsafe { out.cast::<T>().write(f()) },
        // SAFETY: passed on to the caller.
        _ => unsafe { run_taken::<F, T>(node, f) },
    }
}

/// Out of line, so that a call here saves no registers for it.
///
/// # Safety
/// As [`run`]: it has been taken.
#[cold]
#[inline(never)]
unsafe fn run_taken<F: FnOnce() -> T, T>(node: *mut Node, f: F) {
    name_this_job::<F>();
    let result: std::thread::Result<T> = catch_unwind(AssertUnwindSafe(f));
    // SAFETY: the room is empty, and nobody else looks before the end is published.
    unsafe { Slot::put(node, result) };
    // SAFETY: the slot is in use until the second of taker and handle has let it go.
    match unsafe { &(*node).join }.finish() {
        Finished::HandleHasIt => {}
        // SAFETY: it registered itself to be woken once, by this.
        Finished::Wake(joiner) => unsafe { worker::wake(joiner) },
        // SAFETY: the handle is gone.
        Finished::Free => drop(unsafe { take_result::<T>(node) }),
    }
}

/// # Safety
/// `node` begins the slot of a fork that was taken and has ended; this is the last look at it.
unsafe fn take_result<T>(node: *mut Node) -> std::thread::Result<T> {
    // SAFETY: passed on to the caller.
    let result = unsafe { Slot::take::<std::thread::Result<T>>(node) };
    // SAFETY: as above.
    unsafe { Slot::free(node) };
    result
}

impl<T> Fork<T> {
    /// The value: computed here if nobody has taken the fork, else waited for. A process that waits leaves its
    /// worker.
    ///
    /// # Panics
    /// As the closure; and inside a task, which must not wait, if there is something to wait for.
    #[inline]
    #[track_caller]
    pub fn join(self) -> T {
        let at = self.at;
        std::mem::forget(self);
        if let (Some(flow), Ok(place)) = (Flow::current(), at.place()) {
            // SAFETY: in use: the handle was ours.
            let is_ours = unsafe { Chunk::home(place) } == flow.home();
            // SAFETY: as above.
            if is_ours && let Some(act) = unsafe { &(*place).promise }.private() {
                // SAFETY: private and ours: in our bag; and the handle was ours.
                return unsafe { Self::run_here(flow, place, act) };
            }
        }
        // SAFETY: the handle was ours.
        unsafe { Self::join_elsewhere(at, Location::caller()) }
    }

    /// # Safety
    /// `place` is in the bag of the running flow, which has made this fork; it is private, and `act` is what to do.
    /// The handle is used up.
    #[inline(always)]
    unsafe fn run_here(flow: Flow<'_>, place: *mut Place, act: *mut ()) -> T {
        // SAFETY: passed on to the caller.
        let act = unsafe { jobs::as_act(act) };
        // SAFETY: as above.
        unsafe { &(*place).promise }.clear();
        let mut out = MaybeUninit::<T>::uninit();
        // SAFETY: as above.
        if unsafe { flow.forks().bag.leave(place) } {
            // SAFETY: as above. The place may be used again as soon as the closure has been taken out of it: its chunk
            // holds others, and only this flow makes forks there.
            unsafe { act(place, What::Here(out.as_mut_ptr().cast())) };
        } else {
            // SAFETY: as above.
            unsafe { run_last(flow, place, act, out.as_mut_ptr().cast()) };
        }
        // SAFETY: the act has written it, or has not returned.
        unsafe { out.assume_init() }
    }

    /// It was promoted, or another flow has made it.
    ///
    /// # Safety
    /// The handle is used up by this call.
    #[cold]
    #[inline(never)]
    unsafe fn join_elsewhere(at: At, site: &'static Location<'static>) -> T {
        // SAFETY: the handle was ours.
        let record = match unsafe { at.promoted() } {
            Some(record) => record,
            // SAFETY: as above.
            None => unsafe { wait_for_promoted(at, site) },
        };
        // SAFETY: the record is in use until the end of this, and its handle was ours.
        if unsafe { may_be_had_back(record) }
            // SAFETY: ours, and promoted.
            && unsafe { Node::reclaim_promoted(record) } == Reclaimed::Ours
        {
            note_job(Event::JobBack, number_of_job(record));
            at.let_go();
            // SAFETY: as it says.
            return unsafe { Self::run_record_here(record) };
        }
        // SAFETY: as above.
        let word: &JoinWord<Header> = unsafe { &(*record).join };
        if !word.is_done() {
            let wait = Wait::on(const { &JOIN_FORK }, word, site);
            let _shown = wait.show();
            park::wait_registered_on(JOIN_FORK.call(), record.addr(), |getter| {
                word.register(getter) == Registered::Waits
            });
        }
        at.let_go();
        // SAFETY: it has ended, and the handle was the last to look.
        unsafe { take_result(record) }.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// # Safety
    /// The calling flow has made the fork and has it back; the handle is used up.
    unsafe fn run_record_here(record: *mut Node) -> T {
        struct Free(*mut Node);
        impl Drop for Free {
            fn drop(&mut self) {
                // SAFETY: run, or unwinding out of its closure; the handle is used up, and the slot is in no list.
                unsafe { Slot::free(self.0) };
            }
        }
        let _free = Free(record);
        let mut out = MaybeUninit::<T>::uninit();
        // SAFETY: passed on to the caller.
        unsafe { Node::run_here(record, out.as_mut_ptr().cast()) };
        // SAFETY: `run_here` has written it, or has not returned.
        unsafe { out.assume_init() }
    }

    /// [`join`](Self::join), by its former name.
    ///
    /// # Panics
    /// As `join`.
    #[deprecated(since = "0.1.0", note = "renamed to `join`")]
    #[track_caller]
    pub fn get(self) -> T {
        self.join()
    }

    /// The handle as a word that C can keep: no memory of its own.
    #[doc(hidden)]
    #[inline]
    pub fn into_raw(self) -> *mut () {
        let at = self.at;
        std::mem::forget(self);
        at.0
    }

    /// The handle again.
    ///
    /// # Safety
    /// The word came from [`into_raw`](Self::into_raw) of a handle for the same `T`, and one handle at a time is used
    /// or dropped.
    #[doc(hidden)]
    #[inline]
    pub unsafe fn from_raw(word: *mut ()) -> Self {
        Fork { at: At(word), value: PhantomData }
    }

    /// Whether somebody else has computed the value, so that [`join`](Self::join) neither waits nor computes.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the handle is ours.
        let record = unsafe { self.at.promoted() };
        // SAFETY: the record is in use while the handle lives.
        record.is_some_and(|record| unsafe { &(*record).join }.is_done())
    }
}

/// Whether the running flow has made the fork, and may look for its job where it was promoted to.
///
/// Control blocks are used again, in other runtimes, too: the flow may only have the address of the one that did. Then
/// the queue may be gone with its runtime, and so it is looked at only if it is one of the caller's own.
///
/// # Safety
/// `record` is one of a promoted fork, whose handle the caller has.
unsafe fn may_be_had_back(record: *mut Node) -> bool {
    // SAFETY: the record is in use as long as the handle.
    let Some(flow) = flow::at_home(unsafe { Slot::home(record) }) else { return false };
    // SAFETY: as above; whatever flow had this address has promoted it, and if it was another one, has ended since.
    let queue = unsafe { &*record }.promoted_to();
    flow.shared().everybody().any(|worker| std::ptr::eq(&raw const worker.jobs, queue))
}

/// Runs the fork whose chunk has no other private one, and sees to the chunk.
///
/// # Safety
/// As [`Fork::run_here`]; the fork has left the bag, and its closure has not been taken out.
#[cold]
#[inline(never)]
unsafe fn run_last(flow: Flow<'_>, place: *mut Place, act: PlaceAct, out: *mut ()) {
    struct Clear<'a>(Flow<'a>, *mut Place);
    impl Drop for Clear<'_> {
        fn drop(&mut self) {
            // SAFETY: the closure has been taken out; the place is in the bag of the flow, which still runs.
            let chunk = unsafe { self.0.forks().bag.clear(self.1) };
            chunk.into_iter().for_each(|chunk| {
                // SAFETY: it is gone at once.
                let here = unsafe { self.0.here() };
                // SAFETY: the bag has just let it go.
                unsafe { here.chunks().give(chunk) }
            });
        }
    }
    let _clear = Clear(flow, place);
    // SAFETY: passed on to the caller.
    unsafe { act(place, What::Here(out)) };
}

/// Waits until a fork that another flow has, privately, was promoted and has run. Its record.
///
/// # Safety
/// The caller has the handle.
unsafe fn wait_for_promoted(at: At, site: &'static Location<'static>) -> *mut Node {
    let Ok(place) = at.place() else { unreachable!("a record is not private") };
    // SAFETY: a place is in use as long as the handle.
    let promise = unsafe { &(*place).promise };
    let asker = Asker::<Header>::new();
    // SAFETY: as above.
    let maker = Promised { maker: unsafe { Chunk::home(place) } };
    let wait = Wait::on(const { &JOIN_PRIVATE_FORK }, &maker, site);
    let _shown = wait.show();
    park::wait_registered(JOIN_PRIVATE_FORK.call(), |getter| match promise.ask(&asker, getter) {
        Asked::Waits => true,
        Asked::Promoted(record) => {
            // SAFETY: the record is in use as long as the handle.
            let join = unsafe { &(*record.cast::<Node>()).join };
            join.register(getter) == Registered::Waits
        }
    });
    promise.record().expect("who waited was woken by the job's end").cast()
}

impl<T> Drop for Fork<T> {
    fn drop(&mut self) {
        let record = match self.at.place() {
            // SAFETY: a place is in use as long as the handle.
            Ok(place) => unsafe { &(*place).promise }.drop_handle().map(<*mut ()>::cast::<Node>),
            Err(record) => Some(record),
        };
        let Some(record) = record else { return };
        // The record outlives its place: it is let go of next.
        self.at.let_go();
        // SAFETY: the record is in use until both its taker and the handle have let go.
        if unsafe { &(*record).join }.detach() {
            // SAFETY: it has ended, and the handle is the last to look.
            drop(unsafe { take_result::<T>(record) });
        }
    }
}

impl<T> fmt::Debug for Fork<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fork").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}
