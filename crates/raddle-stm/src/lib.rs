// Owns: transactional memory: variables, and the transactions that read and write several of them at once.
// May use: nothing.
// Never: a lock that a program could hold, or a wait by polling.

//! Transactional memory: read and write several variables as if at one moment, and wait until they are as you want
//! them.
//!
//! ```
//! use raddle::stm::{TVar, atomically};
//!
//! let (stock, sold) = (TVar::new(0), TVar::new(0));
//! std::thread::scope(|scope| {
//!     scope.spawn(|| (0..10).for_each(|_| atomically(|tx| tx.modify(&stock, |n| n + 3))));
//!     for _ in 0..10 {
//!         // Waits until there are three, parked, and takes them.
//!         atomically(|tx| {
//!             let there = tx.read(&stock)?;
//!             tx.check(there >= 3)?;
//!             tx.write(&stock, there - 3)?;
//!             tx.modify(&sold, |n| n + 3)
//!         });
//!     }
//! });
//! assert_eq!((stock.load(), sold.load()), (0, 30));
//! ```
//!
//! | to | use |
//! |---|---|
//! | share a value | [`TVar`] |
//! | read and write several at once | [`atomically`](fn@atomically), [`Tx::read`], [`Tx::write`], [`Tx::modify`] |
//! | look at a value without a clone | [`Tx::with`] |
//! | go along a list | [`Tx::walk`] |
//! | only read | [`read_only`], [`TVar::load`] |
//! | wait until something has changed | [`Tx::retry`], [`Tx::check`]; at most until a time: [`atomically_until`] |
//! | wait in a task | [`atomically_async`] |
//! | try one thing, else another | [`Tx::or_else`] |
//! | give up, with an error | [`atomically_or_err`], [`abort`]; for a part alone: [`Tx::nested`] |
//! | a map, a set | [`TMap`], [`TSet`] |
//! | not be overtaken, or not by what is the same | [`Algorithm`] |
//! | hand values over | [`TQueue`]; to each of several: [`TChannel`] |
//! | count permits, meet | [`TSemaphore`], [`TBarrier`] |
//! | do what cannot be undone | [`Tx::on_commit`], [`Tx::irrevocable`]; undo by hand: [`Tx::on_abort`] |
//!
//! # What holds
//!
//! - **Opacity**: a body sees the values of one moment, also in an attempt that fails. An invariant that every
//!   transaction keeps may be asserted in each.
//! - **A panic, an abort, and a cancellation roll back** what the transaction has written. A reference to a value does
//!   not leave the call that lends it.
//! - **Who waits is parked**: a process leaves its worker to others, an OS thread sleeps. Exactly the commits that
//!   write what it has read wake it. Nothing looks again by time.
//! - **Every transaction commits in the end**, whose body ends and does not retry: one that has failed 6 times gets a
//!   token, in the order in which they come, and other commits wait for it in the scheduler. What others do inside of a
//!   *task*, which must not wait, is excepted from that waiting, and may delay it.
//!
//! What does not: a body may run several times, so that what it does besides must bear that. A body that waits by other
//! means (a lock, a channel, a sleep, a join) keeps all that others replace from being freed, and if it has the token,
//! keeps others from committing. So **never take a lock in a body under which others run transactions**, nor wait there
//! for what others do after a transaction: the body, with the token, waits for them, and they for the token. That it
//! went well a thousand times says nothing, since a token is hardly ever needed. Old values are dropped later, by some
//! later transaction. Where all are about one number, a `Mutex` is faster: the bench `stm` has both.
//!
//! A child of `fork` has the variables as they were: those that another OS thread was about to store stay locked there,
//! as a `Mutex` would, and who reads them waits for ever. So where several OS threads run transactions, a child calls
//! `exec`, or runs none.
//!
//! # How
//!
//! Each variable has a word with its version; what a transaction writes lies in its log until it commits; one clock
//! orders the commits (`protocol/versions.md`). A transaction has a slot while it runs, by which is known what may be
//! freed (`protocol/slots.md`). Who retries stands in a list of each variable that it has read (`protocol/watch.md`).
//! The crate's tests record histories of all attempts and have them judged, and find each of a dozen mistakes that can
//! be made in the algorithm.
//!
//! # The feature `scheduler`
//!
//! Without it OS threads alone wait, on a futex, and no scheduler is linked. The crate `raddle` asks for it: then what
//! waits leaves its worker to others, can be cancelled, and stands in reports of hangs, with the variables that it
//! waits for. In a task a transaction may run, but not wait: `retry` panics there; [`atomically_async`] waits.

#![warn(clippy::disallowed_methods)]

#[cfg(not(loom))]
mod algorithm;
#[cfg(not(loom))]
mod arena;
#[cfg(not(loom))]
mod atomically;
#[cfg(not(loom))]
mod awaits;
mod chaos;
#[cfg(not(loom))]
mod collections;
#[cfg(not(loom))]
mod effort;
#[cfg(not(loom))]
mod few;
#[cfg(not(loom))]
mod garbage;
#[cfg(not(loom))]
mod gate;
#[cfg(not(loom))]
mod handles;
#[cfg(not(loom))]
#[cfg_attr(feature = "scheduler", path = "host/scheduler.rs")]
#[cfg_attr(not(feature = "scheduler"), path = "host/threads.rs")]
mod host;
#[cfg(not(loom))]
mod log;
mod mistake;
#[cfg(all(loom, test))]
mod model;
#[cfg(not(loom))]
mod panics;
mod prim;
#[cfg(all(test, not(loom)))]
mod proof;
mod protocol;
#[cfg(not(loom))]
mod reservations;
#[cfg(not(loom))]
mod stop;
#[cfg(not(loom))]
mod tvar;
#[cfg(not(loom))]
mod tx;
#[cfg(not(loom))]
mod value;
#[cfg(not(loom))]
mod variable;
#[cfg(not(loom))]
mod waiting;

#[cfg(not(loom))]
pub use algorithm::Algorithm;
#[cfg(not(loom))]
pub use atomically::{atomically, atomically_or_err, atomically_until, read_only};
#[cfg(not(loom))]
pub use awaits::{AtomicallyFuture, atomically_async};
#[cfg(not(loom))]
pub use collections::{Arrival, TBarrier, TChannel, TMap, TQueue, TReceiver, TSemaphore, TSet};
#[cfg(not(loom))]
pub use stop::{Expired, Stop, StopOr, Stops, abort};
#[cfg(not(loom))]
pub use tvar::TVar;
#[cfg(not(loom))]
pub use tx::{ReadTx, Snapshot, Tx};
