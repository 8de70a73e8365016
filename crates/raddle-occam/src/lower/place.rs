//! Owns: where expressions that name something find it: loading, storing, addresses.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: evaluates operators.

use super::constant::Constant;
use super::function::{Dim, Home, View};
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ExprKind};
use crate::program::NameId;

/// Where something lies.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Storage {
    /// In slots.
    Slot(Slot),
    /// At the address in the slot, so many bytes further on.
    Memory(Slot, u32),
    /// An element of the array whose address and count stand in the slots; the subscript is not checked yet.
    Element(Slot, Slot),
    /// An array or record.
    View(View),
}

impl Lowerer<'_> {
    /// Where an expression's value lies, or is put.
    pub(super) fn place(&mut self, expr: ExprId) -> Storage {
        let ast = self.ast;
        match &ast.expr(expr).kind {
            ExprKind::Name(_) => self.place_of_name(self.program.name_of(expr)),
            &ExprKind::Index { base, index } => self.place_of_element(expr, base, index),
            &ExprKind::Slice { base, from, count } => Storage::View(self.slice(base, from, count)),
            &ExprKind::End(of, _) | &ExprKind::Clone(of) => self.place(of),
            _ => match self.shape(self.program.type_of(expr)) {
                Shape::Array | Shape::Record(_) => Storage::View(self.made(expr)),
                _ => {
                    let slot = self.scalar(expr);
                    Storage::Slot(slot)
                }
            },
        }
    }

    fn place_of_name(&mut self, name: NameId) -> Storage {
        match self.home(name) {
            Some(&Home::Slot(slot)) => return Storage::Slot(slot),
            Some(&Home::At(slot)) => return Storage::Memory(slot, 0),
            Some(Home::View(view)) => return Storage::View(view.clone()),
            None => {}
        }
        match self.constant_of(name) {
            Some(Constant::Data(at, dims)) => Storage::View(self.data_view(at, dims)),
            Some(Constant::Scalar(bits)) => {
                let shape = self.shape(self.program.name(name).ty);
                let class = shape.class().unwrap_or(Class::Word);
                let slot = self.slots(class.slots());
                self.load_bits(slot, class, bits);
                Storage::Slot(slot)
            }
            None => {
                let message = format!("`{}` is not supported here yet", self.program.spelling(name));
                self.refuse(self.program.name(name).span, message);
                Storage::Slot(2)
            }
        }
    }

    fn place_of_element(&mut self, expr: ExprId, base: ExprId, index: ExprId) -> Storage {
        let of = self.content(self.program.type_of(base));
        match self.shape(of) {
            Shape::Record(record) => {
                let view = self.view(base);
                self.field_of(&view, record, index)
            }
            Shape::End(bundle) => {
                let end = self.end_value(base);
                let slot = self.bundle_channel(end, bundle, index);
                Storage::Slot(slot)
            }
            _ => {
                let view = self.view(base);
                let element = self.program.type_of(expr);
                self.element_of(&view, of, element, index)
            }
        }
    }

    fn field_of(&mut self, view: &View, record: u32, index: ExprId) -> Storage {
        let ExprKind::Name(symbol) = self.ast.expr(index).kind else { return Storage::Memory(view.at, 0) };
        let Some((offset, ty)) = super::shape::field(&self.program.types, record, symbol) else {
            return Storage::Memory(view.at, 0);
        };
        match self.shape(ty) {
            Shape::Array | Shape::Record(_) => {
                let dims = self.const_dims(ty).unwrap_or_default();
                let frame = view.frame.filter(|_| offset % 4 == 0).map(|slot| slot + (offset / 4) as Slot);
                Storage::View(self.view_at(view.at, offset, dims, frame))
            }
            shape => match view.frame {
                Some(slot) if offset % 4 == 0 && shape.class().is_some_and(|class| class.bytes() >= 4) => {
                    Storage::Slot(slot + (offset / 4) as Slot)
                }
                _ => Storage::Memory(view.at, offset),
            },
        }
    }

    /// A view of what lies some bytes behind an address.
    pub(super) fn view_at(&mut self, at: Slot, offset: u32, dims: Vec<Dim>, frame: Option<Slot>) -> View {
        if offset == 0 && dims.is_empty() {
            return View { at, dims, frame };
        }
        let to = self.slots(if dims.is_empty() { 1 } else { 2 });
        match offset {
            0 => self.f.code.mov(to, at),
            _ => self.plus(to, at, offset),
        }
        self.set_count(to, &dims);
        View { at: to, dims, frame }
    }

    /// Puts the first size behind an address.
    pub(super) fn set_count(&mut self, at: Slot, dims: &[Dim]) {
        match dims.first() {
            Some(&Dim::Const(count)) => self.f.code.ldi(at + 1, count as i32),
            Some(&Dim::Slot(slot)) if slot != at + 1 => self.f.code.mov(at + 1, slot),
            _ => {}
        }
    }

    /// The place of an array or record.
    pub(super) fn place_view(&mut self, expr: ExprId) -> View {
        match self.place(expr) {
            Storage::View(view) => view,
            Storage::Memory(at, offset) => self.view_at(at, offset, Vec::new(), None),
            Storage::Slot(at) => View { at, dims: Vec::new(), frame: None },
            Storage::Element(at, index) => {
                let address = self.element_address(at, index, 4);
                View { at: address, dims: Vec::new(), frame: None }
            }
        }
    }

    pub(super) fn load(&mut self, place: &Storage, class: Class, to: Slot) {
        let code = &mut self.f.code;
        match *place {
            Storage::Slot(from) if class == Class::Half => code.wrap_h(to, from),
            Storage::Slot(from) if class == Class::UHalf => self.low_half(to, from),
            Storage::Slot(from) => self.move_slots(to, from, class),
            Storage::Memory(at, offset) => self.load_at(at, offset, class, to),
            Storage::Element(at, index) => match class {
                Class::Bool | Class::Byte => code.ald_b(to, at, index),
                Class::Half => code.ald_h(to, at, index),
                Class::UHalf => {
                    code.ald_h(to, at, index);
                    self.low_half(to, to);
                }
                Class::Word | Class::UWord | Class::Real => code.ald_w(to, at, index),
                Class::Long | Class::ULong | Class::Double => code.ald_l(to, at, index),
            },
            Storage::View(ref view) => self.load_at(view.at, 0, class, to),
        }
    }

    pub(super) fn move_slots(&mut self, to: Slot, from: Slot, class: Class) {
        match class.slots() {
            1 if to != from => self.f.code.mov(to, from),
            2 if to != from => self.f.code.mov_l(to, from),
            _ => {}
        }
    }

    pub(super) fn load_at(&mut self, at: Slot, offset: u32, class: Class, to: Slot) {
        let (at, offset) = self.reachable(at, offset);
        let code = &mut self.f.code;
        match class {
            Class::Bool | Class::Byte => code.ldr_b(to, at, offset),
            Class::Half => code.ldr_h(to, at, offset),
            Class::UHalf => {
                code.ldr_h(to, at, offset);
                self.low_half(to, to);
            }
            Class::Word | Class::UWord | Class::Real => code.ldr_w(to, at, offset),
            Class::Long | Class::ULong | Class::Double => code.ldr_l(to, at, offset),
        }
    }

    /// An offset that fits into an instruction.
    fn reachable(&mut self, at: Slot, offset: u32) -> (Slot, i32) {
        if offset < 0x1_0000 {
            return (at, offset as i32);
        }
        let far = self.slot();
        self.plus(far, at, offset);
        (far, 0)
    }

    pub(super) fn store(&mut self, place: &Storage, class: Class, from: Slot) {
        let code = &mut self.f.code;
        match *place {
            Storage::Slot(to) => self.move_slots(to, from, class),
            Storage::Memory(at, offset) => self.store_at(at, offset, class, from),
            Storage::Element(at, index) => match class {
                Class::Bool | Class::Byte => code.ast_b(from, at, index),
                Class::Half | Class::UHalf => code.ast_h(from, at, index),
                Class::Word | Class::UWord | Class::Real => code.ast_w(from, at, index),
                Class::Long | Class::ULong | Class::Double => code.ast_l(from, at, index),
            },
            Storage::View(ref view) => self.store_at(view.at, 0, class, from),
        }
    }

    pub(super) fn store_at(&mut self, at: Slot, offset: u32, class: Class, from: Slot) {
        let (at, offset) = self.reachable(at, offset);
        let code = &mut self.f.code;
        match class {
            Class::Bool | Class::Byte => code.str_b(from, at, offset),
            Class::Half | Class::UHalf => code.str_h(from, at, offset),
            Class::Word | Class::UWord | Class::Real => code.str_w(from, at, offset),
            Class::Long | Class::ULong | Class::Double => code.str_l(from, at, offset),
        }
    }

    /// The address of what lies there.
    pub(super) fn address(&mut self, place: &Storage, bytes: u32) -> Slot {
        match *place {
            Storage::Slot(slot) => self.address_of_slot(slot),
            Storage::Memory(at, 0) => at,
            Storage::Memory(at, offset) => {
                let to = self.slot();
                self.plus(to, at, offset);
                to
            }
            Storage::Element(at, index) => self.element_address(at, index, bytes),
            Storage::View(ref view) => view.at,
        }
    }

    /// The address of element `index`, checked, of an array of elements of so many bytes.
    pub(super) fn element_address(&mut self, at: Slot, index: Slot, bytes: u32) -> Slot {
        let to = self.slot();
        self.f.code.ldi(to, bytes as i32);
        self.f.code.elem(to, at, index);
        to
    }
}
