//! The machine from outside: programs made with the builder, what they print, and how they fail.

mod channels;
mod hostile;
mod interrupted;
#[path = "../support/patience.rs"]
mod patience;
mod paused;
#[path = "../support/random.rs"]
mod random;
mod slack;
mod support;

#[path = "../../../raddle-core/tests/support/guard.rs"]
mod guard;
