//! Owns: the thread of the program's `main`; how large stacks are; what is set before `main`.
//! May use: `report`, `libc`, `raddle-context`, `raddle-core`, `raddle-syscall`.
//! Never: the end of the program before `main` has returned or all threads have ended.

use crate::next::next;
use crate::report;
use crate::thread::{life, record, shared, signals};
use raddle_context::firm::firmly;
use raddle_core::door::thread::{ForeignBuilder, pthread_self};
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

type Main = unsafe extern "C-unwind" fn(c_int, *mut *mut u8, *mut *mut u8) -> c_int;
type StartMain = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut u8,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// What the C library's `__libc_start_main` is called with.
struct Arguments {
    next: StartMain,
    main: Main,
    number: c_int,
    words: *mut *mut u8,
    hooks: [*mut c_void; 4],
    /// The signals that the program begins with blocked.
    blocked: u64,
}

impl Arguments {
    /// Has the C library run the program's initialisers and `main`, and end the program.
    ///
    /// # Safety
    /// Once, with the arguments of the call that was the program's.
    unsafe fn go(&self) -> c_int {
        let Arguments { next, main, number, words, hooks: [begin, end, loader, stack], .. } = *self;
        // SAFETY: the caller's.
        unsafe { next(main, number, words, begin, end, loader, stack) }
    }
}

/// Whether the program wants stacks whose bytes can be executed: nested functions of gcc's whose address is taken.
fn wants_executable_stacks() -> bool {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        const STACK: u32 = 0x6474_e551;
        // SAFETY: the C library's, for this call.
        let info = unsafe { info.read() };
        // SAFETY: the program's headers, as many as that says.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let is = headers.iter().any(|header| header.p_type == STACK && header.p_flags & libc::PF_X != 0);
        // SAFETY: the caller's variable.
        unsafe { found.cast::<bool>().write(is) };
        // The program itself comes first, and nothing else is asked for.
        1
    }
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let mut found = false;
        // SAFETY: the function keeps to the interface.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    })
}

/// Settings for a thread with a stack of so many bytes.
pub(crate) fn builder(bytes: usize) -> ForeignBuilder {
    if wants_executable_stacks() {
        report::once("stacks that can be executed are not there: a nested function by its address faults");
    }
    ForeignBuilder::new().stack_size(bytes)
}

/// What `pthread_create` without attributes gives.
pub(crate) fn default_stack_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(limit)
}

fn limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the limit.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    // Addresses, not memory: pages are taken when they are touched.
    const MOST: usize = 64 << 20;
    usize::try_from(limit.rlim_cur).unwrap_or(8 << 20).clamp(1 << 20, MOST)
}

/// Takes this library out of what children load, if that is wished.
fn leave_children_alone() {
    const PRELOAD: &str = "LD_PRELOAD";
    if std::env::var_os("LIBRADDLE_ALONE").is_none() {
        return;
    }
    let all = std::env::var(PRELOAD).unwrap_or_default();
    let others = all.split([':', ' ']).filter(|path| !path.ends_with("libraddle_pthread.so"));
    let others = others.collect::<Vec<_>>().join(":");
    // SAFETY: the program has not begun, and its libraries' initialisers are over.
    unsafe { std::env::set_var(PRELOAD, others) };
}

/// A program that this one starts would write its trace over this one's, or this one over that: one that waits for
/// another then seems to have computed nothing. By the thread of `main`, before the program begins: the runtime knows
/// its own file.
fn let_children_trace_elsewhere() {
    const TRACE: &str = "RADDLE_TRACE";
    let Ok(file) = std::env::var(TRACE) else { return };
    if let Some(name) = file.strip_suffix(".rdt").filter(|name| !name.contains("%p")) {
        // SAFETY: no other thread of the program's runs.
        unsafe { std::env::set_var(TRACE, format!("{name}.%p.rdt")) };
    }
}

/// Whether the program's name is among those that are to keep the C library's threads.
fn is_denied() -> bool {
    let Ok(denied) = std::env::var("LIBRADDLE_DENY") else { return false };
    let file = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let name = file.file_name().unwrap_or_default();
    denied.split(':').any(|denied| name == denied)
}

/// There is no runtime.
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Whether threads are the C library's.
pub(crate) fn is_off() -> bool {
    IS_OFF.load(Ordering::Relaxed)
}

unsafe extern "C-unwind" fn run_main(arguments: *mut c_void) -> *mut c_void {
    // SAFETY: `__libc_start_main` waits for this, with its arguments.
    let arguments = unsafe { &*arguments.cast::<Arguments>() };
    // SAFETY: its own storage.
    let record = unsafe { record::at(pthread_self()) };
    record.begin(pthread_self());
    record.number.store(std::process::id().cast_signed(), Ordering::Relaxed);
    signals::is_main(record);
    signals::begin(record, arguments.blocked);
    life::at_end();
    let_children_trace_elsewhere();
    // SAFETY: once.
    let code = unsafe { arguments.go() };
    std::ptr::without_provenance_mut(code as usize)
}

/// Tells the kernel that the runtime will ask it for fences, while the program has one OS thread: with more, the kernel
/// first waits for all processors.
///
/// PERF: 12 ms of a start, where the C library's two threads of `raddle_context`'s have not ended yet.
fn register_for_fences() {
    const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;
    // What it refuses now it refuses the runtime, too, which does without.
    let _answer = raddle_syscall::membarrier(REGISTER_PRIVATE_EXPEDITED);
}

/// The C library's, in a thread of Raddle's: so the initialisers of the program, and its `main`, are in one thread,
/// and those of its libraries have run in the OS thread.
///
/// # Safety
/// As that one's.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    number: c_int,
    words: *mut *mut u8,
    begin: *mut c_void,
    end: *mut c_void,
    loader: *mut c_void,
    stack: *mut c_void,
) -> c_int {
    leave_children_alone();
    let next = next!(c"__libc_start_main": StartMain);
    let mut arguments =
        Arguments { next, main, number, words, hooks: [begin, end, loader, stack], blocked: 0 };
    if is_denied() {
        IS_OFF.store(true, Ordering::Relaxed);
        // SAFETY: the caller's arguments.
        return unsafe { arguments.go() };
    }
    if std::env::var_os("LIBRADDLE_MAIN").is_some_and(|text| text == "os") {
        // SAFETY: the caller's arguments.
        return unsafe { arguments.go() };
    }
    register_for_fences();
    // The loader allocates for an answer that there is no such name.
    firmly(life::install);
    life::began_one();
    let blocked = signals::begin_keeping();
    shared::register();
    arguments.blocked = blocked;
    // SAFETY: the arguments stay until it is joined, below.
    match unsafe { builder(limit()).name("main").spawn(run_main, (&raw mut arguments).cast()) } {
        Ok(thread) => {
            life::be_known();
            signals::keep(blocked);
            // SAFETY: just made, and nobody joins it before its right is kept.
            let record = unsafe { record::at(thread.pthread()) };
            life::keep_right(thread, record);
            // If `main` leaves by `pthread_exit`, the last thread ends the program.
            life::wait_for_all();
            // SAFETY: as after `main`.
            unsafe { libc::exit(0) }
        }
        Err(refused) => {
            life::ended_one();
            report::once(&format!("the program keeps the kernel's threads: {refused}"));
            IS_OFF.store(true, Ordering::Relaxed);
            signals::keep_nothing(blocked);
            shared::unregister();
            // SAFETY: the caller's arguments.
            unsafe { arguments.go() }
        }
    }
}
