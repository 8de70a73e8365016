//! What a user of transactions may rely on, grouped by behaviour. The algorithm's own proof is in `src/proof`.
#![cfg(not(loom))]

mod ends;
mod hooks;
mod progress;
mod waits;

#[path = "../../../raddle-core/tests/support/guard.rs"]
mod guard;

use raddle::Runtime;

/// A runtime of `n` workers with the default policy.
fn runtime(n: usize) -> Runtime {
    Runtime::builder().workers(n).build().expect("a runtime")
}
