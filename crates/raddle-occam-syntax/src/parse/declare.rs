//! Owns: specifications with a body: PROC, FUNCTION, PROTOCOL, DATA TYPE, CHAN TYPE.
//! May use: `ast`, `diag`, `lex::token`, `lex::value`, `source`.
//! Never: reads a process itself.

use super::{Parsed, Parser};
use crate::ast::{ExprId, ExprKind, Field, Form, Formal, Ident, Mode, SpecKind, TypeNodeId};
use crate::diag::Code;
use crate::lex::TokenKind;

impl Parser<'_> {
    /// proc = PROC name "(" formals ")" [ IMPLEMENTS name ], below it a process, and ":"
    ///
    /// Only a mobile one says what it implements; MOBILE has been read.
    pub(super) fn proc(&mut self, mut recursive: bool, mobile: bool) -> Parsed<SpecKind> {
        self.expect(TokenKind::Proc)?;
        while matches!(self.kind(), TokenKind::Rec | TokenKind::Recursive | TokenKind::Inline) {
            recursive |= self.bump().kind != TokenKind::Inline;
        }
        if self.kind() == TokenKind::Type {
            return self.proc_type();
        }
        let name = self.ident("the PROC's name")?;
        let formals = self.formals()?;
        let implements = self.implements(name, mobile)?;
        if matches!(self.kind(), TokenKind::Is | TokenKind::Name) {
            return self.not_supported(self.span(), "renamed PROCs are");
        }
        self.expect(TokenKind::Newline)?;
        let body = self.body("PROC");
        self.end_of_body("PROC", name);
        Ok(SpecKind::Proc { name, formals, body, recursive, implements })
    }

    /// [ IMPLEMENTS name ], which is no reserved word
    fn implements(&mut self, name: Ident, mobile: bool) -> Parsed<Option<Ident>> {
        let said = self.kind() == TokenKind::Name && self.sources.slice(self.span()) == "IMPLEMENTS";
        if said && mobile {
            self.bump();
            return self.ident("the name of a PROC TYPE").map(Some);
        }
        if said || mobile {
            let message = match mobile {
                true => "a MOBILE PROC says which PROC TYPE it IMPLEMENTS",
                false => "what IMPLEMENTS a PROC TYPE is a MOBILE PROC",
            };
            return self.fail(Code::Unexpected, name.span, message.to_owned());
        }
        Ok(None)
    }

    /// proc type = PROC TYPE name IS "(" formals ")" ":"
    fn proc_type(&mut self) -> Parsed<SpecKind> {
        self.bump();
        let name = self.ident("the PROC TYPE's name")?;
        self.declare_type(name);
        self.expect(TokenKind::Is)?;
        let formals = self.formals()?;
        self.end_of_spec();
        Ok(SpecKind::ProcType { name, formals })
    }

    /// function = types FUNCTION name "(" formals ")" ( IS expressions ":" | below it a VALOF, and ":" )
    pub(super) fn function(&mut self, first: TypeNodeId) -> Parsed<SpecKind> {
        let mut results = vec![first];
        while self.eat(TokenKind::Comma) {
            results.push(self.ty()?);
        }
        let mut recursive = false;
        loop {
            match self.kind() {
                TokenKind::Rec | TokenKind::Recursive => recursive = true,
                TokenKind::Inline | TokenKind::Function => {}
                _ => break,
            }
            self.bump();
        }
        let name = self.function_name()?;
        let formals = self.formals()?;
        let body = if self.eat(TokenKind::Is) {
            let list = self.exprs()?;
            self.end_of_spec();
            list
        } else {
            self.expect(TokenKind::Newline)?;
            if self.kind() != TokenKind::Indent {
                return self.fail(Code::MissingBody, name.span, "this FUNCTION has no body".to_owned());
            }
            self.bump();
            let start = self.span();
            let level = self.level;
            let valof = self.valof();
            while self.level >= level && self.kind() != TokenKind::End {
                self.bump();
            }
            self.end_of_body("FUNCTION", name);
            let kind = valof.map_or(ExprKind::Error, |valof| ExprKind::Valof(Box::new(valof)));
            vec![self.new_expr(kind, start)]
        };
        Ok(SpecKind::Function { name, results, formals, body, recursive })
    }

    /// A name, or an operator in quotes, whose symbol keeps the quotes.
    fn function_name(&mut self) -> Parsed<Ident> {
        if self.kind() != TokenKind::Text {
            return self.ident("the FUNCTION's name");
        }
        let span = self.bump().span;
        let inside = self.sources.slice(span).trim_matches('"');
        let sign = String::from_utf8_lossy(&crate::lex::byte_text(inside).bytes).into_owned();
        let symbol = self.symbols.intern(&format!("\"{sign}\""));
        Ok(Ident { symbol, span })
    }

    /// formals = "(" [ formal { "," formal } ] ")"; a bare name has the mode and type of the one before
    pub(super) fn formals(&mut self) -> Parsed<Vec<Formal>> {
        self.expect(TokenKind::Open)?;
        let mut list: Vec<Formal> = Vec::new();
        while self.kind() != TokenKind::Close {
            let repeated = self.kind() == TokenKind::Name
                && (matches!(self.peek(1), TokenKind::Comma | TokenKind::Close)
                    || matches!(self.peek(1), TokenKind::Bang | TokenKind::Question)
                        && matches!(self.peek(2), TokenKind::Comma | TokenKind::Close));
            let (mode, ty) = match list.last() {
                Some(last) if repeated => (last.mode, last.ty),
                _ => (self.mode(), self.ty()?),
            };
            let name = self.ident("the parameter's name")?;
            let direction = self.direction();
            list.push(Formal { mode, ty, name, direction });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        let close = self.expect(TokenKind::Close)?.span;
        self.twice(list.iter().map(|formal| formal.name).collect::<Vec<_>>().into_iter(), close);
        Ok(list)
    }

    fn mode(&mut self) -> Mode {
        let mode = match self.kind() {
            TokenKind::Val => Mode::Val,
            TokenKind::Initial => Mode::Initial,
            TokenKind::Result => Mode::Result,
            _ => return Mode::Reference,
        };
        self.bump();
        mode
    }

    /// The `:` on its own line that ends a body.
    pub(super) fn end_of_body(&mut self, what: &str, name: Ident) {
        if self.eat(TokenKind::Colon) {
            if !self.eat(TokenKind::Newline) {
                let _: Parsed<()> = self.unexpected("the end of the line");
                self.recover(self.level);
            }
            return;
        }
        let text = self.symbols.text(name.symbol);
        let complaint = crate::diag::Diagnostic::new(
            Code::MissingColon,
            self.span(),
            format!("found {} where `:` must end the {what} `{text}`", self.kind().text()),
        );
        let indent = self.sources.place(name.span.lo).map_or("", |place| {
            let text = place.text;
            &text[..text.len() - text.trim_start().len()]
        });
        let end = self.last_text().hi;
        self.diagnostics.push(
            complaint
                .also(name.span, "begun here")
                .help("put `:` on a line of its own, at the heading's indentation")
                .fix("write `:` below it", crate::source::Span::new(end, end), format!("\n{indent}:")),
        );
    }

    /// protocol = PROTOCOL name ( IS items ":" | [ EXTENDS names ] ( ":" | below it CASE with forms, and ":" ) )
    pub(super) fn protocol(&mut self) -> Parsed<SpecKind> {
        self.bump();
        let name = self.ident("the PROTOCOL's name")?;
        self.declare_type(name);
        if self.eat(TokenKind::Is) {
            let items = self.items()?;
            self.end_of_spec();
            let forms = vec![Form { tag: None, value: None, items }];
            return Ok(SpecKind::Protocol { name, variant: false, extends: Vec::new(), first: None, forms });
        }
        let mut extends = Vec::new();
        if self.eat(TokenKind::Extends) {
            extends.push(self.ident("the name of a PROTOCOL with CASE")?);
            while self.eat(TokenKind::Comma) {
                extends.push(self.ident("the name of another PROTOCOL with CASE")?);
            }
            self.twice(extends.clone().into_iter(), name.span);
        }
        if !extends.is_empty() && self.kind() == TokenKind::Colon {
            self.end_of_spec();
            return Ok(SpecKind::Protocol { name, variant: true, extends, first: None, forms: Vec::new() });
        }
        let (first, forms) = self.tagged(name)?;
        Ok(SpecKind::Protocol { name, variant: true, extends, first, forms })
    }

    /// CASE [ FROM number ], below it the forms, and ":"
    fn tagged(&mut self, name: Ident) -> Parsed<(Option<ExprId>, Vec<Form>)> {
        self.expect(TokenKind::Newline)?;
        self.expect(TokenKind::Indent)?;
        let level = self.level;
        self.expect(TokenKind::Case)?;
        let first = if self.eat(TokenKind::From) { Some(self.expr()?) } else { None };
        self.expect(TokenKind::Newline)?;
        let forms = if self.kind() == TokenKind::Indent { self.forms() } else { Vec::new() };
        while self.level >= level && self.kind() != TokenKind::End {
            self.bump();
        }
        self.end_of_body("PROTOCOL", name);
        self.twice(forms.iter().filter_map(|form| form.tag).collect::<Vec<_>>().into_iter(), name.span);
        Ok((first, forms))
    }

    fn forms(&mut self) -> Vec<Form> {
        self.bump();
        let mut forms = Vec::new();
        while !matches!(self.kind(), TokenKind::Outdent | TokenKind::End) {
            let level = self.level;
            match self.form() {
                Ok(form) => forms.push(form),
                Err(_) => self.recover(level),
            }
        }
        self.eat(TokenKind::Outdent);
        forms
    }

    /// form = tag [ "=" number ] { ";" item }
    fn form(&mut self) -> Parsed<Form> {
        let tag = Some(self.ident("a tag")?);
        let value = if self.eat(TokenKind::Equal) { Some(self.expr()?) } else { None };
        let items = if self.eat(TokenKind::Semi) { self.items()? } else { Vec::new() };
        self.expect(TokenKind::Newline)?;
        Ok(Form { tag, value, items })
    }

    fn items(&mut self) -> Parsed<Vec<TypeNodeId>> {
        let mut items = vec![self.protocol_item()?];
        while self.eat(TokenKind::Semi) {
            items.push(self.protocol_item()?);
        }
        Ok(items)
    }

    /// data type = DATA TYPE name ( IS type ":" | below it [ PACKED | MOBILE ] RECORD with fields, and ":" )
    pub(super) fn data_type(&mut self, recursive: bool) -> Parsed<SpecKind> {
        self.bump();
        self.expect(TokenKind::Type)?;
        let name = self.ident("the type's name")?;
        if recursive {
            return self.not_supported(name.span, "recursive data types are");
        }
        self.declare_type(name);
        if self.eat(TokenKind::Is) {
            let ty = self.ty()?;
            self.end_of_spec();
            return Ok(SpecKind::DataType { name, ty });
        }
        let (mut packed, mut mobile) = (false, false);
        let (fields, level) = self.record_body(|kind| {
            packed |= kind == TokenKind::Packed;
            mobile |= kind == TokenKind::Mobile;
        })?;
        while self.level >= level && self.kind() != TokenKind::End {
            self.bump();
        }
        self.end_of_body("DATA TYPE", name);
        Ok(SpecKind::Record { name, fields, packed, mobile })
    }

    /// The lines under DATA TYPE or CHAN TYPE: RECORD, and its fields.
    fn record_body(&mut self, mut word: impl FnMut(TokenKind)) -> Parsed<(Vec<Field>, u32)> {
        self.expect(TokenKind::Newline)?;
        self.expect(TokenKind::Indent)?;
        let level = self.level;
        while matches!(self.kind(), TokenKind::Packed | TokenKind::Mobile) {
            word(self.kind());
            self.bump();
        }
        self.expect(TokenKind::Record)?;
        self.expect(TokenKind::Newline)?;
        let mut fields = Vec::new();
        if self.eat(TokenKind::Indent) {
            while !matches!(self.kind(), TokenKind::Outdent | TokenKind::End) {
                let level = self.level;
                if self.field(&mut fields).is_err() {
                    self.recover(level);
                }
            }
        }
        self.twice(fields.iter().map(|field| field.name).collect::<Vec<_>>().into_iter(), self.span());
        Ok((fields, level))
    }

    /// `field = type name [ end ] { "," name [ end ] } ":"`
    fn field(&mut self, fields: &mut Vec<Field>) -> Parsed<()> {
        let ty = self.ty()?;
        loop {
            let name = self.ident("a field's name")?;
            let direction = self.direction();
            fields.push(Field { ty, name, direction });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.end_of_spec();
        Ok(())
    }

    /// bundle = CHAN TYPE name ( ":" | below it MOBILE RECORD with fields, and ":" )
    pub(super) fn bundle(&mut self, recursive: bool) -> Parsed<SpecKind> {
        self.bump();
        self.expect(TokenKind::Type)?;
        let name = self.ident("the CHAN TYPE's name")?;
        self.declare_type(name);
        if self.kind() == TokenKind::Is {
            return self.not_supported(self.span(), "CHAN TYPE IS is");
        }
        if self.kind() == TokenKind::Colon {
            self.end_of_spec();
            return Ok(SpecKind::Forward(name));
        }
        let (fields, level) = self.record_body(|_| {})?;
        while self.level >= level && self.kind() != TokenKind::End {
            self.bump();
        }
        self.end_of_body("CHAN TYPE", name);
        Ok(SpecKind::Bundle { name, fields, recursive })
    }
}
