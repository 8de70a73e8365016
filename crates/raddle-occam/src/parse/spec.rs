//! Owns: where specifications begin; declarations, abbreviations, pragmas.
//! May use: `ast`, `diag`, `lex::token`, `source`.
//! Never: reads processes, except as bodies.

use super::{Failed, Parsed, Parser};
use crate::ast::{Ident, Mode, Pragma, Renaming, SpecId, SpecKind, TypeNodeId};
use crate::diag::Code;
use crate::lex::Kind;
use crate::source::Span;

impl Parser<'_> {
    /// Whether a specification begins here.
    pub(super) fn at_spec(&self) -> bool {
        match self.kind() {
            kind if kind.is_basic_type() => true,
            Kind::Chan
            | Kind::Port
            | Kind::Timer
            | Kind::Val
            | Kind::Initial
            | Kind::Proc
            | Kind::Inline
            | Kind::Rec
            | Kind::Recursive
            | Kind::Protocol
            | Kind::Data
            | Kind::Place
            | Kind::Mobile
            | Kind::Shared
            | Kind::Barrier
            | Kind::Function
            | Kind::Directive => true,
            Kind::Result | Kind::Name | Kind::OpenSquare => self.line_is_spec(),
            _ => false,
        }
    }

    /// Looks along the line for what only a specification has.
    fn line_is_spec(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match token.kind {
                Kind::Open | Kind::OpenSquare => depth += 1,
                Kind::Close | Kind::CloseSquare => depth -= 1,
                Kind::Is | Kind::Retypes | Kind::Reshapes | Kind::Function if depth == 0 => return true,
                Kind::Assign if depth == 0 => return false,
                Kind::Colon if depth == 0 => return true,
                Kind::Newline | Kind::End => return false,
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
                if self.kind() == Kind::Colon {
                    self.recover(level);
                }
                self.new_spec(SpecKind::Error(name), start)
            }
        }
    }

    /// The name that a failed specification most likely declares: the first plain name in its line.
    fn failed_name(&self, first: usize) -> Option<Ident> {
        let line = self.tokens[first..].iter().take_while(|token| token.kind != Kind::Newline);
        line.filter(|token| token.kind == Kind::Name)
            .find(|token| !self.is_type_name(token.symbol))
            .map(|token| Ident { symbol: token.symbol, span: token.span })
    }

    fn spec_inner(&mut self) -> Parsed<SpecKind> {
        match self.kind() {
            Kind::Directive => self.pragma(),
            Kind::Val => {
                self.bump();
                self.abbreviation(Mode::Val)
            }
            Kind::Initial => {
                self.bump();
                self.abbreviation(Mode::Initial)
            }
            Kind::Result => {
                self.bump();
                self.abbreviation(Mode::Result)
            }
            Kind::Proc => self.proc(false),
            Kind::Inline | Kind::Rec | Kind::Recursive => self.prefixed(),
            Kind::Protocol => self.protocol(),
            Kind::Data => self.data_type(false),
            Kind::Place => self.place(),
            Kind::Chan if self.peek(1) == Kind::Type => self.bundle(false),
            _ => self.typed(),
        }
    }

    /// INLINE, REC or RECURSIVE before PROC, DATA TYPE or CHAN TYPE.
    fn prefixed(&mut self) -> Parsed<SpecKind> {
        let recursive = self.bump().kind != Kind::Inline;
        match self.kind() {
            Kind::Proc => self.proc(recursive),
            Kind::Inline | Kind::Rec | Kind::Recursive => self.prefixed(),
            Kind::Data => self.data_type(recursive),
            Kind::Chan => self.bundle(recursive),
            _ => self.unexpected("PROC, DATA TYPE or CHAN TYPE"),
        }
    }

    /// Whether an abbreviation without a type begins here.
    fn at_untyped(&self) -> bool {
        self.kind() == Kind::Name && matches!(self.peek(1), Kind::Is | Kind::Retypes | Kind::Reshapes)
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
            Kind::Is => Renaming::Is,
            Kind::Retypes => Renaming::Retypes,
            Kind::Reshapes => Renaming::Reshapes,
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
        if matches!(self.kind(), Kind::Comma | Kind::Function | Kind::Inline | Kind::Rec | Kind::Recursive) {
            return self.function(ty);
        }
        let name = self.ident("the name that is declared")?;
        let abbreviates = |kind| matches!(kind, Kind::Is | Kind::Retypes | Kind::Reshapes);
        let after_end = matches!(self.kind(), Kind::Bang | Kind::Question) && abbreviates(self.peek(1));
        if abbreviates(self.kind()) || after_end {
            return self.abbreviation_rest(Mode::Reference, Some(ty), name);
        }
        let direction = self.direction();
        let mut names = vec![(name, direction)];
        while self.eat(Kind::Comma) {
            let name = self.ident("another name to declare")?;
            let direction = self.direction();
            names.push((name, direction));
        }
        if self.kind() != Kind::Colon && self.kind() != Kind::Newline {
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
        if self.eat(Kind::Colon) {
            // A declaration may share its line with the process in its scope only by mistake; say so there.
            self.eat(Kind::Newline);
            return;
        }
        let complaint = crate::diag::Diagnostic::new(
            Code::MissingColon,
            self.last_span(),
            format!("found {} where `:` must end the specification", self.kind().text()),
        );
        self.diagnostics.push(complaint.help("end it with `:`"));
        if !self.eat(Kind::Newline) {
            self.recover(self.level);
        }
    }

    fn place(&mut self) -> Parsed<SpecKind> {
        self.bump();
        let name = self.ident("the name that is placed")?;
        if self.eat(Kind::At) {
            self.expr()?;
        } else {
            self.expect(Kind::In)?;
            if !self.eat(Kind::Workspace) && !self.eat(Kind::Vecspace) {
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
            "EXTERNAL" => return self.not_supported(start, "foreign calls are"),
            _ => Pragma::Other,
        };
        self.bump();
        let mut names = Vec::new();
        while what != Pragma::Other && self.kind() == Kind::Name {
            names.push(self.ident("a name")?);
            self.eat(Kind::Comma);
        }
        if what != Pragma::Other && self.kind() != Kind::Newline && self.kind() != Kind::Colon {
            return self.unexpected("a name");
        }
        while !matches!(self.kind(), Kind::Newline | Kind::End) {
            self.bump();
        }
        self.eat(Kind::Newline);
        Ok(SpecKind::Pragma { what, names })
    }
}
