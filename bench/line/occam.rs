//! Owns: a line of processes, each of which takes a number from its left, adds 1 and hands it to its right, in occam.
//! May use: occam.
//! Never: a slot between two of them.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

const SOURCE: &str = r"
PROC stage (CHAN INT in?, out!)
  SEQ i = 0 FOR $messages
    INT n:
    SEQ
      in ? n
      out ! n + 1
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  [$stages + 1]CHAN INT c:
  INITIAL INT64 sum IS 0(INT64):
  SEQ
    PAR
      PAR i = 0 FOR $stages
        stage (c[i]?, c[i + 1]!)
      SEQ i = 0 FOR $messages
        c[0] ! i
      SEQ i = 0 FOR $messages
        INT n:
        SEQ
          c[$stages] ? n
          sum := sum + (INT64 n)
    write (sum, screen!)
:
";

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let passed = job.number("stages")? * job.number("messages")?;
    bench_occam::time(SOURCE, job, &["stages", "messages"], passed)
}
