//! Owns: stepping over the tokens of a file: attributes, visibilities, items, paths.
//! May use: `proc-macro2`.
//! Never: keeping what it passes.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::scan::Named;

/// A place in a list of tokens.
pub(crate) struct Cursor {
    tokens: Vec<TokenTree>,
    at: usize,
}

/// What the attributes of one item say that matters here.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) test: bool,
    pub(crate) whole_file_is_test: bool,
    pub(crate) exported: bool,
    pub(crate) paths: Vec<String>,
}

const ENDS_IN_BRACE: [&str; 12] = [
    "fn",
    "mod",
    "impl",
    "struct",
    "enum",
    "union",
    "trait",
    "unsafe",
    "async",
    "extern",
    "macro_rules",
    "pub",
];

impl Cursor {
    pub(crate) fn new(stream: TokenStream) -> Self {
        Cursor { tokens: stream.into_iter().collect(), at: 0 }
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn peek(&self, ahead: usize) -> Option<&TokenTree> {
        self.tokens.get(self.at + ahead)
    }

    pub(crate) fn next(&mut self) -> Option<TokenTree> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    /// The line of the token that comes.
    pub(crate) fn line(&self) -> usize {
        self.peek(0).map_or(0, |token| token.span().start().line)
    }

    /// The word that comes, if it is one.
    pub(crate) fn word(&self) -> Option<String> {
        self.word_at(0)
    }

    fn word_at(&self, ahead: usize) -> Option<String> {
        match self.peek(ahead) {
            Some(TokenTree::Ident(word)) => Some(word.to_string()),
            _ => None,
        }
    }

    pub(crate) fn is_punct(&self, sign: char) -> bool {
        self.is_punct_at(0, sign)
    }

    fn is_punct_at(&self, ahead: usize, sign: char) -> bool {
        matches!(self.peek(ahead), Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
    }

    pub(crate) fn group(&self, delimiter: Delimiter) -> Option<Group> {
        match self.peek(0) {
            Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group.clone()),
            _ => None,
        }
    }

    /// `mod name;`, and not `mod name { ... }`.
    pub(crate) fn is_mod_line(&self) -> bool {
        self.word().as_deref() == Some("mod") && self.is_punct_at(2, ';')
    }

    /// `use a::b`, and not the `use<'a>` of a bound.
    pub(crate) fn is_import(&self) -> bool {
        self.word().as_deref() == Some("use") && !self.is_punct_at(1, '<')
    }

    /// Steps over `::`.
    pub(crate) fn skip_colons(&mut self) -> bool {
        let there = self.is_punct(':') && self.is_punct_at(1, ':');
        self.at += 2 * usize::from(there);
        there
    }

    /// Steps over the attributes that come.
    pub(crate) fn attributes(&mut self) -> Attributes {
        let mut found = Attributes::default();
        while self.is_punct('#') {
            let inner = self.is_punct_at(1, '!');
            let Some(TokenTree::Group(group)) = self.peek(1 + usize::from(inner)) else { break };
            if group.delimiter() != Delimiter::Bracket {
                break;
            }
            let tokens = Cursor::new(group.stream());
            let test = tokens.is_for_tests();
            found.whole_file_is_test |= inner && test;
            found.test |= test && !inner;
            found.exported |= tokens.word().as_deref() == Some("macro_export");
            tokens.file_paths(&mut found.paths);
            self.at += 2 + usize::from(inner);
        }
        found
    }

    /// Of the tokens within an attribute: `test`, `cfg(test)`, `cfg(all(.., test, ..))`.
    fn is_for_tests(&self) -> bool {
        let inside = match self.word().as_deref() {
            Some("test") => return self.tokens.len() == 1,
            Some("cfg" | "all") => self.peek(1),
            _ => return false,
        };
        let Some(TokenTree::Group(group)) = inside else { return false };
        let tokens: Vec<_> = group.stream().into_iter().collect();
        let comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
        tokens.split(comma).any(|part| Cursor { tokens: part.to_vec(), at: 0 }.is_for_tests())
    }

    /// Of the tokens within an attribute: every `path = "..."`.
    fn file_paths(&self, found: &mut Vec<String>) {
        for at in 0..self.tokens.len() {
            match &self.tokens[at] {
                TokenTree::Ident(word) if word == "path" => {
                    if let Some(TokenTree::Literal(text)) = self.tokens.get(at + 2) {
                        found.push(text.to_string().trim_matches('"').to_owned());
                    }
                }
                TokenTree::Group(group) => Cursor::new(group.stream()).file_paths(found),
                _ => {}
            }
        }
    }

    /// Steps over a visibility, if one comes.
    pub(crate) fn visibility(&mut self) {
        if self.word().as_deref() != Some("pub") {
            return;
        }
        self.at += 1;
        if let Some(group) = self.group(Delimiter::Parenthesis) {
            let first = Cursor::new(group.stream()).word();
            if first.is_some_and(|word| ["crate", "super", "self", "in"].contains(&word.as_str())) {
                self.at += 1;
            }
        }
    }

    /// Steps over an item, a field, an arm or a statement: to its brace, its `;`, or what is no item to its `,`.
    pub(crate) fn skip_item(&mut self) {
        let item = self.word().is_some_and(|word| ENDS_IN_BRACE.contains(&word.as_str()));
        while let Some(token) = self.next() {
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => return,
                TokenTree::Punct(punct) if punct.as_char() == ';' => return,
                TokenTree::Punct(punct) if punct.as_char() == ',' && !item => return,
                _ => {}
            }
        }
    }

    /// Steps over the path that begins here, if one does.
    pub(crate) fn path(&mut self) -> Option<Named> {
        let line = self.line();
        let mut names = Vec::new();
        if self.is_punct(':') && self.is_punct_at(1, ':') && self.word_at(2).is_some() {
            self.at += 2;
            names.push(String::new());
        }
        names.push(self.word()?);
        self.at += 1;
        while self.is_punct(':') && self.is_punct_at(1, ':') {
            let Some(name) = self.word_at(2) else { break };
            names.push(name);
            self.at += 3;
        }
        Some(Named { names, line })
    }
}
