//! Owns: source text to tokens and physical lines.
//! May use: `source`, `symbol`, `diag`.
//! Never: joins lines or reads layout; `layout` does, after the preprocessor has spliced files together.
//!
//! The scanner walks bytes once. It never fails: what it cannot read becomes a complaint, and the token that was most
//! likely meant. Each line keeps its indentation in columns; comments and empty lines leave no trace.

mod scan;
mod token;
mod value;

pub use token::{Token, TokenKind};
pub use value::{ByteText, byte_text, parse_byte, parse_integer, parse_real};

use crate::diag::Diagnostic;
use crate::source::{FileId, Sources};
use crate::symbol::Symbols;

/// One line that holds at least one token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// Columns of white space before the first token.
    pub indent: u32,
    /// Whether there is a tab in that.
    pub tab: bool,
    /// Index of the first token in [`Lexed::tokens`].
    pub first: u32,
    /// Index after the last token.
    pub end: u32,
}

/// The tokens of one file.
#[derive(Clone, Default, Debug)]
pub struct Lexed {
    /// All tokens in order.
    pub tokens: Vec<Token>,
    /// The lines, which partition the tokens.
    pub lines: Vec<Line>,
    /// What could not be read, in order; lines that #IF leaves out are not complained of.
    pub complaints: Vec<Diagnostic>,
}

/// Complaints of one file; what #IF leaves out counts, too, though nobody hears of it.
pub(crate) const COMPLAINTS_MAX: usize = 20_000;

/// The reserved word that is spelt so.
pub fn keyword(text: &str) -> Option<TokenKind> {
    TokenKind::word(text)
}

/// The reserved words, in no order.
pub fn words() -> impl Iterator<Item = &'static str> {
    TokenKind::WORDS.iter().copied()
}

/// Reads a file into tokens.
///
/// ```
/// # use raddle_occam_syntax::{lex::{self, TokenKind}, source::Sources, symbol::Symbols};
/// let (mut sources, mut symbols) = (Sources::new(), Symbols::new());
/// let file = sources.add("a.occ", "SEQ\n  x := #2A -- the answer\n").unwrap();
/// let lexed = lex::scan(&sources, file, &mut symbols);
/// let kinds: Vec<_> = lexed.tokens.iter().map(|token| token.kind).collect();
/// assert_eq!(kinds, [TokenKind::Seq, TokenKind::Name, TokenKind::Assign, TokenKind::Hex]);
/// assert_eq!(lexed.lines[1].indent, 2);
/// ```
pub fn scan(sources: &Sources, file: FileId, symbols: &mut Symbols) -> Lexed {
    scan::Scanner::new(sources.text(file), sources.base(file), symbols).run()
}

/// Reads what stands within a string of a file, from that position on.
pub(crate) fn scan_part(text: &str, base: u32, symbols: &mut Symbols) -> Lexed {
    scan::Scanner::new(text, base, symbols).run()
}
