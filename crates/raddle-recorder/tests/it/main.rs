//! What a user of traces may rely on, grouped by behaviour.
//!
//! None of it depends on the machine; an emulator takes long to say so.
#![cfg(not(any(loom, target_arch = "aarch64")))]

mod ends;

#[path = "../../../raddle-core/tests/support/child.rs"]
mod child;
