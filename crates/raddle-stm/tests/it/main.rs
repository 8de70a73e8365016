//! What a user of transactions may rely on, grouped by behaviour. The algorithm's own proof is in `src/proof`.
#![cfg(not(loom))]

mod algorithms;
mod awaits;
mod collections;
mod ends;
mod hooks;
mod once;
mod progress;
mod reservations;
mod waits;

#[path = "../../../raddle-core/tests/support/child.rs"]
mod child;
#[path = "../../../raddle-core/tests/support/workers.rs"]
mod workers_only;

use workers_only::runtime;
