//! Owns: SEQ, WHILE, assignment, blocks, replicators, VALOF.
//! May use: `types`, `raddle-bytecode`, `raddle-occam-syntax`.
//! Never: leaves slots taken at the end of a process.
//!
//! It uses every other kind of process by its module.

use super::Lowerer;
use super::function::Home;
use super::place::Storage;
use super::shape::Shape;
use crate::ast::{ConstructKind, ExprId, ExprKind, ProcessId, ProcessKind, Replicator, Valof};
use crate::types::{Type, TypeId};
use raddle_bytecode::Trap;

impl Lowerer<'_> {
    pub(super) fn process(&mut self, id: ProcessId) {
        let (mark, from) = (self.mark(), self.f.code.here());
        self.process_open(id);
        // What follows one step of a SEQ, or a choice, needs only what it uses itself.
        let steps = matches!(
            self.ast.process(id).kind,
            ProcessKind::Construct { order: ConstructKind::Seq, replicator: None, .. }
                | ProcessKind::If(_)
                | ProcessKind::Block { .. }
        );
        if !steps {
            self.end_of_uses(from);
        }
        self.release(mark);
    }

    fn process_open(&mut self, id: ProcessId) {
        let ast = self.ast;
        let process = ast.process(id);
        self.at(process.span);
        match &process.kind {
            ProcessKind::Skip | ProcessKind::Error => {}
            ProcessKind::Stop => self.f.code.stop(),
            ProcessKind::Construct { order: ConstructKind::Seq, replicator, body } => match replicator {
                None => body.iter().for_each(|&process| self.process(process)),
                Some(replicator) => self.replicated(replicator, |lowerer| {
                    body.iter().for_each(|&process| lowerer.process(process));
                }),
            },
            ProcessKind::Construct { order: ConstructKind::PlacedPar, replicator, body } => {
                self.placed_par(id, process.span, replicator.as_deref(), body);
            }
            ProcessKind::Construct { replicator: None, body, .. } => self.par(process.span, body),
            ProcessKind::Construct { replicator: Some(replicator), body, .. } => {
                self.replicated_par(replicator, body);
            }
            ProcessKind::If(node) => self.if_process(process.span, node),
            ProcessKind::Alt(node) => self.alt(process.span, node),
            ProcessKind::Case { selector, options } => self.case(*selector, options),
            &ProcessKind::While(condition, body) => self.while_process(condition, body),
            ProcessKind::Assign { targets, values } => self.assign(targets, values),
            ProcessKind::Input { channel, kind } => self.input(*channel, kind),
            ProcessKind::Extended { channel, kind, during, after } => {
                self.extended(*channel, kind, *during, *after)
            }
            ProcessKind::Output { channel, items } => self.output(*channel, items),
            ProcessKind::Suspend => self.suspend(),
            ProcessKind::Call { arguments, .. } if self.program.activations.contains_key(&id.0) => {
                self.activate(id, arguments);
            }
            ProcessKind::Call { arguments, .. } => {
                self.call_proc(self.program.process_names[id.0 as usize], arguments, process.span);
            }
            ProcessKind::Block { specs, body } => {
                self.specs(specs);
                self.process(*body);
            }
            &ProcessKind::Claim { end, body } => self.claim(end, body),
            ProcessKind::Enroll { barriers, par } => self.enroll(barriers, *par),
            &ProcessKind::Sync(barrier) => self.sync(barrier),
            &ProcessKind::Resign { barrier, body } => self.resign(barrier, body),
            &ProcessKind::Forking(body) => self.forking(process.span, body),
            ProcessKind::Fork { arguments, .. } => {
                self.fork(self.program.process_names[id.0 as usize], arguments, process.span);
            }
        }
    }

    /// WHILE, with its test at the end: one jump an iteration.
    fn while_process(&mut self, condition: ExprId, body: ProcessId) {
        let (test, again) = (self.f.code.label(), self.f.code.label());
        if self.fold(condition) != Some(1) {
            self.f.code.jump(test);
        }
        self.f.code.bind(again);
        self.process(body);
        self.at(self.ast.expr(condition).span);
        self.f.code.bind(test);
        self.jump_if(condition, again);
    }

    /// Runs `work` for every value of the index.
    pub(super) fn replicated(&mut self, replicator: &Replicator, work: impl FnOnce(&mut Self)) {
        let index = self.slot();
        // Count, and behind it the step.
        let left = self.slots(2);
        self.scalar_into(replicator.base, index);
        let count = self.fold(replicator.count);
        self.scalar_into(replicator.count, left);
        if let Some(step) = replicator.step {
            self.scalar_into(step, left + 1);
        }
        let (again, done) = (self.f.code.label(), self.f.code.label());
        if count.is_none_or(|count| count < 0) {
            self.f.code.chk_count(left);
        }
        if count.is_none_or(|count| count <= 0) {
            self.f.code.jz(left, done);
        }
        self.f.code.bind(again);
        let name = self.program.replicator_names[replicator.number as usize];
        self.f.homes.insert(name, Home::Slot(index));
        let mark = self.mark();
        work(self);
        self.release(mark);
        match replicator.step {
            None => self.f.code.repeat(index, left, again),
            Some(_) => self.f.code.repeat_step(index, left, again),
        }
        self.f.code.bind(done);
    }

    /// The specifications and the body of a value process; the results are left to the caller.
    pub(super) fn valof_open(&mut self, valof: &Valof) {
        self.specs(&valof.specs);
        self.process(valof.body);
    }

    fn assign(&mut self, targets: &[ExprId], values: &[ExprId]) {
        let ast = self.ast;
        if let &[target] = targets
            && values.len() == 1
        {
            return self.assign_one(target, values[0]);
        }
        if let (ExprKind::NewMobile(_), Type::End { bundle, .. }) =
            (&ast.expr(values[0]).kind, self.program.types.get(self.program.type_of(values[0])))
        {
            return self.new_bundle(targets, bundle);
        }
        let types: Vec<TypeId> = targets.iter().map(|&target| self.program.type_of(target)).collect();
        let places: Vec<Storage> = targets.iter().map(|&target| self.place(target)).collect();
        let results = if values.len() == 1 {
            self.results_of(values[0], &types)
        } else {
            values.iter().zip(&types).map(|(&value, &ty)| self.copied(value, ty)).collect()
        };
        for ((place, result), &ty) in places.iter().zip(&results).zip(&types) {
            self.store_result(place, result, ty);
        }
    }

    /// A value in slots or memory of its own.
    fn copied(&mut self, value: ExprId, ty: TypeId) -> Storage {
        if self.in_memory(ty) {
            let view = self.view(value);
            let room = self.room(ty, view.dims.clone(), false);
            self.copy_view(&room, &view, ty);
            return Storage::View(room);
        }
        let (from, class) = self.word_or_value(value, ty);
        let to = self.slots(class.slots());
        self.move_slots(to, from, class);
        Storage::Slot(to)
    }

    fn store_result(&mut self, place: &Storage, result: &Storage, ty: TypeId) {
        match (self.shape(ty), result) {
            (Shape::Mobile(_) | Shape::End(_), &Storage::Slot(value)) => self.store_mobile(place, value, ty),
            (_, Storage::View(from)) => {
                let from = from.clone();
                let to = self.as_view(place);
                self.copy_view(&to, &from, ty);
            }
            (shape, &Storage::Slot(from)) => {
                if let Some(class) = shape.class() {
                    self.store(place, class, from);
                }
            }
            _ => {}
        }
    }

    pub(super) fn as_view(&mut self, place: &Storage) -> super::function::View {
        match place {
            Storage::View(view) => view.clone(),
            &Storage::Memory(at, offset) => self.view_at(at, offset, Vec::new(), None),
            &Storage::Slot(at) | &Storage::Element(at, _) => {
                super::function::View { at, dims: Vec::new(), frame: None }
            }
        }
    }

    fn assign_one(&mut self, target: ExprId, value: ExprId) {
        let ty = self.program.type_of(target);
        let got = self.program.type_of(value);
        match self.shape(ty) {
            Shape::Mobile(of) if !matches!(self.shape(got), Shape::Mobile(_)) && self.is_bare(value) => {
                self.assign_content(target, value, of);
            }
            Shape::Mobile(_) | Shape::End(_) => {
                let from = self.mobile_value(value, ty);
                let place = self.place(target);
                self.store_mobile(&place, from, ty);
            }
            _ => {
                let place = self.place(target);
                self.put_value(&place, ty, value);
            }
        }
    }

    /// Whether a value is no mobile that could be moved as a whole.
    fn is_bare(&self, value: ExprId) -> bool {
        !matches!(self.ast.expr(value).kind, ExprKind::NewMobile(_) | ExprKind::Clone(_))
    }

    /// An ordinary value into a mobile: a scalar or record goes into its memory; an array becomes a new mobile.
    fn assign_content(&mut self, target: ExprId, value: ExprId, of: TypeId) {
        let ty = self.program.type_of(target);
        match self.shape(of) {
            Shape::Scalar(class) => {
                let from = self.scalar(value);
                let address = self.mobile_address(target);
                self.store_at(address, 0, class, from);
            }
            _ => {
                let from = self.mobile_value(value, ty);
                let place = self.place(target);
                self.store_mobile(&place, from, ty);
            }
        }
    }

    /// Stores the value of an expression.
    pub(super) fn put_value(&mut self, place: &Storage, ty: TypeId, value: ExprId) {
        match (self.shape(ty), place) {
            (Shape::Array | Shape::Record(_), _) => {
                let from = self.view(value);
                let to = self.as_view(place);
                self.copy_view(&to, &from, ty);
            }
            (Shape::Mobile(_) | Shape::End(_), _) => {
                let from = self.mobile_value(value, ty);
                self.store_mobile(place, from, ty);
            }
            (Shape::Scalar(_), &Storage::Slot(to)) => self.scalar_into(value, to),
            _ => {
                let (from, class) = self.word_or_value(value, ty);
                self.store(place, class, from);
            }
        }
    }

    fn claim(&mut self, end: ExprId, body: ProcessId) {
        use crate::ast::{Direction, SharedEnds};
        let used = match self.program.types.get(self.program.type_of(end)) {
            Type::End { direction, .. } | Type::Chan { direction: Some(direction), .. } => direction,
            Type::Chan { shared: SharedEnds::Only(direction), .. } => direction,
            _ => Direction::Output,
        };
        let lock = self.lock(end, used);
        self.f.code.claim(lock);
        self.process(body);
        self.f.code.release(lock);
    }

    pub(super) fn trap(&mut self, trap: Trap) {
        self.f.code.trap(trap as i32);
    }
}
