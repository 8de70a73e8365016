//! Owns: stacks and the switch between them.
//! May use: nothing.
//! Never: queues, workers, wakes, names; it does not know what a process is.
//!
//! The modules, each usable alone:
//!
//! * [`Context`] and [`transfer`]: a suspended flow of control in 16 bytes, and the few instructions that leave
//!   one and enter another. Symmetric: any context may go to any other.
//! * [`current`]: one word of thread-local storage that says what runs on this OS thread.
//! * [`tls`]: thread-local storage that belongs to a context and moves with it to another OS thread.
//! * [`Stack`], [`StackPool`], [`StackDepot`]: guarded stacks in size classes, cut from slabs, kept warm
//!   per worker.
//! * [`walk`]: the call stack of a suspended context.
//! * [`note`]: a few words that a context leaves where it is suspended, at almost no cost.
//! * [`foreign`], [`ControlWords`]: what threads of C need beyond that: a base to unwind to, a rounding mode of their
//!   own.
//! * [`firm`]: calls of the C library's in which the caller cannot be switched, which an adaptor asks for.
//! * [`interpose!`]: how an adaptor exports a function of the C library and does not call itself.
//! * [`overflow`]: a stack overflow is reported with the name of the process.
//!
//! They are layers; each uses those below it:
//!
//! | layer | modules |
//! |---|---|
//! | what lies on a stack; what a thread has for itself; a thread of C | `note`, `walk`, `tls`, `foreign` |
//! | the report of an overflow; the switch between two contexts | `overflow`, `switch` |
//! | what a sanitizer is told of a switch | `sanitizer` |
//! | the switch in assembly, and what it leaves on a stack | `arch` |
//! | the record of a suspended context; stacks; where the word of an OS thread lies | `context`, `stack`, `place` |
//! | words, registers and names of one OS thread or program | `current`, `control`, `firm`, `interpose`, `valgrind` |
//!
//! ```
//! use raddle_context::{Context, SizeClass, StackDepot, StackPool, transfer};
//!
//! static mut MAIN: Context = Context::empty();
//! unsafe extern "C" fn entry(_me: *mut Context) -> *mut Context {
//!     &raw mut MAIN // ends at once: resume the context that started this one
//! }
//!
//! let mut pool = StackPool::new(StackDepot::new());
//! let stack = pool.take(SizeClass::DEFAULT)?;
//! let mut context = Context::empty();
//! // SAFETY: the stack is given back only after the context has ended.
//! unsafe { context.prime(&stack, entry) };
//! // SAFETY: MAIN is empty, the context primed, and one thread touches both.
//! unsafe { transfer(&raw mut MAIN, &raw mut context) };
//! pool.give(stack);
//! # Ok::<(), raddle_context::StackError>(())
//! ```

#![warn(clippy::disallowed_methods)]

#[cfg(not(raddle_twin))]
mod arch;
#[cfg_attr(raddle_twin, path = "twin/context.rs")]
mod context;
mod control;
pub mod current;
pub mod firm;
pub mod foreign;
pub mod interpose;
#[cfg_attr(any(raddle_twin, raddle_asan, raddle_tsan, target_arch = "aarch64"), path = "note/none.rs")]
pub mod note;
pub mod overflow;
#[cfg_attr(raddle_twin, path = "twin/place.rs")]
mod place;
#[cfg(not(raddle_twin))]
mod sanitizer;
mod stack;
#[cfg_attr(raddle_twin, path = "twin/switch.rs")]
mod switch;
pub mod tls;
mod valgrind;
#[cfg_attr(any(raddle_twin, raddle_tsan), path = "walk/none.rs")]
pub mod walk;

pub use context::{Context, ContextEntry};
pub use control::ControlWords;
pub use place::CurrentSlot;
#[doc(hidden)]
pub use place::CurrentSlot as Place;
pub use stack::{Guard, SizeClass, Stack, StackDepot, StackError, StackOptions, StackPool};
pub use switch::{transfer, transfer_here, transfer_with};
