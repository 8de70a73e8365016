//! Owns: the calls that run a transaction until it has committed.
//! May use: `algorithm`, `chaos`, `effort`, `gate`, `handles`, `host`, `reservations`, `stop`, `tvar`, `tx`,
//! `waiting`, `raddle-core`.
//! Never: what an attempt does.

use crate::algorithm::Algorithm;
use crate::effort::{Effort, Tried};
use crate::gate;
use crate::handles::Variables;
use crate::host;
use crate::reservations;
use crate::stop::{Expired, Stop, StopOr, Stops, Why};
use crate::tvar::TVar;
use crate::tx::{ReadTx, Tx};
use crate::waiting::ChangeWaiter;
use std::panic::Location;
use std::time::Instant;

/// Runs `body` as a transaction, until it commits, and returns its result.
///
/// Every transaction commits in the end, if its body ends and does not [`retry`](Tx::retry): one that others have
/// overtaken too often gets a token, and then others wait for it.
///
/// If `body` panics, all that it has written is rolled back, and the panic goes on.
///
/// A transaction inside of a body, by another call of this function, is one of its own, which commits by itself, and
/// again in each run of the body, whatever becomes of that; to make it a part, pass `tx` on. It may also wait for a
/// change. If it writes what the body has read, the body runs again, each time.
///
/// ```
/// use raddle::stm::{TVar, atomically};
///
/// let (from, to) = (TVar::new(100), TVar::new(0));
/// atomically(|tx| {
///     tx.modify(&from, |n| n - 30)?;
///     tx.modify(&to, |n| n + 30)
/// });
/// assert_eq!((from.load(), to.load()), (70, 30));
/// ```
///
/// # Panics
/// If `body` retries and has read nothing: nothing could end that wait. If it retries in a task, which must not wait.
/// If what was put off by [`Tx::on_commit`] panics, or an old value while it is dropped: then it has committed.
#[inline]
#[track_caller]
pub fn atomically<R>(mut body: impl FnMut(&mut Tx<'_>) -> Result<R, Stop>) -> R {
    match run(Algorithm::default(), &mut body, true, None, Location::caller()) {
        Ok(result) => result,
        Err(_) => unreachable!("without a deadline and an error of its own it ends by a commit"),
    }
}

/// As [`atomically`], of a `body` that may [`abort`](crate::abort): then all that it has written is rolled back.
///
/// ```
/// use raddle::stm::{TVar, abort, atomically_or_err};
///
/// let balance = TVar::new(10);
/// let paid = atomically_or_err(|tx| {
///     let left = tx.read(&balance)? - 30;
///     if left < 0 {
///         return abort(format!("{} are missing", -left));
///     }
///     Ok(tx.write(&balance, left)?)
/// });
/// assert_eq!(paid.unwrap_err(), "20 are missing");
/// ```
///
/// # Errors
/// What `body` has aborted with.
///
/// # Panics
/// As [`atomically`].
#[inline]
#[track_caller]
pub fn atomically_or_err<R, E>(mut body: impl FnMut(&mut Tx<'_>) -> Result<R, StopOr<E>>) -> Result<R, E> {
    run(Algorithm::default(), &mut body, true, None, Location::caller()).map_err(|end| match end {
        Some(StopOr::Abort(error)) => error,
        _ => unreachable!("without a deadline it ends by a commit or an abort"),
    })
}

/// As [`atomically`], but a wait for a change ends at `deadline`. A body that may [`abort`](crate::abort), too, is a
/// [nested](Tx::nested) one.
///
/// ```
/// use raddle::stm::{TVar, atomically_until};
/// use std::time::{Duration, Instant};
///
/// let ready = TVar::new(false);
/// let deadline = Instant::now() + Duration::from_millis(1);
/// let waited = atomically_until(deadline, |tx| {
///     let ready = tx.read(&ready)?;
///     tx.check(ready)
/// });
/// assert!(waited.is_err());
/// ```
///
/// # Errors
/// If the deadline passes while it waits.
///
/// # Panics
/// As [`atomically`].
#[inline]
#[track_caller]
pub fn atomically_until<R>(
    deadline: Instant,
    mut body: impl FnMut(&mut Tx<'_>) -> Result<R, Stop>,
) -> Result<R, Expired> {
    run(Algorithm::default(), &mut body, true, Some(deadline), Location::caller()).map_err(|_| Expired(()))
}

/// As [`atomically`], of a `body` that only reads: nothing is noted in the first attempt.
///
/// ```
/// use raddle::stm::{TVar, read_only};
///
/// let accounts: Vec<_> = (0..8).map(TVar::new).collect();
/// let sum = read_only(|tx| accounts.iter().try_fold(0, |sum, account| Ok(sum + tx.read(account)?)));
/// assert_eq!(sum, 28);
/// ```
///
/// # Panics
/// As [`atomically`].
#[inline]
#[track_caller]
pub fn read_only<R>(mut body: impl FnMut(&mut ReadTx<'_, '_>) -> Result<R, Stop>) -> R {
    match run(
        Algorithm::Versioned,
        &mut |tx: &mut Tx<'_>| body(&mut ReadTx(tx)),
        false,
        None,
        Location::caller(),
    ) {
        Ok(result) => result,
        Err(_) => unreachable!("without a deadline and an error of its own it ends by a commit"),
    }
}

impl Algorithm {
    /// As the function [`atomically`](fn@crate::atomically), by this algorithm.
    ///
    /// # Panics
    /// As that.
    #[inline]
    #[track_caller]
    pub fn atomically<R>(self, mut body: impl FnMut(&mut Tx<'_>) -> Result<R, Stop>) -> R {
        match run(self, &mut body, true, None, Location::caller()) {
            Ok(result) => result,
            Err(_) => unreachable!("without a deadline and an error of its own it ends by a commit"),
        }
    }

    /// As the function [`atomically_or_err`], by this algorithm.
    ///
    /// # Errors
    /// What `body` has aborted with.
    ///
    /// # Panics
    /// As that.
    #[inline]
    #[track_caller]
    pub fn atomically_or_err<R, E>(
        self,
        mut body: impl FnMut(&mut Tx<'_>) -> Result<R, StopOr<E>>,
    ) -> Result<R, E> {
        run(self, &mut body, true, None, Location::caller()).map_err(|end| match end {
            Some(StopOr::Abort(error)) => error,
            _ => unreachable!("without a deadline it ends by a commit or an abort"),
        })
    }

    /// As the function [`atomically_until`], by this algorithm.
    ///
    /// # Errors
    /// If the deadline passes while it waits for a change.
    ///
    /// # Panics
    /// As that.
    #[inline]
    #[track_caller]
    pub fn atomically_until<R>(
        self,
        deadline: Instant,
        mut body: impl FnMut(&mut Tx<'_>) -> Result<R, Stop>,
    ) -> Result<R, Expired> {
        run(self, &mut body, true, Some(deadline), Location::caller()).map_err(|_| Expired(()))
    }
}

/// Runs attempts until one commits, aborts, or the deadline passes, which is `None`. The first has notes only if they
/// are `noted`.
#[inline]
pub(crate) fn run<R, S: Stops>(
    algorithm: Algorithm,
    body: &mut impl FnMut(&mut Tx<'_>) -> Result<R, S>,
    noted: bool,
    deadline: Option<Instant>,
    site: &'static Location<'static>,
) -> Result<R, Option<S>> {
    let is_seeded = host::counted_point_if_seeded("atomically", site);
    if algorithm != Algorithm::Versioned {
        return run_on(algorithm, body, None, (noted, is_seeded, false), deadline, site);
    }
    // PERF: the first attempt by itself, whose effort is known to the compiler: else a part of a counter's 344
    // instructions writes down that nothing has failed yet, and asks.
    let mut has_let_others_run = false;
    loop {
        let mut tx = Tx::begin(algorithm, noted, is_seeded, Tried::NOTHING, site);
        let done = body(&mut tx);
        if tx.is_to_commit() && done.is_ok() && tx.commit() {
            host::settle_at("atomically", site);
            return done.map_err(Some);
        }
        // PERF: whom it waits for is often the next on its worker. Bench `retry`, on one worker and on two: a turn
        // there and back 480 ns without this, 245 with it; a number in two variables 790 and 320.
        if has_let_others_run || tx.verdict(&done) != Some(Why::Retry) || !host::others_are_ready() {
            let flags = (noted, is_seeded, has_let_others_run);
            return run_on(algorithm, body, Some((tx, done)), flags, deadline, site);
        }
        tx.put_off();
        drop(tx);
        host::let_ready_run();
        has_let_others_run = true;
    }
}

/// As [`run`], from the end of a first attempt on that could not commit, if there was one.
#[cold]
#[inline(never)]
fn run_on<R, S: Stops>(
    algorithm: Algorithm,
    body: &mut impl FnMut(&mut Tx<'_>) -> Result<R, S>,
    mut first: Option<(Tx<'_>, Result<R, S>)>,
    (noted, is_seeded, mut has_let_others_run): (bool, bool, bool),
    deadline: Option<Instant>,
    site: &'static Location<'static>,
) -> Result<R, Option<S>> {
    let mut effort = Effort::new();
    loop {
        let is_tried = first.is_some();
        let (mut tx, done) = first.take().unwrap_or_else(|| {
            let by = effort.algorithm(algorithm, site);
            let mut tx = Tx::begin(by, noted || !effort.is_first(), is_seeded, effort.tried(), site);
            let done = body(&mut tx);
            (tx, done)
        });
        match (tx.verdict(&done), done) {
            // It could not.
            (None, Ok(_)) if is_tried => {}
            (None, Ok(result)) if tx.commit() => {
                host::settle_at("atomically", site);
                return Ok(result);
            }
            (Some(Why::Abort), Err(stop)) => return Err(Some(stop)),
            (Some(Why::Irrevocable), _) => {
                drop(tx);
                effort.make_once();
                continue;
            }
            // As in `run`, of those whom another has overtaken before.
            (Some(Why::Retry), _) if !has_let_others_run && host::others_are_ready() => {
                drop(tx);
                // First: with the token nobody of them could commit.
                effort.rest();
                host::let_ready_run();
                has_let_others_run = true;
                continue;
            }
            (Some(Why::Retry), _) => {
                if let Some((variables, time)) = tx.waits_for() {
                    drop(tx);
                    effort.rest();
                    wait(&variables, time, site, deadline).map_err(|Expired(())| None)?;
                    continue;
                }
            }
            _ => {}
        }
        let other = tx.gives_way_to();
        drop(tx);
        effort.failed(other, site);
    }
}

/// Waits until one of `variables` is not what it was at `time`.
#[cold]
fn wait(
    variables: &Variables,
    time: u64,
    site: &'static Location<'static>,
    deadline: Option<Instant>,
) -> Result<(), Expired> {
    assert!(
        !variables.is_empty() || deadline.is_some(),
        "a transaction retries and has read nothing that another could write: no change could end its wait; read what \
         it waits for first ({site})"
    );
    assert!(
        !gate::has_sealed(),
        "a transaction retries in the body of an irrevocable one: nobody could wake it ({site})"
    );
    let waits = || {
        // Not before the gate is open: to open it may be a wait, and nobody is in two.
        let waiter = ChangeWaiter::Parked(host::waiter());
        crate::chaos::point();
        let ChangeWaiter::Parked(parked) = &waiter else { unreachable!("it is parked") };
        variables.watch(&waiter, time, || host::wait(parked, variables, site, deadline))
    };
    let changed = reservations::let_go_while(|| gate::open_while(waits));
    host::check_cancelled();
    // Not standing in all lists, it has changed already.
    if changed.unwrap_or(true) { Ok(()) } else { Err(Expired(())) }
}

/// One operation as a transaction.
impl<T: Clone + Send + Sync + 'static> TVar<T> {
    /// Writes `value`, in a transaction of its own.
    #[track_caller]
    pub fn store(&self, value: T) {
        atomically(|tx| tx.write(self, value.clone()));
    }

    /// The value, read in a transaction of its own.
    #[track_caller]
    pub fn load(&self) -> T {
        read_only(|tx| tx.read(self))
    }
}
