//! Owns: specifications: variables, channels, abbreviations, RETYPES.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: emits anything for a name that is constant.

use super::Lowerer;
use super::function::{Dim, Home, Owned, View};
use super::place::Storage;
use super::shape::{BARRIER_WORDS, Shape, channel_bytes};
use crate::ast::{ExprId, Mode, Renaming, SpecId, SpecKind, TypeNodeId};
use crate::program::NameId;
use crate::types::TypeId;

impl Lowerer<'_> {
    pub(super) fn specs(&mut self, specs: &[SpecId]) {
        for &spec in specs {
            self.spec(spec);
        }
    }

    pub(super) fn spec(&mut self, id: SpecId) {
        let ast = self.ast;
        let spec = ast.spec(id);
        match &spec.kind {
            SpecKind::Declare { names, .. } => {
                for name in self.program.declared(id, names.len()) {
                    self.declare(name);
                    self.watch(name);
                }
            }
            &SpecKind::Abbreviate { mode, renaming, value, ty, .. } => {
                self.at(spec.span);
                let name = NameId(self.program.spec_names[id.0 as usize].0);
                self.abbreviate(name, mode, renaming, value, ty);
                self.watch(name);
            }
            SpecKind::Proc { .. } | SpecKind::Function { .. } | SpecKind::Foreign { .. } => {
                let name = self.program.spec_names[id.0 as usize];
                if let Some(routine) = self.program.routine_of(name) {
                    self.routine(routine);
                }
            }
            _ => {}
        }
    }

    /// Gives a variable its place, and nothing in it.
    pub(super) fn declare(&mut self, name: NameId) {
        let ty = self.program.name(name).ty;
        let home = match self.shape(ty) {
            Shape::Scalar(class) => {
                let slot = self.slots(class.slots());
                match class.slots() {
                    1 => self.f.code.ldi(slot, 0),
                    _ => self.f.code.ldi_l(slot, 0),
                }
                Home::Slot(slot)
            }
            Shape::Mobile(_) | Shape::End(_) => {
                let slot = self.slot();
                self.f.code.ldi(slot, 0);
                self.f.owned.push(Owned::Variable(name));
                Home::Slot(slot)
            }
            Shape::Chan(shared) => {
                let words = channel_bytes(shared) / 4;
                let slot = self.slots(1 + words);
                self.f.code.addr(slot, (i32::from(slot) + 1) * 4);
                self.f.code.zero(slot + 1, (words * 4) as i32);
                Home::Slot(slot)
            }
            Shape::Barrier => Home::Slot(self.new_barrier()),
            Shape::Array if matches!(self.shape(self.innermost(ty)), Shape::Chan(_) | Shape::Barrier) => {
                Home::View(self.blocks(ty))
            }
            Shape::Array if self.shape(self.innermost(ty)) == Shape::Timer => return,
            Shape::Array | Shape::Record(_) => {
                let dims = self.const_dims(ty).unwrap_or_default();
                let room = self.room(ty, dims, true);
                if self.holds_mobiles(ty) {
                    self.f.owned.push(Owned::Variable(name));
                }
                Home::View(room)
            }
            Shape::Timer | Shape::Other => return,
        };
        self.f.homes.insert(name, home);
    }

    /// An array of channels or barriers: their blocks, and the array of the blocks' addresses.
    fn blocks(&mut self, ty: TypeId) -> View {
        let innermost = self.innermost(ty);
        let (bytes, is_barrier) = match self.shape(innermost) {
            Shape::Chan(shared) => (channel_bytes(shared), false),
            _ => (4 * BARRIER_WORDS, true),
        };
        let dims = self.const_dims(ty).unwrap_or_default();
        let count: u32 = dims.iter().map(|dim| if let Dim::Const(size) = dim { *size } else { 0 }).product();
        let addresses = self.room(ty, dims, false);
        let blocks = self.slot();
        if count * bytes <= 512 {
            let first = self.slots(count * bytes / 4);
            self.f.code.addr(blocks, i32::from(first) * 4);
            self.f.code.zero(first, (count * bytes) as i32);
        } else {
            self.f.code.alloc_i(blocks, (count * bytes) as i32);
            self.f.owned.push(Owned::Memory(blocks));
        }
        if count == 0 {
            return addresses;
        }
        let mark = self.mark();
        let (to, block, left, one) = (self.slot(), self.slot(), self.slot(), self.slot());
        self.f.code.mov(to, addresses.at);
        self.f.code.mov(block, blocks);
        self.f.code.ldi(left, count as i32);
        self.f.code.ldi(one, 1);
        let again = self.f.code.label();
        self.f.code.bind(again);
        self.f.code.str_w(block, to, 0);
        if is_barrier {
            // One member, who has not come.
            self.f.code.str_w(one, block, 0);
            self.f.code.str_w(one, block, 4);
        }
        self.f.code.plus_i(to, to, 4);
        self.f.code.plus_i(block, block, bytes as i32);
        self.f.code.add_i(left, left, -1);
        self.f.code.jnz(left, again);
        self.release(mark);
        addresses
    }

    fn abbreviate(
        &mut self,
        name: NameId,
        mode: Mode,
        renaming: Renaming,
        value: ExprId,
        written: Option<TypeNodeId>,
    ) {
        if self.program.values.contains_key(&name.0) || self.constant_of(name).is_some() {
            return;
        }
        let ty = self.program.name(name).ty;
        let home = match (mode, renaming) {
            (_, Renaming::Retypes | Renaming::Reshapes) => self.retyped(name, mode, value, ty, written),
            (Mode::Initial, _) => return self.initial(name, value, ty),
            (Mode::Val, _) => self.val(value, ty),
            _ => self.reference(value, ty),
        };
        if let Some(home) = home {
            self.f.homes.insert(name, home);
        }
    }

    fn val(&mut self, value: ExprId, ty: TypeId) -> Option<Home> {
        match self.shape(ty) {
            Shape::Scalar(class) => {
                // A value's own name stays as it is while the abbreviation is in scope, by rule A2.
                let name = self.plain_name(value);
                if let Some(name) = name
                    && !self.is_mobile(value)
                    && let Some(Home::Slot(slot)) = self.home(name)
                {
                    return Some(Home::Slot(*slot));
                }
                let slot = self.slots(class.slots());
                self.scalar_into(value, slot);
                Some(Home::Slot(slot))
            }
            Shape::Array | Shape::Record(_) => {
                let view = self.view(value);
                Some(Home::View(self.typed(view, ty)))
            }
            Shape::Mobile(_) | Shape::End(_) if self.makes_mobile(value) => {
                Some(Home::Slot(self.made_word(value)))
            }
            Shape::Mobile(_) | Shape::End(_) => self.reference(value, ty),
            _ => None,
        }
    }

    /// A view with the sizes that its type tells, which are checked.
    fn typed(&mut self, view: View, ty: TypeId) -> View {
        self.check_passed(&view, ty);
        let sizes = self.type_dims(ty);
        let dims = view.dims.iter().zip(sizes).map(|(&dim, size)| size.map_or(dim, Dim::Const)).collect();
        View { dims, ..view }
    }

    pub(super) fn reference(&mut self, value: ExprId, ty: TypeId) -> Option<Home> {
        match self.shape(ty) {
            Shape::Array | Shape::Record(_) => {
                let view = self.view(value);
                Some(Home::View(self.typed(view, ty)))
            }
            Shape::Chan(_) | Shape::Barrier if self.word_of(value).is_some() => {
                self.word_of(value).map(Home::At)
            }
            Shape::Chan(_) => {
                let channel = self.channel(value);
                Some(Home::Slot(channel))
            }
            Shape::Barrier => Some(Home::Slot(self.barrier(value))),
            Shape::Timer | Shape::Other => None,
            shape => {
                if self.is_mobile(value) && !matches!(shape, Shape::Mobile(_)) {
                    return Some(Home::At(self.mobile_address(value)));
                }
                let place = self.place(value);
                if let Storage::Slot(slot) = place {
                    return Some(Home::Slot(slot));
                }
                let bytes = shape.class().map_or(4, super::shape::Class::bytes);
                let address = self.address(&place, bytes);
                Some(Home::At(address))
            }
        }
    }

    fn initial(&mut self, name: NameId, value: ExprId, ty: TypeId) {
        match self.shape(ty) {
            Shape::Scalar(class) => {
                let slot = self.slots(class.slots());
                self.scalar_into(value, slot);
                self.f.homes.insert(name, Home::Slot(slot));
            }
            Shape::Mobile(_) | Shape::End(_) => {
                let slot = self.slot();
                let mark = self.mark();
                let from = self.mobile_value(value, ty);
                self.f.code.mov(slot, from);
                self.release(mark);
                self.f.homes.insert(name, Home::Slot(slot));
                self.f.owned.push(Owned::Variable(name));
            }
            Shape::Array | Shape::Record(_) => {
                let from = self.view(value);
                let from = self.typed(from, ty);
                let room = self.room(ty, from.dims.clone(), false);
                self.copy_view(&room, &from, ty);
                self.f.homes.insert(name, Home::View(room));
            }
            _ => {}
        }
    }
}
