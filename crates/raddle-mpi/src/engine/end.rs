//! Owns: the end of the proxy: after it nobody calls MPI but the keeper, which ends MPI.
//! May use: `channel`, `error`, `gate`, `shim`, `raddle-core`.
//! Never: a wait without a deadline, or while the lock is held.

use super::Engine;
use crate::channel::AheadReceive;
use crate::error::{Late, NetError};
use crate::gate::lock;
use crate::shim::MpiRefusal;
use raddle_core::door::futex::{self, WaitOptions};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Until MPI is asked again.
const PAUSE: Duration = Duration::from_micros(50);

/// Waits that long; a worker goes on with others.
pub(super) fn pause() {
    let nobody = AtomicU32::new(0);
    let until = Some(Instant::now() + PAUSE);
    futex::wait(&nobody, 0, &WaitOptions { until, ..WaitOptions::default() });
}

impl Engine {
    /// Nobody calls MPI after this but the keeper.
    pub(crate) fn end(&self, deadline: Duration) -> Result<(), NetError> {
        let mut state = lock(&self.state);
        state.is_over = true;
        let ahead = state.channels.end_hearing();
        let poller = state.poller.take();
        self.outstanding.store(0, Ordering::Relaxed);
        drop(state);
        drop(poller);
        // A job that is broken ends without the end of MPI, of which nobody knows what it still does.
        let ahead = ahead.filter(|_| !self.is_broken.load(Ordering::Relaxed));
        ahead.map_or(Ok(()), |ahead| self.take_back(ahead, deadline))
    }

    /// MPI is not to end while a receive is posted.
    fn take_back(&self, mut ahead: AheadReceive, deadline: Duration) -> Result<(), NetError> {
        let refused = |MpiRefusal { class, text }| {
            let what = "the receive of the next frame of channels, which is taken back".to_owned();
            NetError::Mpi { what, class, text }
        };
        let began = Instant::now();
        let state = lock(&self.state);
        ahead.cancel(&self.shim).map_err(refused)?;
        drop(state);
        loop {
            let state = lock(&self.state);
            if ahead.is_back(&self.shim).map_err(refused)? {
                return ahead.end(&self.shim).map_err(refused);
            }
            drop(state);
            let waited = began.elapsed();
            if waited >= deadline {
                let pending =
                    vec!["MPI has not taken back the receive of the next frame (MPI_Cancel)".to_owned()];
                let what = "the end of channels".to_owned();
                return Err(NetError::Late(Late { what, waited, pending, strays: Vec::new() }));
            }
            pause();
        }
    }
}
