//! Owns: slices, marks and counters of a Perfetto trace: spans and waits of its threads, tracks of its counters.
//! May use: `analysis`, `log`.
//! Never: overlapping spans on one track: Perfetto would end the wrong one.
//!
//! The slices of a track must nest. Spans need not, since their guards may be dropped in any order: a span that
//! overlaps another is put on a track of its own below the thread's. A wait is a slice that its reason names, with the
//! place in the program and the number of the object as arguments.

use super::ExportOptions;
use super::perfetto::{PID, tid};
use super::protobuf::{Message, Packets};
use super::waits::{Runs, WaitSlice};
use crate::analysis::{Analysis, Span};
use crate::log::Log;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

/// The first track number of threads; each has room for some more tracks.
const THREADS: u64 = 1 << 40;
const TRACKS_PER_THREAD: u64 = 16;
const COUNTERS: u64 = 1 << 32;

/// Kinds of events on a track.
pub(super) const BEGIN: u64 = 1;
pub(super) const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Of packets with numbers in place of strings, which mean something only in the order in which these are written.
const SEQUENCE: u64 = 5000;

/// Adds the program's own events and the waits.
pub(super) fn add(
    out: &mut Packets<'_>,
    log: &Log,
    analysis: &Analysis,
    options: ExportOptions,
) -> io::Result<()> {
    let user = &analysis.user;
    let mut by_thread: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    user.spans.iter().for_each(|span| by_thread.entry(span.thread).or_default().push(*span));
    let marks = || user.marks.iter().filter(|mark| options.holds(mark.ns));
    let marked: BTreeSet<u32> = marks().map(|mark| mark.thread).collect();
    for thread in &marked {
        by_thread.entry(*thread).or_default();
    }
    let runs = Runs::of(analysis);
    for thread in runs.threads() {
        by_thread.entry(thread).or_default();
    }
    let mut strings = Strings::default();
    for (thread, spans) in by_thread {
        let spans = spans.into_iter().filter_map(|span| {
            let part = options.part(span.begin_ns, span.end_ns)?;
            Some((part, TrackEntry::Span(span.name)))
        });
        let waits = runs.waits(thread, log, analysis).filter_map(|wait| {
            let part = options.part(wait.begin_ns, wait.end_ns)?;
            Some((part, TrackEntry::Wait(wait)))
        });
        let mut lasting: Vec<Lasting> = spans.chain(waits).collect();
        // An outer one comes before an inner one that begins with it.
        lasting.sort_by_key(|((begin, end), _)| (*begin, std::cmp::Reverse(*end)));
        if marked.contains(&thread) || !lasting.is_empty() {
            of_thread(out, log, thread, lasting, &mut strings)?;
        }
    }
    for mark in marks() {
        let value = Message::default().bytes(10, b"value").number(4, u64::from(mark.value));
        let event = event(INSTANT, track(mark.thread, 0)).bytes(23, log.string(mark.name).as_bytes());
        packet(out, options.time(mark.ns), &event.message(4, &value))?;
    }
    let counters = || user.counters.iter().filter(|point| options.holds(point.ns));
    for name in counters().map(|point| point.name).collect::<BTreeSet<u32>>() {
        let of_name = Message::default().number(1, COUNTERS + u64::from(name)).bytes(8, &[]);
        descriptor(out, &of_name.bytes(2, log.string(name).as_bytes()))?;
    }
    for point in counters() {
        let event = event(COUNTER, COUNTERS + u64::from(point.name)).number(30, u64::from(point.value));
        packet(out, options.time(point.ns), &event)?;
    }
    Ok(())
}

/// What lasts on a track of a thread.
#[derive(Clone, Copy)]
enum TrackEntry {
    /// A span of the program: the string of its name.
    Span(u32),
    Wait(WaitSlice),
}

/// From when until when, scaled, and what.
type Lasting = ((u64, u64), TrackEntry);

/// Writes the spans and waits of a thread, on as many tracks as they need.
fn of_thread(
    out: &mut Packets<'_>,
    log: &Log,
    thread: u32,
    all: Vec<Lasting>,
    strings: &mut Strings,
) -> io::Result<()> {
    let itself =
        Message::default().number(1, PID).number(2, tid(thread)).bytes(5, log.name(thread).as_bytes());
    descriptor(out, &Message::default().number(1, track(thread, 0)).message(4, &itself))?;
    // The end times of what is open on each track, the innermost last.
    let mut tracks: Vec<Vec<u64>> = vec![Vec::new()];
    for ((begin, end), what) in all {
        for (place, open) in tracks.iter_mut().enumerate() {
            close(out, track(thread, place), open, begin)?;
        }
        let fits = |open: &Vec<u64>| open.last().is_none_or(|outer| end <= *outer);
        let place = tracks.iter().position(fits).unwrap_or(tracks.len()).min(TRACKS_PER_THREAD as usize - 1);
        if place == tracks.len() {
            tracks.push(Vec::new());
            let below = Message::default().number(1, track(thread, place)).number(5, track(thread, 0));
            descriptor(out, &below.bytes(2, b"overlapping spans"))?;
        }
        tracks[place].push(end);
        match what {
            TrackEntry::Span(name) => {
                let event = event(BEGIN, track(thread, place)).bytes(23, log.string(name).as_bytes());
                packet(out, begin, &event)?;
            }
            TrackEntry::Wait(wait) => strings.begin_wait(out, begin, track(thread, place), &wait, log)?,
        }
    }
    for (place, open) in tracks.iter_mut().enumerate() {
        close(out, track(thread, place), open, u64::MAX)?;
    }
    Ok(())
}

/// The strings of waits that have been written; a later packet names them by their numbers. The same text has the same
/// number wherever it is used: as a name, as the name of an argument and as its value.
#[derive(Default)]
struct Strings(HashMap<String, u64>);

/// Where `InternedData` has names of events, names of arguments, and their values.
const EVENT_NAMES: u64 = 2;
const ARGUMENT_NAMES: u64 = 3;
const ARGUMENT_VALUES: u64 = 29;
/// The packet needs the strings that were written before in its sequence.
const NEEDS_STRINGS: u64 = 2;
/// The first packet of a sequence has none before it.
const BEGINS_STRINGS: u64 = 1;

impl Strings {
    /// Writes the begin of a wait: a slice named by the reason, with the place and the object as arguments.
    fn begin_wait(
        &mut self,
        out: &mut Packets<'_>,
        ns: u64,
        track: u64,
        wait: &WaitSlice,
        log: &Log,
    ) -> io::Result<()> {
        let is_first = self.0.is_empty();
        let mut new = Vec::new();
        let name = self.number(EVENT_NAMES, wait.reason.words(), &mut new);
        let mut event = event(BEGIN, track).number(10, name);
        if wait.site != 0 {
            let key = self.number(ARGUMENT_NAMES, "at", &mut new);
            let place = self.number(ARGUMENT_VALUES, &log.string(wait.site), &mut new);
            event = event.message(4, &Message::default().number(1, key).number(17, place));
        }
        if wait.object != 0 {
            let key = self.number(ARGUMENT_NAMES, "object", &mut new);
            event = event.message(4, &Message::default().number(1, key).number(4, u64::from(wait.object)));
        }
        let flags = NEEDS_STRINGS | if is_first { BEGINS_STRINGS } else { 0 };
        let mut packet = Message::default().number(8, ns).number(10, SEQUENCE).number(13, flags);
        if !new.is_empty() {
            let written = new.iter().fold(Message::default(), |all, (table, number, text)| {
                let entry = Message::default().number(1, *number).bytes(2, text.as_bytes());
                all.message(*table, &entry)
            });
            packet = packet.message(12, &written);
        }
        out.put(&packet.message(11, &event))
    }

    /// The number of a text; if it is new, it is to be written into this table.
    fn number(&mut self, table: u64, text: &str, new: &mut Vec<(u64, u64, String)>) -> u64 {
        let key = format!("{table} {text}");
        let next = self.0.len() as u64 + 1;
        *self.0.entry(key).or_insert_with(|| {
            new.push((table, next, text.to_owned()));
            next
        })
    }
}

/// Ends what ends by `now`, the innermost first.
fn close(out: &mut Packets<'_>, track: u64, open: &mut Vec<u64>, now: u64) -> io::Result<()> {
    while let Some(end) = open.pop_if(|end| *end <= now) {
        packet(out, end, &event(END, track))?;
    }
    Ok(())
}

fn track(thread: u32, place: usize) -> u64 {
    THREADS + u64::from(thread) * TRACKS_PER_THREAD + place as u64
}

pub(super) fn event(kind: u64, track: u64) -> Message {
    Message::default().number(9, kind).number(11, track)
}

pub(super) fn packet(out: &mut Packets<'_>, ns: u64, event: &Message) -> io::Result<()> {
    out.put(&Message::default().number(8, ns).number(10, 1).message(11, event))
}

pub(super) fn descriptor(out: &mut Packets<'_>, track: &Message) -> io::Result<()> {
    out.put(&Message::default().number(10, 1).message(60, track))
}
