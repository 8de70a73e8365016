//! Owns: a ring of processes that passes a token round, as occam's programmers measure.
//! May use: occam.
//! Never: two tokens.

use std::process::ExitCode;

use bench_occam::OccamProgram;
use raddle_measure::{Job, Sample, program};

const SOURCE: &str = r"
PROC element (CHAN INT in?, out!)
  INITIAL INT n IS 0:
  WHILE n >= 0
    SEQ
      in ? n
      IF
        n < 0
          out ! n
        TRUE
          out ! n + 1
:
PROC root (CHAN INT in?, out!, CHAN BYTE screen!)
  INITIAL INT n IS 0:
  SEQ
    SEQ i = 0 FOR $rounds
      SEQ
        out ! n + 1
        in ? n
    INT last:
    SEQ
      out ! -1
      in ? last
    write (INT64 n, screen!)
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  [$processes]CHAN INT c:
  PAR
    PAR i = 0 FOR $processes - 1
      element (c[i]?, c[i + 1]!)
    root (c[$processes - 1]?, c[0]!, screen!)
:
";

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let compiled = OccamProgram::compile(SOURCE, job, &["processes", "rounds"])?;
    let hops = job.number("processes")? * job.number("rounds")?;
    job.plan.time(hops, || compiled.number(job.workers))
}
