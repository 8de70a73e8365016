//! Owns: `World`, the input and output of a program.
//! May use: `raddle-vm`.
//! Never: decides what a key or a screen is.

use raddle_vm::Port;
use std::io::Write as _;
use std::sync::Arc;

/// The input and output of a program.
pub trait World: Send + Sync + 'static {
    /// Writes bytes of the program. Called by one thread at a time, with as many bytes as are buffered.
    fn output(&self, port: Port, bytes: &[u8]);

    /// Waits for the next byte from the keyboard; `None` at its end. Called by an OS thread of its own, only when the
    /// program wants to read.
    fn key(&self) -> Option<u8>;

    /// The program is about to read the keyboard for the first time. Called once at most, by the thread that called
    /// [`run`](crate::run) or by one that has ended when that returns: what is changed here can be undone after
    /// that call without a race.
    fn opens_keyboard(&self) {}

    /// Whether the program should end now. Called some tens of times per second.
    fn wants_end(&self) -> bool {
        false
    }

    /// Whether a foreign routine still runs that may use the program's memory. Then that stays for ever.
    fn holds_memory(&self) -> bool {
        false
    }

    /// A call to the host, on four words; `None` if there is none of that number. For numbers from
    /// `raddle_bytecode::FOREIGN` on see [`ForeignRoutines::call`](crate::ForeignRoutines::call).
    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        let _ = (number, words);
        None
    }
}

/// A world without keyboard, whose screen is standard output.
#[derive(Debug, Default)]
pub struct NoKeys;

impl NoKeys {
    /// A new one.
    #[allow(clippy::new_ret_no_self, reason = "it is only ever used so")]
    pub fn new() -> Arc<dyn World> {
        Arc::new(NoKeys)
    }
}

impl World for NoKeys {
    fn output(&self, port: Port, bytes: &[u8]) {
        // A closed standard output is not an error.
        let _ = match port {
            Port::Error => std::io::stderr().write_all(bytes),
            _ => std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush()),
        };
    }

    fn key(&self) -> Option<u8> {
        None
    }
}
