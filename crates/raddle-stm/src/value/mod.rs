//! Owns: how a value lies in a variable: in two words of it, or in a box that a word points to.
//! May use: `chaos`.
//! Never: a version.
//!
//! A value is *inline* if it takes at most two words, is aligned as they are, and is of one of a few types: numbers,
//! options and pairs of them, `&'static str`, times. Any other value lies in a box of its own, which no one changes; a
//! write puts another box in its place.
//!
//! It is not enough that there is nothing to drop: who reads has a copy, and of an atomic pointer whose owner takes out
//! of it what it points to, by a shared reference, two copies give that away twice. What is `Copy` has no such inside;
//! but no function of any `T` can ask for that, and the trick with the standard library's clone of arrays, which copied
//! what is `Copy`, works no more.
//!
//! Readers copy the words while a writer may be storing: so both are by single loads and stores of the processor, in
//! assembly, since a value may have bytes that were never written (between its fields), and Rust has no atomics for
//! those. Whether all words are of one value, the version tells afterwards: only then is the copy taken for a value.

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;

use std::any::TypeId;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// So many words a variable has for its value.
const WORDS: usize = 2;

/// A value as it lies in a variable, or the address of its box in the first word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words([MaybeUninit<u64>; WORDS]);

/// What is done with a value of some type by whoever does not know the type.
#[derive(Debug)]
pub(crate) struct ValueKind {
    /// So many words are in use.
    words: usize,
    /// Frees the box; none if the value is inline.
    pub(crate) free: Option<unsafe fn(*mut ())>,
}

/// The kind of values of type `T`.
struct KindOf<T>(T);

impl<T: 'static> KindOf<T> {
    const FITS: bool = size_of::<T>() <= size_of::<Words>() && align_of::<T>() <= align_of::<Words>();
    const INLINE: ValueKind = ValueKind { words: size_of::<T>().div_ceil(size_of::<u64>()), free: None };
    const BOXED: ValueKind = ValueKind { words: 1, free: Some(free::<T>) };
}

/// Whether a value of type `T` lies in its variable.
#[inline(always)]
fn is_inline<T: 'static>() -> bool {
    KindOf::<T>::FITS && is_plain::<T>()
}

/// Whether `T` is one of the types that are known to have nothing inside that a shared reference could change: `Copy`
/// would do, but cannot be asked for in a function of any `T`. The compiler has the answer when it optimises.
#[inline(always)]
fn is_plain<T: 'static>() -> bool {
    let this = TypeId::of::<T>();
    macro_rules! is_one_of {
        ($($number:ty)*) => {
            $(this == TypeId::of::<$number>()
                || this == TypeId::of::<Option<$number>>()
                || this == TypeId::of::<($number, $number)>()
                || this == TypeId::of::<[$number; 2]>()
                ||)* false
        };
    }
    is_one_of!(u64 i64 usize isize u32 i32 bool u8 i8 u16 i16 f64 f32 char)
        || this == TypeId::of::<()>()
        || this == TypeId::of::<&'static str>()
        || this == TypeId::of::<Duration>()
        || this == TypeId::of::<Instant>()
}

/// # Safety
/// `value` is the address of a box of a `T`, whose owner the caller is.
unsafe fn free<T>(value: *mut ()) {
    // SAFETY: passed on to the caller.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}

/// The kind of values of type `T`.
#[inline(always)]
pub(crate) fn kind<T: 'static>() -> &'static ValueKind {
    if is_inline::<T>() { const { &KindOf::<T>::INLINE } } else { const { &KindOf::<T>::BOXED } }
}

impl Words {
    /// Of a value that now belongs to these words.
    #[inline(always)]
    pub(crate) fn of<T: 'static>(value: T) -> Words {
        let mut words = Words([MaybeUninit::uninit(); WORDS]);
        let at = words.0.as_mut_ptr();
        if is_inline::<T>() {
            // SAFETY: it fits, and is aligned.
            unsafe { at.cast::<T>().write(value) };
        } else {
            // SAFETY: an address is a word.
            unsafe { at.cast::<*mut T>().write(Box::into_raw(Box::new(value))) };
        }
        words
    }

    /// The value.
    ///
    /// # Safety
    /// They are those of a `T`, whose box, if it has one, is there as long as they are borrowed.
    #[inline(always)]
    pub(crate) unsafe fn value<T: 'static>(&self) -> &T {
        if is_inline::<T>() {
            // SAFETY: the caller says so.
            unsafe { &*self.0.as_ptr().cast::<T>() }
        } else {
            // SAFETY: it is not inline.
            let address = unsafe { self.address() };
            // SAFETY: the box is there, says the caller.
            unsafe { &*address.cast::<T>() }
        }
    }

    /// Whether both are of one value of this kind. False may also be said of two that differ in bytes of no field; of
    /// two boxes it is the address that counts.
    pub(crate) fn are_same(&self, other: &Words, kind: &ValueKind) -> bool {
        self.0.iter().zip(&other.0).take(kind.words).all(|(one, other)| arch::same(*one, *other))
    }

    /// The address of the box.
    ///
    /// # Safety
    /// The value is not inline.
    #[inline(always)]
    pub(crate) unsafe fn address(&self) -> *mut () {
        // SAFETY: the first word is an address.
        unsafe { self.0.as_ptr().cast::<*mut ()>().read() }
    }
}

/// Where the words lie in a variable.
#[derive(Debug)]
pub(crate) struct ValueCell(UnsafeCell<Words>);

// SAFETY: they are copied by single loads and stores; what becomes of the copies is their users' affair.
unsafe impl Sync for ValueCell {}
// SAFETY: as above.
unsafe impl Send for ValueCell {}

impl ValueCell {
    pub(crate) const fn new(words: Words) -> ValueCell {
        ValueCell(UnsafeCell::new(words))
    }

    fn word(&self, at: usize) -> *mut MaybeUninit<u64> {
        self.0.get().cast::<MaybeUninit<u64>>().wrapping_add(at)
    }

    /// The words, each as it is at some moment.
    #[inline(always)]
    pub(crate) fn load(&self, kind: &ValueKind) -> Words {
        let mut words = Words([MaybeUninit::uninit(); WORDS]);
        for at in 0..WORDS {
            if at < kind.words {
                crate::chaos::point();
                // SAFETY: it is there, and aligned.
                words.0[at] = unsafe { arch::load(self.word(at)) };
            }
        }
        words
    }

    /// Stores the words, one after the other.
    #[inline(always)]
    pub(crate) fn store(&self, words: Words, kind: &ValueKind) {
        for at in 0..WORDS {
            if at < kind.words {
                crate::chaos::point();
                // SAFETY: it is there, and aligned.
                unsafe { arch::store(self.word(at), words.0[at]) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn values_are_compared_by_their_words() {
        fn same<T: Copy + 'static>(one: T, other: T) -> bool {
            assert!(is_inline::<T>());
            Words::of(one).are_same(&Words::of(other), kind::<T>())
        }

        assert!(same(7_u64, 7) && !same(7_u64, 8));
        assert!(
            same((1_u64, 2_u64), (1, 2)) && !same((1_u64, 2_u64), (1, 3)) && !same((1_u64, 2_u64), (0, 2))
        );
        assert!(same((), ()));
        assert!(same(f64::NAN, f64::NAN) && !same(0.0_f64, -0.0));
    }

    #[test]
    fn what_is_inline() {
        fn check<T: 'static>(expected: bool) {
            assert_eq!(is_inline::<T>(), expected, "{}", std::any::type_name::<T>());
            assert_eq!(kind::<T>().free.is_none(), expected);
        }

        check::<()>(true);
        check::<Option<u32>>(true);
        check::<(u64, u64)>(true);
        check::<Option<Instant>>(false);
        check::<&'static str>(true);
        check::<[u64; 3]>(false);
        check::<u128>(false);
        check::<String>(false);
        check::<AtomicU64>(false);
        check::<Option<std::cell::Cell<u32>>>(false);
        check::<std::ops::Range<u64>>(false);
    }
}
