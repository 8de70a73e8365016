//! Owns: pauses at the points where a transaction can be overtaken, for this crate's tests.
//! May use: nothing.
//! Never: an instruction in a program.
//!
//! The windows of the algorithm are a few nanoseconds wide; on a machine with two cores a test would have to be lucky
//! to hit one. Here they are as wide as a turn of another thread.

/// Somebody may overtake here.
#[cfg(not(all(test, not(loom))))]
#[inline(always)]
pub(crate) const fn point() {}

#[cfg(all(test, not(loom)))]
pub(crate) use tests::point;

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use std::cell::Cell;

    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }

    /// From now on the calling thread pauses now and then, as this seed says.
    pub(crate) fn begin(seed: u64) {
        STATE.with(|state| state.set(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
    }

    /// See the module.
    pub(crate) fn point() {
        let drawn = STATE.with(|state| {
            let mut x = state.get();
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            state.set(x);
            x
        });
        match drawn {
            0 => {}
            _ if drawn.is_multiple_of(32) => raddle_syscall::yield_processor(),
            _ if drawn.is_multiple_of(4) => (0..drawn % 1024).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
}
