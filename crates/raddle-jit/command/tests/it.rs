//! `raddle run --native`, from the command of the first workspace to the one that has the compiler: what a program
//! writes, says and ends with is what it is without `--native`.
//!
//! `raddle` is built before (`cargo build --workspace --bin raddle`), or is what the variable `RADDLE` of the tests'
//! environment names.

#[path = "../../../raddle-core/tests/support/left_out.rs"]
mod left_out;

use left_out::left_out;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The plain command, which finds the other one in `PATH` alone, with no setting inherited.
fn raddle() -> Command {
    let built = || folder().join("target/debug/raddle");
    let program = std::env::var_os("RADDLE").map_or_else(built, PathBuf::from);
    assert!(program.is_file(), "{} is built by `cargo build --workspace --bin raddle`", program.display());
    // Of cargo's own variable a shell between cargo and the compiler makes nothing: there is a `-` in its name.
    let test = std::env::current_exe().unwrap();
    let beside = test.ancestors().nth(2).unwrap();
    assert!(beside.join("raddle-native").is_file(), "{} has the command", beside.display());
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RADDLE")) {
        command.env_remove(name);
    }
    command.env("PATH", beside).current_dir(folder()).stdin(Stdio::null());
    command
}

fn run(options: &[&str], program: &str) -> Output {
    raddle().arg("run").args(options).arg(program).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Some of each kind: what is not optimised compiles slowly. All of them are compiled by the tests of `raddle-jit`.
const PROGRAMS: [&str; 6] = ["alternation", "deadlock", "fault", "forks", "keyboard", "fault-subscript"];

#[test]
fn programs_write_say_and_end_with_the_same() {
    for name in PROGRAMS {
        let program = format!("corpus/run/{name}.occ");
        for (part, workers) in [("--native=all", "1"), ("--native=all", "2"), ("--native", "2")] {
            let plain = run(&["--workers", workers], &program);
            let native = run(&[part, "--workers", workers], &program);
            assert_eq!(text(&native.stdout), text(&plain.stdout), "{program} on {workers}");
            assert_eq!(text(&native.stderr), text(&plain.stderr), "{program} on {workers}");
            assert_eq!(native.status.code(), plain.status.code(), "{program} on {workers}");
        }
    }
}

#[test]
fn one_seed_is_one_run() {
    let counted = |options: &[&str]| {
        let output = run(&[options, &["--seed", "7", "--stats"]].concat(), "corpus/run/alternation.occ");
        let said = text(&output.stderr);
        // Before the counts stands the time, and behind them what is said of machine code alone.
        let counts = said.split_once("workers: ").map(|(_, counts)| counts.trim_end());
        let counts = counts.map(|counts| counts.split("; machine code").next().unwrap().to_owned());
        assert!(counts.is_some(), "{said}");
        (text(&output.stdout), counts, output.status.code())
    };
    let interpreted = counted(&[]);
    assert_eq!(counted(&["--native"]), interpreted);
    assert_eq!(counted(&["--native=all"]), interpreted);
}

#[test]
fn the_checks_of_machine_code_are_counted() {
    let folder = std::env::temp_dir().join(format!("raddle-checks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("sum.occ");
    let source = "PROC main (CHAN BYTE keyboard?, screen!, error!)\n  [100]INT a:\n  INT sum:\n  SEQ\n    \
                    sum := 0\n    SEQ i = 0 FOR SIZE a\n      a[i] := i\n    SEQ i = 0 FOR SIZE a\n      \
                    sum := sum + a[i]\n    screen ! BYTE (sum / 100)\n:\n";
    std::fs::write(&program, source).unwrap();
    let counts = |options: &[&str]| {
        let output = run(&[options, &["--stats", "--workers", "1"]].concat(), program.to_str().unwrap());
        assert_eq!(output.stdout, [49], "{}", text(&output.stderr));
        let said = text(&output.stderr);
        let (_, checks) = said.split_once("; machine code: ")?;
        let (made, left_out) = checks.trim_end().split_once(" checks, ")?;
        let left_out = left_out.strip_suffix(" left out")?;
        Some((made.parse::<u32>().unwrap(), left_out.parse::<u32>().unwrap()))
    };
    assert_eq!(counts(&[]), None, "nothing is compiled");
    let (made, left_out) = counts(&["--native=all"]).expect("they are shown");
    std::fs::remove_dir_all(&folder).unwrap();
    // The sum and its conversion are checked, and no subscript.
    assert!(made >= 2 && left_out >= 2, "{made} made, {left_out} left out");
}

#[test]
fn an_executable_is_the_program_and_has_its_settings() {
    let folder = std::env::temp_dir().join(format!("raddle-built-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for program in ["corpus/run/forks.occ", "corpus/run/fault.occ"] {
        let built = folder.join("prog");
        let made = raddle().args(["build", "--native", "-o"]).arg(&built).arg(program).output().unwrap();
        assert!(made.status.success(), "{}", text(&made.stderr));
        let plain = run(&["--workers", "2"], program);
        let mut command = Command::new(&built);
        // What is needed lies in it.
        command.env_clear().current_dir(&folder).stdin(Stdio::null());
        let output = command.args(["--workers", "2", "--native=all"]).output().unwrap();
        assert_eq!(text(&output.stdout), text(&plain.stdout), "{program}");
        assert_eq!(text(&output.stderr), text(&plain.stderr), "{program}");
        assert_eq!(output.status.code(), plain.status.code(), "{program}");
        let wrong = Command::new(&built).env_clear().arg("--nonsense").output().unwrap();
        assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong.stderr));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn code_can_be_read() {
    let emitted = |kind| {
        let output = raddle().args(["build", "--emit", kind, "corpus/run/forks.occ"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(emitted("clif").contains("return_call_indirect"));
    assert!(emitted("asm").contains("; "));
}

#[test]
fn an_object_file_has_the_names_of_routines() {
    let folder = std::env::temp_dir().join(format!("raddle-object-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("forks.occ");
    std::fs::copy(self::folder().join("corpus/run/forks.occ"), &program).unwrap();
    let output = raddle().args(["build", "--emit", "obj"]).arg(&program).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Next to the source.
    let listed = Command::new("nm").arg(folder.join("forks.o")).output().unwrap();
    let (listed, said) = (text(&listed.stdout), text(&listed.stderr));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(listed.lines().any(|line| line.ends_with(" t main")), "{listed}{said}");
    assert!(listed.lines().any(|line| line.ends_with(" D raddle_codes")), "{listed}{said}");
    assert!(!listed.contains(" U "), "{listed}");
}

/// A program with a PROC that is called often: its third line adds.
const ADDS: &str = "PROC count.up (VAL INT by, INT sum)
  SEQ i = 0 FOR 1000
    sum := sum >< (i + by)
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  INT sum:
  SEQ
    sum := 0
    SEQ i = 0 FOR 1000
      count.up (i, sum)
    IF
      sum = 0
        screen ! '0'
      TRUE
        screen ! '1'
:
";

/// What gdb says of a program that it runs; `None` if there is no gdb, or the kernel lets it run none.
fn gdb(program: &Path, arguments: &[&str], commands: &[&str], folder: &Path) -> Option<String> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set breakpoint pending on"]);
    commands.iter().for_each(|command| _ = gdb.args(["-ex", command]));
    gdb.arg("--args").arg(program).args(arguments).current_dir(folder).stdin(Stdio::null());
    let said = gdb.output().ok()?;
    let said = text(&said.stdout) + &text(&said.stderr);
    (!said.contains("Operation not permitted")).then_some(said)
}

#[test]
fn gdb_sees_routines_and_lines() {
    let folder = std::env::temp_dir().join(format!("raddle-gdb-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("adds.occ"), ADDS).unwrap();
    let built = folder.join("adds");
    let made = raddle().current_dir(&folder).args(["build", "--native", "adds.occ"]).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    let commands = ["break adds.occ:3", "run", "backtrace 1", "list", "kill"];
    let said = gdb(&built, &["--native=all", "--workers", "1"], &commands, &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    let Some(said) = said else { return left_out("gdb is not there, or may run no program") };
    assert!(said.contains("Breakpoint 1, count.up () at adds.occ:3"), "{said}");
    assert!(said.contains("sum := sum >< (i + by)"), "{said}");
}

#[test]
fn perf_finds_the_names_of_routines() {
    let mut command = raddle();
    command.args(["run", "--native=all", "--perf-map", "--workers", "1", "corpus/run/forks.occ"]);
    let child = command.stdout(Stdio::null()).spawn().unwrap();
    // It becomes the program that has the compiler, and stays the same process.
    let map = PathBuf::from(format!("/tmp/perf-{}.map", child.id()));
    assert!(child.wait_with_output().unwrap().status.success());
    let names = std::fs::read_to_string(&map).unwrap();
    std::fs::remove_file(&map).unwrap();
    assert!(names.contains("main (corpus/run/forks.occ:"), "{names}");
}

#[test]
fn a_program_that_computes_is_compiled() {
    let folder = std::env::temp_dir().join(format!("raddle-native-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("loop.occ");
    let source = "PROC main (CHAN BYTE keyboard?, screen!, error!)\n  \
                    INT sum:\n  SEQ\n    sum := 0\n    SEQ i = 0 FOR 20000000\n      sum := sum >< i\n    \
                    IF\n      sum = 0\n        screen ! '0'\n      TRUE\n        screen ! '1'\n:\n";
    std::fs::write(&program, source).unwrap();
    let program = program.to_str().unwrap();
    let time = |options: &[&str]| {
        let begun = std::time::Instant::now();
        let output = run(options, program);
        assert!(output.status.success(), "{}", text(&output.stderr));
        (begun.elapsed(), text(&output.stdout))
    };
    let (interpreted, wrote) = time(&["--workers", "1"]);
    let (native, wrote_native) = time(&["--native", "--workers", "1"]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(wrote_native, wrote);
    assert!(native * 2 < interpreted, "native {native:?}, interpreted {interpreted:?}");
}
