//! Owns: `RemoteMessage`: what channels between ranks carry.
//! May use: nothing.
//! Never: a type whose bytes mean something else on another rank: no references, no `usize`.

/// What a channel between ranks carries: numbers, arrays of them, vectors of them of any length, texts, and nothing.
///
/// All ranks are programs for one kind of processor, as those of a plan; bytes are in the order of little-endian ones.
pub trait RemoteMessage: Send + MessageBytes + 'static {}

impl<T: Send + MessageBytes + 'static> RemoteMessage for T {}

pub(crate) mod sealed {
    pub trait MessageBytes: Sized {
        /// As both sides compare it.
        fn type_name() -> String;

        /// How many bytes each has; 0 if that differs.
        fn type_bytes() -> usize;

        fn size(&self) -> usize;

        /// Fills as many bytes.
        fn put(&self, to: &mut [u8]);

        /// Nothing if these are no message's.
        fn get(from: &[u8]) -> Option<Self>;
    }

    /// A number.
    pub trait Scalar: Copy + Default {
        const NAME: &'static str;
        fn put_one(self, to: &mut [u8]);
        fn get_one(from: &[u8]) -> Self;

        fn put_all(all: &[Self], to: &mut [u8]) {
            for (one, to) in all.iter().zip(to.chunks_exact_mut(size_of::<Self>())) {
                one.put_one(to);
            }
        }

        fn get_all(from: &[u8]) -> Vec<Self> {
            from.chunks_exact(size_of::<Self>()).map(Self::get_one).collect()
        }
    }
}

use sealed::{MessageBytes, Scalar};

/// Numbers, each with what it does better than others.
macro_rules! scalars {
    ($($type:ident { $($better:item)* })*) => {$(
        impl Scalar for $type {
            const NAME: &'static str = stringify!($type);

            $($better)*

            #[inline]
            fn put_one(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn get_one(from: &[u8]) -> Self {
                <$type>::from_le_bytes(from.try_into().expect("as many bytes as it has"))
            }
        }

        impl MessageBytes for $type {
            fn type_name() -> String {
                <$type>::NAME.to_owned()
            }

            fn type_bytes() -> usize {
                size_of::<$type>()
            }

            fn size(&self) -> usize {
                size_of::<$type>()
            }

            fn put(&self, to: &mut [u8]) {
                self.put_one(to);
            }

            fn get(from: &[u8]) -> Option<Self> {
                (from.len() == size_of::<$type>()).then(|| <$type>::get_one(from))
            }
        }
    )*};
}

scalars! {
    u8 {
        fn put_all(all: &[Self], to: &mut [u8]) {
            to.copy_from_slice(all);
        }

        fn get_all(from: &[u8]) -> Vec<Self> {
            from.to_vec()
        }
    }
    i8 {} u16 {} i16 {} u32 {} i32 {} u64 {} i64 {} u128 {} i128 {} f32 {} f64 {}
}

impl<S: Scalar, const N: usize> MessageBytes for [S; N] {
    fn type_name() -> String {
        format!("[{}; {N}]", S::NAME)
    }

    fn type_bytes() -> usize {
        size_of::<[S; N]>()
    }

    fn size(&self) -> usize {
        size_of::<[S; N]>()
    }

    fn put(&self, to: &mut [u8]) {
        S::put_all(self, to);
    }

    fn get(from: &[u8]) -> Option<Self> {
        let mut all = [S::default(); N];
        if from.len() != size_of::<[S; N]>() {
            return None;
        }
        for (number, from) in all.iter_mut().zip(from.chunks_exact(size_of::<S>())) {
            *number = S::get_one(from);
        }
        Some(all)
    }
}

impl<S: Scalar> MessageBytes for Vec<S> {
    fn type_name() -> String {
        format!("Vec<{}>", S::NAME)
    }

    fn type_bytes() -> usize {
        0
    }

    fn size(&self) -> usize {
        size_of_val(self.as_slice())
    }

    fn put(&self, to: &mut [u8]) {
        S::put_all(self, to);
    }

    fn get(from: &[u8]) -> Option<Self> {
        let is_whole = from.len().is_multiple_of(size_of::<S>());
        is_whole.then(|| S::get_all(from))
    }
}

impl MessageBytes for String {
    fn type_name() -> String {
        "String".to_owned()
    }

    fn type_bytes() -> usize {
        0
    }

    fn size(&self) -> usize {
        self.len()
    }

    fn put(&self, to: &mut [u8]) {
        to.copy_from_slice(self.as_bytes());
    }

    fn get(from: &[u8]) -> Option<Self> {
        String::from_utf8(from.to_vec()).ok()
    }
}

impl MessageBytes for () {
    fn type_name() -> String {
        "()".to_owned()
    }

    fn type_bytes() -> usize {
        0
    }

    fn size(&self) -> usize {
        0
    }

    fn put(&self, _to: &mut [u8]) {}

    fn get(from: &[u8]) -> Option<Self> {
        from.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn check<T: MessageBytes + PartialEq + Debug>(message: T, name: &str, size: usize) {
        let mut bytes = vec![0; message.size()];
        message.put(&mut bytes);
        assert_eq!((T::type_name().as_str(), bytes.len()), (name, size));
        assert_eq!(T::get(&bytes), Some(message));
        assert!(T::type_bytes() == 0 || T::type_bytes() == size);
    }

    #[test]
    fn messages_come_as_they_went() {
        check(7_u8, "u8", 1);
        check(-7.5_f64, "f64", 8);
        check(i128::MIN, "i128", 16);
        check([1_i16, -2, 3], "[i16; 3]", 6);
        check(vec![0.5_f32; 5], "Vec<f32>", 20);
        check(vec![1_u8, 2, 3], "Vec<u8>", 3);
        check("grün".to_owned(), "String", 5);
        check((), "()", 0);
    }

    #[test]
    fn other_bytes_are_none() {
        assert_eq!(u32::get(&[0; 3]), None);
        assert_eq!(<[u32; 2]>::get(&[0; 12]), None);
        assert_eq!(Vec::<u64>::get(&[0; 12]), None);
        assert_eq!(String::get(&[0xff]), None);
    }
}
