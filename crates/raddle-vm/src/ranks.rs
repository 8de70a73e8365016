//! Owns: what a machine is to those on other ranks: its image, and processes that stand in for others'.
//! May use: `atom`, `comm`, `machine`, `memory`, `process`, `scheduler`, `stop`, `table`, `raddle-bytecode`.
//! Never: a message between ranks; the host moves them.
//!
//! **Image.** Addresses are offsets, so what lies in the memory of one machine means the same in that of another one
//! that runs the same program. A PLACED PAR begins where no other process lives: then memory, what the heap has given
//! out, and where the one process stands are all that there is. A channel's address is its name on all ranks.
//!
//! **First touch.** Which rank uses which end of a channel that a PLACED PAR mentions is seen when a process first
//! does: until then the channel's word is [`UNTOUCHED`]. Who finds that there tells the scheduler, and the word is a
//! channel's as any other from then on. If both ends turn out to be used here, nothing more is done.
//!
//! **Stand-ins.** Where the other end is used on another rank, a process that runs no code stands in for that rank, as
//! the keyboard's does for the keyboard:
//!
//! | the rank is to | the stand-in |
//! |---|---|
//! | input | is in the word as in an extended input, of any length: who outputs stays there until it is taken |
//! | output | outputs what has come, from a block of the heap; when it is made ready, that was taken |
//!
//! So an ALT, an extended input and compiled code find in a channel's word what they always do. A stand-in is not among
//! the living: who waits for it waits for another rank.

use crate::atom;
use crate::comm::{Message, Met};
use crate::machine::Machine;
use crate::memory::FLOOR;
use crate::prim::Ordering;
use crate::process::{ANY, IDLE, IN_SLOT, INPUT, OUTPUT, Process, Step, UNTOUCHED, WAITING};
use crate::scheduler::{ChannelEnd, Scheduler};
use crate::stop::Stop;
use crate::table::WorkerLocal;
use alloc::vec::Vec;
use raddle_bytecode::{BEGIN_PLACED, END_PLACED, PLACE_CHANNELS, Trap};

fn direction(end: ChannelEnd) -> u32 {
    if end == ChannelEnd::Output { OUTPUT } else { INPUT }
}

/// How many words stand before the memory in an image: where the process stands, and its frame.
const HEAD_WORDS: usize = 2;

impl<L: Default> Machine<L> {
    /// `host` of these numbers, but for the end of a PLACED PAR. `at` is where the words lie. The caller has saved
    /// itself before the instruction.
    pub(crate) fn place_step<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        me: &Process<L>,
        at: u32,
        number: i32,
    ) -> Result<(), Trap> {
        let word = |offset: u32| self.memory.load_w(at + offset).ok_or(Trap::Address);
        match number {
            BEGIN_PLACED => {
                let ranks = scheduler.begin_placed(me, word(0)? == 0)?;
                self.memory.store_w(at, ranks.size).ok_or(Trap::Address)?;
                self.memory.store_w(at + 4, ranks.rank).ok_or(Trap::Address)
            }
            PLACE_CHANNELS if !scheduler.is_placed() => Ok(()),
            PLACE_CHANNELS => {
                let (address, count) = (word(0)?, word(4)?);
                if count == u32::MAX {
                    return self.place_channel(scheduler, address);
                }
                (0..count).try_for_each(|number| {
                    let element = number.checked_mul(4).and_then(|offset| address.checked_add(offset));
                    let channel = element.and_then(|at| self.memory.load_w(at)).ok_or(Trap::Address)?;
                    self.place_channel(scheduler, channel)
                })
            }
            _ => Err(Trap::Host),
        }
    }

    /// From now on the first who uses the channel is noted, if it is one that no host serves.
    fn place_channel<S: Scheduler<Link = L>>(&self, scheduler: &S, channel: u32) -> Result<(), Trap> {
        if channel < FLOOR {
            return Ok(());
        }
        scheduler.place_channel(channel);
        // Two names may be of one channel.
        match atom::exchange::<true>(self.memory.word(channel).ok_or(Trap::Address)?, 0, UNTOUCHED) {
            Ok(()) | Err(UNTOUCHED) => Ok(()),
            Err(_) => Err(Trap::Channel),
        }
    }

    /// `host` END_PLACED: who waits is woken as from an ALT.
    pub(crate) fn end_placed<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        me: &Process<L>,
    ) -> Result<Step, Trap> {
        if !scheduler.is_placed() {
            return Ok(Step::Done);
        }
        self.park_between(me);
        scheduler.end_placed(me)?;
        Ok(Step::Waits)
    }

    /// The process waits until it is [rung](Machine::ring): at the end of a PLACED PAR, or before the first one of
    /// another rank's program.
    pub fn park_between(&self, me: &Process<L>) {
        me.alt.store(WAITING, Ordering::Relaxed);
    }

    /// Somebody is the first to use a channel. What is in its word then is any channel's.
    #[cold]
    pub(crate) fn first_touch<S: Scheduler<Link = L>, const SHARED: bool>(
        &self,
        scheduler: &S,
        end: u32,
    ) -> Result<(), Trap> {
        let channel = end & !3;
        let word = self.memory.word(channel).ok_or(Trap::Address)?;
        // Of two that come at once the other one finds a word that is free.
        if atom::exchange::<SHARED>(word, UNTOUCHED, 0).is_ok() {
            let used = if end & OUTPUT != 0 { ChannelEnd::Output } else { ChannelEnd::Input };
            scheduler.touched(channel, used)?;
        }
        Ok(())
    }

    /// A channel is to be used by one rank alone again. False if somebody is in its word.
    pub fn untouch(&self, channel: u32) -> bool {
        let Some(word) = self.memory.word(channel) else { return false };
        !matches!(atom::exchange::<true>(word, UNTOUCHED, 0), Err(now) if now != 0)
    }

    /// Whether that process is the only one that lives.
    pub fn lives_alone(&self, process: &Process<L>) -> bool {
        self.processes.living().all(|other| other.id() == process.id())
    }

    /// All that another machine with the same program needs to go on as this one, in which only that process lives,
    /// and has been saved.
    pub fn image(&self, process: &Process<L>) -> Option<Vec<u8>> {
        let heap = self.heap.state();
        let used = self.heap.fresh().checked_sub(FLOOR)? as usize;
        let mut image = Vec::new();
        image.try_reserve_exact(4 * (HEAD_WORDS + heap.len()) + used).ok()?;
        let head = [process.ip.get(), process.fp.get()];
        for word in head.into_iter().chain(heap) {
            image.extend(word.to_le_bytes());
        }
        for at in (FLOOR..self.heap.fresh()).step_by(4) {
            image.extend(self.memory.load_w(at)?.to_le_bytes());
        }
        Some(image)
    }

    /// Goes on as that one: the [main process](Machine::main), in which nothing runs, stands where that one's does.
    /// `None` if there is not as much memory, or that is no image.
    pub fn become_image(&self, image: &[u8]) -> Option<()> {
        let words = image.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let heap_words = self.heap.state().len();
        let mut words = words;
        let (ip, fp) = (words.next()?, words.next()?);
        let heap: Vec<u32> = words.by_ref().take(heap_words).collect();
        let before = self.heap.fresh();
        self.heap.become_state(&heap, self.memory.bytes())?;
        let mut at = FLOOR;
        for word in words {
            self.memory.store_w(at, word)?;
            at += 4;
        }
        // What is fresh is zero.
        while at < before {
            self.memory.store_w(at, 0)?;
            at += 4;
        }
        let fits = self.program.module().code.get(ip as usize).is_some() && self.memory.has(fp & !3, 4);
        fits.then(|| self.main().save(ip as usize, fp))
    }

    /// A process that runs no code. Its `join` is the block of what it outputs.
    pub fn stand_in(&self, local: &mut WorkerLocal) -> Option<&Process<L>> {
        let process = self.processes.take(local)?;
        process.alt.store(IDLE, Ordering::Relaxed);
        Some(process)
    }

    /// It waits for somebody to output on that channel, who stays there until [it was taken](Machine::was_taken).
    /// [`Step::Done`] if somebody does already; else it is made ready when somebody does.
    ///
    /// # Errors
    /// If the program has damaged the channel, or uses that end here, too.
    pub fn stand_in_inputs<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        process: &Process<L>,
        channel: u32,
    ) -> Result<Step, Trap> {
        self.stand(scheduler, process, channel | INPUT, Message { at: 0, length: ANY })
    }

    /// It outputs a message, which lies in a block of the heap until [`forget_output`](Machine::forget_output).
    /// [`Step::Done`] if it was taken at once; else the process is made ready when it is taken.
    ///
    /// # Errors
    /// As above; if who inputs wants a message of another length; if there is no memory for it.
    pub fn stand_in_outputs<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        process: &Process<L>,
        channel: u32,
        message: &[u8],
    ) -> Result<Step, Trap> {
        let at = self.block_of(message).ok_or(Trap::Memory)?;
        process.join.set(at);
        let length = u32::try_from(message.len()).map_err(|_| Trap::Memory)?;
        self.stand(scheduler, process, channel | OUTPUT, Message { at, length })
    }

    /// What it has output was taken. False if the program has damaged the block.
    pub fn forget_output(&self, process: &Process<L>) -> bool {
        let block = process.join.get();
        process.join.set(0);
        self.free::<true>(block).is_ok()
    }

    fn stand<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        process: &Process<L>,
        end: u32,
        message: Message,
    ) -> Result<Step, Trap> {
        let word = self.memory.word(end & !3).ok_or(Trap::Address)?;
        let mut met = Met::default();
        let step = self.meet::<S, true>(scheduler, process, (word, end), message, &mut met);
        // Nobody runs here in whose place it could go on.
        met.next.into_iter().for_each(|next| scheduler.ready(next));
        match step {
            Ok(step) => Ok(step),
            Err(Stop::Trap(trap)) => Err(trap),
            // What a long message costs is nobody's turn.
            Err(Stop::Over | Stop::Dry | Stop::Spent) => Ok(Step::Done),
        }
    }

    /// The message of who outputs on that channel, and stays there.
    pub fn offered(&self, channel: u32) -> Option<Vec<u8>> {
        let id = atom::load::<true>(self.memory.word(channel)?);
        let process = self.processes.get(id)?;
        let (at, length) = (process.message.get(), process.length.get());
        let (is_slot, length) = (length & IN_SLOT != 0, length & !IN_SLOT);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length as usize).ok()?;
        if is_slot && length < 4 {
            // The low bytes of a slot, which need not be its first.
            bytes.extend_from_slice(self.memory.load_w(at)?.to_le_bytes().get(..length as usize)?);
            return Some(bytes);
        }
        for at in at..at.checked_add(length)? {
            bytes.push(self.memory.load_b(at)? as u8);
        }
        Some(bytes)
    }

    /// Who outputs on that channel goes on: the message was taken.
    ///
    /// # Errors
    /// If the program has damaged the channel.
    pub fn was_taken<S: Scheduler<Link = L>>(
        &self,
        scheduler: &S,
        process: &Process<L>,
        channel: u32,
    ) -> Result<(), Trap> {
        self.end_extended::<S, true>(scheduler, process, channel)
    }

    /// It leaves a channel, of which that end is used here, and where nobody has come. False if somebody has.
    pub fn withdraw_stand_in(&self, process: &Process<L>, channel: u32, used: ChannelEnd) -> bool {
        let wait = channel | direction(used.other());
        let Some(word) = self.memory.word(channel) else { return false };
        self.withdraw::<true>(process, wait) && atom::exchange::<true>(word, process.id(), 0).is_ok()
    }

    /// A block of the heap with these bytes.
    fn block_of(&self, bytes: &[u8]) -> Option<u32> {
        let block = self.heap.alloc::<true>(&self.memory, bytes.len() as u64)?;
        for (at, &byte) in (block.at..).zip(bytes) {
            self.memory.store_b(at, u32::from(byte))?;
        }
        Some(block.at)
    }

    /// The instruction is the end of a PLACED PAR.
    pub(crate) fn ends_placed(&self, at: u32) -> bool {
        let insn = self.code().get(at as usize);
        insn.is_some_and(|insn| insn.op == raddle_bytecode::Op::Host && insn.imm() == END_PLACED)
    }
}
