//! Owns: occam programs over ranks as machine code, under each MPI that is here: what they write, and what ends them.
//! May use: `raddle-mpi`.
//! Never: another command than `raddle`, which becomes the one that has the compiler.
//!
//! The group `mpi` of tests sets `TEST_MPI`, without which nothing is done. `raddle` is built before (`cargo build
//! --workspace --bin raddle`), or is what the variable `RADDLE` of the tests' environment names.

#[path = "../../../raddle-mpi/tests/support/mod.rs"]
mod support;

use raddle_mpi::install::Flavour;
use std::path::{Path, PathBuf};
use support::{Ended, Job, each_mpi};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn raddle() -> PathBuf {
    let built = || folder().join("target/debug/raddle");
    let program = std::env::var_os("RADDLE").map_or_else(built, PathBuf::from);
    assert!(program.is_file(), "{} is built by `cargo build --workspace --bin raddle`", program.display());
    program
}

/// The plain command finds the other one in `PATH`, where `mpirun` is found, too.
fn run(job: Job) -> Ended {
    // Of cargo's own variable a shell between cargo and the compiler makes nothing: there is a `-` in its name.
    let test = std::env::current_exe().expect("its path");
    let beside = test.ancestors().nth(2).expect("a folder");
    assert!(beside.join("raddle-native").is_file(), "{} has the command", beside.display());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(beside.to_owned()).chain(std::env::split_paths(&path)));
    let path = path.expect("no colon in a path").into_string().expect("a text");
    // Not optimised, the compiler takes seconds for a slice.
    job.with("PATH", &path).with("RADDLE_SLOW_SLICE", "off").run()
}

fn run_on(mpi: Flavour, ranks: usize, part: &str, program: &Path) -> Ended {
    let program = program.to_str().expect("a path of this repository");
    run(Job::of(mpi, ranks, raddle(), &["run", part, "--ranks", "--stats", program]))
}

fn corpus(name: &str) -> PathBuf {
    folder().join("corpus/run").join(name)
}

/// A program in a file of its own.
fn written(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// The same output as on one machine; each rank that has run something has made code.
#[test]
fn programs_over_ranks_are_as_alone() {
    each_mpi(|mpi| {
        // Not optimised, the compiler takes seconds for each.
        for (name, ranks) in [("placed-ring", 2), ("placed-mixed", 3)] {
            let expected =
                std::fs::read_to_string(corpus(&format!("{name}.expected"))).expect("what it writes");
            let ended = run_on(mpi, ranks, "--native=all", &corpus(&format!("{name}.occ")));
            ended.expect_well();
            ended.expect(&expected);
            assert_eq!(ended.lines("; machine code: ").len(), ranks);
        }
    });
}

/// What is compiled while it runs is, on a rank whose image came from another one.
const COMPUTES: &str = "\
PROC main (CHAN BYTE screen!)
  CHAN INT go, sum:
  PLACED PAR
    PROCESSOR 0
      INT x:
      SEQ
        go ! 3
        sum ? x
        IF
          x = 64214784
            screen ! '='
          TRUE
            screen ! '#'
        screen ! '*n'
    PROCESSOR 1
      INT x, s:
      SEQ
        go ? x
        s := 0
        SEQ i = 0 FOR 20000000
          s := (s >< (i * x)) /\\ #3FFFFFF
        sum ! s
:
";

#[test]
fn what_is_hot_on_another_rank_is_compiled_there() {
    let program = written("computes.occ", COMPUTES);
    each_mpi(|mpi| {
        let ended = run_on(mpi, 2, "--native", &program);
        ended.expect_well();
        ended.expect("=\n");
        // `raddle` becomes the other command, which becomes `mpirun`.
        let program = program.to_str().expect("a path of this repository");
        let line = ["run", "--native", "--ranks=2", "--stats", program];
        let ended = run(Job::alone(mpi, raddle(), &line));
        ended.expect_well();
        ended.expect("=\n");
        let made = ended.lines("; machine code: ");
        assert_eq!(made.len(), 1, "nothing is hot on the other one: {made:?}");
    });
}

const STOPS: &str = "\
PROC node (VAL INT i, CHAN INT in?, out!)
  INT x:
  SEQ
    in ? x
    out ! 10 / (x - i)
:
PROC main (CHAN BYTE screen!)
  [4]CHAN INT c:
  PLACED PAR
    c[0] ! LAST
    PLACED PAR i = 0 FOR 3
      PROCESSOR i
        node (i, c[i]?, c[i + 1]!)
    INT x:
    c[3] ? x
:
";

#[test]
fn errors_and_deadlocks_of_machine_code_name_the_rank() {
    let divides = written("divides.occ", &STOPS.replace("LAST", "10"));
    let circle = "\
PROC node (CHAN INT in?, out!)
  INT x:
  SEQ
    in ? x
    out ! x
:
PROC main (CHAN BYTE screen!)
  [2]CHAN INT ring:
  PLACED PAR i = 0 FOR 2
    node (ring[i]?, ring[(i + 1) \\ 2]!)
:
";
    let circle = written("circle.occ", circle);
    each_mpi(|mpi| {
        let ended = run_on(mpi, 2, "--native=all", &divides);
        ended.expect_ill();
        ended.expect("rank 1: run-time error: division by zero");
        ended.expect("divides.occ:5:");
        let ended = run_on(mpi, 2, "--native=all", &circle);
        ended.expect_ill();
        ended.expect("deadlock over 2 ranks");
        ended.expect("rank 0 for rank 1: `node, index 0` at ");
    });
}
