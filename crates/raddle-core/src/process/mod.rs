//! Owns: light processes: their control blocks, their lives, and the handles to them.
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
//! A fresh process is a block and nothing else, and any worker may start it. A started one stands on a stack. A
//! *thread* (`OWN_TLS`) takes its thread-local storage along and is run by whatever worker is free. A *light*
//! process has its worker's storage and stays with the worker that started it: compilers keep addresses of
//! thread-locals across calls, and nothing in Rust's types says what lies on a suspended stack. Two rules follow
//! for the program, and are the price of a switch that costs nanoseconds: thread-locals are the *worker's*, shared
//! with its other processes; and nothing that relies on last-in-first-out order in a thread-local may be held over
//! a wait.

pub(crate) mod entry;
pub(crate) mod foreign;
pub mod handle;
pub mod make;
pub mod scope;

pub use handle::{JoinHandle, Process, ProcessId, current};
