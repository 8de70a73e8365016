//! Owns: a thread's transaction: how it begins, reads, writes, commits, and is rolled back.
//! May use: `abi`, `actions`, `blocks`, `exceptions`, `fault`, `jump`, `turns`, `libc`.
//! Never: a type of what is read.
//!
//! | it runs | reads | writes | when |
//! |---|---|---|---|
//! | speculatively | memory, noted, compared when the clock has moved | are kept until the commit | at first |
//! | alone | memory: it has the clock | are kept until the commit | after some failures |
//! | irrevocably | memory: it has the clock | memory | it does what cannot be undone |
//!
//! It holds `unsafe` for the program's memory, for a pointer in thread-local storage, and for the jump to where the
//! transaction began. What finds a conflict returns it, up to the call that the program made: only there the
//! transaction is rolled back and jumps, when nobody has a reference to it.

mod captured;
mod end;
mod locals;
mod own;
mod words;

use crate::abi::{Properties, action};
use crate::actions::Actions;
use crate::blocks::Blocks;
use crate::exceptions::{ExceptionMark, Exceptions};
use crate::fault::peek;
use crate::jump::BeginCaller;
use crate::turns::{self, CLOCK};
use captured::Captured;
use locals::{KeptPlace, Locals};
pub(crate) use own::current;
use std::ptr::with_exposed_provenance;
use std::sync::atomic::{AtomicU64, Ordering};
use words::{MemoryWord, Written};

/// After so many failures a transaction runs alone.
const FAILURES: u32 = 8;

/// After so many times that an attempt has compared all that it has read, and these words more, it runs alone.
const ROUNDS: usize = 64;
const COMPARED: usize = 1 << 14;

/// Somebody else was faster: the transaction is to be rolled back, and begins anew.
pub(crate) struct Conflict;

/// How a transaction runs.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    Outside,
    Irrevocable,
    Speculative,
    Alone,
}

/// A transaction inside of another that may be cancelled by itself: what there was before.
#[derive(Default)]
struct Checkpoint {
    caller: BeginCaller,
    depth: u32,
    /// How the outer one runs.
    mode: Mode,
    written: Written,
    locals: usize,
    blocks: (usize, usize),
    actions: (usize, usize),
    exceptions: ExceptionMark,
    captured: usize,
}

/// A thread's transaction, and what it keeps for the next.
#[derive(Default)]
pub(crate) struct Tx {
    mode: Mode,
    /// How many calls have begun it, and not ended yet.
    depth: u32,
    caller: BeginCaller,
    /// The moment of all that it has read; or from which on it has the clock.
    moment: u64,
    written: Written,
    read: Vec<MemoryWord>,
    /// How many words this attempt has compared since others committed.
    compared: usize,
    properties: Properties,
    failures: u32,
    number: u64,
    /// No code of the program's has begun it, but a `fork`.
    is_fork: bool,
    /// So many times it is between the two halves of a fork: by `fork` itself, and by the handlers of it.
    forks: u32,
    checkpoints: Vec<Checkpoint>,
    locals: Locals,
    pub(crate) blocks: Blocks,
    pub(crate) actions: Actions,
    pub(crate) exceptions: Exceptions,
    pub(crate) captured: Captured,
}

/// How the caller's transaction runs.
#[inline(always)]
pub(crate) fn mode() -> Mode {
    own::get().map_or(Mode::Outside, |tx| tx.mode)
}

/// Whether what the caller does may have to be undone.
#[inline(always)]
pub(crate) fn is_speculative() -> bool {
    matches!(mode(), Mode::Speculative | Mode::Alone)
}

/// Ends the program: it has done what no transaction may.
#[cold]
pub(crate) fn fail(why: &str) -> ! {
    let text = format!("raddle: transactional memory: {why}\n");
    // SAFETY: the text's own bytes.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    std::process::abort()
}

/// Begins a transaction, or one inside of it. Returns what its code is to do.
pub(crate) extern "C" fn begin(properties: u32, caller: &BeginCaller) -> u32 {
    let properties = Properties::new(properties);
    let tx = own::get().unwrap_or_else(own::make);
    if tx.depth > 0 {
        return tx.begin_inside(properties, caller).unwrap_or_else(|Conflict| restart());
    }
    tx.caller = *caller;
    tx.properties = properties;
    tx.failures = 0;
    tx.attempt()
}

/// What cannot be undone comes now: the transaction gets the clock, and keeps it until its end.
pub(crate) fn go_irrevocable() {
    if is_speculative() && current().go_irrevocable().is_err() {
        restart();
    }
}

/// After a [`Conflict`].
#[cold]
pub(crate) fn restart() -> ! {
    end::restart(std::ptr::null_mut())
}

impl Tx {
    #[inline(always)]
    fn attempt(&mut self) -> u32 {
        self.depth = 1;
        self.compared = 0;
        let must_be_plain = self.properties.does_go_irrevocable() || !self.properties.has_instrumented();
        if must_be_plain {
            self.moment = turns::take();
            self.mode = Mode::Irrevocable;
            return self.code();
        }
        if self.failures > FAILURES {
            self.moment = turns::take();
            self.mode = Mode::Alone;
        } else {
            self.moment = CLOCK.now();
            self.mode = Mode::Speculative;
        }
        action::INSTRUMENTED | action::SAVE
    }

    /// Which code an irrevocable transaction runs.
    fn code(&self) -> u32 {
        if self.properties.has_plain() { action::PLAIN } else { action::INSTRUMENTED | action::SAVE }
    }

    #[cold]
    fn begin_inside(&mut self, properties: Properties, caller: &BeginCaller) -> Result<u32, Conflict> {
        if self.is_fork && self.depth == 1 {
            self.caller = *caller;
        }
        if !properties.has_no_abort() {
            self.checkpoints.push(Checkpoint {
                caller: *caller,
                depth: self.depth,
                mode: self.mode,
                written: self.written.clone(),
                locals: self.locals.mark(),
                blocks: self.blocks.mark(),
                actions: self.actions.mark(),
                exceptions: self.exceptions.mark(),
                captured: self.captured.mark(),
            });
            if self.mode == Mode::Irrevocable {
                // What it writes is kept until it ends: it has the clock already.
                self.mode = Mode::Alone;
            }
        } else if !properties.has_instrumented() {
            self.go_irrevocable()?;
        }
        self.depth += 1;
        let is_plain = self.mode == Mode::Irrevocable && properties.has_plain();
        Ok(if is_plain { action::PLAIN } else { action::INSTRUMENTED | action::SAVE })
    }

    /// Whether `address` lies in a frame of what the transaction calls: they go when the transaction runs again.
    #[inline(always)]
    fn is_own_frame(&self, address: usize) -> bool {
        address < self.caller.stack && address >= own::stack_pointer()
    }

    /// The bytes of the mask, of the word at `address`; what the transaction has written itself, if it has.
    #[inline(always)]
    fn word(&mut self, address: usize, mask: u64) -> Result<u64, Conflict> {
        let Some(&MemoryWord { value, mask: own, .. }) = self.written.find(address) else {
            return self.look(address, mask);
        };
        let others = mask & !own;
        if others == 0 { Ok(value) } else { Ok((value & own) | (self.look(address, others)? & !own)) }
    }

    fn look(&mut self, address: usize, mask: u64) -> Result<u64, Conflict> {
        let word = peek(address);
        if self.mode != Mode::Speculative {
            return Ok(word.unwrap_or_else(|| touch(address)));
        }
        let word = match word {
            Some(word) if CLOCK.is_still(self.moment) => word,
            _ => self.look_again(address)?,
        };
        self.read.push(MemoryWord { address, value: word & mask, mask });
        Ok(word)
    }

    #[cold]
    fn look_again(&mut self, address: usize) -> Result<u64, Conflict> {
        loop {
            self.go_on_later()?;
            let word = peek(address);
            if self.mode != Mode::Speculative || CLOCK.is_still(self.moment) {
                return Ok(word.unwrap_or_else(|| touch(address)));
            }
        }
    }

    /// Goes on from a later moment, at which all is as it was read. If others commit faster than that is found out, it
    /// runs alone from here on.
    #[cold]
    fn go_on_later(&mut self) -> Result<(), Conflict> {
        loop {
            self.compared += self.read.len();
            if self.compared > COMPARED + ROUNDS * self.read.len() {
                return self.go_alone();
            }
            let moment = CLOCK.now();
            if !self.read.iter().all(MemoryWord::is_there) {
                return Err(Conflict);
            }
            if CLOCK.is_still(moment) {
                self.moment = moment;
                return Ok(());
            }
        }
    }

    /// The transaction gets the clock, and keeps it.
    #[cold]
    fn go_alone(&mut self) -> Result<(), Conflict> {
        let moment = turns::take();
        if moment != self.moment && !self.read.iter().all(MemoryWord::is_there) {
            turns::end(moment);
            // The next attempt must not fail here again.
            self.failures = FAILURES;
            return Err(Conflict);
        }
        self.moment = moment;
        self.mode = Mode::Alone;
        self.checkpoints.iter_mut().for_each(|checkpoint| checkpoint.mode = Mode::Alone);
        Ok(())
    }

    #[cold]
    fn go_irrevocable(&mut self) -> Result<(), Conflict> {
        match self.mode {
            Mode::Irrevocable | Mode::Outside => return Ok(()),
            _ if !self.checkpoints.is_empty() => fail("what can be cancelled does what cannot be undone"),
            Mode::Alone => {}
            Mode::Speculative => self.go_alone()?,
        }
        self.written.store();
        self.written.clear();
        self.read.clear();
        self.mode = Mode::Irrevocable;
        Ok(())
    }

    /// Whether a transaction that runs speculatively reads or writes a value of this size at `address` in the usual
    /// way: it lies in one word, which the transaction has not written, and which is not its own.
    #[inline(always)]
    fn is_usual(&self, address: usize, size: usize) -> bool {
        self.mode == Mode::Speculative
            && address % 8 + size <= 8
            && !self.is_own_frame(address)
            && !self.written.may_hold(address)
            && !self.captured.may_hold(address)
    }

    /// The word of a value that is read in the usual way, moved so that the value is its first bytes. `None` if it is
    /// not, or if a moment has passed: then [`read`](Self::read) it.
    #[inline(always)]
    pub(crate) fn read_fast(&mut self, address: usize, size: usize) -> Option<u64> {
        let shift = address % 8;
        if !self.is_usual(address, size) || self.read.len() == self.read.capacity() {
            return None;
        }
        let word = peek(address - shift)?;
        if !CLOCK.is_still(self.moment) {
            return None;
        }
        let mask = mask(size) << (8 * shift);
        self.read.push(MemoryWord { address: address - shift, value: word & mask, mask });
        Some(word >> (8 * shift))
    }

    /// Writes a value, whose bytes are the first of `value`, in the usual way; false if it is not.
    #[inline(always)]
    pub(crate) fn write_fast(&mut self, address: usize, value: u64, size: usize) -> bool {
        let shift = address % 8;
        self.is_usual(address, size)
            && self.written.write_first(MemoryWord {
                address: address - shift,
                value: value << (8 * shift),
                mask: mask(size) << (8 * shift),
            })
    }

    /// Reads a value that lies within one word, or its bytes one word after the other.
    #[inline(always)]
    pub(crate) fn read(&mut self, address: usize, bytes: &mut [u8]) -> Result<(), Conflict> {
        let size = bytes.len();
        let shift = address % 8;
        if shift + size <= 8 {
            let word = self.word(address - shift, mask(size) << (8 * shift))? >> (8 * shift);
            bytes.copy_from_slice(&word.to_ne_bytes()[..size]);
            Ok(())
        } else {
            self.read_long(address, bytes)
        }
    }

    fn read_long(&mut self, address: usize, bytes: &mut [u8]) -> Result<(), Conflict> {
        let mut done = 0;
        while done < bytes.len() {
            let shift = (address + done) % 8;
            let size = (8 - shift).min(bytes.len() - done);
            let word = self.word(address + done - shift, mask(size) << (8 * shift))? >> (8 * shift);
            bytes[done..done + size].copy_from_slice(&word.to_ne_bytes()[..size]);
            done += size;
        }
        Ok(())
    }

    /// Writes a value, as [`read`](Self::read) reads one.
    #[inline(always)]
    pub(crate) fn write(&mut self, address: usize, bytes: &[u8]) {
        let size = bytes.len();
        let shift = address % 8;
        if shift + size <= 8 {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            let value = u64::from_ne_bytes(word) << (8 * shift);
            self.written.write(MemoryWord {
                address: address - shift,
                value,
                mask: mask(size) << (8 * shift),
            });
        } else {
            self.write_long(address, bytes);
        }
    }

    fn write_long(&mut self, address: usize, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let shift = (address + done) % 8;
            let size = (8 - shift).min(bytes.len() - done);
            let mut word = [0; 8];
            word[..size].copy_from_slice(&bytes[done..done + size]);
            self.written.write(MemoryWord {
                address: address + done - shift,
                value: u64::from_ne_bytes(word) << (8 * shift),
                mask: mask(size) << (8 * shift),
            });
            done += size;
        }
    }

    /// Whether a place is read and written by itself, and not through here.
    #[inline(always)]
    pub(crate) fn is_plain(&self, address: usize) -> bool {
        self.mode == Mode::Irrevocable
            || self.mode == Mode::Outside
            || self.is_own_frame(address)
            || self.captured.holds(address)
    }

    /// Before a plain write: keeps what stood there, if a transaction inside may be cancelled by itself.
    #[inline(always)]
    pub(crate) fn will_write(&mut self, address: usize, size: usize) {
        if !self.checkpoints.is_empty() {
            // SAFETY: the caller is about to write there.
            unsafe { self.keep(address, size) };
        }
    }

    /// Keeps what the code changes by itself, unless it goes anyway: frames below where the innermost one began.
    ///
    /// # Safety
    /// So many bytes can be read there, and written until the transaction ends, or until their frame does.
    pub(crate) unsafe fn keep(&mut self, address: usize, size: usize) {
        let is_in_frame = self.is_own_frame(address);
        let stack = self.checkpoints.last().map_or(self.caller.stack, |checkpoint| checkpoint.caller.stack);
        let goes_anyway = is_in_frame && address < stack;
        if matches!(self.mode, Mode::Speculative | Mode::Alone) && !goes_anyway {
            // SAFETY: the caller's.
            unsafe { self.locals.keep(KeptPlace { address, size, is_in_frame }) };
        }
    }

    /// So many bytes were not read.
    pub(crate) fn forget(&mut self, address: usize, size: usize) {
        let end = address.saturating_add(size);
        self.read.retain_mut(|word| {
            let first = address.saturating_sub(word.address).min(8);
            let behind = end.saturating_sub(word.address).min(8);
            if first < behind {
                word.mask &= !(mask(behind - first) << (8 * first));
                word.value &= word.mask;
            }
            word.mask != 0
        });
    }

    pub(crate) fn number(&mut self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(2);
        if self.number == 0 {
            self.number = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        self.number
    }
}

/// Ones in the lowest bytes.
#[inline(always)]
const fn mask(bytes: usize) -> u64 {
    u64::MAX >> (64 - 8 * bytes)
}

/// Reads what cannot be read: the fault is the program's, and is told as natively.
#[cold]
fn touch(address: usize) -> u64 {
    // SAFETY: none: what the program asked for.
    unsafe { with_exposed_provenance::<u64>(address).read_volatile() }
}
