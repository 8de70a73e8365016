//! Owns: reading numbers and texts from the bytes of a file.
//! May use: nothing.
//! Never: a panic, or a read past the end, whatever the bytes are.

/// `len` bytes from `at` on.
pub(crate) fn part(all: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    all.get(at..at.checked_add(len)?)
}

/// What is still to be read of some bytes, and the place where that is.
#[derive(Clone, Copy)]
pub(crate) struct Unread<'f> {
    all: &'f [u8],
    pub(crate) place: usize,
}

impl<'f> Unread<'f> {
    pub(crate) fn at(all: &'f [u8], place: usize) -> Unread<'f> {
        Unread { all, place }
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'f [u8]> {
        let taken = part(self.all, self.place, len)?;
        self.place += len;
        Some(taken)
    }

    pub(crate) fn skip(&mut self, len: usize) -> Option<()> {
        self.take(len).map(drop)
    }

    /// A little-endian number of at most 8 bytes.
    pub(crate) fn number(&mut self, len: usize) -> Option<u64> {
        Some(self.take(len)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A number of variable length (LEB128); bits above the 64th are lost.
    pub(crate) fn uleb(&mut self) -> Option<u64> {
        self.leb().map(|(number, ..)| number)
    }

    /// The same with a sign.
    pub(crate) fn sleb(&mut self) -> Option<i64> {
        let (number, bits, last) = self.leb()?;
        let sign = if last & 0x40 != 0 && bits < u64::BITS { u64::MAX << bits } else { 0 };
        Some((number | sign).cast_signed())
    }

    fn leb(&mut self) -> Option<(u64, u32, u8)> {
        let (mut number, mut bits) = (0, 0);
        loop {
            let byte = *self.take(1)?.first()?;
            if bits < u64::BITS {
                number |= u64::from(byte & 0x7f) << bits;
            }
            bits = bits.saturating_add(7);
            if byte & 0x80 == 0 {
                return Some((number, bits, byte));
            }
        }
    }

    /// A text that a zero ends.
    pub(crate) fn text(&mut self) -> Option<&'f [u8]> {
        let rest = self.all.get(self.place..)?;
        let text = self.take(rest.iter().position(|byte| *byte == 0)?);
        self.skip(1)?;
        text
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.place >= self.all.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_are_read() {
        let mut unread = Unread::at(&[0x34, 0x12, 0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f, 0x3f, b'a', 0], 0);
        assert_eq!(unread.number(2), Some(0x1234));
        assert_eq!(unread.uleb(), Some(624_485));
        assert_eq!(unread.sleb(), Some(-1));
        assert_eq!(unread.sleb(), Some(-128));
        assert_eq!(unread.sleb(), Some(63));
        assert_eq!(unread.text(), Some(&b"a"[..]));
        assert!(unread.is_at_end());
        assert_eq!((unread.number(1), unread.uleb(), unread.text()), (None, None, None));
    }

    #[test]
    fn what_never_ends_is_nothing() {
        assert_eq!(Unread::at(&[0x80; 20], 0).uleb(), None);
        assert_eq!(Unread::at(b"text", 0).text(), None);
        assert_eq!(Unread::at(b"text", 9).take(0), None);
        assert_eq!(part(b"text", usize::MAX, 2), None);
    }
}
