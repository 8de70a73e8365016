//! Owns: the program `raddle`.
//! May use: nothing.
//! Never: anything that the library does not do.

use std::process::ExitCode;

fn main() -> ExitCode {
    raddle_cli::main()
}
