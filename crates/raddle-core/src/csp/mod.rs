//! Owns: light processes and what they communicate by, in the manner of CSP and occam.
//! May use: `process`, `worker`, `protocol`, `timer`, `external`.
//! Never: a buffer, or an end that two use at once.
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
//! Channels, alternation, barriers and claims work for light processes, and for OS threads of the program, and between
//! them; an OS thread that waits, blocks. A cell must not wait in them: that is a panic which says so; `try_send` and
//! `try_recv` it may call.
//!
//! In this module read in this order: `meet` (how two parties meet in a channel's word), `chan` (its typed ends),
//! `alternate` (waiting for the first of several), `alt`, `alternation` and `macros` (its typed faces), `par`,
//! `barrier`, `shared`.

mod alt;
mod alternate;
mod alternation;
mod barrier;
mod chan;
mod macros;
mod meet;
mod par;
mod shared;

pub use crate::process::{
    Builder, JoinHandle, Process, ProcessId, Scope, ScopedJoinHandle, current, park, park_timeout, scope,
    sleep, sleep_until, spawn, spawn_on, yield_now,
};
pub use alt::{Alternative, Order, RecvGuard, SkipGuard, TimeGuard, choose};
pub(crate) use alternate::Timeout;
pub use alternation::Alternation;
pub use barrier::Barrier;
pub use chan::{IntoIter, Receiver, Sender, channel};
pub use macros::{alt, par, pri_alt};
pub use par::{par_for, par2};
pub use shared::{Claimed, Shared, SharedReceiver, SharedSender};
