//! Owns: what a transaction does between two attempts: it spins a little, and then takes the token.
//! May use: `algorithm`, `gate`, `host`, `reservations`, `raddle-core`.
//! Never: a decision about one attempt.

use crate::algorithm::Algorithm;
use crate::gate::{self, CommitToken, GateSeal};
use crate::host;
use crate::reservations;
use std::hint::spin_loop;
use std::panic::Location;

/// After so many failures, with a pause after each, the transaction takes the token.
///
/// PERF: with eight turns of others before it, an audit of 1024 accounts beside two OS threads that move money on two
/// cores took 17 ms, since each turn was a time slice of the kernel's.
const PAUSES: u32 = 5;

/// The first pause, in turns of a spin loop; each is twice as long as the one before.
///
/// PERF: the sum of the pauses is what the slowest in a thousand takes. Two that change one variable, on two virtual
/// cores of an AMD EPYC that are near each other: with 8 the slowest took 27 times (worst of 27 samples: 63) what the
/// median takes, with 4 it takes 16 (26), and all together take 39 ns each, not 33; bench `retry`, form `conflict`.
const FIRST_PAUSE: u32 = 4;

/// So often an attempt moves its snapshot. One that reads much, and then what others write all the time, would do
/// nothing else: each time it has looked at all again there is a newer value.
const EXTENSIONS: u32 = 4;

/// How hard a transaction has tried.
pub(crate) struct Effort {
    failures: u32,
    /// Goes before the token.
    seal: Option<GateSeal>,
    token: Option<CommitToken>,
    is_once: bool,
    /// Its age among pessimistic transactions; 0 for others.
    ticket: u64,
    /// It has met a reservation of one that waits for others, perhaps for this one: it reserves no more.
    reserves_not: bool,
}

/// What an attempt is told of those before it.
#[derive(Clone, Copy)]
pub(crate) struct Tried {
    /// The gate is not for this one.
    pub(crate) has_token: bool,
    /// It is the only attempt that can be: nobody else commits.
    pub(crate) is_once: bool,
    /// It is this one that has sealed the gate.
    pub(crate) has_seal: bool,
    /// So often it may move its snapshot.
    pub(crate) extensions: u32,
    /// See [`reservations`].
    pub(crate) ticket: u64,
}

impl Tried {
    /// There were none.
    pub(crate) const NOTHING: Tried =
        Tried { has_token: false, is_once: false, has_seal: false, extensions: EXTENSIONS, ticket: 0 };
}

impl Effort {
    #[inline(always)]
    pub(crate) const fn new() -> Effort {
        Effort { failures: 0, seal: None, token: None, is_once: false, ticket: 0, reserves_not: false }
    }

    /// By what the next attempt runs, of a transaction that would by `algorithm`. A pessimistic one waits until the
    /// gate is open: those who have closed it wait for what is reserved.
    #[inline(always)]
    pub(crate) fn algorithm(&mut self, algorithm: Algorithm, site: &'static Location<'static>) -> Algorithm {
        if algorithm == Algorithm::Versioned { algorithm } else { self.other_algorithm(algorithm, site) }
    }

    #[cold]
    fn other_algorithm(&mut self, algorithm: Algorithm, site: &'static Location<'static>) -> Algorithm {
        let must_not_reserve = || self.reserves_not || host::at_home() || reservations::is_inside();
        if self.is_once || (algorithm == Algorithm::Pessimistic && must_not_reserve()) {
            return Algorithm::Versioned;
        }
        if algorithm == Algorithm::Pessimistic {
            if self.ticket == 0 {
                self.ticket = reservations::ticket();
            }
            if !self.has_token() && !gate::is_open() {
                gate::wait_until_open(site);
            }
        }
        algorithm
    }

    /// As [`algorithm`](Self::algorithm), of one that must not wait.
    #[inline(always)]
    pub(crate) fn polled(&self, algorithm: Algorithm) -> Algorithm {
        if algorithm == Algorithm::Norec { algorithm } else { Algorithm::Versioned }
    }

    /// What the next attempt is told.
    #[inline(always)]
    pub(crate) const fn tried(&self) -> Tried {
        Tried {
            has_token: self.has_token(),
            is_once: self.is_once,
            has_seal: self.seal.is_some(),
            extensions: self.extensions(),
            ticket: self.ticket,
        }
    }

    #[inline(always)]
    const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The body does what cannot be undone: from now on nobody else commits.
    #[cold]
    pub(crate) fn make_once(&mut self) {
        host::check_cancelled();
        if self.token.is_none() && !gate::is_holder() {
            self.token = CommitToken::take();
        }
        self.seal = GateSeal::set();
        self.is_once = true;
    }

    /// Whether this is the first attempt.
    #[inline(always)]
    pub(crate) const fn is_first(&self) -> bool {
        self.failures == 0
    }

    /// So often the next attempt may move its snapshot: as often as it takes when nothing else is left to try. It may
    /// be its own body that writes what it reads, by transactions inside.
    #[inline(always)]
    const fn extensions(&self) -> u32 {
        if self.failures <= PAUSES && !self.is_once { EXTENSIONS } else { u32::MAX }
    }

    /// An attempt has failed, if not for its own fault then for that of the pessimistic transaction `other`. Returns
    /// when it is time for the next.
    #[cold]
    pub(crate) fn failed(&mut self, other: Option<u64>, site: &'static Location<'static>) {
        if let Some(other) = other {
            self.reserves_not |= !reservations::wait_until_ended(other, site);
            return;
        }
        if self.spins() {
            return;
        }
        host::check_cancelled();
        if self.token.is_none() {
            self.token = CommitToken::take();
            if self.token.is_some() {
                return;
            }
        }
        // A task, or one that a task has overtaken: the others may be out of its way the next time.
        host::let_others_run();
    }

    /// An attempt has failed. If it was one of the first, returns after a pause; false if others are to run now.
    #[cold]
    pub(crate) fn spins(&mut self) -> bool {
        self.failures += 1;
        let is_early = self.failures <= PAUSES;
        if is_early {
            (0..FIRST_PAUSE << self.failures).for_each(|_| spin_loop());
        }
        is_early
    }

    /// The transaction was not in vain, but is to wait: it begins anew then.
    pub(crate) fn rest(&mut self) {
        *self = Effort::new();
    }
}
