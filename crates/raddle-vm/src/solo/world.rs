//! Owns: what a machine on one thread needs of the world around it.
//! May use: nothing of the machine but the names of its channels.
//! Never: decides anything.

use crate::machine::Port;

/// How long the world may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// Return at once.
    Now,
    /// At this time (see [`World::now`]).
    At(u64),
    /// When there is a key.
    Ever,
}

/// What the world says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A byte from the keyboard.
    Key(u8),
    /// There will be none any more.
    NoMoreKeys,
    /// The time has come, or nothing has happened.
    Nothing,
    /// The program is to end.
    Quit,
}

/// What a single-threaded machine needs of the world.
pub trait World {
    /// Microseconds since any moment.
    fn now(&mut self) -> u64;
    /// Waits, for a key only if `keys`.
    fn wait(&mut self, until: Until, keys: bool) -> Event;
    /// The program writes.
    fn output(&mut self, port: Port, bytes: &[u8]);
    /// A call to the host; `None` if there is none of that number.
    fn call(&mut self, number: i32, words: [u32; 4]) -> Option<[u32; 4]>;
}
