//! Owns: updates of an array's elements, each with its subscript and its sum checked.
//! May use: occam.
//! Never: a subscript that the compiler knows.

use std::process::ExitCode;

use bench_occam::OccamProgram;
use raddle_measure::{Job, Sample, program};

const SOURCE: &str = r"
PROC main (CHAN BYTE keyboard?, screen!, error!)
  [1024]INT a:
  INITIAL INT sum IS 0:
  SEQ
    SEQ k = 0 FOR 1024
      a[k] := 0
    SEQ i = 0 FOR $rounds
      SEQ k = 0 FOR 1024
        a[k] := a[k] + k
    SEQ k = 0 FOR 1024
      sum := sum + a[k]
    write (INT64 sum, screen!)
:
";

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let compiled = OccamProgram::compile(SOURCE, job, &["rounds"])?;
    job.plan.time(1024 * job.number("rounds")?, || compiled.number(job.workers))
}
