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
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

type WordsOf = unsafe extern "C" fn(begin: extern "C" fn()) -> isize;

#[cfg_attr(target_arch = "x86_64", path = "carried/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "carried/aarch64.rs")]
mod machine;

/// Those who keep words: the one that is linked in, and a shared library.
fn keepers() -> &'static [Option<WordsOf>; 2] {
    static KEEPERS: OnceLock<[Option<WordsOf>; 2]> = OnceLock::new();
    KEEPERS.get_or_init(|| {
        // SAFETY: looks a name up among the loaded libraries.
        let shared = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"raddle_worker_words".as_ptr()) };
        [machine::linked(), shared].map(|place| {
            // SAFETY: these names are of functions of this type.
            NonNull::new(place).map(|place| unsafe { core::mem::transmute::<NonNull<_>, WordsOf>(place) })
        })
    })
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
    let mut found = [0; 2];
    // SAFETY: as its keeper says: any OS thread may call it.
    let distances = keepers().iter().flatten().map(|words_of| unsafe { words_of(begin) });
    found.iter_mut().zip(distances).for_each(|(place, distance)| *place = distance);
    // The second one first: who sees the first one sees all.
    for (place, distance) in DISTANCES.iter().zip(found).rev() {
        place.store(distance, Ordering::SeqCst); // pairs with the load in `carry_if_begun`
    }
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
