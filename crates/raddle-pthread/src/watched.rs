//! Owns: descriptors of the program for which somebody waits, or has waited; waiting for one.
//! May use: `thread`, `libc`, `raddle-core`, `raddle-net`, `raddle-syscall`.
//! Never: a descriptor itself; closing one.
//!
//! A descriptor for which a thread has to wait is told to the kernel's poll of the runtime. Sockets and pipes stay
//! there until the program closes them, so that the next wait asks the kernel for nothing more; that the number is
//! still the same one's is seen by its inode, since the C library closes some by itself (`fclose`). Others leave with
//! the last one who waits.

use crate::thread::record::{self, ThreadRecord};
use crate::thread::told::{self, ToldWait};
use crate::thread::wait::{self, Handlers};
use crate::thread::{cancel, handlers, signals};
use raddle_core::door::futex::deadline;
use raddle_net::io::Descriptor;
use raddle_syscall::Errno;
use std::collections::HashMap;
use std::ffi::c_int;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

/// The number of a descriptor that the program keeps open while a call of its waits.
struct Number(c_int);

impl AsFd for Number {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the program has it open while it waits, or the kernel refuses the number.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

/// One that is waited for.
struct WatchedNumber {
    descriptor: Descriptor<Number>,
    identity: (u64, u64),
    /// Whose turn it is to ask and then call: 0 nobody's, 1 somebody's, 2 and others wait for it.
    turn: AtomicU32,
    stays: bool,
}

type All = HashMap<c_int, Arc<WatchedNumber>>;

static ALL: Mutex<Option<All>> = Mutex::new(None);
/// Whether there is any.
static ANY: AtomicBool = AtomicBool::new(false);

fn all() -> MutexGuard<'static, Option<All>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    static HELD: std::cell::RefCell<Option<MutexGuard<'static, Option<All>>>> =
        const { std::cell::RefCell::new(None) };
}

extern "C" fn before_fork() {
    HELD.set(Some(all()));
}

extern "C" fn in_parent() {
    HELD.take();
}

extern "C" fn in_child() {
    if let Some(mut held) = HELD.take() {
        // The parent's polls are not the child's.
        std::mem::forget(held.take());
        ANY.store(false, Ordering::Relaxed);
    }
}

fn identity(descriptor: c_int) -> ((u64, u64), bool) {
    // SAFETY: zeroes are a value of this.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a place for the answer.
    unsafe { libc::fstat(descriptor, &raw mut status) };
    let stays = matches!(status.st_mode & libc::S_IFMT, libc::S_IFSOCK | libc::S_IFIFO);
    ((status.st_dev, status.st_ino), stays)
}

fn get(descriptor: c_int) -> Arc<WatchedNumber> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _first = signals::LOOK_AGAIN.set(look_again);
        // SAFETY: these may be called around any fork.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    });
    let (identity, stays) = identity(descriptor);
    let mut all = all();
    let all = all.get_or_insert_default();
    ANY.store(true, Ordering::Relaxed);
    if let Some(known) = all.get(&descriptor)
        && known.identity == identity
    {
        return known.clone();
    }
    let new = WatchedNumber {
        descriptor: Descriptor::new(Number(descriptor)),
        identity,
        turn: AtomicU32::new(0),
        stays,
    };
    let new = Arc::new(new);
    all.insert(descriptor, new.clone());
    new
}

/// A wait is over: one that does not stay goes with the last who waits.
fn put(descriptor: c_int, watched: Arc<WatchedNumber>) {
    if watched.stays {
        return;
    }
    let mut all = all();
    let all = all.get_or_insert_default();
    // This one and the table's.
    if Arc::strong_count(&watched) == 2
        && all.get(&descriptor).is_some_and(|known| Arc::ptr_eq(known, &watched))
    {
        all.remove(&descriptor);
    }
}

/// The program is about to close it, or to have another of this number.
pub(crate) fn forget(descriptor: c_int) {
    if ANY.load(Ordering::Relaxed) {
        let gone = all().as_mut().and_then(|all| all.remove(&descriptor));
        drop(gone);
    }
}

/// Whether a call of this kind would not wait.
pub(crate) fn is_ready(descriptor: c_int, way: Way) -> bool {
    let events = if way == Way::In { libc::POLLIN | libc::POLLPRI | libc::POLLRDHUP } else { libc::POLLOUT };
    let mut file = [libc::pollfd { fd: descriptor, events, revents: 0 }];
    // What it refuses is the call's affair.
    raddle_syscall::poll(&mut file, Some(Duration::ZERO)) != Ok(0)
}

fn flags_of(descriptor: c_int) -> Result<c_int, Errno> {
    // SAFETY: no memory is touched.
    let flags =
        unsafe { raddle_syscall::call(libc::SYS_fcntl, [descriptor as usize, libc::F_GETFL as usize, 0]) };
    flags.map(|flags| flags as c_int)
}

pub(crate) fn is_nonblocking(descriptor: c_int) -> bool {
    flags_of(descriptor).is_ok_and(|flags| flags & libc::O_NONBLOCK != 0)
}

/// Whether a call would not wait: it is not to, or the descriptor is none for it, and so is never ready.
fn is_answered_at_once(descriptor: c_int, way: Way) -> bool {
    let wrong = if way == Way::In { libc::O_WRONLY } else { libc::O_RDONLY };
    flags_of(descriptor)
        .map_or(true, |flags| flags & libc::O_NONBLOCK != 0 || flags & libc::O_ACCMODE == wrong)
}

impl WatchedNumber {
    /// Until it is ready, or `is_over` is true. False if the time has passed.
    fn wait(&self, way: Way, until: Option<Instant>, is_over: impl Fn() -> bool) -> bool {
        // An error is the call's affair, which is made next.
        self.descriptor.wait_unless(way == Way::In, until, is_over).unwrap_or(true)
    }
}

/// Has those who wait for a descriptor look whether their wait is over.
fn look_again(descriptor: c_int) {
    let watched = all().as_ref().and_then(|all| all.get(&descriptor).cloned());
    watched.into_iter().for_each(|watched| watched.descriptor.look_again());
}

/// What a call of the kernel's never answers: the caller is to be cancelled.
const CANCELLED: Errno = Errno(c_int::MAX);
const ARRIVED: Errno = Errno(c_int::MAX - 1);

/// How a wait has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DescriptorEnd {
    Ready,
    TimedOut,
    /// By a handler of a signal.
    Interrupted,
    /// A handler has to run first, which may end it; [`wait()`] has run it.
    Arrived,
    /// The caller is to be cancelled.
    Cancelled,
}

/// Waits until it is ready; a cancellation point, which may unwind the caller.
pub(crate) fn wait(descriptor: c_int, way: Way, until: Option<Instant>, handlers: Handlers) -> DescriptorEnd {
    let watched = get(descriptor);
    let ended = watched.wait_or_be_ended((descriptor, way), until, handlers);
    put(descriptor, watched);
    match ended {
        DescriptorEnd::Cancelled => cancel::cancel_here(),
        DescriptorEnd::Arrived if !run_arrived(handlers) => DescriptorEnd::Ready,
        DescriptorEnd::Arrived => DescriptorEnd::Interrupted,
        ended => ended,
    }
}

/// Runs the handlers that have arrived for the caller; whether one of them ends a wait that is ended by these.
fn run_arrived(handlers: Handlers) -> bool {
    let Some(here) = record::here() else { return false };
    let counter = ends_by(here, handlers);
    let before = counter.load(Ordering::Relaxed);
    handlers::run_arrived(here, std::ptr::null_mut());
    counter.load(Ordering::Relaxed) != before
}

fn ends_by(here: &ThreadRecord, handlers: Handlers) -> &AtomicU32 {
    if handlers == Handlers::All { &here.signals } else { &here.breaks }
}

impl WatchedNumber {
    /// Who ends the wait changes what is looked at here, and then has who waits look again, if it says that it waits:
    /// `waits_for` is said before the look.
    fn wait_or_be_ended(
        &self,
        (descriptor, way): (c_int, Way),
        until: Option<Instant>,
        handlers: Handlers,
    ) -> DescriptorEnd {
        let Some(here) = record::here() else {
            let ready = self.wait(way, until, || false);
            return if ready { DescriptorEnd::Ready } else { DescriptorEnd::TimedOut };
        };
        let counter = ends_by(here, handlers);
        let before = counter.load(Ordering::SeqCst); // pairs with the additions in `signals::note`
        let is_interrupted = || counter.load(Ordering::SeqCst) != before; // pairs with the same
        here.waits_for.store(descriptor + 1, Ordering::SeqCst); // pairs with the loads of those who end waits
        let has_arrived = || handlers::has_arrived(here);
        let in_time = self.wait(way, until, || cancel::is_wanted(here) || is_interrupted() || has_arrived());
        here.waits_for.store(0, Ordering::SeqCst); // pairs with the same
        if cancel::is_wanted(here) {
            DescriptorEnd::Cancelled
        } else if is_interrupted() {
            DescriptorEnd::Interrupted
        } else if has_arrived() {
            DescriptorEnd::Arrived
        } else if in_time {
            DescriptorEnd::Ready
        } else {
            DescriptorEnd::TimedOut
        }
    }
}

/// How many wait in turn, by the lower bits of the descriptor.
static IN_TURN: [AtomicU32; 256] = [const { AtomicU32::new(0) }; 256];

/// Makes a call when it need not wait, or is not to. Those who have to wait ask and call one after the other: what has
/// made one of them ready is not another's. `shared` says that several threads make this call mostly.
pub(crate) fn when_ready(
    descriptor: c_int,
    way: Way,
    shared: bool,
    make: impl Fn() -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    loop {
        match when_ready_once(descriptor, way, shared, &make) {
            Err(CANCELLED) => cancel::cancel_here(),
            Err(ARRIVED) if !run_arrived(Handlers::Breaking) => {}
            Err(ARRIVED) => return Err(Errno(libc::EINTR)),
            answer => return answer,
        }
    }
}

fn when_ready_once(
    descriptor: c_int,
    way: Way,
    shared: bool,
    make: &impl Fn() -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let in_turn = &IN_TURN[descriptor as usize % IN_TURN.len()];
    let alone = !shared && in_turn.load(Ordering::Relaxed) == 0;
    if alone && is_ready(descriptor, way) || is_answered_at_once(descriptor, way) {
        return make();
    }
    in_turn.fetch_add(1, Ordering::Relaxed);
    let watched = get(descriptor);
    // Who is alone has asked just now.
    let (mut asks, mut has_waited) = (!alone, false);
    let answer = loop {
        if asks {
            watched.begin_turn();
            let is_alone = has_waited && !shared && in_turn.load(Ordering::Relaxed) == 1;
            if is_alone || is_ready(descriptor, way) {
                let answer = make();
                watched.end_turn();
                break answer;
            }
            watched.end_turn();
        }
        (asks, has_waited) = (true, true);
        match watched.wait_or_be_ended((descriptor, way), None, Handlers::Breaking) {
            DescriptorEnd::Interrupted => break Err(Errno(libc::EINTR)),
            DescriptorEnd::Cancelled => break Err(CANCELLED),
            DescriptorEnd::Arrived => break Err(ARRIVED),
            DescriptorEnd::Ready | DescriptorEnd::TimedOut => {}
        }
    };
    put(descriptor, watched);
    in_turn.fetch_sub(1, Ordering::Relaxed);
    answer
}

impl WatchedNumber {
    fn begin_turn(&self) {
        // pairs with the release in `end_turn`
        if self.turn.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // pairs with the same
            while self.turn.swap(2, Ordering::Acquire) != 0 {
                wait::sleep(&self.turn, 2, None, &ToldWait::of(&told::WORD, &self.turn));
            }
        }
    }

    fn end_turn(&self) {
        // pairs with the acquires in `begin_turn`
        if self.turn.swap(0, Ordering::Release) == 2 {
            wait::wake(&raw const self.turn, 1);
        }
    }
}

/// When so many milliseconds have passed; none if that is never.
pub(crate) fn until(milliseconds: c_int) -> Option<Instant> {
    u64::try_from(milliseconds).ok().and_then(|span| deadline(Duration::from_millis(span)))
}
