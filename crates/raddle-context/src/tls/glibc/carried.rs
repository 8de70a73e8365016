//! Owns: finding the words that are carried with an OS thread, by whoever keeps some.
//! May use: `arch`, `libc`.
//! Never: which memory manager there is.
//!
//! Who keeps such words says so by a function: `raddle_words_of_worker` in the program or library that this is linked
//! into, which nobody else sees; and `raddle_worker_words` in a shared library, such as a preloaded one. Each OS thread
//! that is to run contexts calls both, in its own storage, with what is to be called as soon as there is something to
//! carry. They answer where the words lie, and see to it that the OS thread's end will be told.
//!
//! It uses the linker: a weak name, and `dlsym`.

use crate::arch;
use crate::arch::carried::DISTANCES;
use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

type WordsOf = unsafe extern "C" fn(begin: extern "C" fn()) -> isize;

#[cfg_attr(target_arch = "x86_64", path = "carried/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "carried/aarch64.rs")]
mod machine;

/// Who keeps words in a shared library; null if nobody does. It is looked up once: an OS thread that begins while
/// another one holds the loader's lock, and waits for it, must not wait for that.
fn shared() -> *mut c_void {
    /// Null before it was looked up; itself if there is none.
    static SHARED: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    let none = (&raw const SHARED).cast_mut().cast();
    // Relaxed, here and below: an address of code.
    let mut found = SHARED.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: looks a name up among the loaded libraries.
        found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"raddle_worker_words".as_ptr()) };
        if found.is_null() {
            found = none;
        }
        SHARED.store(found, Ordering::Relaxed);
    }
    if found == none { ptr::null_mut() } else { found }
}

/// Where the words lie of whom that function is; 0 if it is none.
fn words_of(place: *mut c_void) -> isize {
    let Some(place) = NonNull::new(place) else { return 0 };
    // SAFETY: these names are of functions of this type.
    let words_of = unsafe { core::mem::transmute::<NonNull<c_void>, WordsOf>(place) };
    // SAFETY: as its keeper says: any OS thread may call it.
    unsafe { words_of(begin) }
}

/// Whether anybody has something to carry.
static BEGUN: AtomicBool = AtomicBool::new(false);

extern "C" fn begin() {
    BEGUN.store(true, Ordering::SeqCst); // pairs with the load in `carry_if_begun`
    carry_if_begun();
}

/// If there is something to carry, and it is known where: both `begin` and `settle` come here, whoever is later.
fn carry_if_begun() {
    // pairs with the stores in `begin` and `settle`: who comes later sees what the other one has stored
    let (begun, first) = (BEGUN.load(Ordering::SeqCst), DISTANCES[0].load(Ordering::SeqCst));
    if begun && first != 0 {
        // Relaxed: it was stored before the first one.
        arch::begin_carrying(DISTANCES[1].load(Ordering::Relaxed) != 0);
    }
}

/// The OS thread that calls is to run contexts with storage of their own; it has its own, or that of such a context.
pub(super) fn settle() {
    let (linked, shared) = (words_of(machine::linked().cast()), words_of(shared()));
    let (first, second) = if linked == 0 { (shared, 0) } else { (linked, shared) };
    // The second one first: who sees the first one sees all.
    DISTANCES[1].store(second, Ordering::SeqCst); // pairs with the load in `carry_if_begun`
    DISTANCES[0].store(first, Ordering::SeqCst); // pairs with the load in `carry_if_begun`
    carry_if_begun();
}

/// Marks a block, which is in no use, as storage that moves with its context.
pub(super) fn mark(block: NonNull<u8>) {
    // bounded: by the list.
    for distance in DISTANCES.iter().map(|place| place.load(Ordering::Relaxed)).take_while(|it| *it != 0) {
        let third: *mut usize = block.as_ptr().wrapping_byte_offset(distance).cast::<usize>().wrapping_add(2);
        // SAFETY: a word of the block's variables.
        unsafe { third.write(1) };
    }
}
