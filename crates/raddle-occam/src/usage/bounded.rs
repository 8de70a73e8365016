//! Owns: how many complaints about parallel use, aliases and values are kept.
//! May use: `raddle-occam-syntax`.
//! Never: a program that is accepted because of an error that was not kept.
//!
//! A program may be wrong in each of its lines. Past [`COMPLAINTS_MAX`] errors the walk looks at no further process and
//! says so, which is an error itself; past as many warnings it goes on, and says how many were left out.

use super::Walker;
use crate::diag::{COMPLAINTS_MAX, Code, Diagnostic};
use crate::source::Span;

/// How many complaints there were.
#[derive(Clone, Copy, Default)]
pub(crate) struct Said {
    errors: usize,
    warnings: usize,
    /// The first warning that was left out.
    left_out: Option<(Code, Span)>,
}

impl Walker<'_> {
    /// Keeps a complaint, unless there are too many of its kind already.
    pub(crate) fn complain(&mut self, complaint: Diagnostic) {
        let count = if complaint.is_error() { &mut self.said.errors } else { &mut self.said.warnings };
        *count += 1;
        if *count <= COMPLAINTS_MAX {
            return self.diagnostics.push(complaint);
        }
        let (code, span) = (complaint.code, complaint.primary.span);
        if !complaint.is_error() {
            self.said.left_out.get_or_insert((code, span));
        } else if self.said.errors == COMPLAINTS_MAX + 1 {
            let message = "so much is wrong that the rest is not checked for parallel use";
            let mut last = Diagnostic::new(code, span, message);
            last.severity = complaint.severity;
            self.diagnostics.push(last);
        }
    }

    /// Whether so much is wrong that processes are no longer looked at.
    pub(crate) fn gives_up(&self) -> bool {
        self.said.errors > COMPLAINTS_MAX
    }

    /// Says how many warnings were left out.
    pub(crate) fn say_what_was_left_out(&mut self) {
        if let Some((code, span)) = self.said.left_out {
            let count = self.said.warnings - COMPLAINTS_MAX;
            let mut last =
                Diagnostic::new(code, span, format!("and {count} more warnings, of which this is the first"));
            last.severity = crate::diag::Severity::Warning;
            self.diagnostics.push(last);
        }
    }
}
