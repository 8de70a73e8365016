//! Owns: one layout for the text of a program: indentation, blanks, empty lines, where comments stand.
//! May use: `diag`, `layout`, `lex`, `parse`, `pre`, `source`, `symbol`.
//! Never: joins or breaks a line, or changes a token or the words of a comment.
//!
//! Line breaks are the author's. Since lines and tokens stay, only blanks could change what a program means: what
//! comes out is scanned again, and must give the same tokens in the same blocks.

mod rows;
mod spacing;

use crate::diag::{Code, Diagnostic};
use crate::layout::{self, LinePlace, Lines};
use crate::lex::{self, Lexed, Line, Token, TokenKind};
use crate::parse::parse;
use crate::pre::{Files, Preprocessor};
use crate::source::{FileId, Sources, Span};
use crate::symbol::Symbols;
use rows::SourceRow;

/// A text in the one layout.
///
/// # Errors
/// What is wrong with the text, if it is no program, and no part of one that another file includes.
///
/// ```
/// use raddle_occam_syntax::{format::format, pre::NoFiles, source::Sources};
///
/// let mut sources = Sources::new();
/// let file = sources.add("a.occ", "PROC p(VAL INT n,CHAN INT c !)   -- sends\n  c!n+1\n:\n").unwrap();
/// let text = format(&mut sources, file, &mut NoFiles).expect("it is right");
/// assert_eq!(text, "PROC p (VAL INT n, CHAN INT c!)  -- sends\n  c ! n + 1\n:\n");
/// ```
pub fn format(sources: &mut Sources, file: FileId, files: &mut dyn Files) -> Result<String, Vec<Diagnostic>> {
    let laid = Laid::of(sources, file)?;
    let text = rows::text(sources.text(file), sources.base(file), &laid);
    understood(sources, file, &text, files)?;
    let mine = sources.text(file).to_owned();
    let Some(again) = sources.add("formatted", &text) else { return Ok(mine) };
    let same = Laid::of(sources, again).is_ok_and(|other| laid.means_the_same(&other, sources));
    if same {
        return Ok(text);
    }
    let message = "laid out anew, this would mean something else: it is left as it is; please report it";
    Err(vec![Diagnostic::new(Code::Indentation, Span::new(sources.base(file), sources.base(file)), message)])
}

/// A text with the place of each of its lines.
struct Laid {
    lexed: Lexed,
    /// For each line of `lexed`: where it belongs, unless it is a directive for the preprocessor alone.
    places: Vec<Option<LinePlace>>,
    /// The tokens with their blocks.
    blocks: Vec<Token>,
}

impl Laid {
    fn of(sources: &Sources, file: FileId) -> Result<Laid, Vec<Diagnostic>> {
        let mut symbols = Symbols::new();
        let lexed = lex::scan(sources, file, &mut symbols);
        if !lexed.complaints.is_empty() {
            return Err(lexed.complaints);
        }
        let word = |line: &Line| {
            let first = lexed.tokens[line.first as usize];
            (first.kind == TokenKind::Directive).then(|| symbols.text(first.symbol))
        };
        // Where these stand says nothing: #IF and its kin, #DEFINE and others.
        let counts = |line: &Line| word(line).is_none_or(|it| matches!(it, "INCLUDE" | "USE" | "PRAGMA"));
        let mut lines =
            Lines { relaxed: lexed.lines.iter().any(|it| word(it) == Some("RELAX")), ..Lines::default() };
        for line in lexed.lines.iter().filter(|line| counts(line)) {
            let first = lines.tokens.len() as u32;
            lines.tokens.extend_from_slice(&lexed.tokens[line.first as usize..line.end as usize]);
            lines.lines.push(Line { first, end: lines.tokens.len() as u32, ..*line });
        }
        let mut complaints = Vec::new();
        let (blocks, found) = layout::places(lines, &mut complaints);
        if complaints.iter().any(Diagnostic::is_error) {
            return Err(complaints);
        }
        let mut found = found.into_iter();
        let places = lexed.lines.iter().map(|line| if counts(line) { found.next() } else { None }).collect();
        Ok(Laid { places, blocks, lexed })
    }

    fn means_the_same(&self, other: &Laid, sources: &Sources) -> bool {
        let shown = |list: &[Token]| -> Vec<(TokenKind, String)> {
            list.iter().map(|token| (token.kind, sources.slice(token.span).to_owned())).collect()
        };
        let firsts = |laid: &Laid| laid.lexed.lines.iter().map(|it| it.first).collect::<Vec<_>>();
        shown(&self.lexed.tokens) == shown(&other.lexed.tokens)
            && shown(&self.blocks) == shown(&other.blocks)
            && firsts(self) == firsts(other)
    }

    /// The lines with their tokens and places.
    fn rows(&self) -> impl Iterator<Item = SourceRow<'_>> {
        self.lexed.lines.iter().zip(&self.places).map(|(line, place)| SourceRow {
            tokens: &self.lexed.tokens[line.first as usize..line.end as usize],
            indent: line.indent,
            place: *place,
        })
    }
}

/// Whether the grammar knows the text: as a program, or as part of one, which declares something or does something.
fn understood(
    sources: &mut Sources,
    file: FileId,
    text: &str,
    files: &mut dyn Files,
) -> Result<(), Vec<Diagnostic>> {
    let complaints = syntax(sources, file, files);
    let inside = |indent: &str| -> String { text.lines().map(|line| format!("{indent}{line}\n")).collect() };
    let parts = [
        format!("PROC part ()\n{}  SKIP\n:\n", inside("  ")),
        format!("PROC part ()\n  SEQ\n{}:\n", inside("    ")),
    ];
    let from = sources.name(file).to_owned();
    let mut is_part = || {
        parts.iter().any(|part| {
            // Under the file's name, beside which included files are looked for.
            sources.add(&from, part).is_some_and(|part| syntax(sources, part, files).is_empty())
        })
    };
    if complaints.is_empty() || is_part() { Ok(()) } else { Err(complaints) }
}

/// What the grammar does not know of a text.
fn syntax(sources: &mut Sources, file: FileId, files: &mut dyn Files) -> Vec<Diagnostic> {
    let (mut symbols, mut complaints) = (Symbols::new(), Vec::new());
    let (lines, _) = Preprocessor::new(sources, &mut symbols, &mut complaints, files).run(file);
    let tokens = layout::run(lines, &mut complaints);
    let _tree = parse(&tokens, sources, &mut symbols, &mut complaints);
    let (from, to) = (sources.base(file), sources.base(file) + sources.text(file).len() as u32);
    let known = [Code::NotSupported, Code::FileNotFound, Code::Directive];
    complaints
        .retain(|it| it.is_error() && !known.contains(&it.code) && (from..=to).contains(&it.primary.span.lo));
    complaints
}
