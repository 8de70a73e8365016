//! Owns: the two words on aarch64.
//! May use: nothing.
//! Never: a call.
//!
//! It uses the thread pointer, from which the linker knows their distance.

use core::arch::{asm, global_asm};

// Hidden: a program and a shared library that both hold a runtime have words of their own. The second word begins with
// 1, an address that nothing has: see `home`. The last two are the count, and what it was last set to.
global_asm!(
    ".pushsection .tdata.raddle_current,\"awT\",@progbits",
    ".p2align 4",
    ".globl raddle_current",
    ".hidden raddle_current",
    ".size raddle_current, 24",
    "raddle_current:",
    ".quad 0",
    ".quad 1",
    ".long {most}",
    ".long {most}",
    ".popsection",
    most = const super::COUNT_MAX,
);

/// From the thread pointer to the words, in an executable as a constant.
#[inline(always)]
pub fn distance() -> usize {
    let distance;
    // SAFETY: reads a word that the dynamic linker has filled before any code of ours ran, and that stays.
    unsafe {
        asm!(
            "adrp {distance}, :gottprel:raddle_current",
            "ldr {distance}, [{distance}, :gottprel_lo12:raddle_current]",
            distance = out(reg) distance,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    distance
}

/// Where the words of whoever runs lie. In no case to be kept: the address is right until the next switch.
#[inline(always)]
fn words() -> *mut *mut () {
    let pointer: usize;
    // SAFETY: reads a register. It depends on who runs: the compiler must not read it once for both sides of a switch.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    core::ptr::with_exposed_provenance_mut(pointer.wrapping_add(distance()))
}

/// The word that was last [`set`] on this OS thread; null before that.
///
/// ```
/// assert!(raddle_context::current::get().is_null());
/// ```
#[inline(always)]
pub fn get() -> *mut () {
    // SAFETY: a word of the thread's own, to which nobody has a reference.
    unsafe { words().read() }
}

/// Sets the word of this OS thread.
///
/// # Safety
/// As long as it stands, it is what those who read it on this OS thread take it for: null, or where what runs begins.
///
/// ```
/// use raddle_context::current;
/// let mut block = 7_u32;
/// // SAFETY: nobody else reads it here.
/// unsafe { current::set((&raw mut block).cast()) };
/// assert_eq!(current::get().cast(), &raw mut block);
/// # // SAFETY: as above.
/// # unsafe { current::set(std::ptr::null_mut()) };
/// ```
#[inline(always)]
pub unsafe fn set(word: *mut ()) {
    // SAFETY: as in `get`.
    unsafe { words().write(word) };
}

/// The word that was last [set](set_home) for when nothing else runs on this OS thread; before that an address that
/// nothing has, not even nothing: [`get`] does not give it.
///
/// ```
/// use raddle_context::current;
/// assert_ne!(current::home(), current::get());
/// ```
#[inline(always)]
pub fn home() -> *mut () {
    // SAFETY: as in `get`, of the second word.
    unsafe { words().wrapping_add(1).read() }
}

/// Sets the word that [`home`] gives.
///
/// # Safety
/// As for [`set`], and what it says runs when nothing else does.
#[inline(always)]
pub unsafe fn set_home(word: *mut ()) {
    // SAFETY: as in `home`.
    unsafe { words().wrapping_add(1).write(word) };
}

/// Where the count lies, and behind it what it was last set to.
#[inline(always)]
fn counts() -> *mut u32 {
    words().wrapping_add(2).cast()
}

/// Counts down by one; true if the count is used up, and then each time until it is [set](set_count) anew.
#[inline(always)]
pub fn count_down() -> bool {
    let count = counts();
    // SAFETY: a word of the thread's own, to which nobody has a reference.
    let left = unsafe { count.read() }.wrapping_sub(1);
    // SAFETY: as above.
    unsafe { count.write(left) };
    left.cast_signed() <= 0
}

/// What the count was last set to.
pub fn count_given() -> u32 {
    // SAFETY: as in `count_down`.
    unsafe { counts().wrapping_add(1).read() }
}

/// From now on [`count_down`] says `count` times that there is something left, less one.
pub fn set_count(count: u32) {
    for word in [counts(), counts().wrapping_add(1)] {
        // SAFETY: as in `count_down`.
        unsafe { word.write(count) };
    }
}

/// As on x86-64, and nothing is done: nobody has measured it.
///
/// # Safety
/// As there.
#[cfg(all(target_env = "gnu", not(raddle_twin)))]
#[inline(always)]
pub(crate) unsafe fn announce(_place: *const usize) {}

/// Where the word of this OS thread lies, or of the context that has storage of its own.
#[cfg(not(raddle_twin))]
pub(crate) fn address() -> *mut *mut () {
    words()
}
