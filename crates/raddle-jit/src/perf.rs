//! Owns: the file in which `perf` looks up the names of code that was made while a program ran.
//! May use: `raddle-bytecode`.
//! Never: an error of the program: what cannot be written is not named.

use raddle_bytecode::Module;
use std::fs::File;
use std::io::Write as _;

/// The file, which belongs to this process alone.
#[derive(Debug)]
pub(crate) struct PerfMap(File);

impl PerfMap {
    pub(crate) fn new() -> Result<PerfMap, String> {
        let path = format!("/tmp/perf-{}.map", std::process::id());
        // Nobody else's, if somebody has laid one out there.
        let _ = std::fs::remove_file(&path);
        let file = File::create_new(&path).map_err(|error| format!("could not write `{path}`: {error}"))?;
        Ok(PerfMap(file))
    }

    /// So many bytes of code lie there, which begin with that instruction.
    pub(crate) fn name(&mut self, (place, bytes): (usize, usize), program: &Module, at: u32) {
        let _ = writeln!(self.0, "{place:x} {bytes:x} {}", name_of(program, at));
    }
}

/// The routine, and where it stands in the text.
fn name_of(program: &Module, at: u32) -> String {
    let function = program.function_at(at).map(|number| &program.functions[number as usize]);
    let routine = function.map_or("?", |function| program.string(function.name));
    match program.line_at(at) {
        Some(line) => format!("{routine} ({}:{})", program.string(line.file), line.line),
        None => routine.to_owned(),
    }
}
