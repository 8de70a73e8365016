//! Owns: what the program has written and the world has not seen yet.
//! May use: `world`, `raddle-vm`.
//! Never: keeps a byte for longer than the watcher's tick, or past the end.
//!
//! A lock of the standard library is held for a copy, and no longer.

use crate::world::World;
use raddle_vm::Port;
use std::sync::{Arc, Mutex, PoisonError};

/// So many bytes are passed on at once.
const ENOUGH: usize = 4096;

/// No character, but the wish that everything written is seen now.
const FLUSH: u8 = 255;

/// The screen's buffer.
pub(crate) struct Screen {
    world: Arc<dyn World>,
    kept: Mutex<Vec<u8>>,
}

impl Screen {
    pub(crate) fn new(world: Arc<dyn World>) -> Screen {
        Screen { world, kept: Mutex::new(Vec::with_capacity(ENOUGH)) }
    }

    /// The program writes.
    pub(crate) fn write(&self, port: Port, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if port == Port::Screen {
            kept.extend(bytes.iter().filter(|&&byte| byte != FLUSH));
            if kept.len() < ENOUGH && !bytes.contains(&FLUSH) {
                return;
            }
        }
        if !kept.is_empty() {
            self.world.output(Port::Screen, &kept);
            kept.clear();
        }
        if port != Port::Screen {
            self.world.output(port, bytes);
        }
    }

    /// All that was written is to be seen.
    pub(crate) fn flush(&self) {
        self.write(Port::Error, &[]);
    }
}
