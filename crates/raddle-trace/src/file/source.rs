//! Owns: `Source`: bytes that can be read at any place.
//! May use: nothing.
//! Never: a whole file in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes that can be read at any place: a file, or what is in memory.
pub trait Source {
    /// How many there are.
    ///
    /// # Errors
    /// Those of the file.
    fn length(&self) -> io::Result<u64>;

    /// Fills `into` with the bytes from `at` on.
    ///
    /// # Errors
    /// Those of the file; and an unexpected end, if there are not so many.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;
}

impl Source for &[u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let part = usize::try_from(at).ok().and_then(|at| self.get(at..at.checked_add(into.len())?));
        into.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Source for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(into, at)
    }
}
