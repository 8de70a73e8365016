//! Owns: #INCLUDE, #USE, #IF, #DEFINE: one list of lines from many files.
//! May use: `condition`, `diag`, `layout`, `lex`, `library`, `source`, `symbol`.
//! Never: reads files; it asks the caller's `Files`.
//!
//! Included lines take their place under the directive, indented as it is. A library named by #USE is spliced in at
//! its first use only, an included file every time (programs include the same fragment under different
//! declarations). #PRAGMA lines stay for the parser, which knows the names that they mention.

use crate::diag::{COMPLAINTS_MAX, Code, Diagnostic};
use crate::layout::Lines;
use crate::lex::{self, Lexed, Line, Token, TokenKind};
use crate::source::{FileId, Sources, Span};
use crate::symbol::{FastMap, Symbol, Symbols};
use std::rc::Rc;

/// Where the texts of #INCLUDE and #USE come from.
pub trait Files {
    /// The text named by a directive in the file `from`, with the name to show for it, or `None`.
    fn text(&mut self, name: &str, from: &str) -> Option<(String, String)>;
}

/// No other files: every #INCLUDE is answered with a complaint.
pub struct NoFiles;

impl Files for NoFiles {
    fn text(&mut self, _name: &str, _from: &str) -> Option<(String, String)> {
        None
    }
}

/// Which checks the source switched off with #OPTION.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SourceOptions {
    /// `A`: no alias checks.
    pub no_alias_check: bool,
    /// `N`: no usage checks.
    pub no_usage_check: bool,
}

const DEPTH_MAX: u32 = 40;
const TOKENS_MAX: usize = 40_000_000;

/// Splices all files of a program.
pub struct Preprocessor<'a> {
    /// The texts.
    pub sources: &'a mut Sources,
    /// The names.
    pub symbols: &'a mut Symbols,
    /// Complaints so far.
    pub diagnostics: &'a mut Vec<Diagnostic>,
    /// The caller's files.
    pub files: &'a mut dyn Files,
    /// Names defined by the caller and by #DEFINE, with their value's tokens.
    pub defines: FastMap<Symbol, Vec<Token>>,
    /// What #OPTION said.
    pub options: SourceOptions,
    scanned: FastMap<u32, Rc<Lexed>>,
    used: Vec<FileId>,
    out: Lines,
    full: bool,
}

/// An #IF that is open: whether its lines count now, and whether a branch has counted already.
struct Branch {
    live: bool,
    taken: bool,
    span: Span,
}

impl<'a> Preprocessor<'a> {
    /// A preprocessor with nothing defined.
    pub fn new(
        sources: &'a mut Sources,
        symbols: &'a mut Symbols,
        diagnostics: &'a mut Vec<Diagnostic>,
        files: &'a mut dyn Files,
    ) -> Self {
        Self {
            sources,
            symbols,
            diagnostics,
            files,
            defines: FastMap::default(),
            options: SourceOptions::default(),
            scanned: FastMap::default(),
            used: Vec::new(),
            out: Lines::default(),
            full: false,
        }
    }

    /// Defines a name as `-D NAME` does.
    pub fn define(&mut self, name: &str) {
        let symbol = self.symbols.intern(name);
        self.defines.insert(symbol, Vec::new());
    }

    /// The program's lines, beginning with `root`.
    pub fn run(mut self, root: FileId) -> (Lines, SourceOptions) {
        // PERF: a program in one file without directives, the usual case, needs no copy of its tokens.
        let whole = lex::scan(self.sources, root, self.symbols);
        if !whole.tokens.iter().any(|token| matches!(token.kind, TokenKind::Directive | TokenKind::Hashes)) {
            self.diagnostics.extend(whole.complaints.into_iter().take(COMPLAINTS_MAX));
            return (Lines { tokens: whole.tokens, lines: whole.lines, relaxed: false }, self.options);
        }
        self.scanned.insert(root.0, Rc::new(whole));
        self.splice(root, 0, 0);
        (self.out, self.options)
    }

    fn complain(&mut self, code: Code, span: Span, message: impl Into<String>) {
        let said = Diagnostic::new(code, span, message);
        if !self.has_said_enough(said.is_error()) {
            self.diagnostics.push(said);
        }
    }

    /// Nobody reads that many, and one error is enough for the program to be refused.
    fn has_said_enough(&self, next_is_error: bool) -> bool {
        let are_many = self.diagnostics.len() >= COMPLAINTS_MAX;
        are_many && (!next_is_error || self.diagnostics.iter().any(Diagnostic::is_error))
    }

    fn lexed(&mut self, file: FileId) -> Rc<Lexed> {
        if let Some(lexed) = self.scanned.get(&file.0) {
            return Rc::clone(lexed);
        }
        let lexed = Rc::new(lex::scan(self.sources, file, self.symbols));
        self.scanned.insert(file.0, Rc::clone(&lexed));
        lexed
    }

    fn splice(&mut self, file: FileId, indent: u32, depth: u32) {
        let lexed = self.lexed(file);
        let mut branches: Vec<Branch> = Vec::new();
        for line in &lexed.lines {
            let tokens = &lexed.tokens[line.first as usize..line.end as usize];
            // What stands in a branch that does not count is one that does not count.
            let live = branches.last().is_none_or(|branch| branch.live);
            if live && !lexed.complaints.is_empty() {
                self.scan_complaints(&lexed, tokens);
            }
            if self.full {
                return;
            }
            if tokens[0].kind == TokenKind::Directive {
                if !self.conditional(tokens, live, &mut branches) && live {
                    self.directive(tokens, line.indent + indent, file, depth);
                }
            } else if live {
                self.copy(tokens, (line.indent + indent, line.tab));
            }
            if self.full {
                return;
            }
        }
        for branch in branches {
            self.complain(Code::Directive, branch.span, "this #IF has no #ENDIF in its file");
        }
    }

    /// Passes on what the scanner said of a line that counts.
    fn scan_complaints(&mut self, lexed: &Lexed, tokens: &[Token]) {
        let (lo, hi) = (tokens[0].span.lo, tokens[tokens.len() - 1].span.hi);
        let first = lexed.complaints.partition_point(|complaint| complaint.primary.span.lo < lo);
        if first == lex::COMPLAINTS_MAX {
            let message = "so much of this file means nothing in occam that the rest is not read";
            self.complain(Code::BadCharacter, tokens[0].span, message);
            self.full = true;
            return;
        }
        if self.has_said_enough(true) {
            return;
        }
        let found = lexed.complaints[first..].iter().take_while(|complaint| complaint.primary.span.lo < hi);
        self.diagnostics.extend(found.cloned());
    }

    fn copy(&mut self, tokens: &[Token], (indent, tab): (u32, bool)) {
        let first = self.out.tokens.len();
        if first + tokens.len() > TOKENS_MAX {
            self.complain(
                Code::IncludeDepth,
                tokens[0].span,
                "the program with its included files is too long",
            );
            self.full = true;
            return;
        }
        if tokens.iter().any(|token| token.kind == TokenKind::Hashes) {
            self.expand(tokens);
        } else {
            self.out.tokens.extend_from_slice(tokens);
        }
        let end = self.out.tokens.len();
        if end > first {
            self.out.lines.push(Line { indent, tab, first: first as u32, end: end as u32 });
        }
    }

    /// Replaces `##NAME` by what NAME was defined as.
    fn expand(&mut self, tokens: &[Token]) {
        let mut at = 0;
        while at < tokens.len() {
            let value = tokens.get(at + 1).filter(|_| tokens[at].kind == TokenKind::Hashes);
            match value {
                None => self.out.tokens.push(tokens[at]),
                Some(name) => {
                    at += 1;
                    match self.defines.get(&name.symbol).filter(|value| !value.is_empty()) {
                        Some(value) => self.out.tokens.extend_from_slice(value),
                        None => self.complain(
                            Code::Directive,
                            name.span,
                            "this name is not #DEFINEd with a value",
                        ),
                    }
                }
            }
            at += 1;
        }
    }

    /// Handles #IF and its kin; says whether the line was one.
    fn conditional(&mut self, tokens: &[Token], live: bool, branches: &mut Vec<Branch>) -> bool {
        let span = tokens[0].span;
        match self.symbols.text(tokens[0].symbol) {
            "IF" => {
                let taken = live && self.condition(&tokens[1..], span);
                branches.push(Branch { live: taken, taken: taken || !live, span });
            }
            word @ ("ELSE" | "ELIF" | "ELSEIF") => {
                let alone = word == "ELSE";
                let open = branches.last().map(|branch| branch.taken);
                let Some(taken) = open else {
                    self.complain(Code::Directive, span, "no #IF is open here");
                    return true;
                };
                let now = !taken && (alone || self.condition(&tokens[1..], span));
                if let Some(branch) = branches.last_mut() {
                    (branch.live, branch.taken) = (now, taken || now);
                }
            }
            "ENDIF" => {
                if branches.pop().is_none() {
                    self.complain(Code::Directive, span, "no #IF is open here");
                }
            }
            _ => return false,
        }
        true
    }

    fn condition(&mut self, tokens: &[Token], span: Span) -> bool {
        let mut condition = super::condition::Condition::new(tokens, &self.defines, self.sources);
        match condition.run() {
            Some(value) => value,
            None => {
                self.complain(
                    Code::Directive,
                    span,
                    "a condition is made of DEFINED (NAME), =, <>, AND, OR, NOT",
                );
                false
            }
        }
    }

    fn directive(&mut self, tokens: &[Token], indent: u32, file: FileId, depth: u32) {
        let span = tokens[0].span;
        let word = self.symbols.text(tokens[0].symbol).to_owned();
        match word.as_str() {
            "INCLUDE" => self.include(tokens, indent, file, depth, false),
            "USE" => self.include(tokens, indent, file, depth, true),
            "DEFINE" | "UNDEFINE" | "UNDEF" => match tokens.get(1) {
                Some(name) if name.kind == TokenKind::Name && word == "DEFINE" => {
                    self.defines.insert(name.symbol, tokens[2..].to_vec());
                }
                Some(name) if name.kind == TokenKind::Name => {
                    self.defines.remove(&name.symbol);
                }
                _ => self.complain(Code::Directive, span, format!("#{word} needs a name")),
            },
            "OPTION" => self.option(tokens),
            "PRAGMA" => match self.external(tokens) {
                Some(tokens) => self.copy(&tokens, (indent, false)),
                None => self.copy(tokens, (indent, false)),
            },
            "RELAX" => self.out.relaxed = true,
            "COMMENT" => {}
            "ERROR" => self.complain(Code::Directive, span, "the source says #ERROR here"),
            _ => self.complain(Code::Directive, span, format!("#{word} is no directive")),
        }
    }

    /// The tokens of `#PRAGMA EXTERNAL "heading"`, those of the heading instead of the string.
    fn external(&mut self, tokens: &[Token]) -> Option<Vec<Token>> {
        let [first, word, text, ..] = tokens else { return None };
        if self.sources.slice(word.span) != "EXTERNAL" || text.kind != TokenKind::Text {
            return None;
        }
        let inside = self.sources.slice(text.span).trim_matches('"').to_owned();
        let heading = lex::scan_part(&inside, text.span.lo + 1, self.symbols);
        self.diagnostics.extend(heading.complaints);
        Some([*first, *word].into_iter().chain(heading.tokens).collect())
    }

    fn option(&mut self, tokens: &[Token]) {
        let letters = tokens.get(1).map_or("", |token| self.sources.slice(token.span)).to_owned();
        let (alias, usage) = (letters.contains('A'), letters.contains('N'));
        self.options.no_alias_check |= alias;
        self.options.no_usage_check |= usage;
        if alias || usage {
            self.complain(
                Code::OptionUnsafe,
                tokens[0].span,
                "this switches checks off for the whole program",
            );
        }
    }

    fn include(&mut self, tokens: &[Token], indent: u32, file: FileId, depth: u32, once: bool) {
        let Some(&token) = tokens.get(1).filter(|token| token.kind == TokenKind::Text) else {
            return self.complain(
                Code::Directive,
                tokens[0].span,
                "the name of the file stands in quotes here",
            );
        };
        if depth >= DEPTH_MAX {
            return self.complain(Code::IncludeDepth, token.span, "files include each other too deeply");
        }
        let name = self.sources.slice(token.span).trim_matches('"').to_owned();
        let from = self.sources.name(file).to_owned();
        let found = self.files.text(&name, &from).and_then(|(shown, text)| match self.sources.find(&shown) {
            Some(file) => Some(file),
            None => self.sources.add(&shown, &text),
        });
        let library = if found.is_none() { crate::library::text(&name) } else { None };
        let found = found.or_else(|| {
            let (shown, text) = library?;
            self.sources.find(shown).or_else(|| self.sources.add(shown, text))
        });
        let Some(included) = found else {
            return self.complain(Code::FileNotFound, token.span, format!("there is no file `{name}`"));
        };
        if !once && library.is_none() {
            self.splice(included, indent, depth + 1);
        } else if !self.used.contains(&included) {
            self.used.push(included);
            self.splice(included, indent, depth + 1);
        }
    }
}
