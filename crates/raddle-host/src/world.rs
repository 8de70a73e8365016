//! Owns: `World`, what a program sees of the outside.
//! May use: `raddle-vm`.
//! Never: decides what a key or a screen is.

use raddle_vm::Port;
use std::io::Write as _;
use std::sync::Arc;

/// What a program sees of the outside.
pub trait World: Send + Sync + 'static {
    /// The program has written these bytes. Called by one thread at a time, with as much at once as has come together.
    fn output(&self, port: Port, bytes: &[u8]);

    /// The next byte from the keyboard, however long that takes; `None` if there are no more. Called by an OS
    /// thread of its own, only when the program wants to read.
    fn key(&self) -> Option<u8>;

    /// The program is about to read the keyboard for the first time. Called once at most, by the thread that called
    /// [`run`](crate::run) or by one that has ended when that returns: what is changed here can be changed back behind
    /// that call without a race.
    fn opens_keyboard(&self) {}

    /// Whether the program is to end now. Asked some tens of times in a second.
    fn wants_end(&self) -> bool {
        false
    }

    /// A call to the host, on four words; `None` if there is none of that number.
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
        // Who has closed the other end wants no more.
        let _ = match port {
            Port::Error => std::io::stderr().write_all(bytes),
            _ => std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush()),
        };
    }

    fn key(&self) -> Option<u8> {
        None
    }
}
