//! The command `raddle` with the compiler to machine code: `raddle run --native` becomes this program.

use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    raddle_cli::main_with(Arc::new(raddle_jit::Compiler))
}
