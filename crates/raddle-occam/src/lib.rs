//! Owns: occam 2.1 and occam-pi source to a checked program.
//! May use: `raddle-occam-syntax`.
//! Never: reads or writes files, prints, or runs a program.
//!
//! The stages, each a pure function that returns what it understood together with its complaints:
//!
//! ```text
//! texts -> lex -> pre (#INCLUDE, #IF) -> layout -> parse -> check (names, types) -> usage (races, aliases) -> Checked
//! ```

pub mod check;
mod checked;
mod free;
pub mod lower;
mod placed;
pub mod program;
pub mod types;
pub mod usage;

pub use checked::{Analysis, ChannelUse, Checked};
use diag::{Code, Diagnostic, Severity};
use pre::{Files, Preprocessor};
use raddle_occam_syntax::library;
pub use raddle_occam_syntax::library::library_names;
pub use raddle_occam_syntax::{ast, diag, format, layout, lex, operator, parse, pre, source, symbol};
use source::{FileId, Sources};
use symbol::Symbols;

/// What a caller may set.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names that #IF sees as defined.
    pub defines: Vec<String>,
    /// A variable used before it has a value is a warning, as in KRoC, whose test suite does so; otherwise an error.
    pub undefined_warns: bool,
    /// Warnings that are errors.
    pub deny: Vec<Code>,
}

/// Runs every stage over the program whose outermost file is `root`.
///
/// ```
/// use raddle_occam::{Options, analyse, pre::NoFiles, source::Sources};
///
/// let mut sources = Sources::new();
/// let text = "PROC main (CHAN BYTE keyboard?, screen!, error!)\n  INT x:\n  PAR\n    x := 1\n    x := 2\n:\n";
/// let root = sources.add("race.occ", text).unwrap();
/// let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
/// assert_eq!(analysis.diagnostics()[0].code.to_string(), "O0701");
/// assert!(analysis.checked().is_err());
/// ```
pub fn analyse(sources: &mut Sources, root: FileId, options: &Options, files: &mut dyn Files) -> Analysis {
    let mut symbols = Symbols::new();
    let mut diagnostics = Vec::new();
    let mut pre = Preprocessor::new(sources, &mut symbols, &mut diagnostics, files);
    options.defines.iter().for_each(|name| pre.define(name));
    let (mut lines, source_options) = pre.run(root);
    add_predefined(&mut lines, sources, &mut symbols, &mut diagnostics);
    let tokens = layout::run(lines, &mut diagnostics);
    let ast = parse::parse(&tokens, sources, &mut symbols, &mut diagnostics);
    let program = check::check(ast, symbols, &mut diagnostics);
    let rules = usage::Options {
        source: source_options,
        undefined_warns: options.undefined_warns,
        incomplete: diagnostics.iter().any(Diagnostic::is_error),
    };
    let uses = usage::check(&program, rules, &mut diagnostics);
    if !rules_broken(&diagnostics) {
        placed::check(&program, &mut diagnostics);
    }
    // What is not declared may be declared in the file that is not there.
    if diagnostics.iter().any(|it| it.code == Code::FileNotFound) {
        diagnostics.retain(|it| it.code != Code::Undeclared);
    }
    let denied = diagnostics.iter_mut().filter(|it| options.deny.contains(&it.code));
    denied.for_each(|it| it.severity = Severity::Error);
    diagnostics.sort_by_key(|it| (it.primary.span, it.code));
    diagnostics.dedup();
    Analysis::new(program, diagnostics, uses)
}

fn rules_broken(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// Puts the predefined routines that are written in occam before a program that mentions one.
fn add_predefined(
    lines: &mut layout::Lines,
    sources: &mut Sources,
    symbols: &mut Symbols,
    diagnostics: &mut Vec<Diagnostic>,
) {
    if !library::predefined_names().any(|name| symbols.find(name).is_some()) {
        return;
    }
    let Some(file) = sources.add(library::PREDEFINED_NAME, library::PREDEFINED) else { return };
    let (mut all, _) = Preprocessor::new(sources, symbols, diagnostics, &mut pre::NoFiles).run(file);
    let before = all.tokens.len() as u32;
    all.tokens.append(&mut lines.tokens);
    let shifted = lines.lines.drain(..).map(|line| lex::Line {
        first: line.first + before,
        end: line.end + before,
        ..line
    });
    all.lines.extend(shifted);
    all.relaxed = lines.relaxed;
    *lines = all;
}
