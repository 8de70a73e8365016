//! Owns: the grammar of tables, slices, array constructors, replicators and value processes.
//! May use: `ast`, `diag::codes`, `lex::token`, `source`.
//! Never: decides whether a table is a record; the type that is wanted does, in `check`.

use super::{Parsed, Parser};
use crate::ast::{ExprId, ExprKind, Replicator, Valof};
use crate::diag::Code;
use crate::lex::TokenKind;

impl Parser<'_> {
    /// `table = "[" expressions "]" [ suffix ] | "[" element [ FROM e ] [ FOR e ] "]" | "[" replicator "|" e "]"`
    pub(super) fn table(&mut self) -> Parsed<ExprId> {
        let start = self.bump().span;
        if self.kind() == TokenKind::Name
            && self.peek(1) == TokenKind::Equal
            && let Some(constructor) = self.constructor(start)?
        {
            return Ok(constructor);
        }
        let first = self.expr()?;
        if matches!(self.kind(), TokenKind::From | TokenKind::For) {
            let from = if self.eat(TokenKind::From) { Some(self.expr()?) } else { None };
            let count = if self.eat(TokenKind::For) { Some(self.expr()?) } else { None };
            self.expect(TokenKind::CloseSquare)?;
            let kind = ExprKind::Slice { base: first, from, count };
            return Ok(self.new_expr(kind, start.to(self.last_span())));
        }
        let mut elements = vec![first];
        while self.eat(TokenKind::Comma) {
            elements.push(self.expr()?);
        }
        self.expect(TokenKind::CloseSquare)?;
        let suffix = self.suffix()?;
        Ok(self.new_expr(ExprKind::Table { elements, suffix }, start.to(self.last_span())))
    }

    /// An array constructor, or `None` when `[name =` began a table of comparisons after all.
    fn constructor(&mut self, start: crate::source::Span) -> Parsed<Option<ExprId>> {
        let mut at = self.at;
        let mut depth = 0;
        let found = loop {
            match self.tokens[at].kind {
                TokenKind::OpenSquare | TokenKind::Open => depth += 1,
                TokenKind::Close => depth -= 1,
                TokenKind::CloseSquare if depth > 0 => depth -= 1,
                TokenKind::CloseSquare | TokenKind::Newline | TokenKind::End => break false,
                TokenKind::Bar if depth == 0 => break true,
                _ => {}
            }
            at += 1;
        };
        if !found {
            return Ok(None);
        }
        let replicator = Box::new(self.replicator()?);
        self.expect(TokenKind::Bar)?;
        let element = self.expr()?;
        self.expect(TokenKind::CloseSquare)?;
        let kind = ExprKind::Constructor { replicator, element };
        Ok(Some(self.new_expr(kind, start.to(self.last_span()))))
    }

    /// replicator = name "=" expression FOR expression [ STEP expression ]
    pub(super) fn replicator(&mut self) -> Parsed<Replicator> {
        let name = self.ident("the name of a replicator's index")?;
        self.expect(TokenKind::Equal)?;
        let base = self.expr()?;
        self.expect(TokenKind::For)?;
        let count = self.expr()?;
        let step = if self.eat(TokenKind::Step) { Some(self.expr()?) } else { None };
        let number = self.ast.replicators;
        self.ast.replicators += 1;
        Ok(Replicator { number, name, base, count, step })
    }

    /// value process = "(" { specification } VALOF block ")"
    pub(super) fn value_process(&mut self, start: crate::source::Span) -> Parsed<ExprId> {
        let valof = self.valof()?;
        self.expect(TokenKind::Close)?;
        Ok(self.new_expr(ExprKind::Valof(Box::new(valof)), start.to(self.last_span())))
    }

    /// valof = { specification } VALOF, and below it a process and RESULT expressions
    pub(super) fn valof(&mut self) -> Parsed<Valof> {
        let mut specs = Vec::new();
        while self.kind() != TokenKind::Valof && self.at_spec() {
            specs.push(self.spec());
        }
        self.expect(TokenKind::Valof)?;
        self.expect(TokenKind::Newline)?;
        if self.kind() != TokenKind::Indent {
            return self.fail(Code::MissingBody, self.last_span(), "VALOF has no body".to_owned());
        }
        self.bump();
        let body = self.scoped_process();
        let level = self.level;
        let results = match self.results() {
            Ok(results) => results,
            Err(failed) => {
                self.recover(level);
                self.eat(TokenKind::Outdent);
                return Err(failed);
            }
        };
        if self.kind() != TokenKind::Outdent {
            let found = self.kind().text();
            self.complain(Code::Unexpected, self.span(), format!("found {found} after RESULT"));
            while self.level >= level && self.kind() != TokenKind::End {
                self.bump();
            }
        } else {
            self.bump();
        }
        Ok(Valof { specs, body, results })
    }

    fn results(&mut self) -> Parsed<Vec<ExprId>> {
        if self.kind() != TokenKind::Result {
            return self.unexpected("RESULT, which ends a VALOF,");
        }
        self.bump();
        let results = if self.kind() == TokenKind::Newline { Vec::new() } else { self.exprs()? };
        self.expect(TokenKind::Newline)?;
        Ok(results)
    }
}
