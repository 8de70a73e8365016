//! Owns: `ThreadId`, one space of numbers for threads of ours and of the operating system.
//! May use: nothing.
//! Never: a table of threads.
//!
//! Threads of ours have odd numbers, OS threads even ones: twice the number that `std` gave them. `std` does not show
//! its number on stable, but hashes it, and a hasher sees what it is fed. Should that ever change, what is fed is
//! still different for different threads, or is mixed to 63 bits.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZero;

/// A number that no other thread of this program has, had, or will have.
///
/// ```
/// use raddle::thread;
/// let other = thread::spawn(|| thread::current().id()).join().unwrap();
/// assert_ne!(thread::current().id(), other);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(NonZero<u64>);

impl ThreadId {
    pub(super) fn of_ours(number: u64) -> ThreadId {
        ThreadId(NonZero::new(number << 1 | 1).expect("an odd number"))
    }

    pub(super) fn of_system(id: std::thread::ThreadId) -> ThreadId {
        let mut fed = Fed(0);
        id.hash(&mut fed);
        // The 2^63rd thread is far away.
        ThreadId(NonZero::new(fed.0 << 1).unwrap_or(NonZero::<u64>::MAX))
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ThreadId").field(&self.0).finish()
    }
}

/// A hasher that keeps the one number that it is fed.
struct Fed(u64);

impl Hasher for Fed {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_threads_have_even_numbers_and_ours_odd_ones() {
        let here = std::thread::current().id();
        let text = format!("{here:?}");
        let number: u64 = text.trim_matches(|c: char| !c.is_ascii_digit()).parse().expect("a number");
        assert_eq!(ThreadId::of_system(here).0.get(), 2 * number);
        assert_eq!(format!("{:?}", ThreadId::of_ours(7)), "ThreadId(15)");
    }
}
