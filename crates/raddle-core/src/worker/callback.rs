//! Owns: `Callback`, what an alarm or a cancellation calls when it ends one of several waits.
//! May use: nothing.
//! Never: knowing what it calls.

/// A function with what it is to be called for: an object and a number. Called once, or dropped.
pub struct Callback {
    object: *const (),
    number: u32,
    call: unsafe fn(*const (), u32),
}

// SAFETY: who makes one vouches that it may be called on any thread.
unsafe impl Send for Callback {}

impl Callback {
    /// # Safety
    /// `call(object, number)` may be called once, on any thread, as long as this is neither called nor dropped.
    pub unsafe fn new(object: *const (), number: u32, call: unsafe fn(*const (), u32)) -> Callback {
        Callback { object, number, call }
    }

    /// Calls it, on whatever thread has noticed.
    pub(crate) fn ring(self) {
        // SAFETY: who has made it vouches for it.
        unsafe { (self.call)(self.object, self.number) };
    }
}
