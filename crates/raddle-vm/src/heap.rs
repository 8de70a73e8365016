//! Owns: which parts of the machine's memory are free.
//! May use: `memory`, `loom`.
//! Never: trusts what it finds there: a block's class and the link to the next free one are compared before use.
//!
//! Classes of 16, 24, 32, 48, 64, 96 ... bytes; a free block holds the address of the next of its class. Before each
//! block in use stand eight bytes: its class, and a mark that it is in use. So who gives a block back twice is told,
//! until somebody else has it.

use crate::memory::Memory;
use crate::prim::{AtomicBool, Ordering};
use core::sync::atomic::AtomicU32;

const CLASSES: usize = 54;
const HEAD: u32 = 8;
/// Stands before a block in use.
const IN_USE: u32 = 0x6c6f_6f6d;

fn class_bytes(class: usize) -> u64 {
    (if class & 1 == 0 { 16 } else { 24 }) << (class / 2)
}

#[cfg_attr(feature = "large", inline(always))]
fn class_of(bytes: u64) -> usize {
    let power = bytes.max(16).ilog2() - 4;
    let over = |size: u64| usize::from(bytes > size << power);
    2 * power as usize + over(16) + over(24)
}

/// How many bytes of memory a block of so many takes.
pub fn block_bytes(bytes: u64) -> u64 {
    class_bytes(class_of(bytes + u64::from(HEAD)))
}

/// What is given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    /// Where it begins, at a multiple of eight.
    pub(crate) at: u32,
    /// So many of its bytes were used before, and are whoever asks for the block to clear.
    pub(crate) used_before: u32,
}

/// A word of whoever holds the heap. The models look at the flag, which orders it, and not at the word.
#[derive(Debug, Default)]
struct HeldWord(AtomicU32);

impl HeldWord {
    #[inline(always)]
    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// The heap. Its words are of whoever holds it; where one OS thread runs the machine, that need not be said.
#[derive(Debug)]
pub(crate) struct Heap {
    held: AtomicBool,
    /// From here on nothing was ever used: it is zero.
    fresh: HeldWord,
    free: [HeldWord; CLASSES],
    used: HeldWord,
    used_max: HeldWord,
}

impl Heap {
    pub(crate) fn new(from: u32) -> Heap {
        let fresh = HeldWord::default();
        fresh.set(from.next_multiple_of(8));
        Heap {
            held: AtomicBool::new(false),
            fresh,
            free: core::array::from_fn(|_| HeldWord::default()),
            used: HeldWord::default(),
            used_max: HeldWord::default(),
        }
    }

    /// The most bytes that were ever in use at once.
    pub(crate) fn used_max(&self) -> u64 {
        u64::from(self.used_max.get())
    }

    /// The bytes in use now.
    pub(crate) fn used(&self) -> u64 {
        u64::from(self.used.get())
    }

    /// From here on nothing was ever used.
    pub(crate) fn fresh(&self) -> u32 {
        self.fresh.get()
    }

    /// What it knows beside what lies in memory; meaningful while nobody else uses it.
    pub(crate) fn state(&self) -> [u32; CLASSES + 3] {
        let mut state = [0; CLASSES + 3];
        (state[0], state[1], state[2]) = (self.fresh.get(), self.used.get(), self.used_max.get());
        state[3..].iter_mut().zip(&self.free).for_each(|(word, free)| *word = free.get());
        state
    }

    /// Knows that from now on. `None` if that is nothing of a heap with so much memory.
    pub(crate) fn become_state(&self, state: &[u32], bytes: u32) -> Option<()> {
        let [fresh, used, used_max, free @ ..] = state else { return None };
        if free.len() != CLASSES || *fresh > bytes {
            return None;
        }
        self.fresh.set(*fresh);
        self.used.set(*used);
        self.used_max.set(*used_max);
        free.iter().zip(&self.free).for_each(|(word, free)| free.set(*word));
        Some(())
    }

    /// Waits until nobody else has the heap.
    #[cfg_attr(feature = "large", inline(always))]
    fn hold<const SHARED: bool>(&self) {
        if SHARED {
            self.wait();
        }
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn let_go<const SHARED: bool>(&self) {
        if SHARED {
            // Release pairs with the acquire in `wait`.
            self.held.store(false, Ordering::Release);
        }
    }

    fn wait(&self) {
        #[cfg(target_has_atomic = "8")]
        // Acquire pairs with the release in `let_go`.
        while self.held.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            #[cfg(not(loom))]
            core::hint::spin_loop();
            #[cfg(loom)]
            loom::thread::yield_now();
        }
    }

    /// A block of at least `bytes`.
    ///
    /// PERF: where one OS thread runs the machine nothing is locked: an exchange costs 5 ns, and a FORK, whose frame is
    /// taken and given back, had two of 47.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn alloc<const SHARED: bool>(&self, memory: &Memory, bytes: u64) -> Option<Block> {
        let class = class_of(bytes.checked_add(u64::from(HEAD)).filter(|&all| all < 1 << 32)?);
        self.hold::<SHARED>();
        let block = self.take(memory, class);
        self.let_go::<SHARED>();
        block
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn take(&self, memory: &Memory, class: usize) -> Option<Block> {
        // What is larger than all of memory fits nowhere.
        let size = u32::try_from(class_bytes(class)).ok()?;
        let recycled = self.recycled(memory, class, size);
        let at = match recycled {
            Some(at) => at,
            None => {
                let at = self.fresh.get();
                self.fresh.set(at.checked_add(size).filter(|&behind| behind <= memory.bytes())?);
                at
            }
        };
        memory.store_w(at, class as u32)?;
        memory.store_w(at + 4, IN_USE)?;
        let used = self.used.get().saturating_add(size);
        self.used.set(used);
        self.used_max.set(self.used_max.get().max(used));
        let used_before = if recycled.is_some() { size - HEAD } else { 0 };
        Some(Block { at: at + HEAD, used_before })
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn recycled(&self, memory: &Memory, class: usize, size: u32) -> Option<u32> {
        let head = self.free.get(class)?;
        let at = head.get();
        if at == 0 {
            return None;
        }
        if at & 7 != 0 || !memory.has(at, size) {
            head.set(0);
            return None;
        }
        head.set(memory.load_w(at)?);
        Some(at)
    }

    /// Takes a block back. `None` if there is no such block in use.
    #[cfg_attr(feature = "large", inline(always))]
    pub(crate) fn free<const SHARED: bool>(&self, memory: &Memory, address: u32) -> Option<()> {
        self.hold::<SHARED>();
        let given = self.put_back(memory, address);
        self.let_go::<SHARED>();
        given
    }

    #[cfg_attr(feature = "large", inline(always))]
    fn put_back(&self, memory: &Memory, address: u32) -> Option<()> {
        let at = address.checked_sub(HEAD).filter(|at| at & 7 == 0)?;
        if memory.load_w(at + 4)? != IN_USE {
            return None;
        }
        let class = memory.load_w(at)? as usize;
        let head = self.free.get(class)?;
        memory.store_w(at + 4, 0)?;
        memory.store_w(at, head.get())?;
        head.set(at);
        self.used.set(self.used.get().saturating_sub(u32::try_from(class_bytes(class)).ok()?));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_fit_and_waste_at_most_half() {
        for bytes in 1..5000 {
            let size = class_bytes(class_of(bytes));
            assert!(size >= bytes && (size <= 16 || size <= bytes + bytes / 2 + 1), "{bytes} in {size}");
        }
    }

    #[test]
    fn blocks_come_back_marked_and_memory_ends() {
        let (memory, heap) = (Memory::new(1024).unwrap(), Heap::new(64));
        let block = heap.alloc::<true>(&memory, 100).unwrap();
        assert_eq!(block.used_before, 0);
        heap.free::<true>(&memory, block.at).unwrap();
        let again = heap.alloc::<true>(&memory, 100).unwrap();
        assert!(again.at == block.at && again.used_before >= 100 && memory.has(again.at, again.used_before));
        assert_eq!(heap.alloc::<true>(&memory, 1000), None);
    }

    #[test]
    fn a_damaged_list_gives_no_memory_outside() {
        let (memory, heap) = (Memory::new(1024).unwrap(), Heap::new(64));
        let block = heap.alloc::<true>(&memory, 100).unwrap().at;
        heap.free::<true>(&memory, block).unwrap();
        memory.store_w(block - HEAD, 0xffff_fff8).unwrap();
        let again = heap.alloc::<true>(&memory, 100).unwrap();
        assert_eq!(again.at, block);
        assert!(heap.alloc::<true>(&memory, 100).is_some_and(|other| memory.has(other.at, 100)));
        assert_eq!(heap.free::<true>(&memory, 12), None);
    }

    #[test]
    fn a_block_is_given_back_once() {
        let (memory, heap) = (Memory::new(1024).unwrap(), Heap::new(64));
        let (one, other) =
            (heap.alloc::<true>(&memory, 20).unwrap().at, heap.alloc::<true>(&memory, 20).unwrap().at);
        assert!(heap.used() > 0);
        heap.free::<true>(&memory, one).unwrap();
        assert_eq!(heap.free::<true>(&memory, one), None);
        heap.free::<true>(&memory, other).unwrap();
        assert_eq!((heap.free::<true>(&memory, one), heap.free::<true>(&memory, other)), (None, None));
        assert_eq!(heap.used(), 0);
    }
}
