//! Owns: bytes in memory: elements, fields, copies.
//! May use: `races::shadow`, `scheduler`, `stop`, `loom`, `raddle-bytecode`.
//! Never: an address that was not compared with the memory's size.
//!
//! In a debug build, memory that is watched for races is told of each access.

use super::cpu::Cpu;
use super::{block_cost, hold};
use crate::prim::AtomicU32;
use crate::races::Deed;
use crate::scheduler::Scheduler;
use crate::stop::Stop;
use raddle_bytecode::Trap;

impl<L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'_, L, S, SHARED> {
    /// The address of element `c` of the array at `b`, which has as many as the slot behind `b` says.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn element(&self, size: u32) -> Result<u32, Trap> {
        let index = self.c();
        hold(index < self.b_next(), Trap::Subscript)?;
        index.checked_mul(size).and_then(|offset| offset.checked_add(self.b())).ok_or(Trap::Address)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn field(&self) -> Result<u32, Trap> {
        self.b().checked_add(u32::from(self.insn.c)).ok_or(Trap::Address)
    }

    /// The subscript, in an array of arrays of `c`, of element `b` of the array `a`.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn flat_subscript(&self) -> Result<u32, Trap> {
        let (inner, size) = (self.b(), self.c());
        hold(inner < size, Trap::Subscript)?;
        let flat = self.a().checked_mul(size).and_then(|outer| outer.checked_add(inner));
        flat.filter(|&flat| flat <= i32::MAX as u32).ok_or(Trap::Subscript)
    }

    /// In a debug build: somebody reads or changes memory that may be watched.
    #[cfg_attr(feature = "large", inline(always))]
    fn touch(&self, place: u32, bytes: u32, deed: Deed) -> Result<(), Trap> {
        if S::CHECKED {
            self.machine.races.touch(self.me, self.at as u32 - 1, (place, bytes), deed)
        } else {
            Ok(())
        }
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn copy(&mut self, bytes: u32) -> Result<(), Stop> {
        self.touch(self.b(), bytes, Deed::Read)?;
        self.touch(self.a(), bytes, Deed::Change)?;
        self.machine.copy_block(self.scheduler, (self.a(), self.b()), bytes)?;
        self.spend(block_cost(bytes))
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn fill(&mut self) -> Result<(), Stop> {
        let bytes = self.b();
        self.touch(self.a(), bytes, Deed::Change)?;
        self.machine.fill_block(self.scheduler, self.a(), bytes, self.c())?;
        self.spend(block_cost(bytes))
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn alloc(&mut self, bytes: u32) -> Result<(), Stop> {
        let block = self.machine.alloc(self.scheduler, u64::from(bytes))?;
        self.word(block);
        self.spend(block_cost(bytes))
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn compare(&mut self) -> Result<(), Stop> {
        let bytes = self.a();
        self.touch(self.b(), bytes, Deed::Read)?;
        self.touch(self.c(), bytes, Deed::Read)?;
        let equal = self.machine.equal_blocks(self.scheduler, (self.b(), self.c()), bytes)?;
        self.truth(equal);
        self.spend(block_cost(bytes))
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn free(&self) -> Result<(), Trap> {
        let block = self.a();
        self.word(0);
        if block == 0 { Ok(()) } else { self.machine.free::<SHARED>(block) }
    }

    /// The word at `b`, which several may count in.
    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn counter(&self) -> Result<&AtomicU32, Trap> {
        self.machine.memory.word(self.b()).ok_or(Trap::Address)
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn watch(&self) -> Result<(), Stop> {
        if S::CHECKED {
            let (address, bytes) = (self.a(), self.a_next());
            hold(self.machine.memory.has(address, bytes), Trap::Address)?;
            if !self.machine.races.watch(self.imm() as u32, address, bytes) {
                self.word(0);
            }
        }
        Ok(())
    }

    #[cfg_attr(feature = "large", inline(always))]
    pub(super) fn unwatch(&self) {
        if S::CHECKED {
            self.machine.races.unwatch(self.a());
        }
    }
}

/// Methods that load slot `a` from an address, and store it there.
macro_rules! accesses {
    ($($load:ident as $result:ident = $from:ident, $store:ident of $slot:ident = $to:ident, $bytes:literal;)*) => {
        impl<L: Default, S: Scheduler<Link = L>, const SHARED: bool> Cpu<'_, L, S, SHARED> {$(
            #[cfg_attr(feature = "large", inline(always))]
            pub(super) fn $load(&self, place: u32) -> Result<(), Trap> {
                self.touch(place, $bytes, Deed::Read)?;
                self.$result(self.machine.memory.$from(place).ok_or(Trap::Address)?);
                Ok(())
            }

            #[cfg_attr(feature = "large", inline(always))]
            pub(super) fn $store(&self, place: u32) -> Result<(), Trap> {
                self.touch(place, $bytes, Deed::Change)?;
                self.machine.memory.$to(place, self.$slot()).ok_or(Trap::Address)
            }
        )*}
    };
}

accesses! {
    load_byte as word = load_b, store_byte of a = store_b, 1;
    load_half as word = load_h, store_half of a = store_h, 2;
    load_word as word = load_w, store_word of a = store_w, 4;
    load_long as bits = load_l, store_long of al = store_l, 8;
}
