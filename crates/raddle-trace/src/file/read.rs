//! Owns: reading chunks from arbitrary bytes.
//! May use: `clock`, `event`, `text`.
//! Never: a panic, or memory beyond a few times the file's size, for any input; records in memory.
//!
//! Names, samples and the like are read. Of records it notes where they are, for `each_record`: a file may hold more of
//! them than fits into memory. Chunks that cannot be read are left out and reported as damage. A file is refused only
//! if it is not an `.rdt` file, is of a newer version, or holds no clock reading.

use super::{
    HEADER_BYTES, MAGIC, PAYLOAD_BYTES_MAX, Sample, Source, Tag, VERSION, WORKERS_MAX, Whereabouts,
    checksum_of,
};
use crate::clock::Reading;
use crate::event::{Event, Record};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::{fmt, io};

/// How much of a file is in memory at once.
const BLOCK_BYTES: usize = 1 << 18;

/// Consecutive records of one worker, and where in the file they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordRange {
    /// The worker.
    pub worker: u32,
    /// The number of its first record.
    pub first: u64,
    /// How many there are.
    pub count: u64,
    /// Where the first begins, in bytes.
    pub at: u64,
    /// The clock's reading of the first.
    pub ticks_first: u64,
    /// The greatest of their readings of the clock.
    pub ticks_max: u64,
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
    /// Where the records are, in the order of the file.
    pub runs: Vec<RecordRange>,
    /// Where those of OS threads are that are not workers, in the order of the file.
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
    pub at: u64,
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
    /// The system could not read it: what it says.
    Refused(String),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Refused(error.to_string())
    }
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
            ReadError::Refused(why) => write!(f, "could not read it: {why}"),
            ReadError::Empty => {
                f.write_str("this trace is empty: it was cut off before its first clock reading")
            }
        }
    }
}

impl std::error::Error for ReadError {}

/// Reads a whole file, but for its records. `progress` is told how many bytes have been read, and of how many.
///
/// # Errors
/// [`ReadError`]. A file that is only damaged is no error: see [`Contents::damage`].
pub fn read(source: &dyn Source, progress: &mut dyn FnMut(u64, u64)) -> Result<Contents, ReadError> {
    let length = source.length()?;
    let mut magic = [0; MAGIC.len()];
    if length < MAGIC.len() as u64 {
        return Err(ReadError::NoTrace);
    }
    source.read_at(0, &mut magic)?;
    if magic != MAGIC {
        return Err(ReadError::NoTrace);
    }
    let effort = length.saturating_mul(4);
    let mut rest =
        Scanner { source, length, at: MAGIC.len() as u64, effort, window: (0, Vec::new()), progress };
    let mut contents = Contents::default();
    while let Some(chunk) = rest.chunk(&mut contents.damage)? {
        let Some(tag) = Tag::of_bytes(chunk.tag) else { continue };
        if matches!(tag, Tag::Records | Tag::Counters) && chunk.worker >= WORKERS_MAX {
            let what =
                format!("a {tag:?} chunk of worker {}, and there are at most {WORKERS_MAX}", chunk.worker);
            contents.damage.push(Damage { at: chunk.at, what });
            continue;
        }
        let too_early = match tag {
            Tag::Records | Tag::Outside => contents.add_records(tag, &chunk),
            _ => contents.add(tag, chunk.worker, &chunk.payload(source)?)?,
        };
        if too_early {
            contents
                .damage
                .push(Damage { at: chunk.at, what: format!("a {tag:?} chunk that ends too early") });
        }
    }
    if contents.clock.is_empty() { Err(ReadError::Empty) } else { Ok(contents) }
}

/// Reads `count` records that begin at this byte, until `take` breaks off.
///
/// # Errors
/// Those of the source.
pub fn each_record(
    source: &dyn Source,
    at: u64,
    count: u64,
    take: &mut dyn FnMut(Record) -> ControlFlow<()>,
) -> io::Result<()> {
    let (mut at, mut left) = (at, count);
    let mut block =
        vec![0; BLOCK_BYTES.min(usize::try_from(count).unwrap_or(BLOCK_BYTES).saturating_mul(Record::BYTES))];
    while left > 0 {
        let now = left.min((BLOCK_BYTES / Record::BYTES) as u64);
        let bytes = &mut block[..now as usize * Record::BYTES];
        source.read_at(at, bytes)?;
        for record in bytes.as_chunks::<{ Record::BYTES }>().0 {
            if take(Record::of_bytes(record)).is_break() {
                return Ok(());
            }
        }
        at += bytes.len() as u64;
        left -= now;
    }
    Ok(())
}

/// Whether it says that something happened at its time: neither a number of lost ones nor a newer version's.
pub(crate) fn is_event(record: &Record) -> bool {
    !matches!(Event::of_number(record.number()), None | Some(Event::Lost))
}

/// A whole chunk with a correct checksum.
struct Chunk {
    at: u64,
    tag: [u8; 4],
    worker: u32,
    bytes: u64,
    records: Option<RecordsSeen>,
}

/// The records of a chunk: the number of the first, its reading of the clock, and the greatest one.
#[derive(Clone, Copy, Default)]
struct RecordsSeen {
    first: u64,
    ticks_first: Option<u64>,
    ticks_max: u64,
}

impl RecordsSeen {
    fn add(&mut self, bytes: &[u8; Record::BYTES]) {
        let record = Record::of_bytes(bytes);
        if is_event(&record) {
            self.ticks_first.get_or_insert(record.ticks());
            self.ticks_max = self.ticks_max.max(record.ticks());
        }
    }
}

impl Chunk {
    fn payload(&self, source: &dyn Source) -> io::Result<Vec<u8>> {
        let mut payload = vec![0; self.bytes as usize];
        source.read_at(self.at + HEADER_BYTES as u64, &mut payload)?;
        Ok(payload)
    }
}

impl Contents {
    /// Notes where the records of a chunk are. Returns true if it ended too early.
    fn add_records(&mut self, tag: Tag, chunk: &Chunk) -> bool {
        let Some(RecordsSeen { first, ticks_first, ticks_max }) = chunk.records else { return true };
        let ticks_first = ticks_first.unwrap_or(0);
        let (count, rest) =
            ((chunk.bytes - 8) / Record::BYTES as u64, (chunk.bytes - 8) % Record::BYTES as u64);
        let runs = if tag == Tag::Outside { &mut self.outside } else { &mut self.runs };
        let at = chunk.at + HEADER_BYTES as u64 + 8;
        runs.push(RecordRange { worker: chunk.worker, first, count, at, ticks_first, ticks_max });
        rest > 0
    }

    /// Adds the contents of a chunk. Returns true if it ended too early.
    fn add(&mut self, tag: Tag, worker: u32, payload: &[u8]) -> Result<bool, ReadError> {
        let mut rest = Cursor { bytes: payload, at: 0 };
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
            Tag::Counters => {
                let counters = self.counters.entry(worker).or_default();
                fill(&mut rest, counters, |r| Some((r.text()?, r.u64()?)));
            }
            Tag::End => self.ended = true,
            Tag::Records | Tag::Outside => (),
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
}

impl<'a> Cursor<'a> {
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
}

/// Looks for chunks.
struct Scanner<'a> {
    source: &'a dyn Source,
    length: u64,
    at: u64,
    /// How many bytes may still be checksummed: a file full of false chunk headers must not take quadratic time.
    effort: u64,
    /// A part of the file, and where it begins: headers are read from it.
    window: (u64, Vec<u8>),
    progress: &'a mut dyn FnMut(u64, u64),
}

impl Scanner<'_> {
    /// The next whole chunk with a correct checksum. Anything before it is skipped and reported.
    fn chunk(&mut self, damage: &mut Vec<Damage>) -> io::Result<Option<Chunk>> {
        let wanted = self.at;
        while self.at < self.length {
            if let Some(chunk) = self.chunk_here()? {
                if chunk.at != wanted {
                    let what = format!("{} bytes that are not a whole chunk", chunk.at - wanted);
                    damage.push(Damage { at: wanted, what });
                }
                return Ok(Some(chunk));
            }
            // Chunks begin at multiples of eight.
            self.at += 8;
        }
        if wanted < self.length {
            let what = format!("the last {} bytes are not a whole chunk", self.length - wanted);
            damage.push(Damage { at: wanted, what });
        }
        Ok(None)
    }

    /// The chunk that begins here, if there is one; advances past it.
    fn chunk_here(&mut self) -> io::Result<Option<Chunk>> {
        let Some(header) = self.header()? else { return Ok(None) };
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let tag = [header[0], header[1], header[2], header[3]];
        let (bytes, sum, worker) = (u64::from(word(4)), word(8), word(12));
        // An unknown tag is of a later version and is skipped by its length, but only if its checksum is correct.
        let plausible = tag.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'.');
        let begin = self.at + HEADER_BYTES as u64;
        if !plausible
            || bytes > PAYLOAD_BYTES_MAX as u64
            || bytes > self.length - begin
            || bytes > self.effort
        {
            return Ok(None);
        }
        self.effort -= bytes;
        let (is, records) = self.summed(tag, worker, begin, bytes)?;
        if is != sum {
            return Ok(None);
        }
        let chunk = Chunk { at: self.at, tag, worker, bytes, records };
        self.at = begin + bytes.next_multiple_of(8);
        Ok(Some(chunk))
    }

    /// The header that begins here.
    fn header(&mut self) -> io::Result<Option<[u8; HEADER_BYTES]>> {
        if self.length - self.at < HEADER_BYTES as u64 {
            return Ok(None);
        }
        let within = |(begin, bytes): &(u64, Vec<u8>), at: u64| {
            let from = usize::try_from(at.checked_sub(*begin)?).ok()?;
            bytes.get(from..from + HEADER_BYTES)?.try_into().ok()
        };
        if let Some(header) = within(&self.window, self.at) {
            return Ok(Some(header));
        }
        // Small at first: after a long chunk, only one header is wanted.
        let follows = self.window.0 + self.window.1.len() as u64 >= self.at;
        let wanted = if follows { BLOCK_BYTES } else { 256 };
        let size = (self.length - self.at).min(wanted as u64) as usize;
        self.window = (self.at, vec![0; size]);
        self.source.read_at(self.at, &mut self.window.1)?;
        Ok(within(&self.window, self.at))
    }

    /// The checksum of a payload, and what records it holds.
    fn summed(
        &mut self,
        tag: [u8; 4],
        worker: u32,
        begin: u64,
        bytes: u64,
    ) -> io::Result<(u32, Option<RecordsSeen>)> {
        let mut hash = checksum_of(tag, worker, bytes);
        let holds_records = matches!(Tag::of_bytes(tag), Some(Tag::Records | Tag::Outside)) && bytes >= 8;
        let (mut seen, mut at) = (RecordsSeen::default(), 0);
        if holds_records {
            let mut number = [0; 8];
            self.source.read_at(begin, &mut number)?;
            hash.update(&number);
            (seen.first, at) = (u64::from_le_bytes(number), 8);
        }
        let mut block = vec![0; usize::try_from(bytes).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES)];
        while at < bytes {
            let size = (bytes - at).min(BLOCK_BYTES as u64) as usize;
            let part = &mut block[..size];
            self.source.read_at(begin + at, part)?;
            hash.update(part);
            if holds_records {
                part.as_chunks().0.iter().for_each(|record| seen.add(record));
            }
            at += size as u64;
            (self.progress)(begin + at, self.length);
        }
        Ok((hash.finalize(), holds_records.then_some(seen)))
    }
}
