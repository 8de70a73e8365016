//! Owns: the grammar of tables, slices, array constructors, replicators and value processes.
//! May use: `ast`, `diag::codes`, `lex::token`, `source`.
//! Never: decides whether a table is a record; the type that is wanted does, in `check`.

use super::{Parsed, Parser};
use crate::ast::{ExprId, ExprKind, Replicator, Valof};
use crate::diag::Code;
use crate::lex::Kind;

impl Parser<'_> {
    /// `table = "[" expressions "]" [ suffix ] | "[" element [ FROM e ] [ FOR e ] "]" | "[" replicator "|" e "]"`
    pub(super) fn table(&mut self) -> Parsed<ExprId> {
        let start = self.bump().span;
        if self.kind() == Kind::Name
            && self.peek(1) == Kind::Equal
            && let Some(constructor) = self.constructor(start)?
        {
            return Ok(constructor);
        }
        let first = self.expr()?;
        if matches!(self.kind(), Kind::From | Kind::For) {
            let from = if self.eat(Kind::From) { Some(self.expr()?) } else { None };
            let count = if self.eat(Kind::For) { Some(self.expr()?) } else { None };
            self.expect(Kind::CloseSquare)?;
            let kind = ExprKind::Slice { base: first, from, count };
            return Ok(self.new_expr(kind, start.to(self.last_span())));
        }
        let mut elements = vec![first];
        while self.eat(Kind::Comma) {
            elements.push(self.expr()?);
        }
        self.expect(Kind::CloseSquare)?;
        let suffix = self.suffix()?;
        Ok(self.new_expr(ExprKind::Table { elements, suffix }, start.to(self.last_span())))
    }

    /// An array constructor, or `None` when `[name =` began a table of comparisons after all.
    fn constructor(&mut self, start: crate::source::Span) -> Parsed<Option<ExprId>> {
        let mut at = self.at;
        let mut depth = 0;
        let found = loop {
            match self.tokens[at].kind {
                Kind::OpenSquare | Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                Kind::CloseSquare if depth > 0 => depth -= 1,
                Kind::CloseSquare | Kind::Newline | Kind::End => break false,
                Kind::Bar if depth == 0 => break true,
                _ => {}
            }
            at += 1;
        };
        if !found {
            return Ok(None);
        }
        let replicator = Box::new(self.replicator()?);
        self.expect(Kind::Bar)?;
        let element = self.expr()?;
        self.expect(Kind::CloseSquare)?;
        let kind = ExprKind::Constructor { replicator, element };
        Ok(Some(self.new_expr(kind, start.to(self.last_span()))))
    }

    /// replicator = name "=" expression FOR expression [ STEP expression ]
    pub(super) fn replicator(&mut self) -> Parsed<Replicator> {
        let name = self.ident("the name of a replicator's index")?;
        self.expect(Kind::Equal)?;
        let base = self.expr()?;
        self.expect(Kind::For)?;
        let count = self.expr()?;
        let step = if self.eat(Kind::Step) { Some(self.expr()?) } else { None };
        let number = self.ast.replicators;
        self.ast.replicators += 1;
        Ok(Replicator { number, name, base, count, step })
    }

    /// value process = "(" { specification } VALOF block ")"
    pub(super) fn value_process(&mut self, start: crate::source::Span) -> Parsed<ExprId> {
        let valof = self.valof()?;
        self.expect(Kind::Close)?;
        Ok(self.new_expr(ExprKind::Valof(Box::new(valof)), start.to(self.last_span())))
    }

    /// valof = { specification } VALOF, and below it a process and RESULT expressions
    pub(super) fn valof(&mut self) -> Parsed<Valof> {
        let mut specs = Vec::new();
        while self.kind() != Kind::Valof && self.at_spec() {
            specs.push(self.spec());
        }
        self.expect(Kind::Valof)?;
        self.expect(Kind::Newline)?;
        if self.kind() != Kind::Indent {
            return self.fail(Code::MissingBody, self.last_span(), "VALOF has no body".to_owned());
        }
        self.bump();
        let body = self.scoped_process();
        let level = self.level;
        let results = match self.results() {
            Ok(results) => results,
            Err(failed) => {
                self.recover(level);
                self.eat(Kind::Outdent);
                return Err(failed);
            }
        };
        if self.kind() != Kind::Outdent {
            let found = self.kind().text();
            self.complain(Code::Unexpected, self.span(), format!("found {found} after RESULT"));
            while self.level >= level && self.kind() != Kind::End {
                self.bump();
            }
        } else {
            self.bump();
        }
        Ok(Valof { specs, body, results })
    }

    fn results(&mut self) -> Parsed<Vec<ExprId>> {
        if self.kind() != Kind::Result {
            return self.unexpected("RESULT, which ends a VALOF,");
        }
        self.bump();
        let results = if self.kind() == Kind::Newline { Vec::new() } else { self.exprs()? };
        self.expect(Kind::Newline)?;
        Ok(results)
    }
}
