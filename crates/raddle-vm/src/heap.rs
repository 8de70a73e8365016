//! Owns: which parts of the machine's memory are free.
//! May use: `memory`.
//! Never: trusts what it finds there: a block's class and the link to the next free one are compared before use.
//!
//! Classes of 16, 24, 32, 48, 64, 96 ... bytes; a free block holds the address of the next of its class. Before each
//! block in use stand eight bytes: its class, and a mark that it is in use. So who gives a block back twice is told,
//! until somebody else has it.

use crate::memory::Memory;

const CLASSES: usize = 54;
const HEAD: u32 = 8;
/// Stands before a block in use.
const IN_USE: u32 = 0x6c6f_6f6d;

fn class_bytes(class: usize) -> u64 {
    (if class & 1 == 0 { 16 } else { 24 }) << (class / 2)
}

fn class_of(bytes: u64) -> usize {
    let mut class = 2 * (bytes.max(16).ilog2() as usize - 4);
    while class_bytes(class) < bytes {
        class += 1;
    }
    class
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

/// The heap.
#[derive(Debug)]
pub(crate) struct Heap {
    /// From here on nothing was ever used: it is zero.
    fresh: u32,
    free: [u32; CLASSES],
    used: u64,
    used_max: u64,
}

impl Heap {
    pub(crate) fn new(from: u32) -> Heap {
        Heap { fresh: from.next_multiple_of(8), free: [0; CLASSES], used: 0, used_max: 0 }
    }

    /// The most bytes that were ever in use at once.
    pub(crate) fn used_max(&self) -> u64 {
        self.used_max
    }

    /// The bytes in use now.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// A block of at least `bytes`.
    pub(crate) fn alloc(&mut self, memory: &Memory, bytes: u64) -> Option<Block> {
        let class = class_of(bytes.checked_add(u64::from(HEAD)).filter(|&all| all < 1 << 32)?);
        let size = class_bytes(class);
        let recycled = self.recycled(memory, class, size);
        let at = match recycled {
            Some(at) => at,
            None => {
                let behind = u64::from(self.fresh) + size;
                if behind > u64::from(memory.bytes()) {
                    return None;
                }
                core::mem::replace(&mut self.fresh, behind as u32)
            }
        };
        memory.store_w(at, class as u32)?;
        memory.store_w(at + 4, IN_USE)?;
        self.used += size;
        self.used_max = self.used_max.max(self.used);
        let used_before = if recycled.is_some() { size as u32 - HEAD } else { 0 };
        Some(Block { at: at + HEAD, used_before })
    }

    fn recycled(&mut self, memory: &Memory, class: usize, size: u64) -> Option<u32> {
        let head = self.free.get_mut(class)?;
        let at = *head;
        let fits = at != 0 && at & 7 == 0 && size <= u64::from(memory.bytes()) && memory.has(at, size as u32);
        if !fits {
            *head = 0;
            return None;
        }
        *head = memory.load_w(at)?;
        Some(at)
    }

    /// Takes a block back. `None` if there is no such block in use.
    pub(crate) fn free(&mut self, memory: &Memory, address: u32) -> Option<()> {
        let at = address.checked_sub(HEAD).filter(|at| at & 7 == 0)?;
        if memory.load_w(at + 4)? != IN_USE {
            return None;
        }
        memory.store_w(at + 4, 0)?;
        let class = memory.load_w(at)? as usize;
        let head = self.free.get_mut(class)?;
        memory.store_w(at, *head)?;
        *head = at;
        self.used = self.used.saturating_sub(class_bytes(class));
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
        let (memory, mut heap) = (Memory::new(1024).unwrap(), Heap::new(64));
        let block = heap.alloc(&memory, 100).unwrap();
        assert_eq!(block.used_before, 0);
        heap.free(&memory, block.at).unwrap();
        let again = heap.alloc(&memory, 100).unwrap();
        assert!(again.at == block.at && again.used_before >= 100 && memory.has(again.at, again.used_before));
        assert_eq!(heap.alloc(&memory, 1000), None);
    }

    #[test]
    fn a_damaged_list_gives_no_memory_outside() {
        let (memory, mut heap) = (Memory::new(1024).unwrap(), Heap::new(64));
        let block = heap.alloc(&memory, 100).unwrap().at;
        heap.free(&memory, block).unwrap();
        memory.store_w(block - HEAD, 0xffff_fff8).unwrap();
        let again = heap.alloc(&memory, 100).unwrap();
        assert_eq!(again.at, block);
        assert!(heap.alloc(&memory, 100).is_some_and(|other| memory.has(other.at, 100)));
        assert_eq!(heap.free(&memory, 12), None);
    }

    #[test]
    fn a_block_is_given_back_once() {
        let (memory, mut heap) = (Memory::new(1024).unwrap(), Heap::new(64));
        let (one, other) = (heap.alloc(&memory, 20).unwrap().at, heap.alloc(&memory, 20).unwrap().at);
        assert!(heap.used() > 0);
        heap.free(&memory, one).unwrap();
        assert_eq!(heap.free(&memory, one), None);
        heap.free(&memory, other).unwrap();
        assert_eq!((heap.free(&memory, one), heap.free(&memory, other)), (None, None));
        assert_eq!(heap.used(), 0);
    }
}
