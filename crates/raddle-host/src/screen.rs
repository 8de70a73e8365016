//! Owns: the buffer of the screen.
//! May use: `world`, `raddle-vm`.
//! Never: keeps a byte for longer than the watcher's tick, or past the end of the program.
//!
//! It uses a lock of the standard library, held for a copy.

use crate::world::World;
use raddle_vm::Port;
use std::sync::{Arc, Mutex, PoisonError};

/// The buffer is written at this size.
const BUFFER_BYTES: usize = 4096;

/// Not a character: a request to flush the screen.
const FLUSH: u8 = 255;

/// The screen's buffer.
pub(crate) struct Screen {
    world: Arc<dyn World>,
    kept: Mutex<Vec<u8>>,
}

impl Screen {
    pub(crate) fn new(world: Arc<dyn World>) -> Screen {
        Screen { world, kept: Mutex::new(Vec::with_capacity(BUFFER_BYTES)) }
    }

    /// The program writes.
    pub(crate) fn write(&self, port: Port, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if port == Port::Screen {
            kept.extend(bytes.iter().filter(|&&byte| byte != FLUSH));
            if kept.len() < BUFFER_BYTES && !bytes.contains(&FLUSH) {
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

    /// Writes everything that is buffered.
    pub(crate) fn flush(&self) {
        self.write(Port::Error, &[]);
    }
}
