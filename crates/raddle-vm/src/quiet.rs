//! Owns: whether a machine that several workers run stands still: nobody runs, and every process waits.
//! May use: `machine`, `prim`, `process`, `table`, `loom`.
//! Never: stops a worker, or waits for one.
//!
//! Each worker counts its visits to the machine: the count goes up when it enters and when it leaves, so it is odd
//! while it is in there. A watcher reads all counts, looks at all processes, and reads the counts again. If they are
//! even and have not changed, then what it saw was no patchwork of several moments but one, at which nobody ran:
//!
//! | the watcher reads | so it has seen | because |
//! |---|---|---|
//! | an even count | all that was done up to that visit | leaving releases, the read acquires |
//! | a word of a later visit | the odd count of that visit, at the second look | two fences, as in a seqlock |
//!
//! Who is ready says so in its record before it is queued: it waits for nothing. So if all wait at one moment at which
//! nobody runs, then nobody is in a queue either, and only the world can go on: a key, or an alarm. The watcher's
//! owner asks about those itself, between its first and its second reading of the counts.

use crate::machine::Machine;
use crate::prim::{self, AtomicU32, Ordering, fence};
use crate::process::WAITING;
use crate::table::WorkerLocal;

/// One worker's visits to the machine, as others see them; it counts them in its own part. (That it does not count in
/// the atomic word is for the models, too: loom overlooks who else read a word that its writer has just read.)
#[derive(Debug, Default)]
pub struct Visits(AtomicU32);

impl Visits {
    /// The worker is about to run processes.
    #[inline(always)]
    pub fn enter(&self, local: &mut WorkerLocal) {
        local.visits = local.visits.wrapping_add(1);
        self.0.store(local.visits, Ordering::Relaxed);
        // Release pairs with the acquire in `stands_still`: who reads what is written in this visit, sees the count.
        fence(prim::entered());
    }

    /// It has given all of them up.
    #[inline(always)]
    pub fn leave(&self, local: &mut WorkerLocal) {
        local.visits = local.visits.wrapping_add(1);
        self.0.store(local.visits, prim::left());
    }

    /// The sum of the counts, or `None` if somebody is in the machine.
    pub fn sum<'v>(all: impl IntoIterator<Item = &'v Visits>) -> Option<u32> {
        all.into_iter().try_fold(0_u32, |sum, visits| {
            let count = visits.0.load(prim::visited());
            (count & 1 == 0).then(|| sum.wrapping_add(count))
        })
    }
}

impl<L: Default> Machine<L> {
    /// Whether every process waits for another one, or for time. Meaningful while nothing runs.
    pub fn all_wait(&self) -> bool {
        self.processes.living().all(|process| {
            process.wait.load(Ordering::Relaxed) != 0 || process.alt.load(Ordering::Relaxed) == WAITING
        })
    }

    /// Whether every process waits, and nobody has been in the machine since `sum` gave `before`.
    pub fn stands_still(&self, before: u32, sum: impl Fn() -> Option<u32>) -> bool {
        if sum() != Some(before) || !self.all_wait() {
            return false;
        }
        // Acquire pairs with the release in `enter`.
        fence(prim::looked_at_all());
        sum() == Some(before)
    }
}
