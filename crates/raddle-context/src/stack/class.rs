//! Owns: the size classes of stacks.
//! May use: nothing.
//! Never: memory.

use super::StackError;

/// How large a stack is: one of a few sizes, so that stacks can be pooled.
///
/// | class | usable bytes |
/// |---|---:|
/// | 0 .. 5 | 8 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB, 8 MiB |
///
/// The guard page lies below and is not counted. Up to 1984 bytes at the top go to colouring (see
/// [`crate::Stack::top`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SizeClass(u8);

/// Sizes by class. Each is a multiple of two pages, so that with its guard page a slot is an odd number of
/// pages: that is what makes consecutive slots differ in colour.
const BYTES: [usize; SizeClass::COUNT] = [8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20];

impl SizeClass {
    /// How many classes there are.
    pub(crate) const COUNT: usize = 6;

    /// 64 KiB: what formatted output and a printed panic need, with room for the user's own frames.
    pub const DEFAULT: SizeClass = SizeClass(2);

    /// The largest class, 8 MiB.
    pub const MAX: SizeClass = SizeClass(Self::COUNT as u8 - 1);

    /// Every class, smallest first.
    pub fn all() -> impl Iterator<Item = SizeClass> {
        (0..Self::COUNT as u8).map(SizeClass)
    }

    /// The smallest class of at least `n` bytes.
    ///
    /// # Errors
    /// `n` exceeds the largest class.
    ///
    /// ```
    /// # use raddle_context::SizeClass;
    /// assert_eq!(SizeClass::for_bytes(20_000)?.bytes(), 64 * 1024);
    /// assert!(SizeClass::for_bytes(1 << 30).is_err());
    /// # Ok::<(), raddle_context::StackError>(())
    /// ```
    pub fn for_bytes(n: usize) -> Result<SizeClass, StackError> {
        let found = BYTES.iter().position(|&bytes| bytes >= n);
        found.map(|index| SizeClass(index as u8)).ok_or_else(|| StackError::too_large(n))
    }

    /// The bytes of a stack of this class.
    #[inline]
    pub const fn bytes(self) -> usize {
        BYTES[self.0 as usize]
    }

    /// The index of this class in a table of [`SizeClass::COUNT`].
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}
