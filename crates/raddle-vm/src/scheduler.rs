//! Owns: `Scheduler`: what the machine needs of whoever decides who runs, and of the world.
//! May use: `process`, `raddle-bytecode`.
//! Never: a decision; each scheduler makes its own.

use crate::process::Process;
use raddle_bytecode::Trap;

/// A channel that the host serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Port {
    /// Where the program reads bytes.
    Keyboard = 16,
    /// Where it writes them.
    Screen = 20,
    /// Where it complains.
    Error = 24,
}

/// Which end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ChannelEnd {
    /// Where one outputs.
    Output,
    /// Where one inputs.
    Input,
}

impl ChannelEnd {
    /// The other one.
    pub fn other(self) -> ChannelEnd {
        if self == ChannelEnd::Output { ChannelEnd::Input } else { ChannelEnd::Output }
    }
}

/// The ranks that share a program, and which of them this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranks {
    /// This one, from 0.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
}

impl Ranks {
    /// There is no other one.
    pub const ALONE: Ranks = Ranks { rank: 0, size: 1 };
}

/// What decides who runs, and what the machine needs of the world around.
pub trait Scheduler {
    /// Several OS threads may run the machine at once.
    const SHARED: bool;
    /// Races are looked for, in a debug build (`races`).
    const CHECKED: bool = false;
    /// What the machine does is counted, for tests ([`worked`](Scheduler::worked)).
    const COUNTED: bool = false;
    /// What it keeps in each process.
    type Link: Default;

    /// A process may run. From here on it may be running elsewhere.
    fn ready(&self, process: &Process<Self::Link>);
    /// As [`ready`](Scheduler::ready). True if nobody can run it before the caller next asks who is
    /// [`next`](Scheduler::next), or begins a [`call`](Scheduler::call).
    #[inline(always)]
    fn ready_here(&self, process: &Process<Self::Link>) -> bool {
        self.ready(process);
        false
    }
    /// As [`ready`](Scheduler::ready), by a process that waits from now on. True if the caller runs it at once instead,
    /// without asking who is [`next`](Scheduler::next): then it is in no queue.
    #[inline(always)]
    fn hand_over(&self, process: &Process<Self::Link>) -> bool {
        self.ready(process);
        false
    }
    /// A process that has just been made, as one of a few or, if `many`, of a replicated PAR.
    fn begin(&self, process: &Process<Self::Link>, many: bool) {
        let _ = many;
        self.ready(process);
    }
    /// Who runs next, if the caller shall go on with somebody.
    fn next(&self) -> Option<&Process<Self::Link>>;
    /// Where the ring lies by which compiled code may do [`ready`](Scheduler::ready) and [`next`](Scheduler::next)
    /// itself (`solo`); 0 if it may not.
    #[cfg(feature = "native")]
    fn quick(&self) -> usize {
        0
    }
    /// The fuel is used up: some ten thousand instructions have been run since it was last. If `alone`, by the process
    /// that runs, and others have their turn; else by several, and it goes on.
    fn out_of_fuel(&self, alone: bool) {
        let _ = alone;
    }
    /// Whether the machine is to stop at once. Asked in the midst of an instruction on so many bytes, or processes,
    /// that it may take seconds.
    fn look(&self) -> bool {
        false
    }
    /// So much has been done: instructions, words of memory in instructions on blocks, processes begun. Called if
    /// [`COUNTED`](Scheduler::COUNTED) only.
    fn worked(&self, steps: u64) {
        let _ = steps;
    }
    /// Who runs stops at that instruction, and has been given up; it can still run if `ready`. Called before
    /// [`next`](Scheduler::next).
    #[inline(always)]
    fn stops(&self, at: u32, ready: bool) {
        let _ = (at, ready);
    }
    /// Has the machine signal the process after `time`, once.
    fn alarm(&self, process: &Process<Self::Link>, time: u32);
    /// Takes that back.
    fn cancel(&self, process: &Process<Self::Link>, time: u32);
    /// The time in microseconds.
    fn now(&self) -> u32;
    /// The program writes.
    fn output(&self, port: Port, bytes: &[u8]);
    /// The program waits for the keyboard: bytes are to be offered from now on.
    fn want_key(&self);
    /// A call to the host, on four words. `None` if there is no such call. From `raddle_bytecode::FOREIGN` on it is of
    /// a foreign routine; the words are then what the instruction gives, the bytes of the memory, and where it lies
    /// (its address, exposed: the low half, the high half).
    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]>;
    /// Whether the last call took long: then the process has had its turn.
    fn took_long(&self) -> bool {
        false
    }
    /// A PLACED PAR begins, which `may` be placed, in that process, which has been saved before it. Says among which
    /// ranks it is placed, and which one this is.
    ///
    /// # Errors
    /// If it cannot be.
    fn begin_placed(&self, process: &Process<Self::Link>, may: bool) -> Result<Ranks, Trap> {
        let _ = (process, may);
        Ok(Ranks::ALONE)
    }
    /// It mentions that channel, and is to be told who uses it first.
    fn place_channel(&self, channel: u32) {
        let _ = channel;
    }
    /// Such a channel is used for the first time, at that end.
    ///
    /// # Errors
    /// If that end is another rank's.
    fn touched(&self, channel: u32, end: ChannelEnd) -> Result<(), Trap> {
        let _ = (channel, end);
        Ok(())
    }
    /// Whether a PLACED PAR is placed now.
    fn is_placed(&self) -> bool {
        false
    }
    /// Its processes have ended on this rank. The one in which it began waits until it is rung.
    ///
    /// # Errors
    /// If what ranks share is not as it should be.
    fn end_placed(&self, process: &Process<Self::Link>) -> Result<(), Trap> {
        let _ = process;
        Ok(())
    }
    /// The program has come to its end.
    fn finished(&self);
}
