//! Owns: mobile processes: making them, activating them, SUSPEND, and giving them up.
//! May use: `program`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: an instruction of its own: barriers and forked processes do all of it.
//!
//! The process is forked where it is made, and waits. Its variable has the address of a block in the heap:
//!
//! | word | what stands there |
//! |---|---|
//! | 0 to 2 | a barrier, whose members are all processes in it, and whoever has it |
//! | 3 | 0; 1: it is given up; 2: it has ended |
//! | from 4 on | what it is given at an activation: a channel's, a bundle's or a barrier's address each |
//!
//! **An activation** fills the words and comes to the barrier twice: the first time all in the process go on, the
//! second time all of them have suspended, or it has ended. SUSPEND is the other side of that: it comes twice, too. A
//! PAR in the process makes its branches members (see `barrier`), and a branch that ends leaves; so the process has
//! suspended when all in it have that still run.
//!
//! **What it is given** is read from the words at each use. PROCs that suspend, or call one that does, are passed the
//! place of the word, and not the channel; so they find what the next activation has brought. Others have returned by
//! then.
//!
//! **Giving it up.** Who has the process at the end of its scope sets word 3 and lets it go on. All of it stands at a
//! SUSPEND, which sees the word, gives back what its branch or routine owns, and goes to its end; whoever waits for it
//! sees the word, too. So a process that is given up gives everything back. The block is freed by whoever has the
//! process: it comes to the barrier a second time when it is the only member left.

use super::function::{Home, Mark};
use super::place::Storage;
use super::shape::{Class, Shape};
use super::{Lowerer, Slot};
use crate::ast::{ExprId, ExprKind, Mode, ProcessId};
use crate::program::{Body, NameId, NameKind, RoutineId};
use raddle_bytecode::Trap;
use raddle_bytecode::build::Label;

/// Where the word lies that says whether the process is given up or has ended.
const STATE: i32 = 12;
const GIVEN_UP: i32 = 1;
const HAS_ENDED: i32 = 2;
/// Where the words begin that an activation fills.
const GIVEN: u32 = 16;

impl Lowerer<'_> {
    /// Whether a routine is called by a mobile process that it may suspend.
    pub(super) fn is_part_of_process(&self, routine: RoutineId) -> bool {
        let routine = &self.program.routines[routine.0 as usize];
        routine.suspends && routine.implements.is_none()
    }

    /// Whether a channel or barrier may be another one after the next SUSPEND: its word is read at each use.
    pub(super) fn is_lent(&self, name: NameId) -> bool {
        let mut at = name;
        loop {
            let known = self.program.name(at);
            if !matches!(self.shape(known.ty), Shape::Chan(_) | Shape::Barrier) {
                return false;
            }
            match known.kind {
                NameKind::Formal(_) => return self.lent_formals().contains(&at),
                NameKind::Abbreviation { mode: Mode::Reference | Mode::Result, value, .. } => {
                    match self.plain_end(value) {
                        Some(name) => at = name,
                        None => return false,
                    }
                }
                _ => return false,
            }
        }
    }

    /// The parameters of the routines that suspend.
    fn lent_formals(&self) -> &std::collections::BTreeSet<NameId> {
        self.lent.get_or_init(|| {
            let suspend = |it: &&crate::program::Routine| it.suspends || it.implements.is_some();
            let routines = self.program.routines.iter().filter(suspend);
            routines.flat_map(|it| it.formals.iter().copied()).collect()
        })
    }

    /// The name that a channel is, by whatever end.
    fn plain_end(&self, expr: ExprId) -> Option<NameId> {
        match self.ast.expr(expr).kind {
            ExprKind::End(of, _) => self.plain_end(of),
            _ => self.plain_name(expr),
        }
    }

    /// The slot with the place of the word that has a channel's or barrier's address, if that is read at each use.
    pub(super) fn word_of(&self, value: ExprId) -> Option<Slot> {
        match self.home(self.plain_end(value)?) {
            Some(&Home::At(slot)) => Some(slot),
            _ => None,
        }
    }

    /// The place of a word with a channel's or barrier's address.
    pub(super) fn lent_word(&mut self, argument: ExprId) -> Slot {
        if let Some(slot) = self.word_of(argument) {
            return slot;
        }
        let slot = match self.shape(self.program.type_of(argument)) {
            Shape::Barrier => self.barrier(argument),
            _ => self.channel(argument),
        };
        self.address_of_slot(slot)
    }

    /// What is made from here on until `end_exit` is given back if the process is given up.
    pub(super) fn begin_exit(&mut self) -> Option<(Mark, Label)> {
        let around = self.f.exit;
        if self.f.instance.is_some() {
            self.f.exit = Some((self.mark(), self.f.code.label()));
        }
        around
    }

    pub(super) fn end_exit(&mut self, around: Option<(Mark, Label)>) {
        if let (Some(_), Some((_, label))) = (self.f.instance, std::mem::replace(&mut self.f.exit, around)) {
            self.f.code.bind(label);
        }
    }

    /// The branches of the PAR that comes are members of the process.
    pub(super) fn enroll_in_process(&mut self) {
        self.f.enrolling.extend(self.f.instance);
    }

    /// Leaves the branch or routine if the process is given up.
    pub(super) fn go_on_unless_given_up(&mut self) {
        let (Some(instance), Some((mark, label))) = (self.f.instance, self.f.exit) else { return };
        let state = self.slot();
        let on = self.f.code.label();
        self.f.code.ldr_w(state, instance, STATE);
        self.f.code.jz(state, on);
        self.leave(mark, label);
        self.f.code.bind(on);
    }

    pub(super) fn suspend(&mut self) {
        let Some(instance) = self.f.instance else { return };
        self.f.code.sync(instance);
        self.f.code.sync(instance);
        self.go_on_unless_given_up();
    }

    /// `MOBILE name`, a process that waits for its first activation.
    pub(super) fn new_process(&mut self, expr: ExprId) -> Slot {
        let span = self.ast.expr(expr).span;
        let routine = self.program.routine_of(self.program.name_of(expr));
        let function = routine.and_then(|routine| Some((routine, *self.functions.get(&routine)?)));
        let Some((routine, function)) = function else {
            self.refuse(span, "a mobile process is made before its PROC is known");
            return 2;
        };
        let words = self.program.routines[routine.0 as usize].formals.len() as u32;
        let (block, two, pair) = (self.slot(), self.slot(), self.slots(2));
        self.f.code.alloc_i(block, (GIVEN + 4 * words) as i32);
        // Its own, and that of whoever has it.
        self.f.code.ldi(two, 2);
        self.f.code.str_w(two, block, 0);
        self.f.code.str_w(two, block, 4);
        self.f.code.frame(pair, function.0 as i32);
        self.f.code.str_w(block, pair, 8);
        let count = self.process_count();
        self.f.code.data(pair + 1, count);
        self.f.code.spawn(pair, function.0 as i32);
        block
    }

    /// Two words as FORKING has them, of which the first never comes to zero: nobody waits for all mobile processes.
    fn process_count(&mut self) -> i32 {
        if let Some(at) = self.process_count {
            return at;
        }
        let at = self.module.data(&[1, 0, 0, 0, 1, 0, 0, 0]);
        self.process_count = Some(at);
        at
    }

    /// The function of a MOBILE PROC, which is a process from its beginning to its end.
    pub(super) fn mobile_routine(&mut self, id: RoutineId) {
        let program = self.program;
        let routine = &program.routines[id.0 as usize];
        let (name, span) = (program.spelling(routine.name), program.name(routine.name).span);
        if self.free.forks(id) {
            return self.refuse(span, "a MOBILE PROC that forks has a FORKING around that");
        }
        let function = self.module.declare(name);
        self.functions.insert(id, function);
        let alts = self.free.alts_of(id);
        let around = self.begin_function(alts);
        self.at(span);
        let instance = self.slot();
        for (number, &formal) in (0..).zip(&routine.formals) {
            let place = self.slot();
            self.plus(place, instance, GIVEN + 4 * number);
            self.f.homes.insert(formal, Home::At(place));
        }
        self.reserve_alts(alts);
        self.f.instance = Some(instance);
        let mark = self.mark();
        let exit = self.begin_exit();
        self.f.code.sync(instance);
        self.go_on_unless_given_up();
        if let &Body::Process(process) = &routine.body {
            self.process(process);
        }
        self.release(mark);
        self.end_exit(exit);
        let ended = self.slot();
        self.f.code.ldi(ended, HAS_ENDED);
        self.f.code.str_w(ended, instance, STATE);
        self.f.code.resign(instance);
        self.f.code.endf();
        self.finish_function(function);
        self.f = around;
    }

    /// A call of a mobile process.
    pub(super) fn activate(&mut self, call: ProcessId, arguments: &[ExprId]) {
        let program = self.program;
        let stands_for = program.routine_of(program.process_names[call.0 as usize]);
        let (Some(&name), Some(stands_for)) = (program.activations.get(&call.0), stands_for) else { return };
        let formals = &program.routines[stands_for.0 as usize].formals;
        let variable = match self.home(name) {
            Some(&Home::Slot(slot)) => Storage::Slot(slot),
            Some(&Home::At(slot)) => Storage::Memory(slot, 0),
            _ => return self.refuse(program.name(name).span, "this process cannot be activated here"),
        };
        let block = self.slot();
        self.load(&variable, Class::Word, block);
        let there = self.f.code.label();
        self.f.code.jnz(block, there);
        self.trap(Trap::Undefined);
        self.f.code.bind(there);
        let mut lent = Vec::new();
        for ((number, &formal), &argument) in (0..).zip(formals).zip(arguments) {
            let word = (GIVEN + 4 * number) as i32;
            let value = match self.shape(program.name(formal).ty) {
                Shape::Barrier => self.barrier(argument),
                Shape::End(_) => {
                    let (place, value) = (self.place(argument), self.slot());
                    self.load(&place, Class::Word, value);
                    lent.push((place, value, word));
                    value
                }
                _ => self.channel(argument),
            };
            self.f.code.str_w(value, block, word);
        }
        self.f.code.sync(block);
        self.f.code.sync(block);
        // An end may have moved on, or another may be there.
        for (place, value, word) in lent {
            self.f.code.ldr_w(value, block, word);
            self.store(&place, Class::Word, value);
        }
        let (state, lives) = (self.slot(), self.f.code.label());
        self.f.code.ldr_w(state, block, STATE);
        self.f.code.jz(state, lives);
        self.f.code.free(block);
        self.f.code.ldi(state, 0);
        self.store(&variable, Class::Word, state);
        self.f.code.bind(lives);
    }

    /// Gives a process up, if there is one.
    pub(super) fn drop_process(&mut self, block: Slot) {
        let mark = self.mark();
        let (given_up, none) = (self.slot(), self.f.code.label());
        self.f.code.jz(block, none);
        self.f.code.ldi(given_up, GIVEN_UP);
        self.f.code.str_w(given_up, block, STATE);
        self.f.code.sync(block);
        self.f.code.sync(block);
        self.f.code.free(block);
        self.f.code.bind(none);
        self.release(mark);
    }
}
