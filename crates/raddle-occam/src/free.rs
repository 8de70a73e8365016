//! Owns: which outer names a routine or a process uses, which of them it may change, and who forks.
//! May use: `program`, `raddle-occam-syntax`.
//! Never: emits code.
//!
//! The checker numbers names in the order of the text, and every name is declared before it is used. So the names
//! that lie outside of a routine are simply those with numbers below the routine's own, and those outside of a
//! replicated process have numbers below its index's.

use std::collections::BTreeMap;

use crate::ast::{
    Alt, AlternativeKind, ChoiceKind, ExprId, ExprKind, If, InputItem, InputKind, Mode, ProcessId,
    ProcessKind, Replicator, SpecId, SpecKind, TypeKind, TypeNodeId, Valof,
};
use crate::program::{Body, NameId, NameKind, Program, RoutineId};

/// Names used, each with whether it may be changed.
pub(crate) type Names = BTreeMap<NameId, bool>;

/// What a stretch of program mentions itself.
#[derive(Default)]
struct Found {
    names: Names,
    calls: Vec<RoutineId>,
    alts: u32,
    /// Whether it forks, and whom it calls or forks, outside of every FORKING in it.
    forks: bool,
    outside: Vec<RoutineId>,
}

/// The outer names of every routine.
pub(crate) struct Free {
    routines: Vec<Names>,
    alts: Vec<u32>,
    called: Vec<bool>,
    forks: Vec<bool>,
}

impl Free {
    /// Gathers them, through calls too, for a program that begins with `entry`.
    pub(crate) fn new(program: &Program, entry: Option<RoutineId>) -> Self {
        let found: Vec<Found> =
            program.routines.iter().map(|routine| of_body(program, &routine.body)).collect();
        let mut free = Self {
            routines: vec![Names::new(); found.len()],
            alts: found.iter().map(|found| found.alts).collect(),
            called: vec![false; found.len()],
            forks: found.iter().map(|found| found.forks).collect(),
        };
        free.reach(program, entry, &found);
        let mut again = true;
        // Callees are mostly declared, and so numbered, before their callers: few rounds are needed.
        while again {
            again = false;
            for (at, found) in found.iter().enumerate() {
                if !free.forks[at] && found.outside.iter().any(|call| free.forks[call.0 as usize]) {
                    free.forks[at] = true;
                    again = true;
                }
                let limit = program.routines[at].name;
                let names = free.close(found, limit);
                if names != free.routines[at] {
                    free.routines[at] = names;
                    again = true;
                }
            }
        }
        free
    }

    /// Marks what the program calls, and what its outermost declarations call.
    fn reach(&mut self, program: &Program, entry: Option<RoutineId>, found: &[Found]) {
        let mut walk = Walk { program, found: Found::default(), forking: 0 };
        walk.specs(&program.ast.top);
        let mut list: Vec<RoutineId> = entry.into_iter().chain(walk.found.calls).collect();
        while let Some(id) = list.pop() {
            if !std::mem::replace(&mut self.called[id.0 as usize], true) {
                list.extend(&found[id.0 as usize].calls);
            }
        }
    }

    /// Whether a routine may be called at all.
    pub(crate) fn is_called(&self, routine: RoutineId) -> bool {
        self.called[routine.0 as usize]
    }

    /// Whether a routine forks processes that its caller's FORKING counts.
    pub(crate) fn forks(&self, routine: RoutineId) -> bool {
        self.forks[routine.0 as usize]
    }

    /// Whether processes fork others that a FORKING around them counts.
    pub(crate) fn fork_outwards(&self, program: &Program, processes: &[ProcessId]) -> bool {
        let mut walk = Walk { program, found: Found::default(), forking: 0 };
        processes.iter().for_each(|&process| walk.process(process));
        walk.found.forks || walk.found.outside.iter().any(|&routine| self.forks(routine))
    }

    /// How many ALTs a routine contains.
    pub(crate) fn alts_of(&self, routine: RoutineId) -> u32 {
        self.alts[routine.0 as usize]
    }

    fn close(&self, found: &Found, limit: NameId) -> Names {
        let mut names: Names = found.names.range(..limit).map(|(&name, &changed)| (name, changed)).collect();
        for call in &found.calls {
            for (&name, &changed) in self.routines[call.0 as usize].range(..limit) {
                *names.entry(name).or_default() |= changed;
            }
        }
        names
    }

    /// The outer names of a routine.
    pub(crate) fn of(&self, routine: RoutineId) -> &Names {
        &self.routines[routine.0 as usize]
    }

    /// The outer names of a replicated process whose index is `limit`, and how many ALTs it contains.
    pub(crate) fn of_processes(
        &self,
        program: &Program,
        processes: &[ProcessId],
        limit: NameId,
    ) -> (Names, u32) {
        let mut walk = Walk { program, found: Found::default(), forking: 0 };
        processes.iter().for_each(|&process| walk.process(process));
        (self.close(&walk.found, limit), walk.found.alts)
    }
}

fn of_body(program: &Program, body: &Body) -> Found {
    let mut walk = Walk { program, found: Found::default(), forking: 0 };
    match body {
        &Body::Process(process) => walk.process(process),
        Body::Results(results) => walk.exprs(results),
        Body::Predefined | Body::Foreign | Body::Interface => {}
    }
    walk.found
}

struct Walk<'a> {
    program: &'a Program,
    found: Found,
    /// How many FORKINGs are around.
    forking: u32,
}

impl Walk<'_> {
    fn mention(&mut self, name: NameId, changed: bool) {
        if name == NameId::NONE {
            return;
        }
        let declared = self.program.name(name);
        match declared.kind {
            NameKind::Routine(routine) => self.found.calls.push(routine),
            NameKind::Error | NameKind::Type => {}
            _ => *self.found.names.entry(name).or_default() |= changed || declared.shared,
        }
    }

    fn exprs(&mut self, list: &[ExprId]) {
        list.iter().for_each(|&expr| self.expr(expr));
    }

    fn expr(&mut self, id: ExprId) {
        match &self.program.ast.expr(id).kind {
            ExprKind::Name(_) => self.mention(self.program.name_of(id), false),
            ExprKind::Monadic(_, value) | ExprKind::UserMonadic(_, value) => {
                self.mention(self.program.name_of(id), false);
                self.expr(*value);
            }
            ExprKind::Dyadic(_, left, right) | ExprKind::UserDyadic(_, left, right) => {
                self.mention(self.program.name_of(id), false);
                self.exprs(&[*left, *right]);
            }
            &ExprKind::Convert { to, value, .. } => {
                self.ty(to);
                self.expr(value);
            }
            ExprKind::BytesIn(value) | ExprKind::Clone(value) | ExprKind::Defined(value) => self.expr(*value),
            &ExprKind::End(value, _) => self.expr(value),
            &ExprKind::Index { base, index } => self.exprs(&[base, index]),
            &ExprKind::Slice { base, from, count } => {
                self.expr(base);
                from.into_iter().chain(count).for_each(|part| self.expr(part));
            }
            ExprKind::Table { elements, suffix } => {
                suffix.iter().for_each(|&ty| self.ty(ty));
                self.exprs(elements);
            }
            ExprKind::Constructor { replicator, element } => {
                self.replicator(replicator);
                self.expr(*element);
            }
            ExprKind::Call { arguments, .. } => self.call(self.program.name_of(id), arguments),
            ExprKind::Valof(valof) => self.valof(valof),
            &ExprKind::NewMobile(ty) => {
                self.mention(self.program.name_of(id), false);
                self.ty(ty);
            }
            &ExprKind::SizeOfType(ty) | &ExprKind::BytesInType(ty) => self.ty(ty),
            _ => {}
        }
    }

    fn ty(&mut self, node: TypeNodeId) {
        match self.program.ast.ty(node).kind {
            TypeKind::Array { size, element } => {
                size.into_iter().for_each(|size| self.expr(size));
                self.ty(element);
            }
            TypeKind::Mobile(of) => self.ty(of),
            _ => {}
        }
    }

    fn valof(&mut self, valof: &Valof) {
        self.specs(&valof.specs);
        self.process(valof.body);
        self.exprs(&valof.results);
    }

    fn replicator(&mut self, replicator: &Replicator) {
        self.exprs(&[replicator.base, replicator.count]);
        replicator.step.into_iter().for_each(|step| self.expr(step));
    }

    fn call(&mut self, callee: NameId, arguments: &[ExprId]) {
        self.mention(callee, false);
        let formals = self.program.routine_of(callee).map(|id| &self.program.routines[id.0 as usize].formals);
        for (at, &argument) in arguments.iter().enumerate() {
            let formal =
                formals.and_then(|formals| formals.get(at)).map(|&formal| self.program.name(formal).kind);
            match formal {
                Some(NameKind::Formal(Mode::Reference | Mode::Result)) => self.target(argument),
                _ => self.expr(argument),
            }
        }
    }

    /// Something that is assigned, input to, or named by reference.
    fn target(&mut self, id: ExprId) {
        match self.program.ast.expr(id).kind {
            ExprKind::Name(_) => self.mention(self.program.name_of(id), true),
            ExprKind::Index { base, index } => {
                self.target(base);
                self.expr(index);
            }
            ExprKind::Slice { base, from, count } => {
                self.target(base);
                from.into_iter().chain(count).for_each(|part| self.expr(part));
            }
            _ => self.expr(id),
        }
    }

    fn specs(&mut self, specs: &[SpecId]) {
        for &spec in specs {
            match self.program.ast.spec(spec).kind {
                SpecKind::Declare { ty, .. } => self.ty(ty),
                SpecKind::Abbreviate { mode, value, ty, .. } => {
                    ty.into_iter().for_each(|ty| self.ty(ty));
                    if matches!(mode, Mode::Reference | Mode::Result) {
                        self.target(value)
                    } else {
                        self.expr(value)
                    }
                }
                // A routine's own uses count where it is called.
                _ => {}
            }
        }
    }

    fn process(&mut self, id: ProcessId) {
        match &self.program.ast.process(id).kind {
            ProcessKind::Skip | ProcessKind::Stop | ProcessKind::Suspend | ProcessKind::Error => {}
            ProcessKind::Construct { replicator, body, .. } => {
                replicator.iter().for_each(|replicator| self.replicator(replicator));
                for &process in body {
                    let number = self.program.ast.processors.get(&process.0);
                    number.into_iter().for_each(|&number| self.expr(number));
                    self.process(process);
                }
            }
            ProcessKind::If(node) => self.if_process(node),
            ProcessKind::Alt(node) => {
                self.found.alts += 1;
                self.alt(node);
            }
            ProcessKind::Case { selector, options } => {
                self.expr(*selector);
                for option in options {
                    self.specs(&option.specs);
                    self.exprs(&option.values);
                    self.process(option.body);
                }
            }
            &ProcessKind::While(condition, body) => {
                self.expr(condition);
                self.process(body);
            }
            ProcessKind::Assign { targets, values } => self.assignment(targets, values),
            ProcessKind::Input { channel, kind } => {
                self.expr(*channel);
                self.input(kind);
            }
            ProcessKind::Extended { channel, kind, during, after } => {
                self.expr(*channel);
                self.input(kind);
                self.process(*during);
                after.iter().for_each(|&after| self.process(after));
            }
            ProcessKind::Output { channel, items } => {
                self.expr(*channel);
                for item in items {
                    item.count.into_iter().for_each(|count| self.expr(count));
                    self.expr(item.value);
                }
            }
            ProcessKind::Call { .. } | ProcessKind::Fork { .. } => self.calls(id),
            ProcessKind::Enroll { .. } | ProcessKind::Sync(_) | ProcessKind::Resign { .. } => {
                self.barrier(id)
            }
            &ProcessKind::Forking(body) => {
                self.forking += 1;
                self.process(body);
                self.forking -= 1;
            }
            ProcessKind::Block { specs, body } => {
                self.specs(specs);
                self.process(*body);
            }
            &ProcessKind::Claim { end, body } => {
                self.expr(end);
                self.process(body);
            }
        }
    }

    fn calls(&mut self, id: ProcessId) {
        let (ProcessKind::Call { arguments, .. } | ProcessKind::Fork { arguments, .. }) =
            &self.program.ast.process(id).kind
        else {
            return;
        };
        let callee = self.program.process_names[id.0 as usize];
        if let Some(&process) = self.program.activations.get(&id.0) {
            self.mention(process, true);
        }
        if self.forking == 0 {
            self.found.forks |= matches!(self.program.ast.process(id).kind, ProcessKind::Fork { .. });
            self.found.outside.extend(self.program.routine_of(callee));
        }
        self.call(callee, arguments);
    }

    fn assignment(&mut self, targets: &[ExprId], values: &[ExprId]) {
        targets.iter().for_each(|&target| self.target(target));
        self.exprs(values);
    }

    fn barrier(&mut self, id: ProcessId) {
        match &self.program.ast.process(id).kind {
            ProcessKind::Enroll { barriers, par } => {
                self.exprs(barriers);
                self.process(*par);
            }
            &ProcessKind::Sync(barrier) => self.expr(barrier),
            &ProcessKind::Resign { barrier, body } => {
                self.expr(barrier);
                self.process(body);
            }
            _ => {}
        }
    }

    fn items(&mut self, items: &[InputItem]) {
        for item in items {
            item.count.into_iter().for_each(|count| self.target(count));
            self.target(item.target);
        }
    }

    fn input(&mut self, kind: &InputKind) {
        match kind {
            InputKind::Items(items) | InputKind::Tagged(_, items) => self.items(items),
            &InputKind::After(time) => self.expr(time),
            InputKind::Case(variants) => {
                for variant in variants {
                    self.specs(&variant.specs);
                    self.items(&variant.items);
                    self.process(variant.body);
                    variant.after.iter().for_each(|&after| self.process(after));
                }
            }
        }
    }

    fn if_process(&mut self, node: &If) {
        node.replicator.iter().for_each(|replicator| self.replicator(replicator));
        for choice in &node.choices {
            self.specs(&choice.specs);
            match &choice.kind {
                &ChoiceKind::Guarded(condition, body) => {
                    self.expr(condition);
                    self.process(body);
                }
                ChoiceKind::Nested(node) => self.if_process(node),
            }
        }
    }

    fn alt(&mut self, node: &Alt) {
        node.replicator.iter().for_each(|replicator| self.replicator(replicator));
        for alternative in &node.alternatives {
            self.specs(&alternative.specs);
            match &alternative.kind {
                &AlternativeKind::Guarded { condition, input, body } => {
                    condition.into_iter().for_each(|condition| self.expr(condition));
                    input.into_iter().for_each(|input| self.process(input));
                    self.process(body);
                }
                AlternativeKind::Nested(node) => self.alt(node),
            }
        }
    }
}
