//! Owns: arrays and records that expressions make: tables, texts, constructors, results of calls.
//! May use: `types`, `raddle-occam-syntax`.
//! Never: leaves memory from the heap unowned.

use super::Slot;
use super::function::{Dim, View};
use super::place::Storage;
use super::shape::{Class, Shape};
use super::{Lowerer, shape};
use crate::ast::{ExprId, ExprKind, Replicator};
use crate::types::TypeId;

impl Lowerer<'_> {
    /// An array or record that an expression makes.
    pub(super) fn made(&mut self, expr: ExprId) -> View {
        let ast = self.ast;
        let ty = self.program.type_of(expr);
        if let Some(dims) = self.const_dims(ty)
            && let Some(bytes) = self.bytes_of(expr, ty)
        {
            let at = self.data_of(bytes);
            return self.data_view(at, dims);
        }
        match &ast.expr(expr).kind {
            ExprKind::Table { elements, .. } => self.table(elements, ty),
            ExprKind::Constructor { replicator, element } => self.constructor(replicator, *element, ty),
            ExprKind::Call { arguments, .. } => {
                let dims = self.const_dims(ty).unwrap_or_default();
                let room = self.room(ty, dims, false);
                let name = self.program.name_of(expr);
                self.call_into(name, arguments, &[Storage::View(room.clone())], ast.expr(expr).span);
                room
            }
            ExprKind::UserDyadic(_, left, right) | ExprKind::Dyadic(_, left, right) => {
                self.operator_view(expr, &[*left, *right], ty)
            }
            ExprKind::UserMonadic(_, value) | ExprKind::Monadic(_, value) => {
                self.operator_view(expr, &[*value], ty)
            }
            ExprKind::Valof(valof) => {
                self.valof_open(valof);
                self.view(valof.results[0])
            }
            &ExprKind::Convert { value, .. } | &ExprKind::Clone(value) => self.view(value),
            _ => {
                self.refuse(ast.expr(expr).span, "this array or record is not supported here yet");
                View { at: 2, dims: Vec::new(), frame: None }
            }
        }
    }

    fn operator_view(&mut self, expr: ExprId, operands: &[ExprId], ty: TypeId) -> View {
        let dims = self.const_dims(ty).unwrap_or_default();
        let room = self.room(ty, dims, false);
        let name = self.program.name_of(expr);
        let span = self.ast.expr(expr).span;
        self.call_into(name, operands, &[Storage::View(room.clone())], span);
        room
    }

    fn table(&mut self, elements: &[ExprId], ty: TypeId) -> View {
        let Some(dims) = self.const_dims(ty) else { return self.table_of_unsized(elements, ty) };
        let room = self.room(ty, dims.clone(), true);
        if let Shape::Record(record) = self.shape(ty) {
            for (&element, (offset, field)) in elements.iter().zip(shape::fields(&self.program.types, record))
            {
                self.put(&room, offset, element, field);
            }
        } else {
            let of = self.element(ty);
            let bytes = self.size(of);
            for (at, &element) in elements.iter().enumerate() {
                self.put(&room, at as u32 * bytes, element, of);
            }
        }
        room
    }

    /// A table whose elements are arrays with sizes known when it is made.
    fn table_of_unsized(&mut self, elements: &[ExprId], ty: TypeId) -> View {
        let of = self.element(ty);
        let mut dims = vec![Dim::Const(elements.len() as u32)];
        let views: Vec<View> = elements.iter().map(|&element| self.view(element)).collect();
        dims.extend(views.first().map(|view| view.dims.clone()).unwrap_or_default());
        let room = self.room(ty, dims, false);
        let to = self.slot();
        self.f.code.mov(to, room.at);
        for view in views {
            let bytes = self.view_bytes(&view, of);
            let bytes = self.dim(bytes);
            self.same_sizes(&View { at: to, dims: room.dims[1..].to_vec(), frame: None }, &view);
            self.f.code.copy(to, view.at, bytes);
            self.f.code.plus(to, to, bytes);
        }
        room
    }

    /// Stores a value so many bytes into a fresh array or record.
    fn put(&mut self, room: &View, offset: u32, value: ExprId, ty: TypeId) {
        let mark = self.mark();
        if self.in_memory(ty) {
            let dims = self.const_dims(ty).unwrap_or_default();
            let to = self.view_at(room.at, offset, dims, None);
            let from = self.view(value);
            self.copy_view(&to, &from, ty);
        } else {
            let (from, class) = self.word_or_value(value, ty);
            self.store_at(room.at, offset, class, from);
        }
        self.release(mark);
    }

    /// A value that is held in slots, to be stored in something of that type.
    pub(super) fn word_or_value(&mut self, value: ExprId, ty: TypeId) -> (Slot, Class) {
        match self.shape(ty) {
            Shape::Chan(_) => (self.channel(value), Class::Word),
            Shape::Mobile(_) | Shape::End(_) => (self.mobile_value(value, ty), Class::Word),
            Shape::Scalar(class) => (self.scalar(value), class),
            _ => (self.scalar(value), Class::Word),
        }
    }

    /// `[i = base FOR count | element]`.
    fn constructor(&mut self, replicator: &Replicator, element: ExprId, ty: TypeId) -> View {
        let of = self.element(ty);
        let count = match self.fold(replicator.count).and_then(|count| u32::try_from(count).ok()) {
            Some(count) => Dim::Const(count),
            None => {
                let count = self.scalar(replicator.count);
                self.f.code.chk_count(count);
                Dim::Slot(count)
            }
        };
        let mut dims = vec![count];
        match self.const_dims(of) {
            Some(more) => dims.extend(more),
            None => {
                self.refuse(self.ast.expr(element).span, "an element of unknown size is not supported yet")
            }
        }
        let room = self.room(ty, dims, false);
        let to = self.slot();
        self.f.code.mov(to, room.at);
        let bytes = self.size(of);
        self.replicated(replicator, |lowerer| {
            let here = View { at: to, dims: Vec::new(), frame: None };
            lowerer.put(&here, 0, element, of);
            lowerer.plus(to, to, bytes);
        });
        room
    }
}
