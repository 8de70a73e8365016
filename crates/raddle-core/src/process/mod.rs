//! Owns: processes: their control blocks, their lives, and the handles to them.
//! May use: nothing.
//! Never: deciding who runs.
//!
//! The life of a process:
//!
//! ```text
//!  spawn ──► fresh ──start (takes a stack)──► running ◄───────── ready (in a batch, or in its worker's inbox)
//!            │  ▲                              │  │                 ▲
//!            ▼  │ stolen, half a list          │  └── yield ────────┤
//!        another worker's fresh list           ├───── park, join, sleep: waits ──wake─┘
//!                                              └───── returns or panics ──► ended: result in the block
//! ```
//!
//! A fresh process is a block and nothing else, and any worker may start it. A started one stands on a stack. Compilers
//! keep addresses of thread-locals across calls, and nothing in Rust's types says what lies on a suspended stack. So
//! what has a stack has thread-local storage that nobody else uses before it ends:
//!
//! | | flags | its storage | where it goes on |
//! |---|---|---|---|
//! | process | `OWN_TLS`, `AS_IS` | its own, as the last process has left it | on whatever worker is free |
//! | thread; explored process | `OWN_TLS`; and `ANEW` | its own: first values, destructors at its end | likewise |
//! | job of a plain pool | `OWN_TLS`, `AS_IS` | as a process's | where it began |
//! | job of a prepared pool | `HOLDS` | its worker's, alone meanwhile (`worker::nested`) | where it began |
//! | light process | - | its worker's, with others | where it began |
//!
//! The last is sound only if nothing of it depends on a thread-local while it waits: a promise of the program's, by an
//! `unsafe` function. It is the price of a switch that costs nanoseconds.

pub(crate) mod entry;
pub(crate) mod foreign;
pub mod handle;
pub mod make;
pub mod scope;

pub use handle::{JoinHandle, Process, ProcessId, current};
