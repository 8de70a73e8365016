//! Owns: `LazyLock`.
//! May use: nothing.
//! Never: giving out a value that is not complete.

use super::Once;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A value that is made when it is first used, as [`std::sync::LazyLock`].
///
/// ```
/// use raddle::sync::LazyLock;
/// static SQUARES: LazyLock<Vec<u32>> = LazyLock::new(|| (0..10).map(|n| n * n).collect());
/// assert_eq!(SQUARES[3], 9);
/// ```
pub struct LazyLock<T, F = fn() -> T> {
    once: Once,
    data: UnsafeCell<Data<T, F>>,
}

/// `value` when the once is complete; nothing when it is poisoned; else `f`.
union Data<T, F> {
    value: ManuallyDrop<T>,
    f: ManuallyDrop<F>,
}

// SAFETY: one thread takes the function out and puts the value, which is then shared with all.
unsafe impl<T: Sync + Send, F: Send> Sync for LazyLock<T, F> {}

impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

#[cold]
#[track_caller]
fn poisoned() -> ! {
    panic!("LazyLock instance has previously been poisoned")
}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// One whose value `f` will make.
    #[inline]
    pub const fn new(f: F) -> LazyLock<T, F> {
        LazyLock { once: Once::new(), data: UnsafeCell::new(Data { f: ManuallyDrop::new(f) }) }
    }

    /// Makes the value if there is none, and waits if somebody is at it.
    ///
    /// # Panics
    /// If the function panics, now or before; or if it has to wait inside a task.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        if !this.once.word.is_complete() {
            this.once.call(true, |state| {
                if state.is_poisoned() {
                    poisoned();
                }
                // SAFETY: the attempt is ours alone, and is made once.
                unsafe { this.evaluate() }
            });
        }
        // SAFETY: it is complete.
        unsafe { this.value_ref() }
    }

    /// As [`force`](Self::force), for one who has it alone.
    ///
    /// # Panics
    /// If the function panics, now or before.
    #[inline]
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        if !this.once.word.is_complete() {
            if this.once.word.is_poisoned() {
                poisoned();
            }
            // Poisoned for as long as the function runs, and for good if it panics.
            this.once.word.poison();
            // SAFETY: the caller has it alone; the function is taken out once, since it is poisoned or complete after.
            unsafe { this.evaluate() };
            this.once = Once::completed();
        }
        // SAFETY: it is complete.
        unsafe { &mut this.data.get_mut().value }
    }

    /// # Safety
    /// The caller has the one right to take the function out.
    unsafe fn evaluate(&self) {
        // SAFETY: nobody looks at the data before it is complete.
        let data = unsafe { &mut *self.data.get() };
        // SAFETY: neither complete nor poisoned: the function is there, and the caller vouches for the rest.
        let f = unsafe { ManuallyDrop::take(&mut data.f) };
        let value = f();
        data.value = ManuallyDrop::new(value);
    }
}

impl<T, F> LazyLock<T, F> {
    /// # Safety
    /// The value is complete.
    unsafe fn value_ref(&self) -> &T {
        // SAFETY: nobody writes a complete value while it is shared.
        let data = unsafe { &*self.data.get() };
        // SAFETY: passed on to the caller.
        unsafe { &data.value }
    }

    /// The value, if it has been made.
    #[inline]
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        // SAFETY: it is complete.
        this.once.word.is_complete().then(|| unsafe { &mut *this.data.get_mut().value })
    }

    /// The value, if it has been made. Never waits.
    #[inline]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        // SAFETY: it is complete.
        this.once.is_completed().then(|| unsafe { this.value_ref() })
    }
}

impl<T, F> Drop for LazyLock<T, F> {
    fn drop(&mut self) {
        let data = self.data.get_mut();
        if self.once.word.is_complete() {
            // SAFETY: it is complete.
            unsafe { ManuallyDrop::drop(&mut data.value) };
        } else if !self.once.word.is_poisoned() {
            // SAFETY: the function has not been taken out.
            unsafe { ManuallyDrop::drop(&mut data.f) };
        }
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    /// Makes the value if there is none.
    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[inline]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T: Default> Default for LazyLock<T> {
    /// One that will make the default value.
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("LazyLock");
        match LazyLock::get(self) {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}
