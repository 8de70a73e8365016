//! Owns: the primitives as the machine gives them.
//! May use: `raddle-syscall`.
//! Never: anything that a protocol could decide itself.
//!
//! The asymmetric fence: a worker that takes from its own fresh list pays a compiler fence only; a thief, which is
//! idle and has time, asks the kernel to run a full barrier on every core that runs a thread of this process
//! (`MEMBARRIER_CMD_PRIVATE_EXPEDITED`, Linux 4.14). Where the kernel refuses it, both sides fall back to a real
//! fence, chosen once, before the first worker starts.

use raddle_syscall::{futex_wake, membarrier, sleep, yield_processor};
use std::sync::OnceLock;
use std::time::Duration;

pub use std::hint::spin_loop;
pub use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};

/// A link of an intrusive list: belongs to whoever holds the element.
#[derive(Debug)]
pub struct Link<T>(std::cell::Cell<*mut T>);

impl<T> Link<T> {
    /// A link to nothing.
    #[inline]
    pub const fn new() -> Self {
        Link(std::cell::Cell::new(std::ptr::null_mut()))
    }

    /// Where it leads.
    #[inline(always)]
    pub fn get(&self) -> *mut T {
        self.0.get()
    }

    /// Leads it elsewhere.
    #[inline(always)]
    pub fn set(&self, to: *mut T) {
        self.0.set(to);
    }
}

/// Waits a moment for another OS thread that is inside a few instructions: the longer the wait, the more time for it.
#[cold]
pub fn give_way(round: u32) {
    match round {
        0..64 => (0..=round / 4).for_each(|_| spin_loop()),
        // The kernel has stopped the other one. It may share our processor.
        64..256 => yield_processor(),
        // And we may have a higher priority than it.
        _ => sleep(Duration::from_micros(50)),
    }
}

/// Waits for so many turns of a spin loop.
#[inline]
pub fn pause(turns: u32) {
    (0..turns).for_each(|_| spin_loop());
}

/// Stores over a word that others may change by read-modify-writes; see the model's twin for why it has a name.
macro_rules! overwrite {
    ($word:expr, $value:expr, $order:expr) => {
        $word.store($value, $order)
    };
}
pub(crate) use overwrite;

/// A function that is `const` here and cannot be under loom, whose words are made at run time.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis const fn $($rest)* };
}
pub(crate) use const_fn;

/// Waits a moment for another OS thread that does something short, for the `round`th time.
#[inline]
pub fn back_off(round: u32) {
    // The kernel may have stopped the other one.
    if round < 64 { spin_loop() } else { yield_processor() }
}

/// A value that is replaced under a lock.
#[derive(Debug)]
pub struct Guarded<T>(std::cell::UnsafeCell<T>);

impl<T> Guarded<T> {
    /// The value, which nobody has locked.
    #[inline]
    pub const fn new(value: T) -> Self {
        Guarded(std::cell::UnsafeCell::new(value))
    }

    /// # Safety
    /// Nobody replaces the value meanwhile.
    #[inline(always)]
    pub unsafe fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        // SAFETY: passed on to the caller.
        f(unsafe { &*self.0.get() })
    }

    /// # Safety
    /// Nobody else looks at the value meanwhile.
    #[inline(always)]
    pub unsafe fn with_mut<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: passed on to the caller.
        f(unsafe { &mut *self.0.get() })
    }
}

/// Tells the processor that the caller will write there soon: the cache line comes as one's own at once, where a look
/// before would bring a shared copy, and the write would ask the other cores for it a second time. A hint.
#[inline(always)]
pub fn will_write<T>(at: *const T) {
    // SAFETY: it accesses no memory, and cannot fault.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly))
    };
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly))
    };
}

pub use raddle_syscall::{futex_wait, futex_wait_low};

/// Wakes the sleeper of [`futex_wait_low`].
#[inline]
pub fn futex_wake_low(word: &AtomicU64) {
    futex_wake_one(word.as_ptr().cast_const().cast());
}

/// Wakes at most one sleeper of `word`, which is used as a name only and may be gone.
#[inline]
pub fn futex_wake_one(word: *const AtomicU32) {
    futex_wake(word, 1);
}

/// Wakes all sleepers of `word`.
#[inline]
pub fn futex_wake_all(word: &AtomicU32) {
    futex_wake(word, i32::MAX.cast_unsigned());
}

const MEMBARRIER_CMD_PRIVATE_EXPEDITED: i32 = 1 << 3;
const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;

/// Whether the kernel runs barriers for us. Asked once a process; a forked child inherits the registration.
#[inline]
pub fn fence_is_asymmetric() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    // ThreadSanitizer does not know of the kernel's barriers.
    *REGISTERED.get_or_init(|| !cfg!(raddle_tsan) && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
}

/// The cheap half, on the owner's path. `asymmetric` is what [`fence_is_asymmetric`] said at start.
#[inline(always)]
pub fn light_fence(asymmetric: bool) {
    if asymmetric {
        compiler_fence(Ordering::SeqCst); // pairs with `heavy_fence`, which makes this core run a full one
    } else {
        fence(Ordering::SeqCst); // pairs with `heavy_fence` in its fallback form
    }
}

/// The dear half, on the thief's path.
#[inline]
pub fn heavy_fence(asymmetric: bool) {
    fence(Ordering::SeqCst); // pairs with `light_fence`
    if asymmetric {
        let ran = membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        assert!(ran, "membarrier was registered and is now refused; a fence cannot be left out");
    }
}
