//! Owns: what a trace is told of messages between ranks, and of the looks of a proxy that moves them.
//! May use: `worker`, `raddle-trace`.
//! Never: a record of what is still to come: an exchange is told at its end, by who has waited for it.
//!
//! A proxy looks on any OS thread, and only workers have rings. So what it has seen is told later, by a worker, with
//! times that are counted back from then: in tenths of a microsecond, so that two minutes and more fit.

use crate::worker::Worker;
use raddle_trace::event::pack;
use raddle_trace::{Event, Level};
use std::time::Duration;

/// A message of an exchange. Times are how long ago it was.
#[derive(Clone, Copy, Debug)]
pub struct MessageNote {
    /// What it carries: by [`number_of_name`].
    pub name: u32,
    /// How long it is.
    pub bytes: u32,
    /// The rank at its other end.
    pub peer: u32,
    /// Whether it came from there.
    pub is_in: bool,
    /// Since it was posted.
    pub posted: Duration,
    /// Since it was done, if it is.
    pub done: Option<Duration>,
}

/// A look after what is under way.
#[derive(Clone, Copy, Debug)]
pub struct LookNote {
    /// Since it began.
    pub began: Duration,
    /// How long it took.
    pub length: Duration,
    /// How much it has found done.
    pub found: u32,
    /// Whether the proxy's own OS thread looked.
    pub by_keeper: bool,
}

/// An exchange that somebody has waited for until now.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeNote<'a> {
    /// What it is: by [`number_of_name`].
    pub name: u32,
    /// How long that was.
    pub waited: Duration,
    /// Its messages.
    pub messages: &'a [MessageNote],
    /// The looks since the last one that was told.
    pub looks: &'a [LookNote],
}

/// Which runtime records exchanges of the caller: none on an OS thread, or where nothing is recorded.
pub fn who_records() -> Option<usize> {
    let number = |worker: &Worker| {
        let runtime = std::ptr::from_ref(worker.shared()).addr();
        worker.traces_at(Level::Sched).then_some(runtime)
    };
    Worker::with_current(number).flatten()
}

/// A number for a name, which is that runtime's only. To be asked once for each: it is kept.
pub fn number_of_name(name: String) -> u32 {
    Worker::with_current(|worker| worker.shared().trace().number_of_site(name)).unwrap_or(0)
}

/// Records an exchange.
#[cold]
pub fn note_exchange(exchange: &ExchangeNote<'_>) {
    Worker::with_current(|worker| {
        if !worker.traces_at(Level::Sched) {
            return;
        }
        let record = |event, a, b| worker.tracer.record(event, a, b);
        record(Event::Exchanged, exchange.name, tenths(exchange.waited));
        for message in exchange.messages {
            record(Event::Message, message.name, message.bytes);
            record(Event::MessagePeer, message.peer, message.is_in.into());
            record(Event::MessageTimes, tenths(message.posted), message.done.map_or(u32::MAX, tenths));
        }
        for look in exchange.looks {
            let found = look.found.min(127) as u8 | u8::from(look.by_keeper) << 7;
            let length = tenths(look.length).min(0x00ff_ffff);
            record(Event::ProxyLook, tenths(look.began), pack(found, length));
        }
    });
}

/// In tenths of a microsecond, of which the largest number is none.
fn tenths(span: Duration) -> u32 {
    u32::try_from(span.as_nanos() / 100).unwrap_or(u32::MAX).min(u32::MAX - 1)
}
