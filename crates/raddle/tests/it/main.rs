//! What a user of the crate may rely on.

#![allow(
    clippy::duplicate_mod,
    reason = "the tests in `agree` are run against the original and against ours"
)]

mod beyond_std;
mod channels;
mod on_raddle;
mod on_std;
