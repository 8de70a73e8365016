//! Owns: `TVar`, a handle of a variable.
//! May use: `arena`, `handles`, `value`, `variable`.
//! Never: a lock.

use crate::arena::CLOCK;
use crate::handles::drop_handle;
use crate::value::{Words, kind};
use crate::variable::{Head, HeadRef};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;

/// A variable that transactions read and write.
///
/// It is a handle, as an `Arc` is: a clone is another handle of the same variable, which is there as long as there is
/// one. So variables may hold handles of others, and make lists and trees.
///
/// The values are `Clone`, since a read gives back a value and no reference; `Send` and `Sync`, since other threads
/// read and drop them; `'static`, since one that was replaced is dropped later, when no transaction reads it any more:
/// with one of the next some dozens of transactions on the same core, at a time of which nothing is promised. A
/// number, a `bool`, a `char`, an `Option`, a pair or an array of two of one of them, `()`, `&'static str`, `Duration`
/// and `Instant` lie in the variable itself; any other value in a box, and to write it allocates.
///
/// A value that can be changed by a shared reference (an atomic, a lock) is one for all who look at it by
/// [`with`](crate::Tx::with), until another is written: such a change is seen by all at once, and not rolled back.
///
/// ```compile_fail
/// raddle_stm::TVar::new(std::rc::Rc::new(0));
/// ```
///
/// ```compile_fail
/// let here = 0;
/// raddle_stm::TVar::new(&here);
/// ```
///
/// A handle of one type is none of another, be the one a subtype of the other: what is put in by the one would be taken
/// out by the other.
///
/// ```compile_fail,E0308
/// use raddle::stm::TVar;
///
/// let wide: TVar<for<'a> fn(&'a str)> = TVar::new(|_: &str| ());
/// let narrow: TVar<fn(&'static str)> = wide;
/// ```
///
/// ```
/// use raddle::stm::TVar;
///
/// let wide: TVar<for<'a> fn(&'a str)> = TVar::new(|_: &str| ());
/// let same: TVar<for<'a> fn(&'a str)> = wide;
/// ```
pub struct TVar<T> {
    pub(crate) head: HeadRef,
    /// Values go in and come out.
    value: PhantomData<fn(T) -> T>,
}

// SAFETY: values go from thread to thread, are read by several at once, and are dropped by any.
unsafe impl<T: Send + Sync> Send for TVar<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for TVar<T> {}

impl<T: Send + Sync + 'static> TVar<T> {
    /// A variable with this value.
    #[track_caller]
    pub fn new(value: T) -> TVar<T> {
        TVar::new_at(value, Location::caller())
    }

    /// As [`new`](Self::new); reports of hangs say that it was made at `site`.
    pub(crate) fn new_at(value: T, site: &'static Location<'static>) -> TVar<T> {
        let head = Head::new(Words::of(value), kind::<T>(), site, CLOCK.now());
        TVar { head, value: PhantomData }
    }
}

impl<T> TVar<T> {
    /// Whether both are handles of the same variable.
    pub fn is(&self, other: &TVar<T>) -> bool {
        self.head == other.head
    }

    pub(crate) fn head(&self) -> &Head {
        // SAFETY: there is a handle, this one.
        unsafe { self.head.as_ref() }
    }
}

impl<T> Clone for TVar<T> {
    fn clone(&self) -> TVar<T> {
        self.head().retain();
        TVar { head: self.head, value: PhantomData }
    }
}

impl<T> Drop for TVar<T> {
    fn drop(&mut self) {
        // SAFETY: it is this one's handle.
        unsafe { drop_handle(self.head) };
    }
}

impl<T: Default + Send + Sync + 'static> Default for TVar<T> {
    #[track_caller]
    fn default() -> TVar<T> {
        TVar::new(T::default())
    }
}

impl<T> fmt::Debug for TVar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TVar").field("made_at", &format_args!("{}", self.head().site)).finish_non_exhaustive()
    }
}
