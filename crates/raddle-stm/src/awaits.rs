//! Owns: `atomically_async`, a transaction as a future.
//! May use: `algorithm`, `effort`, `gate`, `handles`, `host`, `stop`, `tx`, `raddle-core`.
//! Never: a wait that stops whoever polls.

use crate::algorithm::Algorithm;
use crate::effort::Effort;
use crate::gate;
use crate::handles::PolledWatch;
use crate::host;
use crate::stop::{Stop, Why};
use crate::tx::Tx;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// As [`atomically`](fn@crate::atomically), for a task, or whatever polls futures: [`retry`](Tx::retry) waits by a
/// waker.
///
/// The body runs while the future is polled, and never waits: only between its runs others run. One that others have
/// overtaken often lets them run after each further run; the token, which would have others wait for it, is not for it.
/// Dropped before it was ready, nothing has been written. For a deadline use `task::timeout`.
///
/// ```
/// use raddle::stm::{TQueue, atomically, atomically_async};
/// use raddle::task;
///
/// let queue = TQueue::new();
/// let from = queue.clone();
/// let takes = task::spawn(async move { atomically_async(|tx| from.pop(tx)).await });
/// atomically(|tx| queue.push(tx, 7));
/// assert_eq!(task::block_on(takes).unwrap(), 7);
/// ```
///
/// A body that may [`abort`](crate::abort) is a [nested](Tx::nested) one:
///
/// ```
/// use raddle::stm::{TVar, abort, atomically_async};
/// use raddle::task;
///
/// let balance = TVar::new(10);
/// let pays = task::spawn(async move {
///     let pay = |left: i32| if left < 0 { abort("too little") } else { Ok(left) };
///     atomically_async(|tx| {
///         tx.nested(|tx| {
///             let left = pay(tx.read(&balance)? - 30)?;
///             Ok(tx.write(&balance, left)?)
///         })
///     })
///     .await
/// });
/// assert_eq!(task::block_on(pays).unwrap(), Err("too little"));
/// ```
///
/// # Panics
/// When it is polled: as [`atomically`](fn@crate::atomically), or after it was ready.
#[track_caller]
pub fn atomically_async<R, B>(body: B) -> AtomicallyFuture<B>
where
    B: FnMut(&mut Tx<'_>) -> Result<R, Stop>,
{
    AtomicallyFuture { body, watch: None, site: Location::caller(), is_over: false }
}

/// A transaction that commits while it is awaited; from [`atomically_async`].
#[must_use = "a future does nothing until it is awaited"]
pub struct AtomicallyFuture<B> {
    body: B,
    /// It waits for a change.
    watch: Option<PolledWatch>,
    site: &'static Location<'static>,
    is_over: bool,
}

/// Nothing in it is pinned: the body is called in place, and what stands in lists lies in a box.
impl<B> Unpin for AtomicallyFuture<B> {}

impl<R, B> Future for AtomicallyFuture<B>
where
    B: FnMut(&mut Tx<'_>) -> Result<R, Stop>,
{
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let this = &mut *self;
        assert!(!this.is_over, "an AtomicallyFuture was polled after it was ready");
        if let Some(watch) = &this.watch {
            ready!(watch.poll(context));
            this.watch = None;
        }
        host::counted_point_at("atomically_async", this.site);
        let mut effort = Effort::new();
        loop {
            let by = effort.polled(Algorithm::default());
            // A task goes on to the end of its poll, also by a seed.
            let mut tx = Tx::begin(by, true, false, effort.tried(), this.site);
            let done = (this.body)(&mut tx);
            match (tx.verdict(&done), done) {
                (None, Ok(result)) if commits(&mut tx, &mut this.is_over) => {
                    host::settle_at("atomically_async", this.site);
                    return Poll::Ready(result);
                }
                (Some(Why::Retry), _) => {
                    let (variables, time) = tx.waits_for().expect("it has notes");
                    drop(tx);
                    assert!(
                        !variables.is_empty(),
                        "a transaction retries and has read nothing that another could write: no change could end its \
                         wait; read what it waits for first ({})",
                        this.site
                    );
                    // The gate is open meanwhile, should this be in the body of one that has the token.
                    this.watch = gate::open_while(|| PolledWatch::begin(variables, time, this.site));
                    if let Some(watch) = &this.watch {
                        ready!(watch.poll(context));
                        this.watch = None;
                    }
                    effort = Effort::new();
                    continue;
                }
                _ => {}
            }
            drop(tx);
            if !effort.spins() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }
}

/// Commits, if that can be. The future is over then, though what was put off panics after the commit.
fn commits(tx: &mut Tx<'_>, is_over: &mut bool) -> bool {
    *is_over = true;
    *is_over = tx.commit();
    *is_over
}

impl<B> fmt::Debug for AtomicallyFuture<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (made_at, waits) = (format_args!("{}", self.site), self.watch.is_some());
        f.debug_struct("AtomicallyFuture")
            .field("made_at", &made_at)
            .field("waits", &waits)
            .finish_non_exhaustive()
    }
}
