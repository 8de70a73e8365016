//! Owns: messages between ranks in a Perfetto trace: a slice for each, and the looks of the proxy.
//! May use: `analysis`, `log`.
//! Never: two slices on a track that overlap: Perfetto would end the wrong one.
//!
//! Messages are under way at a time: each goes to the first track that is free by then. A slice has the rank at the
//! other end, bytes, the exchange, for how long somebody waited, and whether it was done, as its arguments.

use super::ExportOptions;
use super::perfetto::PID;
use super::protobuf::{Message, Packets};
use super::user_events::{BEGIN, END, descriptor, event, packet};
use crate::analysis::{Analysis, MessageBar};
use crate::log::Log;
use std::io;

/// Tracks of messages; threads have theirs above.
const MESSAGES: u64 = 1 << 36;
const LOOKS: u64 = (1 << 36) - 1;
/// More are not drawn at a time.
const TRACKS_MAX: usize = 4096;

/// A text as an argument of a slice.
fn text(name: &str, value: &str) -> Message {
    Message::default().bytes(10, name.as_bytes()).bytes(6, value.as_bytes())
}

/// A number as an argument of a slice.
fn number(name: &str, value: u64) -> Message {
    Message::default().bytes(10, name.as_bytes()).number(4, value)
}

fn named(out: &mut Packets<'_>, track: u64, name: &str) -> io::Result<()> {
    let process = Message::default().number(1, PID);
    descriptor(out, &Message::default().number(1, track).bytes(2, name.as_bytes()).message(3, &process))
}

/// Adds messages and looks, if there are any.
pub(super) fn add(
    out: &mut Packets<'_>,
    log: &Log,
    analysis: &Analysis,
    options: ExportOptions,
) -> io::Result<()> {
    let messages = &analysis.messages;
    // When each track is free, and the last slice on it, which ends then.
    let mut tracks: Vec<u64> = Vec::new();
    for bar in &messages.bars {
        let Some((begin, end)) = options.part(bar.posted_ns, bar.done_ns) else { continue };
        let free = tracks.iter().position(|free| *free <= begin).unwrap_or(tracks.len());
        if free >= TRACKS_MAX {
            continue;
        }
        let track = MESSAGES + free as u64;
        if free == tracks.len() {
            tracks.push(0);
            named(out, track, "messages between ranks")?;
        }
        tracks[free] = end;
        packet(out, begin, &slice(log, bar, track))?;
        packet(out, end, &event(END, track))?;
    }
    let (mut is_named, mut free) = (false, 0);
    for look in &messages.looks {
        let Some((begin, end)) = options.part(look.begin_ns.max(free), look.end_ns) else { continue };
        if !std::mem::replace(&mut is_named, true) {
            named(out, LOOKS, "looks after messages")?;
        }
        free = look.end_ns;
        let by = if look.by_keeper { "the proxy's own thread" } else { "a worker" };
        let begins =
            event(BEGIN, LOOKS).bytes(23, b"look").message(4, &number("found done", look.found.into()));
        packet(out, begin, &begins.message(4, &text("by", by)))?;
        packet(out, end, &event(END, LOOKS))?;
    }
    Ok(())
}

fn slice(log: &Log, bar: &MessageBar, track: u64) -> Message {
    let begins = event(BEGIN, track).bytes(23, log.string(bar.name).as_bytes());
    let begins =
        begins.message(4, &number("rank", bar.peer.into())).message(4, &number("bytes", bar.bytes.into()));
    let begins = begins.message(4, &text("exchange", &log.string(bar.exchange)));
    let begins = begins.message(4, &number("waited for (ns)", bar.waited_ns));
    let is_done = if bar.is_done { "yes" } else { "not when the wait ended" };
    begins.message(4, &text("done", is_done))
}
