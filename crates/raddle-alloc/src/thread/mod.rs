//! Owns: which heap an OS thread has; how it comes by one and how it leaves it.
//! May use: `hardened`, `heap`, `profile`, `registry`, `system`, `libc`.
//! Never: work in a heap, but to leave it.
//!
//! | first word | second word | the thread |
//! |---|---|---|
//! | heap | anything | has a heap |
//! | 0 | `FRESH` | has never allocated |
//! | 0 | heap | has a heap which only the slow paths find: each allocation is counted for the profile |
//! | 0 | a rest of a heap, and `RESTS` | has one that others may take: its next allocation or free asks if one has |
//! | 0 | `CHANGES` | is about to have one, or to leave it: a signal handler that comes in between does without |
//! | 0 | `ENDED` | has left it: what its last destructors allocate and free goes without one |
//!
//! A key of POSIX threads tells of a thread's end, until the library that has the allocator is closed. Destructors of
//! Rust's and C++'s thread-local variables run before it.
//!
//! **Who runs contexts with storage of their own carries the words along** when it changes the storage
//! ([`words_of_worker`]), so that the heap stays with the OS thread: the first one alone, if there is a heap. A
//! third word is 1 in such storage, where the end of a context is no thread's: no key is set there.
//!
//! It is unsafe because it makes a reference of a word, and calls the C library.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod words;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};

use crate::heap::Heap;
use crate::{hardened, profile, registry, system};

const HEAP: usize = 0;
const STATE: usize = 8;
/// 1 in storage that moves from one OS thread to another.
const MOVES: usize = 16;
const FRESH: usize = 0;
const CHANGES: usize = 1;
const ENDED: usize = 3;
/// What [`current_state`] says of a thread whose first word is a heap.
const HAS: usize = 2;
/// Heaps lie at multiples of more. Above it stand the heap's number, and which of its rests it is: that comes round
/// after 2^43, within one rest of a thread.
const RESTS: usize = 1;
const RESTS_SHIFT: u32 = registry::NUMBER_BITS + 1;
const RESTS_MOST: u64 = u64::MAX >> RESTS_SHIFT;

/// The key whose destructor tells of a thread's end, and one; 0 before it is made.
static KEY: AtomicU32 = AtomicU32::new(0);

/// The thread's heap, if it has one.
#[inline(always)]
pub(crate) fn heap() -> Option<&'static Heap> {
    let heap = ptr::with_exposed_provenance::<Heap>(words::get::<HEAP>());
    // SAFETY: 0, or the address of a heap; heaps stay.
    unsafe { heap.as_ref() }
}

/// The second word, unless the first one says all.
fn current_state() -> usize {
    if words::get::<HEAP>() != 0 { HAS } else { words::get::<STATE>() }
}

/// The thread's heap, whatever paths may find it.
pub(crate) fn own() -> Option<&'static Heap> {
    let state = current_state();
    if state <= ENDED {
        return heap();
    }
    if state & RESTS != 0 {
        return None;
    }
    // SAFETY: the address of a heap; heaps stay.
    unsafe { ptr::with_exposed_provenance::<Heap>(state).as_ref() }
}

/// Others may take the thread's heap from now on, until it allocates or frees again. Cheap: two stores, and an exchange
/// then.
pub(crate) fn rest() {
    let Some(heap) = own() else { return };
    // A handler that has interrupted a call does not give its heap away.
    let Some(work) = heap.work() else { return };
    words::set::<STATE>(CHANGES);
    words::set::<HEAP>(0);
    drop(work);
    heap.rests_since_ms.store(system::now_ms(), Ordering::Relaxed);
    let number = heap.number.load(Ordering::Relaxed) as usize;
    let rest = heap.rests.get() % RESTS_MOST + 1;
    heap.rests.set(rest);
    registry::rests();
    heap.rest.rests(rest);
    words::set::<STATE>((rest as usize) << RESTS_SHIFT | number << 1 | RESTS);
}

/// The thread has its heap again; `None` if it does not rest, or another has taken the heap: then it has none.
fn wake() -> Option<&'static Heap> {
    let state = current_state();
    if state <= ENDED || state & RESTS == 0 {
        return None;
    }
    words::set::<STATE>(CHANGES);
    let (rest, number) = (state >> RESTS_SHIFT, state >> 1 & ((1 << registry::NUMBER_BITS) - 1));
    let heap = registry::heap(number as u32).filter(|heap| heap.rest.wakes(rest as u64));
    match heap {
        Some(heap) => {
            registry::wakes();
            set(heap);
        }
        None => words::set::<STATE>(FRESH),
    }
    heap
}

/// The heap is the thread's, by the paths that may find it.
fn set(heap: &Heap) {
    let (address, is_profiled) = (ptr::from_ref(heap).expose_provenance(), profile::is_on());
    words::set::<HEAP>(if is_profiled { 0 } else { address });
    words::set::<STATE>(if is_profiled { address } else { CHANGES });
}

/// The thread's heap; it takes one if it has none, and may.
#[cold]
pub(crate) fn heap_or_take() -> Option<&'static Heap> {
    if let Some(heap) = wake() {
        return Some(heap);
    }
    if profile::is_on() && current_state() == HAS {
        // From before the profile was on.
        leave_for_now();
    }
    if hardened::is_on() {
        // It may have come by one before the mode was on: blocks of pages would go through it unnoticed.
        leave_for_now();
        return heap();
    }
    if current_state() != FRESH {
        return own();
    }
    words::set::<STATE>(CHANGES);
    let taken = registry::take();
    if let Some(heap) = taken {
        set(heap);
        begin_carrying();
        // The heap is there already: setting a key may allocate.
        announce();
    } else {
        words::set::<STATE>(FRESH);
    }
    taken
}

/// What is to be called as soon as a heap has been taken: see [`words_of_worker`].
static CARRIER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Who carries words along learns that there are some.
fn begin_carrying() {
    // pairs with the one in `words_of_worker`: either that sees the heap, or this sees the call
    fence(Ordering::SeqCst);
    let call = CARRIER.load(Ordering::Acquire);
    if !call.is_null() {
        // SAFETY: such a function is all that is ever stored there.
        let call = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(call) };
        call();
    }
}

/// Where an OS thread's words lie, from its thread pointer: for who runs contexts with storage of their own, and has to
/// copy the first two when it changes the storage (`crates/raddle-context/src/arch/carried.rs`). `begin` is called
/// as soon as there is a heap: now, if there is one. The caller, an OS thread that is to run such contexts, has a heap
/// then, and its end will be told.
pub(crate) extern "C" fn words_of_worker(begin: extern "C" fn()) -> isize {
    CARRIER.store(begin as *mut c_void, Ordering::Release); // pairs with the load in `begin_carrying`
    fence(Ordering::SeqCst); // pairs with the one in `begin_carrying`
    if registry::has_made_some() {
        begin();
        let _settled = heap_or_take();
    }
    // It may have none yet, or have got it in other storage.
    announce();
    words::distance()
}

/// Has the thread's end told.
fn announce() {
    if words::get::<MOVES>() != 0 {
        return;
    }
    let key = KEY.load(Ordering::Relaxed);
    let key = if key == 0 { make_key() } else { key };
    if key != 0 && key != UNLOADED {
        // SAFETY: the key was made, and is deleted when nobody calls any more. Any value but null will do.
        unsafe { libc::pthread_setspecific(key - 1, ptr::without_provenance(1)) };
    }
}

/// Several threads may make one; the first is kept.
fn make_key() -> u32 {
    let mut key = 0;
    // SAFETY: it writes the key.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(ends)) } != 0 {
        return 0;
    }
    match KEY.compare_exchange(0, key + 1, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => key + 1,
        Err(kept) => {
            // SAFETY: nobody else knows it.
            unsafe { libc::pthread_key_delete(key) };
            kept
        }
    }
}

/// No key is made any more.
const UNLOADED: u32 = u32::MAX;

/// The library that has this allocator is closed, or the program ends: threads that end later must not come back here.
/// What their heaps hold is lost, as are this library's arenas.
extern "C" fn unload() {
    let key = KEY.swap(UNLOADED, Ordering::Relaxed);
    if key != 0 && key != UNLOADED {
        // SAFETY: the key was made, and whoever reads the word from now on finds no key there.
        unsafe { libc::pthread_key_delete(key - 1) };
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOAD: extern "C" fn() = unload;

extern "C" fn ends(_value: *mut c_void) {
    // Storage that was used before anybody said that it moves.
    if words::get::<MOVES>() == 0 {
        leave(ENDED);
    }
}

/// Leaves the thread's heap, with all that it has, to others. The thread takes another one when it next allocates.
pub(crate) fn leave_for_now() {
    leave(FRESH);
}

fn leave(state: usize) {
    let _it_rested = wake();
    if state == ENDED && current_state() == FRESH {
        words::set::<STATE>(ENDED);
    }
    if matches!(current_state(), FRESH | CHANGES | ENDED) {
        return;
    }
    let Some(heap) = own() else { return };
    // A handler that interrupts an allocation may end the thread, by `pthread_exit`: that heap is lost.
    let Some(work) = heap.work() else { return };
    words::set::<STATE>(CHANGES);
    words::set::<HEAP>(0);
    work.leave_all();
    drop(work);
    registry::give(heap);
    words::set::<STATE>(state);
}
