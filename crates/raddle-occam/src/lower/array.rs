//! Owns: elements, rows and slices of arrays; copying them.
//! May use: `types`, `raddle-occam-syntax`.
//! Never: makes arrays; `table` does.

use super::function::{Dim, View};
use super::place::Storage;
use super::shape::Shape;
use super::{Lowerer, Slot};
use crate::ast::ExprId;
use crate::types::TypeId;

impl Lowerer<'_> {
    /// The place of an element: `of` is the array's type, `element` that of the element.
    pub(super) fn element_of(&mut self, view: &View, of: TypeId, element: TypeId, index: ExprId) -> Storage {
        let shape = self.shape(element);
        if let Some(class) = shape.class() {
            if let (Some(frame), Some(at), Some(&Dim::Const(count))) =
                (view.frame, self.fold(index), view.dims.first())
                && (0..i64::from(count)).contains(&at)
                && class.bytes() >= 4
            {
                return Storage::Slot(frame + (at as u32 * class.slots()) as Slot);
            }
            let index = self.scalar(index);
            return Storage::Element(view.at, index);
        }
        let index = self.scalar(index);
        let rest = view.dims.get(1..).unwrap_or_default().to_vec();
        let bytes = self.stride(&rest, of);
        let to = self.slots(if rest.is_empty() { 1 } else { 2 });
        match bytes {
            Dim::Const(bytes) => self.f.code.ldi(to, bytes as i32),
            Dim::Slot(slot) => self.f.code.mov(to, slot),
        }
        self.f.code.elem(to, view.at, index);
        self.set_count(to, &rest);
        Storage::View(View { at: to, dims: rest, frame: None })
    }

    /// Bytes of one element with these further dimensions; `ty` is any array type around it.
    pub(super) fn stride(&mut self, dims: &[Dim], ty: TypeId) -> Dim {
        let innermost = self.innermost(ty);
        let mut bytes = self.size(innermost);
        let mut counts = Vec::new();
        for &dim in dims {
            match dim {
                Dim::Const(count) => bytes = bytes.saturating_mul(count),
                Dim::Slot(slot) => counts.push(slot),
            }
        }
        let Some((&first, rest)) = counts.split_first() else { return Dim::Const(bytes) };
        let total = self.slot();
        if let Ok(small) = i16::try_from(bytes) {
            self.f.code.mul_i(total, first, i32::from(small));
        } else {
            self.f.code.ldi(total, bytes as i32);
            self.f.code.mul(total, total, first);
        }
        for &count in rest {
            self.f.code.mul(total, total, count);
        }
        Dim::Slot(total)
    }

    /// Bytes of a whole array or record of that type.
    pub(super) fn view_bytes(&mut self, view: &View, ty: TypeId) -> Dim {
        let dims = view.dims.clone();
        self.stride(&dims, ty)
    }

    /// `[base FROM from FOR count]`.
    pub(super) fn slice(&mut self, base: ExprId, from: Option<ExprId>, count: Option<ExprId>) -> View {
        let ty = self.content(self.program.type_of(base));
        let view = self.view(base);
        let mut dims = view.dims.clone();
        let Some(&whole) = dims.first() else { return view };
        let to = self.slots(2);
        let first = from.map(|from| (self.fold(from), from));
        let counted = count.and_then(|count| self.fold(count));
        let fixed = match (first, whole) {
            (None, _) => Some(0),
            (Some((Some(first), _)), _) => Some(first),
            _ => None,
        };
        let start = match first {
            None => self.dim(Dim::Const(0)),
            Some((_, from)) => self.scalar(from),
        };
        match count {
            Some(count) => self.scalar_into(count, to + 1),
            None => self.f.code.sub(to + 1, view.at + 1, start),
        }
        let inside = match (fixed, counted, whole) {
            (Some(first), Some(count), Dim::Const(whole)) => {
                first >= 0 && count >= 0 && first + count <= i64::from(whole)
            }
            _ => false,
        };
        if !inside {
            self.f.code.chk_slice(start, to + 1, view.at + 1);
        }
        let rest = dims[1..].to_vec();
        let bytes = self.stride(&rest, ty);
        let bytes = self.dim(bytes);
        self.f.code.times(to, start, bytes);
        self.f.code.plus(to, view.at, to);
        dims[0] = match counted {
            Some(count) => Dim::Const(count as u32),
            None => Dim::Slot(to + 1),
        };
        View { at: to, dims, frame: None }
    }

    /// Traps unless two arrays have equal sizes, where that is not known.
    pub(super) fn same_sizes(&mut self, left: &View, right: &View) {
        for (&left, &right) in left.dims.iter().zip(&right.dims) {
            if let (Dim::Const(left), Dim::Const(right)) = (left, right)
                && left == right
            {
                continue;
            }
            if left != right {
                let (left, right) = (self.dim(left), self.dim(right));
                self.f.code.chk_size(left, right);
            }
        }
    }

    /// Copies a whole array or record of that type.
    pub(super) fn copy_view(&mut self, to: &View, from: &View, ty: TypeId) {
        self.same_sizes(to, from);
        match self.view_bytes(from, ty) {
            Dim::Const(0) => {}
            Dim::Const(bytes) if bytes < 0x8000 => self.f.code.copy_i(to.at, from.at, bytes as i32),
            bytes => {
                let bytes = self.dim(bytes);
                self.f.code.copy(to.at, from.at, bytes);
            }
        }
    }

    /// Room for a value of that type with these sizes: in the frame if it is small and of known size.
    pub(super) fn room(&mut self, ty: TypeId, dims: Vec<Dim>, zeroed: bool) -> View {
        const FRAME_BYTES_MAX: u32 = 1024;
        let at = self.slots(if dims.is_empty() { 1 } else { 2 });
        self.set_count(at, &dims);
        let mut view = View { at, dims, frame: None };
        match self.view_bytes(&view, ty) {
            Dim::Const(bytes) if bytes <= FRAME_BYTES_MAX => {
                let slots = bytes.div_ceil(4);
                let first = self.slots(slots);
                self.f.code.addr(at, i32::from(first) * 4);
                if zeroed && slots > 0 {
                    self.f.code.zero(first, (slots * 4) as i32);
                }
                view.frame = Some(first);
            }
            bytes => {
                match bytes {
                    Dim::Const(bytes) => self.f.code.alloc_i(at, bytes as i32),
                    Dim::Slot(bytes) => self.f.code.alloc(at, bytes),
                }
                self.f.owned.push(super::function::Owned::Memory(at));
            }
        }
        view
    }

    /// Whether values of that type lie in memory.
    pub(super) fn in_memory(&self, ty: TypeId) -> bool {
        matches!(self.shape(ty), Shape::Array | Shape::Record(_))
    }
}
