//! Owns: the way from rings to a file: what of them has been written already, and the numbers of strings.
//! May use: `hardware`, `outside`, `raddle-core`, `raddle-trace`.
//! Never: a record twice.

use crate::hardware::Hardware;
use crate::outside::Outside;
use crate::session::{Birth, Session};
use raddle_core::runtime::Shared;
use raddle_core::tracer::{PLACE_OF_SITE, mark_at, site_at, text_at};
use raddle_core::worker::Worker;
use raddle_core::worker::watching::{BlockingCall, WATCHER};
use raddle_trace::clock::{Reading, Source};
use raddle_trace::event::{pack, unpack};
use raddle_trace::file::{Sample, Whereabouts, Writer};
use raddle_trace::{Event, Record};
use std::collections::HashMap;
use std::io::{self, Write};
use std::panic::Location;
use std::sync::PoisonError;
use std::thread;

/// So many records go into a chunk: a mebibyte.
const RECORDS_A_CHUNK: usize = 1 << 16;

/// What the helper has seen, for the file.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) clock: Vec<Reading>,
    pub(crate) samples: Vec<Sample>,
    /// Their places are those in the list of calls, from 1.
    pub(crate) whereabouts: Vec<Whereabouts>,
    pub(crate) calls: Vec<BlockingCall>,
    pub(crate) hardware: Hardware,
}

/// A file on its way.
pub(crate) struct Output<W: Write> {
    writer: Writer<W>,
    /// How far each worker's rings and names have been written.
    done: Vec<Done>,
    births_outside: usize,
    records_outside: usize,
    clock: usize,
    samples: usize,
    whereabouts: usize,
    /// The strings of the calls in which workers slept; none of ours.
    calls: Vec<Option<u32>>,
    strings: HashMap<String, u32>,
}

#[derive(Clone, Copy, Default)]
struct Done {
    records: usize,
    births: usize,
    names: usize,
}

impl<W: Write> Output<W> {
    pub(crate) fn begin(out: W, about: &[(&str, String)]) -> io::Result<Output<W>> {
        let writer = Writer::begin(out, about.iter().map(|(key, value)| (*key, value.as_str())))?;
        Ok(Output {
            writer,
            done: Vec::new(),
            births_outside: 0,
            records_outside: 0,
            clock: 0,
            samples: 0,
            whereabouts: 0,
            calls: Vec::new(),
            strings: HashMap::new(),
        })
    }

    /// Writes what is new since the last time.
    pub(crate) fn drain(&mut self, session: &Session, shared: &Shared, seen: &Collected) -> io::Result<()> {
        self.done.resize(shared.workers().len(), Done::default());
        let clock = seen.clock.get(self.clock..).unwrap_or(&[]);
        self.clock = seen.clock.len();
        if !clock.is_empty() {
            self.writer.clock(clock)?;
        }
        // Not longer: who makes a process waits for it, and what follows reads debug information.
        self.threads(shared, &session.births.lock().unwrap_or_else(PoisonError::into_inner))?;
        self.writer.samples(seen.samples.get(self.samples..).unwrap_or(&[]))?;
        self.samples = seen.samples.len();
        self.whereabouts(seen)?;
        self.outside(&session.outside)?;
        shared.workers().iter().try_for_each(|worker| self.records(session, worker))
    }

    /// Where the workers' OS threads were. What has been seen names calls by their places in a list, a file by strings.
    fn whereabouts(&mut self, seen: &Collected) -> io::Result<()> {
        let mut new = Vec::new();
        for call in seen.calls.get(self.calls.len()..).unwrap_or(&[]) {
            let words = WATCHER.get().and_then(|watcher| watcher.words_of(call));
            let string = words.map(|words| self.string(words, &mut new));
            self.calls.push(string);
        }
        self.writer.strings(new.iter().map(|(number, text)| (*number, text.as_str())))?;
        let mut whereabouts = seen.whereabouts.get(self.whereabouts..).unwrap_or(&[]).to_vec();
        for one in whereabouts.iter_mut().filter(|one| one.place > 0) {
            let string = self.calls.get(one.place as usize - 1).copied().flatten();
            // A call of ours is none of the program's.
            (one.sleeps, one.place) = (string.is_some(), string.unwrap_or(0));
        }
        self.whereabouts = seen.whereabouts.len();
        self.writer.whereabouts(&whereabouts)
    }

    /// What OS threads did that are no workers. In the ring stand their numbers, in a file the strings of their names.
    fn outside(&mut self, outside: &Outside) -> io::Result<()> {
        let Some(ring) = outside.ring() else { return Ok(()) };
        let end = ring.head();
        while self.records_outside < end {
            let mut copied = ring.copy(self.records_outside, RECORDS_A_CHUNK);
            // Who is in a record has a name: it was given before.
            let (names, mut new) = (outside.names(), Vec::new());
            for record in &mut copied.records {
                let (worker, who) = unpack(record.b);
                let name = (who as usize).checked_sub(1).and_then(|place| names.get(place));
                let string = name.map_or(0, |name| self.string(name.clone(), &mut new));
                record.b = pack(worker, if string >> 24 == 0 { string } else { 0 });
            }
            self.writer.strings(new.iter().map(|(number, text)| (*number, text.as_str())))?;
            self.writer.outside(copied.first, &copied.records)?;
            let before = self.records_outside;
            self.records_outside = copied.first + copied.records.len();
            if self.records_outside <= before {
                break;
            }
        }
        Ok(())
    }

    /// The names of what was spawned; of two of one thread, the one that it was given comes last, and counts.
    fn threads(&mut self, shared: &Shared, births: &[Birth]) -> io::Result<()> {
        let mut named: Vec<(u32, String)> = Vec::new();
        let outside = births.get(self.births_outside..).unwrap_or(&[]);
        named.extend(outside.iter().map(|birth| (birth.number, birth.name())));
        self.births_outside = births.len();
        for (worker, done) in shared.workers().iter().zip(&mut self.done) {
            let Some(rings) = worker.tracer().rings() else { continue };
            let births = rings.births.copy(done.births, usize::MAX);
            done.births = births.first + births.records.len();
            // SAFETY: places of sites are all that this process's workers put into a ring of births.
            let site = |birth: Record| Some((birth.a, unsafe { site_at(birth.b) }?.to_string()));
            named.extend(births.records.into_iter().filter_map(site));
            let names = worker.tracer().names_from(done.names);
            done.names += names.len();
            named.extend(names.into_iter().map(|(number, name)| (number, name.to_string())));
        }
        let mut threads = Vec::with_capacity(named.len());
        let mut new = Vec::new();
        for (number, name) in named {
            threads.push((number, self.string(name, &mut new)));
        }
        self.writer.strings(new.iter().map(|(number, name)| (*number, name.as_str())))?;
        self.writer.threads(threads)
    }

    /// The number of a string, which is added to `new` if it has not been written yet.
    fn string(&mut self, text: String, new: &mut Vec<(u32, String)>) -> u32 {
        let next = self.strings.len() as u32 + 1;
        *self.strings.entry(text).or_insert_with_key(|text| {
            new.push((next, text.clone()));
            next
        })
    }

    fn records(&mut self, session: &Session, worker: &Worker) -> io::Result<()> {
        let Some(rings) = worker.tracer().rings() else { return Ok(()) };
        let end = rings.records.head();
        let mut next = self.done[worker.index].records;
        while next < end {
            let mut copied = rings.records.copy(next, RECORDS_A_CHUNK);
            let mut new = Vec::new();
            copied.records.iter_mut().for_each(|record| self.resolve(session, record, &mut new));
            self.writer.strings(new.iter().map(|(number, text)| (*number, text.as_str())))?;
            self.writer.records(worker.index as u32, copied.first, &copied.records)?;
            let before = next;
            next = copied.first + copied.records.len();
            if next <= before {
                break;
            }
        }
        self.done[worker.index].records = next;
        Ok(())
    }

    /// Some records hold the place of a name: in a file, it is the number of a string.
    fn resolve(&mut self, session: &Session, record: &mut Record, new: &mut Vec<(u32, String)>) {
        if Event::NAMED.iter().any(|event| *event as u8 == record.number()) {
            // SAFETY: places of marks are all that this process's workers put into such records.
            let text = unsafe { mark_at(record.a) }.map_or_else(String::new, |mark| mark.text());
            record.a = self.string(text, new);
        } else if record.number() == Event::Operation as u8 {
            // SAFETY: places of texts, with their lengths, are all that this process's workers put into such records.
            let text = unsafe { text_at(record.a, record.b) }.unwrap_or_default();
            (record.a, record.b) = (self.string(text.to_owned(), new), 0);
        } else if record.number() == Event::Site as u8 {
            // SAFETY: places of sites are all that this process's workers put into such records.
            let here = |place| unsafe { site_at(place) }.map_or_else(String::new, Location::to_string);
            let text = if record.b == PLACE_OF_SITE { here(record.a) } else { session.site(record.a) };
            (record.a, record.b) = (self.string(text, new), 0);
        } else if [Event::Exchanged as u8, Event::Message as u8].contains(&record.number()) {
            record.a = self.string(session.site(record.a), new);
        } else if record.number() == Event::Overtaken as u8 {
            // SAFETY: as above.
            let text = unsafe { site_at(record.a) }.map_or_else(String::new, Location::to_string);
            record.a = self.string(text, new);
        }
    }

    /// The last chunks: the counters, and that this is all.
    pub(crate) fn end(mut self, shared: &Shared, hardware: &Hardware) -> io::Result<W> {
        for worker in shared.workers() {
            let entries = worker.counted();
            let own = entries.iter().map(|(name, value)| (name.as_str(), *value));
            self.writer.counters(worker.index as u32, own.chain(hardware.of(worker.index)))?;
        }
        self.writer.end()
    }
}

/// With one digit behind the point. What formats all floating-point numbers is 19 KB, and this would be its one use.
fn in_tenths(number: f64) -> String {
    let tenths = (number * 10.0).round() as u64;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// What stands in the file of the program.
pub(crate) fn about(session: &Session, shared: &Shared) -> Vec<(&'static str, String)> {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let mut about = vec![
        ("program", arguments.join(" ")),
        ("pid", std::process::id().to_string()),
        ("workers", shared.workers().len().to_string()),
        ("cores", thread::available_parallelism().map_or(0, usize::from).to_string()),
        ("clock", Source::of_this_machine().name().to_owned()),
        ("stamp_ns", in_tenths(Source::of_this_machine().stamp_ns())),
        ("policy", format!("{:?}", shared.policy())),
        ("whole", if session.is_whole() { "yes" } else { "no" }.to_owned()),
    ];
    about.extend(shared.language().map(|door| ("door", door.to_owned())));
    about
}
