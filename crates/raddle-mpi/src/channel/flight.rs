//! Owns: `FrameMemory` and `FrameFlight`: the memory of what ends say, and a frame under way in it.
//! May use: `post`, `shim`.
//! Never: an access to memory that is under way: then a flight has it.

use crate::post::Buffer;
use crate::shim::{Address, Direction, MpiRefusal, Shim};
use std::ffi::c_int;
use std::mem::ManuallyDrop;

/// Memory that nobody else has.
pub(crate) struct FrameMemory(Buffer);

impl FrameMemory {
    /// Zeros; none if there is no memory for so many.
    pub(crate) fn new(bytes: usize) -> Option<FrameMemory> {
        Buffer::new(bytes).map(FrameMemory)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: it is borrowed, so that nobody has it by `&mut`; no flight has it, and no other buffer is made of it.
        unsafe { self.0.bytes() }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: it is borrowed mutably; as above.
        unsafe { self.0.bytes_mut() }
    }
}

/// A frame under way. Dropped before it is done it leaves its memory to MPI.
pub(crate) struct FrameFlight {
    word: u64,
    memory: ManuallyDrop<FrameMemory>,
    pub(crate) peer: usize,
    pub(crate) bytes: usize,
    is_done: bool,
}

impl FrameFlight {
    /// Begins to send so many bytes of the memory, or to receive them.
    pub(crate) fn begin(
        shim: &Shim,
        direction: Direction,
        (memory, bytes): (FrameMemory, usize),
        (peer, address): (usize, Address),
    ) -> Result<FrameFlight, MpiRefusal> {
        debug_assert!(bytes <= memory.0.len(), "a frame that its memory has room for");
        let count = c_int::try_from(bytes).expect("frames are small");
        let memory = ManuallyDrop::new(memory);
        // SAFETY: the flight has the memory, gives it to nobody before it is done, and never frees it before.
        let word = unsafe { shim.post(direction, (memory.0.room().0, count), address) }?;
        Ok(FrameFlight { word, memory, peer, bytes, is_done: false })
    }

    pub(crate) fn is_done(&mut self, shim: &Shim) -> Result<bool, MpiRefusal> {
        self.is_done = self.is_done || shim.test(&mut self.word)?.is_some();
        Ok(self.is_done)
    }

    /// The memory again, of a flight that [is done](Self::is_done).
    ///
    /// # Panics
    /// If it is not.
    pub(crate) fn land(self) -> FrameMemory {
        assert!(self.is_done, "a frame lands when it is done");
        ManuallyDrop::into_inner(self.memory)
    }
}
