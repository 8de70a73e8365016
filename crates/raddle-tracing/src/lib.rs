// Owns: `Recorder`, which records the spans and events of `tracing` in Raddle's trace.
// May use: `raddle`, `tracing-core`.
// Never: a lock, an allocation or formatting when an event is recorded.

// This is a crate of its own, not a feature of `raddle`, so that only its users depend on `tracing`.

//! The spans and events of [`tracing`](https://docs.rs/tracing), recorded in Raddle's trace.
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
//! Spans become spans of the trace, with their names. An event becomes a mark, named by its target and its call site,
//! with the first of its fields that is a whole number; its message is not recorded, since that would need formatting.
//! Both need the level `user`: `raddle trace run --level user`. Spans and events of OS threads that are not workers are
//! not recorded.
//!
//! A light process must not wait while it has entered a span, as always with `tracing`: other subscribers keep the
//! entered spans per OS thread. Threads of `raddle::thread` may.

use raddle::trace::{self, Mark};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Event, LevelFilter, Metadata, Subscriber};

/// The most call sites of a program; spans and events of others are not recorded.
const CALL_SITES_MAX: usize = 4096;

/// The call sites. A static array, so that a span's number fits into 32 bits.
static CALL_SITES: [CallSite; CALL_SITES_MAX] =
    [const { CallSite { metadata: AtomicUsize::new(0), mark: OnceLock::new() } }; CALL_SITES_MAX];

struct CallSite {
    /// The address of the call site's metadata; 0 if the entry is free.
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

/// The number of a call site, from 1, and its name. `None` if there are too many.
fn call_site_of(metadata: &'static Metadata<'static>) -> Option<(u64, &'static Mark)> {
    let key = std::ptr::from_ref(metadata).addr();
    // Metadata are statics of some ten words.
    let first = (key >> 3) % CALL_SITES_MAX;
    for step in 0..CALL_SITES_MAX {
        let number = (first + step) % CALL_SITES_MAX;
        let site = &CALL_SITES[number];
        let found = site.metadata.load(Ordering::Relaxed);
        let mine = found == key
            || (found == 0
                && site
                    .metadata
                    .compare_exchange(0, key, Ordering::Relaxed, Ordering::Relaxed)
                    .map_or_else(|other| other == key, |_| true));
        if mine {
            return Some((number as u64 + 1, site.mark.get_or_init(|| name_of(metadata))));
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
    CALL_SITES.get(number)?.mark.get()
}

/// The number of a span whose call site has none.
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

    /// All spans of a call site have one number: there is no state per span.
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        Id::from_u64(call_site_of(span.metadata()).map_or(NOWHERE, |(number, _)| number))
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if let Some((_, mark)) = call_site_of(event.metadata()) {
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
