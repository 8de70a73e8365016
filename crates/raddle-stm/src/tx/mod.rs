//! Owns: `Tx`, one attempt of a transaction, as its body sees it.
//! May use: `algorithm`, `host`, `log`, `mistake`, `protocol::slots`, `stop`, `tvar`, `value`, `variable`,
//! `raddle-core`.
//! Never: another attempt, or a wait for a change.

mod attempt;
mod hooks;
mod nest;
mod pessimist;
mod read_only;
mod snapshot;

pub use read_only::ReadTx;
pub use snapshot::Snapshot;
pub(crate) use snapshot::WalkStep;

use crate::algorithm::Algorithm;
use crate::log::{Log, Mark, bit};
use crate::mistake::{Mistake, made};
use crate::protocol::slots::TxSlot;
use crate::stop::{Stop, Why};
use crate::tvar::TVar;
use crate::value::{Words, kind};
use crate::variable::HeadRef;
use hooks::Hooks;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::panic::Location;

/// All that a transaction reads and writes has a long way.
const ALL_FAR: u64 = u64::MAX;

/// A transaction that runs: what its body reads and writes by.
///
/// What it reads are the values of one moment, of which nothing that commits later is seen; what it writes others see
/// when it has committed, all at once. If the two cannot be had together, an operation returns a [`Stop`], which the
/// body passes on by `?`, and the body is run again. It does not see an impossible state before, not even in an attempt
/// that is in vain (Guerraoui and Kapałka call that *opacity*: On the Correctness of Transactional Memory, 2008).
///
/// A body may run several times: what it does besides must bear that, or be put off by [`on_commit`](Self::on_commit).
///
/// It cannot be kept:
///
/// ```compile_fail
/// let mut kept = None;
/// raddle_stm::atomically(|tx| {
///     kept = Some(tx);
///     Ok(())
/// });
/// ```
///
/// nor exchanged for that of another transaction:
///
/// ```compile_fail
/// raddle_stm::atomically(|outer| {
///     raddle_stm::atomically(|inner| {
///         std::mem::swap(outer, inner);
///         Ok(())
///     });
///     Ok(())
/// });
/// ```
///
/// nor used by another thread:
///
/// ```compile_fail,E0277
/// fn goes<T: Send>(_: T) {}
/// raddle_stm::atomically(|tx| Ok(goes(tx)));
/// ```
#[derive(Debug)]
pub struct Tx<'t> {
    slot: &'static TxSlot<Log>,
    /// The time of the snapshot.
    time: u64,
    /// A bit for each variable that it may have written, so that a read of that has a long way, see [`bit`]. All bits,
    /// if all reads and writes have: it is not by versions, its body was told something, or a seed is followed.
    far: u64,
    /// What its body was told by a [`Stop`]: nothing more is read, and nothing committed.
    stopped: Option<Why>,
    /// It has committed: the slot is somebody else's.
    is_over: bool,
    /// What is read is noted. Without notes a snapshot cannot be moved to a later time, nor waited for.
    has_notes: bool,
    /// The gate is not for this one.
    has_token: bool,
    /// Nobody else commits: this attempt is the only one.
    is_once: bool,
    /// For that it has sealed the gate itself.
    has_seal: bool,
    /// The body relies on that.
    is_irrevocable: bool,
    /// The snapshot may be moved so often.
    extensions: u32,
    /// Before it, the log must be able to roll back to what it was.
    mark: Mark,
    algorithm: Algorithm,
    /// For reservations.
    ticket: u64,
    /// So many reservations of anybody were broken when it was last found that none of its own was.
    breaks: u64,
    /// It has failed since an older one, or one that waits for others, has reserved what it would.
    gives_way_to: Option<u64>,
    /// Where the program calls.
    site: &'static Location<'static>,
    hooks: Option<Box<Hooks>>,
    /// No two are of one type, and none goes to another thread.
    of: PhantomData<*mut &'t ()>,
}

impl<'t> Tx<'t> {
    /// The value of `variable`: what this transaction has written there, or else what it was at the transaction's
    /// moment.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn read<T>(&mut self, variable: &TVar<T>) -> Result<T, Stop>
    where
        T: Clone + Send + Sync + 'static,
    {
        self.with(variable, T::clone)
    }

    /// What `f` makes of the value of `variable`, which is not cloned.
    ///
    /// ```
    /// use raddle::stm::{TVar, atomically};
    ///
    /// let names = TVar::new(vec!["Ada".to_string(), "Grace".to_string()]);
    /// let longest = atomically(|tx| tx.with(&names, |names| names.iter().map(String::len).max()));
    /// assert_eq!(longest, Some(5));
    /// ```
    ///
    /// The reference is gone when `f` returns:
    ///
    /// ```compile_fail
    /// use raddle::stm::{TVar, atomically};
    ///
    /// let name = TVar::new(String::new());
    /// let kept: &str = atomically(|tx| tx.with(&name, |name| name.as_str()));
    /// ```
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn with<T, R>(&mut self, variable: &TVar<T>, f: impl FnOnce(&T) -> R) -> Result<R, Stop>
    where
        T: Send + Sync + 'static,
    {
        let words = self.look(variable.head, kind::<T>())?;
        // SAFETY: the variable's words are those of a `T`. If it lies in a box, that is the log's, which nobody changes
        // while `self` is borrowed, or one that could be found at the snapshot's time, and is kept for us.
        Ok(f(unsafe { words.value::<T>() }))
    }

    /// Goes from variable to variable, each of which lies in the value of the one before, as the links of a list do.
    ///
    /// `step` is given each variable with its value, and returns the next, or [breaks](ControlFlow::Break) with what it
    /// was looking for. No handle is cloned on the way, as `read` would of each link: with several cores on one list
    /// that is most of the time.
    ///
    /// ```
    /// use raddle::stm::{TVar, atomically};
    /// use std::ops::ControlFlow::{Break, Continue};
    ///
    /// struct Node {
    ///     key: u32,
    ///     next: TVar<Option<Node>>,
    /// }
    ///
    /// let list = [7, 5, 3].into_iter().fold(TVar::new(None), |next, key| TVar::new(Some(Node { key, next })));
    /// // The link at which 5 is found, or would stand.
    /// let found = atomically(|tx| {
    ///     tx.walk(&list, |link, node| match node {
    ///         Some(node) if node.key < 5 => Continue(&node.next),
    ///         other => Break((link.clone(), other.as_ref().is_some_and(|node| node.key == 5))),
    ///     })
    /// });
    /// assert!(found.1);
    /// ```
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn walk<T, R>(
        &mut self,
        from: &TVar<T>,
        mut step: impl for<'a> FnMut(&'a TVar<T>, &'a T) -> ControlFlow<R, &'a TVar<T>>,
    ) -> Result<R, Stop>
    where
        T: Send + Sync + 'static,
    {
        assert!(kind::<T>().free.is_some(), "a value that holds variables lies in a box");
        let mut variable = std::ptr::from_ref(from);
        loop {
            // SAFETY: it is the caller's, or lies in the box of the last round; see below.
            let here = unsafe { &*variable };
            let words = self.look(here.head, kind::<T>())?;
            // SAFETY: it is not inline.
            let address = unsafe { words.address() };
            // SAFETY: the words are those of a `T`. Its box is the log's, which nobody changes while `self` is
            // borrowed, or one that could be found at the snapshot's time, and is kept until this transaction ends.
            let value = unsafe { &*address.cast::<T>() };
            match step(here, value) {
                ControlFlow::Continue(next) => variable = next,
                ControlFlow::Break(found) => return Ok(found),
            }
        }
    }

    /// Writes `value` to `variable`. Nobody else sees it before this transaction has committed.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn write<T>(&mut self, variable: &TVar<T>, value: T) -> Result<(), Stop>
    where
        T: Send + Sync + 'static,
    {
        let (bit, has_box) = (bit(variable.head), kind::<T>().free.is_some());
        if self.far & bit == 0 {
            if !made(Mistake::OverlooksWrites) {
                self.far |= bit;
            }
            match self.log().write_first(variable.head, Words::of(value), has_box) {
                Ok(()) => return Ok(()),
                Err(words) => self.write_again(variable.head, words, has_box),
            }
        } else {
            if self.far == ALL_FAR {
                self.may_write(variable.head)?;
            }
            self.write_again(variable.head, Words::of(value), has_box);
        }
        Ok(())
    }

    /// As [`write`](Self::write), whatever there is.
    #[cold]
    #[inline(never)]
    fn write_again(&mut self, head: HeadRef, value: Words, has_box: bool) {
        let mark = self.mark;
        // A value of the program's own may go here, and run its code: after the log is right again.
        drop(self.log().write(head, value, has_box, mark));
    }

    /// Writes what `f` makes of the value.
    ///
    /// ```
    /// use raddle::stm::{TVar, atomically};
    ///
    /// let counter = TVar::new(1);
    /// atomically(|tx| tx.modify(&counter, |n| n + 1));
    /// assert_eq!(counter.load(), 2);
    /// ```
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn modify<T>(&mut self, variable: &TVar<T>, f: impl FnOnce(T) -> T) -> Result<(), Stop>
    where
        T: Clone + Send + Sync + 'static,
    {
        let value = self.read(variable)?;
        self.write(variable, f(value))
    }

    /// Writes `value`, and returns what was there.
    ///
    /// # Errors
    /// [`Stop`], if the transaction must be run again.
    #[inline]
    pub fn replace<T>(&mut self, variable: &TVar<T>, value: T) -> Result<T, Stop>
    where
        T: Clone + Send + Sync + 'static,
    {
        let before = self.read(variable)?;
        self.write(variable, value)?;
        Ok(before)
    }

    /// Gives up for now: what the transaction has read is not what it waits for.
    ///
    /// All that it has written is rolled back, the caller is parked, and the transaction is run again when another has
    /// written one of the variables that it has read. In [`or_else`](Self::or_else) the alternative is tried first.
    /// Whoever drops the error waits all the same, when the body ends.
    ///
    /// From *Composable Memory Transactions* (Harris, Marlow, Peyton Jones, Herlihy, 2005).
    ///
    /// ```
    /// use raddle::stm::{TVar, atomically};
    ///
    /// let filled = TVar::new(None);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| filled.store(Some(7)));
    ///     let taken = atomically(|tx| match tx.replace(&filled, None)? {
    ///         Some(value) => Ok(value),
    ///         None => tx.retry(),
    ///     });
    ///     assert_eq!(taken, 7);
    /// });
    /// ```
    ///
    /// # Errors
    /// Always.
    ///
    /// # Panics
    /// After [`irrevocable`](Self::irrevocable).
    pub fn retry<R>(&mut self) -> Result<R, Stop> {
        assert!(
            !self.is_irrevocable,
            "an irrevocable transaction retries: look for what it waits for before"
        );
        Err(self.stop(Why::Retry))
    }

    /// [Retries](Self::retry) unless `condition` holds.
    ///
    /// # Errors
    /// If it does not.
    #[inline]
    pub fn check(&mut self, condition: bool) -> Result<(), Stop> {
        if condition { Ok(()) } else { self.retry() }
    }

    /// From here to its end the body runs once for certain: for what cannot be undone, and is to be seen together with
    /// what the transaction writes.
    ///
    /// The first time the body is rolled back here, and begins anew when no other transaction can commit, which is so
    /// until this one has; so call it early. All others wait: processes and threads in the scheduler, a task by being
    /// polled again. So the body must not wait for anybody who may be in a transaction. Forks (`raddle::join`, scopes,
    /// parallel loops) are no such wait: meanwhile they are calls, one after the other. What needs the result only of a
    /// transaction is better put off by [`on_commit`](Self::on_commit).
    ///
    /// ```
    /// use raddle::stm::{TVar, atomically};
    /// use std::io::Write;
    ///
    /// let (number, mut log) = (TVar::new(0), Vec::new());
    /// atomically(|tx| {
    ///     tx.irrevocable()?;
    ///     let next = tx.read(&number)? + 1;
    ///     // Only if this could be written is the number used up.
    ///     if writeln!(log, "invoice {next}").is_ok() {
    ///         tx.write(&number, next)?;
    ///     }
    ///     Ok(())
    /// });
    /// assert_eq!((number.load(), &*log), (1, &b"invoice 1\n"[..]));
    /// ```
    ///
    /// # Errors
    /// [`Stop`], the first time.
    ///
    /// # Panics
    /// In a task, which others would have to wait for. Later, if a transaction of its own inside of the body writes
    /// what the body has read, or [retries](Self::retry).
    pub fn irrevocable(&mut self) -> Result<(), Stop> {
        if let Some(why) = self.stopped {
            return Err(Stop(why));
        }
        assert!(
            !crate::host::at_home(),
            "a task's transaction cannot be irrevocable: others would wait for a task"
        );
        if !self.is_once {
            return Err(self.stop(Why::Irrevocable));
        }
        self.is_irrevocable = true;
        Ok(())
    }

    /// Runs `f` when this transaction has committed, once: for what cannot be undone.
    ///
    /// It runs in the flow that has run the transaction, after all that was written is seen by others, in the order of
    /// these calls. What a nested transaction puts off goes with it, if that is rolled back. If one panics, or is
    /// cancelled in a wait of its own, the others run all the same, and the panic goes on after them: the transaction
    /// has committed.
    ///
    /// ```
    /// use raddle::stm::{TVar, atomically};
    /// use std::cell::Cell;
    /// use std::rc::Rc;
    ///
    /// let (lamp, switched) = (TVar::new(false), Rc::new(Cell::new(0)));
    /// atomically(|tx| {
    ///     let switched = switched.clone();
    ///     tx.on_commit(move || switched.set(switched.get() + 1));
    ///     tx.write(&lamp, true)
    /// });
    /// assert_eq!(switched.get(), 1);
    /// ```
    pub fn on_commit(&mut self, f: impl FnOnce() + 'static) {
        self.hooks.get_or_insert_default().on_commit.push(Box::new(f));
    }

    /// Runs `f` when this attempt, or the nested transaction that is under way, is rolled back: for whatever reason, be
    /// it only to run again. In the reverse order of these calls; before a transaction that [retries](Self::retry)
    /// waits.
    pub fn on_abort(&mut self, f: impl FnOnce() + 'static) {
        self.hooks.get_or_insert_default().on_abort.push(Box::new(f));
    }
}
