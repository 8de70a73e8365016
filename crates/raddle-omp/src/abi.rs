//! Owns: what programs hand over by address: read and written in one place.
//! May use: nothing.
//! Never: an address that outlives the call.
//!
//! A compiler passes addresses of variables, and the interface says which call reads or writes which. `At` is such an
//! address: it is made of an argument of a call, or by a step from another; else of a variable of the caller's own.

/// An address that the program gave.
#[repr(transparent)]
pub(crate) struct At<T>(*mut T);

impl<T> Clone for At<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for At<T> {}

impl<T> At<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The `n`th of a row.
    pub(crate) fn at(self, n: usize) -> At<T> {
        At(self.0.wrapping_add(n))
    }

    pub(crate) fn pointer(self) -> *mut T {
        self.0
    }

    /// Of a pointer that the program gave as another type.
    pub(crate) fn new(pointer: *mut T) -> At<T> {
        At(pointer)
    }
}

impl<T: Copy> At<T> {
    pub(crate) fn get(self) -> T {
        // SAFETY: the interface's call reads what the program's argument points to.
        unsafe { self.0.read_unaligned() }
    }

    pub(crate) fn set(self, value: T) {
        // SAFETY: the interface's call writes what the program's argument points to.
        unsafe { self.0.write_unaligned(value) }
    }

    /// As `set`, unless there is no such variable.
    pub(crate) fn set_if(self, value: T) {
        if !self.is_null() {
            self.set(value);
        }
    }
}

/// A function of the program's with one argument, or null.
pub(crate) type CFunction = Option<unsafe extern "C-unwind" fn(*mut u8)>;

/// Calls what the program gave to be called so.
pub(crate) fn call(function: CFunction, argument: *mut u8) {
    if let Some(function) = function {
        // SAFETY: the interface calls it with this argument.
        unsafe { function(argument) }
    }
}
