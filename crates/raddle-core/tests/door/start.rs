//! `main` is a thread of C, too: a join in it then costs a switch, where an OS thread would sleep.

use raddle_context::interpose::Next;
use raddle_core::door::thread::ForeignBuilder;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = *mut c_void;
type StartMain = unsafe extern "C" fn(Main, c_int, *mut *mut c_char, Hook, Hook, Hook, Hook) -> c_int;

static MAIN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
const STACK_BYTES: usize = 1 << 20;

struct Arguments(c_int, *mut *mut c_char, *mut *mut c_char);

unsafe extern "C-unwind" fn run_main(arguments: *mut c_void) -> *mut c_void {
    // SAFETY: `in_thread` waits for this, with its arguments.
    let Arguments(number, words, variables) = unsafe { arguments.cast::<Arguments>().read() };
    // SAFETY: what `__libc_start_main` was given.
    let main = unsafe { std::mem::transmute::<*mut c_void, Main>(MAIN.load(Ordering::Relaxed)) };
    // SAFETY: its own arguments.
    let code = unsafe { main(number, words, variables) };
    std::ptr::without_provenance_mut(code.cast_unsigned() as usize)
}

unsafe extern "C" fn in_thread(number: c_int, words: *mut *mut c_char, variables: *mut *mut c_char) -> c_int {
    let mut arguments = Arguments(number, words, variables);
    let builder = ForeignBuilder::new().name("main").stack_size(STACK_BYTES);
    // SAFETY: the arguments stay until it is joined, below.
    let main = unsafe { builder.spawn(run_main, (&raw mut arguments).cast()) }.expect("a thread for main");
    main.join().expect("a stack for main").addr() as c_int
}

/// The C library's, which then calls `main` in a thread of C.
///
/// # Safety
/// As that one's.
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main(
    main: Main,
    number: c_int,
    words: *mut *mut c_char,
    begin: Hook,
    end: Hook,
    loader: Hook,
    stack: Hook,
) -> c_int {
    static NEXT: Next = Next::of(c"__libc_start_main");
    MAIN.store(main as *mut c_void, Ordering::Relaxed);
    // SAFETY: its type.
    let next = unsafe { std::mem::transmute::<*mut c_void, StartMain>(NEXT.address()) };
    // SAFETY: the caller's arguments, with another function of the same type.
    unsafe { next(in_thread, number, words, begin, end, loader, stack) }
}
