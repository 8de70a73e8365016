//! Owns: the buffer of the screen, of one thread and of several.
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

/// What one thread at a time writes.
pub(crate) struct Buffer {
    world: Arc<dyn World>,
    kept: Vec<u8>,
}

/// The same for all workers.
pub(crate) struct Screen(Mutex<Buffer>);

impl Buffer {
    pub(crate) fn new(world: Arc<dyn World>) -> Buffer {
        Buffer { world, kept: Vec::with_capacity(BUFFER_BYTES) }
    }

    /// The program writes.
    pub(crate) fn write(&mut self, port: Port, bytes: &[u8]) {
        if port == Port::Screen {
            match bytes {
                // PERF: most programs write a byte at a time: ten million in 0.13 s; 0.25 s with a lock.
                [byte] if *byte != FLUSH => self.kept.push(*byte),
                _ => self.kept.extend(bytes.iter().filter(|&&byte| byte != FLUSH)),
            }
            if self.kept.len() < BUFFER_BYTES && !bytes.contains(&FLUSH) {
                return;
            }
        }
        self.flush();
        if port != Port::Screen {
            self.world.output(port, bytes);
        }
    }

    /// Writes everything that is buffered.
    pub(crate) fn flush(&mut self) {
        if !self.kept.is_empty() {
            self.world.output(Port::Screen, &self.kept);
            self.kept.clear();
        }
    }
}

impl Screen {
    pub(crate) fn new(world: Arc<dyn World>) -> Screen {
        Screen(Mutex::new(Buffer::new(world)))
    }

    /// The program writes.
    pub(crate) fn write(&self, port: Port, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(port, bytes);
    }

    /// Writes everything that is buffered.
    pub(crate) fn flush(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush();
    }
}
