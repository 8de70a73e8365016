//! Owns: a crowd of processes that are all alive at once, in a line through which one number goes.
//! May use: occam.
//! Never: counts the line's channels as the processes' own: they are 4 bytes each.

use std::process::ExitCode;

use bench_occam::OccamProgram;
use raddle_measure::machine::Memory;
use raddle_measure::{Job, Sample, program};

const SOURCE: &str = r"
PROC main (CHAN BYTE keyboard?, screen!, error!)
  [$count + 1]CHAN INT c:
  CHAN INT all.there:
  PAR
    PAR i = 0 FOR $count
      INT x:
      SEQ
        IF
          i = ($count - 1)
            all.there ! i
          TRUE
            SKIP
        c[i] ? x
        c[i + 1] ! x + 1
    INT n:
    SEQ
      all.there ? n
      screen ! '@'
      screen ! 255
      c[0] ! 0
      c[$count] ? n
      write (INT64 n, screen!)
:
";

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let compiled = OccamProgram::compile(SOURCE, job, &["count"])?;
    let count = job.number("count")?;
    let before = Memory::now()?.resident;
    let (_, resident) = compiled.run(job.workers)?;
    let bytes = resident.ok_or("the program did not say when all were there")?.saturating_sub(before);
    let samples = job.plan.time(count, || compiled.number(job.workers))?;
    Ok(samples.into_iter().map(|sample| sample.with("resident_bytes", bytes as f64 / count as f64)).collect())
}
