//! Owns: the occam programmers' commstime, as they write it: prefix, delta and succ in a loop, and a consumer.
//! May use: occam.
//! Never: a process that the network does not need; it ends by a last number that goes once round.

use std::process::ExitCode;

use bench_occam::OccamProgram;
use raddle_measure::{Job, Sample, program};

const SOURCE: &str = r#"
PROC delta (CHAN INT in?, one!, other!)
  INITIAL BOOL going IS TRUE:
  WHILE going
    INT n:
    SEQ
      in ? n
      $delta
        one ! n
        other ! n
      going := n >= 0
:
PROC prefix (CHAN INT in?, out!)
  INITIAL INT n IS 0:
  SEQ
    WHILE n >= 0
      SEQ
        out ! n
        in ? n
    out ! n
:
PROC succ (CHAN INT in?, out!)
  INITIAL INT n IS 0:
  WHILE n >= 0
    SEQ
      in ? n
      IF
        n < 0
          SKIP
        n = $loops
          out ! -1
        TRUE
          out ! n + 1
:
PROC consumer (CHAN INT in?, CHAN BYTE screen!)
  INITIAL INT64 sum IS 0(INT64):
  SEQ
    SEQ i = 0 FOR $loops
      INT n:
      SEQ
        in ? n
        sum := sum PLUS (INT64 n)
    INT last:
    SEQ
      in ? last
      in ? last
    write (sum, screen!)
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  CHAN INT a, b, c, d:
  PAR
    prefix (c?, a!)
    delta (a?, b!, d!)
    succ (b?, c!)
    consumer (d?, screen!)
:
"#;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let source = SOURCE.replace("$delta", if job.text("delta")? == "par" { "PAR" } else { "SEQ" });
    let compiled = OccamProgram::compile(&source, job, &["loops"])?;
    job.plan.time(4 * job.number("loops")?, || compiled.number(job.workers))
}
