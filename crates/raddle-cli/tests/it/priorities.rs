//! Owns: GETPRI and SETPRI: who goes first.
//! May use: `programs`, which compiles and runs.
//! Never: an order on several workers, each of which looks at its own queue.

use super::programs::{compile, run};
use raddle_host::RunOptions;

/// Whoever has chosen a priority gives way to those who have not come to it, and then the highest goes first.
const ORDER: &str = "PROC say (VAL INT priority, VAL BYTE ch, SHARED CHAN BYTE out!)
  SEQ
    SETPRI (priority)
    CLAIM out!
      out ! ch
:
PROC main (SHARED CHAN BYTE screen!)
  PAR
    say (31, 'c', screen!)
    say (20, 'b', screen!)
    say (5, 'a', screen!)
    say (31, 'c', screen!)
    say (20, 'b', screen!)
:
";

/// One of each: what computes without end lets a higher one run, and nobody waits for ever.
const BESIDE: &str = "PROC counts (VAL INT priority, CHAN BOOL stop?, CHAN INT done!)
  INITIAL BOOL more IS TRUE:
  INITIAL INT rounds IS 0:
  SEQ
    SETPRI (priority)
    WHILE more
      PRI ALT
        BOOL any:
        stop ? any
          more := FALSE
        SKIP
          rounds := rounds PLUS 1
    done ! rounds
:
PROC main (CHAN BYTE screen!)
  [3]CHAN BOOL stop:
  [3]CHAN INT done:
  PAR
    PAR i = 0 FOR 3
      counts (10 + (6 * i), stop[i]?, done[i]!)
    SEQ
      SETPRI (0)
      SEQ i = 0 FOR 3
        INT n:
        SEQ
          stop[i] ! TRUE
          done[i] ? n
      screen ! 'e'
:
";

#[test]
fn the_highest_priority_goes_first_on_one_worker() {
    let compiled = compile(ORDER);
    let base = RunOptions { workers: 1, memory_bytes: 1 << 20, ..RunOptions::default() };
    assert_eq!(run(&compiled, base.clone()).as_deref(), Some("abbcc"));
    for seed in 1..30 {
        let seeded = RunOptions { seed: Some(seed), ..base.clone() };
        assert_eq!(run(&compiled, seeded).as_deref(), Some("abbcc"), "{seed}");
    }
}

#[test]
fn on_several_workers_all_of_them_come_to_their_turn() {
    for (text, wanted) in [(ORDER, "abbcc"), (BESIDE, "e")] {
        let compiled = compile(text);
        for workers in [1, 2, 8] {
            for at_once in [false, true] {
                let options = RunOptions { workers, at_once, memory_bytes: 1 << 20, ..RunOptions::default() };
                let mut got = run(&compiled, options).unwrap_or_default().into_bytes();
                got.sort_unstable();
                assert_eq!(String::from_utf8_lossy(&got), wanted, "{workers} workers, at once: {at_once}");
            }
        }
    }
}
