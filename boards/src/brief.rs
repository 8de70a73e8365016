//! Owns: reports of deadlocks and errors in a line for each process, for a board without room for more.
//! May use: `line`, `names`, `raddle-bytecode`, `raddle-vm`.
//! Never: memory: places in the source are looked up in the flash.

use crate::line::Line;
use crate::names::{name, word};
use raddle_bytecode::{Course, Module, Wait, file};
use raddle_vm::{Fault, Machine};

/// So many processes are told.
const TOLD_MAX: usize = 16;

pub(crate) fn read(bytes: &[u8]) -> Option<Module> {
    Module::read_bare(bytes)
}

/// A run-time error, or a deadlock.
pub(crate) fn tell(bytes: &[u8], machine: &Machine<()>, fault: Option<Fault>) {
    if let Some(fault) = fault {
        Line.text("\nerror: ");
        Line.text(fault.trap.word());
        return stands(bytes, fault.process, fault.at, "");
    }
    let waiting = || machine.living().filter(|process| !machine.is_keyboard(process));
    Line.text("\ndeadlock: ");
    Line.number(waiting().count() as u64);
    Line.text(" processes wait, and nothing can go on");
    for process in waiting().take(TOLD_MAX) {
        let next = process.next_instruction();
        let code = &machine.program().module().code;
        let course = |at: u32| code.get(at as usize).map(|insn| insn.op.course());
        let again = matches!(course(next), Some(Course::WaitsAgain(_)));
        let at = if again { next } else { next.saturating_sub(1) };
        let doing = match course(at).and_then(Course::waits) {
            Some(Wait::Input) => " waits to input",
            Some(Wait::Output) => " waits to output",
            Some(Wait::Alt) => " waits in an ALT",
            Some(Wait::Join) => " waits for the end of its PAR",
            Some(Wait::Lock) => " waits for a shared end",
            Some(Wait::Barrier) => " waits at a barrier",
            _ => " waits",
        };
        stands(bytes, process.id(), at, doing);
    }
}

/// A line about a process: its number, its place in the source if the file has it, and what it does there.
fn stands(bytes: &[u8], process: u32, at: u32, doing: &str) {
    Line.text("\n  process ");
    Line.number(process.into());
    Line.text(" at ");
    match place(bytes, at) {
        Some((file, line, column)) => {
            Line.bytes(file);
            Line.text(":");
            Line.number(line.into());
            Line.text(":");
            Line.number(column.into());
        }
        None => {
            Line.text("instruction ");
            Line.number(at.into());
        }
    }
    Line.text(doing);
}

/// File, line and column that an instruction stems from.
fn place(bytes: &[u8], at: u32) -> Option<(&[u8], u32, u32)> {
    let lines = file::part(bytes, b"LINE")?;
    let line =
        (0..lines.len() / 16).take_while(|&it| word(lines, 16 * it).is_some_and(|from| from <= at)).last()?;
    let [number, row, column] = [4, 8, 12].map(|field| word(lines, 16 * line + field));
    Some((name(bytes, number?)?, row?, column?))
}
