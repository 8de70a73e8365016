//! Owns: where the runtime's own memory comes from: the C library, whatever `malloc` the program brings.
//! May use: `libc`, `raddle-context`, `raddle-core`.
//! Never: the program's allocator: its lock may be a mutex for which a thread waits that waits for the runtime.
//!
//! The standard library calls `malloc` by name, which is the program's if that has one (jemalloc in rustc and redis). A
//! scheduler that waits for that one's lock stops its worker, in whose queue the lock's holder may be. The C library
//! waits for its own locks in the kernel, and no thread is taken off a worker while it holds them. Its second names are
//! looked up by its version, since other allocators define those, too.
//!
//! The linker (`--wrap`, see `cargo xtask link-shared`) has what is linked into this library call these functions
//! instead of those whose names they have; the program does not see them. One of these names has none on purpose,
//! `__cxa_thread_atexit_impl`: the C library allocates for it by the program's `malloc`, and the caller may be a thread
//! in the midst of that `malloc`, with its lock. The standard library then finds no such function, and keeps the
//! destructors of its variables itself, to be run by one of a key.

use crate::next::next;
use raddle_context::firm::firmly;
use raddle_core::door::thread::Start;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// Of the first of the C library for this machine, which all functions have that it had then.
const BASE_VERSION: &CStr = if cfg!(target_arch = "x86_64") { c"GLIBC_2.2.5" } else { c"GLIBC_2.17" };

/// A function of the C library's, looked up once.
struct OfC<F> {
    found: AtomicPtr<c_void>,
    name: &'static CStr,
    kind: PhantomData<F>,
}

impl<F: Copy> OfC<F> {
    /// # Safety
    /// `F` is a function of the type that this name has.
    const unsafe fn new(name: &'static CStr) -> OfC<F> {
        OfC { found: AtomicPtr::new(null_mut()), name, kind: PhantomData }
    }

    #[inline]
    fn function(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let address = self.address();
        // SAFETY: its maker vouched for the type.
        unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) }
    }

    #[inline]
    fn address(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Relaxed); // the function has been there from the start
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // The version is the C library's alone. `dlopen` for its handle would, before the initialisers have run, have
        // it take itself for a library that is loaded late.
        // SAFETY: two names.
        let found = unsafe { dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), BASE_VERSION.as_ptr()) };
        if found.is_null() {
            // A panic would allocate.
            std::process::abort();
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

// SAFETY: the types of the functions that these stand for, by their second names.
static MALLOC: OfC<unsafe extern "C" fn(usize) -> *mut c_void> = unsafe { OfC::new(c"__libc_malloc") };
type OfTwo = unsafe extern "C" fn(usize, usize) -> *mut c_void;
// SAFETY: as above.
static CALLOC: OfC<OfTwo> = unsafe { OfC::new(c"__libc_calloc") };
// SAFETY: as above.
static MEMALIGN: OfC<OfTwo> = unsafe { OfC::new(c"__libc_memalign") };
type OfPlace = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
// SAFETY: as above.
static REALLOC: OfC<OfPlace> = unsafe { OfC::new(c"__libc_realloc") };
// SAFETY: as above.
static FREE: OfC<unsafe extern "C" fn(*mut c_void)> = unsafe { OfC::new(c"__libc_free") };

#[unsafe(no_mangle)]
extern "C" fn __wrap_malloc(bytes: usize) -> *mut c_void {
    // SAFETY: a size.
    unsafe { MALLOC.function()(bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn __wrap_calloc(number: usize, bytes: usize) -> *mut c_void {
    // SAFETY: a number and a size.
    unsafe { CALLOC.function()(number, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_realloc(place: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller's arguments.
    unsafe { REALLOC.function()(place, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_free(place: *mut c_void) {
    // SAFETY: the caller's argument.
    unsafe { FREE.function()(place) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_posix_memalign(place: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    // SAFETY: two sizes.
    let found = unsafe { MEMALIGN.function()(alignment, bytes) };
    if found.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller's argument.
    unsafe { place.write(found) };
    0
}

/// Its answer is freed by the caller, and so must not be of the program's allocator.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_realpath(path: *const c_char, answer: *mut c_char) -> *mut c_char {
    type RealPath = unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut c_char;
    let next = next!(c"realpath": RealPath);
    let place = if answer.is_null() { __wrap_malloc(libc::PATH_MAX as usize).cast() } else { answer };
    if place.is_null() {
        return place;
    }
    // SAFETY: the caller's path, and room for the longest answer.
    let found = unsafe { next(path, place) };
    if found.is_null() && answer.is_null() {
        // SAFETY: from above; it leaves `errno` alone.
        unsafe { __wrap_free(place.cast()) };
    }
    found
}

/// An OS thread of the runtime's. The C library allocates for it by the program's `malloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_create(
    id: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Create =
        unsafe extern "C" fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Start, *mut c_void) -> c_int;
    // SAFETY: the caller's arguments.
    firmly(|| unsafe { next!(c"pthread_create": Create)(id, attributes, start, argument) })
}

/// What the C library has allocated for an answer about such a thread.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_pthread_attr_destroy(attributes: *mut libc::pthread_attr_t) -> c_int {
    type Destroy = unsafe extern "C" fn(*mut libc::pthread_attr_t) -> c_int;
    // SAFETY: the caller's argument.
    firmly(|| unsafe { next!(c"pthread_attr_destroy": Destroy)(attributes) })
}
