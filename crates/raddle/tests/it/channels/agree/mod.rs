//! What `crossbeam-channel` documents. Included twice, with another `channel` each time: see the parents.

use super::{PLACES, channel, pause, spawn};
use channel::{
    ReadyTimeoutError, Receiver, RecvError, RecvTimeoutError, Select, SelectTimeoutError, SendError,
    SendTimeoutError, Sender, TryReadyError, TryRecvError, TrySelectError, TrySendError, after, at, bounded,
    never, tick, unbounded,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

mod buffered;
mod clocks;
mod disconnect;
mod errors;
mod macros;
mod order;
mod rendezvous;
mod select;
mod signatures;

/// Runs the test in every kind of place.
fn everywhere(test: fn()) {
    for place in PLACES {
        place(test);
    }
}

const SHORT: Duration = Duration::from_millis(10);
/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

/// Counts its own drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Each flavour that has ends of both kinds.
fn flavours<T>() -> [(Sender<T>, Receiver<T>); 4] {
    [bounded(0), bounded(1), bounded(7), unbounded()]
}
