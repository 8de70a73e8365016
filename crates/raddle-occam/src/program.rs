//! Owns: what is known of a program once names and types are resolved.
//! May use: `types`, `raddle-occam-syntax`.
//! Never: changes after `check` has made it.
//!
//! Everything is reached by number: the type of an expression, the name that it mentions, the names that a
//! specification declares. A name's number stands for one declaration, so equal spellings never confuse.

use crate::ast::{Ast, ExprId, Mode, ProcessId, Renaming, SpecId, TestMark};
use crate::source::Span;
use crate::symbol::{Symbol, Symbols};
use crate::types::{TypeId, Types};

/// The number of a declaration in [`Program::names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NameId(pub u32);

impl NameId {
    /// No name: the expression mentions none.
    pub const NONE: Self = Self(u32::MAX);
}

/// The number of a PROC or FUNCTION in [`Program::routines`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RoutineId(pub u32);

/// What a name is.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are what the comment on each variant names")]
pub enum NameKind {
    /// Complained of already.
    Error,
    /// A declared variable, channel, timer or port.
    Variable,
    /// `name IS value` in one of its forms.
    Abbreviation { mode: Mode, renaming: Renaming, value: ExprId },
    /// A parameter.
    Formal(Mode),
    /// A replicator's index.
    Index,
    /// A PROC or FUNCTION.
    Routine(RoutineId),
    /// A type, bundle or protocol; its type is the name's.
    Type,
}

/// One declaration.
#[derive(Clone, Debug)]
pub struct Name {
    /// Its spelling.
    pub symbol: Symbol,
    /// Where it is declared.
    pub span: Span,
    /// What it is.
    pub kind: NameKind,
    /// Its type.
    pub ty: TypeId,
    /// How many PROCs, FUNCTIONs and VALOFs are around it.
    pub level: u32,
    /// #PRAGMA SHARED.
    pub shared: bool,
    /// #PRAGMA PERMITALIASES.
    pub permits_aliases: bool,
}

/// What a routine does.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// A PROC's process.
    Process(ProcessId),
    /// A FUNCTION's results; a VALOF is the only one.
    Results(Vec<ExprId>),
    /// A library of the machine has it, under this name.
    Foreign,
    /// The language brings it along, under this name.
    Predefined,
    /// It stands for an activation of a mobile process of some PROC TYPE.
    Interface,
}

/// A PROC or FUNCTION.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Its name.
    pub name: NameId,
    /// Its parameters.
    pub formals: Vec<NameId>,
    /// The types of a FUNCTION's results; empty for a PROC.
    pub results: Vec<TypeId>,
    /// What it does.
    pub body: Body,
    /// Whether it may call itself.
    pub recursive: bool,
    /// Level of the outermost variable around it that it assigns; `u32::MAX` if none.
    pub assigns_level: u32,
    /// Whether it communicates or uses PAR or ALT.
    pub communicates: bool,
    /// The PROC TYPE that a MOBILE PROC implements, by its place in [`Types::processes`].
    pub implements: Option<u32>,
    /// Whether it suspends the mobile process that it is, or belongs to.
    pub suspends: bool,
}

/// What a word of the text means, where it is not a reserved one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Meaning {
    /// A declaration.
    Name(NameId),
    /// A tag of that protocol, or a field of that record or bundle.
    Member(TypeId, Symbol),
}

/// A place where something is mentioned.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mention {
    /// The word.
    pub span: Span,
    /// What it means there.
    pub of: Meaning,
    /// Whether it is declared there; names say themselves where that is.
    pub declares: bool,
}

/// A program whose names and types are resolved.
pub struct Program {
    /// As written.
    pub ast: Ast,
    /// Spellings.
    pub symbols: Symbols,
    /// Types.
    pub types: Types,
    /// Declarations by [`NameId`].
    pub names: Vec<Name>,
    /// PROCs and FUNCTIONs by [`RoutineId`].
    pub routines: Vec<Routine>,
    /// The type of each expression.
    pub expr_types: Vec<TypeId>,
    /// The name that a `Name` or `Call` expression mentions.
    pub expr_names: Vec<NameId>,
    /// The PROC that a `Call` process calls; of an activation, what stands for its PROC TYPE.
    pub process_names: Vec<NameId>,
    /// The mobile process that a `Call` process activates.
    pub activations: crate::symbol::FastMap<u32, NameId>,
    /// The first name that a specification declares; the others follow it.
    pub spec_names: Vec<NameId>,
    /// The index of each replicator.
    pub replicator_names: Vec<NameId>,
    /// For each FORKING, the number of the first name that is declared in it or later.
    pub forkings: crate::symbol::FastMap<u32, NameId>,
    /// For each PLACED PAR, the number of the first name that is declared in it or later.
    pub placed: crate::symbol::FastMap<u32, NameId>,
    /// Where names, tags and fields are mentioned, in the order in which that was looked at.
    pub mentions: Vec<Mention>,
    /// The value of each whole-number or BOOL expression that is constant and was asked for.
    pub constants: crate::symbol::FastMap<u32, i64>,
    /// The value of each VAL name over whole numbers or BOOL that is constant.
    pub values: crate::symbol::FastMap<u32, i64>,
}

impl Program {
    /// The declaration of that number.
    ///
    /// # Panics
    /// If it is [`NameId::NONE`].
    pub fn name(&self, id: NameId) -> &Name {
        &self.names[id.0 as usize]
    }

    /// The spelling of a declaration's name.
    ///
    /// # Panics
    /// If it is [`NameId::NONE`].
    pub fn spelling(&self, id: NameId) -> &str {
        self.symbols.text(self.name(id).symbol)
    }

    /// The type of an expression.
    pub fn type_of(&self, id: ExprId) -> TypeId {
        self.expr_types[id.0 as usize]
    }

    /// The name that an expression mentions, or [`NameId::NONE`].
    pub fn name_of(&self, id: ExprId) -> NameId {
        self.expr_names[id.0 as usize]
    }

    /// The routine that a name stands for, if it does.
    pub fn routine_of(&self, id: NameId) -> Option<RoutineId> {
        match self.names.get(id.0 as usize)?.kind {
            NameKind::Routine(routine) => Some(routine),
            _ => None,
        }
    }

    /// The names that a specification declares, when there are `count` of them.
    pub fn declared(&self, spec: SpecId, count: usize) -> impl Iterator<Item = NameId> + use<> {
        let first = self.spec_names[spec.0 as usize].0;
        (0..count as u32).map(move |offset| NameId(first.saturating_add(offset)))
    }

    /// Whether a routine is the program's entry or a test.
    pub fn is_run(&self, routine: RoutineId) -> bool {
        let name = self.routines[routine.0 as usize].name;
        let is_test = |mark: &TestMark| mark.proc.is_some_and(|it| it.span == self.name(name).span);
        self.entry() == Some(routine) || self.ast.tests.iter().any(is_test)
    }

    /// The PROCs that are tests, with what is said of them.
    pub fn tests(&self) -> impl Iterator<Item = (&TestMark, RoutineId)> {
        self.ast.tests.iter().filter_map(|mark| {
            let name = mark.proc?.span;
            let at = self.routines.iter().position(|it| self.name(it.name).span == name)?;
            Some((mark, RoutineId(at as u32)))
        })
    }

    /// The program's entry: the last PROC declared outermost.
    pub fn entry(&self) -> Option<RoutineId> {
        let found = self.routines.iter().rposition(|routine| {
            matches!(routine.body, Body::Process(_)) && self.name(routine.name).level == 0
        });
        found.map(|at| RoutineId(at as u32))
    }
}
