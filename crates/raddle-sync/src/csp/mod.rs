// Owns: processes and what they communicate by, in the manner of CSP and occam.
// May use: `raddle-core`.
// Never: a buffer, or an end that two use at once.

//! Processes, and channels by which they communicate, in the manner of CSP and occam: start a million, let them talk,
//! wait for the first of several events.
//!
//! ```
//! use raddle::csp;
//!
//! let (mut to, mut from) = csp::channel();
//! let doubles = csp::spawn(move || (1..=3).try_for_each(|n| to.send(2 * n)));
//! let mut sum = 0;
//! while let Ok(n) = from.recv() {
//!     sum += n; // until the sender is gone
//! }
//! assert_eq!(sum, 12);
//! doubles.join().unwrap().unwrap();
//! ```
//!
//! | occam | here |
//! |---|---|
//! | `PAR` | [`par!`], [`spawn`], [`scope()`] |
//! | `PAR i = 0 FOR n` | [`par_for`], `par!(for i in 0..n => ...)` |
//! | `CHAN`, `c ! x`, `c ? x` | [`channel`], [`Sender::send`], [`Receiver::recv`] |
//! | `ALT`, `PRI ALT`, guards, `SKIP`, `TIM ? AFTER t` | [`alt!`], [`pri_alt!`], `if`, `skip`, `at`, `after` |
//! | `ALT i = 0 FOR n` | [`Alternation`] |
//! | `BARRIER`, `SYNC b` | [`Barrier`], [`Barrier::sync`] |
//! | `SHARED` ends, `CLAIM` | [`Shared`], [`Shared::claim`] |
//!
//! Channels, alternation, barriers and claims work for processes, and for OS threads of the program, and between
//! them; an OS thread that waits, blocks. A task must not wait in them: that is a panic which says so; `try_send` and
//! `try_recv` it may call. A loop of operations that never wait [starves nobody](crate#loops-that-never-wait).
//!
//! Every wait has a form with a deadline: `send_timeout`, `recv_timeout`, `after` in an alternation,
//! [`Barrier::sync_timeout`], [`Shared::claim_timeout`].
//!
//! An alternation takes the ends of this module, [`select!`](crate::channel::select!) those of
//! [`channel`](crate::channel); neither takes the other's, since one hands a message from frame to frame and the other
//! agrees over queues. Who needs both in one choice lets a process forward the one into the other:
//!
//! ```
//! use raddle::{channel, csp};
//! let (s, r) = channel::unbounded();
//! let (mut to, mut from) = csp::channel();
//! let forwards = csp::spawn(move || r.into_iter().try_for_each(|message| to.send(message)));
//! s.send(1).unwrap();
//! drop(s);
//! let got = csp::alt! {
//!     recv(from) -> message => message,
//!     after(std::time::Duration::from_secs(100)) => Ok(0),
//! };
//! assert_eq!(got, Ok(1));
//! forwards.join().unwrap().unwrap();
//! ```
//!
//! In this module read in this order: `meet` (how two ends meet in a channel's word), `chan` (its typed ends),
//! `alternate` (waiting for the first of several), `alt`, `alternation` and `macros` (its typed faces), `par` and
//! `share`, `barrier`, `shared`, `late` (who waits in those two with a deadline), `in_select` (a message of the
//! compiler).

mod alt;
mod alternate;
mod alternation;
mod barrier;
mod chan;
mod in_select;
mod late;
mod macros;
mod meet;
mod par;
mod share;
mod shared;
mod value;

pub use alt::{Alternative, Order, RecvGuard, SkipGuard, TimeGuard, choose};
pub use alternation::Alternation;
pub use barrier::Barrier;
pub use chan::{IntoIter, Receiver, Sender, channel};
#[doc(inline)]
pub use macros::{alt, par, pri_alt};
pub use par::{par_for, par2};
pub use raddle_core::process::{JoinHandle, Process, ProcessId, current};
pub use raddle_core::spawn::{Builder, Scope, ScopedJoinHandle, scope, spawn, spawn_light, spawn_on};
pub use raddle_core::wait::park::{park, park_timeout, sleep, sleep_until, yield_now};
pub use shared::{Claimed, Shared, SharedReceiver, SharedSender};
