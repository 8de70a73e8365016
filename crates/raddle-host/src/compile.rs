//! Owns: `Compile`, who makes machine code of a program.
//! May use: `raddle-bytecode`, `raddle-vm`.
//! Never: makes any.

use raddle_bytecode::Verified;
use raddle_vm::Machine;
use raddle_vm::native::{NativeCode, NativeSite, ProcessLayout};
use std::fmt::Debug;

/// What a compiler must know of the machine that is to run its code.
#[derive(Clone, Debug)]
pub struct CompileInput {
    /// How much memory the processes have.
    pub memory_bytes: u32,
    /// The address of the constant data.
    pub data: u32,
    /// How its processes' records are laid out.
    pub process: ProcessLayout,
    /// The call sites, by number.
    pub sites: Vec<NativeSite>,
}

impl CompileInput {
    fn of_machine<L: Default>(machine: &Machine<L>) -> CompileInput {
        CompileInput {
            memory_bytes: machine.memory_bytes(),
            data: machine.data_address(),
            process: machine.process_layout(),
            sites: machine.native_sites(),
        }
    }

    /// For a machine on one OS thread with so much memory.
    ///
    /// # Errors
    /// There is not enough.
    pub fn of(program: &Verified, memory_bytes: u32) -> Result<CompileInput, String> {
        let mut local = raddle_vm::WorkerLocal::default();
        match Machine::<()>::new(program.clone(), memory_bytes, &mut local) {
            Ok(machine) => Ok(CompileInput::of_machine(&machine)),
            Err(trap) => Err(trap.what().to_owned()),
        }
    }
}

/// Makes machine code of programs.
///
/// # Safety
/// The code does what the instructions do: it touches its frame and what lies within the machine's memory, and no more.
pub unsafe trait Compile: Debug + Send + Sync {
    /// Makes the code of a program for one machine.
    ///
    /// # Errors
    /// Why there is none; the interpreter runs the program then.
    fn compile(&self, program: &Verified, input: &CompileInput) -> Result<NativeCode, String>;
}

/// Gives the machine the code of its program, if there is a compiler. A debug build is interpreted.
pub(crate) fn prepare<L: Default>(machine: &mut Machine<L>, compiler: Option<&dyn Compile>) {
    let Some(compiler) = compiler.filter(|_| !machine.program().module().is_debug_build()) else { return };
    let input = CompileInput::of_machine(machine);
    if let Ok(code) = compiler.compile(machine.program(), &input) {
        // SAFETY: it was made for this machine, by one that vouches for it.
        unsafe { machine.set_native(code) };
    }
}
