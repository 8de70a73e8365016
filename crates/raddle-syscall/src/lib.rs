//! Owns: the system calls that the runtime makes without the C library.
//! May use: `libc`.
//! Never: a function of the C library; `errno`.
//!
//! An adaptor is a library that exports functions of the C library, `sched_yield` or `poll`, and makes Raddle's calls
//! of them. In a program with such a library every call of that name goes to it, the runtime's own too: what the
//! runtime means for the kernel would come back as a request to itself, and so on until the stack overflows. So what
//! the runtime asks the kernel for it asks the kernel itself, here; `clippy.toml` names what it must not call.
//!
//! What is no plain system call (`pthread_create`, `sigaction`), and what the standard library calls (the futex of
//! `std::sync::Mutex`, the `pthread_create` of `std::thread`), goes by name still. An adaptor tells those calls from
//! the program's by where they come from: `interpose!` of `raddle-context`.
//!
//! The functions here also leave `errno` alone, which belongs to whatever thread runs, and look up nothing in
//! thread-local storage.
//!
//! It uses one instruction of the machine; `libc` for numbers and structures.

#![warn(clippy::disallowed_methods)]

use core::ffi::{c_int, c_long, c_void};
use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64};
use core::time::Duration;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod machine;

/// The kernel's answer to a call that it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub c_int);

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&std::io::Error::from(*self), f)
    }
}

impl core::error::Error for Errno {}

impl From<Errno> for std::io::Error {
    fn from(refused: Errno) -> std::io::Error {
        std::io::Error::from_raw_os_error(refused.0)
    }
}

/// Makes a system call.
///
/// # Errors
/// What the kernel answers: one of the numbers of `errno`.
///
/// # Safety
/// As the call of this number says for these arguments.
///
/// ```
/// // SAFETY: no preconditions.
/// let process = unsafe { raddle_syscall::call(libc::SYS_getpid, []) };
/// assert_eq!(process, Ok(std::process::id() as usize));
/// ```
#[inline]
pub unsafe fn call<const N: usize>(number: c_long, arguments: [usize; N]) -> Result<usize, Errno> {
    /// The kernel's numbers of errors are below this.
    const ERRORS: usize = 4096;
    const { assert!(N <= 6, "a system call has at most six arguments") };
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    // SAFETY: passed on to the caller.
    let result = unsafe { machine::call(number as usize, all) };
    let error = 0_usize.wrapping_sub(result);
    if (1..ERRORS).contains(&error) { Err(Errno(error as c_int)) } else { Ok(result) }
}

/// Lets other OS threads have the processor.
#[inline]
pub fn yield_processor() {
    // SAFETY: no preconditions. It succeeds always.
    let _always = unsafe { call(libc::SYS_sched_yield, []) };
}

/// The kernel's number of the OS thread that calls.
#[inline]
pub fn thread_number() -> c_int {
    // SAFETY: no preconditions.
    let number = unsafe { call(libc::SYS_gettid, []) };
    number.map_or(0, |number| number as c_int)
}

/// The signals that the calling OS thread blocks, as bits.
#[inline]
pub fn blocked_signals() -> u64 {
    let mut blocked = 0_u64;
    let place = (&raw mut blocked).expose_provenance();
    let how = libc::SIG_BLOCK as usize;
    // SAFETY: no set is read, and the kernel writes one of eight bytes.
    let _always = unsafe { call(libc::SYS_rt_sigprocmask, [how, 0, place, size_of::<u64>()]) };
    blocked
}

/// Has the calling OS thread block these signals, as bits, and no others.
#[inline]
pub fn block_signals_only(blocked: u64) {
    let (how, place) = (libc::SIG_SETMASK as usize, (&raw const blocked).expose_provenance());
    // SAFETY: the kernel reads a set of eight bytes, and writes none.
    let _always = unsafe { call(libc::SYS_rt_sigprocmask, [how, place, 0, size_of::<u64>()]) };
}

/// For how long an OS thread of this process has had a processor. `None` if it has ended.
///
/// ```
/// let own = raddle_syscall::thread_number();
/// assert!(raddle_syscall::processor_time(own).is_some());
/// ```
#[inline]
pub fn processor_time(thread: c_int) -> Option<Duration> {
    // The clock of one OS thread: the kernel's `CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED` below its number.
    let clock = !thread << 3 | 0b110;
    let mut spec = timespec(Duration::ZERO);
    let place = (&raw mut spec).expose_provenance();
    // SAFETY: the kernel writes the span.
    unsafe { call(libc::SYS_clock_gettime, [clock as usize, place]) }.ok()?;
    Some(Duration::new(u64::try_from(spec.tv_sec).ok()?, u32::try_from(spec.tv_nsec).ok()?))
}

/// What the processor can count of an OS thread, by the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum ProcessorEvent {
    /// Cycles of its core.
    Cycles = 0,
    /// Instructions executed.
    Instructions = 1,
    /// Accesses that the last level of the cache did not answer.
    CacheMisses = 3,
}

/// Opens a counter of an OS thread of this process, outside of the kernel: the members of a group count at the same
/// times, and a read of the first of them, the leader, gives how many they are and the count of each, each a u64.
///
/// # Errors
/// What the kernel answers: that there is no such counter (`ENOENT`, as on many virtual machines), or that the process
/// must not see it (`EACCES`, by `/proc/sys/kernel/perf_event_paranoid`).
///
/// ```
/// use raddle_syscall::{ProcessorEvent, open_counter, thread_number};
/// if let Ok(counter) = open_counter(thread_number(), ProcessorEvent::Instructions, None) {
///     let mut read = [0; 16];
///     std::io::Read::read_exact(&mut std::fs::File::from(counter), &mut read)?;
///     assert_eq!(read[..8], 1_u64.to_ne_bytes());
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn open_counter(
    thread: c_int,
    event: ProcessorEvent,
    leader: Option<BorrowedFd<'_>>,
) -> Result<OwnedFd, Errno> {
    /// The kernel's `perf_event_attr`, in its first version.
    #[repr(C)]
    struct Attributes {
        kind: u32,
        size: u32,
        config: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup_events: u32,
        breakpoint: u32,
        address: u64,
    }
    const GROUP: u64 = 1 << 3;
    /// Neither the kernel nor a hypervisor: others may not be allowed.
    const PROGRAM_ONLY: u64 = 1 << 5 | 1 << 6;
    const CLOSE_ON_EXEC: usize = 1 << 3;
    let attributes = Attributes {
        kind: 0,
        size: size_of::<Attributes>() as u32,
        config: event as u64,
        sample_period: 0,
        sample_type: 0,
        read_format: GROUP,
        flags: PROGRAM_ONLY,
        wakeup_events: 0,
        breakpoint: 0,
        address: 0,
    };
    let leader = leader.map_or(usize::MAX, |leader| leader.as_raw_fd() as usize);
    let place = (&raw const attributes).expose_provenance();
    let arguments = [place, thread as usize, usize::MAX, leader, CLOSE_ON_EXEC];
    // SAFETY: the kernel reads the attributes, which are as long as they say.
    let opened = unsafe { call(libc::SYS_perf_event_open, arguments) }?;
    // SAFETY: a new descriptor, which nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(opened as c_int) })
}

/// A span of time as the kernel has it.
fn timespec(duration: Duration) -> libc::timespec {
    let seconds = duration.as_secs().min(i64::MAX as u64) as libc::time_t;
    libc::timespec { tv_sec: seconds, tv_nsec: duration.subsec_nanos().into() }
}

/// The OS thread sleeps for at least so long, whatever signals come.
pub fn sleep(duration: Duration) {
    let mut left = timespec(duration);
    let clock = libc::CLOCK_MONOTONIC as usize;
    loop {
        let place = (&raw mut left).expose_provenance();
        // SAFETY: the kernel reads the span, and writes there what is left of it.
        match unsafe { call(libc::SYS_clock_nanosleep, [clock, 0, place, place]) } {
            Err(Errno(libc::EINTR)) => {}
            _ => return,
        }
    }
}

/// Sleeps while `*word == expected`, at most `timeout`. Returns early on a wake, a signal, or for no reason.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let spec = timeout.map(timespec);
    let spec = spec.as_ref().map_or(core::ptr::null(), core::ptr::from_ref).expose_provenance();
    let flags = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let word = word.as_ptr().expose_provenance();
    // SAFETY: `word` outlives the call; `spec` is null or a span of time that lives to the end of it.
    let _why = unsafe { call(libc::SYS_futex, [word, flags, expected as usize, spec]) };
}

/// As [`futex_wait`], at the low half of a word, in which it sees a change.
pub fn futex_wait_low(word: &AtomicU64, expected: u64, timeout: Option<Duration>) {
    const { assert!(cfg!(target_endian = "little")) };
    // SAFETY: the low half of the word comes first on all our machines; only the kernel reads it as such.
    let low = unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) };
    futex_wait(low, expected as u32, timeout);
}

/// Wakes at most `count` of those who sleep at `word`, which is used as a name only and may be gone.
pub fn futex_wake(word: *const AtomicU32, count: u32) {
    let flags = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: a wake reads no memory of ours; a stale address would only wake nobody.
    let _woken = unsafe { call(libc::SYS_futex, [word.expose_provenance(), flags, count as usize]) };
}

/// Writes to a descriptor; how many bytes were written.
///
/// # Errors
/// As `write(2)`.
pub fn write(descriptor: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    let from = bytes.as_ptr().expose_provenance();
    // SAFETY: the kernel reads the bytes.
    unsafe { call(libc::SYS_write, [descriptor as usize, from, bytes.len()]) }
}

/// Waits until one of `files` is ready, at most `timeout`; how many are. No signal interrupts one that does not wait:
/// the kernel would say so of one that is on its way.
///
/// # Errors
/// As `ppoll(2)`.
pub fn poll(files: &mut [libc::pollfd], timeout: Option<Duration>) -> Result<usize, Errno> {
    loop {
        let mut spec = timeout.map(timespec);
        let spec = spec.as_mut().map_or(core::ptr::null_mut(), core::ptr::from_mut).expose_provenance();
        let first = files.as_mut_ptr().expose_provenance();
        // SAFETY: the kernel reads and writes the entries, and `spec`, if there is one; the mask of signals stays.
        let answer = unsafe { call(libc::SYS_ppoll, [first, files.len(), spec, 0, 0]) };
        if answer != Err(Errno(libc::EINTR)) || timeout != Some(Duration::ZERO) {
            return answer;
        }
    }
}

/// Waits until something is ready that `poll`, a descriptor of `epoll_create1(2)`, has been told of, at most `timeout`;
/// how many of `events` say so. Kernels before 5.11 round the time up to milliseconds.
///
/// # Errors
/// As `epoll_wait(2)`.
pub fn epoll_wait(
    poll: c_int,
    events: &mut [libc::epoll_event],
    timeout: Option<Duration>,
) -> Result<usize, Errno> {
    let (first, most) = (events.as_mut_ptr().expose_provenance(), events.len());
    if let Some(timeout) = timeout.filter(|timeout| !timeout.is_zero()) {
        let spec = timespec(timeout);
        let place = (&raw const spec).expose_provenance();
        // SAFETY: the kernel reads the span and writes at most so many entries; the mask of signals stays.
        match unsafe { call(libc::SYS_epoll_pwait2, [poll as usize, first, most, place, 0, 0]) } {
            Err(Errno(libc::ENOSYS)) => {}
            answer => return answer,
        }
    }
    let rounded = |timeout: Duration| timeout.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as usize;
    let milliseconds = timeout.map_or(usize::MAX, rounded);
    // SAFETY: the kernel writes at most so many entries; the mask of signals stays.
    unsafe { call(libc::SYS_epoll_pwait, [poll as usize, first, most, milliseconds, 0, 0]) }
}

/// Has the kernel run barriers: `membarrier(2)`. False if it refuses.
pub fn membarrier(command: c_int) -> bool {
    // SAFETY: it takes integers and touches no memory of ours.
    let answer = unsafe { call(libc::SYS_membarrier, [command as usize, 0, 0]) };
    answer == Ok(0)
}

/// Asks or sets something of the OS thread that calls: `prctl(2)`.
///
/// # Errors
/// As there.
///
/// # Safety
/// As there, for this option.
pub unsafe fn prctl(option: c_int, argument: usize) -> Result<usize, Errno> {
    // SAFETY: passed on to the caller.
    unsafe { call(libc::SYS_prctl, [option as usize, argument, 0, 0, 0]) }
}

/// Binds the OS thread that calls to processors.
///
/// # Errors
/// As `sched_setaffinity(2)`.
pub fn set_affinity(processors: &libc::cpu_set_t) -> Result<(), Errno> {
    let set = core::ptr::from_ref(processors).expose_provenance();
    // SAFETY: the kernel reads the set, of this size. 0 is the thread that calls.
    unsafe { call(libc::SYS_sched_setaffinity, [0, size_of::<libc::cpu_set_t>(), set]) }.map(drop)
}

/// The processors on which the OS thread that calls may run.
///
/// # Errors
/// As `sched_getaffinity(2)`.
pub fn affinity() -> Result<libc::cpu_set_t, Errno> {
    // SAFETY: a set of bits, for which all zeroes is a value.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    let place = (&raw mut set).expose_provenance();
    // SAFETY: the kernel writes at most the size that it is told.
    unsafe { call(libc::SYS_sched_getaffinity, [0, size_of::<libc::cpu_set_t>(), place]) }?;
    Ok(set)
}

/// Sets the alternate signal stack of the OS thread that calls, and says which it had.
///
/// # Errors
/// As `sigaltstack(2)`.
///
/// # Safety
/// The memory of `stack` stays as long as it is the alternate stack.
pub unsafe fn set_alternate_stack(stack: &libc::stack_t) -> Result<libc::stack_t, Errno> {
    let mut before = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    let (new, old): (*const libc::stack_t, *mut libc::stack_t) = (stack, &raw mut before);
    // SAFETY: both are descriptions; the caller vouches for the memory.
    unsafe { call(libc::SYS_sigaltstack, [new.expose_provenance(), old.expose_provenance()]) }?;
    Ok(before)
}

/// Queues a signal with `info` for one OS thread of this program: `rt_tgsigqueueinfo(2)`.
///
/// # Errors
/// As there.
///
/// # Safety
/// `info` points to the 128 bytes of a `siginfo_t`.
pub unsafe fn queue_signal(thread: c_int, signal: c_int, info: *const c_void) -> Result<(), Errno> {
    let (process, info) = (std::process::id() as usize, info.expose_provenance());
    // SAFETY: the caller vouches for what the kernel reads.
    unsafe { call(libc::SYS_rt_tgsigqueueinfo, [process, thread as usize, signal as usize, info]) }.map(drop)
}
