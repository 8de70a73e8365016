//! Owns: tokens to [`Ast`].
//! May use: `ast`, `diag`, `lex::token`, `source`, `symbol`.
//! Never: looks up a declaration; the one thing it remembers is which names were declared as types.
//!
//! Recursive descent, one function for each production. A production that fails has complained already and returns
//! `Err(Failed)`; the line's process or specification becomes an `Error` node, and reading goes on behind the line
//! and the block that belongs to it. So a mistake costs one message, and the next line gets its own chance.

mod advice;
mod choice;
mod declare;
mod expr;
mod literal;
mod pragma;
mod process;
mod spec;
mod table;
mod types;

use crate::ast::{
    Ast, Expr, ExprId, ExprKind, Ident, Process, ProcessId, ProcessKind, Spec, SpecId, SpecKind, TestMark,
    TypeKind, TypeNode, TypeNodeId,
};
use crate::diag::{COMPLAINTS_MAX, Code, Diagnostic};
use crate::lex::{Token, TokenKind};
use crate::source::{Sources, Span};
use crate::symbol::{FastMap, Symbol, Symbols};

/// A complaint has been made.
#[derive(Debug)]
pub(crate) struct Failed;

type Parsed<T> = Result<T, Failed>;

/// Processes and expressions may be nested so deep.
const DEPTH_MAX: u32 = 150;

pub(crate) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    /// Blocks open at `at`.
    level: u32,
    depth: u32,
    sources: &'a Sources,
    symbols: &'a mut Symbols,
    diagnostics: &'a mut Vec<Diagnostic>,
    ast: Ast,
    /// How many declarations in scope make a name a type's, and those declarations in order.
    type_names: FastMap<Symbol, u32>,
    type_scope: Vec<Symbol>,
    /// The lines `#PRAGMA TEST` whose PROC is yet to come.
    test: Option<TestMark>,
}

/// Reads a program; complaints go to `diagnostics`.
pub fn parse(
    tokens: &[Token],
    sources: &Sources,
    symbols: &mut Symbols,
    diagnostics: &mut Vec<Diagnostic>,
) -> Ast {
    let mut parser = Parser {
        tokens,
        at: 0,
        level: 0,
        depth: 0,
        sources,
        symbols,
        diagnostics,
        ast: Ast {
            exprs: Vec::with_capacity(tokens.len() / 3),
            processes: Vec::with_capacity(tokens.len() / 8),
            ..Ast::default()
        },
        type_names: FastMap::default(),
        type_scope: Vec::new(),
        test: None,
    };
    parser.program();
    parser.ast
}

impl Parser<'_> {
    /// program = { specification }
    fn program(&mut self) {
        // A heading could not be read: the `:` behind what stood under it belongs to it.
        let mut headless = false;
        while self.kind() != TokenKind::End {
            self.give_up();
            if self.at_spec() {
                let spec = self.spec();
                self.ast.top.push(spec);
                self.end_of_test(spec);
            } else if matches!(self.kind(), TokenKind::Outdent | TokenKind::Indent | TokenKind::Newline) {
                self.bump();
            } else if self.kind() == TokenKind::Colon && std::mem::take(&mut headless) {
                self.recover(self.level);
            } else if self.kind() == TokenKind::Colon {
                self.complain(Code::Unexpected, self.span(), "this `:` ends nothing".to_owned());
                self.recover(self.level);
            } else {
                let message = "outermost there are only specifications; a process belongs into a PROC";
                self.complain(Code::Unexpected, self.span(), message.to_owned());
                // `PRCO work (...)` would have declared `work`.
                if let [first, second, ..] = self.tokens[self.at..]
                    && (first.kind, second.kind) == (TokenKind::Name, TokenKind::Name)
                {
                    self.ast.unread.push(second.symbol);
                }
                headless = true;
                self.recover(self.level);
            }
        }
        self.end_of_tests();
    }

    /// Whether the line that is being read, or the one above an indented line, has been complained of already.
    fn complained_here(&self) -> bool {
        let Some(last) = self.diagnostics.last() else { return false };
        let before = &self.tokens[..self.at];
        let mut ends = before.iter().rposition(|token| token.kind == TokenKind::Newline);
        if let (TokenKind::Indent, Some(end)) = (self.kind(), ends) {
            ends = self.tokens[..end].iter().rposition(|token| token.kind == TokenKind::Newline);
        }
        let first = self.tokens[ends.map_or(0, |end| end + 1)].span.lo;
        (first..=self.span().hi).contains(&last.primary.span.lo)
    }

    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    fn peek(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.at + ahead).map_or(TokenKind::End, |token| token.kind)
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The end of the token read last.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// The last token before this one that is no matter of layout.
    fn last_text(&self) -> Span {
        let layout = |kind| matches!(kind, TokenKind::Newline | TokenKind::Indent | TokenKind::Outdent);
        let before = self.tokens[..self.at].iter().rev();
        before
            .map(|token| (token.kind, token.span))
            .find(|it| !layout(it.0))
            .map_or(self.last_span(), |it| it.1)
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        match token.kind {
            TokenKind::Indent => self.level += 1,
            TokenKind::Outdent => self.level = self.level.saturating_sub(1),
            _ => {}
        }
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn complain(&mut self, code: Code, span: Span, message: String) {
        self.diagnostics.push(Diagnostic::new(code, span, message));
    }

    fn fail<T>(&mut self, code: Code, span: Span, message: String) -> Parsed<T> {
        self.complain(code, span, message);
        Err(Failed)
    }

    fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        // The scanner has complained about a character that it does not know; and one message a line is enough.
        if self.kind() == TokenKind::Unknown || self.complained_here() {
            return Err(Failed);
        }
        let message = format!("found {} where {expected} is expected", self.kind().text());
        let complaint = Diagnostic::new(Code::Unexpected, self.span(), message);
        let complaint = match self.keyword_help(expected) {
            Some(help) => complaint.help(help),
            None => complaint,
        };
        self.diagnostics.push(complaint);
        Err(Failed)
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<Token> {
        if self.kind() == kind { Ok(self.bump()) } else { self.unexpected(kind.text()) }
    }

    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        if self.kind() != TokenKind::Name {
            return self.no_name(what);
        }
        let token = self.bump();
        Ok(Ident { symbol: token.symbol, span: token.span })
    }

    /// Leaves the rest unread where so much was wrong that nobody would read of it.
    fn give_up(&mut self) {
        if self.diagnostics.len() >= COMPLAINTS_MAX && self.kind() != TokenKind::End {
            let message = "so much is wrong that the rest is not read";
            self.complain(Code::Unexpected, self.span(), message.to_owned());
            self.at = self.tokens.len() - 1;
            self.level = 0;
        }
    }

    /// Runs a production one level deeper.
    fn deeper<T>(&mut self, production: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH_MAX {
            return self.fail(Code::TooDeep, self.span(), "this is nested too deeply".to_owned());
        }
        let depth = self.depth;
        self.depth += 1;
        let result = production(self);
        self.depth = depth;
        result
    }

    /// Remembers that a name is a type's, until its scope ends.
    fn declare_type(&mut self, name: Ident) {
        *self.type_names.entry(name.symbol).or_insert(0) += 1;
        self.type_scope.push(name.symbol);
    }

    fn is_type_name(&self, symbol: Symbol) -> bool {
        self.type_names.get(&symbol).is_some_and(|&count| count > 0)
    }

    /// Forgets the types declared since `mark`.
    fn end_type_scope(&mut self, mark: usize) {
        for symbol in self.type_scope.drain(mark..) {
            if let Some(count) = self.type_names.get_mut(&symbol) {
                *count -= 1;
            }
        }
    }

    /// Skips the rest of a line that began at block level `level`, and the block under it.
    fn recover(&mut self, level: u32) {
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Outdent if self.level <= level => return,
                TokenKind::Newline if self.level <= level => {
                    self.bump();
                    break;
                }
                _ => {
                    self.bump();
                }
            }
        }
        self.skip_block();
    }

    /// Skips an indented block if one begins here.
    fn skip_block(&mut self) {
        if self.kind() != TokenKind::Indent {
            return;
        }
        let level = self.level;
        self.bump();
        while self.level > level && self.kind() != TokenKind::End {
            self.bump();
        }
    }

    /// What the grammar knows and this version does not run.
    fn not_supported<T>(&mut self, span: Span, what: &str) -> Parsed<T> {
        self.fail(Code::NotSupported, span, format!("{what} not supported yet"))
    }

    fn new_expr(&mut self, kind: ExprKind, span: Span) -> ExprId {
        self.ast.exprs.push(Expr { kind, span });
        ExprId(self.ast.exprs.len() as u32 - 1)
    }

    fn new_process(&mut self, kind: ProcessKind, span: Span) -> ProcessId {
        self.ast.processes.push(Process { kind, span });
        ProcessId(self.ast.processes.len() as u32 - 1)
    }

    fn new_spec(&mut self, kind: SpecKind, span: Span) -> SpecId {
        self.ast.specs.push(Spec { kind, span });
        SpecId(self.ast.specs.len() as u32 - 1)
    }

    fn new_type(&mut self, kind: TypeKind, span: Span) -> TypeNodeId {
        self.ast.types.push(TypeNode { kind, span });
        TypeNodeId(self.ast.types.len() as u32 - 1)
    }
}
