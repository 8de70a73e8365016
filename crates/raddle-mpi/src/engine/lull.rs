//! Owns: lulls: how long nobody need look while another rank has nothing to say.
//! May use: nothing.
//! Never: a lull while any message is under way: MPI moves those only when it is called.
//!
//! A process may wait at a channel for a minute, and MPI has nothing to sleep at. While all that is under way is such
//! waits, and messages that are offered and that nobody has taken yet, who looks pauses for an eighth of the time in
//! which nothing has moved: what comes then is found that much later at most, and never more than 32 ms. A look with
//! the waking of who looks has taken some 80 us of an OS thread of a virtual machine: pauses of 4 ms cost 1.5 % of its
//! core.

use super::Engine;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A pause is the time since something has moved, divided by that, up to this many nanoseconds.
const SHARE: u64 = 8;
const LULL_MAX_NS: u64 = 32_000_000;
/// Who pauses for longer is woken when this rank says something itself.
const LONG_NS: u64 = 100_000;

fn lull_ns(still_ns: u64) -> u64 {
    (still_ns / SHARE).min(LULL_MAX_NS)
}

impl Engine {
    /// Under the lock: something moves; whether nothing had for so long that who looks pauses for long.
    pub(super) fn stir(&self, now: u64) -> bool {
        let before = self.stirred_ns.load(Ordering::Relaxed);
        self.stirred_ns.store(now, Ordering::Relaxed);
        lull_ns(now.saturating_sub(before)) > LONG_NS
    }

    /// Under the lock: something is said; whether who looks pauses for long. If not, the next look finds that it was
    /// said.
    ///
    /// PERF: to read the clock for each message took a twentieth of its time; example `ring`.
    pub(super) fn ends_lull(&self) -> bool {
        let last = self.last_ns.load(Ordering::Relaxed);
        let still = last.saturating_sub(self.stirred_ns.load(Ordering::Relaxed));
        lull_ns(still) > LONG_NS && self.stir(self.now())
    }

    /// How long who waits may pause before it looks again.
    pub(crate) fn lull(&self) -> Duration {
        Duration::from_nanos(lull_ns(self.now().saturating_sub(self.stirred_ns.load(Ordering::Relaxed))))
    }

    /// Whether nobody has looked for as long as one might pause after the last look.
    pub(super) fn is_lull_over(&self, now: u64) -> bool {
        let last = self.last_ns.load(Ordering::Relaxed);
        let still = last.saturating_sub(self.stirred_ns.load(Ordering::Relaxed));
        now.saturating_sub(last) >= lull_ns(still)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_found_an_eighth_later_and_32_ms_at_most() {
        let micro = 1000;
        assert_eq!(lull_ns(0), 0);
        assert_eq!(lull_ns(400 * micro), 50 * micro);
        assert_eq!(lull_ns(32_000 * micro), 4000 * micro);
        assert_eq!(lull_ns(60_000_000 * micro), 32_000 * micro);
    }
}
