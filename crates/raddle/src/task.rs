// Owns: the module `task` as a program sees it: the scheduler's tasks, and what they share.
// May use: `raddle-core`, `raddle-sync`.
// Never: an item of its own.

//! Rust futures on the workers: a task has no stack, is polled by whichever worker has it, and waits by `.await`.
//!
//! ```
//! use raddle::channel::bounded;
//! use raddle::task::{self, JoinSet, Mutex};
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! #[raddle::main]
//! async fn main() {
//!     let (orders, incoming) = bounded(8);
//!     let till = Arc::new(Mutex::new(0));
//!     let mut clerks = JoinSet::new();
//!     for _ in 0..3 {
//!         let (incoming, till) = (incoming.clone(), till.clone());
//!         clerks.spawn(async move {
//!             while let Ok(price) = incoming.recv_async().await {
//!                 let mut till = till.lock().await;
//!                 task::yield_now().await; // the guard may be held over an `.await`
//!                 *till += price;
//!             }
//!         });
//!     }
//!     // The same channel: a process sends, and tasks receive.
//!     raddle::csp::spawn(move || (1..=10).for_each(|price| orders.send(price).unwrap()));
//!     let closing = task::timeout(Duration::from_secs(60), async {
//!         while let Some(clerk) = clerks.join_next().await {
//!             clerk.unwrap();
//!         }
//!     });
//!     closing.await.expect("before a minute is over");
//!     assert_eq!(*till.lock().await, 55);
//! }
//! ```
//!
//! # Coming from tokio
//!
//! | `tokio` | here | what differs |
//! |---|---|---|
//! | `#[tokio::main]` | `#[raddle::main]` | |
//! | `spawn`, `JoinHandle`, `abort`, `AbortHandle` | [`spawn`], [`JoinHandle`], [`AbortHandle`] | no task ids |
//! | `JoinError` | [`JoinError`] | a task that nobody can wake any more ends with one |
//! | `AbortOnDropHandle` (`tokio-util`) | [`AbortOnDrop`] | |
//! | `JoinSet` | [`JoinSet`] | [`join_next`](JoinSet::join_next) in the order of the ends |
//! | `spawn_blocking`, `task::yield_now` | [`spawn_blocking`], [`yield_now`] | |
//! | `block_in_place(f)` | [`blocking(f)`](crate::blocking) in a process | |
//! | `Runtime::block_on`, `Handle::block_on` | [`block_on`], [`Runtime::block_on`](crate::Runtime::block_on) | |
//! | `time::sleep`, `sleep_until` | [`sleep`], [`sleep_until`] | instants are `std`'s |
//! | `time::timeout`, `timeout_at`, `Elapsed` | [`timeout`], [`timeout_at`], [`Elapsed`] | |
//! | `time::interval`, `MissedTickBehavior` | [`interval`], [`MissedTickBehavior`] | |
//! | `sync::Mutex`, `Semaphore`, `Notify` | [`Mutex`], [`Semaphore`], [`Notify`] | processes wait in the same queues |
//! | `mpsc::channel(n)`, `unbounded_channel()` | [`channel::bounded(n)`][bounded], `unbounded()` | many receivers |
//! | `tx.send(v).await`, `rx.recv().await` | `tx.send_async(v).await`, `rx.recv_async().await` | |
//! | `tx.blocking_send(v)`, `rx.blocking_recv()` | `tx.send(v)`, `rx.recv()` | |
//! | `ReceiverStream::new(rx)`, `IntervalStream` | `rx.into_stream()`, `Interval` | `Stream` by the feature `futures` |
//! | `select!` | `timeout`, or any `select!` of futures, such as that of `futures` | futures of channels are `Unpin` |
//! | `tokio::net`, `tokio::fs` | sockets and files in processes, or [`spawn_blocking`] | |
//!
//! [bounded]: crate::channel::bounded
//!
//! **Dropped while they wait.** [`SendFuture`](crate::channel::SendFuture) says whether it has sent; a message for a
//! [`RecvFuture`](crate::channel::RecvFuture) that is dropped goes to the next who waits, or back; permits, turns at a
//! mutex and notifications go on likewise. So each of them may stand in a `select!`.
//!
//! More of that, and of tasks beside processes, is in the repository's `docs/ASYNC.md`.
//!
//! **Calls that wait** (`recv`, `lock`, `join`, `sleep` of processes) would stop the worker: in a task they panic, at
//! the line of the program, and say what to write instead. What need not wait is allowed.

pub use raddle_core::task::*;
pub use raddle_sync::task::*;
