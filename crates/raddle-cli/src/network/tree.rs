//! Owns: the processes of a program, one within another, and the channels between them.
//! May use: `raddle-occam`.
//! Never: runs the program; what depends on values that only a run has is drawn as one.
//!
//! The last PROC is unfolded: each branch of a PAR that is more than a communication is a process, a call with a PAR
//! in it a process with processes inside. Instances of a replicated PAR are told apart while there are few of them
//! and their number is known; then a subscript such as `(i + 1) \ n` has a value in each. An array of channels of
//! which somebody uses an element that is not known becomes one channel.

use super::ends::EndUses;
use super::eval::{Bound, BoundEnds, Env};
use super::root;
use raddle_occam::ast::{
    Alt, AlternativeKind, ChoiceKind, ConstructKind, Direction, ExprId, ExprKind, If, InputKind, ProcessId,
    ProcessKind, Replicator, SpecId, SpecKind,
};
use raddle_occam::program::{Body, NameId, NameKind, Program, Routine, RoutineId};
use raddle_occam::source::{Sources, Span};
use raddle_occam::symbol::FastMap;
use raddle_occam::types::Type;

/// A process, which may have others inside.
#[derive(Clone, Debug)]
pub(crate) struct NetworkProcess {
    /// The PROC's name, or how its text begins.
    pub(crate) title: String,
    /// Where it stands.
    pub(crate) span: Span,
    /// The process in which it runs.
    pub(crate) parent: Option<usize>,
    /// Those in it, which have greater numbers.
    pub(crate) children: Vec<usize>,
    /// What it uses itself.
    pub(crate) ports: Vec<NetworkPort>,
    /// How often it is there, if that is not once, as written.
    pub(crate) count: Option<String>,
    /// Whether it is forked.
    pub(crate) forked: bool,
}

/// An end of a channel that a process uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NetworkPort {
    /// The channel's number.
    pub(crate) channel: usize,
    /// Whether it outputs.
    pub(crate) output: bool,
}

/// A channel, a bundle of channels, or an array of which the elements are not told apart.
#[derive(Clone, Debug)]
pub(crate) struct NetworkChannel {
    /// Its name, with subscripts.
    pub(crate) name: String,
    /// What is sent along it.
    pub(crate) protocol: String,
    /// The process that declares it; none if it comes from outside.
    pub(crate) owner: Option<usize>,
    /// Whether an end is SHARED.
    pub(crate) shared: bool,
}

/// Processes and channels.
#[derive(Clone, Default, Debug)]
pub(crate) struct Network {
    /// Each before those in it; the first is the program.
    pub(crate) processes: Vec<NetworkProcess>,
    /// The channels that are used.
    pub(crate) channels: Vec<NetworkChannel>,
    /// Whether there are more processes than these.
    pub(crate) more: bool,
}

/// More are not drawn.
const PROCESSES_MAX: usize = 400;
/// More instances of one PAR are drawn as one.
const INSTANCES_MAX: i64 = 16;
/// Rounds of a loop in which subscripts are told apart.
const ROUNDS_MAX: i64 = 64;
/// Processes that are looked at, whoever calls them.
const STEPS_MAX: u32 = 500_000;

/// A declaration of channels, in one instance.
struct Declared {
    name: String,
    protocol: String,
    owner: Option<usize>,
    shared: bool,
    /// Its elements are not told apart.
    whole: bool,
    /// The other end of the same bundle.
    same: Option<usize>,
}

pub(super) struct NetworkBuilder<'p> {
    pub(super) program: &'p Program,
    sources: &'p Sources,
    ends: EndUses<'p>,
    network: Network,
    declared: Vec<Declared>,
    uses: Vec<(usize, BoundEnds, Direction)>,
    /// The routines in whose bodies the walk is.
    stack: Vec<RoutineId>,
    /// Whether a routine has processes inside that are worth a box.
    unfolds: FastMap<RoutineId, bool>,
    steps: u32,
}

impl Network {
    /// The processes of a program; none if it has no PROC.
    pub(crate) fn of(program: &Program, sources: &Sources) -> Network {
        let mut builder = NetworkBuilder {
            program,
            sources,
            ends: EndUses::of(program),
            network: Network::default(),
            declared: Vec::new(),
            uses: Vec::new(),
            stack: Vec::new(),
            unfolds: FastMap::default(),
            steps: 0,
        };
        if let Some(entry) = program.entry() {
            builder.program(entry);
        }
        builder.finished()
    }
}

impl NetworkBuilder<'_> {
    fn program(&mut self, entry: RoutineId) {
        let routine = &self.program.routines[entry.0 as usize];
        let name = self.program.name(routine.name);
        let node = self.node(None, self.program.spelling(routine.name).to_owned(), name.span);
        let mut env = Env::default();
        for &formal in &routine.formals {
            self.declare(formal, None, &mut env);
        }
        if let (Some(node), Body::Process(body)) = (node, &routine.body) {
            self.stack.push(entry);
            self.walk(node, *body, &mut env, false);
        }
    }

    fn node(&mut self, parent: Option<usize>, title: String, span: Span) -> Option<usize> {
        let number = self.network.processes.len();
        if number >= PROCESSES_MAX {
            self.network.more = true;
            return None;
        }
        if let Some(parent) = parent {
            self.network.processes[parent].children.push(number);
        }
        self.network.processes.push(NetworkProcess {
            title,
            span,
            parent,
            children: Vec::new(),
            ports: Vec::new(),
            count: None,
            forked: false,
        });
        Some(number)
    }

    /// Makes the channels of a name, if it has any.
    fn declare(&mut self, name: NameId, owner: Option<usize>, env: &mut Env) {
        let types = &self.program.types;
        let ty = self.program.name(name).ty;
        let innermost = types.get(types.immobile(types.innermost(types.immobile(ty))));
        let (protocol, shared) = match innermost {
            Type::Chan { protocol, shared, .. } => {
                (types.show(protocol, &self.program.symbols), shared != raddle_occam::ast::SharedEnds::No)
            }
            Type::End { bundle, shared, .. } => {
                (self.program.symbols.text(types.bundles[bundle as usize].name).to_owned(), shared)
            }
            _ => return,
        };
        let of = self.declared.len();
        let spelt = self.program.spelling(name).to_owned();
        self.declared.push(Declared { name: spelt, protocol, owner, shared, whole: false, same: None });
        let size = types.as_array(ty).and_then(|it| it.0).map(i64::from);
        env.insert(name, Bound::Ends(BoundEnds { of, path: Vec::new(), from: 0, size }));
    }

    /// The rest of what was told of the uses.
    fn finished(mut self) -> Network {
        let mut numbers: FastMap<(usize, Vec<i64>), usize> = FastMap::default();
        for (process, ends, direction) in std::mem::take(&mut self.uses) {
            let mut of = ends.of;
            while let Some(same) = self.declared[of].same {
                of = same;
            }
            let declared = &self.declared[of];
            let path = if declared.whole { Vec::new() } else { ends.path };
            let next = self.network.channels.len();
            let channel = *numbers.entry((of, path.clone())).or_insert(next);
            if channel == next {
                let subscripts: String = path.iter().map(|at| format!("[{at}]")).collect();
                let name = declared.name.clone() + if declared.whole { "[]" } else { &subscripts };
                let Declared { protocol, owner, shared, .. } = declared;
                let (protocol, owner, shared) = (protocol.clone(), *owner, *shared);
                self.network.channels.push(NetworkChannel { name, protocol, owner, shared });
            }
            let ports = &mut self.network.processes[process].ports;
            let port = NetworkPort { channel, output: direction == Direction::Output };
            if !ports.contains(&port) {
                ports.push(port);
            }
        }
        self.separated();
        self.network
    }

    /// What a process with others inside does itself is one more inside.
    fn separated(&mut self) {
        for at in 0..self.network.processes.len() {
            let process = &mut self.network.processes[at];
            if process.children.is_empty() || process.ports.is_empty() {
                continue;
            }
            let (ports, span) = (std::mem::take(&mut process.ports), process.span);
            let title = format!("{} itself", process.title);
            let number = self.network.processes.len();
            self.network.processes[at].children.push(number);
            let (children, count) = (Vec::new(), None);
            let parent = Some(at);
            self.network.processes.push(NetworkProcess {
                title,
                span,
                parent,
                children,
                ports,
                count,
                forked: false,
            });
        }
    }

    fn used(&mut self, node: usize, expr: ExprId, direction: Direction, env: &Env) {
        match self.ends_of(expr, env) {
            Ok(Some(ends)) => {
                if self.is_array(expr) {
                    self.declared[ends.of].whole = true;
                }
                let direction = self.by_end(expr).unwrap_or(direction);
                self.uses.push((node, ends, direction));
            }
            Ok(None) => {}
            Err(of) => {
                self.declared[of].whole = true;
                let direction = self.by_end(expr).unwrap_or(direction);
                self.uses.push((node, BoundEnds { of, path: Vec::new(), from: 0, size: None }, direction));
            }
        }
    }

    /// The end of a bundle that an expression belongs to: clients are drawn as if they output.
    fn by_end(&self, expr: ExprId) -> Option<Direction> {
        let types = &self.program.types;
        let name = root(self.program, expr)?;
        match types.get(types.immobile(types.innermost(types.immobile(self.program.name(name).ty)))) {
            Type::End { direction, .. } => Some(direction),
            _ => None,
        }
    }

    fn walk(&mut self, node: usize, id: ProcessId, env: &mut Env, flat: bool) {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            self.network.more = true;
            return;
        }
        let program = self.program;
        match &program.ast.process(id).kind {
            ProcessKind::Construct { order, replicator, body } => {
                let parallel =
                    *order != ConstructKind::Seq && !flat && self.are_boxes(body, replicator.is_some());
                match (parallel, replicator.as_deref()) {
                    (true, None) => body.iter().for_each(|&it| self.branch(node, it, env, None)),
                    (true, Some(replicator)) => self.instances(node, replicator, body, env),
                    (false, None) => body.iter().for_each(|&it| self.walk(node, it, &mut env.clone(), flat)),
                    (false, Some(replicator)) => self.rounds(replicator, env, flat, |builder, env, flat| {
                        body.iter().for_each(|&it| builder.walk(node, it, env, flat));
                    }),
                }
            }
            ProcessKind::If(choice) => self.choices(node, choice, env, flat),
            ProcessKind::Alt(alt) => self.alternatives(node, alt, env, flat),
            ProcessKind::Case { options, .. } => {
                options.iter().for_each(|it| self.scope(node, &it.specs, it.body, env, flat));
            }
            ProcessKind::Block { specs, body } => self.scope(node, specs, *body, env, flat),
            &ProcessKind::While(_, body)
            | &ProcessKind::Claim { body, .. }
            | &ProcessKind::Enroll { par: body, .. }
            | &ProcessKind::Resign { body, .. }
            | &ProcessKind::Forking(body) => self.walk(node, body, &mut env.clone(), flat),
            ProcessKind::Input { channel, kind } => {
                self.used(node, *channel, Direction::Input, env);
                self.variants(node, kind, env, flat);
            }
            ProcessKind::Extended { channel, kind, during, after } => {
                self.used(node, *channel, Direction::Input, env);
                self.variants(node, kind, env, flat);
                self.walk(node, *during, &mut env.clone(), flat);
                after.iter().for_each(|&it| self.walk(node, it, &mut env.clone(), flat));
            }
            ProcessKind::Output { channel, .. } => self.used(node, *channel, Direction::Output, env),
            ProcessKind::Assign { targets, values } => self.bundle(targets, values, env),
            ProcessKind::Call { .. } => {
                let Some(callee) = program.routine_of(program.process_names[id.0 as usize]) else { return };
                if !flat && self.unfolds(callee) {
                    self.branch(node, id, env, None);
                } else {
                    self.call(node, id, callee, env, true);
                }
            }
            ProcessKind::Fork { name, .. } => {
                let Some(callee) = program.routine_of(program.process_names[id.0 as usize]) else { return };
                let title = program.symbols.text(name.symbol).to_owned();
                if let Some(child) = self.node(Some(node), title, name.span) {
                    self.network.processes[child].forked = true;
                    self.call(child, id, callee, env, false);
                }
            }
            _ => {}
        }
    }

    /// `a, b := MOBILE X` makes the two ends of one bundle.
    fn bundle(&mut self, targets: &[ExprId], values: &[ExprId], env: &Env) {
        let &[one, two] = targets else { return };
        let fresh = |&value: &ExprId| matches!(self.program.ast.expr(value).kind, ExprKind::NewMobile(_));
        if !values.first().is_some_and(fresh) {
            return;
        }
        let [one, two] = [one, two].map(|it| self.ends_of(it, env).ok().flatten().map(|ends| ends.of));
        if let (Some(one), Some(two)) = (one, two)
            && one < two
        {
            self.declared[two].same = Some(one);
        } else if let (Some(one), Some(two)) = (one, two)
            && two < one
        {
            self.declared[one].same = Some(two);
        }
    }

    fn scope(&mut self, node: usize, specs: &[SpecId], body: ProcessId, env: &Env, flat: bool) {
        let mut env = env.clone();
        for &spec in specs {
            self.spec(node, spec, &mut env);
        }
        self.walk(node, body, &mut env, flat);
    }

    fn spec(&mut self, node: usize, id: SpecId, env: &mut Env) {
        let program = self.program;
        match &program.ast.spec(id).kind {
            SpecKind::Declare { names, .. } => {
                let first = program.spec_names[id.0 as usize];
                if first != NameId::NONE {
                    for name in program.declared(id, names.len()) {
                        self.declare(name, Some(node), env);
                    }
                }
            }
            &SpecKind::Abbreviate { value, .. } => {
                let name = program.spec_names[id.0 as usize];
                if name == NameId::NONE {
                    return;
                }
                let bound = match self.ends_of(value, env) {
                    Ok(Some(ends)) => Some(Bound::Ends(ends)),
                    Err(of) => {
                        self.declared[of].whole = true;
                        Some(Bound::Ends(BoundEnds { of, path: Vec::new(), from: 0, size: None }))
                    }
                    Ok(None) => self.fixed(name, value, env).map(Bound::Value),
                };
                match bound {
                    Some(bound) => _ = env.insert(name, bound),
                    None => _ = env.remove(&name),
                }
            }
            _ => {}
        }
    }

    /// The value of a VAL abbreviation.
    fn fixed(&self, name: NameId, value: ExprId, env: &Env) -> Option<i64> {
        let fixed = matches!(
            self.program.name(name).kind,
            NameKind::Abbreviation { mode: raddle_occam::ast::Mode::Val, .. }
        );
        fixed.then(|| self.value(value, env)).flatten()
    }

    /// Runs `body` for each value of the index, or once if they are not known; boxes are made in the first round.
    fn rounds(
        &mut self,
        replicator: &Replicator,
        env: &Env,
        flat: bool,
        mut body: impl FnMut(&mut Self, &mut Env, bool),
    ) {
        let index = self.program.replicator_names[replicator.number as usize];
        let mut env = env.clone();
        let Some(values) = self.values(replicator, &env, ROUNDS_MAX) else {
            env.remove(&index);
            return body(self, &mut env, flat);
        };
        for (round, value) in values.into_iter().enumerate() {
            env.insert(index, Bound::Value(value));
            body(self, &mut env.clone(), flat || round > 0);
        }
    }

    /// The instances of a replicated PAR.
    fn instances(&mut self, node: usize, replicator: &Replicator, body: &[ProcessId], env: &Env) {
        let index = self.program.replicator_names[replicator.number as usize];
        let mut env = env.clone();
        match self.values(replicator, &env, INSTANCES_MAX) {
            Some(values) => {
                for value in values {
                    env.insert(index, Bound::Value(value));
                    body.iter().for_each(|&it| self.branch(node, it, &env, None));
                }
            }
            None => {
                env.remove(&index);
                let count = self.text(self.program.ast.expr(replicator.count).span);
                body.iter().for_each(|&it| self.branch(node, it, &env, Some(&count)));
            }
        }
    }

    fn choices(&mut self, node: usize, choice: &If, env: &Env, flat: bool) {
        let each = |builder: &mut Self, env: &mut Env, flat: bool| {
            for choice in &choice.choices {
                match &choice.kind {
                    &ChoiceKind::Guarded(_, body) => builder.scope(node, &choice.specs, body, env, flat),
                    ChoiceKind::Nested(inner) => builder.choices(node, inner, env, flat),
                }
            }
        };
        match &choice.replicator {
            Some(replicator) => self.rounds(replicator, env, flat, each),
            None => each(self, &mut env.clone(), flat),
        }
    }

    fn alternatives(&mut self, node: usize, alt: &Alt, env: &Env, flat: bool) {
        let each = |builder: &mut Self, env: &mut Env, flat: bool| {
            for alternative in &alt.alternatives {
                let mut env = env.clone();
                alternative.specs.iter().for_each(|&spec| builder.spec(node, spec, &mut env));
                match &alternative.kind {
                    &AlternativeKind::Guarded { input, body, .. } => {
                        input.iter().for_each(|&it| builder.walk(node, it, &mut env.clone(), flat));
                        builder.walk(node, body, &mut env, flat);
                    }
                    AlternativeKind::Nested(inner) => builder.alternatives(node, inner, &env, flat),
                }
            }
        };
        match &alt.replicator {
            Some(replicator) => self.rounds(replicator, env, flat, each),
            None => each(self, &mut env.clone(), flat),
        }
    }

    fn variants(&mut self, node: usize, kind: &InputKind, env: &Env, flat: bool) {
        if let InputKind::Case(variants) = kind {
            for variant in variants {
                self.scope(node, &variant.specs, variant.body, env, flat);
                variant.after.iter().for_each(|&it| self.walk(node, it, &mut env.clone(), flat));
            }
        }
    }

    /// A process of its own.
    fn branch(&mut self, node: usize, id: ProcessId, env: &Env, count: Option<&str>) {
        let program = self.program;
        let process = program.ast.process(id);
        let parallel = |order: ConstructKind| order != ConstructKind::Seq;
        let callee = match &process.kind {
            // A PAR in a PAR has its branches beside the others.
            ProcessKind::Construct { order, .. } if parallel(*order) && self.has_boxes(id) => {
                return self.walk(node, id, &mut env.clone(), false);
            }
            ProcessKind::Fork { .. } => return self.walk(node, id, &mut env.clone(), false),
            ProcessKind::Call { name, .. } => Some((name, program.process_names[id.0 as usize])),
            _ => None,
        };
        let title = match callee {
            Some((name, _)) => program.symbols.text(name.symbol).to_owned(),
            None => self.line(program.ast.process(undeclared(program, id)).span),
        };
        let Some(child) = self.node(Some(node), title, process.span) else { return };
        self.network.processes[child].count = count.map(str::to_owned);
        match callee.and_then(|(_, name)| program.routine_of(name)) {
            Some(callee) => self.call(child, id, callee, env, false),
            None => self.walk(child, id, &mut env.clone(), false),
        }
    }

    /// What a call does is done by `node`.
    fn call(&mut self, node: usize, id: ProcessId, callee: RoutineId, env: &Env, flat: bool) {
        let program = self.program;
        let (ProcessKind::Call { arguments, .. } | ProcessKind::Fork { arguments, .. }) =
            &program.ast.process(id).kind
        else {
            return;
        };
        let routine = &program.routines[callee.0 as usize];
        let body = match routine.body {
            Body::Process(body) if !self.stack.contains(&callee) && self.stack.len() <= 60 => body,
            // A mobile process, of which only that is known.
            Body::Process(_) | Body::Interface => return self.by_directions(node, routine, arguments, env),
            _ => return,
        };
        let mut inner = env.clone();
        for (&formal, &argument) in routine.formals.iter().zip(arguments) {
            inner.remove(&formal);
            let bound = match self.ends_of(argument, env) {
                Ok(Some(ends)) => Some(Bound::Ends(ends)),
                Ok(None) => self.value(argument, env).map(Bound::Value),
                Err(of) => {
                    self.declared[of].whole = true;
                    Some(Bound::Ends(BoundEnds { of, path: Vec::new(), from: 0, size: None }))
                }
            };
            inner.extend(bound.map(|bound| (formal, bound)));
        }
        self.stack.push(callee);
        self.walk(node, body, &mut inner, flat || self.is_library(program.name(routine.name).span));
        self.stack.pop();
    }

    /// A call of which is known which ends it uses.
    fn by_directions(&mut self, node: usize, callee: &Routine, arguments: &[ExprId], env: &Env) {
        for (&formal, &argument) in callee.formals.iter().zip(arguments) {
            let [input, output] = self.ends.directions(formal);
            let both = [(input, Direction::Input), (output, Direction::Output)];
            for (_, direction) in both.into_iter().filter(|it| it.0) {
                self.used(node, argument, direction, env);
            }
        }
    }

    /// Whether a routine has processes inside that are worth a box.
    fn unfolds(&mut self, routine: RoutineId) -> bool {
        if let Some(&known) = self.unfolds.get(&routine) {
            return known;
        }
        self.unfolds.insert(routine, false);
        let program = self.program;
        let about = &program.routines[routine.0 as usize];
        let found = match about.body {
            Body::Process(body) if !self.is_library(program.name(about.name).span) => self.has_boxes(body),
            _ => false,
        };
        self.unfolds.insert(routine, found);
        found
    }

    fn has_boxes(&mut self, id: ProcessId) -> bool {
        let program = self.program;
        match &program.ast.process(id).kind {
            ProcessKind::Fork { .. } => true,
            ProcessKind::Construct { order, replicator, body } => {
                (*order != ConstructKind::Seq && self.are_boxes(body, replicator.is_some()))
                    || body.iter().any(|&it| self.has_boxes(it))
            }
            ProcessKind::Call { .. } => {
                let callee = program.routine_of(program.process_names[id.0 as usize]);
                callee.is_some_and(|callee| self.unfolds(callee))
            }
            _ => parts(program, id).into_iter().any(|it| self.has_boxes(it)),
        }
    }

    /// Whether the branches of a PAR are worth boxes: two are more than a communication or an assignment, or one is
    /// and there are many of it, or it is a call that gets a channel.
    fn are_boxes(&self, body: &[ProcessId], many: bool) -> bool {
        let counted = body.iter().filter(|&&it| self.is_process(it)).count();
        counted > usize::from(!many) || body.iter().any(|&it| self.gets_channel(it))
    }

    fn gets_channel(&self, id: ProcessId) -> bool {
        let program = self.program;
        match &program.ast.process(id).kind {
            ProcessKind::Fork { .. } => true,
            ProcessKind::Call { .. } => {
                let callee = program.routine_of(program.process_names[id.0 as usize]);
                let formals = callee.map_or(&[][..], |it| &program.routines[it.0 as usize].formals);
                formals.iter().any(|&formal| program.types.is_channel_like(program.name(formal).ty))
            }
            ProcessKind::Block { body, .. } => self.gets_channel(*body),
            _ => false,
        }
    }

    /// Whether a branch of a PAR is more than a communication or an assignment.
    fn is_process(&self, id: ProcessId) -> bool {
        match &self.program.ast.process(id).kind {
            ProcessKind::Call { .. }
            | ProcessKind::While(..)
            | ProcessKind::Alt(_)
            | ProcessKind::Fork { .. } => true,
            ProcessKind::Construct { replicator: Some(_), .. } => true,
            _ => parts(self.program, id).into_iter().any(|it| self.is_process(it)),
        }
    }

    fn is_library(&self, span: Span) -> bool {
        self.sources.place(span.lo).is_none_or(|place| place.file.ends_with("(of raddle)"))
    }

    /// A stretch of text.
    fn text(&self, span: Span) -> String {
        self.sources.slice(span).lines().next().unwrap_or("").trim().to_owned()
    }

    /// The line that begins there, without its comment.
    fn line(&self, span: Span) -> String {
        let Some(place) = self.sources.place(span.lo) else { return String::new() };
        let line: String = place.text.chars().skip(place.column as usize - 1).collect();
        line.split("--").next().unwrap_or("").trim().to_owned()
    }
}

/// A process without the declarations before it.
fn undeclared(program: &Program, mut id: ProcessId) -> ProcessId {
    while let ProcessKind::Block { body, .. } = &program.ast.process(id).kind {
        id = *body;
    }
    id
}

/// The processes of which one consists.
fn parts(program: &Program, id: ProcessId) -> Vec<ProcessId> {
    fn of_if(node: &If, list: &mut Vec<ProcessId>) {
        for choice in &node.choices {
            match &choice.kind {
                &ChoiceKind::Guarded(_, body) => list.push(body),
                ChoiceKind::Nested(inner) => of_if(inner, list),
            }
        }
    }
    fn of_alt(node: &Alt, list: &mut Vec<ProcessId>) {
        for alternative in &node.alternatives {
            match &alternative.kind {
                &AlternativeKind::Guarded { body, .. } => list.push(body),
                AlternativeKind::Nested(inner) => of_alt(inner, list),
            }
        }
    }
    let mut list = Vec::new();
    let mut of_variants = |kind: &InputKind| {
        if let InputKind::Case(variants) = kind {
            list.extend(variants.iter().flat_map(|it| [Some(it.body), it.after]).flatten());
        }
    };
    match &program.ast.process(id).kind {
        ProcessKind::Input { kind, .. } => of_variants(kind),
        ProcessKind::Extended { kind, during, after, .. } => {
            of_variants(kind);
            list.push(*during);
            list.extend(after);
        }
        ProcessKind::Construct { body, .. } => list.extend(body),
        ProcessKind::If(node) => of_if(node, &mut list),
        ProcessKind::Alt(node) => of_alt(node, &mut list),
        ProcessKind::Case { options, .. } => list.extend(options.iter().map(|it| it.body)),
        &ProcessKind::While(_, body)
        | &ProcessKind::Claim { body, .. }
        | &ProcessKind::Enroll { par: body, .. }
        | &ProcessKind::Resign { body, .. }
        | &ProcessKind::Forking(body)
        | &ProcessKind::Block { body, .. } => list.push(body),
        _ => {}
    }
    list
}
