//! Owns: what those mean who are used to other languages.
//! May use: `ast`, `diag`, `lex`, `source`.
//! Never: accepts it.

use super::{Failed, Parsed, Parser};
use crate::ast::{ConstructKind, ExprId, Ident, ProcessId, ProcessKind};
use crate::diag::{Code, Diagnostic};
use crate::lex::TokenKind;
use crate::source::Span;

impl Parser<'_> {
    /// Whether a process stands here that is neither a choice nor a guard.
    pub(super) fn at_process(&self, under: &str) -> bool {
        match self.kind() {
            TokenKind::Skip => under != "guard",
            TokenKind::Stop | TokenKind::Seq | TokenKind::Par | TokenKind::While | TokenKind::Claim => true,
            _ => {
                let line = self.tokens[self.at..].iter().map(|token| token.kind);
                let mut line = line.take_while(|&kind| !matches!(kind, TokenKind::Newline | TokenKind::End));
                line.any(|kind| matches!(kind, TokenKind::Assign | TokenKind::Bang))
            }
        }
    }

    /// Complains of a second process in a body that has room for one.
    pub(super) fn more_than_one(&mut self, what: &str, first: ProcessId) {
        let complaint = match self.empty_construct(first) {
            Some((word, span)) => Diagnostic::new(
                Code::MissingBody,
                self.span(),
                format!("this stands beside the {word}, not in it"),
            )
            .also(span, format!("this {word} has no body"))
            .help(format!("indent the processes of the {word} two columns further than it")),
            None => {
                let message = format!("the body of this {what} has more than one process");
                Diagnostic::new(Code::Unexpected, self.span(), message).help("put SEQ or PAR above them")
            }
        };
        self.diagnostics.push(complaint);
    }

    /// The SEQ or PAR, specifications before it left out, that has nothing below it.
    fn empty_construct(&self, process: ProcessId) -> Option<(&'static str, Span)> {
        let process = self.ast.process(process);
        match &process.kind {
            ProcessKind::Construct { order, replicator: None, body } if body.is_empty() => {
                let word = if *order == ConstructKind::Seq { "SEQ" } else { "PAR" };
                Some((word, process.span))
            }
            ProcessKind::Block { body, .. } => self.empty_construct(*body),
            _ => None,
        }
    }

    /// Complains of what stands behind the brackets of a call: perhaps they are to be a subscript's.
    pub(super) fn behind_a_call<T>(&mut self, name: Ident) -> Parsed<T> {
        if !matches!(self.kind(), TokenKind::Assign | TokenKind::Question | TokenKind::Bang)
            || self.complained_here()
        {
            return self.unexpected("the end of the line");
        }
        let text = self.sources.slice(name.span);
        let message = format!("a call of `{text}` is no variable and no channel");
        let complaint = Diagnostic::new(Code::Unexpected, self.span(), message);
        self.diagnostics.push(complaint.help(format!("an element is written `{text}[...]`")));
        Err(Failed)
    }

    /// Complains of `i++` and of `i += 1`, and of `i--`, whose signs begin a comment.
    pub(super) fn no_increment(&mut self, first: ExprId) -> Parsed<()> {
        let span = self.ast.expr(first).span;
        let rest = self.rest_of_line(span.hi);
        let sign = match rest.trim_start().as_bytes() {
            [b'+', b'+' | b'=', ..] => '+',
            [b'-', b'-', ..] if self.kind() == TokenKind::Newline => '-',
            [b'-', b'=', ..] => '-',
            _ => return Ok(()),
        };
        let text = self.sources.slice(span);
        let (signs, at) = (&rest.trim_start()[..2], span.hi + (rest.len() - rest.trim_start().len()) as u32);
        let message = match signs {
            "--" => "`--` begins a comment".to_owned(),
            _ => format!("`{signs}` is none of occam's operators"),
        };
        let complaint = Diagnostic::new(Code::Unexpected, Span::new(at, at + 2), message);
        let right = format!("{text} := {text} {sign} 1");
        let complaint = complaint.help(format!("write `{right}`"));
        let by_one = signs == "--" || signs == "++";
        self.diagnostics.push(match by_one {
            true => complaint.fix(format!("write `{right}`"), Span::new(span.lo, at + 2), right),
            false => complaint,
        });
        Err(Failed)
    }

    fn rest_of_line(&self, position: u32) -> &str {
        let Some(place) = self.sources.place(position) else { return "" };
        let column = place.column as usize - 1;
        place.text.char_indices().nth(column).map_or("", |(at, _)| &place.text[at..])
    }

    /// Complains of what stands where a name must: perhaps a keyword is meant to be one.
    pub(super) fn no_name<T>(&mut self, what: &str) -> Parsed<T> {
        let text = self.sources.slice(self.span());
        if crate::lex::keyword(text).is_none() || self.complained_here() {
            return self.unexpected(what);
        }
        let message = format!("`{text}` is a keyword, and cannot be {what}");
        let complaint = Diagnostic::new(Code::Unexpected, self.span(), message);
        let small = text.to_ascii_lowercase();
        self.diagnostics
            .push(complaint.help(format!("take another name; `{small}`, in small letters, is one")));
        Err(Failed)
    }

    /// What to say of a keyword that stands where a value or a variable may.
    pub(super) fn keyword_help(&self, expected: &str) -> Option<String> {
        let text = self.sources.slice(self.span());
        crate::lex::keyword(text)?;
        let used = match expected {
            "an expression" => true,
            "a process" => matches!(
                self.peek(1),
                TokenKind::Assign
                    | TokenKind::Question
                    | TokenKind::QuestionTwo
                    | TokenKind::Bang
                    | TokenKind::OpenSquare
            ),
            _ => false,
        };
        used.then(|| format!("`{text}` is a keyword, and no name"))
    }

    /// Complains of a name that begins no process; perhaps it is a word in small letters.
    pub(super) fn no_action(&mut self, first: ExprId) -> Parsed<ProcessKind> {
        if self.kind() == TokenKind::Equal {
            let message = "`=` compares; an assignment is written `:=`";
            let complaint = Diagnostic::new(Code::Unexpected, self.span(), message);
            self.diagnostics.push(complaint.fix("write `:=`", self.span(), ":="));
            return Err(Failed);
        }
        let span = self.ast.expr(first).span;
        let capitals = self.sources.slice(span).to_ascii_uppercase();
        if self.complained_here() || crate::lex::keyword(&capitals).is_none() {
            return self.unexpected("`:=`, `?` or `!`");
        }
        let message =
            format!("`{}` is a name; occam's words are written in capitals", self.sources.slice(span));
        let help = format!("write `{capitals}`");
        let complaint = Diagnostic::new(Code::Unexpected, span, message);
        self.diagnostics.push(complaint.help(help.clone()).fix(help, span, capitals));
        Err(Failed)
    }
}
