//! Owns: `FrameMemory`, `FrameFlight`, `AheadReceive`: memory of what ends say, a frame that goes, the next one.
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
    is_done: bool,
}

impl FrameFlight {
    /// Begins to send so many bytes of the memory.
    pub(crate) fn begin(
        shim: &Shim,
        (memory, bytes): (FrameMemory, usize),
        address: Address,
    ) -> Result<FrameFlight, MpiRefusal> {
        debug_assert!(bytes <= memory.0.len(), "a frame that its memory has room for");
        let count = c_int::try_from(bytes).expect("frames are small");
        let memory = ManuallyDrop::new(memory);
        // SAFETY: the flight has the memory, gives it to nobody before it is done, and never frees it before.
        let word = unsafe { shim.post(Direction::Out, (memory.0.room().0, count), address) }?;
        Ok(FrameFlight { word, memory, is_done: false })
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

/// The receive of the next frame, of whomever, posted before it comes: MPI has nobody to look for then, and nothing to
/// keep. Dropped while it is posted it leaves its memory to MPI.
pub(crate) struct AheadReceive {
    word: u64,
    memory: ManuallyDrop<FrameMemory>,
    is_posted: bool,
}

impl AheadReceive {
    /// Posts it.
    pub(crate) fn begin(
        shim: &Shim,
        memory: FrameMemory,
        address: (c_int, c_int),
    ) -> Result<AheadReceive, MpiRefusal> {
        let memory = ManuallyDrop::new(memory);
        // SAFETY: the memory is read only while this is not posted, and never freed before it is taken back.
        let word = unsafe { shim.ahead(memory.0.room(), address) }?;
        let mut ahead = AheadReceive { word, memory, is_posted: false };
        ahead.again(shim)?;
        Ok(ahead)
    }

    /// Posts it again: what has come is over.
    pub(crate) fn again(&mut self, shim: &Shim) -> Result<(), MpiRefusal> {
        debug_assert!(!self.is_posted, "it is posted once at a time");
        shim.start(&mut self.word)?;
        self.is_posted = true;
        Ok(())
    }

    /// Whose frame has come, if one has, and what: then it is to be posted [again](Self::again).
    pub(crate) fn came(&mut self, shim: &Shim) -> Result<Option<(usize, &[u8])>, MpiRefusal> {
        debug_assert!(self.is_posted, "it is posted again before it is asked");
        let Some((peer, bytes)) = shim.came(&mut self.word)? else { return Ok(None) };
        self.is_posted = false;
        Ok(Some((peer, &self.memory.bytes()[..bytes])))
    }

    /// Nothing more comes: MPI begins to take it back.
    pub(crate) fn cancel(&mut self, shim: &Shim) -> Result<(), MpiRefusal> {
        if self.is_posted { shim.cancel(&mut self.word) } else { Ok(()) }
    }

    /// Whether MPI has taken it back.
    pub(crate) fn is_back(&mut self, shim: &Shim) -> Result<bool, MpiRefusal> {
        self.is_posted = self.is_posted && shim.test(&mut self.word)?.is_none();
        Ok(!self.is_posted)
    }

    /// Frees one that MPI [has taken back](Self::is_back).
    pub(crate) fn end(mut self, shim: &Shim) -> Result<(), MpiRefusal> {
        debug_assert!(!self.is_posted, "it is taken back before it goes");
        shim.free(&mut self.word)?;
        drop(ManuallyDrop::into_inner(self.memory));
        Ok(())
    }
}
