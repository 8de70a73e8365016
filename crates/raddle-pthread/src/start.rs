//! Owns: the thread of the program's `main`; how large stacks are; what is set before `main`.
//! May use: `cancel`, `life`, `record`, `report`, `libc`, `raddle-context`, `raddle-core`.
//! Never: the end of the program before `main` has returned or all threads have ended.

use crate::{cancel, life, record, report};
use raddle_context::interpose::Next;
use raddle_core::door::thread::{ForeignBuilder, pthread_self};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

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

static MAIN: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

struct Arguments {
    main: Main,
    number: c_int,
    words: *mut *mut u8,
    variables: *mut *mut u8,
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

unsafe extern "C-unwind" fn run_main(arguments: *mut c_void) -> *mut c_void {
    // SAFETY: `in_thread` waits for this, with its arguments.
    let Arguments { main, number, words, variables } = unsafe { arguments.cast::<Arguments>().read() };
    // SAFETY: its own storage.
    let record = unsafe { record::at(pthread_self()) };
    record.begin(pthread_self());
    record.number.store(std::process::id().cast_signed(), Ordering::Relaxed);
    record::at_end();
    // SAFETY: what `__libc_start_main` was given.
    let code = unsafe { main(number, words, variables) };
    // As it would be after a return: what the program has registered runs in the thread of its `main`.
    // SAFETY: once.
    unsafe { libc::exit(code) }
}

unsafe extern "C-unwind" fn in_thread(number: c_int, words: *mut *mut u8, variables: *mut *mut u8) -> c_int {
    // SAFETY: its type.
    let main = unsafe { std::mem::transmute::<*mut c_void, Main>(MAIN.load(Ordering::Relaxed)) };
    cancel::install();
    let mut arguments = Arguments { main, number, words, variables };
    life::began_one();
    // SAFETY: the arguments stay until it is joined, below.
    match unsafe { builder(limit()).name("main").spawn(run_main, (&raw mut arguments).cast()) } {
        Ok(thread) => {
            // It returns only if `main` has left by `pthread_exit`: then the last thread ends the program.
            let _left = thread.join();
            life::wait_for_all();
            0
        }
        Err(refused) => {
            life::ended_one();
            report::once(&format!("the program runs on the kernel's threads: {refused}"));
            // SAFETY: what `__libc_start_main` was given.
            unsafe { main(number, words, variables) }
        }
    }
}


/// The C library's, which then calls `main` in a thread of Raddle's.
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
    static NEXT: Next = Next::of(c"__libc_start_main");
    MAIN.store(main as *mut c_void, Ordering::Relaxed);
    // SAFETY: its type.
    let next = unsafe { std::mem::transmute::<*mut c_void, StartMain>(NEXT.address()) };
    let is_on_os = std::env::var_os("RADDLE_PTHREAD_MAIN").is_some_and(|text| text == "os");
    // SAFETY: the caller's arguments, with another function of the same type.
    unsafe { next(if is_on_os { main } else { in_thread }, number, words, begin, end, loader, stack) }
}
