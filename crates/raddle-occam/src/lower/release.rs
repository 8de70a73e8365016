//! Owns: giving mobiles and ends of bundles back, by themselves and within arrays and records.
//! May use: `program`, `types`.
//! Never: gives back what is only passed by reference.

use super::function::View;
use super::shape::Shape;
use super::{Lowerer, Slot, shape};
use crate::program::NameId;
use crate::types::TypeId;

impl Lowerer<'_> {
    /// Whether there are mobiles or ends within values of that type.
    pub(super) fn holds_mobiles(&self, ty: TypeId) -> bool {
        match self.shape(ty) {
            Shape::Mobile(_) | Shape::End(_) => true,
            Shape::Array => self.holds_mobiles(self.innermost(ty)),
            Shape::Record(record) => {
                shape::fields(&self.program.types, record).iter().any(|&(_, ty)| self.holds_mobiles(ty))
            }
            _ => false,
        }
    }

    /// Does something with the address of every mobile or end in an array or record.
    pub(super) fn each_word(
        &mut self,
        view: &View,
        ty: TypeId,
        work: &mut dyn FnMut(&mut Self, Slot, TypeId),
    ) {
        match self.shape(ty) {
            Shape::Array => {
                let innermost = self.innermost(ty);
                let bytes = self.size(innermost);
                let dims = view.dims.clone();
                let (at, left) = (self.slot(), self.slot());
                self.f.code.mov(at, view.at);
                self.f.code.ldi(left, 1);
                for dim in dims {
                    let mark = self.mark();
                    let size = self.dim(dim);
                    self.f.code.times(left, left, size);
                    self.release(mark);
                }
                let (again, done) = (self.f.code.label(), self.f.code.label());
                self.f.code.bind(again);
                self.f.code.jz(left, done);
                let one = View { at, dims: Vec::new(), frame: None };
                self.each_word(&one, innermost, work);
                self.plus(at, at, bytes);
                self.f.code.add_i(left, left, -1);
                self.f.code.jump(again);
                self.f.code.bind(done);
            }
            Shape::Record(record) => {
                for (offset, field) in shape::fields(&self.program.types, record) {
                    if self.holds_mobiles(field) {
                        let dims = self.const_dims(field).unwrap_or_default();
                        let part = self.view_at(view.at, offset, dims, None);
                        self.each_word(&part, field, work);
                    }
                }
            }
            Shape::Mobile(_) | Shape::End(_) => {
                let mark = self.mark();
                work(self, view.at, ty);
                self.release(mark);
            }
            _ => {}
        }
    }

    /// Gives back a mobile or end whose address stands in the slot, and what is in it.
    pub(super) fn drop_word(&mut self, slot: Slot, ty: TypeId) {
        let mark = self.mark();
        if self.is_mobile_barrier(ty) {
            return self.drop_barrier(slot);
        }
        if self.program.types.process_type(ty).is_some() {
            return self.drop_process(slot);
        }
        let none = self.f.code.label();
        match self.shape(ty) {
            Shape::Mobile(of) => {
                if self.holds_mobiles(of) {
                    self.f.code.jz(slot, none);
                    let view = self.mobile_view(slot, of);
                    self.drop_words(&view, of);
                }
                self.f.code.bind(none);
                self.f.code.free(slot);
            }
            _ => {
                self.f.code.jz(slot, none);
                let count = self.slot();
                self.f.code.dec(count, slot);
                self.f.code.jnz(count, none);
                self.f.code.free(slot);
                self.f.code.bind(none);
            }
        }
        self.release(mark);
    }

    pub(super) fn drop_words(&mut self, view: &View, ty: TypeId) {
        self.each_word(view, ty, &mut |lowerer, at, ty| {
            let slot = lowerer.slot();
            lowerer.f.code.ldr_w(slot, at, 0);
            lowerer.drop_word(slot, ty);
        });
    }

    /// Gives back what a variable still holds at the end of its scope.
    pub(super) fn drop_variable(&mut self, name: NameId) {
        let ty = self.program.name(name).ty;
        match self.home(name).cloned() {
            Some(super::function::Home::Slot(slot)) => self.drop_word(slot, ty),
            Some(super::function::Home::View(view)) => {
                let mark = self.mark();
                self.drop_words(&view, ty);
                self.release(mark);
            }
            _ => {}
        }
    }
}
