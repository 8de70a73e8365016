//! Owns: how long the front end takes for a line of a program full of PARs, from text to accepted.
//! May use: raddle-occam.
//! Never: a program with errors.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};
use raddle_occam::pre::NoFiles;
use raddle_occam::source::Sources;
use raddle_occam::{Options, analyse};

/// One of the many routines: every second line has accesses to be proved disjoint.
const UNIT: &str = "\
PROC stage$n ([]INT a, VAL INT n, CHAN INT in?, out!)
  INT x, y:
  SEQ
    in ? x
    PAR
      SEQ
        y := x + 1
        out ! y
      PAR i = 0 FOR n
        SEQ k = 0 FOR 4
          a[(4 * i) + k] := (i * x) + k
    IF
      x > 10
        PAR i = 0 FOR SIZE a
          a[i] := a[i] + 1
      TRUE
        SKIP
:
PROC net$n ([]INT a)
  CHAN INT c, d:
  PAR
    stage$n (a, (SIZE a) / 4, c?, d!)
    INT z:
    SEQ
      c ! 1
      d ? z
:
";

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    if let Ok(branches) = job.number("branches") {
        return analysed(job, branches, &wide(branches));
    }
    let units = job.number("lines")? / UNIT.lines().count() as u64;
    let text: String = (0..units).map(|number| UNIT.replace("$n", &number.to_string())).collect();
    analysed(job, text.lines().count() as u64, &text)
}

/// A PAR of so many branches, each with an element of an array and two channels of its own.
fn wide(branches: u64) -> String {
    let mut text = format!(
        "PROC pass (CHAN INT in?, out!, INT x)\n  SEQ\n    in ? x\n    out ! x\n:\n\
         PROC wide ()\n  [{branches}]INT a:\n  [{}]CHAN INT c:\n  PAR\n    INT z:\n    SEQ\n      \
         c[0] ! 1\n      c[{branches}] ? z\n",
        branches + 1
    );
    for at in 0..branches {
        text += &format!("    pass (c[{at}]?, c[{}]!, a[{at}])\n", at + 1);
    }
    text + ":\n"
}

fn analysed(job: &Job, count: u64, text: &str) -> Result<Vec<Sample>, String> {
    job.plan.time(count, || {
        let mut sources = Sources::new();
        let root = sources.add("bench.occ", text).expect("it is not too long");
        let analysis = analyse(&mut sources, root, &Options::default(), &mut NoFiles);
        let complaint = analysis.diagnostics().first();
        assert!(complaint.is_none(), "{}", raddle_occam::diag::render(complaint.expect("one"), &sources));
        analysis.program().routines.len() as u64
    })
}
