//! Owns: the lines of a text, laid out: columns, empty lines, comments.
//! May use: `layout`, `lex::token`.
//! Never: looks between the tokens of a line.

use super::Laid;
use super::spacing::{Logical, written};
use crate::layout::LinePlace;
use crate::lex::Token;

/// A line with tokens.
pub(super) struct SourceRow<'t> {
    pub(super) tokens: &'t [Token],
    /// Where it stands.
    pub(super) indent: u32,
    /// Where it belongs; none for a directive that stands wherever it likes.
    pub(super) place: Option<LinePlace>,
}

/// A line as it comes out.
#[derive(Default)]
struct Out {
    column: u32,
    code: String,
    comment: String,
}

impl Out {
    fn is_empty(&self) -> bool {
        self.code.is_empty() && self.comment.is_empty()
    }
}

/// Blocks that are open, as where their lines stood and where they belong.
type Levels = Vec<(u32, u32)>;

/// A comment behind code stands no further right than this because of others above and below it.
const ALIGNED_MAX: usize = 100;

/// The text, laid out.
pub(super) fn text(text: &str, base: u32, laid: &Laid) -> String {
    let rows: Vec<SourceRow<'_>> = laid.rows().collect();
    let mut out = lines(text, base, &rows);
    // At most one empty line in a row, none at the ends.
    let mut last_is_empty = true;
    out.retain(|line| !std::mem::replace(&mut last_is_empty, line.is_empty()) || !line.is_empty());
    if out.last().is_some_and(Out::is_empty) {
        out.pop();
    }
    let columns = comment_columns(&out);
    let mut result = String::with_capacity(text.len());
    for (line, column) in out.iter().zip(columns) {
        if !line.is_empty() {
            result.extend(std::iter::repeat_n(' ', line.column as usize));
        }
        result += &line.code;
        if !line.comment.is_empty() {
            let width = width(line);
            let pad = if line.code.is_empty() { 0 } else { column.saturating_sub(width).max(2) };
            result.extend(std::iter::repeat_n(' ', pad));
            result += &line.comment;
        }
        result.push('\n');
    }
    result
}

fn width(line: &Out) -> usize {
    line.column as usize + line.code.chars().count()
}

/// The column of the comment of each line: that of the lines around it, if they have one, too.
fn comment_columns(out: &[Out]) -> Vec<usize> {
    let aligned = |line: &Out| !line.code.is_empty() && !line.comment.is_empty() && !line.code.contains('\n');
    let mut columns = Vec::with_capacity(out.len());
    for run in out.chunk_by(|one, next| aligned(one) && aligned(next)) {
        let widest = run.iter().map(width).max().unwrap_or(0) + 2;
        let alone = run.len() == 1 || widest > ALIGNED_MAX;
        columns.extend(run.iter().map(|line| if alone { width(line) + 2 } else { widest }));
    }
    columns
}

/// Each line, empty ones too.
fn lines(text: &str, base: u32, rows: &[SourceRow<'_>]) -> Vec<Out> {
    let logical = logical_lines(rows);
    let (mut out, mut levels, mut at, mut next) = (Vec::new(), Levels::new(), 0, 0);
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
        let row = rows.get(next).filter(|row| ((row.tokens[0].span.lo - base) as usize) < end.max(at + 1));
        if let Some(row) = row {
            let hi = (row.tokens[row.tokens.len() - 1].span.hi - base) as usize;
            let end = text[hi..].find('\n').map_or(text.len(), |length| hi + length);
            let column = match row.place {
                Some(place) => enter(&mut levels, row.indent, place),
                None => column_among(&levels, rows[next..].iter(), row.indent),
            };
            let code = written(text, base, row.tokens, &logical[next]);
            out.push(Out { column, code, comment: comment(&text[hi..end]) });
            next += 1;
            at = end + 1;
        } else {
            let line = &text[at..end];
            let comment = comment(line);
            let column = match comment.is_empty() {
                true => 0,
                false => column_among(&levels, rows[next..].iter(), indentation(line)),
            };
            out.push(Out { column, code: String::new(), comment });
            at = end + 1;
        }
    }
    out
}

/// The line of each row, with those that it goes on with.
fn logical_lines(rows: &[SourceRow<'_>]) -> Vec<Logical> {
    let begins = |row: &SourceRow<'_>| row.place.is_none_or(|place| place.begins);
    let mut result = Vec::with_capacity(rows.len());
    for line in rows.chunk_by(|_, next| !begins(next)) {
        let (first, last) = (&line[0], &line[line.len() - 1]);
        for at in 0..line.len() {
            let before = at.checked_sub(1).map(|at| &line[at]).and_then(|row| row.tokens.last());
            let after = line.get(at + 1).and_then(|row| row.tokens.first());
            result.push(Logical::new(first.tokens, last.tokens, before.copied(), after.copied()));
        }
    }
    result
}

/// Notes the block of a line that begins one; where the line belongs.
fn enter(levels: &mut Levels, indent: u32, place: LinePlace) -> u32 {
    if place.begins {
        while levels.last().is_some_and(|&(before, _)| before >= indent) {
            levels.pop();
        }
        levels.push((indent, place.column));
    }
    place.column
}

/// Where a line belongs that may stand anywhere: at one of the blocks that are open here, or with the next line.
fn column_among<'r>(levels: &Levels, mut rest: impl Iterator<Item = &'r SourceRow<'r>>, indent: u32) -> u32 {
    let next = rest.find_map(|row| Some((row.indent, row.place?.column)));
    let all = levels.iter().copied().chain(next);
    let best = all.clone().filter(|&(stood, _)| stood <= indent).max();
    best.or_else(|| all.min()).map_or(0, |(_, column)| column)
}

/// The comment in what stands behind the tokens of a line.
fn comment(rest: &str) -> String {
    let rest = rest.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{c}' || c == '\u{feff}');
    rest.to_owned()
}

fn indentation(line: &str) -> u32 {
    let mut column = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => column += 1,
            b'\t' => column = (column / 8 + 1) * 8,
            b'\r' | 12 => {}
            _ => break,
        }
    }
    column
}
