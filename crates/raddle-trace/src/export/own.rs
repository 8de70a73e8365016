//! Owns: what the program says of itself, in a Perfetto trace: spans and marks of its threads, lines of its counters.
//! May use: `protobuf`; the numbers of threads as `perfetto` gives them.
//! Never: a span that ends in another one than it began in: Perfetto would end the wrong one.
//!
//! A thread's slices must nest. Guards may be dropped in any order, so that spans need not: those that would cross
//! another one lie on a track of their own below the thread's.

use super::Options;
use super::perfetto::{PID, tid};
use super::protobuf::Message;
use crate::analysis::{Analysis, Span};
use crate::log::Log;
use std::collections::{BTreeMap, BTreeSet};

/// Numbers of tracks begin here; that of a thread has room for some more.
const THREADS: u64 = 1 << 40;
const TRACKS_A_THREAD: u64 = 16;
const COUNTERS: u64 = 1 << 32;

/// Kinds of events on a track.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Adds the program's own events that are wanted.
pub(super) fn add(out: Message, log: &Log, analysis: &Analysis, options: Options) -> Message {
    let own = &analysis.own;
    let mut by_thread: BTreeMap<u32, Vec<Span>> = BTreeMap::new();
    own.spans.iter().for_each(|span| by_thread.entry(span.thread).or_default().push(*span));
    let marks = || own.marks.iter().filter(|mark| options.holds(mark.ns));
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
    let counters = || own.counters.iter().filter(|point| options.holds(point.ns));
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

/// The spans of a thread, on as many tracks as they need.
fn of_thread(mut out: Message, log: &Log, thread: u32, spans: &[Span], options: Options) -> Message {
    let itself =
        Message::default().number(1, PID).number(2, tid(thread)).bytes(5, log.name(thread).as_bytes());
    out = descriptor(out, &Message::default().number(1, track(thread, 0)).message(4, &itself));
    let parts = spans.iter().filter_map(|span| Some((options.part(span.begin_ns, span.end_ns)?, span.name)));
    let mut spans: Vec<((u64, u64), u32)> = parts.collect();
    spans.sort_by_key(|((begin, end), _)| (*begin, std::cmp::Reverse(*end)));
    // The ends of what is open on each track, the innermost last.
    let mut tracks: Vec<Vec<u64>> = vec![Vec::new()];
    for ((begin, end), name) in spans {
        for (place, open) in tracks.iter_mut().enumerate() {
            out = close(out, track(thread, place), open, begin);
        }
        let fits = |open: &Vec<u64>| open.last().is_none_or(|outer| end <= *outer);
        let place = tracks.iter().position(fits).unwrap_or(tracks.len()).min(TRACKS_A_THREAD as usize - 1);
        if place == tracks.len() {
            tracks.push(Vec::new());
            let below = Message::default().number(1, track(thread, place)).number(5, track(thread, 0));
            out = descriptor(out, &below.bytes(2, b"spans that cross others"));
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

/// Ends what does not last until `now`, the innermost first.
fn close(mut out: Message, track: u64, open: &mut Vec<u64>, now: u64) -> Message {
    while let Some(end) = open.pop_if(|end| *end <= now) {
        out = packet(out, end, &event(END, track));
    }
    out
}

fn track(thread: u32, place: usize) -> u64 {
    THREADS + u64::from(thread) * TRACKS_A_THREAD + place as u64
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
