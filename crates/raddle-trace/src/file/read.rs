//! Owns: reading chunks from arbitrary bytes.
//! May use: `clock`, `event`, `text`.
//! Never: a panic, or memory beyond a few times the file's size, for any input.
//!
//! Chunks that cannot be read are left out and reported as damage. A file is refused only if it is not an `.rdt` file,
//! is of a newer version, or holds no clock reading.

use super::{
    HEADER_BYTES, MAGIC, PAYLOAD_BYTES_MAX, Sample, Tag, VERSION, WORKERS_MAX, Whereabouts, checksum,
};
use crate::clock::Reading;
use crate::event::Record;
use std::collections::BTreeMap;
use std::fmt;

/// Consecutive records of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRange {
    /// The worker.
    pub worker: u32,
    /// The number of its first record.
    pub first: u64,
    /// The records.
    pub records: Vec<Record>,
}

/// A row of the file's own table of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnSchema {
    /// The event's name.
    pub name: String,
    /// The meaning of its two words.
    pub words: [String; 2],
}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// What the program was and where it ran.
    pub about: Vec<(String, String)>,
    /// The file's table of events, by number.
    pub schema: BTreeMap<u8, OwnSchema>,
    /// Readings of the clocks.
    pub clock: Vec<Reading>,
    /// Names and spawn sites.
    pub strings: BTreeMap<u32, String>,
    /// The string of each thread.
    pub threads: BTreeMap<u32, u32>,
    /// Samples of the workers, in the order of the file.
    pub samples: Vec<Sample>,
    /// Where the workers' OS threads were, in the order of the file.
    pub whereabouts: Vec<Whereabouts>,
    /// Records, in the order of the file.
    pub runs: Vec<RecordRange>,
    /// Records of OS threads that are not workers, in the order of the file.
    pub outside: Vec<RecordRange>,
    /// The workers' counters.
    pub counters: BTreeMap<u32, Vec<(String, u64)>>,
    /// Whether the writer finished the file.
    pub ended: bool,
    /// What could not be read.
    pub damage: Vec<Damage>,
}

/// A part of the file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where in the file, in bytes.
    pub at: usize,
    /// What it is.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.at, self.what)
    }
}

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// It does not begin as a trace does.
    NoTrace,
    /// It is of a newer version than this.
    Newer(u32),
    /// It has no clock reading: it was cut off before the program began, or is damaged throughout.
    Empty,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NoTrace => {
                f.write_str("this is not a Raddle trace: it does not begin as an .rdt file does")
            }
            ReadError::Newer(version) => {
                write!(
                    f,
                    "this trace is of version {version}; this raddle reads up to {VERSION}: use a newer one"
                )
            }
            ReadError::Empty => {
                f.write_str("this trace is empty: it was cut off before its first clock reading")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads a whole file.
///
/// # Errors
/// [`ReadError`]. A file that is only damaged is no error: see [`Contents::damage`].
pub fn read(bytes: &[u8]) -> Result<Contents, ReadError> {
    let mut rest = Cursor::new(bytes);
    if rest.take(MAGIC.len()) != Some(&MAGIC[..]) {
        return Err(ReadError::NoTrace);
    }
    let mut contents = Contents::default();
    while let Some(chunk) = rest.chunk(&mut contents.damage) {
        let Some(tag) = Tag::of_bytes(chunk.tag) else { continue };
        if matches!(tag, Tag::Records | Tag::Counters) && chunk.worker >= WORKERS_MAX {
            let what =
                format!("a {tag:?} chunk of worker {}, and there are at most {WORKERS_MAX}", chunk.worker);
            contents.damage.push(Damage { at: chunk.at, what });
            continue;
        }
        if contents.add(tag, &chunk)? {
            contents
                .damage
                .push(Damage { at: chunk.at, what: format!("a {tag:?} chunk that ends too early") });
        }
    }
    if contents.clock.is_empty() { Err(ReadError::Empty) } else { Ok(contents) }
}

struct Chunk<'a> {
    at: usize,
    tag: [u8; 4],
    worker: u32,
    payload: &'a [u8],
}

impl Contents {
    /// Adds the contents of a chunk. Returns true if it ended too early.
    fn add(&mut self, tag: Tag, chunk: &Chunk<'_>) -> Result<bool, ReadError> {
        let mut rest = Cursor::new(chunk.payload);
        match tag {
            Tag::Version => match rest.u32() {
                Some(version) if version > VERSION => return Err(ReadError::Newer(version)),
                known => return Ok(known.is_none()),
            },
            Tag::About => fill(&mut rest, &mut self.about, |r| Some((r.text()?, r.text()?))),
            Tag::Schema => fill(&mut rest, &mut self.schema, |r| {
                let [number, _level] = r.array()?;
                let name = r.text()?;
                Some((number, OwnSchema { name, words: [r.text()?, r.text()?] }))
            }),
            Tag::Clock => fill(&mut rest, &mut self.clock, |r| {
                Some(Reading { ticks: r.u64()?, monotonic_ns: r.u64()?, realtime_ns: r.u64()? })
            }),
            Tag::Strings => fill(&mut rest, &mut self.strings, |r| Some((r.u32()?, r.text()?))),
            Tag::Threads => fill(&mut rest, &mut self.threads, |r| Some((r.u32()?, r.u32()?))),
            Tag::Samples => fill(&mut rest, &mut self.samples, |r| {
                let (ticks, worker, ready) = (r.u64()?, r.u32()?, r.u32()?);
                Some(Sample { ticks, worker, ready, backlog_ns: r.u64()?, kernel_wait_ns: r.u64()? })
            }),
            Tag::Whereabouts => fill(&mut rest, &mut self.whereabouts, |r| {
                let (ticks, worker, sleeps) = (r.u64()?, r.u32()?, r.u32()? & 1 != 0);
                let (on_core_ns, kernel_wait_ns) = (r.u64()?, r.u64()?);
                Some(Whereabouts {
                    ticks,
                    worker,
                    sleeps,
                    on_core_ns,
                    kernel_wait_ns,
                    place: u32::try_from(r.u64()?).unwrap_or(0),
                })
            }),
            Tag::Records | Tag::Outside => {
                let Some(first) = rest.u64() else { return Ok(true) };
                let mut records = Vec::new();
                fill(&mut rest, &mut records, |r| r.array().map(|bytes| Record::of_bytes(&bytes)));
                let runs = if tag == Tag::Outside { &mut self.outside } else { &mut self.runs };
                runs.push(RecordRange { worker: chunk.worker, first, records });
            }
            Tag::Counters => {
                let counters = self.counters.entry(chunk.worker).or_default();
                fill(&mut rest, counters, |r| Some((r.text()?, r.u64()?)));
            }
            Tag::End => self.ended = true,
        }
        Ok(!rest.is_empty())
    }
}

/// Replaces what could change the terminal that shows the text, or turn its direction.
fn printable(text: &str) -> String {
    text.replace(crate::text::commands_a_terminal, "\u{fffd}")
}

/// Reads entries until the first incomplete one.
fn fill<'a, T>(rest: &mut Cursor<'a>, into: &mut impl Extend<T>, one: impl Fn(&mut Cursor<'a>) -> Option<T>) {
    into.extend(std::iter::from_fn(|| if rest.is_empty() { None } else { one(rest) }));
}

/// A position in some bytes.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many bytes may still be checksummed: a file full of false chunk headers must not take quadratic time.
    effort: usize,
}

impl<'a> Cursor<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0, effort: bytes.len().saturating_mul(4) }
    }

    fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.u32()?).ok()?;
        self.take(length).map(|bytes| printable(&String::from_utf8_lossy(bytes)))
    }

    /// The next whole chunk with a correct checksum. Anything before it is skipped and reported.
    fn chunk(&mut self, damage: &mut Vec<Damage>) -> Option<Chunk<'a>> {
        let wanted = self.at;
        while self.at < self.bytes.len() {
            if let Some(chunk) = self.chunk_here() {
                if chunk.at != wanted {
                    let what = format!("{} bytes that are not a whole chunk", chunk.at - wanted);
                    damage.push(Damage { at: wanted, what });
                }
                return Some(chunk);
            }
            // Chunks begin at multiples of eight.
            self.at += 8;
        }
        if wanted < self.bytes.len() {
            let what = format!("the last {} bytes are not a whole chunk", self.bytes.len() - wanted);
            damage.push(Damage { at: wanted, what });
        }
        None
    }

    /// The chunk that begins here, if there is one; advances past it.
    fn chunk_here(&mut self) -> Option<Chunk<'a>> {
        let mut rest = Cursor { bytes: self.bytes, at: self.at, effort: 0 };
        let tag = rest.array()?;
        // An unknown tag is of a later version and is skipped by its length, but only if its checksum is correct.
        let plausible = tag.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'.');
        let length = usize::try_from(rest.u32()?).ok()?;
        let sum = rest.u32()?;
        let worker = rest.u32()?;
        if !plausible || length > PAYLOAD_BYTES_MAX {
            return None;
        }
        let payload = rest.take(length)?;
        self.effort = self.effort.checked_sub(length)?;
        if checksum(tag, worker, payload) != sum {
            return None;
        }
        let chunk = Chunk { at: self.at, tag, worker, payload };
        self.at += HEADER_BYTES + length.next_multiple_of(8);
        Some(chunk)
    }
}
