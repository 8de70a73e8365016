//! Owns: reports of deadlocks and errors as `raddle run` writes them.
//! May use: `line`, `raddle-bytecode`, `raddle-vm`.
//! Never: needs little: names and places are in memory, and each process is followed through all that it may still do.

use crate::line::Line;
use core::fmt::{self, Write as _};
use raddle_bytecode::Module;
use raddle_vm::{Fault, Machine};

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text);
        Ok(())
    }
}

pub(crate) fn read(bytes: &[u8]) -> Option<Module> {
    Module::read(bytes).ok()
}

/// A run-time error, or a deadlock.
pub(crate) fn tell(_: &[u8], machine: &Machine<()>, fault: Option<Fault>) {
    let report = fault.map_or_else(|| machine.report_deadlock(), |fault| machine.report_fault(fault));
    let _ = write!(Line, "\n{report}");
}
