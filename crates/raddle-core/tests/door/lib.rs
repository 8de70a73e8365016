//! A small adaptor, to be preloaded: POSIX threads of a C program become threads of C on Raddle's workers. It shows
//! that the door suffices, and what an adaptor has to do; see `tests/door.rs`. Of the interface it has what the tests
//! call.

mod calls;
mod ends;
mod locks;
mod polls;
mod slices;
mod start;

use raddle_context::interpose;
use raddle_core::door::thread::{ForeignBuilder, Start, Thread};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

interpose! {
    pthread_create => create;
    pthread_join => join;
    pthread_detach => detach;
}

/// Who may be joined, with the word by which it is cancelled.
type Threads = HashMap<usize, (Thread, Arc<AtomicU32>)>;

static THREADS: Mutex<Option<Threads>> = Mutex::new(None);

fn threads() -> MutexGuard<'static, Option<Threads>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A builder by the program's attributes; `None` if it asks for something else.
///
/// # Safety
/// The attributes are initialised.
unsafe fn builder_by(attributes: *const libc::pthread_attr_t) -> Option<ForeignBuilder> {
    let (mut memory, mut bytes) = (null_mut(), 0);
    // SAFETY: passed on to the caller.
    if unsafe { libc::pthread_attr_getstack(attributes, &raw mut memory, &raw mut bytes) } != 0 {
        return None;
    }
    // The C library keeps the end of the memory, and zero if there is none.
    let given = memory.addr().wrapping_add(bytes) != 0 && !memory.is_null();
    Some(if given {
        ForeignBuilder::new().stack_memory(memory.cast(), bytes)
    } else {
        ForeignBuilder::new().stack_size(bytes)
    })
}

/// As `pthread_create`.
unsafe extern "C" fn create(
    id: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    ends::install();
    let builder = if attributes.is_null() {
        Some(ForeignBuilder::new().stack_size(256 << 10))
    } else {
        // SAFETY: the program's.
        unsafe { builder_by(attributes) }
    };
    let own = Arc::new(AtomicU32::new(0));
    let begin = Box::into_raw(Box::new(Begin { start, argument, own: own.clone() }));
    // SAFETY: the program vouches for its function and for its memory; the box is the thread's alone.
    let made = builder.map(|builder| unsafe { builder.spawn(run, begin.cast()) });
    let Some(Ok(thread)) = made else {
        // SAFETY: nobody runs it.
        drop(unsafe { Box::from_raw(begin) });
        return libc::EAGAIN;
    };
    let pthread = thread.pthread();
    threads().get_or_insert_default().insert(pthread, (thread, own));
    // SAFETY: the program's, which may read it when the thread already runs.
    unsafe { id.write(pthread as libc::pthread_t) };
    calls::count(calls::CREATED);
    0
}

fn taken(id: libc::pthread_t) -> Option<Thread> {
    threads().as_mut().and_then(|all| all.remove(&(id as usize))).map(|(thread, _)| thread)
}

/// By which word a thread is cancelled that has not been joined or detached.
fn word_of(id: libc::pthread_t) -> Option<Arc<AtomicU32>> {
    threads().as_ref().and_then(|all| all.get(&(id as usize))).map(|(_, word)| word.clone())
}

/// What a thread runs, and by which word it is cancelled.
struct Begin {
    start: Start,
    argument: *mut c_void,
    own: Arc<AtomicU32>,
}

/// The thread's function. Nothing is left in this frame when the program's begins: it may be unwound by force.
unsafe extern "C-unwind" fn run(begin: *mut c_void) -> *mut c_void {
    // SAFETY: what `create` has made for this thread.
    let begin = unsafe { Box::from_raw(begin.cast::<Begin>()) };
    let Begin { start, argument, own } = *begin;
    ends::begin(own);
    // SAFETY: the program vouches for its function.
    unsafe { start(argument) }
}

/// As `pthread_join`.
unsafe extern "C" fn join(id: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    let Some(thread) = taken(id) else { return libc::ESRCH };
    let value = thread.join().unwrap_or(null_mut());
    if !result.is_null() {
        // SAFETY: the program's.
        unsafe { result.write(value) };
    }
    0
}

/// As `pthread_detach`.
extern "C" fn detach(id: libc::pthread_t) -> c_int {
    taken(id).map_or(libc::ESRCH, |thread| {
        thread.detach();
        0
    })
}
