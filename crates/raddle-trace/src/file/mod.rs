//! Owns: the format of `.rdt` files, for the writer and the reader alike.
//! May use: `crc32fast`.
//! Never: a chunk that depends on another, except for names and the clock.
//!
//! `FORMAT.md` describes it. A file is eight magic bytes and then chunks, each with a header:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | tag |
//! | 4 | bytes of the payload, little-endian as all numbers |
//! | 4 | CRC-32 (IEEE) of tag, length as u64, worker and payload |
//! | 4 | the worker it is of, or 2^32 - 1 |
//! | ... | the payload, then zeros up to a multiple of 8 |
//!
//! The file of a killed program can be read up to its last whole chunk.

#[cfg(feature = "analysis")]
mod read;
#[cfg(feature = "analysis")]
mod source;
mod write;

#[cfg(feature = "analysis")]
pub(crate) use read::is_event;
#[cfg(feature = "analysis")]
pub use read::{Contents, Damage, OwnSchema, ReadError, RecordRange, each_record, read};
#[cfg(feature = "analysis")]
pub use source::Source;
pub use write::Writer;

/// The first bytes of a file: a byte that no text has, a name, and line ends that a text conversion would change.
pub const MAGIC: [u8; 8] = *b"\x89RDT\r\n\x1a\n";
/// The version in the `VERS` chunk. A reader refuses a higher one.
pub const VERSION: u32 = 1;
/// The bytes before a chunk's payload.
pub const HEADER_BYTES: usize = 16;
/// The longest payload that a reader accepts.
pub const PAYLOAD_BYTES_MAX: usize = 1 << 28;
/// The most workers a runtime has; a reader reports chunks of others as damage. The bound keeps the analysis fast, and
/// the time of all workers together within 64 bits.
pub const WORKERS_MAX: u32 = 1024;
/// The worker's number in a chunk that belongs to no worker.
pub const NO_WORKER: u32 = u32::MAX;

/// The kind of a chunk.
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
    /// Samples of the workers, once per tick.
    Samples,
    /// Where the workers' OS threads were, once per tick.
    Whereabouts,
    /// Records of one worker.
    Records,
    /// Records of OS threads that are not workers.
    Outside,
    /// Named counters of one worker, at its end: level 0.
    Counters,
    /// The writer finished: nothing is missing.
    End,
}

impl Tag {
    const ALL: [(Tag, [u8; 4]); 12] = [
        (Tag::Version, *b"VERS"),
        (Tag::About, *b"ABOU"),
        (Tag::Schema, *b"SCHM"),
        (Tag::Clock, *b"CLCK"),
        (Tag::Strings, *b"STRS"),
        (Tag::Threads, *b"THRD"),
        (Tag::Samples, *b"SMPL"),
        (Tag::Whereabouts, *b"WHER"),
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

/// The state of a worker at one moment, as the helper thread saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, in the trace's ticks.
    pub ticks: u64,
    /// The worker.
    pub worker: u32,
    /// How many runnables were ready there, as it last published.
    pub ready: u32,
    /// How long they would take to run, as it last published.
    pub backlog_ns: u64,
    /// How long its OS thread has been runnable without a core, in total.
    pub kernel_wait_ns: u64,
}

/// Where the OS thread of a worker was until one moment, and at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// When, in the trace's ticks.
    pub ticks: u64,
    /// The worker.
    pub worker: u32,
    /// Whether it slept in the kernel, although its worker was not idle.
    pub sleeps: bool,
    /// The string of the call in which it slept and the place in the program, 0 if that is not known.
    pub place: u32,
    /// How long it has been on a core, in total.
    pub on_core_ns: u64,
    /// How long it has been runnable without a core, in total.
    pub kernel_wait_ns: u64,
}

/// The checksum of a chunk whose payload is still to be added.
fn checksum_of(tag: [u8; 4], worker: u32, bytes: u64) -> crc32fast::Hasher {
    let mut hash = crc32fast::Hasher::new();
    hash.update(&tag);
    hash.update(&bytes.to_le_bytes());
    hash.update(&worker.to_le_bytes());
    hash
}

fn checksum(tag: [u8; 4], worker: u32, payload: &[u8]) -> u32 {
    let mut hash = checksum_of(tag, worker, payload.len() as u64);
    hash.update(payload);
    hash.finalize()
}
