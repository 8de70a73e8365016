//! Compiled code against the interpreter: the same programs, and nothing may differ.
#![allow(clippy::print_stderr, reason = "the watchdog's last words, and counts")]

mod arrays;
mod corners;
mod corpus;
mod generated;
mod hostile;
mod limits;
mod loops;
mod object;
#[cfg(feature = "mistakes")]
mod planted;
#[path = "../../../raddle-vm/tests/support/random.rs"]
mod random;
mod slots;
mod support;
