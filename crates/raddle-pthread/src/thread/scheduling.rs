//! Owns: to which processors a thread is bound and in which class it is: a record, without effect.
//! May use: `errno`, `report`, `libc`, `raddle-syscall`.
//! Never: a change for the worker that lasts: others run on it.
//!
//! What a program asks for is remembered, refused where the kernel would refuse it, told when the program asks, and
//! inherited. That it changes nothing is said once.

use crate::next::next;
use crate::report;
use crate::thread::record::{self, PROCESSOR_WORDS, ThreadRecord};
use crate::thread::wait;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

type Pthread = libc::pthread_t;
type Attributes = libc::pthread_attr_t;

unsafe extern "C" {
    fn pthread_attr_getinheritsched(attributes: *const Attributes, inherits: *mut c_int) -> c_int;
    fn pthread_attr_getschedpolicy(attributes: *const Attributes, class: *mut c_int) -> c_int;
    fn pthread_attr_getschedparam(attributes: *const Attributes, to: *mut libc::sched_param) -> c_int;
}

/// What a thread is to be made with.
#[derive(Clone, Copy, Default)]
pub(crate) struct Scheduling {
    /// All zero for any.
    processors: [u64; PROCESSOR_WORDS],
    class: u8,
    priority: u8,
}

impl Scheduling {
    /// The caller's: whoever it makes inherits that.
    pub(crate) fn inherited() -> Scheduling {
        let Some(here) = record::here() else { return Scheduling::default() };
        Scheduling {
            processors: here.processors.each_ref().map(|word| word.load(Ordering::Relaxed)),
            class: here.class.load(Ordering::Relaxed),
            priority: here.priority.load(Ordering::Relaxed),
        }
    }

    /// That of a thread's attributes, where these say anything, else the caller's.
    ///
    /// # Errors
    /// `EINVAL` and `EPERM`, as `pthread_create` has them.
    ///
    /// # Safety
    /// The attributes are initialised.
    pub(crate) unsafe fn by(attributes: *const Attributes) -> Result<Scheduling, c_int> {
        let mut scheduling = Scheduling::inherited();
        let mut words = [0_u64; SET_WORDS];
        // SAFETY: the caller's attributes, and a place of that size.
        let refused = unsafe {
            libc::pthread_attr_getaffinity_np(attributes, size_of_val(&words), words.as_mut_ptr().cast())
        };
        // All ones if it was not set.
        if refused == 0 && words.contains(&0) {
            scheduling.processors = bound_to(&words)?;
        }
        let (mut inherits, mut class, mut parameters) = (0, 0, libc::sched_param { sched_priority: 0 });
        // SAFETY: the caller's attributes, and a place for each.
        unsafe { pthread_attr_getinheritsched(attributes, &raw mut inherits) };
        if inherits == libc::PTHREAD_EXPLICIT_SCHED {
            // SAFETY: as above.
            unsafe { pthread_attr_getschedpolicy(attributes, &raw mut class) };
            // SAFETY: as above.
            unsafe { pthread_attr_getschedparam(attributes, &raw mut parameters) };
            allowed(class, parameters.sched_priority)?;
            (scheduling.class, scheduling.priority) = (class as u8, parameters.sched_priority as u8);
        }
        Ok(scheduling)
    }

    /// At the beginning of a thread: by the thread itself, which may ask at once, and by whoever has made it, who may
    /// ask and change it before the thread runs. The first of them writes it; nobody returns before it is written.
    pub(crate) fn begin(self, record: &ThreadRecord) {
        const UNDER_WAY: u8 = 1;
        const DONE: u8 = 2;
        let word = &record.is_scheduled;
        // Acquire pairs with the release below.
        if word.compare_exchange(0, UNDER_WAY, Ordering::Acquire, Ordering::Acquire).is_err() {
            let mut times = 0;
            // pairs with the release below
            while word.load(Ordering::Acquire) != DONE {
                wait::breathe(&mut times);
            }
            return;
        }
        let Scheduling { processors, class, priority } = self;
        record.processors.iter().zip(processors).for_each(|(word, bits)| word.store(bits, Ordering::Relaxed));
        record.class.store(class, Ordering::Relaxed);
        record.priority.store(priority, Ordering::Relaxed);
        word.store(DONE, Ordering::Release); // pairs with the acquires above
    }
}

/// As many words as a `cpu_set_t` has.
const SET_WORDS: usize = size_of::<libc::cpu_set_t>() / size_of::<u64>();

/// The processors of the program.
fn available() -> [u64; SET_WORDS] {
    let mut words = [0_u64; SET_WORDS];
    let program = std::process::id().cast_signed();
    // SAFETY: a place of that size.
    unsafe { libc::sched_getaffinity(program, size_of_val(&words), words.as_mut_ptr().cast()) };
    words
}

/// Those of a set that there are; `EINVAL` if that is none.
fn bound_to(set: &[u64; SET_WORDS]) -> Result<[u64; PROCESSOR_WORDS], c_int> {
    let there = available();
    let both: [u64; PROCESSOR_WORDS] = std::array::from_fn(|at| set[at] & there[at]);
    let is_none = (0..SET_WORDS).all(|at| set[at] & there[at] == 0);
    if is_none { Err(libc::EINVAL) } else { Ok(both) }
}

/// What the kernel says to a class of real time: the OS thread that asks has it for a moment. Rights, limits and the
/// group of the program decide, and only the kernel knows all of them.
fn asks_the_kernel(class: c_int, priority: c_int) -> Result<(), c_int> {
    let set = |class: usize, priority: c_int| {
        let parameters = libc::sched_param { sched_priority: priority };
        let place = (&raw const parameters).expose_provenance();
        // SAFETY: reads the parameters, which are there.
        unsafe { raddle_syscall::call(libc::SYS_sched_setscheduler, [0, class, place]) }
    };
    // SAFETY: no memory is touched.
    let before = unsafe { raddle_syscall::call(libc::SYS_sched_getscheduler, [0]) };
    set(class as usize, priority).map_err(|refused| refused.0)?;
    // Back to less is always granted.
    let _answer = set(before.unwrap_or(0), 0);
    Ok(())
}

/// Whether the kernel would let a thread have this class and priority.
fn allowed(class: c_int, priority: c_int) -> Result<(), c_int> {
    let range = match class {
        libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => 0..=0,
        libc::SCHED_FIFO | libc::SCHED_RR => 1..=99,
        _ => return Err(libc::EINVAL),
    };
    if !range.contains(&priority) {
        return Err(libc::EINVAL);
    }
    if priority > 0 {
        asks_the_kernel(class, priority)?;
    }
    if class != libc::SCHED_OTHER {
        report::once("threads have no scheduling classes: those that are asked for are only remembered");
    }
    Ok(())
}

/// Words of the program's, of a set of so many bytes; what is beyond its end is zero.
///
/// # Safety
/// The set is there.
unsafe fn words_of(set: *const libc::cpu_set_t, bytes: usize) -> [u64; SET_WORDS] {
    let mut words = [0; SET_WORDS];
    let bytes = bytes.min(size_of_val(&words));
    // SAFETY: the caller's, and a place that is as large.
    unsafe { set.cast::<u8>().copy_to_nonoverlapping(words.as_mut_ptr().cast(), bytes) };
    words
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setaffinity_np(
    thread: Pthread,
    bytes: usize,
    set: *const libc::cpu_set_t,
) -> c_int {
    type SetOfThread = unsafe extern "C" fn(Pthread, usize, *const libc::cpu_set_t) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_setaffinity_np": SetOfThread)(thread, bytes, set) };
    };
    // SAFETY: the caller's set.
    match bound_to(&unsafe { words_of(set, bytes) }) {
        Ok(words) => {
            report::once("threads are not bound to processors: `pthread_setaffinity_np` is only remembered");
            record.processors.iter().zip(words).for_each(|(word, bits)| word.store(bits, Ordering::Relaxed));
            0
        }
        Err(error) => error,
    }
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getaffinity_np(
    thread: Pthread,
    bytes: usize,
    set: *mut libc::cpu_set_t,
) -> c_int {
    type Get = unsafe extern "C" fn(Pthread, usize, *mut libc::cpu_set_t) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_getaffinity_np": Get)(thread, bytes, set) };
    };
    let program = std::process::id().cast_signed();
    // SAFETY: the caller's memory.
    if unsafe { libc::sched_getaffinity(program, bytes, set) } != 0 {
        return crate::errno::last();
    }
    let words = record.processors.each_ref().map(|word| word.load(Ordering::Relaxed));
    if words != [0; PROCESSOR_WORDS] {
        let bytes = bytes.min(size_of_val(&words));
        // SAFETY: the caller's memory, of at least so many bytes.
        unsafe { words.as_ptr().cast::<u8>().copy_to_nonoverlapping(set.cast(), bytes) };
    }
    0
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setschedparam(
    thread: Pthread,
    class: c_int,
    parameters: *const libc::sched_param,
) -> c_int {
    type SetOfThread = unsafe extern "C" fn(Pthread, c_int, *const libc::sched_param) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_setschedparam": SetOfThread)(thread, class, parameters) };
    };
    // SAFETY: the caller's.
    let priority = unsafe { parameters.read() }.sched_priority;
    if let Err(error) = allowed(class, priority) {
        return error;
    }
    record.class.store(class as u8, Ordering::Relaxed);
    record.priority.store(priority as u8, Ordering::Relaxed);
    0
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getschedparam(
    thread: Pthread,
    class: &mut c_int,
    parameters: &mut libc::sched_param,
) -> c_int {
    type Get = unsafe extern "C" fn(Pthread, &mut c_int, &mut libc::sched_param) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_getschedparam": Get)(thread, class, parameters) };
    };
    *class = record.class.load(Ordering::Relaxed).into();
    parameters.sched_priority = record.priority.load(Ordering::Relaxed).into();
    0
}

/// # Safety
/// As that of the C library.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setschedprio(thread: Pthread, priority: c_int) -> c_int {
    type SetOfThread = unsafe extern "C" fn(Pthread, c_int) -> c_int;
    let Some(record) = record::of(thread) else {
        // SAFETY: the caller's arguments.
        return unsafe { next!(c"pthread_setschedprio": SetOfThread)(thread, priority) };
    };
    match allowed(record.class.load(Ordering::Relaxed).into(), priority) {
        Ok(()) => {
            record.priority.store(priority as u8, Ordering::Relaxed);
            0
        }
        Err(error) => error,
    }
}
