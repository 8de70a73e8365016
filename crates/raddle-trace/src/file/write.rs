//! Owns: writing chunks.
//! May use: `clock`, `event`.
//! Never: buffering, which a crash would lose; a chunk is one write.

use super::{MAGIC, NO_WORKER, Sample, Tag, VERSION, Whereabouts, checksum};
use crate::clock::Reading;
use crate::event::{Event, Record};
use std::io::{self, Write};

/// Writes a `.rdt`.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Begins a file: magic bytes, version, the table of events, and pairs of strings about the program.
    ///
    /// # Errors
    /// Those of `out`; so it is for all methods.
    pub fn begin<'a>(out: W, about: impl IntoIterator<Item = (&'a str, &'a str)>) -> io::Result<Writer<W>> {
        let mut writer = Writer { out };
        writer.out.write_all(&MAGIC)?;
        writer.chunk(Tag::Version, NO_WORKER, &VERSION.to_le_bytes())?;
        let mut payload = Vec::new();
        for (key, value) in about {
            put_text(&mut payload, key);
            put_text(&mut payload, value);
        }
        writer.chunk(Tag::About, NO_WORKER, &payload)?;
        payload.clear();
        for schema in Event::TABLE {
            payload.extend([schema.number, schema.level as u8]);
            [schema.name, schema.a, schema.b].iter().for_each(|text| put_text(&mut payload, text));
        }
        writer.chunk(Tag::Schema, NO_WORKER, &payload)?;
        Ok(writer)
    }

    /// Readings of the clocks, in any order; a file needs at least one.
    pub fn clock(&mut self, readings: &[Reading]) -> io::Result<()> {
        let words = readings.iter().flat_map(|r| [r.ticks, r.monotonic_ns, r.realtime_ns]);
        let payload: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        self.chunk(Tag::Clock, NO_WORKER, &payload)
    }

    /// Strings and their numbers.
    pub fn strings<'a>(&mut self, strings: impl IntoIterator<Item = (u32, &'a str)>) -> io::Result<()> {
        let mut payload = Vec::new();
        for (number, text) in strings {
            payload.extend(number.to_le_bytes());
            put_text(&mut payload, text);
        }
        if payload.is_empty() { Ok(()) } else { self.chunk(Tag::Strings, NO_WORKER, &payload) }
    }

    /// Threads and the numbers of their names.
    pub fn threads(&mut self, threads: impl IntoIterator<Item = (u32, u32)>) -> io::Result<()> {
        let words = threads.into_iter().flat_map(|(thread, string)| [thread, string]);
        let payload: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        if payload.is_empty() { Ok(()) } else { self.chunk(Tag::Threads, NO_WORKER, &payload) }
    }

    /// Samples of the workers.
    pub fn samples(&mut self, samples: &[Sample]) -> io::Result<()> {
        let mut payload = Vec::with_capacity(samples.len() * 32);
        for sample in samples {
            payload.extend(sample.ticks.to_le_bytes());
            payload.extend(sample.worker.to_le_bytes());
            payload.extend(sample.ready.to_le_bytes());
            payload.extend(sample.backlog_ns.to_le_bytes());
            payload.extend(sample.kernel_wait_ns.to_le_bytes());
        }
        if payload.is_empty() { Ok(()) } else { self.chunk(Tag::Samples, NO_WORKER, &payload) }
    }

    /// Where the workers' OS threads were.
    pub fn whereabouts(&mut self, samples: &[Whereabouts]) -> io::Result<()> {
        let mut payload = Vec::with_capacity(samples.len() * 40);
        for sample in samples {
            payload.extend(sample.ticks.to_le_bytes());
            payload.extend(sample.worker.to_le_bytes());
            payload.extend(u32::from(sample.sleeps).to_le_bytes());
            payload.extend(sample.on_core_ns.to_le_bytes());
            payload.extend(sample.kernel_wait_ns.to_le_bytes());
            payload.extend(u64::from(sample.place).to_le_bytes());
        }
        if payload.is_empty() { Ok(()) } else { self.chunk(Tag::Whereabouts, NO_WORKER, &payload) }
    }

    /// Records of one worker; `first` is the number of the first.
    pub fn records(&mut self, worker: u32, first: usize, records: &[Record]) -> io::Result<()> {
        self.run(Tag::Records, worker, first, records)
    }

    /// Records of OS threads that are not workers, numbered as those of a worker.
    pub fn outside(&mut self, first: usize, records: &[Record]) -> io::Result<()> {
        self.run(Tag::Outside, NO_WORKER, first, records)
    }

    fn run(&mut self, tag: Tag, worker: u32, first: usize, records: &[Record]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let mut payload = Vec::with_capacity(8 + records.len() * Record::BYTES);
        payload.extend((first as u64).to_le_bytes());
        records.iter().for_each(|record| payload.extend(record.to_bytes()));
        self.chunk(tag, worker, &payload)
    }

    /// One worker's counters.
    pub fn counters<'a>(
        &mut self,
        worker: u32,
        counters: impl IntoIterator<Item = (&'a str, u64)>,
    ) -> io::Result<()> {
        let mut payload = Vec::new();
        for (name, value) in counters {
            put_text(&mut payload, name);
            payload.extend(value.to_le_bytes());
        }
        self.chunk(Tag::Counters, worker, &payload)
    }

    /// Writes the last chunk and returns `out`.
    pub fn end(mut self) -> io::Result<W> {
        self.chunk(Tag::End, NO_WORKER, &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn chunk(&mut self, tag: Tag, worker: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a chunk of over 4 GiB"))?;
        let padded = payload.len().next_multiple_of(8);
        let mut whole = Vec::with_capacity(super::HEADER_BYTES + padded);
        whole.extend(tag.bytes());
        whole.extend(length.to_le_bytes());
        whole.extend(checksum(tag.bytes(), worker, payload).to_le_bytes());
        whole.extend(worker.to_le_bytes());
        whole.extend(payload);
        whole.resize(super::HEADER_BYTES + padded, 0);
        self.out.write_all(&whole)
    }
}

/// A string: its length in bytes as u32, then its bytes in UTF-8. Longer strings are cut at 1 MiB.
fn put_text(payload: &mut Vec<u8>, text: &str) {
    let end = text.floor_char_boundary(1 << 20);
    payload.extend((end as u32).to_le_bytes());
    payload.extend(&text.as_bytes()[..end]);
}
