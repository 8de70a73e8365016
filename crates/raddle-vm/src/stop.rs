//! Owns: why the loop that runs instructions is left.
//! May use: `raddle-bytecode`.
//! Never: how it goes on; the loop's owner decides.

use raddle_bytecode::Trap;

/// Why the loop is left, or an instruction that is more than a line in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// A run-time error of the program.
    Trap(Trap),
    /// There is nobody to go on with, or nobody is to go on.
    Over,
    /// The instruction is done, and the fuel is used up.
    Dry,
    /// The instruction is done, and has cost as much fuel as `length` of who runs says, which does not wait.
    Spent,
}

impl From<Trap> for Stop {
    #[inline(always)]
    fn from(trap: Trap) -> Stop {
        Stop::Trap(trap)
    }
}
