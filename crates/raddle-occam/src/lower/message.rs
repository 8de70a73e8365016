//! Owns: inputs and outputs; timers.
//! May use: `types`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: knows what an ALT is.
//!
//! A message is sent item by item. That of a variant protocol begins with a byte, the number of the tag; a counted
//! array is preceded by its count, and an empty one is not sent at all.

use super::place::Storage;
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ExprKind, InputItem, InputKind, OutputItem, ProcessId, Variant};
use crate::symbol::Symbol;
use crate::types::{Type, TypeId, Types};
use raddle_bytecode::Trap;

impl Lowerer<'_> {
    /// The types of the items behind a tag, or of a protocol without tags; with the tag's number.
    fn form(&self, channel: ExprId, tag: Option<Symbol>) -> (i32, Vec<TypeId>) {
        let Type::Chan { protocol, .. } = self.program.types.get(self.program.type_of(channel)) else {
            return (0, Vec::new());
        };
        match self.program.types.get(protocol) {
            Type::Protocol(at) => {
                let known = &self.program.types.protocols[at as usize];
                let found = known.forms.iter().position(|(name, _)| *name == tag).unwrap_or(0);
                let number = known.numbers.get(found).copied().unwrap_or(0);
                let items = known.forms.get(found).map(|(_, items)| items.clone());
                (i32::from(number), items.unwrap_or_default())
            }
            _ => (0, vec![protocol]),
        }
    }

    fn is_variant(&self, channel: ExprId) -> bool {
        let Type::Chan { protocol, .. } = self.program.types.get(self.program.type_of(channel)) else {
            return false;
        };
        match self.program.types.get(protocol) {
            Type::Protocol(at) => self.program.types.protocols[at as usize].variant,
            _ => false,
        }
    }

    pub(super) fn output(&mut self, channel: ExprId, items: &[OutputItem]) {
        let ast = self.ast;
        self.note_end(channel, true);
        let at = self.channel(channel);
        let (types, items) = if self.is_variant(channel) {
            let ExprKind::Name(tag) = ast.expr(items[0].value).kind else { return };
            let (number, types) = self.form(channel, Some(tag));
            let slot = self.slot();
            self.f.code.ldi(slot, number);
            self.f.code.output(at, slot, 1);
            (types, &items[1..])
        } else {
            (self.form(channel, None).1, items)
        };
        for (item, ty) in items.iter().zip(types) {
            let mark = self.mark();
            self.output_item(at, item, ty);
            self.release(mark);
        }
    }

    fn output_item(&mut self, channel: Slot, item: &OutputItem, ty: TypeId) {
        let ty = if ty == Types::ANY { self.program.type_of(item.value) } else { ty };
        if let (Type::Counted { count, array }, Some(sent)) = (self.program.types.get(ty), item.count) {
            return self.output_counted(channel, sent, item.value, count, array);
        }
        match self.shape(ty) {
            Shape::Array | Shape::Record(_) => {
                let view = self.view(item.value);
                self.check_passed(&view, ty);
                let bytes = self.view_bytes(&view, ty);
                let bytes = self.dim(bytes);
                self.f.code.output_m(channel, view.at, bytes);
            }
            _ => {
                let (from, class) = self.word_or_value(item.value, ty);
                self.f.code.output(channel, from, class.bytes() as i32);
            }
        }
    }

    fn output_counted(
        &mut self,
        channel: Slot,
        count: ExprId,
        value: ExprId,
        count_ty: TypeId,
        array: TypeId,
    ) {
        let class = self.shape(count_ty).class().unwrap_or(Class::Word);
        let view = self.view(value);
        let (sent, number, zero) = (self.slots(2), self.slot(), self.slot());
        self.scalar_into(count, sent);
        self.narrow(number, sent, class);
        self.f.code.ldi(zero, 0);
        self.f.code.chk_slice(zero, number, view.at + 1);
        self.f.code.output(channel, sent, class.bytes() as i32);
        let rest = view.dims.get(1..).unwrap_or_default().to_vec();
        let bytes = self.stride(&rest, array);
        let bytes = self.dim(bytes);
        let none = self.f.code.label();
        self.f.code.jz(number, none);
        self.f.code.mul(number, number, bytes);
        self.f.code.output_m(channel, view.at, number);
        self.f.code.bind(none);
    }

    /// A count of any whole-number class as an INT.
    fn narrow(&mut self, to: Slot, from: Slot, class: Class) {
        match class {
            Class::Long => self.f.code.l_to_w(to, from),
            // What is too large is negative then, or does not fit, and no array has so many elements.
            Class::ULong => self.f.code.l_to_w(to, from),
            Class::UHalf => self.low_half(to, from),
            _ => self.f.code.mov(to, from),
        }
    }

    pub(super) fn input(&mut self, channel: ExprId, kind: &InputKind) {
        let ty = self.program.type_of(channel);
        if ty == Types::TIMER {
            return self.timer(kind);
        }
        if matches!(self.program.types.get(ty), Type::Port(_)) {
            return self.refuse(self.ast.expr(channel).span, "ports are not supported");
        }
        self.note_end(channel, false);
        let at = self.channel(channel);
        match kind {
            InputKind::Items(items) => {
                let types = self.form(channel, None).1;
                self.input_items(at, items, &types);
            }
            InputKind::Tagged(tag, items) => {
                let (number, types) = self.form(channel, Some(tag.symbol));
                let slot = self.slot();
                let right = self.f.code.label();
                self.f.code.input(at, slot, 1);
                self.f.code.jeq_i(slot, number, right);
                self.trap(Trap::Tag);
                self.f.code.bind(right);
                self.input_items(at, items, &types);
            }
            InputKind::Case(variants) => self.variants(channel, at, variants, false),
            InputKind::After(_) => {}
        }
    }

    /// An extended input.
    pub(super) fn extended(
        &mut self,
        channel: ExprId,
        kind: &InputKind,
        during: ProcessId,
        after: Option<ProcessId>,
    ) {
        if matches!(kind, InputKind::Items(_)) && self.is_instant(during) {
            self.input(channel, kind);
            self.process(during);
            return after.into_iter().for_each(|after| self.process(after));
        }
        self.note_end(channel, false);
        let at = self.channel(channel);
        match kind {
            InputKind::Items(items) => {
                let types = self.form(channel, None).1;
                self.extended_items(at, items, &types, (during, after));
            }
            InputKind::Tagged(tag, items) => {
                let (number, types) = self.form(channel, Some(tag.symbol));
                let slot = self.slot();
                let right = self.f.code.label();
                self.f.code.input_x(at, slot, 1);
                self.f.code.jeq_i(slot, number, right);
                self.trap(Trap::Tag);
                self.f.code.bind(right);
                self.behind_tag(at, items, &types, (during, after));
            }
            InputKind::Case(variants) => self.variants(channel, at, variants, true),
            InputKind::After(_) => {}
        }
    }

    /// The sender waits with its tag, which is the last of its message if nothing follows.
    fn behind_tag(
        &mut self,
        channel: Slot,
        items: &[InputItem],
        types: &[TypeId],
        bodies: (ProcessId, Option<ProcessId>),
    ) {
        if !items.is_empty() {
            self.f.code.xend(channel);
        }
        self.extended_items(channel, items, types, bodies);
    }

    fn extended_items(
        &mut self,
        channel: Slot,
        items: &[InputItem],
        types: &[TypeId],
        (during, after): (ProcessId, Option<ProcessId>),
    ) {
        if let Some((last, before)) = items.split_last() {
            self.input_items(channel, before, types);
            let mark = self.mark();
            if let Some(&ty) = types.get(before.len()) {
                self.f.extending = true;
                self.input_item(channel, last, ty);
                self.f.extending = false;
            }
            self.release(mark);
        }
        self.process(during);
        self.f.code.xend(channel);
        after.into_iter().for_each(|after| self.process(after));
    }

    fn input_slot(&mut self, channel: Slot, slot: Slot, bytes: i32) {
        match self.f.extending {
            true => self.f.code.input_x(channel, slot, bytes),
            false => self.f.code.input(channel, slot, bytes),
        }
    }

    fn input_memory(&mut self, channel: Slot, at: Slot, bytes: Slot) {
        match self.f.extending {
            true => self.f.code.input_xm(channel, at, bytes),
            false => self.f.code.input_m(channel, at, bytes),
        }
    }

    fn timer(&mut self, kind: &InputKind) {
        match kind {
            &InputKind::After(time) => {
                let time = self.scalar(time);
                self.f.code.wait(time);
            }
            InputKind::Items(items) => {
                let Some(item) = items.first() else { return };
                let place = self.place(item.target);
                if let Storage::Slot(slot) = place {
                    return self.f.code.time(slot);
                }
                let slot = self.slot();
                self.f.code.time(slot);
                self.store(&place, Class::Word, slot);
            }
            _ => {}
        }
    }

    /// A CASE by the tag that comes; if the input is extended, its sender stays until the branch lets it go.
    fn variants(&mut self, channel: ExprId, at: Slot, variants: &[Variant], extended: bool) {
        let slot = self.slot();
        match extended {
            true => self.f.code.input_x(at, slot, 1),
            false => self.f.code.input(at, slot, 1),
        }
        let done = self.f.code.label();
        let mut labels = Vec::new();
        for variant in variants {
            let (number, types) = self.form(channel, Some(variant.tag.symbol));
            let label = self.f.code.label();
            self.f.code.jeq_i(slot, number, label);
            labels.push((label, types));
        }
        self.trap(Trap::Tag);
        for (variant, (label, types)) in variants.iter().zip(labels) {
            self.f.code.bind(label);
            let mark = self.mark();
            self.at(variant.tag.span);
            self.specs(&variant.specs);
            if extended {
                self.behind_tag(at, &variant.items, &types, (variant.body, variant.after));
            } else {
                self.input_items(at, &variant.items, &types);
                self.process(variant.body);
            }
            self.release(mark);
            self.f.code.jump(done);
        }
        self.f.code.bind(done);
    }

    fn input_items(&mut self, channel: Slot, items: &[InputItem], types: &[TypeId]) {
        for (item, &ty) in items.iter().zip(types) {
            let mark = self.mark();
            self.input_item(channel, item, ty);
            self.release(mark);
        }
    }

    fn input_item(&mut self, channel: Slot, item: &InputItem, ty: TypeId) {
        let ty = if ty == Types::ANY { self.program.type_of(item.target) } else { ty };
        if let (Type::Counted { count, array }, Some(target)) = (self.program.types.get(ty), item.count) {
            return self.input_counted(channel, target, item.target, count, array);
        }
        match self.shape(ty) {
            Shape::Array | Shape::Record(_) => {
                let view = self.view(item.target);
                self.check_passed(&view, ty);
                let bytes = self.view_bytes(&view, ty);
                let bytes = self.dim(bytes);
                self.input_memory(channel, view.at, bytes);
            }
            shape => {
                let class = shape.class().unwrap_or(Class::Word);
                self.input_scalar(channel, item.target, ty, class);
            }
        }
    }

    fn input_scalar(&mut self, channel: Slot, target: ExprId, ty: TypeId, class: Class) {
        let bytes = class.bytes() as i32;
        if matches!(self.shape(ty), Shape::Mobile(_) | Shape::End(_)) {
            let place = self.place(target);
            let slot = self.slot();
            self.input_slot(channel, slot, bytes);
            let wanted = self.program.type_of(target);
            let value = self.got_as(slot, ty, wanted);
            return self.store_mobile(&place, value, ty);
        }
        let place = match self.is_mobile(target) {
            true => Storage::Memory(self.mobile_address(target), 0),
            false => self.place(target),
        };
        if let Storage::Slot(slot) = place {
            return self.input_slot(channel, slot, bytes);
        }
        let slot = self.slots(class.slots());
        self.input_slot(channel, slot, bytes);
        self.store(&place, class, slot);
    }

    fn input_counted(
        &mut self,
        channel: Slot,
        count: ExprId,
        target: ExprId,
        count_ty: TypeId,
        array: TypeId,
    ) {
        let class = self.shape(count_ty).class().unwrap_or(Class::Word);
        let view = self.view(target);
        let (got, number, zero) = (self.slots(2), self.slot(), self.slot());
        self.input_slot(channel, got, class.bytes() as i32);
        self.narrow(number, got, class);
        self.f.code.ldi(zero, 0);
        self.f.code.chk_slice(zero, number, view.at + 1);
        let rest = view.dims.get(1..).unwrap_or_default().to_vec();
        let bytes = self.stride(&rest, array);
        let bytes = self.dim(bytes);
        let none = self.f.code.label();
        self.f.code.jz(number, none);
        self.f.code.mul(number, number, bytes);
        if self.f.extending {
            // The count was not the last, after all.
            self.f.code.xend(channel);
        }
        self.input_memory(channel, view.at, number);
        self.f.code.bind(none);
        let place = self.place(count);
        self.store(&place, class, got);
    }
}
