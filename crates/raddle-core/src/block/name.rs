//! Owns: what a process is called in a message.
//! May use: `raddle-context`, `raddle-protocol`.
//! Never: a process that others may be changing.
//!
//! It uses standard error, for one that cannot start.

use super::Block;
use raddle_context::StackError;
use raddle_protocol::header::is_thread;
use std::io::Write as _;

/// `process 'name' (#7, spawned at src/main.rs:3:5)`, or `job #7`, for messages. It runs, or its only holder calls.
pub fn describe_process(block: &Block, out: &mut dyn std::fmt::Write) -> std::fmt::Result {
    if block.is_of_job() {
        return write!(out, "job #{}", block.id.get());
    }
    // SAFETY: it runs, or its only holder calls.
    let name = unsafe { block.name() };
    let is_thread = is_thread(block.header.flags.get());
    out.write_str(if is_thread { "thread " } else { "process " })?;
    if let Some(name) = name {
        write!(out, "'{name}' ")?;
    }
    let site = block.site.get();
    write!(out, "(#{}, spawned at {}:{}:{})", block.id.get(), site.file(), site.line(), site.column())
}

/// Says on standard error that it cannot start.
pub(crate) fn cannot_start(block: &Block, refused: &StackError) {
    let _unwritable = writeln!(std::io::stderr(), "raddle: {}", no_start(block, refused));
}

/// Who cannot start, and why.
pub(crate) fn no_start(block: &Block, refused: &StackError) -> String {
    let mut text = String::new();
    let _infallible = describe_process(block, &mut text);
    format!("{text} cannot start: {refused}")
}
