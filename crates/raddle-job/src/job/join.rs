//! Owns: `join` and `join_context`.
//! May use: `raddle-core`, `raddle-protocol`, `raddle-trace`.
//! Never: a frame left before its fork is back, whatever panics.
//!
//! The behaviour is that of rayon-core's functions of these names: `a` runs in the caller, `b` in the caller or
//! elsewhere; both run to their end whatever panics; if both panic, `a`'s panic goes on. What differs: `b` that was
//! taken is a process of its own, so that it may wait; and the caller that waits for it leaves its worker.

use super::flow::{Flow, Without, in_runtime, with_list};
use super::waits::JOIN;
use raddle_core::door::team;
use raddle_core::in_turn::is_in_turn;
use raddle_core::orphan::{end_of_orphan, is_orphan};
use raddle_core::region;
use raddle_core::trace::{name_this_job, note_job, number_of_job};
use raddle_core::wait::Wait;
use raddle_core::wait::park;
use raddle_core::worker;
use raddle_protocol::header::Header;
use raddle_protocol::protocol::jobs::{How, Node, Reclaimed};
use raddle_protocol::protocol::join::{Finished, Registered};
use raddle_trace::Event;
use std::any::Any;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::thread::Result;
use std::time::Duration;

/// So long a parent looks for the end of its taken fork before it parks, while its worker has nothing else to run and
/// no job lies open elsewhere: what is left of a loop that is not cut any more takes half of this. Who parks is woken
/// where the taker runs, and what it has in its worker's cache is then far away.
///
/// PERF: bench `loops`, values, two workers, of Rayon, with 20 us: a hundred thousand 1.32 -> 1.01, ten thousand
/// 1.71 -> 1.32.
const LOOK: Duration = Duration::from_micros(50);

/// What a closure of [`join_context`] is told of where it runs.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// As in Rayon: it stays with the closure that it was given to.
    stays: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline(always)]
    fn new(migrated: bool) -> Self {
        FnContext { migrated, stays: PhantomData }
    }

    /// Whether the closure was taken, and so runs in another flow of control than the call, often on another worker.
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs two closures, perhaps in parallel, and returns both results.
///
/// `a` runs here. `b` may be taken by a worker that is idle; if nobody has taken it when `a` is done, it is called
/// here. What is taken runs as a process, with thread-local variables of its own: either closure may wait, and so may
/// the caller for `b`, without blocking a worker. On an OS thread the whole call runs in the default runtime.
///
/// In a region that is cancelled (`raddle::cancel`), neither closure begins any more, and whoever runs one is in the
/// region. In a transaction for which all others wait, both are called here, one after the other.
///
/// # Panics
/// Both closures run to their end first. If one panics, its panic goes on here; if both do, `a`'s.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if let [number] = numbers {
///         return *number;
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = raddle::join(|| sum(left), || sum(right));
///     left + right
/// }
/// assert_eq!(sum(&(1..=1000).collect::<Vec<_>>()), 500_500);
/// ```
#[inline]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|_| a(), |_| b())
}

/// As [`join`]; the closures learn whether they have been taken.
///
/// # Panics
/// As [`join`].
#[inline]
#[track_caller]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    context_at(Location::caller(), a, b)
}

/// As [`join`], for a call that a wait shall name.
#[inline]
pub(crate) fn join_at<A, B, RA, RB>(site: &'static Location<'static>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    context_at(site, |_| a(), |_| b())
}

#[inline(always)]
fn context_at<A, B, RA, RB>(site: &'static Location<'static>, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Flow::current() {
        Some(flow) if !flow.forks_with_care() => fork(flow, a, b, false, site),
        Some(flow) => with_care(flow, a, b, false, site),
        None => outermost(a, b, site),
    }
}

/// In a region that may be cancelled, or where nobody else is to run a fork. Out of line: nobody else pays for it but
/// by a test of flags. PERF: bench `fib`.
#[cold]
#[inline(never)]
fn with_care<A, B, RA, RB>(
    flow: Flow<'_>,
    a: A,
    b: B,
    migrated: bool,
    site: &'static Location<'static>,
) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    if !flow.forks_with_care() {
        return fork(flow, a, b, migrated, site);
    }
    if is_in_turn() {
        return in_turn(a, b);
    }
    let (mut a, mut b, mut ra, mut rb) = (Some(a), Some(b), None, None);
    let mut run_a = |context| ra = a.take().map(|a| a(context));
    let mut run_b = |context| rb = b.take().map(|b| b(context));
    let done = catch_unwind(AssertUnwindSafe(|| in_region(flow, &mut run_a, &mut run_b, migrated, site)));
    match (done, ra, rb) {
        (Ok(()), Some(ra), Some(rb)) => (ra, rb),
        (Err(panic), _, unwanted) => {
            // If one of their drops panics, it is one panic in the place of another.
            drop((unwanted, b, a));
            resume_unwind(panic)
        }
        _ => unreachable!("both have run"),
    }
}

/// A fork in a region that may be cancelled. What has not begun when it is cancelled does not begin, and who takes `b`
/// is in the region, too, so that his waits end with it.
///
/// By reference: one for all calls of `join`.
fn in_region(
    flow: Flow<'_>,
    a: &mut dyn FnMut(FnContext),
    b: &mut dyn FnMut(FnContext),
    migrated: bool,
    site: &'static Location<'static>,
) {
    region::check();
    let region = region::hold();
    let b = move |context: FnContext| {
        let _stay = region.filter(|_| context.migrated).map(|above| region::stay_below(&above));
        region::check();
        b(context);
    };
    fork(flow, a, b, migrated, site);
}

/// No list yet.
#[cold]
#[inline(never)]
fn outermost<A, B, RA, RB>(a: A, b: B, site: &'static Location<'static>) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if is_in_turn() {
        return in_turn(a, b);
    }
    match Without::of_caller() {
        Without::Process(header) => with_new_list(header, a, b, false, site),
        Without::Poll => in_turn(a, b),
        Without::Thread => in_runtime(site, || from_outside(a, b, site)),
    }
}

/// The process of the default runtime forks in the place of an OS thread: there, both closures have migrated.
fn from_outside<A, B, RA, RB>(a: A, b: B, site: &'static Location<'static>) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    let Without::Process(header) = Without::of_caller() else { unreachable!("it was made a process") };
    with_new_list(header, a, b, true, site)
}

fn with_new_list<A, B, RA, RB>(
    header: &Header,
    a: A,
    b: B,
    migrated: bool,
    site: &'static Location<'static>,
) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    with_list(header, || match Flow::current() {
        Some(flow) => with_care(flow, a, b, migrated, site),
        None => unreachable!("it was given a list"),
    })
}

/// One after the other, with the panics of a join. The second does not begin if the caller is cancelled by then.
fn in_turn<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    let ra = catch_unwind(AssertUnwindSafe(|| a(FnContext::new(false))));
    let rb = catch_unwind(AssertUnwindSafe(|| {
        region::check();
        b(FnContext::new(false))
    }));
    both(ra, rb)
}

fn both<RA, RB>(ra: Result<RA>, rb: Result<RB>) -> (RA, RB) {
    match (ra, rb) {
        (Ok(ra), Ok(rb)) => (ra, rb),
        (Ok(_), Err(panic)) => resume_unwind(panic),
        (Err(panic), unwanted) => go_on(panic, unwanted),
    }
}

/// What lies in the parent's frame: the node first, so that its address is the frame's.
#[repr(C)]
struct Frame<B, RB> {
    node: MaybeUninit<Node>,
    body: Body<B, RB>,
}

/// The closure until somebody runs it; the result if a taker did.
#[repr(C)]
union Body<B, RB> {
    closure: ManuallyDrop<B>,
    result: ManuallyDrop<Result<RB>>,
}

impl<B, RB> Frame<B, RB> {
    /// Takes the closure out.
    ///
    /// # Safety
    /// The fork at `frame` is the caller's to run, and has not been run.
    #[inline(always)]
    unsafe fn closure(frame: *mut Self) -> B {
        // SAFETY: passed on to the caller.
        let body = unsafe { &raw mut (*frame).body };
        // SAFETY: as above: nobody has put a result in the closure's place.
        unsafe { body.cast::<B>().read() }
    }

    /// Puts what a taker has to return in the closure's place.
    ///
    /// # Safety
    /// The caller has taken the fork at `frame`, and its closure.
    unsafe fn put_result(frame: *mut Self, result: Result<RB>) {
        // SAFETY: passed on to the caller.
        let body = unsafe { &raw mut (*frame).body };
        // SAFETY: as above.
        unsafe { body.write(Body { result: ManuallyDrop::new(result) }) };
    }

    /// Takes the result out.
    ///
    /// # Safety
    /// The taker of the fork at `frame` has ended, and this is the one call.
    unsafe fn result(frame: *mut Self) -> Result<RB> {
        // SAFETY: passed on to the caller.
        let body = unsafe { &raw mut (*frame).body };
        // SAFETY: as above.
        unsafe { body.cast::<Result<RB>>().read() }
    }
}

#[inline(always)]
fn fork<A, B, RA, RB>(
    flow: Flow<'_>,
    a: A,
    b: B,
    migrated: bool,
    site: &'static Location<'static>,
) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    let mut frame =
        Frame::<B, RB> { node: MaybeUninit::uninit(), body: Body { closure: ManuallyDrop::new(b) } };
    let frame = &raw mut frame;
    // SAFETY: the frame is ours, and so is its node.
    let node = unsafe { Node::make(frame.cast(), taken::<B, RB>) };
    // SAFETY: just made; this function does not end, and does not unwind, before the fork is back.
    unsafe { flow.forks().push(node) };
    let a = flow.poll_with(a);
    let ra = match catch_unwind(AssertUnwindSafe(|| a(FnContext::new(migrated)))) {
        Ok(ra) => ra,
        // Not merged with what follows: the common way would save two registers for it.
        // SAFETY: the frame's fork is in the list, or promoted.
        Err(panic) => unsafe { after_panic(flow, frame, panic, migrated, site) },
    };
    if flow.forks().is_top(node) {
        // SAFETY: it is the top.
        unsafe { flow.forks().pop(node) };
    } else if reclaim(flow, node, site) == Reclaimed::Taken {
        // SAFETY: the taker has ended and left the result.
        let rb = unsafe { Frame::result(frame) };
        return (ra, rb.unwrap_or_else(|panic| resume_unwind(panic)));
    }
    flow.poll();
    // SAFETY: the fork is back: the closure is there, and ours.
    let b = unsafe { Frame::closure(frame) };
    (ra, b(FnContext::new(migrated)))
}

/// `a` has panicked: its panic goes on when `b` has run, here or elsewhere, and whatever became of it.
///
/// # Safety
/// The frame's node was pushed to the flow's list and has not been had back.
#[cold]
#[inline(never)]
unsafe fn after_panic<B, RB>(
    flow: Flow<'_>,
    frame: *mut Frame<B, RB>,
    panic: Box<dyn Any + Send>,
    migrated: bool,
    site: &'static Location<'static>,
) -> !
where
    B: FnOnce(FnContext) -> RB,
{
    let unwanted = match reclaim(flow, frame.cast(), site) {
        // SAFETY: the taker has ended and left the result.
        Reclaimed::Taken => unsafe { Frame::result(frame) },
        Reclaimed::Ours => {
            // SAFETY: the fork is back: the closure is there, and ours.
            let b = unsafe { Frame::closure(frame) };
            catch_unwind(AssertUnwindSafe(|| b(FnContext::new(migrated))))
        }
    };
    go_on(panic, unwanted)
}

/// `a`'s panic goes on, unless it says only that it was cancelled and `b` has really panicked.
fn go_on<RB>(panic: Box<dyn Any + Send>, unwanted: Result<RB>) -> ! {
    match unwanted {
        // If the drop panics, it is one panic in the place of another.
        Ok(unwanted) => drop(unwanted),
        Err(later) => {
            let (panic, lost) = region::graver(panic, later);
            region::lose(lost);
            resume_unwind(panic)
        }
    }
    resume_unwind(panic)
}

/// The fork is not on top: it has been promoted, or something younger was left in the list. Waits if it was taken.
#[cold]
#[inline(never)]
fn reclaim(flow: Flow<'_>, node: *mut Node, site: &'static Location<'static>) -> Reclaimed {
    // SAFETY: pushed by the caller, which has not had it back.
    let promoted = !unsafe { &*node }.is_private();
    // SAFETY: as above.
    let reclaimed = unsafe { flow.forks().reclaim(node) };
    if promoted && reclaimed == Reclaimed::Ours {
        note_job(Event::JobBack, number_of_job(node));
    }
    if reclaimed == Reclaimed::Taken {
        // SAFETY: the frame waits for its taker.
        let word = unsafe { &(*node).join };
        if !word.is_done() {
            assert!(
                !is_orphan(),
                "half of a `join` was taken by a worker, which a forked child does not have"
            );
            // Where there are fewer cores than workers, it would keep one from its taker.
            let look = if flow.is_crowded() { Duration::ZERO } else { LOOK };
            if team::spin_until(look, || word.is_done() || flow.sees_jobs()) && word.is_done() {
                return reclaimed;
            }
            let wait = Wait::on(const { &JOIN }, word, site);
            let _shown = wait.show();
            park::wait_registered_on(JOIN.call(), node.addr(), |joiner| {
                word.register(joiner) == Registered::Waits
            });
        }
    }
    reclaimed
}

/// Runs a fork that somebody took, as a process.
///
/// # Safety
/// `node` begins a `Frame<B, RB>` with its closure, and is about to be promoted, or has been taken.
unsafe fn taken<B, RB>(node: *mut Node, how: How)
where
    B: FnOnce(FnContext) -> RB,
{
    if let How::Promote(_) = how {
        // SAFETY: nobody else sees it yet.
        return unsafe { Node::renew_join(node) };
    }
    let frame: *mut Frame<B, RB> = node.cast();
    // SAFETY: the caller vouches for the closure, which is the taker's.
    let b = unsafe { Frame::closure(frame) };
    name_this_job::<B>();
    let result = with_list_if_process(|| catch_unwind(AssertUnwindSafe(|| b(FnContext::new(true)))));
    if result.is_err() && is_orphan() {
        // Forked, by the process that this is: in the child nobody waits for it.
        end_of_orphan(true);
    }
    // SAFETY: as above: nobody else looks at the body before the end is published.
    unsafe { Frame::put_result(frame, result) };
    // SAFETY: the frame waits for this.
    match unsafe { &(*node).join }.finish() {
        Finished::HandleHasIt => {}
        // SAFETY: it registered itself to be woken once, by this.
        Finished::Wake(joiner) => unsafe { wake(joiner) },
        Finished::Free => unreachable!("nobody detaches a fork"),
    }
}

/// Runs what was taken with a list of its own, which is empty again before the end is published: what `f` has spawned
/// in a scope around the `join` is counted there by then. And a loop that finds a list is cut where it stands.
fn with_list_if_process<T>(f: impl FnOnce() -> T) -> T {
    match Without::of_caller() {
        Without::Process(header) => with_list(header, f),
        _ => f(),
    }
}

/// # Safety
/// As [`worker::wake`].
unsafe fn wake(joiner: *mut Header) {
    // SAFETY: passed on to the caller.
    unsafe { worker::wake(joiner) };
}
