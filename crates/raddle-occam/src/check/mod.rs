//! Owns: names and types.
//! May use: `program`, `types`, `raddle-occam-syntax`.
//! Never: judges what runs in parallel; `usage` does.
//!
//! One walk over the tree in the order of the text. A scope is a mark in an undo list: declaring a name overwrites
//! the entry of its spelling in one dense table, leaving the scope writes the old entry back, so a lookup is one
//! read. Each expression is checked with the type that its surroundings want, if they want one; that gives untyped
//! literals their types. A name that is not declared is complained of once and then stands for `Error`.

mod agree;
mod barrier;
mod call;
mod constant;
mod expr;
mod message;
mod operator;
mod predefined;
mod process;
mod protocol;
mod routine;
mod spec;
mod suspend;
mod target;
mod types;

use crate::ast::{Ast, ExprId, Ident, Replicator, SpecId};
use crate::diag::{Code, Diagnostic};
use crate::program::{Meaning, Mention, Name, NameId, NameKind, Program, RoutineId};
use crate::source::Span;
use crate::symbol::{FastMap, Symbol, Symbols};
use crate::types::{TypeId, Types};

/// What the routine whose body is being checked does so far.
struct RoutineFrame {
    /// Whether it is a FUNCTION or VALOF.
    function: bool,
    assigns_level: u32,
    communicates: bool,
    /// The first name that is declared in it.
    first_name: usize,
    /// Where it suspends.
    suspends: Option<Span>,
}

struct Checker<'a> {
    ast: &'a Ast,
    program: Program,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// The declaration that each symbol stands for now.
    bindings: Vec<NameId>,
    undo: Vec<(Symbol, NameId)>,
    frames: Vec<RoutineFrame>,
    /// Whether processes are no longer looked at.
    given_up: bool,
    /// SHARED ends that are claimed here.
    claims: Vec<NameId>,
    /// What is around, in its routine, in which nothing suspends.
    steady: Vec<(&'static str, Span)>,
    /// Where routines suspend.
    suspended: Vec<(RoutineId, Span)>,
    /// Values of VAL names.
    values: FastMap<u32, i64>,
    /// Operators that the program defines, while in scope.
    operators: Vec<NameId>,
    /// CHAN TYPEs that are declared and not defined yet, with their places in `Types::bundles`.
    forwards: Vec<(NameId, u32)>,
    /// The numbers of tags, by the protocol that declares them; with the place, those that the program says.
    tags: FastMap<(u32, Symbol), (u8, Span)>,
    /// The literal behind a minus: `-2147483648` is an INT though `2147483648` is none.
    negated: Option<ExprId>,
    /// Function calls being computed for a constant.
    calls: u32,
    calls_total: u32,
    /// Whether the last constant asked for would stop when run.
    fault: bool,
}

/// Resolves names and types; complaints go to `diagnostics`.
pub fn check(ast: Ast, symbols: Symbols, diagnostics: &mut Vec<Diagnostic>) -> Program {
    let program = Program {
        expr_types: vec![Types::ERROR; ast.exprs.len()],
        expr_names: vec![NameId::NONE; ast.exprs.len()],
        process_names: vec![NameId::NONE; ast.processes.len()],
        spec_names: vec![NameId::NONE; ast.specs.len()],
        replicator_names: vec![NameId::NONE; ast.replicators as usize],
        ast: Ast::default(),
        types: Types::default(),
        names: Vec::new(),
        routines: Vec::new(),
        forkings: FastMap::default(),
        placed: FastMap::default(),
        activations: FastMap::default(),
        mentions: Vec::new(),
        constants: FastMap::default(),
        values: FastMap::default(),
        symbols,
    };
    let mut checker = Checker {
        bindings: vec![NameId::NONE; program.symbols.len()],
        ast: &ast,
        program,
        diagnostics,
        undo: Vec::new(),
        frames: Vec::new(),
        given_up: false,
        claims: Vec::new(),
        steady: Vec::new(),
        suspended: Vec::new(),
        values: FastMap::default(),
        operators: Vec::new(),
        forwards: Vec::new(),
        tags: FastMap::default(),
        negated: None,
        calls: 0,
        calls_total: 0,
        fault: false,
    };
    for &spec in &ast.top {
        checker.spec(spec);
    }
    checker.end_of_forwards();
    checker.number_tags();
    let (mut program, suspended) = (checker.program, checker.suspended);
    program.values = checker.values;
    program.ast = ast;
    suspend::of_programs(&program, &suspended, diagnostics);
    program
}

impl Checker<'_> {
    fn complain(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(code, span, message));
    }

    fn text(&self, symbol: Symbol) -> String {
        self.program.symbols.text(symbol).to_owned()
    }

    fn show(&self, ty: TypeId) -> String {
        self.program.types.show(ty, &self.program.symbols)
    }

    fn span(&self, expr: ExprId) -> Span {
        self.ast.expr(expr).span
    }

    fn type_of(&self, expr: ExprId) -> TypeId {
        self.program.expr_types[expr.0 as usize]
    }

    fn level(&self) -> u32 {
        self.frames.len() as u32
    }

    fn mention(&mut self, span: Span, of: Meaning, declares: bool) {
        self.program.mentions.push(Mention { span, of, declares });
    }

    /// Notes where the tags or fields of a type are declared.
    fn members(&mut self, of: TypeId, names: impl Iterator<Item = Ident>) {
        names.for_each(|name| self.mention(name.span, Meaning::Member(of, name.symbol), true));
    }

    /// Makes a declaration without bringing it into scope.
    fn new_name(&mut self, name: Ident, kind: NameKind, ty: TypeId) -> NameId {
        let id = NameId(self.program.names.len() as u32);
        let level = self.level();
        self.program.names.push(Name {
            symbol: name.symbol,
            span: name.span,
            kind,
            ty,
            level,
            shared: false,
            permits_aliases: false,
        });
        id
    }

    /// Brings a declaration into scope.
    fn bind(&mut self, id: NameId) {
        let symbol = self.program.name(id).symbol;
        let at = symbol.0 as usize;
        if at >= self.bindings.len() {
            self.bindings.resize(at + 1, NameId::NONE);
        }
        let before = std::mem::replace(&mut self.bindings[at], id);
        self.undo.push((symbol, before));
    }

    fn declare(&mut self, name: Ident, kind: NameKind, ty: TypeId) -> NameId {
        let id = self.new_name(name, kind, ty);
        self.bind(id);
        id
    }

    /// Runs `within`, then forgets what it declared.
    fn scope<T>(&mut self, within: impl FnOnce(&mut Self) -> T) -> T {
        let (mark, operators) = (self.undo.len(), self.operators.len());
        let result = within(self);
        while self.undo.len() > mark {
            if let Some((symbol, before)) = self.undo.pop() {
                self.bindings[symbol.0 as usize] = before;
            }
        }
        self.operators.truncate(operators);
        result
    }

    /// The declaration in scope, predefined routines included.
    fn find(&mut self, symbol: Symbol) -> Option<NameId> {
        match self.bindings.get(symbol.0 as usize) {
            Some(&id) if id != NameId::NONE => Some(id),
            _ => self.predefined(symbol),
        }
    }

    /// The declaration in scope, or a complaint and a name of kind `Error`, which is not complained of again.
    fn lookup(&mut self, name: Ident) -> NameId {
        if let Some(id) = self.find(name.symbol) {
            self.mention(name.span, Meaning::Name(id), false);
            return id;
        }
        if self.program.ast.unread.contains(&name.symbol) {
            return self.new_name(name, NameKind::Error, Types::ERROR);
        }
        let complaint = self.undeclared(name);
        self.diagnostics.push(complaint);
        let id = self.new_name(name, NameKind::Error, Types::ERROR);
        if let Some(entry) = self.bindings.get_mut(name.symbol.0 as usize) {
            *entry = id;
        }
        id
    }

    /// The complaint of a name that is not in scope, with what may have been meant.
    fn undeclared(&self, name: Ident) -> Diagnostic {
        let text = self.program.symbols.text(name.symbol);
        if let Some(message) = known_elsewhere(text) {
            return Diagnostic::new(Code::NotSupported, name.span, message);
        }
        let complaint =
            Diagnostic::new(Code::Undeclared, name.span, format!("`{text}` is not declared here"));
        if let Some(ended) = self.out_of_scope(name) {
            return complaint
                .also(ended, "this declaration holds for the one process that follows it")
                .help("put SEQ or PAR between the two, with all below it that uses the name");
        }
        let capitals = text.to_ascii_uppercase();
        if crate::lex::keyword(&capitals).is_some() {
            let title = format!("write `{capitals}`");
            return complaint
                .help(format!("occam's words are written in capitals: `{capitals}`"))
                .fix(title, name.span, capitals);
        }
        if let Some(near) = self.similar(text) {
            let title = format!("write `{near}`");
            return complaint
                .help(format!("`{near}` is declared; is it what you mean?"))
                .fix(title, name.span, near);
        }
        match crate::library::that_declares(text) {
            Some(library) => complaint
                .help(format!("it comes with `#INCLUDE \"{library}\"` at the program's beginning"))
                .fix(format!("include \"{library}\""), Span::new(0, 0), format!("#INCLUDE \"{library}\"\n")),
            None => complaint,
        }
    }

    /// The last declaration of that name in this routine, whose scope is over.
    fn out_of_scope(&self, name: Ident) -> Option<Span> {
        let (first, level) = (self.frames.last()?.first_name, self.level());
        let declared =
            |it: &&Name| it.symbol == name.symbol && it.level == level && it.kind != NameKind::Error;
        self.program.names[first..].iter().rev().find(declared).map(|it| it.span)
    }

    /// A name in scope that differs by case or by one letter.
    fn similar(&self, text: &str) -> Option<String> {
        let bound = (0..self.bindings.len() as u32)
            .filter(|&at| self.bindings[at as usize] != NameId::NONE)
            .map(|at| self.program.symbols.text(Symbol(at)))
            .take(5000);
        bound.filter(|near| text.len() > 2 && one_letter_apart(near, text)).min().map(str::to_owned)
    }

    /// Checks the parts of a replicator and declares its index.
    fn replicator(&mut self, replicator: &Replicator) {
        for part in [Some(replicator.base), Some(replicator.count), replicator.step].into_iter().flatten() {
            self.expr_of(part, Types::INT);
        }
        let id = self.declare(replicator.name, NameKind::Index, Types::INT);
        self.program.replicator_names[replicator.number as usize] = id;
    }

    fn specs(&mut self, specs: &[SpecId]) {
        for &spec in specs {
            self.spec(spec);
        }
    }
}

/// What other compilers of occam have under a name, and this one has not.
fn known_elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "KERNEL.RUN" => "KERNEL.RUN runs a transputer's code, which no processor here has",
        _ => return None,
    })
}

fn one_letter_apart(left: &str, right: &str) -> bool {
    if left.eq_ignore_ascii_case(right) {
        return true;
    }
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let (short, long) = if left.len() < right.len() { (left, right) } else { (right, left) };
    let same = short.iter().zip(long).take_while(|(left, right)| left == right).count();
    match long.len() - short.len() {
        0 => short[same + 1..] == long[same + 1..],
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}
