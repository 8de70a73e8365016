//! Owns: `Recorder`, which puts what a program says to `tracing` into Raddle's trace.
//! May use: `raddle`, `tracing-core`.
//! Never: a lock, an allocation or a formatted text on the way of an event.
//!
//! ```
//! use raddle_tracing::Recorder;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     tracing::subscriber::set_global_default(Recorder::new())?;
//!     let _sorting = tracing::info_span!("sorting").entered();
//!     tracing::info!(rows = 50, "half way");
//!     Ok(())
//! }
//! ```
//!
//! Spans become spans of the trace, under their names. An event becomes a mark, under its target and the place at which
//! it stands, with the first of its fields that is a whole number; its message is not written down, since that would
//! have to be formatted. Both need the level `user`: `raddle trace run --level user`. What an OS thread says that is no
//! worker is not recorded.
//!
//! A span that is entered must not be held over a wait by a light process, as everywhere with `tracing`: its other
//! subscribers keep what is entered for each OS thread. Threads of `raddle::thread` may.
//!
//! It is a crate, and no feature of `raddle`, so that nobody gets it who has not asked.

use raddle::trace::{self, Mark};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, LevelFilter, Metadata, Subscriber};

/// So many places in the source of a program can be told apart; what is said at others is not recorded.
const PLACES_MAX: usize = 4096;

/// The names of places. A static, so that a record needs no more than 32 bits to say which.
static PLACES: [Place; PLACES_MAX] =
    [const { Place { metadata: AtomicUsize::new(0), mark: OnceLock::new() } }; PLACES_MAX];

struct Place {
    /// Where the metadata of the place lie; 0 if it is free.
    metadata: AtomicUsize,
    mark: OnceLock<Mark>,
}

/// A subscriber for `tracing` that records into the trace of the runtime.
#[derive(Clone, Copy, Debug)]
pub struct Recorder {
    most: LevelFilter,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder::new()
    }
}

impl Recorder {
    /// Records everything.
    pub const fn new() -> Recorder {
        Recorder { most: LevelFilter::TRACE }
    }

    /// Records nothing that is more verbose than this.
    #[must_use]
    pub const fn with_max_level(self, most: LevelFilter) -> Recorder {
        Recorder { most }
    }
}

/// Which place this is, counted from 1, and its name. None if there are too many.
fn place_of(metadata: &'static Metadata<'static>) -> Option<(u64, &'static Mark)> {
    let key = std::ptr::from_ref(metadata).addr();
    // Metadata are statics of some ten words.
    let first = (key >> 3) % PLACES_MAX;
    for step in 0..PLACES_MAX {
        let number = (first + step) % PLACES_MAX;
        let place = &PLACES[number];
        let found = place.metadata.load(Ordering::Relaxed);
        let mine = found == key
            || (found == 0
                && place
                    .metadata
                    .compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed)
                    .map_or_else(|other| other == key, |_| true));
        if mine {
            return Some((number as u64 + 1, place.mark.get_or_init(|| name_of(metadata))));
        }
    }
    None
}

fn name_of(metadata: &'static Metadata<'static>) -> Mark {
    let name = if metadata.is_span() { metadata.name() } else { metadata.target() };
    Mark::at(name, metadata.file().unwrap_or("?"), metadata.line().unwrap_or(0))
}

fn mark_of(span: &Id) -> Option<&'static Mark> {
    let number = usize::try_from(span.into_u64()).ok()?.checked_sub(1)?;
    PLACES.get(number)?.mark.get()
}

/// The number of a span at a place that has none.
const NOWHERE: u64 = u64::MAX;

impl Subscriber for Recorder {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.most
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.most)
    }

    /// Spans at one place have one number: nothing is kept of a single one.
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        Id::from_u64(place_of(span.metadata()).map_or(NOWHERE, |(number, _)| number))
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if let Some((_, mark)) = place_of(event.metadata()) {
            let mut number = FirstNumber(None);
            event.record(&mut number);
            trace::mark(mark, number.0.unwrap_or(0));
        }
    }

    fn enter(&self, span: &Id) {
        if let Some(mark) = mark_of(span) {
            // `exit` ends it.
            std::mem::forget(trace::enter(mark));
        }
    }

    fn exit(&self, span: &Id) {
        if let Some(mark) = mark_of(span) {
            trace::leave(mark);
        }
    }

    fn current_span(&self) -> Current {
        Current::none()
    }
}

/// The first field that is a whole number and fits.
struct FirstNumber(Option<u32>);

impl Visit for FirstNumber {
    fn record_u64(&mut self, _field: &Field, value: u64) {
        self.0 = self.0.or(u32::try_from(value).ok());
    }

    fn record_i64(&mut self, _field: &Field, value: i64) {
        self.0 = self.0.or(u32::try_from(value).ok());
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn std::fmt::Debug) {}
}
