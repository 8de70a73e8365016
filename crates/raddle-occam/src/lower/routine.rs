//! Owns: PROCs and FUNCTIONs as functions of the bytecode.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: lowers what nobody calls.

use super::function::{Dim, Home, Owned, View};
use super::pass::Pass;
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ExprKind, Mode};
use crate::program::{Body, NameId, NameKind, RoutineId};

impl Lowerer<'_> {
    /// Makes the function of a routine, if anybody calls it.
    pub(super) fn routine(&mut self, id: RoutineId) {
        if !self.free.is_called(id) || self.functions.contains_key(&id) {
            return;
        }
        let program = self.program;
        let routine = &program.routines[id.0 as usize];
        if routine.implements.is_some() {
            return self.mobile_routine(id);
        }
        let name = program.spelling(routine.name);
        let function = self.module.declare(name);
        self.functions.insert(id, function);
        let alts = self.free.alts_of(id);
        let around = self.begin_function(alts);
        self.at(program.name(routine.name).span);
        let mut at: Slot = 2;
        for &ty in &routine.results {
            if self.results_by_address(id, ty) {
                self.f.results.push(at);
                at += 1;
            }
        }
        if self.free.forks(id) {
            self.f.forking = Some(at);
            at += 1;
        }
        if self.is_part_of_process(id) {
            self.f.instance = Some(at);
            at += 1;
        }
        for (name, changed) in self.free.of(id).clone() {
            let pass = self.pass_outer(name, changed);
            self.bind_passed(name, &pass, at);
            at += pass.slots() as Slot;
        }
        for &formal in &routine.formals {
            let pass = self.pass_formal(formal);
            self.bind_passed(formal, &pass, at);
            at += pass.slots() as Slot;
        }
        let taken = at - 2;
        self.slots(u32::from(taken));
        self.reserve_alts(alts);
        let mark = self.mark();
        let exit = self.begin_exit();
        for &formal in &routine.formals {
            if program.name(formal).kind == NameKind::Formal(Mode::Initial) {
                self.own_initial(formal);
            }
            self.watch(formal);
        }
        match &routine.body {
            &Body::Process(process) => self.process(process),
            Body::Results(results) => self.function_results(id, results),
            Body::Foreign => self.foreign(id),
            Body::Predefined | Body::Interface => {}
        }
        self.release(mark);
        self.end_exit(exit);
        self.f.code.ret();
        self.finish_function(function);
        self.f = around;
    }

    /// A parameter's or outer name's home, when it was passed so.
    pub(super) fn bind_passed(&mut self, name: NameId, pass: &Pass, at: Slot) {
        let ty = self.program.name(name).ty;
        let home = match pass {
            Pass::Nothing => return,
            Pass::Value(_) => Home::Slot(at),
            Pass::Address if matches!(self.shape(ty), Shape::Record(_)) => {
                Home::View(View { at, dims: Vec::new(), frame: None })
            }
            Pass::Address => Home::At(at),
            Pass::View(_) => {
                let mut next = at + 1;
                let mut dims = Vec::new();
                for (number, size) in self.type_dims(ty).into_iter().enumerate() {
                    dims.push(size.map_or(Dim::Slot(next), Dim::Const));
                    if number == 0 || size.is_none() {
                        next += 1;
                    }
                }
                Home::View(View { at, dims, frame: None })
            }
        };
        self.f.homes.insert(name, home);
    }

    /// An INITIAL parameter is the routine's own: arrays are copied, mobiles given back at its end.
    fn own_initial(&mut self, formal: NameId) {
        let ty = self.program.name(formal).ty;
        match self.home(formal).cloned() {
            Some(Home::View(view)) => {
                let room = self.room(ty, view.dims.clone(), false);
                self.copy_view(&room, &view, ty);
                self.f.homes.insert(formal, Home::View(room));
            }
            Some(Home::Slot(_)) if matches!(self.shape(ty), Shape::Mobile(_) | Shape::End(_)) => {
                self.f.owned.push(Owned::Variable(formal));
            }
            _ => {}
        }
    }

    /// Leaves a FUNCTION's results where the caller looks for them.
    fn function_results(&mut self, id: RoutineId, results: &[ExprId]) {
        let types = self.program.routines[id.0 as usize].results.clone();
        let ast = self.ast;
        let mark = self.mark();
        let mut list = results;
        if let &[only] = results
            && let ExprKind::Valof(valof) = &ast.expr(only).kind
        {
            self.valof_open(valof);
            list = &valof.results;
        }
        // A result may be a parameter, whose slot another result takes: all are computed before any is left.
        let mut kept: Vec<(Slot, Class)> = Vec::new();
        let mut addresses = self.f.results.clone().into_iter();
        if let (&[only], true) = (list, types.len() > 1) {
            self.several(only, &types, &mut kept);
        } else {
            for (&result, &ty) in list.iter().zip(&types) {
                if self.in_memory(ty) {
                    let view = self.view(result);
                    let dims = self.const_dims(ty).unwrap_or_default();
                    if let Some(at) = addresses.next() {
                        let to = self.view_at(at, 0, dims, None);
                        self.copy_view(&to, &view, ty);
                    }
                } else {
                    let (from, class) = self.word_or_value(result, ty);
                    let to = self.slots(class.slots());
                    self.move_slots(to, from, class);
                    if self.results_by_address(id, ty) {
                        if let Some(at) = addresses.next() {
                            let whole = if class.slots() == 2 { Class::Long } else { Class::Word };
                            self.store_at(at, 0, whole, to);
                        }
                    } else {
                        kept.push((to, class));
                    }
                }
            }
        }
        // Slots above the mark keep what is in them; only memory is given back. Fresh slots have growing numbers, so
        // no move overwrites what a later one reads.
        self.release(mark);
        let mut at: Slot = 2;
        for (slot, class) in kept {
            self.move_slots(at, slot, class);
            at += class.slots() as Slot;
        }
        self.f.peak = self.f.peak.max(u32::from(at));
    }

    /// A call with several results that are handed on as they are.
    fn several(&mut self, call: ExprId, types: &[crate::types::TypeId], kept: &mut Vec<(Slot, Class)>) {
        let places = self.results_of(call, types);
        let mut addresses = self.f.results.clone().into_iter();
        for (place, &ty) in places.iter().zip(types) {
            let class = self.shape(ty).class();
            match (class, place) {
                (Some(class), &super::place::Storage::Slot(slot)) => match addresses.next() {
                    Some(at) if !self.in_memory(ty) && self.f.results.len() == types.len() => {
                        self.store_at(
                            at,
                            0,
                            if class.slots() == 2 { Class::Long } else { Class::Word },
                            slot,
                        );
                    }
                    _ => kept.push((slot, class)),
                },
                (_, super::place::Storage::View(view)) => {
                    if let Some(at) = addresses.next() {
                        let dims = self.const_dims(ty).unwrap_or_default();
                        let to = self.view_at(at, 0, dims, None);
                        self.copy_view(&to, &view.clone(), ty);
                    }
                }
                _ => {}
            }
        }
    }
}
