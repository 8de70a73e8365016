//! Owns: barriers: their words, SYNC, RESIGN, and who is a member in a PAR.
//! May use: `types`, `raddle-occam-syntax`.
//! Never: lets the last branch of a PAR leave: its membership is the parent's again.
//!
//! The branches of a PAR take over the membership of the process that begins them, and are all members but one more.
//! Each that ends counts itself down, in a word of its parent's frame; all but the last resign. So a parent that goes
//! on is a member still, and was not for one moment none.
//!
//! A MOBILE BARRIER lies in the heap, with a fourth word: how many variables have it. Each of them is a membership, its
//! own or that of a process to which it was sent; it ends with the variable.

use super::place::Storage;
use super::shape::{BARRIER_WORDS, Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ProcessId};
use crate::types::TypeId;

/// The membership of the branches of a PAR, as one of them sees it.
#[derive(Clone, Default)]
pub(super) struct Members {
    /// The slot with the address of the word that counts the branches.
    left: Slot,
    /// The slots with the barriers' addresses.
    barriers: Vec<Slot>,
}

impl Lowerer<'_> {
    /// A barrier in this frame, with one member; gives the slot with its address.
    pub(super) fn new_barrier(&mut self) -> Slot {
        let slot = self.slots(1 + BARRIER_WORDS);
        self.f.code.addr(slot, (i32::from(slot) + 1) * 4);
        self.f.code.ldi(slot + 1, 1);
        self.f.code.ldi(slot + 2, 1);
        self.f.code.ldi(slot + 3, 0);
        slot
    }

    /// The slot with a barrier's address.
    pub(super) fn barrier(&mut self, barrier: ExprId) -> Slot {
        self.note_end(barrier, true);
        match self.place(barrier) {
            Storage::Slot(slot) => slot,
            place => {
                let to = self.slot();
                self.load(&place, Class::Word, to);
                to
            }
        }
    }

    /// `MOBILE BARRIER`: one member, one variable.
    pub(super) fn new_mobile_barrier(&mut self) -> Slot {
        let (address, one) = (self.slot(), self.slot());
        self.f.code.alloc_i(address, 4 * (BARRIER_WORDS as i32 + 1));
        self.f.code.ldi(one, 1);
        for word in [0, 1, BARRIER_WORDS as i32] {
            self.f.code.str_w(one, address, 4 * word);
        }
        address
    }

    /// One variable more has the barrier whose address stands in the slot, and whoever has that is a member.
    pub(super) fn share_barrier(&mut self, barrier: Slot) {
        let mark = self.mark();
        let (one, count) = (self.slot(), self.slot());
        self.plus(count, barrier, 4 * BARRIER_WORDS);
        self.f.code.inc(count, count);
        self.f.code.ldi(one, 1);
        self.f.code.enroll(barrier, one);
        self.release(mark);
    }

    /// One less; the last gives it back.
    pub(super) fn drop_barrier(&mut self, barrier: Slot) {
        let mark = self.mark();
        let (count, none) = (self.slot(), self.f.code.label());
        self.f.code.jz(barrier, none);
        self.f.code.resign(barrier);
        self.plus(count, barrier, 4 * BARRIER_WORDS);
        self.f.code.dec(count, count);
        self.f.code.jnz(count, none);
        self.f.code.free(barrier);
        self.f.code.bind(none);
        self.release(mark);
    }

    pub(super) fn is_mobile_barrier(&self, ty: TypeId) -> bool {
        matches!(self.shape(ty), Shape::Mobile(of) if self.shape(of) == Shape::Barrier)
    }

    pub(super) fn sync(&mut self, barrier: ExprId) {
        let barrier = self.barrier(barrier);
        self.f.code.sync(barrier);
    }

    pub(super) fn resign(&mut self, barrier: ExprId, body: ProcessId) {
        let barrier = self.barrier(barrier);
        self.f.code.resign(barrier);
        self.process(body);
        let one = self.slot();
        self.f.code.ldi(one, 1);
        self.f.code.enroll(barrier, one);
    }

    pub(super) fn enroll(&mut self, barriers: &[ExprId], par: ProcessId) {
        let slots = barriers.iter().map(|&barrier| self.barrier(barrier)).collect();
        self.f.enrolling = slots;
        self.process(par);
    }

    /// Makes members of as many branches as that slot says, or of so many.
    pub(super) fn members(&mut self, count: Result<Slot, u32>) -> Option<Members> {
        let barriers = std::mem::take(&mut self.f.enrolling);
        if barriers.is_empty() {
            return None;
        }
        let (word, more) = (self.slot(), self.slot());
        match count {
            Ok(slot) => self.f.code.mov(word, slot),
            Err(count) => self.f.code.ldi(word, count as i32),
        }
        let left = self.address_of_slot(word);
        let none = self.f.code.label();
        self.f.code.jz(word, none);
        self.f.code.plus_i(more, word, -1);
        for &barrier in &barriers {
            self.f.code.enroll(barrier, more);
        }
        self.f.code.bind(none);
        Some(Members { left, barriers })
    }

    /// The same in the frame of an instance of a replicated PAR.
    pub(super) fn captured_members(&mut self, members: &Members) -> Members {
        let mut capture = |slot: Slot| {
            let own = self.slot();
            self.load_at(1, u32::from(slot) * 4, Class::Word, own);
            own
        };
        let left = capture(members.left);
        Members { left, barriers: members.barriers.iter().map(|&barrier| capture(barrier)).collect() }
    }

    /// A branch has come to its end.
    pub(super) fn leave_members(&mut self, members: Option<&Members>) {
        let Some(members) = members else { return };
        let mark = self.mark();
        let (left, last) = (self.slot(), self.f.code.label());
        self.f.code.dec(left, members.left);
        self.f.code.jz(left, last);
        for &barrier in &members.barriers {
            self.f.code.resign(barrier);
        }
        self.f.code.bind(last);
        self.release(mark);
    }
}
