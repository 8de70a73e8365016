//! Owns: suites of programs with threads: which pass with the system's own library, and which of these with Raddle's.
//! May use: `anyhow`.
//! Never: keeps a line of those suites in this repository.
//!
//! A program passes if it ends with 0 within a minute; one that does not end *hangs*, and then the suite has
//! failed. What does not build, within two minutes, or does not pass with the compiler's own library, counts for
//! nothing. Options and variables that a program asks for in its comments (DejaGnu's, lit's) are given to it; what
//! lit's tests say of the output is not looked at.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

/// A suite: where its programs are, who compiles them, how much of 1000 must pass.
pub(super) struct Suite<'s> {
    pub(super) name: &'static str,
    pub(super) compiler: &'static str,
    pub(super) folders: Vec<PathBuf>,
    pub(super) includes: Vec<PathBuf>,
    pub(super) must: usize,
    pub(super) kind: SuiteKind,
    /// The folder with Raddle's library under the names that it stands for, or the library that is preloaded.
    pub(super) library: &'s Path,
}

/// What the programs are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SuiteKind {
    /// OpenMP's in C.
    OpenMp,
    /// Those of C++ with POSIX threads.
    Cpp,
    /// gcc's transactions in C.
    Transactions,
    /// The same in C++.
    TransactionsCpp,
}

impl SuiteKind {
    fn extension(self) -> &'static str {
        match self {
            SuiteKind::OpenMp | SuiteKind::Transactions => ".c",
            SuiteKind::Cpp => ".cc",
            SuiteKind::TransactionsCpp => ".C",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            SuiteKind::OpenMp => &["-O1", "-fopenmp", "-w"],
            SuiteKind::Cpp => &["-O1", "-pthread", "-w", "-std=gnu++20"],
            SuiteKind::Transactions | SuiteKind::TransactionsCpp => &["-O1", "-fgnu-tm", "-w"],
        }
    }

    fn variable(self) -> &'static str {
        match self {
            SuiteKind::OpenMp => "LD_LIBRARY_PATH",
            SuiteKind::Cpp | SuiteKind::Transactions | SuiteKind::TransactionsCpp => "LD_PRELOAD",
        }
    }
}

/// What one program asks for.
#[derive(Default)]
struct Wishes {
    options: Vec<String>,
    variables: Vec<(String, String)>,
}

/// The table, and whether as much passes as must.
pub(super) fn table(suite: &Suite<'_>) -> anyhow::Result<(String, bool)> {
    let scratch = std::env::temp_dir().join(format!("raddle-conformance-{}", std::process::id()));
    fs::create_dir_all(&scratch).with_context(|| format!("could not make {}", scratch.display()))?;
    let mut programs = Vec::new();
    for folder in &suite.folders {
        collect(folder, suite.kind, &mut programs)?;
    }
    ensure!(!programs.is_empty(), "nothing of the suite {} is there", suite.name);
    programs.sort();
    let (mut built, mut native, mut passed, mut hung, mut failed) = (0, 0, 0, 0, String::new());
    for program in &programs {
        let wishes = wishes(&fs::read_to_string(program).unwrap_or_default());
        let binary = scratch.join("program");
        if !compile(suite, program, &wishes, &binary)? {
            continue;
        }
        built += 1;
        if run(&binary, &wishes, suite.kind, None)? != RunEnd::Passes {
            continue;
        }
        native += 1;
        let end = run(&binary, &wishes, suite.kind, Some(suite.library))?;
        match end {
            RunEnd::Passes => passed += 1,
            RunEnd::Fails => {}
            RunEnd::Hangs => hung += 1,
        }
        if end != RunEnd::Passes {
            let verb = if end == RunEnd::Hangs { "hangs" } else { "fails" };
            let _ = writeln!(failed, "  {verb}: {}", program.display());
        }
    }
    // Nobody needs it any more.
    let _ = fs::remove_dir_all(&scratch);
    let name = suite.name;
    let text = format!(
        "{failed}{name}: {built} build, {native} pass natively, {passed} of these with Raddle, {hung} hang\n"
    );
    Ok((text, native > 0 && hung == 0 && passed * 1000 >= native * suite.must))
}

fn collect(folder: &Path, kind: SuiteKind, into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if path.is_dir() && name != "ompt" && name != "bolt" {
            collect(&path, kind, into)?;
        } else if name.ends_with(kind.extension())
            && is_program(&fs::read_to_string(&path).unwrap_or_default())
        {
            into.push(path);
        }
    }
    Ok(())
}

fn is_program(text: &str) -> bool {
    let has_main = text.contains("main (") || text.contains("main(");
    has_main && !text.contains("dg-do compile") && !text.contains("dg-do link")
}

/// What stands in quotation marks behind a word, one after the other.
fn quoted<'t>(line: &'t str, word: &str) -> Option<Vec<&'t str>> {
    let (_, rest) = line.split_once(word)?;
    Some(rest.split('"').skip(1).step_by(2).collect())
}

fn wishes(text: &str) -> Wishes {
    let mut wishes = Wishes::default();
    for line in text.lines() {
        for word in ["dg-options", "dg-additional-options"] {
            if let Some(options) = quoted(line, word) {
                let all = options.first().into_iter().flat_map(|options| options.split_whitespace());
                wishes
                    .options
                    .extend(all.filter(|option| !option.starts_with("-foffload")).map(str::to_owned));
            }
        }
        if let Some((_, rest)) = line.split_once("dg-set-target-env-var") {
            let mut words = rest.split_whitespace().map(|word| word.trim_matches(['"', '}']));
            if let (Some(name), Some(value)) = (words.next(), words.next()) {
                wishes.variables.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    let run = text.lines().find_map(|line| line.split_once("RUN:"));
    for word in run.into_iter().flat_map(|(_, line)| line.split_whitespace()) {
        if let Some((name, value)) =
            word.split_once('=').filter(|(name, _)| name.starts_with("OMP_") || name.starts_with("KMP_"))
        {
            wishes.variables.push((name.to_owned(), value.trim_matches('"').to_owned()));
        }
    }
    wishes
}

fn compile(suite: &Suite<'_>, program: &Path, wishes: &Wishes, binary: &Path) -> anyhow::Result<bool> {
    // clang 14 does not come to an end with some of OpenMP_VV's programs.
    let mut command = Command::new("timeout");
    command.arg("120").arg(suite.compiler).args(suite.kind.options()).args(&wishes.options);
    for folder in &suite.includes {
        command.arg("-I").arg(folder);
    }
    command.arg("-o").arg(binary).arg(program).args(["-lm", "-lpthread"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().with_context(|| format!("could not start `{}`", suite.compiler))?;
    // What `timeout` says when there is no such command.
    const ABSENT: i32 = 127;
    ensure!(status.code() != Some(ABSENT), "could not start `{}`", suite.compiler);
    Ok(status.success())
}

/// How a program has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunEnd {
    Passes,
    Fails,
    /// It was ended after a minute.
    Hangs,
}

fn run(binary: &Path, wishes: &Wishes, kind: SuiteKind, library: Option<&Path>) -> anyhow::Result<RunEnd> {
    let mut command = Command::new("timeout");
    command.arg("60").arg("env");
    if let Some(library) = library {
        command.arg(format!("{}={}", kind.variable(), library.display()));
    }
    command.arg(binary).envs(wishes.variables.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    const TIMED_OUT: i32 = 124;
    let status = command.status().context("could not start `timeout`")?;
    Ok(match status.code() {
        Some(0) => RunEnd::Passes,
        Some(TIMED_OUT) => RunEnd::Hangs,
        _ => RunEnd::Fails,
    })
}

#[test]
fn options_and_variables_are_read_from_comments() {
    let found = wishes(
        "/* { dg-additional-options \"-std=gnu99 -foffload=x\" } */\n\
         /* { dg-set-target-env-var OMP_CANCELLATION \"true\" } */\n// RUN: env OMP_PLACES=\"cores\" %run\n",
    );
    assert_eq!(found.options, ["-std=gnu99"]);
    let variables: Vec<_> =
        found.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(variables, [("OMP_CANCELLATION", "true"), ("OMP_PLACES", "cores")]);
}
