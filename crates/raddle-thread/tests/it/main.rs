//! What a user of threads may rely on: storage of their own, and foreign code that takes them for those of the system.
#![cfg(not(loom))]
#![allow(clippy::print_stderr, reason = "children say on standard error what their parents look for")]

mod native;
#[cfg(all(target_env = "gnu", not(raddle_tsan)))]
mod rights;
mod threads;

#[path = "../../../raddle-core/tests/support/child.rs"]
mod child;
#[path = "../support/library.rs"]
mod library;
#[path = "../../../raddle-core/tests/support/watch.rs"]
mod watch;
