//! Foreign routines: what they get and give, on how many workers, and who is told what of them.

use super::{raddle, text};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A folder with the library and programs, which is gone when this is dropped.
struct Folder(PathBuf);

const ROUTINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/foreign/routines.c");
const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../raddle-host/include");
const ALL: &str = include_str!("foreign/all.occ");

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("raddle-foreign-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is room");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O2", "-I", HEADER, "-o"]);
        let compiled =
            compiler.arg(path.join("libroutines.so")).arg(ROUTINES).output().expect("there is a cc");
        assert!(compiled.status.success(), "{}", text(&compiled.stderr));
        std::fs::write(path.join("all.occ"), ALL).expect("there is room");
        Folder(path)
    }

    fn with(self, name: &str, program: &str) -> Folder {
        std::fs::write(self.0.join(name), program).expect("there is room");
        self
    }

    fn raddle(&self, arguments: &[&str]) -> Output {
        raddle().current_dir(&self.0).args(arguments).output().expect("it starts")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The first block of the page in that language.
fn on_the_page(language: &str) -> &'static str {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FOREIGN.md"));
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("the page has a block of it");
    rest.split_once("```").expect("the block ends").0
}

#[test]
fn the_example_of_the_page_does_what_it_says() {
    let folder = Folder::new("page").with("sum.occ", on_the_page("occam")).with("sum.c", on_the_page("c"));
    let options = ["-shared", "-fPIC", "-o", "libsum.so", "sum.c", "-I", HEADER];
    let compiled = Command::new("cc").current_dir(&folder.0).args(options).output().expect("there is a cc");
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    let output = folder.raddle(&["run", "sum.occ"]);
    assert_eq!(text(&output.stdout), on_the_page("text"), "{}", text(&output.stderr));
}

const LINK: [&str; 2] = ["--link", "./libroutines.so"];
const WRITTEN: &str = "10 200 375 -11  42  42x\n";

#[test]
fn routines_get_values_references_arrays_records_and_reals() {
    let folder = Folder::new("all");
    for how in [&["--workers", "1"][..], &["--workers", "2"], &["--seed", "7"], &["--debug=all"]] {
        let output = folder.raddle(&[&["run"], how, &LINK, &["all.occ"]].concat());
        assert_eq!(text(&output.stdout), WRITTEN, "{how:?}: {}", text(&output.stderr));
        assert!(output.status.success());
    }
}

#[test]
fn bytecode_says_what_it_calls_and_is_run_if_it_is_trusted() {
    let folder = Folder::new("trust");
    assert!(folder.raddle(&["build", "all.occ"]).status.success());
    let output = folder.raddle(&[&["run"], &LINK[..], &["all.rbc"]].concat());
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("such as `C.sum`") && text(&output.stderr).contains("--foreign"));
    let output = folder.raddle(&[&["run", "--foreign"], &LINK[..], &["all.rbc"]].concat());
    assert_eq!(text(&output.stdout), WRITTEN);
    let output = folder.raddle(&[&["run", "--no-foreign"], &LINK[..], &["all.occ"]].concat());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(126), 0));
    let listing = text(&folder.raddle(&["disasm", "all.rbc"]).stdout);
    assert!(listing.starts_with("foreign C.sum (v4.? a4)\nforeign C.mix (w l w w w l a8 a8)\n"), "{listing}");
}

#[test]
fn what_is_nowhere_is_told_before_the_program_begins() {
    let folder = Folder::new("nowhere").with(
        "it.occ",
        "#PRAGMA LINK \"no.such.library\"\n#PRAGMA EXTERNAL \"PROC C.no.such (INT x) = 0\"\n\
         PROC main (CHAN BYTE out!)\n  INT x:\n  SEQ\n    out ! 'a'\n    C.no.such (x)\n:\n",
    );
    let output = folder.raddle(&["run", "it.occ"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(126), 0), "{said}");
    assert!(said.contains("no C function `_no_such`, which is to be `C.no.such`"), "{said}");
    assert!(said.contains("no.such.library"), "{said}");
}

#[test]
fn a_fault_in_a_routine_is_its_own() {
    let program = "#PRAGMA LINK \"./libroutines.so\"\n#PRAGMA EXTERNAL \"PROC C.crash () = 0\"\n\
                   PROC main ()\n  C.crash ()\n:\n";
    let folder = Folder::new("crash").with("crash.occ", program);
    for workers in ["1", "2"] {
        let output = folder.raddle(&["run", "--workers", workers, "crash.occ"]);
        let said = text(&output.stderr);
        assert!(said.contains("the foreign routine `C.crash` was stopped by a signal"), "{said}");
        assert_eq!(output.status.signal(), Some(11), "{said}");
    }
}

/// The program stops while a routine still waits, which has the address of a variable.
#[test]
fn a_program_may_stop_while_a_routine_runs() {
    let program = r#"#PRAGMA LINK "./libroutines.so"
#PRAGMA EXTERNAL "PROC C.open () = 0"
#PRAGMA EXTERNAL "PROC B.receive (BYTE b) = 0"
PROC main ()
  SEQ
    C.open ()
    BYTE b:
    PAR
      B.receive (b)
      STOP
:
"#;
    let folder = Folder::new("stop").with("stop.occ", program);
    for workers in ["1", "2"] {
        let output = folder.raddle(&["run", "--workers", workers, "stop.occ"]);
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    }
}

/// A routine that waits for what never comes is cancelled, one that has got something is not, nor one that has ended.
#[test]
fn a_routine_on_a_thread_of_its_own_is_cancelled() {
    let program = r#"#INCLUDE "course.module"
#PRAGMA LINK "./libroutines.so"
#PRAGMA EXTERNAL "PROC C.open () = 0"
#PRAGMA EXTERNAL "PROC C.transmit (VAL BYTE b) = 0"
#PRAGMA EXTERNAL "PROC BX.receive.or.not (CHAN INT kill?, RESULT BYTE b, RESULT INT got) = 0"
#PRAGMA EXTERNAL "PROC C.killcall (CHAN INT kill!, RESULT INT result) = 0"
PROC stop (CHAN INT kill!)
  INITIAL INT result IS 1:
  WHILE result <> 0
    SEQ
      C.killcall (kill!, result)
      RESCHEDULE ()
:
PROC main (CHAN BYTE screen!)
  CHAN INT kill, other:
  BYTE b:
  INT got, result:
  SEQ
    C.open ()
    SEQ i = 0 FOR 20
      SEQ
        PAR
          BX.receive.or.not (kill?, b, got)
          stop (kill!)
        ASSERT (got = (-4))
    C.killcall (kill!, result)
    out.int (result, 0, screen!)
    PAR
      BX.receive.or.not (kill?, b, got)
      SEQ
        C.killcall (other!, result)
        out.int (result, 3, screen!)
        C.transmit ('y')
    out.int (got, 3, screen!)
    screen ! b
:
"#;
    let folder = Folder::new("cancel").with("cancel.occ", program);
    for how in [&["--workers", "1"][..], &["--workers", "2"], &["--seed", "7"]] {
        let output = folder.raddle(&[&["run"], how, &["cancel.occ"]].concat());
        assert_eq!(text(&output.stdout), "-1 -1  1y", "{how:?}: {}", text(&output.stderr));
    }
}

/// A pipeline whose stages do their work in C: hardly ever is anybody in the queue when a process is dispatched, but
/// somebody waits behind each call.
#[test]
fn long_calls_of_several_processes_run_side_by_side() {
    let program = r#"#PRAGMA EXTERNAL "PROC C.meet (INT ever) = 0"
VAL INT stages IS 6:
PROC stage (CHAN INT in?, out!)
  INT x, ever:
  SEQ i = 0 FOR 10
    SEQ
      in ? x
      C.meet (ever)
      out ! x \/ ever
:
PROC main (CHAN BYTE screen!)
  INT met:
  [stages + 1]CHAN INT c:
  PAR
    SEQ i = 0 FOR 10
      c[0] ! 0
    PAR i = 0 FOR stages
      stage (c[i]?, c[i + 1]!)
    SEQ
      SEQ i = 0 FOR 10
        c[stages] ? met
      screen ! '0' + (BYTE met)
:
"#;
    let folder = Folder::new("side").with("side.occ", program);
    for (workers, met) in [("1", "0"), ("2", "1")] {
        let output = folder.raddle(&[&["run", "--workers", workers], &LINK[..], &["side.occ"]].concat());
        assert_eq!(text(&output.stdout), met, "{workers}: {}", text(&output.stderr));
    }
}

#[test]
fn tests_may_call_foreign_routines() {
    let program = r#"#PRAGMA EXTERNAL "PROC C.sum (VAL []INT a, INT total) = 0"
#PRAGMA TEST
PROC sums ()
  INT n:
  SEQ
    C.sum ([4, 5], n)
    ASSERT (n = 9)
:
"#;
    let folder = Folder::new("tests").with("sums.occ", program);
    let output = folder.raddle(&[&["test", "--seeds", "2"], &LINK[..], &["sums.occ"]].concat());
    assert!(text(&output.stdout).contains("1 passed; 0 failed"), "{}", text(&output.stdout));
    assert_eq!(folder.raddle(&["test", "sums.occ"]).status.code(), Some(126));
}
