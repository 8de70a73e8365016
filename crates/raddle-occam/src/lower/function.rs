//! Owns: the function being made: its slots, and where names live in it.
//! May use: `program`, `types`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: knows occam.

use raddle_bytecode::build::{Code, FunctionId, Label};

use super::ends::UsedEnd;
use super::placed::Placing;
use super::{Lowerer, Slot};
use crate::diag::Diagnostic;
use crate::program::NameId;
use crate::source::Span;
use crate::symbol::FastMap;
use crate::types::TypeId;

/// Slots that a function may have.
const SLOTS_MAX: u32 = 65_000;

/// The size of one dimension.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Dim {
    Const(u32),
    Slot(Slot),
}

/// An array or record in memory.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct View {
    /// The slot of the address. For an array the next slot holds the count of the first dimension.
    pub(super) at: Slot,
    /// The sizes, outermost first; none for a record.
    pub(super) dims: Vec<Dim>,
    /// The slot where it begins when it lies in this function's own frame.
    pub(super) frame: Option<Slot>,
}

/// Where what a name stands for is found.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Home {
    /// In slots: a value, a mobile's or an end's address, a channel's address.
    Slot(Slot),
    /// In memory; the slot holds the address.
    At(Slot),
    /// An array or record.
    View(View),
}

#[derive(Default)]
pub(super) struct Function {
    pub(super) code: Code,
    /// The first free slot.
    pub(super) top: u32,
    /// The most that were ever in use.
    pub(super) peak: u32,
    pub(super) homes: FastMap<NameId, Home>,
    /// Slots with memory from the heap that the current scopes give back.
    pub(super) owned: Vec<Owned>,
    /// Reserved states of ALTs.
    pub(super) alts: Vec<Slot>,
    /// The ends of channels that the branch or function being made uses.
    pub(super) ends: Vec<UsedEnd>,
    /// Where results go: the addresses given by the caller.
    pub(super) results: Vec<Slot>,
    /// Whether the item that is input is the last of an extended input.
    pub(super) extending: bool,
    /// Of the barriers that the branches of the PAR that comes next are members of, the slots with their addresses.
    pub(super) enrolling: Vec<Slot>,
    /// Of the PLACED PAR that comes next.
    pub(super) placing: Option<Placing>,
    /// The slot with the address of the block that counts what is forked here.
    pub(super) forking: Option<Slot>,
    /// The slot with the address of the mobile process that this is part of, and may suspend.
    pub(super) instance: Option<Slot>,
    /// Where a mobile process goes that is given up: the end of the branch or function, and what is given back before.
    pub(super) exit: Option<(Mark, Label)>,
}

/// Something that a scope gives back at its end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Owned {
    /// Memory whose address stands in the slot.
    Memory(Slot),
    /// A mobile or end of that type, made by an expression, whose address stands in the slot.
    Word(Slot, TypeId),
    /// A variable with a mobile or end in it.
    Variable(NameId),
    /// What is watched from the address in the slot on.
    Watched(Slot),
}

/// A point to return to with slots and owned memory.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    top: u32,
    owned: usize,
}

impl Lowerer<'_> {
    /// That many fresh slots.
    pub(super) fn slots(&mut self, count: u32) -> Slot {
        let at = self.f.top;
        self.f.top = at.saturating_add(count);
        self.f.peak = self.f.peak.max(self.f.top);
        if self.f.top > SLOTS_MAX {
            self.f.top = at.min(SLOTS_MAX);
        }
        at.min(SLOTS_MAX) as Slot
    }

    pub(super) fn slot(&mut self) -> Slot {
        self.slots(1)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { top: self.f.top, owned: self.f.owned.len() }
    }

    /// Gives back all slots and memory taken since.
    pub(super) fn release(&mut self, mark: Mark) {
        self.release_owned(mark);
        self.f.top = mark.top;
    }

    fn release_owned(&mut self, mark: Mark) {
        while self.f.owned.len() > mark.owned {
            if let Some(owned) = self.f.owned.pop() {
                self.give_back(owned);
            }
        }
    }

    /// Gives back what was taken since and goes there; code that goes another way still has it.
    pub(super) fn leave(&mut self, mark: Mark, label: Label) {
        let owned: Vec<Owned> = self.f.owned[mark.owned..].to_vec();
        for owned in owned.into_iter().rev() {
            self.give_back(owned);
        }
        self.f.code.jump(label);
    }

    /// Gives back slots only: every way out has given back the memory already.
    pub(super) fn forget(&mut self, mark: Mark) {
        self.f.owned.truncate(mark.owned);
        self.f.top = mark.top;
    }

    fn give_back(&mut self, owned: Owned) {
        match owned {
            Owned::Memory(slot) => self.f.code.free(slot),
            Owned::Word(slot, ty) => self.drop_word(slot, ty),
            Owned::Variable(name) => self.drop_variable(name),
            Owned::Watched(slot) => self.f.code.unwatch(slot),
        }
    }

    /// Ends the function being made.
    pub(super) fn finish_function(&mut self, id: FunctionId) {
        self.tell_ends(0, Vec::new());
        let f = std::mem::take(&mut self.f);
        if f.peak > SLOTS_MAX {
            let message = "this program needs too large a frame; declare large arrays in called PROCs";
            let complaint = Diagnostic::new(crate::diag::Code::NotSupported, Span::default(), message);
            self.diagnostics.push(complaint);
        }
        self.module.define(id, f.code, f.peak.clamp(2, SLOTS_MAX + 500));
    }

    /// Begins a function, with the machine's slots taken; gives the one that was being made.
    pub(super) fn begin_function(&mut self, alts: u32) -> Function {
        let before = std::mem::take(&mut self.f);
        self.f.top = 2;
        self.f.peak = 2;
        self.f.alts = Vec::with_capacity(alts as usize);
        before
    }

    /// Takes and zeroes the states of the function's ALTs, once parameters are bound.
    pub(super) fn reserve_alts(&mut self, alts: u32) {
        if alts == 0 {
            return;
        }
        let first = self.slots(6 * alts);
        self.f.alts = (0..alts).rev().map(|at| first.saturating_add((6 * at) as Slot)).collect();
        self.f.code.zero(first, (24 * alts) as i32);
    }

    /// The address of a slot of this frame.
    pub(super) fn address_of_slot(&mut self, slot: Slot) -> Slot {
        let at = self.slot();
        self.f.code.addr(at, i32::from(slot) * 4);
        at
    }

    /// `to := from + constant`, for addresses.
    pub(super) fn plus(&mut self, to: Slot, from: Slot, constant: u32) {
        if let Ok(small) = i16::try_from(constant) {
            self.f.code.plus_i(to, from, i32::from(small));
        } else {
            let mark = self.mark();
            let temporary = self.slot();
            self.f.code.ldi(temporary, constant as i32);
            self.f.code.plus(to, from, temporary);
            self.release(mark);
        }
    }

    /// A size in a slot.
    pub(super) fn dim(&mut self, dim: Dim) -> Slot {
        match dim {
            Dim::Slot(slot) => slot,
            Dim::Const(size) => {
                let slot = self.slot();
                self.f.code.ldi(slot, size as i32);
                slot
            }
        }
    }
}
