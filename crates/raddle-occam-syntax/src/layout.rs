//! Owns: physical lines to the token stream that the parser reads.
//! May use: `diag`, `lex`, `operator::table`, `source`, `symbol`.
//! Never: looks into files; `pre` has put the lines together.
//!
//! Three rules. A line goes on in the next one when its last token asks for more, or when a bracket is open and the
//! next line stands further right. A line further right than the one before opens a block (`Indent`), a line further
//! left closes as many as it leaves (`Outdent`). A value process in brackets, `(VALOF` at the end of a line, opens a
//! block of its own inside the expression; the line with its `)` goes on with the expression.

use crate::diag::{Code, Diagnostic};
use crate::lex::{Line, Token, TokenKind};
use crate::operator::{Dyadic, Monadic};
use crate::source::Span;
use crate::symbol::Symbol;

/// Columns by which a block is indented.
const STEP: u32 = 2;

/// Lines whose tokens may come from several files.
#[derive(Default)]
pub struct Lines {
    /// All tokens.
    pub tokens: Vec<Token>,
    /// The lines over them.
    pub lines: Vec<Line>,
    /// #RELAX was seen: blocks may be indented further than two columns.
    pub relaxed: bool,
}

struct Layout<'a> {
    out: Vec<Token>,
    diagnostics: &'a mut Vec<Diagnostic>,
    blocks: Vec<u32>,
    /// The column at which the lines of each block belong.
    columns: Vec<u32>,
    /// Where each line belongs, if that is asked for.
    places: Option<Vec<LinePlace>>,
    /// Brackets open in the current logical line.
    depth: u32,
    /// Value processes in brackets: their block's indentation (0 until known) and the brackets open around them.
    nested: Vec<(u32, u32)>,
    /// Whether the next line goes on with the current one.
    joined: bool,
    relaxed: bool,
    /// Indentation of the first line of the current logical line.
    head: u32,
    /// Where the line above belongs.
    column: u32,
    /// Whether the current line is indented by a tab.
    tab: bool,
    /// The indentation of the block in which a line stood wrong.
    wrong: Option<u32>,
}

/// Where a line belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LinePlace {
    /// The column of its first token.
    pub(crate) column: u32,
    /// It does not go on with the line above.
    pub(crate) begins: bool,
}

/// Columns by which a line stands further right that goes on with the one above.
const CONTINUED: u32 = 2 * STEP;

/// Adds `Newline`, `Indent` and `Outdent`; the result ends with `End`.
///
/// ```
/// # use raddle_occam_syntax::{layout::{self, Lines}, lex::{self, TokenKind}, source::Sources, symbol::Symbols};
/// # let (mut sources, mut symbols, mut complaints) = (Sources::new(), Symbols::new(), Vec::new());
/// let file = sources.add("a.occ", "SEQ\n  x := a +\n    b\nSKIP").unwrap();
/// let lexed = lex::scan(&sources, file, &mut symbols);
/// let lines = Lines { tokens: lexed.tokens, lines: lexed.lines, relaxed: false };
/// let kinds: Vec<_> = layout::run(lines, &mut complaints).iter().map(|token| token.kind).collect();
/// use TokenKind::*;
/// assert_eq!(kinds, [Seq, Newline, Indent, Name, Assign, Name, Plus, Name, Newline, Outdent, Skip, Newline, End]);
/// ```
pub fn run(lines: Lines, diagnostics: &mut Vec<Diagnostic>) -> Vec<Token> {
    walk(lines, diagnostics, None).0
}

/// The same, and where each line belongs.
pub(crate) fn places(lines: Lines, diagnostics: &mut Vec<Diagnostic>) -> (Vec<Token>, Vec<LinePlace>) {
    let places = Vec::with_capacity(lines.lines.len());
    let (tokens, places) = walk(lines, diagnostics, Some(places));
    (tokens, places.unwrap_or_default())
}

fn walk(
    lines: Lines,
    diagnostics: &mut Vec<Diagnostic>,
    places: Option<Vec<LinePlace>>,
) -> (Vec<Token>, Option<Vec<LinePlace>>) {
    let base = lines.lines.first().map_or(0, |line| line.indent);
    let mut layout = Layout {
        out: Vec::with_capacity(lines.tokens.len() + lines.lines.len() * 2),
        diagnostics,
        blocks: vec![base],
        columns: vec![base],
        places,
        column: base,
        depth: 0,
        nested: Vec::new(),
        joined: false,
        relaxed: lines.relaxed,
        head: 0,
        tab: false,
        wrong: None,
    };
    for (number, line) in lines.lines.iter().enumerate() {
        let next = lines.lines.get(number + 1);
        layout.tab = line.tab;
        layout.line(&lines.tokens[line.first as usize..line.end as usize], line.indent, next);
    }
    let places = layout.places.take();
    (layout.finish(), places)
}

impl Layout<'_> {
    fn line(&mut self, tokens: &[Token], indent: u32, next: Option<&Line>) {
        let start = tokens[0].span;
        let returned = self.leave_value_process(indent, start);
        let begins = !returned && !self.joined;
        if returned {
            self.joined = true;
        } else if !self.joined {
            self.indentation(indent, start);
            (self.head, self.depth) = (indent, 0);
        } else if indent < self.head {
            let message = "this line goes on with the one above and must not stand further left";
            self.diagnostics.push(Diagnostic::new(Code::Continuation, start, message));
        }
        self.place(returned, begins);
        for token in tokens {
            match token.kind {
                TokenKind::Open | TokenKind::OpenSquare => self.depth += 1,
                TokenKind::Close | TokenKind::CloseSquare => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.out.extend_from_slice(tokens);
        self.end_of_line(tokens, next);
    }

    /// Where the line belongs.
    fn place(&mut self, returned: bool, begins: bool) {
        let block = self.columns.last().copied().unwrap_or(0);
        let column = match (returned, begins) {
            (true, _) => block + STEP,
            (_, true) => block,
            _ => block + CONTINUED,
        };
        self.column = column;
        if let Some(places) = &mut self.places {
            places.push(LinePlace { column, begins });
        }
    }

    fn open_block(&mut self, indent: u32, column: u32) {
        self.blocks.push(indent);
        self.columns.push(column);
    }

    fn end_of_line(&mut self, tokens: &[Token], next: Option<&Line>) {
        let last = tokens[tokens.len() - 1];
        let deeper = next.is_some_and(|line| line.indent > self.head);
        if self.depth > 0 && deeper && last.kind == TokenKind::Valof {
            self.nested.push((0, self.depth));
            self.depth = 0;
            self.joined = false;
        } else if self.depth > 0 && deeper && last.kind == TokenKind::Colon {
            self.joined = true;
        } else {
            // `i++` alone goes on nowhere; the parser has advice.
            let variable = |token: &Token| {
                matches!(
                    token.kind,
                    TokenKind::Name | TokenKind::Integer | TokenKind::OpenSquare | TokenKind::CloseSquare
                )
            };
            let increment = last.kind == TokenKind::Operator
                && !deeper
                && tokens[..tokens.len() - 1].iter().all(variable);
            let asks = continues(last.kind) && tokens[0].kind != TokenKind::Directive && !increment;
            self.joined = next.is_some() && (asks || self.depth > 0 && deeper);
            if self.joined {
                return;
            }
        }
        self.push(TokenKind::Newline, Span::new(last.span.hi, last.span.hi));
    }

    /// Closes the value process whose block this line leaves; the line then goes on with the expression around it.
    fn leave_value_process(&mut self, indent: u32, at: Span) -> bool {
        let Some(&(block, depth)) = self.nested.last() else { return false };
        if self.joined {
            return false;
        }
        if block == 0 {
            let inner = indent.max(1);
            if let Some(top) = self.nested.last_mut() {
                top.0 = inner;
            }
            self.open_block(inner, self.column + CONTINUED);
            self.push(TokenKind::Indent, at);
            return false;
        }
        if indent >= block {
            return false;
        }
        while self.blocks.last().is_some_and(|&top| top >= block) {
            self.blocks.pop();
            self.columns.pop();
            self.push(TokenKind::Outdent, at);
        }
        self.nested.pop();
        self.depth = depth;
        self.head = self.blocks.last().copied().unwrap_or(0);
        true
    }

    fn indentation(&mut self, indent: u32, at: Span) {
        let top = self.blocks.last().copied().unwrap_or(0);
        let top_column = self.columns.last().copied().unwrap_or(0);
        self.wrong = self.wrong.filter(|&block| indent > block);
        if indent > top {
            if indent != top + STEP && !self.relaxed {
                let message = match self.tab {
                    true => format!("indented by a tab where {STEP} columns are expected"),
                    false => format!("indented by {} columns where {STEP} are expected", indent - top),
                };
                self.complain(at, top, message);
            }
            self.open_block(indent, top_column + STEP);
            self.push(TokenKind::Indent, at);
            return;
        }
        // A line between two levels counts as one of the deeper: one message, not a broken block.
        while self.blocks.len() > 1 && self.blocks[self.blocks.len() - 2] >= indent {
            self.blocks.pop();
            self.columns.pop();
            self.push(TokenKind::Outdent, at);
        }
        let top = self.blocks.last().copied().unwrap_or(0);
        if indent != top {
            let around = self.blocks.len().checked_sub(2).map_or(0, |below| self.blocks[below]);
            self.complain(at, around, "this line stands at the indentation of no block around it".to_owned());
        }
    }

    /// `block` is the indentation of the block around, which is right.
    fn complain(&mut self, at: Span, block: u32, message: String) {
        // What follows further right stands wrong because of the first.
        if self.wrong.is_some() {
            return;
        }
        self.wrong = Some(block);
        let help = "each level of a program stands two columns further right";
        let complaint = Diagnostic::new(Code::Indentation, at, message).help(help);
        self.diagnostics.push(match self.tab {
            true => complaint
                .note("a tab counts up to the next multiple of 8 columns")
                .help("use two spaces for each level, and no tabs"),
            false => complaint,
        });
    }

    fn push(&mut self, kind: TokenKind, span: Span) {
        self.out.push(Token { kind, symbol: Symbol::default(), span: Span::new(span.lo, span.lo) });
    }

    fn finish(mut self) -> Vec<Token> {
        let end = self.out.last().map_or(0, |token| token.span.hi);
        if self.out.last().is_some_and(|token| token.kind != TokenKind::Newline) {
            self.push(TokenKind::Newline, Span::new(end, end));
        }
        for _ in 1..self.blocks.len() {
            self.push(TokenKind::Outdent, Span::new(end, end));
        }
        self.push(TokenKind::End, Span::new(end, end));
        self.out
    }
}

/// Whether a line that ends with this token goes on in the next one.
fn continues(kind: TokenKind) -> bool {
    use TokenKind::*;
    Dyadic::of(kind).is_some()
        || Monadic::of(kind).is_some()
        || matches!(
            kind,
            Operator
                | Assign
                | Comma
                | Semi
                | Colons
                | Open
                | OpenSquare
                | Is
                | From
                | For
                | Step
                | Retypes
                | Reshapes
                | At
                | Round
                | Trunc
                | Ampersand
                | Bar
                | In
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lex;
    use crate::source::Sources;
    use crate::symbol::Symbols;

    fn check(text: &str) -> (String, usize) {
        let (mut sources, mut symbols, mut complaints) = (Sources::new(), Symbols::new(), Vec::new());
        let file = sources.add("t", text).unwrap();
        let lexed = lex::scan(&sources, file, &mut symbols);
        let tokens = run(Lines { tokens: lexed.tokens, lines: lexed.lines, relaxed: false }, &mut complaints);
        let shown = tokens.iter().map(|token| match token.kind {
            TokenKind::Newline => ".",
            TokenKind::Indent => "{",
            TokenKind::Outdent => "}",
            TokenKind::End => "$",
            _ => "t",
        });
        (shown.collect(), complaints.len())
    }

    #[test]
    fn blocks_open_and_close() {
        assert_eq!(check("SEQ\n  PAR\n    SKIP\n  STOP\n"), ("t.{t.{t.}t.}$".into(), 0));
        assert_eq!(check("SEQ\n      SKIP\n  STOP\n"), ("t.{t.t.}$".into(), 1));
        assert_eq!(check(""), ("$".into(), 0));
    }

    #[test]
    fn a_value_process_is_a_block_within_its_line() {
        let text = "x := (VALOF\n        SKIP\n        RESULT 1\n     ) + 2\nSKIP\n";
        assert_eq!(check(text), ("tttt.{t.tt.}ttt.t.$".into(), 0));
        let text = "x := (INT y:\n      VALOF\n        SKIP\n        RESULT 1\n     )\n";
        assert_eq!(check(text), ("tttttt.t.{t.tt.}t.$".into(), 0));
    }

    #[test]
    fn open_brackets_join_only_lines_further_right() {
        assert_eq!(check("p (a\n  , b)\nSKIP\n"), ("tttttt.t.$".into(), 0));
        assert_eq!(check("p (a\nSKIP\n"), ("ttt.t.$".into(), 0));
    }
}
