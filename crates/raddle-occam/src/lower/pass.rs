//! Owns: how parameters and outer names are passed: not at all, by value, by address, as a view.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: evaluates an argument; `call` does.

use super::function::{Dim, Home, View};
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::Mode;
use crate::program::{NameId, NameKind, RoutineId};
use crate::types::TypeId;

/// How something is passed.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Pass {
    /// Not at all.
    Nothing,
    /// Its value.
    Value(Class),
    /// Its address.
    Address,
    /// Its address and sizes; so many dimensions beside the first are not known from its type.
    View(u32),
}

impl Pass {
    pub(super) fn slots(&self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Value(class) => class.slots(),
            Self::Address => 1,
            Self::View(open) => 2 + open,
        }
    }
}

impl Lowerer<'_> {
    pub(super) fn pass(&self, ty: TypeId, by_value: bool) -> Pass {
        match self.shape(ty) {
            Shape::Scalar(class) if by_value => Pass::Value(class),
            Shape::Mobile(_) | Shape::End(_) if by_value => Pass::Value(Class::Word),
            Shape::Scalar(_) | Shape::Mobile(_) | Shape::End(_) | Shape::Record(_) => Pass::Address,
            Shape::Chan(_) | Shape::Barrier => Pass::Value(Class::Word),
            Shape::Array if self.shape(self.innermost(ty)) == Shape::Timer => Pass::Nothing,
            Shape::Array => {
                let open = self.type_dims(ty).iter().skip(1).filter(|size| size.is_none()).count();
                Pass::View(open as u32)
            }
            Shape::Timer | Shape::Other => Pass::Nothing,
        }
    }

    /// How a parameter is passed.
    pub(super) fn pass_formal(&self, formal: NameId) -> Pass {
        if self.is_lent(formal) {
            return Pass::Address;
        }
        let name = self.program.name(formal);
        let by_value = matches!(name.kind, NameKind::Formal(Mode::Val | Mode::Initial));
        self.pass(name.ty, by_value)
    }

    /// How a routine gets at an outer name.
    pub(super) fn pass_outer(&mut self, name: NameId, changed: bool) -> Pass {
        if self.program.values.contains_key(&name.0) || self.constant_of(name).is_some() {
            return Pass::Nothing;
        }
        if self.is_lent(name) {
            return Pass::Address;
        }
        let declared = self.program.name(name);
        let (ty, index) = (declared.ty, declared.kind == NameKind::Index);
        let scalar = matches!(self.shape(ty), Shape::Scalar(_));
        self.pass(ty, scalar && (!changed || index))
    }

    /// Whether results come back through addresses only.
    pub(super) fn results_by_address(&self, routine: RoutineId, ty: TypeId) -> bool {
        self.program.routines[routine.0 as usize].recursive || self.in_memory(ty)
    }

    /// Passes the block that counts what a routine forks, and the outer names that it uses, from that slot on; gives
    /// the slot behind them.
    pub(super) fn pass_free(&mut self, routine: RoutineId, mut at: Slot) -> Slot {
        if self.free.forks(routine) {
            match self.f.forking {
                Some(block) => self.f.code.mov(at, block),
                None => {
                    self.refuse(self.program.name(self.name_of(routine)).span, "nothing counts what it forks")
                }
            }
            at += 1;
        }
        if self.is_part_of_process(routine) {
            match self.f.instance {
                Some(instance) => self.f.code.mov(at, instance),
                None => self.refuse(self.program.name(self.name_of(routine)).span, "nothing suspends here"),
            }
            at += 1;
        }
        for (name, changed) in self.free.of(routine).clone() {
            let pass = self.pass_outer(name, changed);
            let mark = self.mark();
            self.pass_name(name, &pass, at);
            self.release(mark);
            at += pass.slots() as Slot;
        }
        at
    }

    fn name_of(&self, routine: RoutineId) -> NameId {
        self.program.routines[routine.0 as usize].name
    }

    fn pass_name(&mut self, name: NameId, pass: &Pass, at: Slot) {
        match (pass, self.home(name).cloned()) {
            (Pass::Nothing, _) => {}
            (Pass::Value(class), Some(Home::Slot(slot))) => self.move_slots(at, slot, *class),
            (Pass::Value(class), Some(Home::At(slot))) => self.load_at(slot, 0, *class, at),
            (Pass::Address, Some(Home::Slot(slot))) => self.f.code.addr(at, i32::from(slot) * 4),
            (Pass::Address, Some(Home::At(slot))) => self.f.code.mov(at, slot),
            (Pass::Address, Some(Home::View(view))) => self.f.code.mov(at, view.at),
            (Pass::View(_), Some(Home::View(view))) => self.pass_view(&view, self.program.name(name).ty, at),
            _ => {
                let message =
                    format!("`{}` is not supported in a nested routine yet", self.program.spelling(name));
                self.refuse(self.program.name(name).span, message);
            }
        }
    }

    /// Address, first size, and the sizes that the type does not tell.
    pub(super) fn pass_view(&mut self, view: &View, ty: TypeId, at: Slot) {
        self.f.code.mov(at, view.at);
        let mut next = at + 1;
        for (number, size) in self.type_dims(ty).into_iter().enumerate() {
            if number > 0 && size.is_some() {
                continue;
            }
            match view.dims.get(number) {
                Some(&Dim::Const(size)) => self.f.code.ldi(next, size as i32),
                Some(&Dim::Slot(slot)) => self.f.code.mov(next, slot),
                None => {}
            }
            next += 1;
        }
    }
}
