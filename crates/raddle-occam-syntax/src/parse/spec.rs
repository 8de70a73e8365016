//! Owns: where specifications begin; declarations, abbreviations, pragmas.
//! May use: `ast`, `diag`, `lex::token`, `source`.
//! Never: reads processes, except as bodies.

use super::{Failed, Parsed, Parser};
use crate::ast::{Ident, Mode, Pragma, Renaming, SpecId, SpecKind, TypeNodeId};
use crate::diag::Code;
use crate::lex::TokenKind;
use crate::source::Span;

impl Parser<'_> {
    /// Whether a specification begins here.
    pub(super) fn at_spec(&self) -> bool {
        match self.kind() {
            kind if kind.is_basic_type() => true,
            TokenKind::Chan
            | TokenKind::Port
            | TokenKind::Timer
            | TokenKind::Val
            | TokenKind::Initial
            | TokenKind::Proc
            | TokenKind::Inline
            | TokenKind::Rec
            | TokenKind::Recursive
            | TokenKind::Protocol
            | TokenKind::Data
            | TokenKind::Place
            | TokenKind::Mobile
            | TokenKind::Shared
            | TokenKind::Barrier
            | TokenKind::Function
            | TokenKind::Directive => true,
            TokenKind::Result | TokenKind::Name | TokenKind::OpenSquare => self.line_is_spec(),
            _ => false,
        }
    }

    /// Looks along the line for what only a specification has.
    fn line_is_spec(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match token.kind {
                TokenKind::Open | TokenKind::OpenSquare => depth += 1,
                TokenKind::Close | TokenKind::CloseSquare => depth -= 1,
                TokenKind::Is | TokenKind::Retypes | TokenKind::Reshapes | TokenKind::Function
                    if depth == 0 =>
                {
                    return true;
                }
                TokenKind::Assign if depth == 0 => return false,
                TokenKind::Colon if depth == 0 => return true,
                TokenKind::Newline | TokenKind::End => return false,
                _ => {}
            }
        }
        false
    }

    /// One specification, with the complaint and an `Error` node where it cannot be read.
    pub(super) fn spec(&mut self) -> SpecId {
        let (start, level, first) = (self.span(), self.level, self.at);
        match self.deeper(Self::spec_inner) {
            Ok(kind) => self.new_spec(kind, start.to(self.last_span())),
            Err(Failed) => {
                let name = self.failed_name(first);
                self.recover(level);
                // The `:` that ends a heading's body belongs to what was skipped.
                if self.kind() == TokenKind::Colon {
                    self.recover(level);
                }
                self.new_spec(SpecKind::Error(name), start)
            }
        }
    }

    /// The name that a failed specification most likely declares: the first plain name in its line.
    fn failed_name(&self, first: usize) -> Option<Ident> {
        let line = self.tokens[first..].iter().take_while(|token| token.kind != TokenKind::Newline);
        line.filter(|token| token.kind == TokenKind::Name)
            .find(|token| !self.is_type_name(token.symbol))
            .map(|token| Ident { symbol: token.symbol, span: token.span })
    }

    fn spec_inner(&mut self) -> Parsed<SpecKind> {
        match self.kind() {
            TokenKind::Directive => self.pragma(),
            TokenKind::Val => {
                self.bump();
                self.abbreviation(Mode::Val)
            }
            TokenKind::Initial => {
                self.bump();
                self.abbreviation(Mode::Initial)
            }
            TokenKind::Result => {
                self.bump();
                self.abbreviation(Mode::Result)
            }
            TokenKind::Proc => self.proc(false, false),
            TokenKind::Mobile if self.peek(1) == TokenKind::Proc => {
                self.bump();
                self.proc(false, true)
            }
            TokenKind::Inline | TokenKind::Rec | TokenKind::Recursive => self.prefixed(),
            TokenKind::Protocol => self.protocol(),
            TokenKind::Data => self.data_type(false),
            TokenKind::Place => self.place(),
            TokenKind::Chan if self.peek(1) == TokenKind::Type => self.bundle(false),
            _ => self.typed(),
        }
    }

    /// INLINE, REC or RECURSIVE before PROC, DATA TYPE or CHAN TYPE.
    fn prefixed(&mut self) -> Parsed<SpecKind> {
        let recursive = self.bump().kind != TokenKind::Inline;
        match self.kind() {
            TokenKind::Proc => self.proc(recursive, false),
            TokenKind::Mobile if self.peek(1) == TokenKind::Proc => {
                self.bump();
                self.proc(recursive, true)
            }
            TokenKind::Inline | TokenKind::Rec | TokenKind::Recursive => self.prefixed(),
            TokenKind::Data => self.data_type(recursive),
            TokenKind::Chan => self.bundle(recursive),
            _ => self.unexpected("PROC, DATA TYPE or CHAN TYPE"),
        }
    }

    /// Whether an abbreviation without a type begins here.
    fn at_untyped(&self) -> bool {
        self.kind() == TokenKind::Name
            && matches!(self.peek(1), TokenKind::Is | TokenKind::Retypes | TokenKind::Reshapes)
    }

    /// `abbreviation = [ type ] name [ end ] ( IS | RETYPES | RESHAPES ) expression ":"`
    fn abbreviation(&mut self, mode: Mode) -> Parsed<SpecKind> {
        let ty = if self.at_untyped() { None } else { Some(self.ty()?) };
        let name = self.ident("the name that is declared")?;
        self.abbreviation_rest(mode, ty, name)
    }

    fn abbreviation_rest(&mut self, mode: Mode, ty: Option<TypeNodeId>, name: Ident) -> Parsed<SpecKind> {
        let direction = self.direction();
        let renaming = match self.kind() {
            TokenKind::Is => Renaming::Is,
            TokenKind::Retypes => Renaming::Retypes,
            TokenKind::Reshapes => Renaming::Reshapes,
            _ => return self.unexpected("IS, RETYPES or RESHAPES"),
        };
        self.bump();
        let value = self.abbreviated()?;
        self.end_of_spec();
        Ok(SpecKind::Abbreviate { mode, ty, name, direction, renaming, value })
    }

    /// What IS names: an expression, or a VALOF that begins on the next line (occam 2 has none; a call is usual).
    fn abbreviated(&mut self) -> Parsed<crate::ast::ExprId> {
        self.expr()
    }

    /// A declaration, a reference abbreviation, or a FUNCTION, all of which begin with a type.
    fn typed(&mut self) -> Parsed<SpecKind> {
        if self.at_untyped() {
            return self.abbreviation(Mode::Reference);
        }
        let start = self.span();
        let ty = self.ty()?;
        if matches!(
            self.kind(),
            TokenKind::Comma
                | TokenKind::Function
                | TokenKind::Inline
                | TokenKind::Rec
                | TokenKind::Recursive
        ) {
            return self.function(ty);
        }
        let name = self.ident("the name that is declared")?;
        let abbreviates = |kind| matches!(kind, TokenKind::Is | TokenKind::Retypes | TokenKind::Reshapes);
        let after_end =
            matches!(self.kind(), TokenKind::Bang | TokenKind::Question) && abbreviates(self.peek(1));
        if abbreviates(self.kind()) || after_end {
            return self.abbreviation_rest(Mode::Reference, Some(ty), name);
        }
        let direction = self.direction();
        let mut names = vec![(name, direction)];
        while self.eat(TokenKind::Comma) {
            let name = self.ident("another name to declare")?;
            let direction = self.direction();
            names.push((name, direction));
        }
        if self.kind() != TokenKind::Colon && self.kind() != TokenKind::Newline {
            return self.unexpected("`:` or `,`");
        }
        self.end_of_spec();
        self.twice(names.iter().map(|&(name, _)| name), start);
        Ok(SpecKind::Declare { ty, names })
    }

    /// Complains of a name that a list has twice.
    pub(super) fn twice(&mut self, names: impl Iterator<Item = Ident>, _list: Span) {
        let mut seen: Vec<Ident> = Vec::new();
        for name in names {
            if let Some(first) = seen.iter().find(|seen| seen.symbol == name.symbol) {
                let text = self.symbols.text(name.symbol);
                let complaint = crate::diag::Diagnostic::new(
                    Code::Repeated,
                    name.span,
                    format!("`{text}` stands twice in this list"),
                )
                .also(first.span, "first here");
                self.diagnostics.push(complaint);
            } else if seen.len() < 64 {
                seen.push(name);
            }
        }
    }

    /// The `:` and the end of the line.
    pub(super) fn end_of_spec(&mut self) {
        if self.eat(TokenKind::Colon) {
            // A declaration may share its line with the process in its scope only by mistake; say so there.
            self.eat(TokenKind::Newline);
            return;
        }
        let complaint = crate::diag::Diagnostic::new(
            Code::MissingColon,
            self.last_span(),
            format!("found {} where `:` must end the specification", self.kind().text()),
        );
        let end = self.last_span().hi;
        let complaint = complaint.help("end it with `:`");
        self.diagnostics.push(complaint.fix("write `:`", Span::new(end, end), ":"));
        if !self.eat(TokenKind::Newline) {
            self.recover(self.level);
        }
    }

    fn place(&mut self) -> Parsed<SpecKind> {
        self.bump();
        let name = self.ident("the name that is placed")?;
        if self.kind() == TokenKind::At {
            let message =
                "PLACE AT gives an address of a transputer's memory, or a link of it; there are none here";
            return self.fail(Code::NotSupported, self.span(), message.to_owned());
        } else {
            self.expect(TokenKind::In)?;
            if !self.eat(TokenKind::Workspace) && !self.eat(TokenKind::Vecspace) {
                return self.unexpected("WORKSPACE or VECSPACE");
            }
        }
        self.end_of_spec();
        Ok(SpecKind::Place(name))
    }

    /// #PRAGMA word names
    fn pragma(&mut self) -> Parsed<SpecKind> {
        let start = self.bump().span;
        let word = self.sources.slice(self.span());
        let what = match word {
            "SHARED" => Pragma::Shared,
            "PERMITALIASES" => Pragma::PermitAliases,
            "DEFINED" => Pragma::Defined,
            "UNDEFINED" => Pragma::Undefined,
            "EXTERNAL" => return self.foreign(),
            "LINK" => return self.library(),
            "TEST" => return self.test_mark(start),
            _ => Pragma::Other,
        };
        self.bump();
        let mut names = Vec::new();
        while what != Pragma::Other && self.kind() == TokenKind::Name {
            names.push(self.ident("a name")?);
            self.eat(TokenKind::Comma);
        }
        if what != Pragma::Other && self.kind() != TokenKind::Newline && self.kind() != TokenKind::Colon {
            return self.unexpected("a name");
        }
        while !matches!(self.kind(), TokenKind::Newline | TokenKind::End) {
            self.bump();
        }
        self.eat(TokenKind::Newline);
        Ok(SpecKind::Pragma { what, names })
    }
}
