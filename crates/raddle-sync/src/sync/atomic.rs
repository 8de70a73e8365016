// Owns: the atomic variables of `std`, with a choice point before each access.
// May use: `host::choice`, `raddle-core`.
// Never: an access of its own, or another ordering than the caller's.

//! Atomic variables whose every access an exploration of schedules can come between.
//!
//! The names, methods and costs of [`std::sync::atomic`]; each variable *is* the standard library's of its name, in a
//! wrapper. In a run by a seed (`raddle::explore`, `RADDLE_SEED`) each access is a choice point: another process may
//! go on before it. So what goes wrong between two accesses is found: an addition that is lost between a load and a
//! store, an initialiser that runs twice after both have looked, a compare-and-exchange that takes a value for the one
//! that it saw before (ABA). In other runs an access costs a load and a never-taken branch more than `std`'s.
//!
//! ```
//! use raddle::explore::{Options, try_explore};
//! use raddle::sync::Arc;
//! use raddle::sync::atomic::{AtomicU32, Ordering};
//!
//! let found = try_explore(Options::default(), || {
//!     let count = Arc::new(AtomicU32::new(0));
//!     let other = count.clone();
//!     let adds = raddle::thread::spawn(move || other.store(other.load(Ordering::SeqCst) + 1, Ordering::SeqCst));
//!     count.store(count.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
//!     adds.join().unwrap();
//!     assert_eq!(count.load(Ordering::SeqCst), 2, "an addition was lost");
//! });
//! assert!(found.unwrap_err().to_string().contains("an addition was lost"));
//! ```
//!
//! What it does not find: the effects of an ordering that is too weak. Accesses are explored as if all of them were
//! `SeqCst`, and a weak compare-and-exchange fails only where the strong one would; [loom](https://docs.rs/loom) is for
//! that. Nothing comes between an `unsafe` access by `as_ptr`, nor between accesses to a variable of the standard
//! library's own. In a task, and in a process that unwinds, an access is no choice point.
//!
//! A function that wants a reference to the standard library's variable gets it from `as_std`; its accesses there are
//! no choice points.

use crate::host::choice::access;
use std::fmt;
use std::sync::atomic as std_atomic;
pub use std::sync::atomic::{Ordering, compiler_fence, fence};

/// What all of them have; `$text` is the name in reports.
macro_rules! variable {
    ($(#[$about:meta])* $name:ident $(<$t:ident>)?, $value:ty, $text:literal) => {
        $(#[$about])*
        #[repr(transparent)]
        pub struct $name $(<$t>)? {
            std: std_atomic::$name $(<$t>)?,
        }

        impl $(<$t>)? $name $(<$t>)? {
            /// A variable of this value.
            #[inline]
            #[must_use]
            pub const fn new(value: $value) -> Self {
                Self { std: std_atomic::$name::new(value) }
            }

            /// The variable at `ptr`.
            ///
            /// # Safety
            /// As `from_ptr` of the standard library's: `ptr` is aligned for this type, valid for reads and writes
            /// for as long as the reference lives, and no access that is not atomic races with one through it.
            #[inline]
            pub const unsafe fn from_ptr<'a>(ptr: *mut $value) -> &'a Self {
                // SAFETY: this type is laid out as the variable of the standard library, which is as its value; the
                // rest is passed on to the caller.
                unsafe { &*ptr.cast() }
            }

            /// The standard library's variable that this is; accesses to it are no choice points.
            #[inline]
            pub const fn as_std(&self) -> &std_atomic::$name $(<$t>)? {
                &self.std
            }

            /// A pointer to the value.
            #[inline]
            pub const fn as_ptr(&self) -> *mut $value {
                self.std.as_ptr()
            }

            /// The value, without an access: the caller has the variable alone.
            #[inline]
            pub fn get_mut(&mut self) -> &mut $value {
                self.std.get_mut()
            }

            /// The value of a variable that ends here.
            #[inline]
            pub const fn into_inner(self) -> $value {
                self.std.into_inner()
            }

            /// Reads the value.
            ///
            /// # Panics
            /// If `order` is `Release` or `AcqRel`.
            #[inline]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                access(concat!($text, "::load"));
                self.std.load(order)
            }

            /// Writes `value`.
            ///
            /// # Panics
            /// If `order` is `Acquire` or `AcqRel`.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                access(concat!($text, "::store"));
                self.std.store(value, order);
            }

            /// Writes `value`, and returns what stood there.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                access(concat!($text, "::swap"));
                self.std.swap(value, order)
            }

            /// Writes `new` if `current` stands there; returns what stood there.
            #[inline]
            #[track_caller]
            #[deprecated = "use `compare_exchange` or `compare_exchange_weak`, as in the standard library"]
            pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
                access(concat!($text, "::compare_and_swap"));
                #[allow(deprecated, reason = "it is the same")]
                self.std.compare_and_swap(current, new, order)
            }

            /// Writes `new` if `current` stands there.
            ///
            /// # Errors
            /// What else stood there.
            ///
            /// # Panics
            /// If `failure` is `Release` or `AcqRel`.
            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                access(concat!($text, "::compare_exchange"));
                self.std.compare_exchange(current, new, success, failure)
            }

            /// As [`compare_exchange`](Self::compare_exchange), but may fail for no reason.
            ///
            /// # Errors
            /// What stood there.
            ///
            /// # Panics
            /// As there.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                access(concat!($text, "::compare_exchange_weak"));
                self.std.compare_exchange_weak(current, new, success, failure)
            }

            /// Writes what `change` makes of the value, which is asked again as often as another has changed it
            /// meanwhile; returns what stood there.
            ///
            /// # Errors
            /// The value for which `change` returned `None`.
            ///
            /// # Panics
            /// If `fetch_order` is `Release` or `AcqRel`.
            #[inline]
            #[track_caller]
            pub fn try_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut seen = self.load(fetch_order);
                while let Some(next) = change(seen) {
                    match self.compare_exchange_weak(seen, next, set_order, fetch_order) {
                        Ok(before) => return Ok(before),
                        Err(now) => seen = now,
                    }
                }
                Err(seen)
            }

            /// As [`try_update`](Self::try_update), by its former name.
            ///
            /// # Errors
            /// As there.
            ///
            /// # Panics
            /// As there.
            #[inline]
            #[track_caller]
            pub fn fetch_update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.try_update(set_order, fetch_order, change)
            }

            /// As [`try_update`](Self::try_update), of a `change` that there always is.
            ///
            /// # Panics
            /// As there.
            #[inline]
            #[track_caller]
            pub fn update(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut change: impl FnMut($value) -> $value,
            ) -> $value {
                match self.try_update(set_order, fetch_order, |value| Some(change(value))) {
                    Ok(before) | Err(before) => before,
                }
            }
        }

        impl $(<$t>)? fmt::Debug for $name $(<$t>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.std, f)
            }
        }

        impl $(<$t>)? From<$value> for $name $(<$t>)? {
            /// A variable of this value.
            #[inline]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        impl $(<$t>)? From<std_atomic::$name $(<$t>)?> for $name $(<$t>)? {
            /// The same variable, whose accesses are choice points from now on.
            #[inline]
            fn from(std: std_atomic::$name $(<$t>)?) -> Self {
                Self { std }
            }
        }
    };
}

/// Operations that read the value, change it, and return what stood there.
macro_rules! fetches {
    ($name:ident, $value:ty, $text:literal: $($(#[$about:meta])* $fetch:ident),+) => {
        impl $name {
            $(
                $(#[$about])*
                #[inline]
                #[track_caller]
                pub fn $fetch(&self, value: $value, order: Ordering) -> $value {
                    access(concat!($text, "::", stringify!($fetch)));
                    self.std.$fetch(value, order)
                }
            )+
        }

        impl Default for $name {
            #[inline]
            fn default() -> Self {
                Self::from(<$value>::default())
            }
        }
    };
}

/// The variables that hold integers.
macro_rules! integers {
    ($($name:ident, $value:ident, $text:literal;)+) => {
        $(
            variable! {
                #[doc = concat!("An integer that threads share, as [`std::sync::atomic::", $text, "`].")]
                $name, $value, $text
            }
            fetches! { $name, $value, $text:
                /// Adds `value`, wrapping around; returns what stood there.
                fetch_add,
                /// Subtracts `value`, wrapping around; returns what stood there.
                fetch_sub,
                /// Writes the bits that both have; returns what stood there.
                fetch_and,
                /// Writes the bits that not both have; returns what stood there.
                fetch_nand,
                /// Writes the bits that one of them has; returns what stood there.
                fetch_or,
                /// Writes the bits that just one of them has; returns what stood there.
                fetch_xor,
                /// Writes the greater one; returns what stood there.
                fetch_max,
                /// Writes the smaller one; returns what stood there.
                fetch_min
            }
        )+
    };
}

integers! {
    AtomicI8, i8, "AtomicI8";
    AtomicI16, i16, "AtomicI16";
    AtomicI32, i32, "AtomicI32";
    AtomicI64, i64, "AtomicI64";
    AtomicIsize, isize, "AtomicIsize";
    AtomicU8, u8, "AtomicU8";
    AtomicU16, u16, "AtomicU16";
    AtomicU32, u32, "AtomicU32";
    AtomicU64, u64, "AtomicU64";
    AtomicUsize, usize, "AtomicUsize";
}

variable! {
    /// A `bool` that threads share, as [`std::sync::atomic::AtomicBool`].
    AtomicBool, bool, "AtomicBool"
}

fetches! { AtomicBool, bool, "AtomicBool":
    /// Writes whether both are true; returns what stood there.
    fetch_and,
    /// Writes whether not both are true; returns what stood there.
    fetch_nand,
    /// Writes whether one of them is true; returns what stood there.
    fetch_or,
    /// Writes whether just one of them is true; returns what stood there.
    fetch_xor
}

impl AtomicBool {
    /// Writes the opposite; returns what stood there.
    #[inline]
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        access("AtomicBool::fetch_not");
        self.std.fetch_not(order)
    }
}

variable! {
    /// A pointer that threads share, as [`std::sync::atomic::AtomicPtr`].
    AtomicPtr<T>, *mut T, "AtomicPtr"
}

/// Operations that change the address, and return the pointer that stood there.
macro_rules! pointer_fetches {
    ($($(#[$about:meta])* $fetch:ident),+) => {
        impl<T> AtomicPtr<T> {
            $(
                $(#[$about])*
                #[inline]
                #[track_caller]
                pub fn $fetch(&self, value: usize, order: Ordering) -> *mut T {
                    access(concat!("AtomicPtr::", stringify!($fetch)));
                    self.std.$fetch(value, order)
                }
            )+
        }
    };
}

pointer_fetches! {
    /// Adds `value` times the size of a `T`, wrapping around; returns what stood there.
    fetch_ptr_add,
    /// Subtracts `value` times the size of a `T`, wrapping around; returns what stood there.
    fetch_ptr_sub,
    /// Adds `value` bytes, wrapping around; returns what stood there.
    fetch_byte_add,
    /// Subtracts `value` bytes, wrapping around; returns what stood there.
    fetch_byte_sub,
    /// Writes the address with the bits of `value` set; returns what stood there.
    fetch_or,
    /// Writes the address with those bits only that `value` has, too; returns what stood there.
    fetch_and,
    /// Writes the address with the bits of `value` inverted; returns what stood there.
    fetch_xor
}

impl<T> Default for AtomicPtr<T> {
    /// One that is null.
    #[inline]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.std, f)
    }
}
