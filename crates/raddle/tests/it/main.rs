//! What a user of the public face may rely on; where it takes the place of another library, against that library too.

#![allow(
    clippy::duplicate_mod,
    reason = "the same tests run against the original and against ours, in several worlds"
)]

mod beyond_std;
mod channels;
mod jobs;
mod on_raddle;
mod on_std;
mod planted_bugs;
mod surface;
mod sync;
mod trace;
mod trace_reasons;

#[path = "../../../raddle-core/tests/support/guard.rs"]
mod guard;
