//! Owns: occam programs over ranks, under each MPI that is here: what they write, and what ends them, by name.
//! May use: `raddle-mpi`.
//! Never: expecting that something takes less than a time.
//!
//! The group `mpi` of tests sets `TEST_MPI`, without which nothing is done: `mpirun` is not everywhere.

#[path = "../../raddle-mpi/tests/support/mod.rs"]
mod support;

use raddle_mpi::install::Flavour;
use std::path::{Path, PathBuf};
use support::{Ended, Job, Running, each_mpi};

const RADDLE: &str = env!("CARGO_BIN_EXE_raddle");

fn run(mpi: Flavour, ranks: usize, program: &Path) -> Ended {
    let program = program.to_str().expect("a path of this repository");
    // With more ranks than processors, and other tests beside them, one may stand still in MPI for longer than that.
    Job::of(mpi, ranks, RADDLE, &["run", "--ranks", program]).with("RADDLE_SLOW_SLICE", "off").run()
}

/// A program in a file of its own.
fn written(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/run").join(name)
}

/// The same source, and the same output, as on one machine.
fn is_as_alone(name: &str) {
    let (program, expected) =
        (corpus(&format!("{name}.occ")), corpus(name).with_file_name(format!("{name}.expected")));
    let expected = std::fs::read_to_string(expected).expect("what it writes");
    each_mpi(|mpi| {
        for ranks in [1, 2, 4] {
            let ended = run(mpi, ranks, &program);
            ended.expect_well();
            ended.expect_all(&expected);
        }
    });
}

#[test]
fn a_ring_over_ranks_is_as_alone() {
    is_as_alone("placed-ring");
}

#[test]
fn commstime_over_ranks_is_as_alone() {
    is_as_alone("placed-commstime");
}

#[test]
fn a_farm_over_ranks_is_as_alone() {
    is_as_alone("placed-farm");
}

#[test]
fn a_sort_pump_over_ranks_is_as_alone() {
    is_as_alone("placed-pump");
}

#[test]
fn messages_of_all_kinds_over_ranks_are_as_alone() {
    is_as_alone("placed-mixed");
}

/// Several programs beside each other, each on one rank.
#[test]
fn ranks_of_two_programs_are_told() {
    let program = |item: &str| {
        format!(
            "PROC main (CHAN BYTE screen!)\n  CHAN {item} c:\n  PLACED PAR\n    PROCESSOR 0\n      c ! 1({item})\n\
             \x20   PROCESSOR 1\n      {item} x:\n      c ? x\n:\n"
        )
    };
    let [first, second] = ["INT32", "INT64"].map(|item| written(&format!("of-{item}.occ"), &program(item)));
    let [first, second] = [&first, &second].map(|path| path.to_str().expect("a path"));
    each_mpi(|mpi| {
        let line = ["run", "--ranks", first, ":", "-np", "1", RADDLE, "run", "--ranks", second];
        let ended = Job::of(mpi, 1, RADDLE, &line).run();
        ended.expect_ill();
        ended.expect("rank 0: rank 1 runs another program than rank 0");
    });
}

const STOPS: &str = "\
PROC node (VAL INT i, CHAN INT in?, out!)
  INT x:
  SEQ
    in ? x
    IF
      i = 1
        STOP
      TRUE
        out ! x
:
PROC main (CHAN BYTE screen!)
  [4]CHAN INT c:
  PLACED PAR
    c[0] ! 7
    PLACED PAR i = 0 FOR 3
      PROCESSOR i
        node (i, c[i]?, c[i + 1]!)
    INT x:
    c[3] ? x
:
";

#[test]
fn an_error_of_one_rank_ends_all_with_its_place() {
    let stops = written("stops.occ", STOPS);
    let divides = written("divides.occ", &STOPS.replace("        STOP\n", "        out ! x / (i - 1)\n"));
    each_mpi(|mpi| {
        for ranks in [2, 4] {
            let ended = run(mpi, ranks, &stops);
            ended.expect_ill();
            ended.expect("rank 1: run-time error: STOP: the process came to a STOP");
            ended.expect("stops.occ:7:9: `node` STOP");
            let ended = run(mpi, ranks, &divides);
            ended.expect_ill();
            ended.expect("rank 1: run-time error: division by zero");
            ended.expect("begun at");
        }
    });
}

#[test]
fn a_deadlock_over_ranks_names_each_wait_and_the_circle() {
    let text = "\
PROC node (CHAN INT in?, out!)
  INT x:
  SEQ
    in ? x
    out ! x
:
PROC main (CHAN BYTE screen!)
  [4]CHAN INT ring:
  PLACED PAR i = 0 FOR 4
    node (ring[i]?, ring[(i + 1) \\ 4]!)
:
";
    let program = written("circle.occ", text);
    each_mpi(|mpi| {
        let ended = run(mpi, 4, &program);
        ended.expect_ill();
        ended.expect("deadlock over 4 ranks");
        ended.expect("these ranks wait for each other in a circle");
        for (rank, other) in [(0, 3), (3, 2), (2, 1), (1, 0)] {
            let wait = format!("rank {rank} for rank {other}: `node, index {rank}` at ");
            ended.expect(&wait);
            ended.expect(&format!("rank {rank}: deadlock: 2 processes wait"));
        }
        let ended = run(mpi, 2, &program);
        ended.expect("rank 0 for rank 1: `node, index 0` at ");
        ended.expect("rank 1 for rank 0: `node, index 2` at ");
    });
}

#[test]
fn who_waits_for_a_branch_that_has_ended_is_told() {
    let text = "\
PROC main (CHAN BYTE screen!)
  CHAN INT c:
  PLACED PAR
    PROCESSOR 0
      INT x:
      c ? x
    PROCESSOR 1
      SEQ
        c ! 1
        c ! 2
:
";
    let program = written("ended.occ", text);
    each_mpi(|mpi| {
        let ended = run(mpi, 2, &program);
        ended.expect_ill();
        ended.expect("rank 0: deadlock: 1 process waits");
        ended.expect("`main` waits for the branches of its PLACED PAR on other ranks");
        ended.expect("nobody else can end the wait of this one");
        ended.expect("`main` waits to output on channel `c`");
    });
}

#[test]
fn what_ranks_cannot_share_is_refused_with_its_place() {
    let text = "\
PROC main (CHAN BYTE keyboard?, SHARED CHAN BYTE screen!)
  [2]INT x:
  CHAN MOBILE []INT m:
  PLACED PAR
    PROCESSOR 1
      x[0] := 1
    PROCESSOR 1
      CLAIM screen!
        screen ! 'a'
    PROCESSOR 1
      MOBILE []INT y:
      SEQ
        y := MOBILE [4]INT
        y[0] := 1
        m ! y
    PROCESSOR 0
      MOBILE []INT y:
      m ? y
:
";
    let refused = written("refused.occ", text);
    let keyboard = "\
PROC main (CHAN BYTE keyboard?, screen!)
  PLACED PAR
    PROCESSOR 1
      BYTE key:
      keyboard ? key
:
";
    let keyboard = written("keyboard.occ", keyboard);
    each_mpi(|mpi| {
        let ended = run(mpi, 2, &refused);
        ended.expect_ill();
        for reason in ["the SHARED channel `screen`", "a branch changes `x`", "channel `m` have MOBILEs"] {
            ended.expect(reason);
        }
        ended.expect("refused.occ:4:3");
        let ended = run(mpi, 2, &keyboard);
        ended.expect_ill();
        ended.expect("reads the keyboard, which is rank 0's");
        // The rank that says it begins later than the other one has ended.
        let late =
            "test \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 0 && sleep 0.4; exec \"$0\" run --ranks \"$1\"";
        let ended = Job::of(mpi, 2, "sh", &["-c", late, RADDLE, keyboard.to_str().expect("a path")]).run();
        ended.expect_ill();
        ended.expect("reads the keyboard, which is rank 0's");
    });
}

#[test]
fn a_placed_par_beside_other_processes_is_told() {
    let text = "\
PROC main (CHAN BYTE screen!)
  CHAN INT c:
  PAR
    PLACED PAR
      PROCESSOR 1
        c ! 1
    INT x:
    c ? x
:
";
    let program = written("beside.occ", text);
    each_mpi(|mpi| {
        let ended = run(mpi, 2, &program);
        ended.expect_ill();
        ended.expect("it stands beside other processes, which all ranks would have");
        ended.expect("beside.occ:4:5: `main` cannot be placed");
    });
}

const TURNS: &str = "\
PROC main (CHAN BYTE screen!)
  [2]CHAN INT c:
  PLACED PAR
    PROCESSOR 0
      TIMER clock:
      INT now, x:
      SEQ
        c[0] ! 1
        c[1] ? x
        screen ! 'g'
        screen ! 'o'
        screen ! '*n'
        WHILE TRUE
          SEQ
            c[0] ! 1
            c[1] ? x
            clock ? now
            clock ? AFTER now PLUS 1000
    PROCESSOR 1
      INT x:
      WHILE TRUE
        SEQ
          c[0] ? x
          c[1] ! x
:
";

/// Whoever waits for a message of occam's has no deadline; that a rank is gone is found all the same.
#[test]
fn a_rank_that_is_stopped_or_killed_ends_all_and_so_does_ctrl_c() {
    let program = written("turns.occ", TURNS);
    let program = program.to_str().expect("a path of this repository");
    each_mpi(|mpi| {
        let job = || {
            let job = Job::of(mpi, 2, RADDLE, &["run", "--ranks", program]).with("MPI_DEADLINE", "3");
            job.with("RADDLE_SLOW_SLICE", "off")
        };
        let during = |job: Job, does: &(dyn Fn(&Running) + Sync)| {
            job.run_with(|running| {
                running.wait_for("go\n");
                does(running);
            })
        };
        for (rank, other) in [(1, 0), (0, 1)] {
            let ended = during(job(), &|running| running.signal_rank(rank, "-STOP"));
            ended.expect_ill();
            ended.expect(&format!(
                "rank {other}: rank {rank} has said nothing for 3s: it is stopped, or its machine"
            ));
        }
        let ended = during(job(), &|running| running.signal_rank(1, "-KILL"));
        ended.expect_ill();
        ended.expect("ignal 9");
        // What `mpirun` answers then is its own affair; nobody is left behind.
        during(job(), &|running| running.signal_launcher("-INT")).expect("go");
        let ended = job().with("MPI_DEADLINE", "soon").run();
        ended.expect_ill();
        ended.expect("MPI_DEADLINE is \"soon\", and is to be seconds, 0.1 at least");
    });
}

/// A screen that takes nothing for longer than the deadline is no reason to give up a rank, which is heard by whoever
/// writes there.
#[test]
fn who_waits_for_its_screen_gives_up_no_rank() {
    let text = "\
PROC main (CHAN BYTE screen!)
  CHAN INT c:
  PLACED PAR
    PROCESSOR 0
      INT x:
      c ? x
    PROCESSOR 1
      SEQ
        SEQ i = 0 FOR 200000
          screen ! 'x'
        c ! 1
:
";
    let program = written("much.occ", text);
    let program = program.to_str().expect("a path of this repository");
    // Four thirds of the deadline without a word are needed, and some more.
    let line = format!("'{RADDLE}' run --ranks '{program}' | (sleep 5; wc -c)");
    each_mpi(|mpi| {
        let job = Job::of(mpi, 2, "sh", &["-c", &line]).with("MPI_DEADLINE", "1");
        let ended = job.with("RADDLE_SLOW_SLICE", "off").run();
        ended.expect_well();
        ended.expect("200000");
        ended.expect_not("said nothing");
    });
}

#[test]
fn raddle_starts_as_many_ranks_as_it_is_told() {
    let program = corpus("placed-ring.occ");
    let program = program.to_str().expect("a path of this repository");
    each_mpi(|mpi| {
        // One: Open MPI starts no more than there are cores unless it is told to.
        let ended = Job::alone(mpi, RADDLE, &["run", "--ranks=1", program]).run();
        ended.expect_well();
        ended.expect_all("9\n");
    });
}
