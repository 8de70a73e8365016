//! Owns: `OnceLock`.
//! May use: nothing.
//! Never: giving out a value that is not complete.

use super::Once;
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A place that is written once, by whoever comes first, as [`std::sync::OnceLock`].
///
/// ```
/// use raddle::sync::OnceLock;
/// static NAME: OnceLock<String> = OnceLock::new();
/// assert_eq!(NAME.get_or_init(|| "raddle".to_string()), "raddle");
/// assert_eq!(NAME.get().map(String::len), Some(6));
/// ```
pub struct OnceLock<T> {
    once: Once,
    /// There when the once is complete. Not a `MaybeUninit`, whose clean-up would be an `impl Drop` that narrows what a
    /// value may borrow; `std` has an unstable attribute for that.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: a value that one thread has put is shared with all, and may be taken by another.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: it owns its value.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// An empty one.
    #[must_use]
    #[inline]
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: UnsafeCell::new(None) }
    }

    /// The value, if there is one. Never waits.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: it is complete, and nobody changes it while it is shared.
        self.once.is_completed().then(|| unsafe { self.value_ref() })
    }

    /// # Safety
    /// The value is complete.
    unsafe fn value_ref(&self) -> &T {
        // SAFETY: nobody writes a complete value while it is shared.
        let value = unsafe { &*self.value.get() };
        // SAFETY: passed on to the caller.
        unsafe { value.as_ref().unwrap_unchecked() }
    }

    /// The value, if there is one.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Waits for the value.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        // SAFETY: it is complete.
        unsafe { self.value_ref() }
    }

    /// Puts the value, if there is none; waits if somebody is at it.
    ///
    /// # Errors
    /// If there is one already: the error holds the new one.
    ///
    /// # Panics
    /// If it has to wait inside a task.
    #[inline]
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("the closure runs once"));
        value.map_or(Ok(()), Err)
    }

    /// The value; makes it by `f` if there is none, and waits if somebody is at it.
    ///
    /// # Panics
    /// If `f` panics, which leaves it empty; or if it has to wait inside a task. To ask for the value from within `f`
    /// waits for ever.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F>(&self, f: F) -> &T
    where
        F: FnOnce() -> T,
    {
        if !self.once.word.is_complete() {
            self.initialize(f);
        }
        // SAFETY: it is complete.
        unsafe { self.value_ref() }
    }

    #[cold]
    #[track_caller]
    fn initialize(&self, f: impl FnOnce() -> T) {
        self.once.call(true, |_| {
            let value = f();
            // SAFETY: the attempt is ours alone, and nobody looks before it is complete.
            unsafe { *self.value.get() = Some(value) };
        });
    }

    /// Gives the value out, if there is one.
    #[inline]
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Gives the value out, if there is one, and is empty then.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.once.word.reset();
        self.value.get_mut().take()
    }
}

impl<T> Default for OnceLock<T> {
    /// An empty one.
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_tuple("OnceLock");
        match self.get() {
            Some(value) => out.field(value),
            None => out.field(&format_args!("<uninit>")),
        };
        out.finish()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    /// One with a clone of the value, if there is one.
    fn clone(&self) -> OnceLock<T> {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T> From<T> for OnceLock<T> {
    /// One with this value.
    fn from(value: T) -> Self {
        OnceLock { once: Once::completed(), value: UnsafeCell::new(Some(value)) }
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    /// Whether both are empty, or both have equal values.
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}
