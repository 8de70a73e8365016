//! Owns: values of expressions, into slots.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: changes the slot that a name lives in.

use super::function::{Home, View};
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{Direction, ExprId, ExprKind, Monadic};
use crate::program::NameId;
use crate::types::Type;

impl Lowerer<'_> {
    /// How an expression's value is held; mobiles count as what they hold.
    pub(super) fn class(&self, expr: ExprId) -> Class {
        let ty = self.content(self.program.type_of(expr));
        self.shape(ty).class().unwrap_or(Class::Word)
    }

    /// The value in some slot, which must not be changed.
    pub(super) fn scalar(&mut self, expr: ExprId) -> Slot {
        let class = self.class(expr);
        if let Some(slot) = self.own_slot(expr, class) {
            return slot;
        }
        let to = self.slots(class.slots());
        self.scalar_into(expr, to);
        to
    }

    /// The slot of a name whose value can be used where it is.
    fn own_slot(&mut self, expr: ExprId, class: Class) -> Option<Slot> {
        let ExprKind::Name(_) = self.ast.expr(expr).kind else { return None };
        if matches!(class, Class::Half | Class::UHalf) || self.is_mobile(expr) || self.fold(expr).is_some() {
            return None;
        }
        match self.home(self.program.name_of(expr))? {
            &Home::Slot(slot) => Some(slot),
            _ => None,
        }
    }

    pub(super) fn is_mobile(&self, expr: ExprId) -> bool {
        matches!(self.shape(self.program.type_of(expr)), Shape::Mobile(_))
    }

    /// The value, left in that slot (and the next).
    pub(super) fn scalar_into(&mut self, expr: ExprId, to: Slot) {
        let class = self.class(expr);
        if !matches!(class, Class::Real | Class::Double)
            && let Some(value) = self.fold(expr)
        {
            return self.load_bits(to, class, value as u64);
        }
        if matches!(class, Class::Real | Class::Double)
            && let Some(bits) = self.real_bits(expr, class)
        {
            return self.load_bits(to, class, bits);
        }
        let mark = self.mark();
        self.scalar_inner(expr, to, class);
        self.release(mark);
    }

    fn scalar_inner(&mut self, expr: ExprId, to: Slot, class: Class) {
        let ast = self.ast;
        match &ast.expr(expr).kind {
            ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::End(..) => {
                self.load_place(expr, to, class)
            }
            &ExprKind::Integer { value, .. } => self.load_bits(to, class, value),
            &ExprKind::Monadic(Monadic::Size, value) => self.count_of(value, to),
            &ExprKind::Monadic(operator, value) => self.monadic(expr, operator, value, to),
            &ExprKind::Dyadic(operator, left, right) => self.dyadic(expr, operator, left, right, to),
            &ExprKind::UserMonadic(_, value) => self.user_operator(expr, &[value], to),
            &ExprKind::UserDyadic(_, left, right) => self.user_operator(expr, &[left, right], to),
            &ExprKind::Convert { rounding, value, .. } => self.convert(class, rounding, value, to),
            &ExprKind::BytesIn(value) => self.bytes_in(value, to),
            &ExprKind::BytesInType(ty) | &ExprKind::SizeOfType(ty) => self.size_of_type(expr, ty, to),
            &ExprKind::OffsetOf(ty, field) => self.offset_of(ty, field, to),
            ExprKind::Call { arguments, .. } => {
                let name = self.program.name_of(expr);
                self.call_scalar(name, arguments, to, class, ast.expr(expr).span);
            }
            ExprKind::Valof(valof) => {
                self.valof_open(valof);
                self.scalar_into(valof.results[0], to);
            }
            &ExprKind::Clone(value) => self.scalar_into(value, to),
            &ExprKind::Defined(value) => self.defined(value, to),
            ExprKind::Bool(_) | ExprKind::Byte { .. } | ExprKind::Most { .. } => self.load_bits(to, class, 0),
            _ => self.refuse(ast.expr(expr).span, "this expression is not supported here yet"),
        }
    }

    fn load_place(&mut self, expr: ExprId, to: Slot, class: Class) {
        if self.is_mobile(expr) {
            let address = self.mobile_address(expr);
            let ty = self.content(self.program.type_of(expr));
            match self.shape(ty).class() {
                Some(_) => self.load_at(address, 0, class, to),
                None => self.f.code.mov(to, address),
            }
            return;
        }
        let place = self.place(expr);
        self.load(&place, class, to);
    }

    /// How many elements an array has, into a slot.
    fn count_of(&mut self, value: ExprId, to: Slot) {
        if let ExprKind::Name(_) = self.ast.expr(value).kind
            && self.program.name(self.program.name_of(value)).kind == crate::program::NameKind::Type
        {
            let count = self.type_dims(self.program.type_of(value)).first().copied().flatten();
            return self.f.code.ldi(to, count.unwrap_or(0) as i32);
        }
        let view = self.view(value);
        match view.dims.first() {
            Some(_) => self.f.code.mov(to, view.at + 1),
            None => self.f.code.ldi(to, 0),
        }
    }

    fn bytes_in(&mut self, value: ExprId, to: Slot) {
        let ty = self.content(self.program.type_of(value));
        if self.shape(ty) == Shape::Array {
            let view = self.view(value);
            let bytes = self.view_bytes(&view, ty);
            let bytes = self.dim(bytes);
            self.f.code.mov(to, bytes);
        } else {
            let bytes = self.size(ty);
            self.f.code.ldi(to, bytes as i32);
        }
    }

    fn size_of_type(&mut self, expr: ExprId, node: crate::ast::TypeNodeId, to: Slot) {
        let crate::ast::TypeKind::Array { size: Some(size), .. } = self.ast.ty(node).kind else {
            return self.refuse(self.ast.expr(expr).span, "the size of this type is not supported yet");
        };
        self.scalar_into(size, to);
    }

    fn offset_of(&mut self, node: crate::ast::TypeNodeId, field: crate::ast::Ident, to: Slot) {
        // The checker knows the type; only its name says which here.
        let found =
            self.record_named(node).and_then(|at| super::shape::field(&self.program.types, at, field.symbol));
        match found {
            Some((offset, _)) => self.f.code.ldi(to, offset as i32),
            None => self.refuse(field.span, "OFFSETOF is not supported for this type yet"),
        }
    }

    fn record_named(&self, node: crate::ast::TypeNodeId) -> Option<u32> {
        let crate::ast::TypeKind::Named(name) = self.ast.ty(node).kind else { return None };
        let records = &self.program.types.records;
        records.iter().rposition(|record| record.name == name.symbol).map(|at| at as u32)
    }

    /// The address of a channel, in some slot.
    pub(super) fn channel(&mut self, expr: ExprId) -> Slot {
        if let ExprKind::End(of, _) = self.ast.expr(expr).kind {
            return self.channel(of);
        }
        if let Some(slot) = self.own_slot(expr, Class::Word) {
            return slot;
        }
        let place = self.place(expr);
        let to = self.slot();
        self.load(&place, Class::Word, to);
        to
    }

    /// Where the lock of a shared end lies, into a fresh slot.
    pub(super) fn lock(&mut self, end: ExprId, used: Direction) -> Slot {
        let channel = self.end_address(end);
        let to = self.slot();
        let offset = super::shape::LOCKS + if used == Direction::Input { 0 } else { 4 };
        self.plus(to, channel, offset);
        to
    }

    /// The address of the block behind a channel or a bundle's end.
    pub(super) fn end_address(&mut self, end: ExprId) -> Slot {
        match self.program.types.get(self.program.type_of(end)) {
            Type::End { .. } => self.end_value(end),
            _ => self.channel(end),
        }
    }

    /// An array or record, wherever it lies or is made.
    pub(super) fn view(&mut self, expr: ExprId) -> View {
        let ty = self.program.type_of(expr);
        if let Shape::Mobile(of) = self.shape(ty) {
            let address = self.mobile_address(expr);
            return self.mobile_view(address, of);
        }
        self.place_view(expr)
    }

    /// The name that an expression is, if it is but one.
    pub(super) fn plain_name(&self, expr: ExprId) -> Option<NameId> {
        match self.ast.expr(expr).kind {
            ExprKind::Name(_) => Some(self.program.name_of(expr)).filter(|&name| name != NameId::NONE),
            _ => None,
        }
    }
}
