//! Programs on one worker and on several: what they print, how they end, what is said of a deadlock.

mod ends;
mod support;
mod work;
