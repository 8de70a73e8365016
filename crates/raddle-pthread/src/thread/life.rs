//! Owns: the life of a thread: create, join, detach.
//! May use: `libc`, `raddle-context`, `raddle-core`.
//! Never: a thread that the C library has made: those stay what they are.

use crate::next::next;
use crate::thread::cancel;
use crate::thread::record::{self, DETACHED, JOINABLE, JOINING, ThreadRecord};
use crate::thread::scheduling::Scheduling;
use crate::thread::told::{self, ToldWait};
use crate::thread::wait::{self, Handlers, PointEnd};
use crate::thread::{shared, signals, start, ticks};
use raddle_context::interpose;
use raddle_core::door::futex;
use raddle_core::door::thread::{ForeignBuilder, Start, Thread, pthread_self};
use raddle_core::{blocking, orphan};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

interpose! {
    pthread_create => create;
    pthread_join => join;
    pthread_detach => detach;
}

/// How many threads of ours run, `main` included.
static ALIVE: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: *const libc::pthread_attr_t, state: *mut c_int) -> c_int;
}

/// What a thread begins with.
struct Begin {
    start: Start,
    argument: *mut c_void,
    state: u32,
    guard: usize,
    blocked: u64,
    scheduling: Scheduling,
    next: *mut Begin,
}

/// Those that threads have taken: freed, they would have the C library make a cache of its allocator's for each thread.
/// A child that is forked in the middle of a change finds a list that is whole.
static TAKEN: AtomicPtr<Begin> = AtomicPtr::new(null_mut());
static TAKEN_LOCK: AtomicU32 = AtomicU32::new(0);

fn with_taken<T>(f: impl FnOnce() -> T) -> T {
    let mut times = 0;
    // pairs with the release below
    while TAKEN_LOCK.swap(1, Ordering::Acquire) == 1 {
        wait::breathe(&mut times);
    }
    let result = f();
    TAKEN_LOCK.store(0, Ordering::Release); // pairs with the acquire above
    result
}

impl Begin {
    fn keep(self) -> *mut Begin {
        let place = with_taken(|| {
            let place = TAKEN.load(Ordering::Relaxed);
            if !place.is_null() {
                // SAFETY: one that nobody has.
                let next = unsafe { &raw const (*place).next };
                // SAFETY: as above.
                TAKEN.store(unsafe { next.read() }, Ordering::Relaxed);
            }
            place
        });
        if place.is_null() {
            return Box::into_raw(Box::new(self));
        }
        // SAFETY: it is the caller's alone.
        unsafe { place.write(self) };
        place
    }

    /// # Safety
    /// Kept, and not taken yet.
    unsafe fn take(place: *mut Begin) -> Begin {
        // SAFETY: the caller's.
        let begin = unsafe { place.read() };
        // SAFETY: the caller's.
        let next = unsafe { &raw mut (*place).next };
        with_taken(|| {
            // SAFETY: the caller's; it is nobody's from here on.
            unsafe { next.write(TAKEN.load(Ordering::Relaxed)) };
            TAKEN.store(place, Ordering::Relaxed);
        });
        begin
    }
}

type Wanted = (ForeignBuilder, u32, usize, Scheduling);

/// A builder by the program's attributes, whether it is to be detached, its guard's size, and how it is scheduled.
///
/// # Safety
/// The attributes are initialised.
unsafe fn builder_by(attributes: *const libc::pthread_attr_t) -> Result<Wanted, c_int> {
    let (mut memory, mut bytes, mut size, mut state, mut guard) = (null_mut(), 0, 0, 0, 0);
    // SAFETY: passed on to the caller.
    unsafe { libc::pthread_attr_getstack(attributes, &raw mut memory, &raw mut bytes) };
    // The default, where it has not been set.
    // SAFETY: as above.
    unsafe { libc::pthread_attr_getstacksize(attributes, &raw mut size) };
    // SAFETY: as above.
    unsafe { pthread_attr_getdetachstate(attributes, &raw mut state) };
    // SAFETY: as above.
    unsafe { libc::pthread_attr_getguardsize(attributes, &raw mut guard) };
    let state = if state == libc::PTHREAD_CREATE_DETACHED { DETACHED } else { JOINABLE };
    // The C library keeps the end of the memory, and zero if there is none.
    let given = memory.addr().wrapping_add(bytes) != 0 && !memory.is_null();
    let builder =
        if given { ForeignBuilder::new().stack_memory(memory.cast(), bytes) } else { start::builder(size) };
    // SAFETY: the caller's attributes.
    Ok((builder, state, guard, unsafe { Scheduling::by(attributes) }?))
}

/// As `pthread_create`.
pub(crate) unsafe extern "C" fn create(
    id: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    install();
    if start::is_off() {
        type Create = unsafe extern "C" fn(
            *mut libc::pthread_t,
            *const libc::pthread_attr_t,
            Start,
            *mut c_void,
        ) -> c_int;
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_create": Create)(id, attributes, start, argument) };
    }
    let made = if attributes.is_null() {
        Ok((start::builder(start::default_stack_bytes()), JOINABLE, 4096, Scheduling::inherited()))
    } else {
        // SAFETY: the program's.
        unsafe { builder_by(attributes) }
    };
    let (builder, state, guard, scheduling) = match made {
        Ok(made) => made,
        Err(error) => return error,
    };
    let blocked = signals::inherited();
    let begin = Begin { start, argument, state, guard, blocked, scheduling, next: null_mut() }.keep();
    ALIVE.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the program vouches for its function and for its memory; the box is the thread's alone.
    let thread = match unsafe { builder.spawn(run, begin.cast()) } {
        Ok(thread) => thread,
        Err(refused) => {
            ended_one();
            // SAFETY: nobody runs it.
            unsafe { Begin::take(begin) };
            let is_invalid = refused.kind() == std::io::ErrorKind::InvalidInput;
            return if is_invalid { libc::EINVAL } else { libc::EAGAIN };
        }
    };
    let pthread = thread.pthread();
    // SAFETY: the program's, which may read it when the thread already runs.
    unsafe { id.write(pthread as libc::pthread_t) };
    // SAFETY: just made, and not joined.
    let record = unsafe { record::at(pthread) };
    // Perhaps before it runs: what the program asks and sets from here on is not to be overwritten by that.
    scheduling.begin(record);
    record.guard.store(guard, Ordering::Relaxed);
    if state == DETACHED {
        // Perhaps before it runs, and says so itself. It is not another's before it is let go here.
        record.state.store(DETACHED, Ordering::Relaxed);
        record.own.store(pthread, Ordering::Relaxed);
        thread.detach();
    } else {
        keep_right(thread, record);
    }
    0
}

/// The right to join a thread is whoever's who joins or detaches it by its `pthread_t`.
pub(crate) fn keep_right(thread: Thread, record: &ThreadRecord) {
    let pthread = thread.pthread();
    record.right.store(thread.into_raw(), Ordering::SeqCst); // pairs with the swap in `take_right`
    // Perhaps before the thread runs, which says it, too.
    record.own.store(pthread, Ordering::Relaxed);
    give_up_right_if_detached(record);
}

/// The thread's function. Nothing is left in this frame when the program's begins: it may be unwound by force.
unsafe extern "C-unwind" fn run(begin: *mut c_void) -> *mut c_void {
    let (start, argument) = begin_here(begin);
    // SAFETY: the program vouches for its function.
    let result = unsafe { start(argument) };
    // Its destructors are not cancelled.
    record::here().into_iter().for_each(cancel::no_more);
    end_if_forked();
    result
}

/// In a child that this thread has forked: it is the child's first thread, and with its last one the child ends.
pub(crate) fn end_if_forked() {
    if orphan::is_orphan() {
        ended_one();
        wait_for_all();
        orphan::end_of_orphan(false);
    }
}

extern "C" fn in_child() {
    ALIVE.store(1, Ordering::Relaxed);
    TAKEN_LOCK.store(0, Ordering::Relaxed);
    shared::in_child(record::here().is_some());
    if let Some(here) = record::here() {
        here.number.store(std::process::id().cast_signed(), Ordering::Relaxed);
        signals::in_child(here);
    }
}

/// Once, before the first thread.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        cancel::install();
        install_key();
        ticks::install();
        // SAFETY: it may be called in any child.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

fn begin_here(begin: *mut c_void) -> (Start, *mut c_void) {
    // SAFETY: what `create` has made for this thread.
    let begin = unsafe { Begin::take(begin.cast()) };
    // SAFETY: its own storage.
    let record = unsafe { record::at(pthread_self()) };
    record.begin(pthread_self());
    record.guard.store(begin.guard, Ordering::Relaxed);
    signals::begin(record, begin.blocked);
    begin.scheduling.begin(record);
    if begin.state == DETACHED {
        record.state.store(DETACHED, Ordering::Relaxed);
    }
    at_end();
    (begin.start, begin.argument)
}

/// The key whose destructor tells that a thread ends: a variable with a destructor would have the C library allocate,
/// and so make a cache of its allocator's for every thread.
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();

/// Before the first thread.
fn install_key() {
    let mut key = 0;
    // SAFETY: a place for the key, and a destructor that may be called with what `at_end` sets.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(leave)) } == 0 {
        let _first = KEY.set(key);
    }
}

/// Destructors of keys run in so many rounds at most, as the C library has it.
const ROUNDS: usize = 4;

/// Has the end of the calling thread be known: behind the destructors of its thread-local variables and those of the
/// program's keys, which may set values again, but for what those of the last round do.
pub(crate) fn at_end() {
    leave_in(1);
}

fn leave_in(round: usize) {
    if let Some(&key) = KEY.get() {
        // SAFETY: the key is there for ever; its value is no address.
        unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(round)) };
    }
}

unsafe extern "C" fn leave(round: *mut c_void) {
    if round.addr() < ROUNDS {
        return leave_in(round.addr() + 1);
    }
    let Some(here) = record::here() else { return };
    record::AT_END.get().into_iter().for_each(|at_end| at_end(here));
    shared::end(here);
    if here.state.load(Ordering::Relaxed) == DETACHED {
        here.own.store(0, Ordering::Relaxed);
    }
    here.ended.store(1, Ordering::Release); // pairs with the acquire in `join_until`
    wait::wake(&raw const here.ended, u32::MAX);
    signals::end(here);
    ended_one();
}

/// One less runs.
pub(crate) fn ended_one() {
    // pairs with itself, and with the load in `wait_for_all`
    if ALIVE.fetch_sub(1, Ordering::AcqRel) == 1 {
        wait::wake(&raw const ALIVE, u32::MAX);
    }
}

pub(crate) fn began_one() {
    ALIVE.fetch_add(1, Ordering::Relaxed);
}

/// In the OS thread that is to wait for all: it is known to the runtime behind its first wait. The handler of a signal
/// would wait for the lock of that for ever, if it came in its midst.
pub(crate) fn be_known() {
    let word = AtomicU32::new(0);
    wait::sleep(&word, 0, futex::deadline(Duration::ZERO), &ToldWait::of_nothing(&told::END));
}

/// Until no thread of ours runs.
pub(crate) fn wait_for_all() {
    loop {
        let alive = ALIVE.load(Ordering::Acquire); // pairs with the release in `ended_one`
        if alive == 0 {
            return;
        }
        wait::sleep(&ALIVE, alive, None, &ToldWait::of_nothing(&told::END));
    }
}

/// If the thread has detached itself before its maker had said which right there is.
fn give_up_right_if_detached(record: &ThreadRecord) {
    // pairs with the exchange in `detach`
    if record.state.load(Ordering::SeqCst) == DETACHED {
        take_right(record).into_iter().for_each(Thread::detach);
    }
}

fn take_right(record: &ThreadRecord) -> Option<Thread> {
    let right = record.right.swap(null_mut(), Ordering::SeqCst); // pairs with the store in `create`
    // SAFETY: a right that was made a word, taken once.
    (!right.is_null()).then(|| unsafe { Thread::from_raw(right) })
}

/// As `pthread_detach`.
pub(crate) unsafe extern "C" fn detach(thread: libc::pthread_t) -> c_int {
    type Detach = unsafe extern "C" fn(libc::pthread_t) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's argument.
        return unsafe { next!(c"pthread_detach": Detach)(thread) };
    };
    // pairs with the load in `give_up_right_if_detached`
    if record.state.compare_exchange(JOINABLE, DETACHED, Ordering::SeqCst, Ordering::Relaxed).is_err() {
        return libc::EINVAL;
    }
    let has_ended = record.ended.load(Ordering::Relaxed) == 1;
    if has_ended {
        record.own.store(0, Ordering::Relaxed);
    }
    take_right(record).into_iter().for_each(Thread::detach);
    0
}

/// Joins a thread of ours.
fn join_until(record: &ThreadRecord, result: *mut *mut c_void, until: Option<Instant>) -> c_int {
    if record.thread() == pthread_self() {
        return libc::EDEADLK;
    }
    if record.state.compare_exchange(JOINABLE, JOINING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return libc::EINVAL;
    }
    let told = ToldWait::of(&told::JOIN, &record.ended).for_end_of(&record.block);
    // pairs with the release where it ends
    while record.ended.load(Ordering::Acquire) == 0 {
        let ended = wait::sleep_at_point(&record.ended, 0, until, (Handlers::None, &told));
        if ended == PointEnd::Woken {
            continue;
        }
        record.state.store(JOINABLE, Ordering::Relaxed);
        if ended == PointEnd::Cancelled {
            cancel::cancel_here();
        }
        return libc::ETIMEDOUT;
    }
    record.own.store(0, Ordering::Relaxed);
    let mut times = 0;
    // It may have ended before its maker has said which right there is.
    let right = loop {
        match take_right(record) {
            Some(right) => break right,
            None => wait::breathe(&mut times),
        }
    };
    let value = right.join().unwrap_or(null_mut());
    if !result.is_null() {
        // SAFETY: the program's.
        unsafe { result.write(value) };
    }
    0
}

type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
type JoinTimed = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void, *const libc::timespec) -> c_int;
type JoinClocked =
    unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void, libc::clockid_t, *const libc::timespec) -> c_int;

/// As `pthread_join`.
pub(crate) unsafe extern "C-unwind" fn join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    cancel::point();
    if let Some(record) = record::of(thread) {
        return join_until(record, result, None);
    }
    let (next, result) = (next!(c"pthread_join": Join), result.expose_provenance());
    // SAFETY: the caller's arguments.
    blocking(move || unsafe { next(thread, std::ptr::with_exposed_provenance_mut(result)) })
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_tryjoin_np(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_tryjoin_np": Join)(thread, result) };
    };
    if record.state.load(Ordering::Relaxed) == JOINABLE && record.ended.load(Ordering::Relaxed) == 0 {
        raddle_core::door::tick::yield_if_due();
        return libc::EBUSY;
    }
    join_until(record, result, None)
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_timedjoin_np(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    time: *const libc::timespec,
) -> c_int {
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_timedjoin_np": JoinTimed)(thread, result, time) };
    };
    join_by(record, result, libc::CLOCK_REALTIME, time)
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pthread_clockjoin_np(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    clock: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_clockjoin_np": JoinClocked)(thread, result, clock, time) };
    };
    join_by(record, result, clock, time)
}

fn join_by(
    record: &ThreadRecord,
    result: *mut *mut c_void,
    clock: libc::clockid_t,
    time: *const libc::timespec,
) -> c_int {
    cancel::point();
    // SAFETY: null, or a time of the program's.
    let time = unsafe { time.as_ref() };
    match time.map_or(Ok(None), |time| wait::until_by(clock, time)) {
        Ok(until) => join_until(record, result, until),
        Err(error) => error,
    }
}
