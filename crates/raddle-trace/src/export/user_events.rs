//! Owns: the program's own events in a Perfetto trace: spans and marks of its threads, tracks of its counters.
//! May use: `analysis`, `log`.
//! Never: overlapping spans on one track: Perfetto would end the wrong one.
//!
//! The slices of a track must nest. Spans need not, since their guards may be dropped in any order: a span that
//! overlaps another is put on a track of its own below the thread's.

use super::ExportOptions;
use super::perfetto::{PID, tid};
use super::protobuf::Message;
use crate::analysis::{Analysis, Span};
use crate::log::Log;
use std::collections::{BTreeMap, BTreeSet};

/// The first track number of threads; each has room for some more tracks.
const THREADS: u64 = 1 << 40;
const TRACKS_PER_THREAD: u64 = 16;
const COUNTERS: u64 = 1 << 32;

/// Kinds of events on a track.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Adds the program's own events.
pub(super) fn add(out: Message, log: &Log, analysis: &Analysis, options: ExportOptions) -> Message {
    let user = &analysis.user;
    let mut by_thread: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    user.spans.iter().for_each(|span| by_thread.entry(span.thread).or_default().push(*span));
    let marks = || user.marks.iter().filter(|mark| options.holds(mark.ns));
    for mark in marks() {
        by_thread.entry(mark.thread).or_default();
    }
    let mut out =
        by_thread.iter().fold(out, |out, (thread, spans)| of_thread(out, log, *thread, spans, options));
    for mark in marks() {
        let value = Message::default().bytes(10, b"value").number(4, u64::from(mark.value));
        let event = event(INSTANT, track(mark.thread, 0)).bytes(23, log.string(mark.name).as_bytes());
        out = packet(out, options.time(mark.ns), &event.message(4, &value));
    }
    let counters = || user.counters.iter().filter(|point| options.holds(point.ns));
    for name in counters().map(|point| point.name).collect::<BTreeSet<u32>>() {
        let of_name = Message::default().number(1, COUNTERS + u64::from(name)).bytes(8, &[]);
        out = descriptor(out, &of_name.bytes(2, log.string(name).as_bytes()));
    }
    for point in counters() {
        let event = event(COUNTER, COUNTERS + u64::from(point.name)).number(30, u64::from(point.value));
        out = packet(out, options.time(point.ns), &event);
    }
    out
}

/// Writes the spans of a thread, on as many tracks as they need.
fn of_thread(mut out: Message, log: &Log, thread: u32, spans: &[Span], options: ExportOptions) -> Message {
    let itself =
        Message::default().number(1, PID).number(2, tid(thread)).bytes(5, log.name(thread).as_bytes());
    out = descriptor(out, &Message::default().number(1, track(thread, 0)).message(4, &itself));
    let parts = spans.iter().filter_map(|span| Some((options.part(span.begin_ns, span.end_ns)?, span.name)));
    let mut spans: Vec<((u64, u64), u32)> = parts.collect();
    spans.sort_by_key(|((begin, end), _)| (*begin, std::cmp::Reverse(*end)));
    // The end times of the open spans of each track, the innermost last.
    let mut tracks: Vec<Vec<u64>> = vec![Vec::new()];
    for ((begin, end), name) in spans {
        for (place, open) in tracks.iter_mut().enumerate() {
            out = close(out, track(thread, place), open, begin);
        }
        let fits = |open: &Vec<u64>| open.last().is_none_or(|outer| end <= *outer);
        let place = tracks.iter().position(fits).unwrap_or(tracks.len()).min(TRACKS_PER_THREAD as usize - 1);
        if place == tracks.len() {
            tracks.push(Vec::new());
            let below = Message::default().number(1, track(thread, place)).number(5, track(thread, 0));
            out = descriptor(out, &below.bytes(2, b"overlapping spans"));
        }
        tracks[place].push(end);
        let event = event(BEGIN, track(thread, place)).bytes(23, log.string(name).as_bytes());
        out = packet(out, begin, &event);
    }
    for (place, open) in tracks.iter_mut().enumerate() {
        out = close(out, track(thread, place), open, u64::MAX);
    }
    out
}

/// Ends the spans that end by `now`, the innermost first.
fn close(mut out: Message, track: u64, open: &mut Vec<u64>, now: u64) -> Message {
    while let Some(end) = open.pop_if(|end| *end <= now) {
        out = packet(out, end, &event(END, track));
    }
    out
}

fn track(thread: u32, place: usize) -> u64 {
    THREADS + u64::from(thread) * TRACKS_PER_THREAD + place as u64
}

fn event(kind: u64, track: u64) -> Message {
    Message::default().number(9, kind).number(11, track)
}

fn packet(out: Message, ns: u64, event: &Message) -> Message {
    out.message(1, &Message::default().number(8, ns).number(10, 1).message(11, event))
}

fn descriptor(out: Message, track: &Message) -> Message {
    out.message(1, &Message::default().number(10, 1).message(60, track))
}
