//! Owns: what the stages promise beyond single programs: recovery, files, options, the resolved program.
//! May use: the public interface.
//! Never: repeats the corpus.

use raddle_occam::diag::{Code, Diagnostic};
use raddle_occam::pre::{Files, NoFiles};
use raddle_occam::program::{Body, NameKind};
use raddle_occam::source::Sources;
use raddle_occam::{Analysis, Options, analyse};

struct Shelf(Vec<(&'static str, &'static str)>);

impl Files for Shelf {
    fn text(&mut self, name: &str, _from: &str) -> Option<(String, String)> {
        let found = self.0.iter().find(|(known, _)| *known == name)?;
        Some((found.0.to_owned(), found.1.to_owned()))
    }
}

fn run(text: &str, options: &Options, files: &mut dyn Files) -> Analysis {
    let mut sources = Sources::new();
    let root = sources.add("main.occ", text).unwrap();
    analyse(&mut sources, root, options, files)
}

fn codes(list: &[Diagnostic]) -> Vec<Code> {
    list.iter().map(|it| it.code).collect()
}

#[test]
fn included_files_stand_where_the_directive_does() {
    let text = concat!(
        "PROC main (CHAN BYTE keyboard?, screen!, error!)\n  #INCLUDE \"consts\"\n",
        "  SEQ\n    #INCLUDE \"body\"\n    #INCLUDE \"body\"\n:\n"
    );
    let mut shelf = Shelf(vec![("consts", "VAL n IS 1:\n"), ("body", "screen ! BYTE n\nSKIP\n")]);
    assert_eq!(codes(run(text, &Options::default(), &mut shelf).diagnostics()), []);
}

#[test]
fn a_library_is_used_once_and_a_cycle_ends() {
    let mut shelf = Shelf(vec![("lib", "PROC p ()\n  SKIP\n:\n"), ("loop", "#INCLUDE \"loop\"\n")]);
    let text = "#USE \"lib\"\n#USE \"lib\"\nPROC main ()\n  p ()\n:\n";
    let analysis = run(text, &Options::default(), &mut shelf);
    assert_eq!((codes(analysis.diagnostics()), analysis.program().routines.len()), (vec![], 2));
    let analysis = run("#INCLUDE \"loop\"\n", &Options::default(), &mut shelf);
    assert_eq!(codes(analysis.diagnostics()), [Code::IncludeDepth]);
}

#[test]
fn names_that_the_caller_defines_choose_lines() {
    let text = "#IF DEFINED (FAST)\nPROC fast ()\n  SKIP\n:\n#ELSE\nPROC slow ()\n  SKIP\n:\n#ENDIF\n";
    let options = Options { defines: vec!["FAST".to_owned()], ..Options::default() };
    let name = |options: &Options| {
        let program = run(text, options, &mut NoFiles).into_program();
        program.spelling(program.routines[program.entry().unwrap().0 as usize].name).to_owned()
    };
    assert_eq!((name(&options).as_str(), name(&Options::default()).as_str()), ("fast", "slow"));
}

#[test]
fn undefined_values_may_be_warnings() {
    let text = "PROC main ()\n  INT x, y:\n  y := x\n:\n";
    let strict = run(text, &Options::default(), &mut NoFiles);
    let lax = run(text, &Options { undefined_warns: true, ..Options::default() }, &mut NoFiles);
    let error = |analysis: &Analysis| analysis.diagnostics().iter().any(Diagnostic::is_error);
    assert_eq!((error(&strict), error(&lax)), (true, false));
    assert_eq!(codes(lax.diagnostics()), [Code::Undefined]);
}

#[test]
fn warnings_may_be_denied() {
    let text = concat!(
        "PROC main (VAL INT n)\n  INT x, y:\n  SEQ\n    IF\n      n > 1\n        x := 1\n",
        "      TRUE\n        SKIP\n    y := x\n:\n"
    );
    let error = |deny: Vec<Code>| {
        let analysis = run(text, &Options { deny, ..Options::default() }, &mut NoFiles);
        assert_eq!(codes(analysis.diagnostics()), [Code::MaybeUndefined]);
        analysis.diagnostics()[0].is_error()
    };
    assert_eq!(
        (error(vec![]), error(vec![Code::MaybeUndefined]), error(vec![Code::PriPar])),
        (false, true, false)
    );
}

#[test]
fn only_a_program_without_errors_is_checked() {
    assert!(run("PROC main ()\n  SKIP\n:\n", &Options::default(), &mut NoFiles).checked().is_ok());
    let refused = run("PROC main ()\n  x := 1\n:\n", &Options::default(), &mut NoFiles).checked();
    assert_eq!(refused.err().map(|list| codes(&list)), Some(vec![Code::Undeclared]));
}

#[test]
fn everything_is_reached_by_number() {
    let text = concat!(
        "PROC add (VAL INT a, b, RESULT INT sum)\n  sum := a + b\n:\n",
        "PROC main ()\n  INT s:\n  add (1, 2, s)\n:\n"
    );
    let program = run(text, &Options::default(), &mut NoFiles).into_program();
    let entry = &program.routines[program.entry().unwrap().0 as usize];
    assert_eq!(program.spelling(entry.name), "main");
    assert!(matches!(entry.body, Body::Process(_)));
    let callee = program.process_names.iter().find_map(|&name| program.routine_of(name)).unwrap();
    let formals = &program.routines[callee.0 as usize].formals;
    let names: Vec<&str> = formals.iter().map(|&formal| program.spelling(formal)).collect();
    assert_eq!(names, ["a", "b", "sum"]);
    assert!(formals.iter().all(|&formal| matches!(program.name(formal).kind, NameKind::Formal(_))));
    assert!(program.expr_types.iter().all(|&ty| ty != raddle_occam::types::Types::ERROR));
}

#[test]
fn checking_grows_with_the_text_only() {
    // One PROC a hundred times is a hundred times the work: no stage looks back over the whole text.
    let unit = |at: usize| format!("PROC p{at} (VAL INT n, []INT a)\n  PAR i = 0 FOR n\n    a[i] := i\n:\n");
    let text: String = (0..2000).map(unit).collect();
    let analysis = run(&text, &Options::default(), &mut NoFiles);
    assert_eq!((codes(analysis.diagnostics()), analysis.program().routines.len()), (vec![], 2000));
}

/// What is said of a program that is to be run.
fn lowered(text: &str) -> Result<(), Vec<Code>> {
    let mut sources = Sources::new();
    let root = sources.add("main.occ", text).unwrap();
    let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
    let Ok(checked) = analysis.checked() else { panic!("it is accepted: {text}") };
    raddle_occam::lower::lower(&checked, &sources).map_err(|list| codes(&list)).map(drop)
}

#[test]
fn what_is_run_is_a_proc_with_the_hosts_channels() {
    for parameters in [
        "",
        "CHAN BYTE screen!",
        "CHAN BYTE keyboard?, SHARED CHAN BYTE screen!, CHAN BYTE error!",
        "CHAN BYTE error!, screen!, keyboard?",
        "CHAN BYTE out, err",
        "CHAN BYTE a, b, c",
    ] {
        assert_eq!(lowered(&format!("PROC main ({parameters})\n  SKIP\n:\n")), Ok(()), "{parameters}");
    }
    for parameters in [
        "INT x",
        "CHAN INT keyboard?",
        "SHARED CHAN BYTE keyboard?",
        "CHAN BYTE a?, b?",
        "CHAN BYTE a!, b!, c!",
        "CHAN BYTE a, b, c, d",
    ] {
        let text = format!("PROC main ({parameters})\n  SKIP\n:\n");
        assert_eq!(lowered(&text), Err(vec![Code::Entry]), "{parameters}");
    }
    assert_eq!(lowered(""), Err(vec![Code::Entry]));
}

#[test]
fn a_channel_of_the_host_without_direction_is_what_its_use_says() {
    for uses in ["screen ! 'a'", "write (screen!)", "write (screen)", "CLAIM screen\n    screen ! 'a'"] {
        let shared = if uses.starts_with("CLAIM") { "SHARED " } else { "" };
        let text = format!(
            "PROC write (CHAN BYTE to!)\n  to ! 'w'\n:\nPROC main ({shared}CHAN BYTE screen)\n  {uses}\n:\n"
        );
        assert_eq!(lowered(&text), Ok(()), "{text}");
    }
    let both = "PROC main (CHAN BYTE c)\n  BYTE b:\n  SEQ\n    c ! 'a'\n    c ? b\n:\n";
    assert_eq!(lowered(both), Err(vec![Code::Entry]));
}
