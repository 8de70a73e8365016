//! Owns: the end of a thread's `pthread_setspecific` values.
//! May use: nothing.
//! Never: a key that was deleted since, or made anew: the sequence number tells.

use super::facts::Keys;
use core::ffi::c_void;
use core::ptr::null_mut;

/// Destructors may set values again; POSIX requires at least this many rounds, and glibc runs no more.
const ROUNDS: usize = 4;

type Destructor = unsafe extern "C" fn(*mut c_void);

impl Keys {
    /// Runs the destructors of the values of the thread at `own`, and clears all values.
    ///
    /// # Safety
    /// `own` is the descriptor of the thread that runs.
    pub(super) unsafe fn run_destructors(&self, own: *mut u8) {
        for _ in 0..ROUNDS {
            // SAFETY: passed on to the caller.
            if !unsafe { self.take_used(own) } {
                return;
            }
            // SAFETY: passed on to the caller.
            if !unsafe { self.run_round(own) } && self.used.is_none() {
                return;
            }
        }
    }

    /// Whether a value may have been set since the last call.
    ///
    /// # Safety
    /// As [`run_destructors`](Self::run_destructors).
    unsafe fn take_used(&self, own: *mut u8) -> bool {
        let Some(offset) = self.used else { return true };
        let flag = own.wrapping_byte_add(offset);
        // SAFETY: a byte of the thread's own.
        unsafe { flag.replace(0) != 0 }
    }

    /// One destructor for each value that there is. True if there was any.
    ///
    /// # Safety
    /// As [`run_destructors`](Self::run_destructors).
    unsafe fn run_round(&self, own: *mut u8) -> bool {
        let mut any = false;
        let blocks: *mut *mut u8 = own.wrapping_byte_add(self.blocks.offset).cast();
        for at in 0..self.blocks.count {
            // SAFETY: within the thread's pointers to its blocks.
            let block = unsafe { blocks.wrapping_add(at).read() };
            if block.is_null() {
                continue;
            }
            for within in 0..self.per_block {
                let data = block.wrapping_byte_add(within * self.data_bytes);
                // SAFETY: within the block.
                any |= unsafe { self.run_one(data, at * self.per_block + within) };
            }
        }
        any
    }

    /// # Safety
    /// `data` is the running thread's entry for the key of this index.
    unsafe fn run_one(&self, data: *mut u8, index: usize) -> bool {
        let place: *mut *mut c_void = data.wrapping_byte_add(self.data).cast();
        // SAFETY: the caller vouches for the entry.
        let value = unsafe { place.replace(null_mut()) };
        if value.is_null() {
            return false;
        }
        let key = self.table.wrapping_byte_add(index * self.bytes);
        let number = |of: *const u8, offset: usize| {
            // SAFETY: a word of the entry, or of the table.
            unsafe { of.wrapping_byte_add(offset).cast::<usize>().read_volatile() }
        };
        let destructor: *const Option<Destructor> = key.wrapping_byte_add(self.destructor).cast();
        // SAFETY: within the table.
        let destructor = unsafe { destructor.read_volatile() };
        if let (Some(destructor), true) = (destructor, number(data, self.data_seq) == number(key, self.seq)) {
            // SAFETY: who made the key gave this function for its values.
            unsafe { destructor(value) };
        }
        true
    }
}
