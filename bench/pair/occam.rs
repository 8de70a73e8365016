//! Owns: one PAR of two processes and one communication between them, again and again.
//! May use: occam.
//! Never: a PAR that the compiler could make a sequence.

use std::process::ExitCode;

use bench_occam::OccamProgram;
use raddle_measure::{Job, Sample, program};

const SOURCE: &str = r"
PROC main (CHAN BYTE keyboard?, screen!, error!)
  INITIAL INT sum IS 0:
  SEQ
    SEQ i = 0 FOR $rounds
      CHAN INT c:
      INT t:
      SEQ
        PAR
          c ! i /\ 1023
          c ? t
        sum := sum + t
    write (INT64 sum, screen!)
:
";

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let compiled = OccamProgram::compile(SOURCE, job, &["rounds"])?;
    job.plan.time(job.number("rounds")?, || compiled.number(job.workers))
}
