//! The command `raddle` with the compiler to machine code: `raddle run --native` becomes this program.

use raddle_cli::{Compilers, Emit};
use raddle_jit::{Compiler, Listing, When};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    raddle_cli::main_with(Compilers {
        compiler: |all, perf_map| {
            let when = if all { When::AtOnce } else { When::Hot };
            Arc::new(Compiler { when, perf_map })
        },
        listing: |program, input, emit| {
            let listing = |kind| Compiler::default().listing(program, input, kind).map(String::into_bytes);
            match emit {
                Emit::Asm => listing(Listing::Assembly),
                Emit::Clif => listing(Listing::Clif),
                Emit::Obj => Compiler::default().object(program, input),
            }
        },
    })
}
