//! Owns: texts and numbers over the serial line.
//! May use: `board`.
//! Never: formats: that alone would be kilobytes.

use crate::board;

/// The serial line.
pub(crate) struct Line;

impl Line {
    pub(crate) fn text(&self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn bytes(&self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| board::put(byte));
    }

    pub(crate) fn number(&self, number: u64) {
        if number > 9 {
            self.number(number / 10);
        }
        board::put(b'0' + (number % 10) as u8);
    }

    /// `1 of 2`.
    pub(crate) fn part(&self, [part, all]: [usize; 2]) {
        self.number(part as u64);
        self.text(" of ");
        self.number(all as u64);
    }
}
