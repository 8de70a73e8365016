//! Owns: the format of `.rdt`, chunk by chunk, for the writer and the reader alike.
//! May use: a checksum.
//! Never: a chunk that needs another to be read, but for its names and its clock.
//!
//! The page is `FORMAT.md`. A file is eight bytes of magic and then chunks, each with a header of its own:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | tag |
//! | 4 | bytes of the payload, little-endian as all numbers |
//! | 4 | CRC-32 (IEEE) of tag, length and payload |
//! | 4 | the worker it is of, or 2^32 - 1 |
//! | ... | the payload, then zeros up to a multiple of 8 |
//!
//! Whatever a killed program has written up to its last whole chunk can be read.

#[cfg(feature = "analysis")]
mod read;
mod write;

#[cfg(feature = "analysis")]
pub use read::{Contents, Damage, OwnSchema, ReadError, Run, read};
pub use write::Writer;

/// The first bytes of a file: a byte that no text has, a name, and line ends that a conversion of text would change.
pub const MAGIC: [u8; 8] = *b"\x89RDT\r\n\x1a\n";
/// The version in the `VERS` chunk. A reader refuses a higher one.
pub const VERSION: u32 = 1;
/// The bytes before a chunk's payload.
pub const HEADER_BYTES: usize = 16;
/// The longest payload that a reader believes in.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 28;
/// A runtime has no more workers; a reader takes what is of others for damage. What grows with their number times that
/// of the records ends in time, and the time of all workers together fits into 64 bits.
pub const WORKERS_MAX: u32 = 1024;
/// Stands where a chunk is of no worker.
pub const NO_WORKER: u32 = u32::MAX;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// The version: u32.
    Version,
    /// Pairs of strings: what the program was and where it ran.
    About,
    /// The table of events, as the writer knew it.
    Schema,
    /// Readings of the clocks.
    Clock,
    /// Numbered strings: names and spawn sites.
    Strings,
    /// Threads and what they are called.
    Threads,
    /// What was seen of the workers from outside, once a tick.
    Samples,
    /// Records of one worker.
    Records,
    /// Records of OS threads that are no workers.
    Outside,
    /// Named counters of one worker, at its end: level 0.
    Counters,
    /// The writer has come to its end: nothing is missing behind it.
    End,
}

impl Tag {
    const ALL: [(Tag, [u8; 4]); 11] = [
        (Tag::Version, *b"VERS"),
        (Tag::About, *b"ABOU"),
        (Tag::Schema, *b"SCHM"),
        (Tag::Clock, *b"CLCK"),
        (Tag::Strings, *b"STRS"),
        (Tag::Threads, *b"THRD"),
        (Tag::Samples, *b"SMPL"),
        (Tag::Records, *b"RECS"),
        (Tag::Outside, *b"OUTS"),
        (Tag::Counters, *b"CNTR"),
        (Tag::End, *b"END."),
    ];

    fn bytes(self) -> [u8; 4] {
        Tag::ALL.iter().find(|(tag, _)| *tag == self).map_or([0; 4], |(_, bytes)| *bytes)
    }

    #[cfg(feature = "analysis")]
    fn of_bytes(bytes: [u8; 4]) -> Option<Tag> {
        Tag::ALL.iter().find(|(_, known)| *known == bytes).map(|(tag, _)| *tag)
    }
}

/// What was seen of a worker at one moment, from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, in the trace's ticks.
    pub ticks: u64,
    /// Of which worker.
    pub worker: u32,
    /// How many were ready there, as it last published.
    pub ready: u32,
    /// How long they would take, as it last published.
    pub backlog_ns: u64,
    /// For how long, since it began, the kernel had had its OS thread wait for a core.
    pub kernel_wait_ns: u64,
}

fn checksum(tag: [u8; 4], worker: u32, payload: &[u8]) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(&tag);
    hash.update(&(payload.len() as u64).to_le_bytes());
    hash.update(&worker.to_le_bytes());
    hash.update(payload);
    hash.finalize()
}
