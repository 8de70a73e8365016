//! Owns: the size classes of stacks.
//! May use: nothing.
//! Never: memory.

use super::StackError;

/// How large a stack is: one of a few sizes, so that stacks can be pooled.
///
/// | class | usable bytes |
/// |---|---:|
/// | 0 .. 7 | 8 KiB, 16 KiB, 64 KiB, 256 KiB, 1 MiB, 8 MiB, 64 MiB, 1 GiB |
///
/// The last two are for programs that ask for such a stack to recurse deeply, as they may with `std`: a few stacks at a
/// time. Until it is touched each costs address space only.
///
/// The guard page lies below and is not counted. Up to 1984 bytes at the top go to colouring (see
/// [`crate::Stack::top`]), and some hundred to the runtime's own frames: whoever asks for the bytes of a class has all
/// of them but a page for its own (`raddle-core`'s `tests/it/stacks.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SizeClass(Index);

/// An enumeration and not a number, so that the compiler drops the bounds checks of tables by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Index {
    K8,
    K16,
    K64,
    K256,
    M1,
    M8,
    M64,
    G1,
}

/// All of them, by their numbers: as many as three bits tell apart.
const ALL: [Index; SizeClass::COUNT] = {
    use Index::{G1, K8, K16, K64, K256, M1, M8, M64};
    [K8, K16, K64, K256, M1, M8, M64, G1]
};
const _: () = assert!(SizeClass::COUNT == 8, "a stack keeps its class in three bits");

/// Sizes by class. Each is a multiple of two pages, so that with its guard page a slot is an odd number of
/// pages: that is what makes consecutive slots differ in colour.
const BYTES: [usize; SizeClass::COUNT] =
    [8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20, 1 << 30];

impl SizeClass {
    /// How many classes there are.
    pub(crate) const COUNT: usize = 8;

    /// 64 KiB: three times what the deepest ordinary operation takes. 16 KiB, the class below, is too small for a panic
    /// message.
    ///
    /// Bytes used, by `examples/high_water.rs` on x86-64 with Rust 1.95 (a lower bound: what a frame
    /// reserves and does not write is not seen):
    ///
    /// | what runs | release | dev, `opt-level = 0` |
    /// |---|---:|---:|
    /// | nothing | 24 | 96 |
    /// | `println!` of integers | 768 | 1168 |
    /// | `format!` of floats | 1976 | 2408 |
    /// | a `HashMap` of 1000 strings | 808 | 3816 |
    /// | sort of 100 000 integers | 1376 | 18360 |
    /// | a panic caught, not printed | 5160 | 5352 |
    /// | a panic printed with a backtrace | 19880 | 20152 |
    /// | a host name resolved by libc | 4968 | 4936 |
    pub const DEFAULT: SizeClass = SizeClass(Index::K64);

    /// The largest class, 1 GiB.
    pub const MAX: SizeClass = SizeClass(Index::G1);

    /// Every class, smallest first.
    pub fn all() -> impl Iterator<Item = SizeClass> {
        ALL.into_iter().map(SizeClass)
    }

    /// The smallest class of at least `n` bytes.
    ///
    /// # Errors
    /// `n` exceeds the largest class.
    ///
    /// ```
    /// # use raddle_context::SizeClass;
    /// assert_eq!(SizeClass::for_bytes(20_000)?.bytes(), 64 * 1024);
    /// assert!(SizeClass::for_bytes((1 << 30) + 1).is_err());
    /// # Ok::<(), raddle_context::StackError>(())
    /// ```
    pub fn for_bytes(n: usize) -> Result<SizeClass, StackError> {
        Self::all().find(|class| class.bytes() >= n).ok_or_else(|| StackError::too_large(n))
    }

    /// The bytes of a stack of this class.
    #[inline]
    pub const fn bytes(self) -> usize {
        BYTES[self.0 as usize]
    }

    /// How many stacks of this class are made at a time: one for large classes, of which programs need few.
    pub(crate) const fn at_a_time(self, many: usize) -> usize {
        if self.bytes() > 8 << 20 { 1 } else { many }
    }

    /// The class whose index is in three bits.
    #[inline(always)]
    pub(super) const fn of_bits(bits: usize) -> SizeClass {
        SizeClass(ALL[bits & (SizeClass::COUNT - 1)])
    }

    /// The index of this class in a table of [`SizeClass::COUNT`].
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}
