//! Owns: a diagnostic as text, in rustc's style.
//! May use: `annotate-snippets`, `raddle-occam`.
//! Never: writing it anywhere.
//!
//! The renderer gets only the lines that a diagnostic is about, since it would scan the whole file for each diagnostic.
//! Places that are far apart therefore have snippets of their own.
//!
//! It uses annotate-snippets; the environment and the terminal, for colours.

use std::env;
use std::io::{self, IsTerminal as _};

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use raddle_occam::diag::{Diagnostic, Label, Severity};
use raddle_occam::source::Sources;

/// Places at most this far from the main one share its snippet.
const LINES_TOGETHER_MAX: u32 = 100;

/// Formats diagnostics as text.
pub(crate) struct Human {
    renderer: Renderer,
}

/// The last line of the output.
pub(crate) fn summary(errors: usize, warnings: usize) -> String {
    let counted = |count, word| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"))
}

impl Human {
    /// With colours if standard error is a terminal and the user has not declined them (`NO_COLOR`).
    pub(crate) fn for_standard_error() -> Self {
        let declined = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let able = io::stderr().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { renderer: if able && !declined { Renderer::styled() } else { Renderer::plain() } }
    }

    /// The diagnostic, with an empty line after it.
    pub(crate) fn text(&self, diagnostic: &Diagnostic, sources: &Sources) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.to_string());
        let mut group = Group::with_title(title);
        for place in places(diagnostic, sources) {
            group = group.element(place.snippet(sources));
        }
        let notes = diagnostic.notes.iter().map(|note| Level::NOTE.message(note.as_str()));
        let help = diagnostic.help.iter().map(|help| Level::HELP.message(help.as_str()));
        group = group.elements(notes.chain(help));
        self.renderer.render(&[group]) + "\n\n"
    }
}

/// Places of one file that share a snippet.
struct SnippetLabels<'d> {
    file: &'d str,
    line: u32,
    labels: Vec<(AnnotationKind, &'d Label)>,
}

/// The main place with those near it, then the others.
fn places<'d>(diagnostic: &'d Diagnostic, sources: &'d Sources) -> Vec<SnippetLabels<'d>> {
    let primary = std::iter::once((AnnotationKind::Primary, &diagnostic.primary));
    let others = diagnostic.secondary.iter().map(|label| (AnnotationKind::Context, label));
    let mut all: Vec<SnippetLabels<'_>> = Vec::new();
    for (kind, label) in primary.chain(others) {
        let Some(place) = sources.place(label.span.lo) else { continue };
        let near = |it: &&mut SnippetLabels<'_>| {
            it.file == place.file && it.line.abs_diff(place.line) <= LINES_TOGETHER_MAX
        };
        match all.iter_mut().find(near) {
            Some(together) => together.labels.push((kind, label)),
            None => {
                all.push(SnippetLabels { file: place.file, line: place.line, labels: vec![(kind, label)] })
            }
        }
    }
    all
}

impl<'d> SnippetLabels<'d> {
    fn snippet(&self, sources: &'d Sources) -> Snippet<'d, Annotation<'d>> {
        let file = sources.find(self.file).expect("a place names a file that was added");
        let (text, base) = (sources.text(file), sources.base(file));
        let at = |position: u32| text.floor_char_boundary(position.saturating_sub(base) as usize);
        let spans = || self.labels.iter().map(|(_, label)| label.span);
        let lo = spans().map(|span| at(span.lo)).min().unwrap_or(0);
        let hi = spans().map(|span| at(span.hi.max(span.lo))).max().unwrap_or(lo);
        let start = text[..lo].rfind('\n').map_or(0, |end| end + 1);
        let end = text[hi..].find('\n').map_or(text.len(), |end| hi + end);
        let line = sources.place(base + start as u32).map_or(1, |place| place.line);
        let annotations = self.labels.iter().map(|(kind, label)| {
            let (lo, hi) = (at(label.span.lo) - start, at(label.span.hi.max(label.span.lo)) - start);
            kind.span(lo..hi).label((!label.text.is_empty()).then_some(label.text.as_str()))
        });
        let snippet = Snippet::source(&text[start..end]).line_start(line as usize).path(self.file);
        snippet.annotations(annotations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_occam::diag::Code;
    use raddle_occam::source::Span;

    fn check(diagnostic: &Diagnostic, expected: &str) {
        let mut sources = Sources::new();
        sources.add("a.occ", "SEQ\nb := 3\n").expect("short");
        let second = sources.add("b.occ", "INT b:\n").expect("short");
        assert_eq!(sources.base(second), 12, "the tests below count on it");
        let human = Human { renderer: Renderer::plain() };
        assert_eq!(human.text(diagnostic, &sources), expected);
    }

    #[test]
    fn places_in_other_files_stand_in_snippets_of_their_own() {
        let diagnostic = Diagnostic::new(Code::WrongKind, Span::new(4, 5), "`b` is odd");
        let expected = "\
error[O0302]: `b` is odd
 --> a.occ:2:1
  |
2 | b := 3
  | ^
  |
 ::: b.occ:1:5
  |
1 | INT b:
  |     - declared

";
        check(&diagnostic.also(Span::new(16, 17), "declared"), expected);
    }

    #[test]
    fn a_complaint_without_a_place_is_its_message() {
        let diagnostic = Diagnostic::new(Code::WrongKind, Span::new(99, 100), "nowhere");
        check(&diagnostic, "error[O0302]: nowhere\n\n");
    }

    #[test]
    fn spans_that_cut_characters_or_end_the_file_are_shown_all_the_same() {
        for span in [Span::new(4, 5), Span::new(5, 6), Span::new(6, 6), Span::new(6, 900), Span::new(5, 2)] {
            let mut sources = Sources::new();
            sources.add("a.occ", "SEQ\né").expect("short");
            let human = Human { renderer: Renderer::plain() };
            let said = human.text(&Diagnostic::new(Code::BadCharacter, span, "odd"), &sources);
            assert!(said.contains("a.occ:2"), "{span:?}: {said}");
        }
    }

    #[test]
    fn far_places_do_not_drag_in_the_lines_between() {
        let text = "SKIP\n".repeat(5000);
        let mut sources = Sources::new();
        sources.add("a.occ", &text).expect("short");
        let diagnostic =
            Diagnostic::new(Code::Repeated, Span::new(20_000, 20_004), "odd").also(Span::new(0, 4), "far");
        let all = places(&diagnostic, &sources);
        assert_eq!(all.iter().map(|it| it.line).collect::<Vec<_>>(), [4001, 1]);
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(summary(1, 0), "1 error, 0 warnings");
        assert_eq!(summary(0, 1), "0 errors, 1 warning");
    }
}
