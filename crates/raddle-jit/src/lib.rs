//! Owns: machine code for programs of bytecode.
//! May use: `raddle-bytecode`, `raddle-host`, `raddle-vm`.
//! Never: another meaning than the interpreter's; where one could differ, the interpreter does the instruction.
//!
//! One function of bytecode becomes one of machine code, by Cranelift. Frames stay in the machine's memory, so that a
//! native process is as small as an interpreted one, moves between workers as one, and may be either at any moment.
//! `docs/NATIVE.md` tells how to use it; `raddle-vm`'s `native` module, how code and machine meet; the modules here:
//!
//! | module | what |
//! |---|---|
//! | `heat` | which functions are compiled, and when |
//! | `clock` | processor time |
//! | `align` | where a piece of code begins |
//! | `code` | the functions of a program together, and the tables by which they find each other |
//! | `function` | the translation of one |
//! | `convention` | how code is entered |
//! | `routine` | code that all functions share |
//! | `plan` | into which pieces that is cut |
//! | `views` | which slots stand in registers where |
//! | `settled` | which slots are always set to the same |
//! | `blocks` | where blocks begin, and where a process may be resumed |
//! | `pages` | memory that holds code |
//! | `object` | code as an object file |
//! | `image` | files of the format ELF |
//! | `lines` | names and lines of code, for debuggers |
//! | `gdb` | what gdb is told while a program runs |
//! | `perf` | names of code, for `perf` |
//! | `mistakes` | what tests must find |
//! | `operands` | what each instruction reads and writes, and who does it |

mod align;
mod blocks;
mod clock;
mod code;
mod convention;
mod function;
mod gdb;
mod heat;
mod image;
mod lines;
mod mistakes;
mod object;
mod operands;
mod pages;
mod perf;
mod plan;
mod routine;
mod settled;
mod views;

pub use code::Listing;
pub use heat::When;
use raddle_bytecode::Verified;
use raddle_host::{Compile, CompileInput};
use raddle_vm::native::NativeCode;

/// Compiles programs: what of them is hot, or all at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compiler {
    /// When functions are compiled.
    pub when: When,
    /// What is made is named for `perf`, in `/tmp/perf-PID.map`.
    pub perf_map: bool,
}

// SAFETY: the verifier has proved that each slot that is named lies in its frame, and that each way through a
// function stays in it; addresses are compared with the memory's size; a return goes where the record of its call
// site says, into a frame that has been compared; all else is done by the machine's helpers.
unsafe impl Compile for Compiler {
    fn compile(&self, program: &Verified, input: &CompileInput) -> Result<NativeCode, String> {
        heat::prepare(program, input, (self.when, self.perf_map))
    }
}

impl Compiler {
    /// The code of a program, to be read.
    ///
    /// # Errors
    /// Why there is none.
    pub fn listing(&self, program: &Verified, input: &CompileInput, kind: Listing) -> Result<String, String> {
        let mut factory = code::Factory::new(program, input, Some(kind))?;
        factory.make(0..program.module().functions.len())?;
        Ok(factory.listed())
    }

    /// The code of a program as an object file of the format ELF: routines by their names and lines, and the tables by
    /// which code finds code. Nothing in it is undefined.
    ///
    /// # Errors
    /// Why there is none.
    pub fn object(&self, program: &Verified, input: &CompileInput) -> Result<Vec<u8>, String> {
        let mut factory = code::Factory::for_object(program, input)?;
        factory.make(0..program.module().functions.len())?;
        Ok(factory.object())
    }
}
