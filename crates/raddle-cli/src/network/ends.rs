//! Owns: who uses which end of a channel.
//! May use: `raddle-occam`.
//! Never: tells the elements of an array apart.

use super::root;
use raddle_occam::ast::{
    Alt, AlternativeKind, ChoiceKind, Direction, ExprId, If, InputKind, ProcessId, ProcessKind,
};
use raddle_occam::program::{Body, NameId, NameKind, Program, RoutineId};
use raddle_occam::source::Span;
use raddle_occam::symbol::FastMap;
use raddle_occam::types::Type;

/// A use of one end of a channel, or of an array of channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EndUse {
    /// The channel as it is called there.
    pub(crate) channel: NameId,
    /// What is done: input or output.
    pub(crate) direction: Direction,
    /// Where.
    pub(crate) span: Span,
    /// In which routine.
    pub(crate) by: RoutineId,
    /// By whom, if the end is a parameter of a call.
    pub(crate) through: Option<RoutineId>,
}

/// Who is at the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Partner {
    /// A process of the program.
    Use(EndUse),
    /// Whoever runs the program: a parameter of its outermost PROC, or of a test.
    Outside(NameId),
}

/// A call, or a FORK, with what is passed.
struct Passing {
    by: RoutineId,
    callee: RoutineId,
    arguments: Vec<ExprId>,
    span: Span,
}

/// All uses of ends in a program.
pub(crate) struct EndUses<'p> {
    program: &'p Program,
    uses: Vec<EndUse>,
    calls: Vec<Passing>,
    /// What routines do with parameters whose headings do not say: input, output.
    found: FastMap<NameId, [bool; 2]>,
}

/// A parameter of a parameter, and so on: so far it is followed.
const DEPTH_MAX: u32 = 20;

impl<'p> EndUses<'p> {
    /// Looks through the whole program.
    pub(crate) fn of(program: &'p Program) -> Self {
        let mut ends = EndUses { program, uses: Vec::new(), calls: Vec::new(), found: FastMap::default() };
        for (at, routine) in program.routines.iter().enumerate() {
            if let Body::Process(body) = routine.body {
                ends.process(RoutineId(at as u32), body);
            }
            // What a mobile process may do is all in the directions.
            for &formal in routine.formals.iter().filter(|_| routine.body == Body::Interface) {
                if let Type::Chan { direction: Some(direction), .. } =
                    program.types.get(program.name(formal).ty)
                {
                    ends.note(formal, direction);
                }
            }
        }
        for used in ends.uses.clone() {
            ends.note(used.channel, used.direction);
        }
        while ends.pass_on() {}
        ends.pass_to_callees();
        ends.uses.sort_by_key(|used| (used.span, used.direction as u8));
        ends.uses.dedup();
        ends
    }

    /// The uses of a channel under that very name, and under abbreviations of it.
    pub(crate) fn uses(&self, channel: NameId) -> impl Iterator<Item = &EndUse> {
        let channel = self.original(channel);
        self.uses.iter().filter(move |used| self.original(used.channel) == channel)
    }

    /// What a routine does with a parameter: whether it inputs, whether it outputs.
    pub(crate) fn directions(&self, formal: NameId) -> [bool; 2] {
        let types = &self.program.types;
        match types.get(types.immobile(types.innermost(self.program.name(formal).ty))) {
            Type::Chan { direction: Some(direction), .. } | Type::End { direction, .. } => {
                [direction == Direction::Input, direction == Direction::Output]
            }
            Type::Chan { .. } => self.found.get(&formal).copied().unwrap_or_default(),
            _ => [false; 2],
        }
    }

    /// Who does the opposite with a channel: who outputs, if it is input here.
    pub(crate) fn partners(&self, channel: NameId, direction: Direction) -> Vec<Partner> {
        let mut list = Vec::new();
        self.gather(channel, direction.other(), &mut list, 0);
        list.dedup();
        list
    }

    fn gather(&self, channel: NameId, wanted: Direction, list: &mut Vec<Partner>, depth: u32) {
        let channel = self.original(channel);
        if depth > DEPTH_MAX || list.len() > 100 {
            return;
        }
        if !matches!(self.program.name(channel).kind, NameKind::Formal(_)) {
            list.extend(
                self.uses(channel).filter(|used| used.direction == wanted).map(|&it| Partner::Use(it)),
            );
            return;
        }
        let owner = self.program.routines.iter().position(|it| it.formals.contains(&channel));
        let Some(owner) = owner.map(|at| RoutineId(at as u32)) else { return };
        let at = self.program.routines[owner.0 as usize].formals.iter().position(|&it| it == channel);
        let passed = self.calls.iter().filter(|call| call.callee == owner && call.by != owner);
        for call in passed {
            if let Some(passed) = at.and_then(|at| root(self.program, *call.arguments.get(at)?)) {
                self.gather(passed, wanted, list, depth + 1);
            }
        }
        if self.program.is_run(owner) {
            list.push(Partner::Outside(channel));
        }
    }

    /// What an abbreviation stands for in the end.
    fn original(&self, mut name: NameId) -> NameId {
        for _ in 0..DEPTH_MAX {
            let NameKind::Abbreviation { value, .. } = self.program.name(name).kind else { break };
            let Some(next) = root(self.program, value).filter(|_| self.is_channel(name)) else { break };
            name = next;
        }
        name
    }

    fn is_channel(&self, name: NameId) -> bool {
        let types = &self.program.types;
        let ty = types.immobile(types.innermost(self.program.name(name).ty));
        matches!(types.get(ty), Type::Chan { .. } | Type::End { .. })
    }

    /// Notes what is done with a parameter; whether that was news.
    fn note(&mut self, channel: NameId, direction: Direction) -> bool {
        let channel = self.original(channel);
        let found = self.found.entry(channel).or_default();
        !std::mem::replace(&mut found[direction as usize], true)
    }

    /// What is done with what is passed is what the callee does with its parameter.
    fn pass_on(&mut self) -> bool {
        let mut news = Vec::new();
        for call in &self.calls {
            let formals = &self.program.routines[call.callee.0 as usize].formals;
            for (&formal, &argument) in formals.iter().zip(&call.arguments) {
                let Some(channel) = root(self.program, argument) else { continue };
                let [input, output] = self.directions(formal);
                let both = [(input, Direction::Input), (output, Direction::Output)];
                news.extend(both.into_iter().filter(|it| it.0).map(|(_, direction)| (channel, direction)));
            }
        }
        news.into_iter().fold(false, |any, (channel, direction)| self.note(channel, direction) | any)
    }

    fn pass_to_callees(&mut self) {
        for at in 0..self.calls.len() {
            let Passing { by, callee, ref arguments, span } = self.calls[at];
            let formals = &self.program.routines[callee.0 as usize].formals;
            let mut uses = Vec::new();
            for (&formal, &argument) in formals.iter().zip(arguments) {
                let Some(channel) = root(self.program, argument).filter(|&it| self.is_channel(it)) else {
                    continue;
                };
                let [input, output] = self.directions(formal);
                let both = [(input, Direction::Input), (output, Direction::Output)];
                let done = both.into_iter().filter(|it| it.0);
                uses.extend(done.map(|(_, direction)| EndUse {
                    channel,
                    direction,
                    span,
                    by,
                    through: Some(callee),
                }));
            }
            self.uses.extend(uses);
        }
    }

    fn used(&mut self, by: RoutineId, channel: ExprId, direction: Direction) {
        let Some(name) = root(self.program, channel).filter(|&it| self.is_channel(it)) else { return };
        let types = &self.program.types;
        // Of an end of a bundle it is that end which is used, whatever its channels' directions are.
        let direction = match types.get(types.immobile(types.innermost(self.program.name(name).ty))) {
            Type::End { direction, .. } => direction,
            _ => direction,
        };
        let span = self.program.ast.expr(channel).span;
        self.uses.push(EndUse { channel: name, direction, span, by, through: None });
    }

    fn process(&mut self, by: RoutineId, id: ProcessId) {
        let program = self.program;
        let process = program.ast.process(id);
        match &process.kind {
            ProcessKind::Construct { body, .. } => body.iter().for_each(|&it| self.process(by, it)),
            ProcessKind::If(node) => self.choices(by, node),
            ProcessKind::Alt(node) => self.alternatives(by, node),
            ProcessKind::Case { options, .. } => options.iter().for_each(|it| self.process(by, it.body)),
            &ProcessKind::While(_, body)
            | &ProcessKind::Claim { body, .. }
            | &ProcessKind::Enroll { par: body, .. }
            | &ProcessKind::Resign { body, .. }
            | &ProcessKind::Forking(body)
            | &ProcessKind::Block { body, .. } => self.process(by, body),
            ProcessKind::Input { channel, kind } => {
                self.used(by, *channel, Direction::Input);
                self.variants(by, kind);
            }
            ProcessKind::Extended { channel, kind, during, after } => {
                self.used(by, *channel, Direction::Input);
                self.variants(by, kind);
                self.process(by, *during);
                after.iter().for_each(|&it| self.process(by, it));
            }
            ProcessKind::Output { channel, .. } => self.used(by, *channel, Direction::Output),
            ProcessKind::Call { name, arguments } | ProcessKind::Fork { name, arguments } => {
                if let Some(callee) = program.routine_of(program.process_names[id.0 as usize]) {
                    let (arguments, span) = (arguments.clone(), name.span);
                    self.calls.push(Passing { by, callee, arguments, span });
                }
            }
            _ => {}
        }
    }

    fn variants(&mut self, by: RoutineId, kind: &InputKind) {
        if let InputKind::Case(variants) = kind {
            for variant in variants {
                self.process(by, variant.body);
                variant.after.iter().for_each(|&it| self.process(by, it));
            }
        }
    }

    fn choices(&mut self, by: RoutineId, node: &If) {
        for choice in &node.choices {
            match &choice.kind {
                &ChoiceKind::Guarded(_, body) => self.process(by, body),
                ChoiceKind::Nested(node) => self.choices(by, node),
            }
        }
    }

    fn alternatives(&mut self, by: RoutineId, node: &Alt) {
        for alternative in &node.alternatives {
            match &alternative.kind {
                &AlternativeKind::Guarded { input, body, .. } => {
                    input.iter().for_each(|&it| self.process(by, it));
                    self.process(by, body);
                }
                AlternativeKind::Nested(node) => self.alternatives(by, node),
            }
        }
    }
}
