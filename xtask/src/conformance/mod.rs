//! Owns: `cargo xtask conformance`: independent suites, of occam, OpenMP, C++, transactions, from the user's checkouts.
//! May use: `house`, `itm`, `openmp`, `pthreads`, `report`, `anyhow`.
//! Never: keeps a line of those suites in this repository.
//!
//! Two suites of occam. `KRoC:tests/cgtests` check themselves: each prints a line that begins with `^^^ Passed`, and
//! how many assertions held. Tock's `testcases/automatic` hold small programs that must be accepted or refused.
//!
//! Cargo builds `raddle`, which runs as a program.

mod cgtests;
mod openmp;
mod stamp;
mod tock;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};

use crate::report::say;
use openmp::{Suite, SuiteKind};

/// Arguments of `conformance`.
#[derive(clap::Args)]
pub(crate) struct ConformanceArgs {
    /// The folder `KRoC:tests/cgtests` of a checkout
    #[arg(long, value_name = "DIR")]
    cgtests: Option<PathBuf>,
    /// The folder `testcases/automatic` of a checkout of Tock
    #[arg(long, value_name = "DIR")]
    tock: Option<PathBuf>,
    /// The folder `runtime/test` of a checkout of LLVM's OpenMP library, or of BOLT; clang compiles it
    #[arg(long, value_name = "DIR")]
    libomp: Option<PathBuf>,
    /// The folder `libgomp` of gcc's source
    #[arg(long, value_name = "DIR")]
    libgomp: Option<PathBuf>,
    /// The folder `tests` of a checkout of OpenMP_VV; clang compiles it, and gcc does
    #[arg(long, value_name = "DIR")]
    openmp_vv: Option<PathBuf>,
    /// The folder `libstdc++-v3/testsuite` of gcc's source, of which `30_threads` is compiled and run
    #[arg(long, value_name = "DIR")]
    libstdcxx: Option<PathBuf>,
    /// The folder `libitm` of gcc's source
    #[arg(long, value_name = "DIR")]
    libitm: Option<PathBuf>,
    /// A checkout of STAMP with transactions of gcc's, of which vacation, genome and intruder are compiled and run
    #[arg(long, value_name = "DIR")]
    stamp: Option<PathBuf>,
    /// Run the programs of the first two as machine code: on 1, 2 and 8 workers, beside the interpreter
    #[arg(long)]
    native: bool,
    /// Show each refusal of a program that should be accepted, with its first complaint
    #[arg(long)]
    explain: bool,
}

/// A way to run a program of occam.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    options: &'static [&'static str],
}

/// The interpreter's.
const INTERPRETED: [Way; 2] = [
    Way { name: "1 worker", options: &["--workers", "1"] },
    Way { name: "2 workers", options: &["--workers", "2"] },
];

/// The interpreter, and machine code of all that can be compiled.
const NATIVE: [Way; 4] = [
    Way { name: "interpreted", options: &["--workers", "1"] },
    Way { name: "native on 1", options: &["--native=all", "--workers", "1"] },
    Way { name: "2 workers", options: &["--native=all", "--workers", "2"] },
    Way { name: "8 workers", options: &["--native=all", "--workers", "8"] },
];

/// Runs the suites that are there and prints their tables. Fails if less passes than must.
pub(crate) fn run(args: &ConformanceArgs) -> anyhow::Result<ExitCode> {
    let of_c = [&args.libomp, &args.libgomp, &args.openmp_vv, &args.libstdcxx, &args.libitm, &args.stamp];
    ensure!(
        of_c.into_iter().chain([&args.cgtests, &args.tock]).any(|suite| suite.is_some()),
        "give a suite: --cgtests DIR, --tock DIR, --libomp DIR, ..."
    );
    let mut good = openmp_suites(args)? & threads_of_cpp(args.libstdcxx.as_deref())? & transactions(args)?;
    if args.cgtests.is_none() && args.tock.is_none() {
        return Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let raddle = build(args.native)?;
    let ways: &[Way] = if args.native { &NATIVE } else { &INTERPRETED };
    if let Some(folder) = &args.cgtests {
        let (text, reached) = cgtests::table(&raddle, &folder.canonicalize()?, ways)?;
        say(&text);
        good &= reached;
    }
    if let Some(folder) = &args.tock {
        let (text, reached) = tock::table(&raddle, folder, args.explain)?;
        say(&text);
        good &= reached;
        if args.native {
            let (text, reached) = tock::runs(&raddle, folder, ways)?;
            say(&text);
            good &= reached;
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The suites of OpenMP programs; true if as much passes as must.
fn openmp_suites(args: &ConformanceArgs) -> anyhow::Result<bool> {
    let library = crate::house::root().join("target/conformance");
    let mut suites = Vec::new();
    let mut add = |name, compiler, (folders, includes), must| {
        let kind = SuiteKind::OpenMp;
        suites.push(Suite { name, compiler, folders, includes, must, kind, library: &library });
    };
    if let Some(folder) = &args.libomp {
        let folder = folder.canonicalize()?;
        add("libomp", "clang", (vec![folder.clone()], vec![folder]), 980);
    }
    if let Some(folder) = &args.libgomp {
        let folder = folder.canonicalize()?;
        let tests = ["libgomp.c", "libgomp.c-c++-common"].map(|name| folder.join("testsuite").join(name));
        add("libgomp", "gcc", (tests.to_vec(), vec![folder]), 970);
    }
    if let Some(folder) = &args.openmp_vv {
        let folder = folder.canonicalize()?;
        let places = || (vec![folder.clone()], vec![folder.join("../ompvv"), folder.clone()]);
        add("OpenMP_VV by clang", "clang", places(), 970);
        add("OpenMP_VV by gcc", "gcc", places(), 970);
    }
    if !suites.is_empty() {
        crate::openmp::run(&crate::openmp::OpenmpArgs { output: Some(library.clone()), debug: false })?;
    }
    let mut good = true;
    for suite in &suites {
        let (text, reached) = openmp::table(suite)?;
        say(&text);
        good &= reached;
    }
    Ok(good)
}

/// libstdc++'s own tests of threads; true if as much passes as must.
fn threads_of_cpp(testsuite: Option<&Path>) -> anyhow::Result<bool> {
    let Some(testsuite) = testsuite else { return Ok(true) };
    let testsuite = testsuite.canonicalize()?;
    let folder = crate::house::root().join("target/conformance-pthreads");
    let output = Some(folder.clone());
    crate::pthreads::run(&crate::pthreads::PthreadsArgs {
        output,
        debug: false,
        programs: None,
        with: None,
    })?;
    let (text, reached) = openmp::table(&Suite {
        name: "30_threads",
        compiler: "g++",
        folders: vec![testsuite.join("30_threads")],
        includes: vec![testsuite.join("util")],
        must: 980,
        kind: SuiteKind::Cpp,
        library: &folder.join("libraddle_pthread.so"),
    })?;
    say(&text);
    Ok(reached)
}

/// gcc's transactions: libitm's own tests, and STAMP's programs; true if all pass.
fn transactions(args: &ConformanceArgs) -> anyhow::Result<bool> {
    if args.libitm.is_none() && args.stamp.is_none() {
        return Ok(true);
    }
    let folder = crate::house::root().join("target/conformance-itm");
    crate::itm::run(&crate::itm::ItmArgs { output: Some(folder.clone()), debug: false })?;
    let library = folder.join("libraddle_itm.so");
    let mut good = true;
    if let Some(libitm) = &args.libitm {
        let libitm = libitm.canonicalize()?;
        let tests = libitm.join("testsuite");
        let kinds =
            [("libitm.c", "gcc", SuiteKind::Transactions), ("libitm.c++", "g++", SuiteKind::TransactionsCpp)];
        for (name, compiler, kind) in kinds {
            let (folders, includes) = (vec![tests.join(name)], vec![libitm.clone()]);
            let suite = Suite { name, compiler, folders, includes, must: 1000, kind, library: &library };
            let (text, reached) = openmp::table(&suite)?;
            say(&text);
            good &= reached;
        }
    }
    if let Some(checkout) = &args.stamp {
        let (text, reached) = stamp::table(&checkout.canonicalize()?, &library)?;
        say(&text);
        good &= reached;
    }
    Ok(good)
}

/// The command `raddle`, built in release, or the one that has the compiler to machine code.
fn build(native: bool) -> anyhow::Result<PathBuf> {
    let (package, name, folder) = match native {
        true => ("raddle-native", "raddle-native", crate::house::root().join("crates/raddle-jit")),
        false => ("raddle-cli", "raddle", crate::house::root()),
    };
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--release", "-p", package]).current_dir(&folder);
    let status = command.status().context("could not start `cargo`; is it on PATH?")?;
    ensure!(status.success(), "{name} could not be built");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| folder.join("target"), PathBuf::from);
    Ok(target.join("release").join(name))
}

/// The files of a folder whose names are chosen, sorted.
fn files(folder: &Path, chosen: impl Fn(&str) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut list = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))? {
        let path = entry?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(&chosen) {
            list.push(path);
        }
    }
    list.sort();
    ensure!(!list.is_empty(), "nothing of the suite is in {}", folder.display());
    Ok(list)
}
