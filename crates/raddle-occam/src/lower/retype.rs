//! Owns: RETYPES and RESHAPES: the same bytes as another type.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: a size that was not compared: of what the types do not tell, the machine compares the bytes.

use super::function::{Dim, Home, View};
use super::shape::Shape;
use super::{Lowerer, Slot};
use crate::ast::{ExprId, Mode, TypeKind, TypeNodeId};
use crate::program::{NameId, NameKind};
use crate::types::TypeId;

impl Lowerer<'_> {
    /// The same bytes as another type.
    pub(super) fn retyped(
        &mut self,
        name: NameId,
        mode: Mode,
        value: ExprId,
        ty: TypeId,
        written: Option<TypeNodeId>,
    ) -> Option<Home> {
        let from_ty = self.content(self.program.type_of(value));
        if self.program.types.is_channel_like(from_ty) {
            return self.reference(value, ty).or_else(|| self.home_of_value(value));
        }
        let (at, bytes) = self.bytes_at(value, from_ty);
        match self.shape(ty) {
            Shape::Scalar(class) => {
                if let Dim::Slot(bytes) = bytes {
                    let wanted = self.dim(Dim::Const(class.bytes()));
                    self.f.code.chk_size(bytes, wanted);
                }
                if mode != Mode::Val && mode != Mode::Initial {
                    return Some(Home::At(at));
                }
                let slot = self.slots(class.slots());
                self.load_at(at, 0, class, slot);
                Some(Home::Slot(slot))
            }
            Shape::Array | Shape::Record(_) => {
                let view = self.retyped_view(at, bytes, ty, written);
                if mode != Mode::Initial {
                    return Some(Home::View(view));
                }
                let room = self.room(ty, view.dims.clone(), false);
                self.copy_view(&room, &view, ty);
                Some(Home::View(room))
            }
            _ => {
                self.refuse(self.program.name(name).span, "this RETYPES is not supported yet");
                None
            }
        }
    }

    fn home_of_value(&mut self, value: ExprId) -> Option<Home> {
        let view = self.view(value);
        Some(Home::View(view))
    }

    /// Address and number of the bytes that a value consists of.
    fn bytes_at(&mut self, value: ExprId, ty: TypeId) -> (Slot, Dim) {
        if let Some(class) = self.shape(ty).class() {
            let address = if self.is_mobile(value) {
                self.mobile_address(value)
            } else if self.fold(value).is_none() && self.is_named(value) {
                let place = self.place(value);
                self.address(&place, class.bytes())
            } else {
                let slot = self.slots(class.slots());
                self.scalar_into(value, slot);
                self.address_of_slot(slot)
            };
            return (address, Dim::Const(class.bytes()));
        }
        let view = self.view(value);
        let bytes = self.view_bytes(&view, ty);
        (view.at, bytes)
    }

    fn is_named(&self, expr: ExprId) -> bool {
        use crate::ast::ExprKind::{Index, Name};
        matches!(self.ast.expr(expr).kind, Name(_) | Index { .. })
            && self
                .plain_name(expr)
                .is_none_or(|name| !matches!(self.program.name(name).kind, NameKind::Type))
    }

    fn retyped_view(&mut self, at: Slot, bytes: Dim, ty: TypeId, written: Option<TypeNodeId>) -> View {
        let (mut dims, open) = self.written_dims(ty, written);
        let to = self.slots(if dims.is_empty() { 1 } else { 2 });
        let each = self.stride(&dims, ty);
        if let Some(open) = open {
            dims[open] = match (bytes, each) {
                (Dim::Const(bytes), Dim::Const(each)) if bytes % each.max(1) == 0 => {
                    Dim::Const(bytes / each.max(1))
                }
                _ => {
                    let (bytes, each, count) = (self.dim(bytes), self.dim(each), self.slots(2));
                    self.f.code.div(count, bytes, each);
                    self.f.code.mul(count + 1, count, each);
                    self.f.code.chk_size(count + 1, bytes);
                    Dim::Slot(count)
                }
            };
        } else if !matches!((bytes, each), (Dim::Const(_), Dim::Const(_))) {
            let (bytes, each) = (self.dim(bytes), self.dim(each));
            self.f.code.chk_size(bytes, each);
        }
        self.f.code.mov(to, at);
        self.set_count(to, &dims);
        View { at: to, dims, frame: None }
    }

    /// The sizes of a type as written, and which of them is open; an open one counts as 1.
    fn written_dims(&mut self, ty: TypeId, written: Option<TypeNodeId>) -> (Vec<Dim>, Option<usize>) {
        let mut dims = Vec::new();
        let mut open = None;
        let mut node = written;
        for size in self.type_dims(ty) {
            let mut expr = None;
            if let Some(TypeKind::Array { size, element }) = node.map(|node| &self.ast.ty(node).kind) {
                (expr, node) = (*size, Some(*element));
            }
            dims.push(match (size, expr) {
                (Some(size), _) => Dim::Const(size),
                (None, Some(expr)) => {
                    let slot = self.slot();
                    self.scalar_into(expr, slot);
                    self.f.code.chk_count(slot);
                    Dim::Slot(slot)
                }
                (None, None) => {
                    open = Some(dims.len());
                    Dim::Const(1)
                }
            });
        }
        (dims, open)
    }
}
