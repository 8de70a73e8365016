//! Owns: walking over the tokens of a Rust file.
//! May use: `proc-macro2`.
//! Never: a rule.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The tokens of `text`; a file that is no Rust fails the test that asked.
pub(super) fn stream(path: &str, text: &str) -> TokenStream {
    text.parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// An identifier and where it stands.
pub(super) struct SourceWord {
    pub(super) text: String,
    /// Counted from 1.
    pub(super) line: usize,
    /// The line of the word before the outermost open parenthesis of this expression: for an argument, its call's.
    pub(super) anchor: usize,
}

/// Every identifier outside attributes and `use` declarations, also those within macro bodies.
pub(super) fn words(stream: TokenStream) -> Vec<SourceWord> {
    let mut found = Vec::new();
    collect(stream, None, &mut found);
    found
}

fn collect(stream: TokenStream, anchor: Option<usize>, found: &mut Vec<SourceWord>) {
    let mut tokens = stream.into_iter().peekable();
    let mut last_line = anchor;
    while let Some(token) = tokens.next() {
        let line = token.span().start().line;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => skip_attribute(&mut tokens),
            TokenTree::Ident(word) if word == "use" => {
                let _ =
                    tokens.by_ref().find(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ';'));
            }
            TokenTree::Ident(word) => {
                found.push(SourceWord { text: word.to_string(), line, anchor: anchor.unwrap_or(line) });
                last_line = Some(line);
            }
            TokenTree::Group(group) => {
                let call = group.delimiter() == Delimiter::Parenthesis;
                collect(group.stream(), if call { anchor.or(last_line) } else { None }, found);
            }
            _ => {}
        }
    }
}

fn skip_attribute(tokens: &mut std::iter::Peekable<proc_macro2::token_stream::IntoIter>) {
    let _ = tokens.next_if(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == '!'));
    let _ =
        tokens.next_if(|token| matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Bracket));
}

/// Every attribute's tokens, with the line on which it stands, also those within macro bodies.
pub(super) fn attributes(stream: TokenStream) -> Vec<(usize, TokenStream)> {
    let mut found = Vec::new();
    let mut after_hash = false;
    for token in stream {
        let line = token.span().start().line;
        match token {
            TokenTree::Group(group) if after_hash && group.delimiter() == Delimiter::Bracket => {
                found.push((line, group.stream()));
                after_hash = false;
            }
            TokenTree::Group(group) => {
                found.extend(attributes(group.stream()));
                after_hash = false;
            }
            TokenTree::Punct(punct) => {
                after_hash = punct.as_char() == '#' || (after_hash && punct.as_char() == '!')
            }
            _ => after_hash = false,
        }
    }
    found
}

#[test]
fn comments_strings_attributes_and_imports_hold_no_words() {
    let text = "use a::Hidden;\n#[hidden]\n// hidden\nfn f() { \"hidden\"; shown(\n  arg) }";
    let words = words(stream("x.rs", text));
    let seen: Vec<_> = words.iter().map(|word| (word.text.as_str(), word.line, word.anchor)).collect();
    assert_eq!(seen, [("fn", 4, 4), ("f", 4, 4), ("shown", 4, 4), ("arg", 5, 4)]);
}
