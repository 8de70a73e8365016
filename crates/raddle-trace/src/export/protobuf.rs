//! Owns: encoding of protocol buffers: varints and bytes; and a Perfetto trace as a sequence of packets.
//! May use: nothing.
//! Never: a schema; the callers know the field numbers.

use std::io::{self, Write};

/// A message of protocol buffers.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// Adds a number.
    pub(super) fn number(mut self, field: u64, n: u64) -> Self {
        self.varint(field << 3);
        self.varint(n);
        self
    }

    /// Adds bytes or a string.
    pub(super) fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// Adds a nested message.
    pub(super) fn message(self, field: u64, message: &Message) -> Self {
        self.bytes(field, &message.0)
    }
}

/// A trace that is being written: each packet is a message of its own, so that no more than one is in memory.
pub(super) struct Packets<'a>(pub(super) &'a mut dyn Write);

impl Packets<'_> {
    /// Writes a packet: a message in field 1 of the trace.
    pub(super) fn put(&mut self, packet: &Message) -> io::Result<()> {
        self.0.write_all(&Message::default().message(1, packet).0)
    }
}
