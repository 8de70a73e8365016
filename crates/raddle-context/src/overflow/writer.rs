//! Owns: text written from a signal handler.
//! May use: `libc`, `raddle-syscall`.
//! Never: locks, allocation, standard error's buffer.

use core::fmt;

const BYTES: usize = 1024;

/// Collects a message without allocating, and writes it to standard error in one call. Use it with `write!`.
///
/// It holds 1024 bytes; what goes beyond is cut off.
///
/// ```
/// use core::fmt::Write;
/// fn describe(_current: *mut (), out: &mut raddle_context::overflow::RawWriter) {
///     let _ = write!(out, "process {} \"{}\"", 7, "ring");
/// }
/// raddle_context::overflow::set_describer(describe);
/// ```
#[derive(Debug)]
pub struct RawWriter {
    buffer: [u8; BYTES],
    used: usize,
}

impl RawWriter {
    pub(crate) const fn new() -> Self {
        RawWriter { buffer: [0; BYTES], used: 0 }
    }

    /// Writes the message to standard error, and ignores errors.
    pub(crate) fn flush(&mut self) {
        let _refused = raddle_syscall::write(libc::STDERR_FILENO, &self.buffer[..self.used]);
        self.used = 0;
    }
}

impl fmt::Write for RawWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let count = text.len().min(BYTES - self.used);
        self.buffer[self.used..self.used + count].copy_from_slice(&text.as_bytes()[..count]);
        self.used += count;
        Ok(())
    }
}
