//! Owns: `Algorithm`, how a transaction sees to it that what it has read is of one moment; and the program's choice.
//! May use: nothing.
//! Never: a variable: all algorithms share them.

use std::sync::atomic::{AtomicU8, Ordering};

/// How a transaction sees to it that what it has read is of one moment.
///
/// Transactions of all kinds may run at the same time, on the same variables: each chooses for itself. The functions of
/// this module, such as [`atomically`](fn@crate::atomically), use the program's [default](Self::default).
///
/// | | reads | is run again when | others |
/// |---|---|---|---|
/// | [`Versioned`](Self::Versioned) | note which | one was *written* | are not disturbed |
/// | [`Norec`](Self::Norec) | note the value | one has *another value* | are not disturbed |
/// | [`Pessimistic`](Self::Pessimistic) | keep others from writing | an older one keeps one | wait for its end |
///
/// ```
/// use raddle::stm::{Algorithm, TVar};
///
/// let accounts: Vec<_> = (0..1000).map(|_| TVar::new(10)).collect();
/// // Long, and beside many short ones: it is not overtaken.
/// let sum = Algorithm::Pessimistic
///     .atomically(|tx| accounts.iter().try_fold(0, |sum, account| Ok(sum + tx.read(account)?)));
/// assert_eq!(sum, 10_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Each variable has a version, and one clock orders the commits; what is written stays in a log until the commit
    /// (Dice, Shalev, Shavit: Transactional Locking II, DISC 2006; Riegel, Felber, Fetzer: A Lazy Snapshot Algorithm
    /// with Eager Validation, DISC 2006). The first default, and the best for what is short.
    Versioned,
    /// As `Versioned`, but what was read counts as unchanged while it has the same value, or the same box: a variable
    /// that was written with what it had, or changed and changed back, is no conflict. After Dalessandro, Spear, Scott:
    /// NOrec, PPoPP 2010, which validates so, and has one lock for all; here a commit locks what it writes. A read
    /// costs a note of the value. For what reads much that is often written and seldom changed.
    Norec,
    /// A variable that was read or written is *reserved* until the transaction ends: others go on reading it, but
    /// whoever would write it waits. So what it has read cannot be overtaken, however long it runs. Of two that
    /// reserve, the younger one gives way, begins anew and keeps its age (*wait-die*; Rosenkrantz, Stearns, Lewis:
    /// System Level Concurrency Control, 1978), so that none waits for ever. A read costs a locked instruction, and an
    /// attempt a lock. For what is long, beside short ones that write what it reads.
    ///
    /// So its body must not wait, by a channel or a lock, for anybody who may be in a transaction: that one may wait
    /// for its end. A transaction of its own inside of the body may wait, also for a change: what is reserved is
    /// anybody's meanwhile, and the body runs again if it was written. Forks (`raddle::join`, scopes, parallel loops)
    /// are calls in the body, one after the other: who took one might write what is reserved.
    ///
    /// In a task, in the body of another pessimistic transaction, and after
    /// [`Tx::irrevocable`](crate::Tx::irrevocable), where it could not wait or need not, it runs as `Versioned`.
    Pessimistic,
}

/// The program's default, as a number.
static DEFAULT: AtomicU8 = AtomicU8::new(VERSIONED);

const VERSIONED: u8 = Algorithm::Versioned as u8;
const NOREC: u8 = Algorithm::Norec as u8;

impl Algorithm {
    /// What the functions of this module use: `Versioned`, unless [`set_default`](Self::set_default) was called.
    #[expect(clippy::should_implement_trait, reason = "it is the program's, and changes")]
    #[inline(always)]
    #[must_use]
    pub fn default() -> Algorithm {
        // Relaxed: each transaction is right by whichever.
        match DEFAULT.load(Ordering::Relaxed) {
            VERSIONED => Algorithm::Versioned,
            NOREC => Algorithm::Norec,
            _ => Algorithm::Pessimistic,
        }
    }

    /// Has the functions of this module use this one, from the next transaction of each on. Those that run go on as
    /// they are.
    ///
    /// ```
    /// use raddle::stm::{Algorithm, TVar};
    ///
    /// Algorithm::Norec.set_default();
    /// let n = TVar::new(1);
    /// n.store(2); // by value
    /// assert_eq!(n.load(), 2);
    /// ```
    pub fn set_default(self) {
        // Relaxed: as above.
        DEFAULT.store(self as u8, Ordering::Relaxed);
    }
}
