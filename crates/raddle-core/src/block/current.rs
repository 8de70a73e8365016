//! Owns: the way from an OS thread to what runs there.
//! May use: `raddle-context`, `raddle-protocol`.
//! Never: keeping it over a switch.

use raddle_protocol::header::Header;

/// The header of what runs on this OS thread: a process's, or a worker's own; null elsewhere.
#[inline(always)]
pub fn current_header() -> *mut Header {
    raddle_context::current::get().cast()
}
