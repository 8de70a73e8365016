//! Owns: `#PRAGMA TEST`, which makes the PROC behind it a test; EXTERNAL and LINK, for foreign routines.
//! May use: `ast`, `diag`, `lex::token`, `lex::value`, `source`.
//! Never: decides whether a PROC can be run; whoever runs it does.

use super::{Parsed, Parser};
use crate::ast::{Pragma, SpecId, SpecKind, TestMark};
use crate::diag::{Code, Diagnostic};
use crate::lex::{TokenKind, byte_text, parse_integer};
use crate::source::Span;

const WORDS: &str =
    "`#PRAGMA TEST` knows INPUT \"text\", OUTPUT \"text\", FAILS [\"text\"] and SECONDS number";

impl Parser<'_> {
    /// `#PRAGMA TEST { INPUT text | OUTPUT text | FAILS [ text ] | SECONDS number }`; several lines count together
    pub(super) fn test_mark(&mut self, start: Span) -> Parsed<SpecKind> {
        self.bump();
        if self.level > 0 {
            return self.fail(Code::Directive, start, "only an outermost PROC can be a test".to_owned());
        }
        let fresh =
            TestMark { span: start, proc: None, input: Vec::new(), output: None, fails: None, seconds: None };
        let mut mark = self.test.take().unwrap_or(fresh);
        while !matches!(self.kind(), TokenKind::Newline | TokenKind::End) {
            self.test_word(&mut mark)?;
        }
        self.eat(TokenKind::Newline);
        self.test = Some(mark);
        Ok(SpecKind::Pragma { what: Pragma::Other, names: Vec::new() })
    }

    fn test_word(&mut self, mark: &mut TestMark) -> Parsed<()> {
        let at = self.bump().span;
        let word = self.sources.slice(at);
        match (word, self.kind()) {
            ("INPUT", TokenKind::Text) => mark.input.extend(self.test_text()),
            ("OUTPUT", TokenKind::Text) => {
                let text = self.test_text();
                mark.output.get_or_insert_default().extend(text);
            }
            ("FAILS", TokenKind::Text) => mark.fails = Some(self.test_text()),
            ("FAILS", _) => mark.fails = Some(Vec::new()),
            ("SECONDS", TokenKind::Integer) => {
                let number = parse_integer(self.sources.slice(self.bump().span));
                mark.seconds = number.and_then(|it| u32::try_from(it).ok()).filter(|&it| it > 0);
                if mark.seconds.is_none() {
                    return self.fail(Code::Directive, at, "a test may take at least a second".to_owned());
                }
            }
            _ => return self.fail(Code::Directive, at, WORDS.to_owned()),
        }
        Ok(())
    }

    /// The bytes of the string that stands here; the scanner has complained of what is wrong with it.
    pub(super) fn test_text(&mut self) -> Vec<u8> {
        let text = self.sources.slice(self.bump().span);
        let inside = text.strip_prefix('"').unwrap_or(text);
        byte_text(inside.strip_suffix('"').unwrap_or(inside)).bytes
    }

    /// The outermost specification behind the lines `#PRAGMA TEST` must be a PROC, which is the test.
    pub(super) fn end_of_test(&mut self, spec: SpecId) {
        let Some(mark) = &mut self.test else { return };
        match &self.ast.spec(spec).kind {
            SpecKind::Pragma { .. } => {}
            SpecKind::Error(_) => self.test = None,
            SpecKind::Proc { name, .. } => {
                mark.proc = Some(*name);
                self.ast.tests.extend(self.test.take());
            }
            _ => {
                let span = mark.span;
                self.test = None;
                self.no_proc_to_test(span);
            }
        }
    }

    /// At the end of the text no test may be open.
    pub(super) fn end_of_tests(&mut self) {
        if let Some(mark) = self.test.take() {
            self.no_proc_to_test(mark.span);
        }
    }

    /// `#PRAGMA EXTERNAL "PROC name ( formals ) = number"`, of which the preprocessor has opened the string
    pub(super) fn foreign(&mut self) -> Parsed<SpecKind> {
        self.bump();
        if self.kind() != TokenKind::Proc {
            let message = "EXTERNAL takes the heading of a PROC: \"PROC C.name (VAL INT x) = 0\"";
            return self.fail(Code::Directive, self.span(), message.to_owned());
        }
        self.bump();
        let name = self.ident("the PROC's name")?;
        let text = self.symbols.text(name.symbol);
        if !["C.", "B.", "BX.", "F."].iter().any(|start| text.starts_with(start)) {
            let message = format!("the name `{text}` does not say how the routine is called");
            let complaint = Diagnostic::new(Code::Directive, name.span, message);
            let help =
                "it begins with `C.`, with `B.` or `BX.` if it may take long, or with `F.` for Fortran";
            self.diagnostics.push(complaint.help(help));
            return Err(super::Failed);
        }
        let formals = self.formals()?;
        while !matches!(self.kind(), TokenKind::Newline | TokenKind::End) {
            if !matches!(self.kind(), TokenKind::Equal | TokenKind::Integer | TokenKind::Comma) {
                return self.unexpected("`= 0`");
            }
            self.bump();
        }
        self.eat(TokenKind::Newline);
        Ok(SpecKind::Foreign { name, formals })
    }

    /// `#PRAGMA LINK text`
    pub(super) fn library(&mut self) -> Parsed<SpecKind> {
        self.bump();
        if self.kind() != TokenKind::Text {
            let message = "LINK takes the name of a library: \"m\", \"libm.so.6\" or a path";
            return self.fail(Code::Directive, self.span(), message.to_owned());
        }
        let name = self.test_text();
        self.ast.libraries.push(String::from_utf8_lossy(&name).into_owned());
        self.expect(TokenKind::Newline)?;
        Ok(SpecKind::Pragma { what: Pragma::Other, names: Vec::new() })
    }

    fn no_proc_to_test(&mut self, span: Span) {
        let message = "this makes a test of the PROC behind it, and there is none";
        let complaint = Diagnostic::new(Code::Directive, span, message);
        self.diagnostics.push(complaint.help("put it on the line before `PROC name (...)`"));
    }
}
