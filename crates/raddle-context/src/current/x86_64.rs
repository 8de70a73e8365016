//! Owns: the two words on x86-64.
//! May use: nothing.
//! Never: a call.
//!
//! It uses the FS base, from which the linker knows their distance.

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

/// The word that was last [`set`] on this OS thread; null before that.
///
/// ```
/// assert!(raddle_context::current::get().is_null());
/// ```
#[inline(always)]
pub fn get() -> *mut () {
    let word;
    // SAFETY: reads a word of the thread's own; the result depends on nothing but memory.
    unsafe {
        asm!(
            "mov {word}, qword ptr [rip + raddle_current@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word}]",
            word = out(reg) word,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    word
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
    // SAFETY: writes a word of the thread's own, to which nobody has a reference.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + raddle_current@GOTTPOFF]",
            "mov qword ptr fs:[{at}], {word}",
            at = out(reg) _,
            word = in(reg) word,
            options(nostack, preserves_flags),
        );
    }
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
    let word;
    // SAFETY: as in `get`.
    unsafe {
        asm!(
            "mov {word}, qword ptr [rip + raddle_current@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word} + 8]",
            word = out(reg) word,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    word
}

/// Sets the word that [`home`] gives.
///
/// # Safety
/// As for [`set`], and what it says runs when nothing else does.
#[inline(always)]
pub unsafe fn set_home(word: *mut ()) {
    // SAFETY: as in `set`.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + raddle_current@GOTTPOFF]",
            "mov qword ptr fs:[{at} + 8], {word}",
            at = out(reg) _,
            word = in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}

/// From the thread pointer to the words, and behind them the count: for code of others that reads them itself.
#[inline(always)]
pub fn distance() -> usize {
    let distance;
    // SAFETY: reads a word that the dynamic linker has filled before any code of ours ran, and that stays.
    unsafe {
        asm!(
            "mov {distance}, qword ptr [rip + raddle_current@GOTTPOFF]",
            distance = out(reg) distance,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    distance
}

/// Counts down by one; true if the count is used up, and then each time until it is [set](set_count) anew.
///
/// PERF: compiled into operations of a few nanoseconds: three instructions, of which the first loads a constant in a
/// program, and the last is a jump that is not taken.
#[inline(always)]
pub fn count_down() -> bool {
    let mut is_used_up = false;
    // SAFETY: changes a word of the thread's own, to which nobody has a reference.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + raddle_current@GOTTPOFF]",
            "dec dword ptr fs:[{at} + 16]",
            "jle {used_up}",
            at = out(reg) _,
            used_up = label { is_used_up = true },
            options(nostack),
        );
    }
    is_used_up
}

/// What the count was last set to.
pub fn count_given() -> u32 {
    let given;
    // SAFETY: as in `get`.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + raddle_current@GOTTPOFF]",
            "mov {given:e}, dword ptr fs:[{at} + 20]",
            at = out(reg) _,
            given = lateout(reg) given,
            options(readonly, nostack, preserves_flags),
        );
    }
    given
}

/// From now on [`count_down`] says `count` times that there is something left, less one.
pub fn set_count(count: u32) {
    // SAFETY: as in `set`.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + raddle_current@GOTTPOFF]",
            "mov dword ptr fs:[{at} + 16], {count:e}",
            "mov dword ptr fs:[{at} + 20], {count:e}",
            at = out(reg) _,
            count = in(reg) count,
            options(nostack, preserves_flags),
        );
    }
}

/// The words of the storage whose base lies in `place`, which may change at any time, may be on their way to this
/// processor's cache meanwhile.
///
/// # Safety
/// The place may be read.
#[cfg(all(target_env = "gnu", not(raddle_twin)))]
#[inline(always)]
pub(crate) unsafe fn announce(place: *const usize) {
    // SAFETY: the caller vouches for the place; a prefetch reads nothing, whatever the address.
    unsafe {
        asm!(
            "mov {at}, qword ptr [{at}]",
            "add {at}, qword ptr [rip + raddle_current@GOTTPOFF]",
            "prefetcht0 [{at}]",
            at = inout(reg) place => _,
            options(nostack, readonly),
        );
    }
}

/// Where the word of this OS thread lies, or of the context that has storage of its own.
#[cfg(not(raddle_twin))]
pub(crate) fn address() -> *mut *mut () {
    let address;
    // SAFETY: the head's first word is its own address, from which the word lies at the distance that is added.
    unsafe {
        asm!(
            "mov {address}, qword ptr fs:[0]",
            "add {address}, qword ptr [rip + raddle_current@GOTTPOFF]",
            address = out(reg) address,
            options(pure, readonly, nostack),
        );
    }
    address
}
