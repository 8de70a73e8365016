//! Owns: what is done when something is late, and what is heard of ranks that have given up.
//! May use: `error`, `gate`, `late`, `post`, `shim`.
//! Never: a wait for a rank that may be gone.

use super::{Engine, LATE_CODE, Underway};
use crate::error::{Late, NetError};
use crate::gate::lock;
use crate::late::{LateAnswer, OnLate};
use crate::post::{Post, Transfer};
use crate::shim::Address;
use std::ffi::c_int;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// So often it is asked whether another rank has given up, while something is under way.
const HEARS_NS: u64 = 100_000_000;
/// The tag by which a rank says that it has; the largest that every MPI has.
const GIVEN_UP_TAG: c_int = 32_767;

impl Engine {
    /// Something is late: does what is to be done then. For how long to wait again; none if it is an error.
    pub(crate) fn give_up(&self, late: &Late) -> Option<Duration> {
        let answer = self.on_late.answer(late);
        if let LateAnswer::Wait(more) = answer {
            return Some(more);
        }
        self.is_broken.store(true, Ordering::Relaxed);
        match answer {
            LateAnswer::ErrorOnAll => self.tell_all(&late.to_string()),
            LateAnswer::Abort => {
                let rank = self.place.get().map_or(0, |(rank, _)| *rank);
                let _unwritable =
                    writeln!(std::io::stderr(), "raddle-mpi: rank {rank}: {late}; the job ends");
                let _state = lock(&self.state);
                self.shim.abort(LATE_CODE);
            }
            LateAnswer::Wait(_) | LateAnswer::Error => (),
        }
        None
    }

    /// Tells all other ranks that this one has given up. Nobody waits for that: the messages are short.
    fn tell_all(&self, text: &str) {
        let (rank, size) = self.place.get().copied().unwrap_or((0, 1));
        if self.given_up.set((rank, text.to_owned())).is_err() {
            return;
        }
        let bytes = &text.as_bytes()[..text.len().min(500)];
        let to = |peer| Address { peer: c_int::try_from(peer).unwrap_or(0), tag: GIVEN_UP_TAG, space: 1 };
        let others = (0..size).filter(|peer| *peer != rank);
        let Ok(transfers) = others.map(|peer| Transfer::out(to(peer), bytes)).collect() else { return };
        // What MPI refuses now is not worth saying: the others have deadlines of their own.
        let _refused = self.start(&Arc::new(Post::new("a rank gives up".to_owned(), transfers, false)));
    }

    /// Under the lock: asks, if it is time, whether another rank has given up; whether it was heard now.
    pub(super) fn hear(&self, state: &mut Underway, now: u64) -> bool {
        let may_be_told = matches!(self.on_late, OnLate::ErrorOnAll | OnLate::Ask(_));
        if !may_be_told || self.given_up.get().is_some() || now.saturating_sub(state.heard_ns) < HEARS_NS {
            return false;
        }
        state.heard_ns = now;
        let Some((rank, text)) = self.shim.told(GIVEN_UP_TAG, 1) else { return false };
        self.is_broken.store(true, Ordering::Relaxed);
        self.given_up.set((usize::try_from(rank).unwrap_or(0), text)).is_ok()
    }

    /// That another rank has given up, if it has.
    pub(crate) fn given_up(&self) -> Option<NetError> {
        let (rank, text) = self.given_up.get()?;
        let is_another = self.place.get().is_some_and(|(own, _)| own != rank);
        is_another.then(|| NetError::GivenUp { rank: *rank, text: text.clone() })
    }

    /// Whether this rank or another one has told all that it has given up.
    pub(crate) fn all_know(&self) -> bool {
        self.given_up.get().is_some()
    }
}
