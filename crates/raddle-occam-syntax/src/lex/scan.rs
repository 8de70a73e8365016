//! Owns: the walk over the bytes of one file.
//! May use: `diag`, `source`, `symbol`.
//! Never: stops early; every byte is looked at once.

use super::value::byte_text;
use super::{Lexed, Line, Token, TokenKind};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::symbol::{Symbol, Symbols};

const TAB_COLUMNS: u32 = 8;

pub(super) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    base: u32,
    at: usize,
    symbols: &'a mut Symbols,
    lexed: Lexed,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, base: u32, symbols: &'a mut Symbols) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            base,
            // A mark of the encoding at the beginning says nothing.
            at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 },
            symbols,
            lexed: Lexed { tokens: Vec::with_capacity(text.len() / 5), ..Lexed::default() },
        }
    }

    pub(super) fn run(mut self) -> Lexed {
        while self.at < self.bytes.len() {
            self.line();
        }
        self.lexed
    }

    fn line(&mut self) {
        let start = self.at;
        let indent = self.indentation();
        let tab = self.bytes[start..self.at].contains(&b'\t');
        let first = self.lexed.tokens.len() as u32;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => {
                    self.at += 1;
                    break;
                }
                b' ' | b'\t' | b'\r' | 12 => self.at += 1,
                b'-' if self.bytes.get(self.at + 1) == Some(&b'-') => self.skip_line(),
                _ => self.token(self.lexed.tokens.len() as u32 == first),
            }
        }
        let end = self.lexed.tokens.len() as u32;
        if end > first {
            self.lexed.lines.push(Line { indent, tab, first, end });
        }
    }

    fn indentation(&mut self) -> u32 {
        let mut column = 0;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b' ' => column += 1,
                b'\t' => column = (column / TAB_COLUMNS + 1) * TAB_COLUMNS,
                b'\r' | 12 => {}
                _ => break,
            }
            self.at += 1;
        }
        column
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }

    fn token(&mut self, first_in_line: bool) {
        let start = self.at;
        let kind = match self.bytes[start] {
            b'a'..=b'z' | b'A'..=b'Z' => return self.word(),
            b'0'..=b'9' => self.number(),
            b'#' => return self.hash(first_in_line),
            b'"' => self.quoted(b'"', TokenKind::Text),
            b'\'' => self.quoted(b'\'', TokenKind::Byte),
            _ => match definable(self.bytes[start], self.bytes.get(start + 1).copied().unwrap_or(0)) {
                0 => self.symbol(),
                length => {
                    self.at += length;
                    let symbol = self.symbols.intern(&format!("\"{}\"", &self.text[start..self.at]));
                    return self.push(TokenKind::Operator, symbol, start);
                }
            },
        };
        self.push(kind, Symbol::default(), start);
    }

    fn push(&mut self, kind: TokenKind, symbol: Symbol, start: usize) {
        let span = self.span(start, self.at);
        self.lexed.tokens.push(Token { kind, symbol, span });
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.base + start as u32, self.base + end as u32)
    }

    fn complain(&mut self, code: Code, start: usize, end: usize, message: impl Into<String>) {
        if self.lexed.complaints.len() >= super::COMPLAINTS_MAX {
            return;
        }
        let span = self.span(start, end);
        self.lexed.complaints.push(Diagnostic::new(code, span, message));
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|&byte| wanted(byte)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn word(&mut self) {
        let start = self.at;
        let text = self.take_while(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_');
        let word = if text.as_bytes()[0].is_ascii_uppercase() { TokenKind::word(text) } else { None };
        match word {
            Some(kind) => self.push(kind, Symbol::default(), start),
            None => {
                let symbol = self.symbols.intern(text);
                self.push(TokenKind::Name, symbol, start);
            }
        }
    }

    fn number(&mut self) -> TokenKind {
        let start = self.at;
        self.take_while(|byte| byte.is_ascii_digit());
        let next = |at: usize| self.bytes.get(at).copied().unwrap_or(0);
        if next(self.at) != b'.' || !next(self.at + 1).is_ascii_digit() {
            return TokenKind::Integer;
        }
        self.at += 1;
        self.take_while(|byte| byte.is_ascii_digit());
        if matches!(self.bytes.get(self.at), Some(b'E' | b'e')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.take_while(|byte| byte.is_ascii_digit()).is_empty() {
                self.complain(Code::BadNumber, start, self.at, "the exponent of this number has no digits");
            }
        }
        TokenKind::Real
    }

    /// `#FF`, a directive such as `#INCLUDE`, or `##NAME`.
    fn hash(&mut self, first_in_line: bool) {
        let start = self.at;
        self.at += 1;
        if self.bytes.get(self.at) == Some(&b'#') {
            self.at += 1;
            return self.push(TokenKind::Hashes, Symbol::default(), start);
        }
        let text = self.take_while(|byte| byte.is_ascii_alphanumeric());
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            self.push(TokenKind::Hex, Symbol::default(), start);
        } else if first_in_line && !text.is_empty() {
            let symbol = self.symbols.intern(text);
            self.push(TokenKind::Directive, symbol, start);
        } else {
            self.complain(Code::BadNumber, start, self.at, "`#` begins a hexadecimal number or a directive");
            self.push(TokenKind::Hex, Symbol::default(), start);
        }
    }

    /// A string or byte literal; the token includes its quotes.
    fn quoted(&mut self, quote: u8, kind: TokenKind) -> TokenKind {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                Some(&byte) if byte == quote => break,
                Some(b'*') => self.escape(),
                None | Some(b'\n') => {
                    let what = kind.text();
                    self.complain(
                        Code::OpenString,
                        start,
                        self.at,
                        format!("{what} that does not end on its line"),
                    );
                    return kind;
                }
                Some(_) => self.at += 1,
            }
        }
        let inside = &self.text[start + 1..self.at];
        self.at += 1;
        let text = byte_text(inside);
        if let Some(offset) = text.bad_escape {
            let at = start + 1 + offset as usize;
            let message = "this escape means nothing; known are *c *n *t *s *' *\" ** and *#hh";
            self.complain(Code::BadEscape, at, at + 1, message);
        } else if kind == TokenKind::Byte && text.bytes.len() != 1 {
            let message = format!("a byte literal holds one byte, this one {}", text.bytes.len());
            self.complain(Code::OpenString, start, self.at, message);
        }
        kind
    }

    /// Steps over `*` and what it escapes, a continued string's line break included.
    fn escape(&mut self) {
        self.at += 1;
        match self.bytes.get(self.at) {
            Some(b'\n' | b'\r') => {
                let rest = &self.bytes[self.at..];
                let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                if rest.get(blank) == Some(&b'*') {
                    self.at += blank + 1;
                }
            }
            Some(byte) if byte.is_ascii() => self.at += 1,
            _ => {}
        }
    }

    fn symbol(&mut self) -> TokenKind {
        let start = self.at;
        let next = self.bytes.get(start + 1).copied().unwrap_or(0);
        let first = self.bytes[start];
        let (kind, length) = match PAIRS.iter().find(|(pair, _)| *pair == [first, next]) {
            Some(&(_, kind)) => (kind, 2),
            None => (SINGLE.get(usize::from(first)).copied().unwrap_or(TokenKind::Unknown), 1),
        };
        self.at += length;
        if kind == TokenKind::Unknown {
            while !self.text.is_char_boundary(self.at) {
                self.at += 1;
            }
            let message = format!("`{}` means nothing in occam", self.text[start..self.at].escape_debug());
            // The same many times is one mistake.
            let again = self.text[start..self.at].chars().next();
            let rest = self.text[self.at..].chars().take_while(|&it| Some(it) == again);
            self.at += rest.map(char::len_utf8).sum::<usize>();
            self.complain(Code::BadCharacter, start, self.at, message);
        }
        kind
    }
}

/// The length of a sign that only programs give a meaning (KRoC's list), or 0.
fn definable(first: u8, second: u8) -> usize {
    match &[first, second] {
        b"@@" | b"@>" | b"$$" | b"%%" | b"%>" | b"&&" | b"&>" | b"++" | b"!!" | b"==" | b"<%" | b"<&"
        | b"<@" | b"<]" | b"[>" => 2,
        [b'@' | b'$' | b'%' | b'^', _] => 1,
        _ => 0,
    }
}

/// The symbols of one byte, by that byte.
const SINGLE: [TokenKind; 128] = {
    let (mut table, mut at) = ([TokenKind::Unknown; 128], 0);
    while at < TokenKind::SYMBOLS.len() {
        let (sign, kind) = TokenKind::SYMBOLS[at];
        if let [byte] = *sign.as_bytes() {
            table[byte as usize] = kind;
        }
        at += 1;
    }
    table
};

const fn pairs_count() -> usize {
    let (mut count, mut at) = (0, 0);
    while at < TokenKind::SYMBOLS.len() {
        count += (TokenKind::SYMBOLS[at].0.len() == 2) as usize;
        at += 1;
    }
    count
}

/// The symbols of two bytes.
const PAIRS: [([u8; 2], TokenKind); pairs_count()] = {
    let (mut table, mut count, mut at) = ([([0; 2], TokenKind::Unknown); pairs_count()], 0, 0);
    while at < TokenKind::SYMBOLS.len() {
        let (sign, kind) = TokenKind::SYMBOLS[at];
        if let [one, two] = *sign.as_bytes() {
            table[count] = ([one, two], kind);
            count += 1;
        }
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> (Vec<TokenKind>, Vec<String>) {
        let mut symbols = Symbols::new();
        let lexed = Scanner::new(text, 0, &mut symbols).run();
        let complaints = &lexed.complaints;
        let kinds = lexed.tokens.iter().map(|token| token.kind).collect();
        (kinds, complaints.iter().map(|it| format!("{} {:?}", it.code, it.primary.span)).collect())
    }

    #[test]
    fn every_symbol_is_scanned_as_itself() {
        for &(sign, kind) in TokenKind::SYMBOLS {
            let (kinds, complaints) = check(&format!("a {sign} b"));
            assert_eq!(
                (kinds.as_slice(), complaints.len()),
                (&[TokenKind::Name, kind, TokenKind::Name][..], 0),
                "{sign}"
            );
        }
    }

    #[test]
    fn each_mistake_is_one_complaint_and_the_rest_is_read() {
        assert_eq!(check("x := \"abc\ny := 1").1, ["O0102 5..9"]);
        assert_eq!(check("x := \"a*qc\"").1, ["O0103 7..8"]);
        assert_eq!(check("{ é").1, ["O0101 0..1", "O0101 2..4"]);
        assert_eq!(check("x := 'ab'").1, ["O0102 5..9"]);
        assert_eq!(check("1.5E+ 2.5E-3").1, ["O0104 0..5"]);
        assert_eq!(check("\"ab*\n  *cd\" x").0, [TokenKind::Text, TokenKind::Name]);
        assert_eq!(check("''' *'*''").1.len(), 2);
    }

    #[test]
    fn numbers_words_and_directives() {
        use TokenKind::*;
        assert_eq!(
            check("#INCLUDE \"a\"\n#FF 1.5 12 INT64 Int64 a.b.c").0,
            [Directive, Text, Hex, Real, Integer, Int64, Name, Name]
        );
        assert_eq!(check("-- nothing\n \t\n").0, []);
    }
}
