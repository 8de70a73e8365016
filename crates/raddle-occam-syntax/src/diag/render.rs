//! Owns: a plain rendering of complaints, for tests and for logs.
//! May use: `source`.
//! Never: colours, widths, terminals; that is the command line's.

use super::{Diagnostic, Severity};
use crate::source::{Sources, Span};
use std::fmt::Write;

/// The complaint as plain text, a line for each part.
///
/// ```
/// # use raddle_occam_syntax::{diag::{render, Code, Diagnostic}, source::{Sources, Span}};
/// let mut sources = Sources::new();
/// sources.add("a.occ", "x := {\n");
/// let text = render(&Diagnostic::new(Code::BadCharacter, Span::new(5, 6), "`{` means nothing here"), &sources);
/// assert!(text.starts_with("error[O0101]: `{` means nothing here\n  --> a.occ:1:6"));
/// ```
pub fn render(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let mut text = String::new();
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let _ = writeln!(text, "{severity}[{}]: {}", diagnostic.code, diagnostic.message);
    place(&mut text, sources, "-->", diagnostic.primary.span, &diagnostic.primary.text);
    for label in &diagnostic.secondary {
        place(&mut text, sources, ":::", label.span, &label.text);
    }
    for note in &diagnostic.notes {
        let _ = writeln!(text, "  = note: {note}");
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(text, "  = help: {help}");
    }
    text
}

fn place(text: &mut String, sources: &Sources, arrow: &str, span: Span, label: &str) {
    let Some(place) = sources.place(span.lo) else {
        let _ = writeln!(text, "  {arrow} (no place) {label}");
        return;
    };
    let _ = writeln!(text, "  {arrow} {}:{}:{}", place.file, place.line, place.column);
    let _ = writeln!(text, "   | {}", place.text.replace('\t', " "));
    let room = place.text.chars().count().saturating_sub(place.column as usize - 1).max(1);
    let width = sources.slice(span).lines().next().map_or(1, |line| line.chars().count()).clamp(1, room);
    let pad = " ".repeat(place.column as usize - 1);
    let _ = writeln!(text, "   | {pad}{} {label}", "^".repeat(width));
    while text.ends_with(" \n") {
        text.truncate(text.len() - 2);
        text.push('\n');
    }
}
