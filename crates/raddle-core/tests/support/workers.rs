//! A runtime of so many workers, which has these only.
//!
//! A worker that stands in the kernel for 10 ms, as it may in a page fault or at a lock of `std` on a busy machine, has
//! extra workers take what waits behind it. A test that says who runs where, or in which order, must not have such; a
//! runtime with a handler has none, and is as any other in all else.

#![allow(dead_code, reason = "each test program uses a part")]

use raddle::{Builder, Runtime};
use raddle_core::worker::hooks::Hooks;
use std::sync::Arc;

/// A runtime of `n` workers with the default policy, and none beside.
pub(crate) fn runtime(n: usize) -> Runtime {
    only(Runtime::builder().workers(n))
}

/// A runtime with these settings, and no worker beside those that they name.
pub(crate) fn only(builder: Builder) -> Runtime {
    let mut hooks = Hooks::default();
    hooks.start = Some(Arc::new(|_| ()));
    builder.hooks(hooks).build().expect("a runtime")
}
