//! Programs on one worker and on several: what they print, how they end, what is said of a deadlock.

mod ends;
mod hostile;
#[path = "../../../raddle-vm/tests/support/random.rs"]
mod random;
mod ranks;
mod support;
mod work;

#[path = "../../../raddle-core/tests/support/guard.rs"]
mod guard;

// The observers of the scheduler, which a program has by linking them.
use raddle as _;
