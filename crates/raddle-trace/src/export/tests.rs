//! Owns: tests that exported files hold what the log holds, read back by independent readers.
//! May use: `analysis`, `event`, `log`.
//! Never: the writers' own helpers for reading.

use super::*;
use crate::analysis::Analysis;
use crate::event::{Event, IdleCause, StopReason, pack};
use crate::log::tests::Script;
use std::collections::HashMap;

fn two_workers() -> Log {
    let mut script = Script::new(2, 10_000);
    script.name(1, "main").name(2, "stage 0");
    script.switch(0, 100, StopReason::None, 1).put(0, 200, Event::Spawn, 2, 0).wake(0, 3000, 2, 1);
    script.switch(0, 4000, StopReason::Join, 0).idle(0, 4010, 9000, IdleCause::Mail);
    script.idle(1, 0, 3500, IdleCause::Mail).switch(1, 3600, StopReason::None, 2);
    script.put(1, 3550, Event::Migrate, 2, 0);
    script.switch(1, 8000, StopReason::Exit, 0).idle(1, 8010, 10_000, IdleCause::Stop);
    script.log()
}

fn exported(format: Format, options: ExportOptions) -> Vec<u8> {
    let log = two_workers();
    export(&log, &Analysis::of(&log), format, options)
}

/// A reader of event logs: (capability, type, time, payload), as the format's page says, and nothing of our writer.
fn read_eventlog(bytes: &[u8]) -> Vec<(Option<u16>, u16, u64, Vec<u8>)> {
    let be =
        |at: usize, n: usize| bytes[at..at + n].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    assert_eq!(&bytes[..8], b"hdrbhetb");
    let (mut at, mut sizes) = (8, HashMap::new());
    while &bytes[at..at + 4] == b"etb\0" {
        let description = be(at + 8, 4) as usize;
        sizes.insert(be(at + 4, 2), be(at + 6, 2));
        at += 12 + description + 4;
        assert_eq!(&bytes[at..at + 4], b"ete\0");
        at += 4;
    }
    assert_eq!(&bytes[at..at + 12], b"hetehdredatb");
    at += 12;
    let (mut events, mut block_end, mut cap) = (Vec::new(), 0, None);
    while be(at, 2) != 0xffff {
        let (kind, ns) = (be(at, 2), be(at + 2, 8));
        let declared = sizes[&kind];
        let begin = at;
        at += 10;
        let size = if declared == 0xffff {
            at += 2;
            be(at - 2, 2)
        } else {
            declared
        };
        let payload = bytes[at..at + size as usize].to_vec();
        at += size as usize;
        if begin >= block_end {
            cap = None;
        }
        if kind == 18 {
            block_end = begin + be(begin + 10, 4) as usize;
            cap = Some(be(begin + 22, 2) as u16);
        }
        events.push((cap, kind as u16, ns, payload));
    }
    assert_eq!(at + 2, bytes.len());
    events
}

#[test]
fn an_event_log_has_every_run_with_its_stop_on_its_capability() {
    let events = read_eventlog(&exported(Format::Eventlog, ExportOptions::default()));
    let on = |cap: u16, kind: u16| {
        let of = events.iter().filter(|event| event.0 == Some(cap) && event.1 == kind);
        of.map(|event| (event.2, event.3.clone())).collect::<Vec<_>>()
    };
    assert_eq!(on(0, 1), [(100, vec![0, 0, 0, 1])]);
    assert_eq!(on(0, 2), [(4000, vec![0, 0, 0, 1, 0, 7, 0, 0, 0, 0])]);
    assert_eq!(on(1, 1), [(3600, vec![0, 0, 0, 2])]);
    assert_eq!(on(1, 2), [(8000, vec![0, 0, 0, 2, 0, 5, 0, 0, 0, 0])]);
    assert_eq!(on(0, 8), [(3000, vec![0, 0, 0, 2, 0, 1])], "a wake of another capability's thread");
    assert_eq!(on(0, 4), [(3550, vec![0, 0, 0, 2, 0, 1])], "a migration stands on the old capability");
    assert_eq!(on(0, 0).len() + on(1, 0).len(), 2, "each thread is created once");
    let labels: Vec<_> = events.iter().filter(|event| event.1 == 44).map(|event| &event.3[4..]).collect();
    assert_eq!(labels, [b"main".as_slice(), b"stage 0"]);
}

#[test]
fn a_range_is_cut_and_scaled() {
    let options = ExportOptions { from_ns: 3000, until_ns: 5000, time_scale: 1000 };
    let events = read_eventlog(&exported(Format::Eventlog, options));
    let runs: Vec<_> = events.iter().filter(|e| e.1 == 1 || e.1 == 2).map(|e| (e.0, e.1, e.2)).collect();
    let expected = [(Some(0), 1, 0), (Some(0), 2, 1_000_000), (Some(1), 1, 600_000), (Some(1), 2, 2_000_000)];
    assert_eq!(runs, expected);
}

/// Fields of a message of protocol buffers: numbers and byte strings.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut n, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            n |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return n;
            }
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        match key & 7 {
            0 => found.push((key >> 3, varint(&mut bytes), &[][..])),
            2 => {
                let length = varint(&mut bytes) as usize;
                found.push((key >> 3, 0, &bytes[..length]));
                bytes = &bytes[length..];
            }
            wire => panic!("wire type {wire}"),
        }
    }
    found
}

fn inner<'a>(of: &[(u64, u64, &'a [u8])], field: u64) -> Vec<&'a [u8]> {
    of.iter().filter(|(number, _, _)| *number == field).map(|(_, _, bytes)| *bytes).collect()
}

#[test]
fn a_perfetto_trace_has_the_same_slices() {
    let bytes = exported(Format::Perfetto, ExportOptions::default());
    let mut switches = Vec::new();
    for packet in inner(&fields(&bytes), 1) {
        for bundle in inner(&fields(packet), 1) {
            let bundle = fields(bundle);
            let cpu = bundle[0].1;
            for event in inner(&bundle, 2) {
                let event = fields(event);
                for switch in inner(&event, 4) {
                    let switch = fields(switch);
                    let of = |field| switch.iter().find(|(number, ..)| *number == field).map_or(0, |f| f.1);
                    switches.push((cpu, event[0].1, of(2), of(4), of(6)));
                }
            }
        }
    }
    let expected =
        [(0, 100, 0, 0, 1001), (0, 4000, 1001, 1, 0), (1, 3600, 0, 0, 1002), (1, 8000, 1002, 16, 0)];
    assert_eq!(switches, expected);
}

/// What happens on a track: when, which kind, on which track, by what name.
type OnTrack = (u64, u64, u64, String);

/// The tracks of a trace by number, and what happens on them.
fn tracks(bytes: &[u8]) -> (Vec<(u64, String)>, Vec<OnTrack>) {
    let (mut tracks, mut events) = (Vec::new(), Vec::new());
    let number = |of: &[(u64, u64, &[u8])], field: u64| of.iter().find(|f| f.0 == field).map_or(0, |f| f.1);
    let text = |of: &[(u64, u64, &[u8])], field| {
        inner(of, field).first().map_or(String::new(), |t| String::from_utf8_lossy(t).into())
    };
    for packet in inner(&fields(bytes), 1) {
        let packet = fields(packet);
        for track in inner(&packet, 60).into_iter().map(fields) {
            let thread = inner(&track, 4).first().map(|thread| text(&fields(thread), 5));
            tracks.push((number(&track, 1), thread.unwrap_or_else(|| text(&track, 2))));
        }
        for event in inner(&packet, 11).into_iter().map(fields) {
            events.push((number(&packet, 8), number(&event, 9), number(&event, 11), text(&event, 23)));
        }
    }
    events.sort_by_key(|event| event.0);
    (tracks, events)
}

#[test]
fn what_the_program_says_lies_on_tracks_of_its_threads() {
    let mut script = Script::new(1, 1000);
    script.name(1, "main").name(2, "outer").name(3, "inner").name(4, "late").name(5, "rows");
    script.switch(0, 0, StopReason::None, 1).put(0, 10, Event::SpanBegin, 2, 0);
    script.put(0, 20, Event::SpanBegin, 3, 0).put(0, 30, Event::Mark, 4, 7).put(0, 40, Event::SpanEnd, 3, 0);
    // It ends after the one in which it began.
    script.put(0, 50, Event::SpanBegin, 4, 0).put(0, 60, Event::SpanEnd, 2, 0).put(
        0,
        70,
        Event::SpanEnd,
        4,
        0,
    );
    script.put(0, 80, Event::Counter, 5, 3).switch(0, 900, StopReason::Exit, 0);
    let log = script.log();
    let bytes = export(&log, &Analysis::of(&log), Format::Perfetto, ExportOptions::default());
    let (tracks, events) = tracks(&bytes);
    let names: Vec<&str> = tracks.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["main", "overlapping spans", "rows"]);
    let [thread, below, rows] = [tracks[0].0, tracks[1].0, tracks[2].0];
    let expected = [
        (10, 1, thread, "outer"),
        (20, 1, thread, "inner"),
        (30, 3, thread, "late"),
        (40, 2, thread, ""),
        (50, 1, below, "late"),
        (60, 2, thread, ""),
        (70, 2, below, ""),
        (80, 4, rows, ""),
    ];
    let seen: Vec<_> =
        events.iter().map(|(ns, kind, track, name)| (*ns, *kind, *track, name.as_str())).collect();
    assert_eq!(seen, expected);
}

#[test]
fn messages_that_are_under_way_at_a_time_lie_on_tracks_of_their_own() {
    let mut script = Script::new(1, 10_000_000);
    script
        .name(1, "main")
        .name(2, "the exchange of `u`")
        .name(3, "to 1: `u`, face z+")
        .name(4, "from 1: `u`, face z+");
    script.switch(0, 0, StopReason::None, 1);
    // Two messages at a time, and one after them; then one that was late; tenths of a microsecond back from each end.
    for (ns, messages) in [
        (5_000_000, [(3, 40_000, 10_000), (4, 40_000, 0)]),
        (9_000_000, [(3, 30_000, 0), (4, 20_000, u32::MAX)]),
    ] {
        script.put(0, ns, Event::Exchanged, 2, 20_000);
        for (name, posted, done) in messages {
            script.put(0, ns, Event::Message, name, 100).put(0, ns, Event::MessagePeer, 1, 0);
            script.put(0, ns, Event::MessageTimes, posted, done);
        }
        script.put(0, ns, Event::ProxyLook, 25_000, pack(1, 10));
    }
    let log = script.log();
    let bytes = export(&log, &Analysis::of(&log), Format::Perfetto, ExportOptions::default());
    let (tracks, events) = tracks(&bytes);
    let of = |wanted: &str| -> Vec<u64> {
        tracks.iter().filter(|(_, name)| name == wanted).map(|(track, _)| *track).collect()
    };
    let (lanes, looks) = (of("messages between ranks"), of("looks after messages"));
    assert_eq!((lanes.len(), looks.len()), (2, 1));
    let on = |track: u64| -> Vec<(u64, u64, &str)> {
        let of = events.iter().filter(|event| event.2 == track);
        of.map(|(ns, kind, _, name)| (*ns / 1000, *kind, name.as_str())).collect()
    };
    let (to, from) = ("to 1: `u`, face z+", "from 1: `u`, face z+");
    assert_eq!(on(lanes[0]), [(1000, 1, to), (4000, 2, ""), (6000, 1, to), (9000, 2, "")]);
    assert_eq!(on(lanes[1]), [(1000, 1, from), (5000, 2, ""), (7000, 1, from), (9000, 2, "")]);
    assert_eq!(on(looks[0]), [(2500, 1, "look"), (2501, 2, ""), (6500, 1, "look"), (6501, 2, "")]);
}

/// A slice whose name is a number: when, the name, and the arguments as text.
type NumberedSlice = (u64, String, Vec<(String, String)>);

/// The slices with numbered names.
fn waits(bytes: &[u8]) -> Vec<NumberedSlice> {
    let number = |of: &[(u64, u64, &[u8])], field: u64| of.iter().find(|f| f.0 == field).map_or(0, |f| f.1);
    let (mut strings, mut waits) = (HashMap::new(), Vec::new());
    for packet in inner(&fields(bytes), 1).into_iter().map(fields) {
        for (table, _, entry) in inner(&packet, 12).into_iter().flat_map(fields) {
            let entry = fields(entry);
            let text = String::from_utf8_lossy(inner(&entry, 2)[0]).into_owned();
            assert!(strings.insert((table, number(&entry, 1)), text).is_none(), "a number has one meaning");
        }
        for event in inner(&packet, 11).into_iter().map(fields) {
            let Some(name) = strings.get(&(2, number(&event, 10))) else { continue };
            assert_eq!(number(&packet, 13) & 2, 2, "it needs the strings before it");
            let argument = |argument: &[u8]| {
                let argument = fields(argument);
                let value = strings.get(&(29, number(&argument, 17))).cloned();
                let value = value.unwrap_or_else(|| number(&argument, 4).to_string());
                (strings[&(3, number(&argument, 1))].clone(), value)
            };
            let arguments = inner(&event, 4).into_iter().map(argument).collect();
            waits.push((number(&packet, 8), name.clone(), arguments));
        }
    }
    waits
}

#[test]
fn a_wait_is_a_slice_with_its_reason_its_place_and_its_object() {
    let mut script = Script::new(1, 1000);
    script.name(1, "main").name(2, "src/main.rs:7:5, `in`").name(3, "outer");
    script.switch(0, 0, StopReason::None, 1).put(0, 5, Event::SpanBegin, 3, 0);
    // It waits twice, within a span; then it yields, which is no wait; then it waits until the end.
    for (from, to) in [(10, 100), (110, 200)] {
        script.put(0, from, Event::Site, 2, 0);
        script.put(0, from, Event::Switch, 0, pack(StopReason::Receive as u8, 17));
        script.switch(0, to, StopReason::None, 1);
    }
    script.put(0, 210, Event::SpanEnd, 3, 0).switch(0, 220, StopReason::Yield, 0);
    script.switch(0, 300, StopReason::None, 1).switch(0, 310, StopReason::Sleep, 0);
    let log = script.log();
    let bytes = export(&log, &Analysis::of(&log), Format::Perfetto, ExportOptions::default());
    let text = |texts: &[(&str, &str)]| -> Vec<(String, String)> {
        texts.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let receive = text(&[("at", "src/main.rs:7:5, `in`"), ("object", "17")]);
    let expected = [
        (10, "waited to receive".to_owned(), receive.clone()),
        (110, "waited to receive".to_owned(), receive),
        (310, "slept".to_owned(), Vec::new()),
    ];
    assert_eq!(waits(&bytes), expected);
    // All are on one track: the span holds its waits.
    let (tracks, events) = tracks(&bytes);
    assert_eq!(tracks.len(), 1);
    let kinds: Vec<_> = events.iter().map(|(ns, kind, ..)| (*ns, *kind)).collect();
    assert_eq!(kinds, [(5, 1), (10, 1), (100, 2), (110, 1), (200, 2), (210, 2), (310, 1), (1000, 2)]);
    // A range has the part of a wait that lies within it.
    let options = ExportOptions { from_ns: 150, until_ns: 250, time_scale: 2 };
    let of_range = waits(&export(&log, &Analysis::of(&log), Format::Perfetto, options));
    assert_eq!(
        of_range.iter().map(|wait| (wait.0, wait.1.as_str())).collect::<Vec<_>>(),
        [(0, "waited to receive")]
    );
}

#[test]
fn a_table_has_a_row_an_event() {
    let text = String::from_utf8(exported(Format::Csv, ExportOptions::default())).unwrap();
    let log = two_workers();
    let events: usize = log.workers.iter().map(|worker| worker.events.len()).sum();
    assert_eq!(text.lines().count(), events + 1);
    assert!(text.contains("3000,0,Wake,2,\"stage 0\",,2,16777216\n"), "{text}");
    assert!(text.contains("4000,0,Switch,0,\"nothing\",waited for a join,0,"), "{text}");
}

/// An OS thread wakes stage 0, which then runs on worker 1.
fn woken_outside() -> Log {
    let mut script = Script::new(2, 10_000);
    script.name(1, "main").name(2, "stage 0").name(3, "feeder 4711");
    script.switch(0, 100, StopReason::None, 1).put(0, 200, Event::Spawn, 2, 0).switch(
        0,
        9000,
        StopReason::Exit,
        0,
    );
    script.switch(1, 1000, StopReason::None, 2).switch(1, 2000, StopReason::Receive, 0);
    script.wake_outside(3000, 3, 2, 255).switch(1, 3600, StopReason::None, 2).switch(
        1,
        8000,
        StopReason::Exit,
        0,
    );
    script.log()
}

#[test]
fn a_wake_by_an_os_thread_says_by_which_in_every_format() {
    let log = woken_outside();
    let exported = |format| export(&log, &Analysis::of(&log), format, ExportOptions::default());
    let text = String::from_utf8(exported(Format::Csv)).unwrap();
    assert!(text.contains("3000,,WakeOutside,2,\"stage 0\",\"by OS thread feeder 4711\",2,"), "{text}");
    let events = read_eventlog(&exported(Format::Eventlog));
    let said: Vec<_> = events.iter().filter(|event| event.1 == 19).collect();
    let [(Some(1), 19, 3000, text)] = said[..] else { panic!("{said:?}") };
    assert_eq!(text, b"OS thread feeder 4711 wakes stage 0");
    // The waker, and the threads of the process with their names.
    let (mut wakes, mut threads) = (Vec::new(), Vec::new());
    for packet in inner(&fields(&exported(Format::Perfetto)), 1).into_iter().map(fields) {
        for event in inner(&packet, 1).iter().flat_map(|bundle| inner(&fields(bundle), 2)).map(fields) {
            let number =
                |of: &[(u64, u64, &[u8])], field| of.iter().find(|f| f.0 == field).map_or(0, |f| f.1);
            wakes.extend(
                inner(&event, 20)
                    .iter()
                    .map(|w| (number(&event, 1), number(&event, 2), number(&fields(w), 2))),
            );
        }
        for thread in inner(&packet, 2).iter().flat_map(|tree| inner(&fields(tree), 2)).map(fields) {
            threads.push((thread[0].1, String::from_utf8_lossy(thread[1].2).into_owned()));
        }
    }
    let [(3000, waker, 1002)] = wakes[..] else { panic!("{wakes:?}") };
    assert!(threads.contains(&(waker, "OS thread feeder 4711".to_owned())), "{threads:?}");
}
