//! What a test says where the machine lets it show less than it is for. Not through the harness, which keeps what a
//! test that passes prints.

#![allow(dead_code, reason = "each test program uses a part")]

use std::io::Write as _;

/// How such a line begins.
const MARK: &str = "not tested here: ";

/// Says it on standard error.
pub(crate) fn left_out(what: &str) {
    let _unheard = std::io::stderr().write_all(format!("{MARK}{what}\n").as_bytes());
}

/// Says what a child has said.
pub(crate) fn left_out_by(child: &std::process::Output) {
    let said = String::from_utf8_lossy(&child.stderr);
    said.lines().filter_map(|line| line.strip_prefix(MARK)).for_each(left_out);
}
