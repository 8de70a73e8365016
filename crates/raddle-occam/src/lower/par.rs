//! Owns: PAR.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: gives two branches the same slots.
//!
//! The branches of a PAR work in the frame of the function around; each begins behind the most that those before it
//! use. The first is done by the process itself, while the others wait for their turn in order. The body of a
//! replicated PAR is a function, because its instances cannot share slots; it begins with copies of what it uses, read
//! from its parent's frame, whose address stands in its slot 1. Its index stands in slot 2.

use super::barrier::Members;
use super::function::{Dim, Home, View};
use super::pass::Pass;
use super::placed::Placing;
use super::shape::Class;
use super::{Lowerer, Slot};
use crate::ast::{ProcessId, Replicator};
use crate::program::NameId;
use crate::source::Span;

impl Lowerer<'_> {
    pub(super) fn par(&mut self, span: Span, body: &[ProcessId]) {
        let placing = self.f.placing.take();
        let Some((&first, others)) = body.split_first() else { return };
        if others.is_empty() {
            // It has its parent's membership.
            self.f.enrolling.clear();
            return self.par_branch(first, placing);
        }
        self.enroll_in_process();
        let members = self.members(Err(1 + others.len() as u32));
        let join = self.slot();
        self.f.code.par(join, others.len() as i32);
        let labels: Vec<_> = others.iter().map(|_| self.f.code.label()).collect();
        for &label in &labels {
            self.f.code.fork(join, label);
        }
        let (top, peak) = (self.f.top, self.f.peak);
        let mut highest = self.branch_process(first, placing, members.as_ref());
        // Who waits for the others stands at the PAR.
        self.at(span);
        self.f.code.join(join);
        let done = self.f.code.label();
        self.f.code.jump(done);
        for (&process, label) in others.iter().zip(labels) {
            self.f.code.bind(label);
            highest = highest.max(self.branch_process(process, placing, members.as_ref()));
            self.f.code.end();
        }
        self.f.code.bind(done);
        self.f.top = top;
        self.f.peak = peak.max(highest);
        self.go_on_unless_given_up();
    }

    /// A branch; the next one begins behind all its slots.
    fn branch_process(
        &mut self,
        process: ProcessId,
        placing: Option<Placing>,
        members: Option<&Members>,
    ) -> u32 {
        self.f.peak = self.f.top;
        let (from, around) = (self.f.code.here(), std::mem::take(&mut self.f.ends));
        let exit = self.begin_exit();
        self.par_branch(process, placing);
        self.end_exit(exit);
        self.leave_members(members);
        self.tell_ends(from, around);
        self.f.top = self.f.peak.min(65_000);
        self.f.peak
    }

    pub(super) fn replicated_par(&mut self, replicator: &Replicator, body: &[ProcessId]) {
        let placing = self.f.placing.take();
        let index = self.program.replicator_names[replicator.number as usize];
        let (names, alts) = self.free.of_processes(self.program, body, index);
        let routine = self.module.declare("PAR");
        let state = self.slots(6);
        self.scalar_into(replicator.base, state + 1);
        self.scalar_into(replicator.count, state + 2);
        match replicator.step {
            Some(step) => self.scalar_into(step, state + 3),
            None => self.f.code.ldi(state + 3, 1),
        }
        self.f.code.chk_count(state + 2);
        self.enroll_in_process();
        let members = self.members(Ok(state + 2));
        let mut homes = Vec::new();
        for (name, changed) in names {
            let pass = self.pass_outer(name, changed);
            if let Some(home) = self.home(name).cloned() {
                homes.push((name, pass, home));
            }
        }
        self.f.code.forkn(state, routine.0 as i32);
        self.f.code.joinn(state);
        self.go_on_unless_given_up();
        let (block, instance) = (self.f.forking, self.f.instance);
        let around = self.begin_function(alts);
        if let Some(&first) = body.first() {
            self.at(self.ast.process(first).span);
        }
        let own = self.slot();
        self.f.homes.insert(index, Home::Slot(own));
        for (name, pass, home) in homes {
            self.capture(name, &pass, &home);
        }
        let members = members.map(|members| self.captured_members(&members));
        if let Some(slot) = block {
            let own = self.slot();
            self.load_at(1, u32::from(slot) * 4, Class::Word, own);
            self.f.forking = Some(own);
        }
        if let Some(slot) = instance {
            let own = self.slot();
            self.load_at(1, u32::from(slot) * 4, Class::Word, own);
            self.f.instance = Some(own);
        }
        let placing =
            placing.map(|placing| self.captured_placing(placing, (own, state), replicator.step.is_some()));
        self.reserve_alts(alts);
        let exit = self.begin_exit();
        body.iter().for_each(|&process| self.par_branch(process, placing));
        self.end_exit(exit);
        self.leave_members(members.as_ref());
        self.f.code.end();
        self.finish_function(routine);
        self.f = around;
    }

    /// Copies what a name needs from the parent's frame.
    fn capture(&mut self, name: NameId, pass: &Pass, home: &Home) {
        const PARENT: Slot = 1;
        let home = match (pass, home) {
            (Pass::Nothing, _) => return,
            (Pass::Value(class), &Home::Slot(slot)) => {
                let to = self.slots(class.slots());
                let class = if class.slots() == 2 { Class::Long } else { Class::Word };
                self.load_at(PARENT, u32::from(slot) * 4, class, to);
                Home::Slot(to)
            }
            (Pass::Value(class), &Home::At(slot)) => {
                let (address, to) = (self.slot(), self.slots(class.slots()));
                self.load_at(PARENT, u32::from(slot) * 4, Class::Word, address);
                self.load_at(address, 0, *class, to);
                Home::Slot(to)
            }
            (_, &Home::Slot(slot)) => {
                let to = self.slot();
                self.plus(to, PARENT, u32::from(slot) * 4);
                Home::At(to)
            }
            (_, &Home::At(slot)) => {
                let to = self.slot();
                self.load_at(PARENT, u32::from(slot) * 4, Class::Word, to);
                Home::At(to)
            }
            (_, Home::View(view)) => Home::View(self.capture_view(view)),
        };
        self.f.homes.insert(name, home);
    }

    fn capture_view(&mut self, view: &View) -> View {
        let at = self.slots(if view.dims.is_empty() { 1 } else { 2 });
        self.load_at(1, u32::from(view.at) * 4, Class::Word, at);
        let mut dims = Vec::new();
        for (number, &dim) in view.dims.iter().enumerate() {
            dims.push(match dim {
                Dim::Const(size) => Dim::Const(size),
                Dim::Slot(slot) => {
                    let to = if number == 0 { at + 1 } else { self.slot() };
                    self.load_at(1, u32::from(slot) * 4, Class::Word, to);
                    Dim::Slot(to)
                }
            });
        }
        self.set_count(at, &dims);
        View { at, dims, frame: None }
    }
}
