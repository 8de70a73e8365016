//! The command `raddle` with the compiler to machine code: `raddle run --native` becomes this program.

use raddle_cli::Compilers;
use raddle_jit::{Compiler, Listing, When};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    raddle_cli::main_with(Compilers {
        compiler: |all, perf_map| {
            let when = if all { When::AtOnce } else { When::Hot };
            Arc::new(Compiler { when, perf_map })
        },
        listing: |program, input, as_machine| {
            let kind = if as_machine { Listing::Assembly } else { Listing::Clif };
            Compiler::default().listing(program, input, kind)
        },
    })
}
