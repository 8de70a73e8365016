//! Owns: FORKING and FORK.
//! May use: `program`, `types`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: gives a forked process what may be gone before it; the checker has seen to that.
//!
//! A forked process begins in a function of its own, whose frame comes from the heap: it calls the PROC, gives back
//! what was made for it, and its frame. Values are copied to it, mobiles move, and ends that are shared are one more;
//! all else is passed by its address, and outlives it.
//!
//! | slots of its frame | what stands there |
//! |---|---|
//! | 0, 1 | the machine's |
//! | from 2 on | what it gives back: an address each |
//! | behind them | the callee's frame, with what is passed from its slot 2 on |

use super::call::Argument;
use super::function::View;
use super::pass::Pass;
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ExprKind, Mode, ProcessId};
use crate::program::{Body, NameId, NameKind, RoutineId};
use crate::source::Span;
use crate::types::TypeId;

/// What a forked process gives back at its end.
struct Given {
    /// The caller's slot with its address.
    slot: Slot,
    /// A mobile or end of that type; else memory.
    ty: Option<TypeId>,
    /// The slot of the callee's frame that is to hold the address of the variable.
    variable_of: Option<Slot>,
}

impl Lowerer<'_> {
    /// Opens a block; from here on it counts what is forked. Gives its slot.
    pub(super) fn open_forks(&mut self) -> Slot {
        let block = self.slots(2);
        self.f.code.forking(block);
        let address = self.address_of_slot(block);
        self.f.forking = Some(address);
        block
    }

    pub(super) fn forking(&mut self, span: Span, body: ProcessId) {
        let around = self.f.forking;
        let block = self.open_forks();
        self.process(body);
        self.f.forking = around;
        self.at(span);
        self.f.code.joinf(block);
    }

    pub(super) fn fork(&mut self, callee: NameId, arguments: &[ExprId], span: Span) {
        let Some(routine) = self.program.routine_of(callee) else { return };
        if self.program.routines[routine.0 as usize].body == Body::Predefined {
            return self.refuse(span, "a predefined PROC is called, not forked");
        }
        if self.is_part_of_process(routine) {
            return self.refuse(span, "a PROC that suspends is called, not forked");
        }
        let Some(block) = self.f.forking else {
            return self.refuse(span, "nothing counts what is forked here");
        };
        let mark = self.mark();
        let formals = self.program.routines[routine.0 as usize].formals.clone();
        let mut given = Vec::new();
        let mut evaluated = Vec::new();
        for (&formal, &argument) in formals.iter().zip(arguments) {
            evaluated.push(self.fork_argument(formal, argument, &mut given));
        }
        let pair = self.slots(2);
        let base = self.window(routine);
        let mut at = self.pass_free(routine, base + 2);
        let mut variables = given.iter_mut().filter(|given| given.variable_of.is_some());
        for (&formal, argument) in formals.iter().zip(evaluated) {
            match argument {
                Argument::Nothing if self.pass_formal(formal) == Pass::Address => {
                    if let Some(given) = variables.next() {
                        given.variable_of = Some(at - base);
                    }
                }
                Argument::Nothing => {}
                Argument::Value(expr) => self.scalar_into(expr, at),
                Argument::Slot(slot, class) => self.move_slots(at, slot, class),
                Argument::View(view, ty) => self.pass_view(&view, ty, at),
            }
            at += self.pass_formal(formal).slots() as Slot;
        }
        let forked = self.module.declare("FORK");
        self.f.code.frame(pair, forked.0 as i32);
        let own = 2 + given.len() as Slot;
        for (place, given) in (2..).zip(&given) {
            self.f.code.str_w(given.slot, pair, place * 4);
        }
        for slot in base + 2..at {
            self.f.code.str_w(slot, pair, i32::from(own + slot - base) * 4);
        }
        self.f.code.mov(pair + 1, block);
        self.f.code.spawn(pair, forked.0 as i32);
        self.release(mark);
        self.forked_function((routine, forked), &given, at - base, span);
    }

    /// What the process does from its beginning to its end.
    fn forked_function(
        &mut self,
        (routine, forked): (RoutineId, raddle_bytecode::build::FunctionId),
        given: &[Given],
        passed: Slot,
        span: Span,
    ) {
        let around = self.begin_function(0);
        self.at(span);
        let first = self.slots(given.len() as u32);
        let base = self.slots(u32::from(passed).max(2));
        for (place, given) in (first..).zip(given) {
            if let Some(slot) = given.variable_of {
                self.f.code.addr(base + slot, i32::from(place) * 4);
            }
        }
        self.call_function(routine, base);
        for (place, given) in (first..).zip(given) {
            match given.ty {
                Some(ty) => self.drop_word(place, ty),
                None => self.f.code.free(place),
            }
        }
        self.f.code.endf();
        self.finish_function(forked);
        self.f = around;
    }

    /// Evaluates an argument; what is made for it goes to `given`.
    fn fork_argument(&mut self, formal: NameId, argument: ExprId, given: &mut Vec<Given>) -> Argument {
        let pass = self.pass_formal(formal);
        let name = self.program.name(formal);
        let (ty, mode) = match name.kind {
            NameKind::Formal(mode) => (name.ty, mode),
            _ => (name.ty, Mode::Val),
        };
        // A table of channels is made where it stands; the channels themselves outlive the process.
        let channels = matches!(self.shape(self.innermost(ty)), Shape::Chan(_));
        let copied = channels || matches!(mode, Mode::Val | Mode::Initial);
        match (&pass, self.shape(ty)) {
            (Pass::Value(_), Shape::Mobile(_) | Shape::End(_)) if mode == Mode::Val => {
                let slot = self.clone_of(argument);
                given.push(Given { slot, ty: Some(ty), variable_of: None });
                Argument::Slot(slot, Class::Word)
            }
            (Pass::Value(_), Shape::Mobile(_) | Shape::End(_)) => {
                Argument::Slot(self.mobile_value(argument, ty), Class::Word)
            }
            (Pass::Address, Shape::Mobile(_) | Shape::End(_)) => {
                let slot = self.mobile_value(argument, ty);
                given.push(Given { slot, ty: Some(ty), variable_of: Some(0) });
                Argument::Nothing
            }
            (Pass::Address | Pass::View(_), Shape::Record(_) | Shape::Array) if copied => {
                let view = self.view(argument);
                self.check_passed(&view, ty);
                let view = self.copied_for_fork(argument, view, ty, given);
                match pass {
                    Pass::Address => Argument::Slot(view.at, Class::Word),
                    _ => Argument::View(view, ty),
                }
            }
            _ => self.argument(formal, argument),
        }
    }

    /// A copy in memory of its own, of what is no constant.
    fn copied_for_fork(&mut self, argument: ExprId, view: View, ty: TypeId, given: &mut Vec<Given>) -> View {
        if matches!(self.ast.expr(argument).kind, ExprKind::Text { .. }) {
            return view;
        }
        if self.holds_mobiles(ty) {
            let span = self.ast.expr(argument).span;
            self.refuse(span, "an array or record with mobiles in it cannot be copied to a forked process");
        }
        let dims = view.dims.clone();
        let slot = self.allocate(ty, &dims);
        given.push(Given { slot, ty: None, variable_of: None });
        let at = self.slots(2);
        self.plus(at, slot, dims.len() as u32 * 4);
        self.set_count(at, &dims);
        let copy = View { at, dims, frame: None };
        self.copy_view(&copy, &view, ty);
        copy
    }
}
