//! Owns: what a process, and a place at which one waits, are called in a trace.
//! May use: `machine`, `process`, `raddle-bytecode`.
//! Never: what only a process that does not run has.
//!
//! It uses the module's names and lines; where the process began, which stays as it is while it lives.

use crate::machine::Machine;
use crate::process::Process;
use alloc::format;
use alloc::string::String;
use raddle_bytecode::{Effect, End};

/// So far is looked from a process's beginning for what it calls.
const LOOK_MAX: usize = 64;

impl<L: Default> Machine<L> {
    /// Where the process began, as a number: those of equal numbers have equal names.
    pub fn beginning_of(&self, process: &Process<L>) -> u32 {
        process.beginning()
    }

    /// What a process that began there is called: the PROC that it is an instance of, else the one in which it stands,
    /// and the line. `stage (line.occ:17)`.
    pub fn name_of(&self, beginning: u32) -> String {
        let module = self.program.module();
        // A branch that is one call only puts the arguments into place before.
        let code = (beginning..).zip(module.code.iter().skip(beginning as usize)).take(LOOK_MAX);
        let mut straight =
            code.take_while(|(_, insn)| !insn.op.form().jumps() && insn.op.effect() != Effect::End);
        let called = straight.find(|(_, insn)| insn.op.effect().calls());
        let site = called.and_then(|(_, call)| module.sites.get(usize::try_from(call.imm()).ok()?));
        let function = site.map(|site| site.callee).or_else(|| module.function_at(beginning));
        let function = function.and_then(|number| module.functions.get(number as usize));
        let beginning = called.map_or(beginning, |(at, _)| at);
        let name = function.map_or("?", |function| module.string(function.name));
        match module.line_at(beginning) {
            Some(line) => format!("{name} ({}:{})", module.string(line.file), line.line),
            None => String::from(name),
        }
    }

    /// What an instruction is called at which processes wait: its place, and the channel's name if it is one of the
    /// code's own. ``line.occ:22, `in` ``.
    pub fn site_name(&self, at: u32) -> String {
        let module = self.program.module();
        let place = self.place_of(at);
        let operand = module.code.get(at as usize).map(|insn| insn.a);
        let named = |end: &&End| {
            let plain = !end.is_array && end.bundle.is_none();
            plain && (end.from..end.to).contains(&at) && Some(end.slot) == operand
        };
        match module.ends.iter().find(named) {
            Some(end) => format!("{}:{}, `{}`", place.file, place.line, module.string(end.name)),
            None => format!("{}:{}", place.file, place.line),
        }
    }
}
