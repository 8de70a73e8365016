//! Owns: occam 2.1 and occam-pi source to a checked program.
//! May use: std only.
//! Never: reads or writes files, prints, or runs a program.
//!
//! The stages, each a pure function that returns what it understood together with its complaints:
//!
//! ```text
//! texts -> lex -> pre (#INCLUDE, #IF) -> layout -> parse -> check (names, types) -> usage (races, aliases) -> Checked
//! ```

pub mod source;
pub mod symbol;
pub mod diag;
pub mod lex;
pub mod pre;
mod condition;
pub mod layout;
pub mod ast;
pub mod parse;
pub mod types;
pub mod program;
pub mod check;
pub mod usage;

use diag::Diagnostic;
use pre::{Files, Preprocessor};
use source::{FileId, Sources};
use symbol::Symbols;

/// What a caller may set.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names that #IF sees as defined.
    pub defines: Vec<String>,
    /// A variable used before it has a value is a warning, as in KRoC, whose test suite does so; otherwise an error.
    pub undefined_warns: bool,
}

/// All that the front end found out about a program.
pub struct Analysis {
    /// The program as far as it was understood.
    pub program: program::Program,
    /// Complaints, in the order of their places.
    pub diagnostics: Vec<Diagnostic>,
}

/// Runs every stage over the program whose outermost file is `root`.
pub fn analyse(sources: &mut Sources, root: FileId, options: &Options, files: &mut dyn Files) -> Analysis {
    let mut symbols = Symbols::new();
    let mut diagnostics = Vec::new();
    let mut pre = Preprocessor::new(sources, &mut symbols, &mut diagnostics, files);
    options.defines.iter().for_each(|name| pre.define(name));
    let (lines, source_options) = pre.run(root);
    let tokens = layout::run(lines, &mut diagnostics);
    let ast = parse::parse(&tokens, sources, &mut symbols, &mut diagnostics);
    let program = check::check(ast, symbols, &mut diagnostics);
    let rules = usage::Options {
        source: source_options,
        undefined_warns: options.undefined_warns,
        incomplete: diagnostics.iter().any(Diagnostic::is_error),
    };
    usage::check(&program, rules, &mut diagnostics);
    diagnostics.sort_by_key(|it| (it.primary.span, it.code));
    diagnostics.dedup();
    Analysis { program, diagnostics }
}
