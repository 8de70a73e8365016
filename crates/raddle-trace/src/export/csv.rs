//! Owns: the CSV format: one row per event.
//! May use: `event`, `log`.
//! Never: a name without quotes.

use super::ExportOptions;
use crate::event::{Event, StopReason, unpack};
use crate::log::{Log, OUTSIDE};
use std::io::{self, Write};

/// Those whose first word is a string, besides [`Event::NAMED`].
const PLACED: [Event; 4] = [Event::Operation, Event::Overtaken, Event::Exchanged, Event::Message];

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Columns: nanoseconds, worker (empty for an OS thread that is not a worker), event, thread, name, why (for a switch,
/// why the previous thread stopped; for an event of an OS thread, which one), a, b.
pub(super) fn export(log: &Log, options: ExportOptions, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"ns,worker,event,thread,name,why,a,b\n")?;
    rows(log, options, options.from_ns, out)
}

/// The rows of what happened from a time on, without the head; what the log holds of before belongs to another part.
pub(super) fn rows(log: &Log, options: ExportOptions, from_ns: u64, out: &mut dyn Write) -> io::Result<()> {
    for (worker, at) in log.in_order().filter(|(_, at)| at.ns >= from_ns && options.holds(at.ns)) {
        let of_thread = matches!(at.event, Event::Switch | Event::Migrate) || at.event.makes_ready();
        let (thread, name) = if of_thread {
            (at.a.to_string(), quoted(&log.name(at.a)))
        } else if Event::NAMED.contains(&at.event) || PLACED.contains(&at.event) {
            (String::new(), quoted(&log.string(at.a)))
        } else {
            (String::new(), String::new())
        };
        let why = match at.event {
            Event::Switch => StopReason::of_number(unpack(at.b).0).words().to_owned(),
            event if event.is_outside() => quoted(&format!("by {}", log.os_thread(&at))),
            _ => String::new(),
        };
        let worker = if worker == OUTSIDE { String::new() } else { worker.to_string() };
        let ns = options.time(at.ns);
        writeln!(out, "{ns},{worker},{:?},{thread},{name},{why},{},{}", at.event, at.a, at.b)?;
    }
    Ok(())
}
