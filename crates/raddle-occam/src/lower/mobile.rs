//! Owns: mobiles and ends of bundles: making, moving, cloning, giving back.
//! May use: `types`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: looks at who owns what over calls; a reference to the variable is passed.
//!
//! A mobile is the address of its own memory, 0 when undefined. An array's memory begins with the size of each
//! dimension. A bundle's memory holds a count of its ends, the two locks, and the channels.

use super::function::{Dim, Owned, View};
use super::place::Storage;
use super::shape::{BUNDLE_CHANNELS, Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ExprKind, TypeNodeId};
use crate::types::{Type, TypeId};
use raddle_bytecode::Trap;

impl Lowerer<'_> {
    /// The address of a mobile's memory. One of known size that is undefined gets memory now.
    pub(super) fn mobile_address(&mut self, expr: ExprId) -> Slot {
        if self.makes_mobile(expr) {
            return self.made_word(expr);
        }
        let ty = self.program.type_of(expr);
        let address = self.slot();
        let place = self.place(expr);
        self.load(&place, Class::Word, address);
        let there = self.f.code.label();
        self.f.code.jnz(address, there);
        let of = self.content(ty);
        match self.const_dims(of) {
            Some(dims) => {
                let fresh = self.allocate(of, &dims);
                self.f.code.mov(address, fresh);
                self.store(&place, Class::Word, address);
            }
            None => self.f.code.trap(Trap::Undefined as i32),
        }
        self.f.code.bind(there);
        address
    }

    /// A mobile or end that an expression makes, which is given back with the scope.
    pub(super) fn made_word(&mut self, expr: ExprId) -> Slot {
        let ty = self.program.type_of(expr);
        let address = self.slot();
        let value = self.mobile_value(expr, ty);
        self.f.code.mov(address, value);
        self.f.owned.push(Owned::Word(address, ty));
        address
    }

    /// Whether an expression makes a mobile or end that no variable has.
    pub(super) fn makes_mobile(&self, expr: ExprId) -> bool {
        use ExprKind::{Call, Clone, NewMobile, Valof};
        matches!(self.ast.expr(expr).kind, NewMobile(_) | Call { .. } | Clone(_) | Valof(_))
            && matches!(self.shape(self.program.type_of(expr)), Shape::Mobile(_) | Shape::End(_))
    }

    /// The array or record in a mobile's memory.
    pub(super) fn mobile_view(&mut self, address: Slot, of: TypeId) -> View {
        let sizes = self.type_dims(of);
        if sizes.is_empty() {
            return View { at: address, dims: Vec::new(), frame: None };
        }
        let at = self.slots(2);
        self.plus(at, address, sizes.len() as u32 * 4);
        self.f.code.ldr_w(at + 1, address, 0);
        let mut dims = Vec::new();
        for (number, size) in sizes.into_iter().enumerate() {
            dims.push(match size {
                Some(size) => Dim::Const(size),
                None if number == 0 => Dim::Slot(at + 1),
                None => {
                    let slot = self.slot();
                    self.f.code.ldr_w(slot, address, number as i32 * 4);
                    Dim::Slot(slot)
                }
            });
        }
        View { at, dims, frame: None }
    }

    /// Fresh memory for a mobile of that type and these sizes.
    pub(super) fn allocate(&mut self, of: TypeId, dims: &[Dim]) -> Slot {
        let address = self.slot();
        let header = dims.len() as u32 * 4;
        self.must_be_possible(of, dims, header);
        match self.stride(dims, of) {
            Dim::Const(bytes) => self.f.code.alloc_i(address, header.saturating_add(bytes) as i32),
            Dim::Slot(bytes) => {
                let total = self.slot();
                self.plus(total, bytes, header);
                self.f.code.alloc(address, total);
            }
        }
        for (number, &dim) in dims.iter().enumerate() {
            let mark = self.mark();
            let size = self.dim(dim);
            self.f.code.str_w(size, address, number as i32 * 4);
            self.release(mark);
        }
        address
    }

    /// What no address can hold is a want of memory, not an overflow of the program's.
    fn must_be_possible(&mut self, of: TypeId, dims: &[Dim], header: u32) {
        let most = i32::MAX as u32 - header;
        let mut bytes = u64::from(self.size(self.innermost(of)));
        let mut counts = Vec::new();
        for &dim in dims {
            match dim {
                Dim::Const(count) => bytes *= u64::from(count).min(1 << 31),
                Dim::Slot(slot) => counts.push(slot),
            }
            bytes = bytes.min(1 << 31);
        }
        let mark = self.mark();
        let possible = self.f.code.label();
        if counts.is_empty() && bytes <= u64::from(most) {
            return self.f.code.bind(possible);
        }
        // Each dimension must leave room for the next; an array without elements needs none.
        let room = self.slot();
        counts.iter().for_each(|&count| self.f.code.jz(count, possible));
        self.f.code.ldi(room, (u64::from(most) / bytes.max(1)) as i32);
        for (at, &count) in counts.iter().enumerate() {
            let fits = self.f.code.label();
            self.f.code.jle(count, room, fits);
            self.trap(Trap::Memory);
            self.f.code.bind(fits);
            if at + 1 < counts.len() {
                self.f.code.div(room, room, count);
            }
        }
        if counts.is_empty() {
            self.trap(Trap::Memory);
        }
        self.f.code.bind(possible);
        self.release(mark);
    }

    /// `MOBILE TYPE`.
    fn new_mobile(&mut self, node: TypeNodeId, ty: TypeId) -> Slot {
        if self.is_mobile_barrier(ty) {
            return self.new_mobile_barrier();
        }
        let of = self.content(ty);
        let mut dims = Vec::new();
        let mut at = node;
        for size in self.type_dims(of) {
            let written = match self.ast.ty(at).kind {
                crate::ast::TypeKind::Array { size, element } => {
                    at = element;
                    size
                }
                _ => None,
            };
            dims.push(match (size, written) {
                (Some(size), _) => Dim::Const(size),
                (None, Some(size)) => {
                    let size = self.scalar(size);
                    self.f.code.chk_count(size);
                    Dim::Slot(size)
                }
                _ => Dim::Const(0),
            });
        }
        self.allocate(of, &dims)
    }

    /// A mobile or end that is now the receiver's: moved from its variable, cloned, or made.
    pub(super) fn mobile_value(&mut self, expr: ExprId, ty: TypeId) -> Slot {
        let ast = self.ast;
        let own = self.program.type_of(expr);
        match (self.program.types.is_any_end(own), self.program.types.is_any_end(ty)) {
            (false, true) if matches!(self.shape(own), Shape::End(_)) => {
                let end = self.mobile_value(expr, own);
                return self.any_of(end, own);
            }
            (true, false) if matches!(self.shape(ty), Shape::End(_)) => {
                let any = self.mobile_value(expr, own);
                return self.end_of_any(any, ty);
            }
            _ => {}
        }
        if self.is_mobile_barrier(own) && !matches!(ast.expr(expr).kind, ExprKind::NewMobile(_)) {
            let to = self.end_value(expr);
            self.share_barrier(to);
            return to;
        }
        match &ast.expr(expr).kind {
            ExprKind::NewMobile(_) if self.program.types.process_type(own).is_some() => {
                return self.new_process(expr);
            }
            &ExprKind::NewMobile(node) => return self.new_mobile(node, own),
            &ExprKind::Clone(value) => return self.clone_of(value),
            &ExprKind::End(of, _) => return self.mobile_value(of, ty),
            ExprKind::Valof(valof) if self.makes_mobile(expr) => {
                self.valof_open(valof);
                return self.mobile_value(valof.results[0], ty);
            }
            ExprKind::Call { arguments, .. }
                if !matches!(self.shape(own), Shape::Array | Shape::Record(_)) =>
            {
                let to = self.slot();
                self.call_scalar(self.program.name_of(expr), arguments, to, Class::Word, ast.expr(expr).span);
                return to;
            }
            _ => {}
        }
        match self.program.types.get(own) {
            Type::Mobile(_) | Type::End { shared: false, .. } => {
                let place = self.place(expr);
                let to = self.slot();
                self.load(&place, Class::Word, to);
                let zero = self.slot();
                self.f.code.ldi(zero, 0);
                self.store(&place, Class::Word, zero);
                to
            }
            Type::End { .. } => {
                let to = self.end_value(expr);
                let count = self.slot();
                self.f.code.inc(count, to);
                to
            }
            _ => self.mobile_of(expr, ty),
        }
    }

    /// A MOBILE.CHAN of an end.
    fn any_of(&mut self, end: Slot, ty: TypeId) -> Slot {
        let (any, number) = (self.slot(), self.slot());
        self.f.code.alloc_i(any, 8);
        self.f.code.ldi(number, self.program.types.end_number(ty).unwrap_or(0) as i32);
        self.f.code.str_w(end, any, 0);
        self.f.code.str_w(number, any, 4);
        any
    }

    /// The end in a MOBILE.CHAN, which is gone then; traps if it is one of another type.
    pub(super) fn end_of_any(&mut self, any: Slot, ty: TypeId) -> Slot {
        let (end, number, wanted) = (self.slot(), self.slot(), self.slot());
        let (there, right) = (self.f.code.label(), self.f.code.label());
        self.f.code.jnz(any, there);
        self.trap(Trap::Undefined);
        self.f.code.bind(there);
        self.f.code.ldr_w(number, any, 4);
        self.f.code.ldi(wanted, self.program.types.end_number(ty).unwrap_or(0) as i32);
        self.f.code.jeq(number, wanted, right);
        self.trap(Trap::Tag);
        self.f.code.bind(right);
        self.f.code.ldr_w(end, any, 0);
        self.f.code.free(any);
        end
    }

    /// What has been input by a protocol of that type, as what a variable of another one is to get.
    pub(super) fn got_as(&mut self, got: Slot, ty: TypeId, wanted: TypeId) -> Slot {
        match (self.program.types.is_any_end(ty), self.program.types.is_any_end(wanted)) {
            (true, false) if matches!(self.shape(wanted), Shape::End(_)) => self.end_of_any(got, wanted),
            (false, true) if matches!(self.shape(ty), Shape::End(_)) => self.any_of(got, ty),
            _ => got,
        }
    }

    /// A mobile made of an ordinary value.
    fn mobile_of(&mut self, expr: ExprId, ty: TypeId) -> Slot {
        let of = self.content(ty);
        if let Some(class) = self.shape(of).class() {
            let value = self.scalar(expr);
            let address = self.allocate(of, &[]);
            self.store_at(address, 0, class, value);
            return address;
        }
        let view = self.view(expr);
        let address = self.allocate(of, &view.dims.clone());
        let to = self.slot();
        self.plus(to, address, view.dims.len() as u32 * 4);
        self.copy_view(&View { at: to, dims: view.dims.clone(), frame: None }, &view, of);
        address
    }

    pub(super) fn clone_of(&mut self, value: ExprId) -> Slot {
        let ty = self.program.type_of(value);
        if self.makes_mobile(value) {
            return self.mobile_value(value, ty);
        }
        if self.is_mobile_barrier(ty) {
            return self.mobile_value(value, ty);
        }
        if let Shape::End(_) = self.shape(ty) {
            let to = self.end_value(value);
            let count = self.slot();
            self.f.code.inc(count, to);
            return to;
        }
        let of = self.content(ty);
        let place = self.place(value);
        let from = self.slot();
        self.load(&place, Class::Word, from);
        let there = self.f.code.label();
        self.f.code.jnz(from, there);
        self.f.code.trap(Trap::Undefined as i32);
        self.f.code.bind(there);
        self.clone_memory(from, of)
    }

    /// A copy of a mobile's memory, with copies of the mobiles in it.
    fn clone_memory(&mut self, from: Slot, of: TypeId) -> Slot {
        let view = self.mobile_view(from, of);
        let address = self.allocate(of, &view.dims.clone());
        let to = self.slots(2);
        self.plus(to, address, view.dims.len() as u32 * 4);
        let copy = View { at: to, dims: view.dims.clone(), frame: None };
        self.set_count(to, &copy.dims);
        self.copy_view(&copy, &view, of);
        if self.holds_mobiles(of) {
            self.each_word(&copy, of, &mut |lowerer, at, ty| {
                let old = lowerer.slot();
                lowerer.f.code.ldr_w(old, at, 0);
                let none = lowerer.f.code.label();
                lowerer.f.code.jz(old, none);
                if lowerer.is_mobile_barrier(ty) {
                    lowerer.share_barrier(old);
                } else if let Shape::Mobile(of) = lowerer.shape(ty) {
                    let new = lowerer.clone_memory(old, of);
                    lowerer.f.code.str_w(new, at, 0);
                } else {
                    let count = lowerer.slot();
                    lowerer.f.code.inc(count, old);
                }
                lowerer.f.code.bind(none);
            });
        }
        address
    }

    /// Puts a mobile or end into a variable and gives back what was there.
    pub(super) fn store_mobile(&mut self, place: &Storage, value: Slot, ty: TypeId) {
        let old = self.slot();
        self.load(place, Class::Word, old);
        self.drop_word(old, ty);
        self.store(place, Class::Word, value);
    }

    /// Makes a mobile array longer or shorter; what is in both stays.
    pub(super) fn resize(&mut self, array: ExprId, count: ExprId) {
        let ty = self.program.type_of(array);
        let of = self.content(ty);
        let count = self.scalar(count);
        self.f.code.chk_count(count);
        let place = self.place(array);
        let old = self.slot();
        self.load(&place, Class::Word, old);
        let fresh = self.allocate(of, &[Dim::Slot(count)]);
        let none = self.f.code.label();
        self.f.code.jz(old, none);
        let before = self.mobile_view(old, of);
        let kept = self.slot();
        self.f.code.mov(kept, before.at + 1);
        let fits = self.f.code.label();
        self.f.code.jle(kept, count, fits);
        self.f.code.mov(kept, count);
        self.f.code.bind(fits);
        let bytes = self.stride(&[Dim::Slot(kept)], of);
        let bytes = self.dim(bytes);
        let to = self.slot();
        self.plus(to, fresh, 4);
        self.f.code.copy(to, before.at, bytes);
        if self.holds_mobiles(of) {
            // What moved to the new array is no longer the old one's to give back.
            let zero = self.slot();
            self.f.code.ldi(zero, 0);
            self.f.code.fill(before.at, bytes, zero);
        }
        self.drop_word(old, ty);
        self.f.code.bind(none);
        self.store(&place, Class::Word, fresh);
    }

    /// DEFINED.
    pub(super) fn defined(&mut self, value: ExprId, to: Slot) {
        let ty = self.program.type_of(value);
        if !matches!(self.shape(ty), Shape::Mobile(_) | Shape::End(_)) {
            return self.f.code.ldi(to, 1);
        }
        if self.makes_mobile(value) {
            let made = self.made_word(value);
            self.f.code.mov(to, made);
        } else {
            let place = self.place(value);
            self.load(&place, Class::Word, to);
        }
        self.f.code.eq_i(to, to, 0);
        self.f.code.not_bool(to, to);
    }

    /// The address of the bundle that an end belongs to.
    pub(super) fn end_value(&mut self, end: ExprId) -> Slot {
        if let ExprKind::End(of, _) | ExprKind::Clone(of) = self.ast.expr(end).kind {
            return self.end_value(of);
        }
        let to = match self.makes_mobile(end) {
            true => self.made_word(end),
            false => {
                let (place, to) = (self.place(end), self.slot());
                self.load(&place, Class::Word, to);
                to
            }
        };
        let there = self.f.code.label();
        self.f.code.jnz(to, there);
        self.f.code.trap(Trap::Undefined as i32);
        self.f.code.bind(there);
        to
    }

    /// The address of one of a bundle's channels.
    pub(super) fn bundle_channel(&mut self, end: Slot, bundle: u32, index: ExprId) -> Slot {
        let ExprKind::Name(symbol) = self.ast.expr(index).kind else { return end };
        let fields = &self.program.types.bundles[bundle as usize].fields;
        let number = fields.iter().position(|field| field.name == symbol).unwrap_or(0);
        let to = self.slot();
        self.plus(to, end, BUNDLE_CHANNELS + 4 * number as u32);
        to
    }

    /// `client, server := MOBILE BUNDLE`.
    pub(super) fn new_bundle(&mut self, targets: &[ExprId], bundle: u32) {
        let channels = self.program.types.bundles[bundle as usize].fields.len() as u32;
        let (address, two) = (self.slot(), self.slot());
        self.f.code.alloc_i(address, (BUNDLE_CHANNELS + 4 * channels) as i32);
        self.f.code.ldi(two, 2);
        self.f.code.str_w(two, address, 0);
        for &target in targets {
            let place = self.place(target);
            let ty = self.program.type_of(target);
            self.store_mobile(&place, address, ty);
        }
    }
}
