//! Owns: the grammar of IF, ALT, CASE and `? CASE`.
//! May use: `ast`, `lex::token`.
//! Never: decides what may stand in a guard; `check` does.

use super::{Parsed, Parser};
use crate::ast::{
    Alt, Alternative, AlternativeKind, CaseOption, Choice, ChoiceKind, If, InputKind, ProcessKind,
    Replicator, SpecId, Variant,
};
use crate::lex::TokenKind;

impl Parser<'_> {
    /// `if = IF [ replicator ], and below it choices`
    pub(super) fn if_process(&mut self) -> Parsed<If> {
        let replicator = self.heading(TokenKind::If)?;
        Ok(If { replicator, choices: self.entries(Self::choice) })
    }

    /// `alt = ALT [ replicator ], and below it alternatives`
    pub(super) fn alt(&mut self, prioritised: bool) -> Parsed<Alt> {
        let replicator = self.heading(TokenKind::Alt)?;
        Ok(Alt { prioritised, replicator, alternatives: self.entries(Self::alternative) })
    }

    fn heading(&mut self, word: TokenKind) -> Parsed<Option<Replicator>> {
        self.expect(word)?;
        if self.eat(TokenKind::Newline) {
            return Ok(None);
        }
        let replicator = self.replicator()?;
        self.end_of_line()?;
        Ok(Some(replicator))
    }

    /// The entries of a block, each with specifications before it.
    fn entries<T>(&mut self, entry: impl Fn(&mut Self, Vec<SpecId>) -> Parsed<T>) -> Vec<T> {
        let mut list = Vec::new();
        if !self.eat(TokenKind::Indent) {
            return list;
        }
        while !matches!(self.kind(), TokenKind::Outdent | TokenKind::End) {
            let (level, types) = (self.level, self.type_scope.len());
            let mut specs = Vec::new();
            while self.at_spec() {
                specs.push(self.spec());
            }
            match self.deeper(|parser| entry(parser, specs)) {
                Ok(item) => list.push(item),
                Err(_) => self.recover(level),
            }
            self.end_type_scope(types);
        }
        self.eat(TokenKind::Outdent);
        list
    }

    /// choice = if | condition, and below it a process
    fn choice(&mut self, specs: Vec<SpecId>) -> Parsed<Choice> {
        if self.kind() == TokenKind::If {
            return Ok(Choice { specs, kind: ChoiceKind::Nested(self.if_process()?) });
        }
        let condition = self.expr()?;
        self.end_of_line()?;
        let body = self.body("choice");
        Ok(Choice { specs, kind: ChoiceKind::Guarded(condition, body) })
    }

    /// alternative = alt | guard, and below it a process
    fn alternative(&mut self, specs: Vec<SpecId>) -> Parsed<Alternative> {
        let prioritised = self.kind() == TokenKind::Pri && self.peek(1) == TokenKind::Alt;
        if prioritised || self.kind() == TokenKind::Alt {
            if prioritised {
                self.bump();
            }
            return Ok(Alternative { specs, kind: AlternativeKind::Nested(self.alt(prioritised)?) });
        }
        let start = self.span();
        if self.kind() == TokenKind::Skip {
            self.bump();
            self.end_of_line()?;
            let kind = AlternativeKind::Guarded { condition: None, input: None, body: self.body("guard") };
            return Ok(Alternative { specs, kind });
        }
        let mut channel = self.expr()?;
        let mut condition = None;
        if self.eat(TokenKind::Ampersand) {
            condition = Some(channel);
            if self.eat(TokenKind::Skip) {
                self.end_of_line()?;
                let kind = AlternativeKind::Guarded { condition, input: None, body: self.body("guard") };
                return Ok(Alternative { specs, kind });
            }
            channel = self.element()?;
        }
        if self.kind() == TokenKind::QuestionTwo {
            let kind = self.extended(channel)?;
            let span = start.to(self.ast.expr(channel).span);
            let (input, body) = (self.new_process(kind, span), self.new_process(ProcessKind::Skip, span));
            let kind = AlternativeKind::Guarded { condition, input: Some(input), body };
            return Ok(Alternative { specs, kind });
        }
        if self.kind() != TokenKind::Question {
            return self.unexpected("`?`, which makes a guard of a channel,");
        }
        let (kind, case) = self.input(true)?;
        let end = self.last_span();
        if case {
            // `c ? CASE` as a guard: the variants' processes are the bodies.
            let variants = InputKind::Case(self.variants(false)?);
            let input = self.new_process(ProcessKind::Input { channel, kind: variants }, start.to(end));
            let body = self.new_process(ProcessKind::Skip, start.to(end));
            let kind = AlternativeKind::Guarded { condition, input: Some(input), body };
            return Ok(Alternative { specs, kind });
        }
        let input = Some(self.new_process(ProcessKind::Input { channel, kind }, start.to(end)));
        let body = self.body("guard");
        Ok(Alternative { specs, kind: AlternativeKind::Guarded { condition, input, body } })
    }

    /// case = CASE expression, and below it options
    pub(super) fn case(&mut self) -> Parsed<ProcessKind> {
        self.bump();
        let selector = self.expr()?;
        self.end_of_line()?;
        let options = self.entries(Self::option);
        Ok(ProcessKind::Case { selector, options })
    }

    /// option = ELSE | expressions, and below it a process
    fn option(&mut self, specs: Vec<SpecId>) -> Parsed<CaseOption> {
        let start = self.span();
        let values = if self.eat(TokenKind::Else) { Vec::new() } else { self.exprs()? };
        let span = start.to(self.last_span());
        self.end_of_line()?;
        Ok(CaseOption { specs, values, span, body: self.body("option") })
    }

    pub(super) fn variants(&mut self, extended: bool) -> Parsed<Vec<Variant>> {
        Ok(self.entries(|parser, specs| parser.variant(specs, extended)))
    }

    /// variant = tag { ";" item }, and below it a process
    fn variant(&mut self, specs: Vec<SpecId>, extended: bool) -> Parsed<Variant> {
        let tag = self.ident("a tag")?;
        let items = if self.eat(TokenKind::Semi) { self.input_items()? } else { Vec::new() };
        self.end_of_line()?;
        let (body, after) = match extended {
            true => self.two_bodies("variant"),
            false => (self.body("variant"), None),
        };
        Ok(Variant { specs, tag, items, body, after })
    }
}
