//! Owns: what compiled code and the machine know of each other.
//! May use: `process`, `published`, `table`.
//! Never: makes code; whoever gives it to the machine vouches for it.
//!
//! How the two meet: `interp::compiled`.

use alloc::boxed::Box;

pub use crate::process::ProcessLayout;
pub use crate::published::{CodeEntry, CodeTable, CodeWord};
pub use crate::table::{LOCAL, LocalLayout};

/// Of what a process began with these bits are its priority.
pub const LEVEL_BITS: u32 = crate::process::LEVEL_BITS;
/// What a process that does not live began with.
pub const DEAD: u32 = crate::process::DEAD;

/// Chunk k of the table of processes has 2^(k + this) of them.
pub const FIRST_CHUNK_BITS: u32 = crate::table::FIRST_BITS;

/// The way into compiled code: the context, the code, the frame, the fuel, the instruction at which to go on. It
/// returns when the code has jumped to the way out.
pub type Enter = unsafe extern "C" fn(*mut NativeContext, usize, usize, i32, u32);

/// Compiled code of a program.
pub struct NativeCode {
    /// The way into it.
    pub enter: Enter,
    /// The way out of it, as a place to jump to.
    pub leave: usize,
    /// The way out for who goes on at an instruction at which no code begins.
    pub leave_there: usize,
    /// By instruction: where to jump to run it.
    pub codes: CodeTable,
    /// What keeps the code in memory.
    pub keeper: Box<dyn Keep>,
}

/// What keeps code in memory, and may make more of it.
pub trait Keep: Send + Sync {
    /// The fuel is used up, and who ran is at that instruction, of which there is no code: what is often there is worth
    /// compiling.
    fn sample(&self, _at: u32) {}

    /// How many checks there are in the code that was made, and how many were left out.
    fn checks(&self) -> CodeChecks {
        CodeChecks::default()
    }
}

/// Checks in compiled code: places, each once, however often they are come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CodeChecks {
    /// That are made.
    pub made: u64,
    /// That were left out because they cannot fail.
    pub left_out: u64,
}

/// What a helper is called with: the context, the frame, the instruction. It gives 0, or where to jump.
pub type HelperFunction = unsafe extern "C" fn(*mut NativeContext, usize, u32) -> usize;

/// The helpers, by their place in the context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Helper {
    /// Runs the instruction.
    Step,
    /// Runs it, and never gives 0: the code has no way on behind it.
    Slow,
    /// The fuel is used up; the process stands before the instruction.
    Dry,
    /// `output`.
    Output,
    /// `input`.
    Input,
    /// `output_m`.
    OutputMemory,
    /// `input_m`.
    InputMemory,
    /// `fork`.
    Fork,
    /// `join`.
    Join,
    /// `end`, or a return from what a process began with; it never gives 0.
    End,
    /// The process waits; who is next goes on.
    Next,
}

/// How many helpers there are.
pub const HELPERS: usize = Helper::Next as usize + 1;

/// What compiled code reads and writes beside the machine's memory.
#[repr(C)]
pub struct NativeContext {
    /// Where address 0 lies.
    pub base: usize,
    /// The frame of who goes on where a helper says.
    pub frame: usize,
    /// The fuel that is left.
    pub fuel: i32,
    /// The instruction at which who goes on does.
    pub at: u32,
    /// Who runs.
    pub process: usize,
    /// Where the ring of the scheduler lies, if compiled code may dispatch; else 0.
    pub ring: usize,
    /// Where the addresses of the chunks of processes lie.
    pub chunks: usize,
    /// Whom the scheduler alone may dispatch.
    pub keyboard: usize,
    /// Where the worker's part lies.
    pub local: usize,
    /// Messages passed by compiled code itself, and dispatches.
    pub messages: u64,
    /// See above.
    pub dispatches: u64,
    /// How much fuel there was when the process that runs was dispatched.
    pub fuel_before: i32,
    /// The way out was taken by who goes on with that frame, fuel and instruction.
    pub goes_on: u32,
    /// The helpers, by number.
    pub helpers: [HelperFunction; HELPERS],
}

/// What of a call compiled code is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NativeSite {
    /// The callee's first instruction.
    pub entry: u32,
    /// How far behind the caller's frame the callee's lies.
    pub base_bytes: u32,
    /// The highest place of the caller's frame that leaves it within memory.
    pub caller_fp_max: u32,
    /// The instruction behind the call.
    pub back: u32,
    /// The callee's frame does not lie in the caller's.
    pub dynamic: bool,
    /// What a call costs of the fuel.
    pub call_cost: i32,
    /// What a return costs.
    pub return_cost: i32,
}
