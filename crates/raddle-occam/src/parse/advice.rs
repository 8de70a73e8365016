//! Owns: what those mean who are used to other languages.
//! May use: `ast`, `diag`, `lex`.
//! Never: accepts it.

use super::{Failed, Parsed, Parser};
use crate::ast::{ExprId, ProcessKind};
use crate::diag::{Code, Diagnostic};
use crate::lex::Kind;

impl Parser<'_> {
    /// Whether a process stands here that is neither a choice nor a guard.
    pub(super) fn at_process(&self, under: &str) -> bool {
        match self.kind() {
            Kind::Skip => under != "guard",
            Kind::Stop | Kind::Seq | Kind::Par | Kind::While | Kind::Claim => true,
            _ => {
                let line = self.tokens[self.at..].iter().map(|token| token.kind);
                let mut line = line.take_while(|&kind| !matches!(kind, Kind::Newline | Kind::End));
                line.any(|kind| matches!(kind, Kind::Assign | Kind::Bang))
            }
        }
    }

    /// Complains of a name that begins no process; perhaps it is a word in small letters.
    pub(super) fn no_action(&mut self, first: ExprId) -> Parsed<ProcessKind> {
        if self.kind() == Kind::Equal {
            let message = "`=` compares; an assignment is written `:=`".to_owned();
            return self.fail(Code::Unexpected, self.span(), message);
        }
        let span = self.ast.expr(first).span;
        let capitals = self.sources.slice(span).to_ascii_uppercase();
        if self.complained_here() || crate::lex::keyword(&capitals).is_none() {
            return self.unexpected("`:=`, `?` or `!`");
        }
        let message =
            format!("`{}` is a name; occam's words are written in capitals", self.sources.slice(span));
        self.diagnostics
            .push(Diagnostic::new(Code::Unexpected, span, message).help(format!("write `{capitals}`")));
        Err(Failed)
    }
}
