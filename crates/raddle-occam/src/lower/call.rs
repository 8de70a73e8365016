//! Owns: calls of PROCs and FUNCTIONs: windows, parameters, results.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: lowers a routine; `routine` does.
//!
//! A callee's slots begin at `base` of the caller. From slot 2 on stand the addresses for results that lie in memory,
//! then the address of the block that counts what it forks, if it does in none of its own, then the outer names that
//! the routine uses, in the order of their numbers, then the parameters.

use super::function::{Dim, Owned, View};
use super::pass::Pass;
use super::place::Storage;
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{Direction, ExprId, ExprKind, Mode};
use crate::program::{Body, NameId, NameKind, RoutineId};
use crate::source::Span;
use crate::types::{Type, TypeId};

/// An argument, evaluated as far as must be before the window is open.
pub(super) enum Argument {
    Nothing,
    /// To be evaluated into the window.
    Value(ExprId),
    Slot(Slot, Class),
    View(View, TypeId),
}

impl Lowerer<'_> {
    /// Takes the slots of a call: those of the machine and those for what is passed.
    pub(super) fn window(&mut self, routine: RoutineId) -> Slot {
        let known = &self.program.routines[routine.0 as usize];
        let (formals, results) = (known.formals.clone(), known.results.clone());
        let mut count = 2 + u32::from(self.free.forks(routine)) + u32::from(self.is_part_of_process(routine));
        count += results.iter().filter(|&&ty| self.results_by_address(routine, ty)).count() as u32;
        for (name, changed) in self.free.of(routine).clone() {
            count += self.pass_outer(name, changed).slots();
        }
        count += formals.iter().map(|&formal| self.pass_formal(formal).slots()).sum::<u32>();
        let room: u32 = results.iter().map(|&ty| self.shape(ty).class().map_or(0, Class::slots)).sum();
        self.slots(count.max(2 + room))
    }

    /// Evaluates what may need memory before the window is opened; the callee's frame overwrites what is behind it.
    pub(super) fn argument(&mut self, formal: NameId, argument: ExprId) -> Argument {
        let pass = self.pass_formal(formal);
        let name = self.program.name(formal);
        let (ty, initial) = (name.ty, name.kind == NameKind::Formal(Mode::Initial));
        match (&pass, self.shape(ty)) {
            (Pass::Nothing, _) => Argument::Nothing,
            (Pass::Address, Shape::Chan(_) | Shape::Barrier) => {
                Argument::Slot(self.lent_word(argument), Class::Word)
            }
            (_, Shape::Chan(_)) => Argument::Slot(self.channel(argument), Class::Word),
            (_, Shape::Barrier) => Argument::Slot(self.barrier(argument), Class::Word),
            (Pass::Value(_), Shape::Mobile(_) | Shape::End(_)) => {
                let value = if initial {
                    self.mobile_value(argument, ty)
                } else if !self.is_word(argument) {
                    let value = self.mobile_value(argument, ty);
                    let kept = self.slot();
                    self.f.code.mov(kept, value);
                    self.f.owned.push(Owned::Word(kept, ty));
                    kept
                } else {
                    let (place, to) = (self.place(argument), self.slot());
                    self.load(&place, Class::Word, to);
                    to
                };
                Argument::Slot(value, Class::Word)
            }
            (Pass::Value(_), _) => Argument::Value(argument),
            (Pass::Address, Shape::Mobile(_) | Shape::End(_)) => {
                let place = self.place(argument);
                Argument::Slot(self.address(&place, 4), Class::Word)
            }
            (Pass::Address, Shape::Scalar(class)) => {
                let address = if self.is_mobile(argument) {
                    self.mobile_address(argument)
                } else {
                    let place = self.place(argument);
                    self.address(&place, class.bytes())
                };
                Argument::Slot(address, Class::Word)
            }
            (Pass::Address, _) => Argument::Slot(self.view(argument).at, Class::Word),
            (Pass::View(_), _) => {
                let view = self.view(argument);
                self.check_passed(&view, ty);
                Argument::View(view, ty)
            }
        }
    }

    /// Whether an expression is a mobile or end that lies in a variable.
    fn is_word(&self, expr: ExprId) -> bool {
        use crate::ast::ExprKind::{End, Index, Name};
        let named = matches!(self.ast.expr(expr).kind, Name(_) | Index { .. } | End(..));
        named && matches!(self.shape(self.program.type_of(expr)), Shape::Mobile(_) | Shape::End(_))
    }

    /// Traps if sizes that the parameter's type tells differ from those of the argument.
    pub(super) fn check_passed(&mut self, view: &View, ty: TypeId) {
        let dims = view.dims.clone();
        for (size, dim) in self.type_dims(ty).into_iter().zip(dims) {
            if let (Some(size), Dim::Slot(slot)) = (size, dim) {
                let wanted = self.dim(Dim::Const(size));
                self.f.code.chk_size(slot, wanted);
            }
        }
    }

    /// Calls a PROC.
    pub(super) fn call_proc(&mut self, callee: NameId, arguments: &[ExprId], span: Span) {
        let Some(routine) = self.program.routine_of(callee) else { return };
        if self.program.routines[routine.0 as usize].body == Body::Predefined {
            return self.predefined_proc(callee, arguments, span);
        }
        let mark = self.mark();
        let base = self.prepare(routine, arguments, &[]);
        self.call_function(routine, base);
        self.release(mark);
        if self.is_part_of_process(routine) {
            self.go_on_unless_given_up();
        }
    }

    /// Fills a window: addresses for results, outer names, arguments.
    pub(super) fn prepare(&mut self, routine: RoutineId, arguments: &[ExprId], results: &[Storage]) -> Slot {
        let known = &self.program.routines[routine.0 as usize];
        let (formals, types) = (known.formals.clone(), known.results.clone());
        let mut addresses = Vec::new();
        for (place, &ty) in results.iter().zip(&types) {
            if self.results_by_address(routine, ty) {
                let bytes = self.size(ty);
                addresses.push(self.address(place, bytes));
            }
        }
        let evaluated: Vec<Argument> = formals
            .iter()
            .zip(arguments)
            .map(|(&formal, &argument)| self.argument(formal, argument))
            .collect();
        for (&formal, &argument) in formals.iter().zip(arguments) {
            let innermost = self.innermost(self.program.name(formal).ty);
            if let Type::Chan { direction: Some(direction), .. } = self.program.types.get(innermost) {
                self.note_end(argument, direction == Direction::Output);
            }
        }
        let base = self.window(routine);
        let mut at = base + 2;
        for address in addresses {
            self.f.code.mov(at, address);
            at += 1;
        }
        at = self.pass_free(routine, at);
        for (&formal, argument) in formals.iter().zip(evaluated) {
            match argument {
                Argument::Nothing => {}
                Argument::Value(expr) => self.scalar_into(expr, at),
                Argument::Slot(slot, class) => self.move_slots(at, slot, class),
                Argument::View(view, ty) => self.pass_view(&view, ty, at),
            }
            at += self.pass_formal(formal).slots() as Slot;
        }
        base
    }

    /// The call itself, in the window or in a frame of its own when the callee's size is not known yet.
    pub(super) fn call_function(&mut self, routine: RoutineId, base: Slot) {
        let Some(&function) = self.functions.get(&routine) else {
            return self.refuse(Span::default(), "a routine is called before it is lowered");
        };
        match self.module.slots_of(function) {
            Some(slots) if u32::from(base) + slots <= 65_000 => {
                self.f.peak = self.f.peak.max(u32::from(base) + slots);
                self.f.code.call(function, base);
            }
            _ => {
                let frame = self.slot();
                self.f.code.frame(frame, function.0 as i32);
                for slot in base + 2..frame {
                    self.f.code.str_w(slot, frame, i32::from(slot - base) * 4);
                }
                self.f.code.calld(frame, function);
            }
        }
    }

    /// A call with one result that is held in slots.
    pub(super) fn call_scalar(
        &mut self,
        callee: NameId,
        arguments: &[ExprId],
        to: Slot,
        class: Class,
        span: Span,
    ) {
        let Some(routine) = self.program.routine_of(callee) else { return };
        if self.program.routines[routine.0 as usize].body == Body::Predefined {
            return self.predefined_function(callee, arguments, &[(to, class)], span);
        }
        self.call_into(callee, arguments, &[Storage::Slot(to)], span);
    }

    /// A call whose results go to these places.
    pub(super) fn call_into(&mut self, callee: NameId, arguments: &[ExprId], places: &[Storage], span: Span) {
        let Some(routine) = self.program.routine_of(callee) else { return };
        let types = self.program.routines[routine.0 as usize].results.clone();
        if self.program.routines[routine.0 as usize].body == Body::Predefined {
            return self.predefined_into(callee, arguments, places, &types, span);
        }
        let mark = self.mark();
        let base = self.prepare(routine, arguments, places);
        self.call_function(routine, base);
        let mut at = base + 2;
        for (place, &ty) in places.iter().zip(&types) {
            let Some(class) = self.shape(ty).class() else { continue };
            if self.results_by_address(routine, ty) {
                continue;
            }
            self.store(place, class, at);
            at += class.slots() as Slot;
        }
        self.release(mark);
    }

    /// The results of a call or VALOF with several, in fresh slots or memory.
    pub(super) fn results_of(&mut self, expr: ExprId, types: &[TypeId]) -> Vec<Storage> {
        let ast = self.ast;
        let mut places = Vec::new();
        for &ty in types {
            places.push(match self.shape(ty).class() {
                Some(class) => Storage::Slot(self.slots(class.slots())),
                None => {
                    let dims = self.const_dims(ty).unwrap_or_default();
                    Storage::View(self.room(ty, dims, false))
                }
            });
        }
        match &ast.expr(expr).kind {
            ExprKind::Call { arguments, .. } => {
                self.call_into(self.program.name_of(expr), arguments, &places, ast.expr(expr).span);
            }
            ExprKind::Valof(valof) => {
                self.valof_open(valof);
                for ((&result, place), &ty) in valof.results.iter().zip(&places).zip(types) {
                    self.put_value(place, ty, result);
                }
            }
            _ => {}
        }
        places
    }

    /// A call of the program's own operator.
    pub(super) fn user_operator(&mut self, expr: ExprId, operands: &[ExprId], to: Slot) {
        let class = self.class(expr);
        let span = self.ast.expr(expr).span;
        self.call_scalar(self.program.name_of(expr), operands, to, class, span);
    }
}
