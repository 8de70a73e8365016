//! Owns: the shape of a program as written.
//! May use: `operator`, `source`, `symbol`.
//! Never: knows what a name means; `check` does.
//!
//! Nodes live in one [`Ast`] and refer to each other by small numbers, so that every later stage can keep its own
//! facts in a plain vector beside it: the type of expression 7 is `types[7]`. What could not be read is an `Error`
//! node, about which no later stage complains again.

pub use crate::operator::{Basic, Dyadic, Monadic};
use crate::source::Span;
use crate::symbol::Symbol;

macro_rules! ids {
    ($($name:ident $what:literal)*) => {$(
        #[doc = concat!("The number of ", $what, " in its [`Ast`].")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);
    )*};
}

ids! { ExprId "an expression" ProcessId "a process" SpecId "a specification" TypeNodeId "a written type" }

/// A name where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ident {
    /// Which name.
    pub symbol: Symbol,
    /// Where.
    pub span: Span,
}

/// Which end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// `?`, the reading end.
    Input,
    /// `!`, the writing end.
    Output,
}

impl Direction {
    /// The other end.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Input => Self::Output,
            Self::Output => Self::Input,
        }
    }

    /// How it is written.
    pub fn sign(self) -> char {
        match self {
            Self::Input => '?',
            Self::Output => '!',
        }
    }
}

/// Which ends of a channel several processes may share, by CLAIM.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SharedEnds {
    /// Neither: `CHAN`.
    No,
    /// One: `SHARED! CHAN` or `SHARED? CHAN`.
    Only(Direction),
    /// Both: `SHARED CHAN`.
    Both,
}

impl SharedEnds {
    /// Whether this end is shared.
    pub fn has(self, end: Direction) -> bool {
        match self {
            Self::No => false,
            Self::Only(only) => only == end,
            Self::Both => true,
        }
    }
}

/// A type as written.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are what the comment on each variant names")]
pub enum TypeKind {
    /// `INT` and its like.
    Basic(Basic),
    /// `name`.
    Named(Ident),
    /// `[size]type`, or `[]type`.
    Array { size: Option<ExprId>, element: TypeNodeId },
    /// `CHAN protocol`, perhaps with SHARED before it.
    Chan { protocol: TypeNodeId, shared: SharedEnds },
    /// `count::[]type`, a protocol.
    Counted { count: TypeNodeId, array: TypeNodeId },
    /// `ANY`, a protocol.
    Any,
    /// `PORT type`.
    Port(TypeNodeId),
    /// `TIMER`.
    Timer,
    /// `BARRIER`.
    Barrier,
    /// `MOBILE type`.
    Mobile(TypeNodeId),
    /// `NAME!` or `NAME?`, one end of a channel bundle.
    End { name: Ident, direction: Direction, shared: bool },
    /// What could not be read, or is not supported.
    Error,
}

/// A type where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeNode {
    /// Which type.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// How a conversion treats what does not fit exactly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "each is the word that is written")]
pub enum Rounding {
    Exact,
    Round,
    Trunc,
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are what the comment on each variant names")]
pub enum ExprKind {
    /// A name.
    Name(Symbol),
    /// A whole number; hexadecimal ones may set the sign bit.
    Integer { value: u64, hex: bool, suffix: Option<TypeNodeId> },
    /// A real number.
    Real { value: f64, suffix: Option<TypeNodeId> },
    /// `'a'`.
    Byte { value: u8, suffix: Option<TypeNodeId> },
    /// `"text"`.
    Text { bytes: Box<[u8]>, suffix: Option<TypeNodeId> },
    /// `TRUE`, `FALSE`.
    Bool(bool),
    /// An operator and its operand.
    Monadic(Monadic, ExprId),
    /// Two operands and the operator between them.
    Dyadic(Dyadic, ExprId, ExprId),
    /// An operator that the program defines, by its spelling in quotes, before its operand.
    UserMonadic(Symbol, ExprId),
    /// An operator that the program defines, between its operands.
    UserDyadic(Symbol, ExprId, ExprId),
    /// `TYPE ROUND operand`.
    Convert { to: TypeNodeId, rounding: Rounding, value: ExprId },
    /// `MOSTPOS TYPE` (`high`) and `MOSTNEG TYPE`.
    Most { high: bool, of: TypeNodeId },
    /// `SIZE TYPE`, when the operand is a type for certain.
    SizeOfType(TypeNodeId),
    /// `BYTESIN (TYPE)`, when the operand is a type for certain.
    BytesInType(TypeNodeId),
    /// `BYTESIN (operand)`.
    BytesIn(ExprId),
    /// `OFFSETOF (TYPE, field)`.
    OffsetOf(TypeNodeId, Ident),
    /// `base[index]`; the index of a record is the field's name.
    Index { base: ExprId, index: ExprId },
    /// `[base FROM from FOR count]`.
    Slice { base: ExprId, from: Option<ExprId>, count: Option<ExprId> },
    /// `[a, b, c]`.
    Table { elements: Vec<ExprId>, suffix: Option<TypeNodeId> },
    /// `[i = base FOR count | element]`.
    Constructor { replicator: Box<Replicator>, element: ExprId },
    /// `name (arguments)`.
    Call { name: Ident, arguments: Vec<ExprId> },
    /// `VALOF`.
    Valof(Box<Valof>),
    /// `channel!`, `channel?`.
    End(ExprId, Direction),
    /// `CLONE value`.
    Clone(ExprId),
    /// `DEFINED value`.
    Defined(ExprId),
    /// `MOBILE TYPE`, a fresh mobile.
    NewMobile(TypeNodeId),
    /// What could not be read.
    Error,
}

/// An expression where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// Which.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// Specifications, a process, and the results it leaves.
#[derive(Clone, PartialEq, Debug)]
pub struct Valof {
    /// Declarations before VALOF.
    pub specs: Vec<SpecId>,
    /// What is done.
    pub body: ProcessId,
    /// What comes out.
    pub results: Vec<ExprId>,
}

/// `name = base FOR count STEP step`.
#[derive(Clone, PartialEq, Debug)]
pub struct Replicator {
    /// Its number in the program.
    pub number: u32,
    /// The index.
    pub name: Ident,
    /// Its first value.
    pub base: ExprId,
    /// How many values.
    pub count: ExprId,
    /// From one value to the next; 1 when absent.
    pub step: Option<ExprId>,
}

/// SEQ and PAR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the construct of that name")]
pub enum ConstructKind {
    Seq,
    Par,
    PriPar,
    PlacedPar,
}

/// IF with its choices.
#[derive(Clone, PartialEq, Debug)]
pub struct If {
    /// Makes many choices of one.
    pub replicator: Option<Replicator>,
    /// Tried in order.
    pub choices: Vec<Choice>,
}

/// One line of an IF.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    /// Declarations before it.
    pub specs: Vec<SpecId>,
    /// The condition and process, or an IF within.
    pub kind: ChoiceKind,
}

/// What a choice is.
#[derive(Clone, PartialEq, Debug)]
pub enum ChoiceKind {
    /// A condition and what it guards.
    Guarded(ExprId, ProcessId),
    /// An IF, whose choices take part.
    Nested(If),
}

/// ALT with its alternatives.
#[derive(Clone, PartialEq, Debug)]
pub struct Alt {
    /// PRI ALT.
    pub prioritised: bool,
    /// Makes many alternatives of one.
    pub replicator: Option<Replicator>,
    /// Candidates.
    pub alternatives: Vec<Alternative>,
}

/// One line of an ALT.
#[derive(Clone, PartialEq, Debug)]
pub struct Alternative {
    /// Declarations before it.
    pub specs: Vec<SpecId>,
    /// The guard and process, or an ALT within.
    pub kind: AlternativeKind,
}

/// What an alternative is.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are what the comment on each variant names")]
pub enum AlternativeKind {
    /// `condition & input` or `condition & SKIP` (no input), and the process.
    Guarded { condition: Option<ExprId>, input: Option<ProcessId>, body: ProcessId },
    /// An ALT, whose alternatives take part.
    Nested(Alt),
}

/// One option of a CASE.
#[derive(Clone, PartialEq, Debug)]
pub struct CaseOption {
    /// Declarations before it.
    pub specs: Vec<SpecId>,
    /// Values that select it; empty for ELSE.
    pub values: Vec<ExprId>,
    /// Where the option begins.
    pub span: Span,
    /// What is done.
    pub body: ProcessId,
}

/// One item of a message that is received: `target` or `count::target`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InputItem {
    /// Receives the count.
    pub count: Option<ExprId>,
    /// Receives the value.
    pub target: ExprId,
}

/// One item of a message that is sent: `value` or `count::value`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OutputItem {
    /// How much of the array is sent.
    pub count: Option<ExprId>,
    /// The value.
    pub value: ExprId,
}

/// One variant of `? CASE`.
#[derive(Clone, PartialEq, Debug)]
pub struct Variant {
    /// Declarations before it.
    pub specs: Vec<SpecId>,
    /// The tag.
    pub tag: Ident,
    /// What follows the tag.
    pub items: Vec<InputItem>,
    /// What is done.
    pub body: ProcessId,
    /// Of an extended input: what is done when who outputs has gone on.
    pub after: Option<ProcessId>,
}

/// What follows `channel ?`.
#[derive(Clone, PartialEq, Debug)]
pub enum InputKind {
    /// `x; n::a`, or the variable that takes a timer's time.
    Items(Vec<InputItem>),
    /// `CASE tag; x` on one line.
    Tagged(Ident, Vec<InputItem>),
    /// `CASE` with variants below.
    Case(Vec<Variant>),
    /// `AFTER time`.
    After(ExprId),
}

/// A process.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are what the comment on each variant names")]
pub enum ProcessKind {
    /// SKIP.
    Skip,
    /// STOP.
    Stop,
    /// SEQ, PAR, PRI PAR, PLACED PAR; and PROCESSOR, which is a SEQ of one whose number is in [`Ast::processors`].
    Construct { order: ConstructKind, replicator: Option<Box<Replicator>>, body: Vec<ProcessId> },
    /// IF.
    If(If),
    /// ALT.
    Alt(Alt),
    /// CASE.
    Case { selector: ExprId, options: Vec<CaseOption> },
    /// WHILE.
    While(ExprId, ProcessId),
    /// `targets := values`.
    Assign { targets: Vec<ExprId>, values: Vec<ExprId> },
    /// `channel ? ...`.
    Input { channel: ExprId, kind: InputKind },
    /// `channel ?? ...`: who outputs waits until `during` has ended; then comes `after`. With CASE both are the
    /// variants'.
    Extended { channel: ExprId, kind: InputKind, during: ProcessId, after: Option<ProcessId> },
    /// `channel ! ...`.
    Output { channel: ExprId, items: Vec<OutputItem> },
    /// `name (arguments)`.
    Call { name: Ident, arguments: Vec<ExprId> },
    /// Specifications and the process in their scope.
    Block { specs: Vec<SpecId>, body: ProcessId },
    /// `CLAIM end`.
    Claim { end: ExprId, body: ProcessId },
    /// `PAR ENROLL barriers`: each branch of the PAR is a member of them.
    Enroll { barriers: Vec<ExprId>, par: ProcessId },
    /// `SYNC barrier`.
    Sync(ExprId),
    /// `RESIGN barrier`, and what is done meanwhile.
    Resign { barrier: ExprId, body: ProcessId },
    /// SUSPEND: a mobile process stops until it is activated again.
    Suspend,
    /// FORKING, whose end is that of all processes forked in it.
    Forking(ProcessId),
    /// `FORK name (arguments)`.
    Fork { name: Ident, arguments: Vec<ExprId> },
    /// What could not be read or is not supported.
    Error,
}

/// A process where it stands; the span is that of its first line.
#[derive(Clone, PartialEq, Debug)]
pub struct Process {
    /// Which.
    pub kind: ProcessKind,
    /// Where.
    pub span: Span,
}

/// How an abbreviation or a parameter holds what it names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// A variable itself.
    Reference,
    /// A value.
    Val,
    /// A fresh variable with that value.
    Initial,
    /// A variable itself, without a value at first.
    Result,
}

/// What stands between an abbreviation's name and what it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renaming {
    /// IS.
    Is,
    /// RETYPES.
    Retypes,
    /// RESHAPES.
    Reshapes,
}

/// A parameter of a PROC or FUNCTION.
#[derive(Clone, PartialEq, Debug)]
pub struct Formal {
    /// How it is passed.
    pub mode: Mode,
    /// Its type.
    pub ty: TypeNodeId,
    /// Its name.
    pub name: Ident,
    /// The end of a channel that it is.
    pub direction: Option<Direction>,
}

/// A field of a record or channel bundle.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Its type.
    pub ty: TypeNodeId,
    /// Its name.
    pub name: Ident,
    /// For a bundle: the direction as its server sees it.
    pub direction: Option<Direction>,
}

/// One message form: a tag for a variant, and the items.
#[derive(Clone, PartialEq, Debug)]
pub struct Form {
    /// The tag, for variants.
    pub tag: Option<Ident>,
    /// The number that the tag is to have, if that is said.
    pub value: Option<ExprId>,
    /// The types of the items.
    pub items: Vec<TypeNodeId>,
}

/// What a #PRAGMA asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pragma {
    /// No usage checks for the names.
    Shared,
    /// No alias checks for the names.
    PermitAliases,
    /// The names have values.
    Defined,
    /// The names have none.
    Undefined,
    /// Others, without effect.
    Other,
}

/// What the lines `#PRAGMA TEST` before a PROC say of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestMark {
    /// The first of these lines.
    pub span: Span,
    /// The PROC.
    pub proc: Option<Ident>,
    /// What its keyboard has.
    pub input: Vec<u8>,
    /// What it must write to the screen, if that is said.
    pub output: Option<Vec<u8>>,
    /// It must fail, with a report that has this in it.
    pub fails: Option<Vec<u8>>,
    /// So long it may take at most.
    pub seconds: Option<u32>,
}

/// A specification.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are what the comment on each variant names")]
pub enum SpecKind {
    /// `TYPE a, b:`.
    Declare { ty: TypeNodeId, names: Vec<(Ident, Option<Direction>)> },
    /// `VAL TYPE name IS value:` and its like.
    Abbreviate {
        mode: Mode,
        ty: Option<TypeNodeId>,
        name: Ident,
        direction: Option<Direction>,
        renaming: Renaming,
        value: ExprId,
    },
    /// PROC; a MOBILE one says which PROC TYPE it implements.
    Proc { name: Ident, formals: Vec<Formal>, body: ProcessId, recursive: bool, implements: Option<Ident> },
    /// `PROC TYPE name IS (...):`, what mobile processes are given at each activation.
    ProcType { name: Ident, formals: Vec<Formal> },
    /// FUNCTION; the body is a list of expressions, of which a VALOF is the only one.
    Function {
        name: Ident,
        results: Vec<TypeNodeId>,
        formals: Vec<Formal>,
        body: Vec<ExprId>,
        recursive: bool,
    },
    /// `DATA TYPE name IS TYPE:`.
    DataType { name: Ident, ty: TypeNodeId },
    /// `DATA TYPE name` with a RECORD.
    Record { name: Ident, fields: Vec<Field>, packed: bool, mobile: bool },
    /// `CHAN TYPE name` with a MOBILE RECORD.
    Bundle { name: Ident, fields: Vec<Field>, recursive: bool },
    /// PROTOCOL; `variant` for PROTOCOL with CASE, whose own tags are numbered from `first` on if that is said.
    Protocol { name: Ident, variant: bool, extends: Vec<Ident>, first: Option<ExprId>, forms: Vec<Form> },
    /// PLACE, without effect.
    Place(Ident),
    /// `#PRAGMA`.
    Pragma { what: Pragma, names: Vec<Ident> },
    /// `CHAN TYPE name:`, which is defined later.
    Forward(Ident),
    /// `#PRAGMA EXTERNAL "PROC name (...) = 0"`.
    Foreign { name: Ident, formals: Vec<Formal> },
    /// What could not be read; the name is known when one was seen.
    Error(Option<Ident>),
}

/// A specification where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    /// Which.
    pub kind: SpecKind,
    /// Where.
    pub span: Span,
}

/// All nodes of one program.
#[derive(Clone, Default, Debug)]
pub struct Ast {
    /// Expressions by [`ExprId`].
    pub exprs: Vec<Expr>,
    /// Processes by [`ProcessId`].
    pub processes: Vec<Process>,
    /// Specifications by [`SpecId`].
    pub specs: Vec<Spec>,
    /// Written types by [`TypeNodeId`].
    pub types: Vec<TypeNode>,
    /// What stands behind PROCESSOR, by the number of the process below it.
    pub processors: std::collections::BTreeMap<u32, ExprId>,
    /// How many replicators there are.
    pub replicators: u32,
    /// The outermost specifications; the last PROC is the program.
    pub top: Vec<SpecId>,
    /// Names that lines may have declared which could not be read at all.
    pub unread: Vec<Symbol>,
    /// The PROCs that are tests.
    pub tests: Vec<TestMark>,
    /// The libraries in which foreign routines are looked for: `#PRAGMA LINK "name"`.
    pub libraries: Vec<String>,
}

impl Ast {
    /// The expression of that number.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The process of that number.
    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes[id.0 as usize]
    }

    /// The specification of that number.
    pub fn spec(&self, id: SpecId) -> &Spec {
        &self.specs[id.0 as usize]
    }

    /// The written type of that number.
    pub fn ty(&self, id: TypeNodeId) -> &TypeNode {
        &self.types[id.0 as usize]
    }
}
