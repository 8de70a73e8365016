//! Owns: the Transterpreter's replicated PAR, in occam.
//! May use: occam.
//! Never: less than the loop of 2007.

use std::process::ExitCode;

use raddle_measure::{Job, Sample, program};

const SOURCE: &str = r"
PROC main (CHAN BYTE keyboard?, screen!, error!)
  [$packets]INT got:
  [$packets * $grain]INT array:
  INITIAL INT64 sum IS 0(INT64):
  SEQ
    SEQ i = 0 FOR SIZE array
      array[i] := 0
    PAR i = 0 FOR $packets
      CHAN INT chan:
      INITIAL INT here IS 0:
      SEQ
        SEQ j = 0 FOR $rounds
          INT t:
          SEQ
            PAR
              SEQ
                SEQ k = 0 FOR $grain
                  array[($grain * i) + k] := array[($grain * i) + k] + i
                chan ! i
              chan ? t
            here := here + t
        got[i] := here
    SEQ i = 0 FOR SIZE got
      sum := sum + (INT64 got[i])
    SEQ i = 0 FOR SIZE array
      sum := sum + (INT64 array[i])
    write (sum, screen!)
:
";

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let rounds = job.number("packets")? * job.number("rounds")?;
    bench_occam::time(SOURCE, job, &["packets", "rounds", "grain"], rounds)
}
