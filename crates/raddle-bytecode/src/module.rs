//! Owns: `Module`, a whole program as bytecode.
//! May use: `insn`, `names`.
//! Never: trusts it; `verify` does.

use crate::insn::{Insn, Op};
use crate::names::Long;
use alloc::string::String;
use alloc::vec::Vec;

/// A function: a piece of the code with its own frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Function {
    /// Its name, by number in [`Module::strings`].
    pub name: u32,
    /// Where its code begins.
    pub first: u32,
    /// How many instructions it has.
    pub count: u32,
    /// How many slots its frame has, frames of what it calls included.
    pub slots: u32,
}

/// A place where a function is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Site {
    /// The function called.
    pub callee: u32,
    /// Slot of the caller that is the callee's slot 0; not used by `calld`.
    pub base: u32,
    /// The number of the instruction that calls.
    pub at: u32,
}

/// From this instruction on the code stems from that place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// The first instruction.
    pub at: u32,
    /// The file's name, by number in [`Module::strings`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// How a slot leads to a channel in the block of a CHAN TYPE.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bundle {
    /// The slot holds the address of a variable with the block's address.
    pub by_reference: bool,
    /// How many words into the block the channel lies; less than 4096.
    pub word: u16,
}

/// While a process runs `from..to`, slot `slot` holds the address of a channel (`is_array`: a descriptor of an array of
/// such, `bundle`: a block in which it lies) of which it uses one end. For the report of a deadlock; nothing else reads
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct End {
    /// First instruction.
    pub from: u32,
    /// Behind the last.
    pub to: u32,
    /// The slot.
    pub slot: u16,
    /// Whether it outputs.
    pub output: bool,
    /// Whether it is an array of channel addresses.
    pub is_array: bool,
    /// How many channels an element of the array is: 1 if it has one dimension, the size of the second if it has two;
    /// 0 if it has more, or the size is not known. Less than 4096.
    pub inner: u16,
    /// Whether the slot, or where it leads, holds the address of a block of channels.
    pub bundle: Option<Bundle>,
    /// The channel's name, by number in [`Module::strings`].
    pub name: u32,
}

/// Something that `watch` has looked at while the program runs, as a report names it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Watched {
    /// The variable's name, by number in [`Module::strings`].
    pub name: u32,
    /// The bytes of an element; of the whole if it is no array.
    pub element: u32,
    /// The sizes of an array, outermost first; 0 for one that is not known.
    pub dims: Vec<u32>,
}

/// What the machine does itself when the host is called by this number: slot a := the process's priority.
pub const GET_PRIORITY: i32 = -1;
/// The process's priority := slot a, from 0, which goes first, to 31.
pub const SET_PRIORITY: i32 = -2;
/// A PLACED PAR begins. Slot a: 0 if ranks may share it. Then slot a := among how many ranks it is placed, slot a + 1
/// := which one this is.
pub const BEGIN_PLACED: i32 = -3;
/// It has ended here: waits until it has on all ranks. The program goes on at rank 0, and on others at the next one.
pub const END_PLACED: i32 = -4;
/// It mentions the channel whose address slot a has, if slot a + 1 is -1; else the channels of an array of so many, at
/// that address.
pub const PLACE_CHANNELS: i32 = -5;
/// Calls of the host from this number on are of foreign routines: [`FOREIGN_STEPS`] numbers for each.
pub const FOREIGN: i32 = 1 << 16;

/// The numbers of one foreign routine: it is called; it begins, on another thread, and gives a ticket; whether the one
/// with that ticket has ended. The fourth is free.
pub const FOREIGN_STEPS: i32 = 4;

/// A routine that is not in the module, but in a library of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ForeignRoutine {
    /// Its name, by number in [`Module::strings`].
    pub name: u32,
    /// How its parameters lie in the frame, by number in [`Module::strings`]; `FORMAT.md` says how that is written.
    pub parameters: u32,
}

/// A program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Module {
    /// Names of functions, files and channels.
    pub strings: Vec<String>,
    /// The functions.
    pub functions: Vec<Function>,
    /// All code; functions lie one behind the other.
    pub code: Vec<Insn>,
    /// The places of calls.
    pub sites: Vec<Site>,
    /// 64-bit constants.
    pub pool: Vec<u64>,
    /// Constant bytes: tables and texts.
    pub data: Vec<u8>,
    /// Where code stems from, in the order of `at`.
    pub lines: Vec<Line>,
    /// Who uses which end of what channel.
    pub ends: Vec<End>,
    /// What is looked at in a debug build; none in others.
    pub watched: Vec<Watched>,
    /// What it calls that is not in it.
    pub foreign: Vec<ForeignRoutine>,
    /// The libraries in which that is looked for, by numbers in [`strings`](Module::strings).
    pub libraries: Vec<u32>,
    /// The function that is the program.
    pub entry: u32,
}

impl Module {
    /// The string of that number, empty if there is none.
    pub fn string(&self, number: u32) -> &str {
        self.strings.get(number as usize).map_or("", String::as_str)
    }

    /// The foreign routine that a call of the host is of, and which step of it.
    pub fn foreign_call(&self, number: i32) -> Option<(usize, i32)> {
        let number = number.checked_sub(FOREIGN).filter(|&number| number >= 0)?;
        let routine = usize::try_from(number / FOREIGN_STEPS).ok().filter(|&it| it < self.foreign.len())?;
        Some((routine, number % FOREIGN_STEPS))
    }

    /// Whether it computes with reals, of either size.
    pub fn uses_reals(&self) -> bool {
        let on_reals = |insn: &Insn| match insn.op {
            Op::Long => Long::from_number(insn.imm()).is_some_and(Long::is_on_reals),
            op => op.is_on_reals(),
        };
        self.code.iter().any(on_reals)
    }

    /// Whether races are looked for when it runs.
    pub fn is_debug_build(&self) -> bool {
        !self.watched.is_empty()
    }

    /// The number of the function that the instruction belongs to.
    pub fn function_at(&self, at: u32) -> Option<u32> {
        let behind = self.functions.partition_point(|function| function.first <= at);
        let number = behind.checked_sub(1)?;
        let function = &self.functions[number];
        (at - function.first < function.count).then_some(number as u32)
    }

    /// Where that instruction stems from.
    pub fn line_at(&self, at: u32) -> Option<Line> {
        let behind = self.lines.partition_point(|line| line.at <= at);
        self.lines.get(behind.checked_sub(1)?).copied()
    }
}
