//! Owns: priorities of processes: GETPRI and SETPRI.
//! May use: `machine`, `process`, `raddle-bytecode`.
//! Never: decides who runs; a scheduler that is asked to does.
//!
//! 0 goes first, 31 last, and a program begins with 16. A process that begins has that of who begins it. It lies in the
//! high bits of the word that says where the process began, as the difference to 16; so that of who never asked is no
//! work, and a scheduler has none with priorities until the first SETPRI.

use crate::machine::Machine;
use crate::prim::Ordering;
use crate::process::{LEVEL_BITS, LEVEL_SHIFT, Process};
use raddle_bytecode::{GET_PRIORITY, SET_PRIORITY, Trap};

/// The highest priority is 0, the lowest one less than this.
pub const LEVELS: u32 = 32;
/// That of a program that has not chosen one.
pub const LEVEL: u32 = 16;

impl<L> Process<L> {
    /// Its priority: the lower, the sooner it runs.
    #[inline(always)]
    pub fn level(&self) -> u32 {
        (self.start.get() >> LEVEL_SHIFT) ^ LEVEL
    }

    pub(crate) fn set_level(&self, level: u32) {
        self.start.set(self.start.get() & !LEVEL_BITS | (level ^ LEVEL) << LEVEL_SHIFT);
    }

    /// The number of its first instruction.
    #[inline(always)]
    pub(crate) fn beginning(&self) -> u32 {
        let start = self.start.get();
        if cfg!(feature = "large") { start & !LEVEL_BITS } else { start }
    }
}

impl<L: Default> Machine<L> {
    /// Whether a process has ever chosen a priority.
    #[inline(always)]
    pub fn uses_levels(&self) -> bool {
        cfg!(feature = "large") && self.levels.load(Ordering::Relaxed)
    }

    /// GETPRI and SETPRI, on the word at `at`. Where the machine is small all processes are alike.
    pub(crate) fn level_step(&self, me: &Process<L>, at: u32, number: i32) -> Result<(), Trap> {
        if !cfg!(feature = "large") {
            return Ok(());
        }
        match number {
            GET_PRIORITY => self.memory.store_w(at, me.level()).ok_or(Trap::Address),
            SET_PRIORITY => {
                let level = self.memory.load_w(at).ok_or(Trap::Address)?;
                if level >= LEVELS {
                    return Err(Trap::Range);
                }
                self.levels.store(true, Ordering::Relaxed);
                me.set_level(level);
                Ok(())
            }
            _ => Err(Trap::Host),
        }
    }
}
