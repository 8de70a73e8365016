//! `raddle trace` on occam programs: processes go by their PROC and line, and a deadlock leaves its trace behind.

use std::path::PathBuf;

use super::{raddle, text};

const RING: &str = "\
PROC stage (CHAN INT in?, out!)
  INT x:
  SEQ i = 0 FOR 200
    SEQ
      in ? x
      out ! x + 1
:
PROC sink (CHAN INT in?)
  INT x:
  SEQ i = 0 FOR 200
    in ? x
:
PROC main (CHAN BYTE kyb?, scr!, err!)
  [21]CHAN INT c:
  PAR
    SEQ i = 0 FOR 200
      c[0] ! i
    PAR i = 0 FOR 20
      stage (c[i]?, c[i+1]!)
    sink (c[20]?)
:
";

/// One token: there is never work for two.
const TOKEN: &str = "\
PROC stage (CHAN INT in?, out!)
  INT x:
  SEQ i = 0 FOR 500
    SEQ
      in ? x
      out ! x + 1
:
PROC main (CHAN BYTE kyb?, scr!, err!)
  [21]CHAN INT c:
  PAR
    PAR i = 0 FOR 20
      stage (c[i]?, c[i+1]!)
    INT x:
    SEQ i = 0 FOR 500
      SEQ
        c[0] ! i
        c[20] ? x
:
";

const DEADLOCK: &str = "\
PROC main (CHAN BYTE kyb?, scr!, err!)
  CHAN INT there, back:
  PAR
    INT x:
    SEQ
      there ? x
      back ! x
    INT x:
    SEQ
      back ? x
      there ! x
:
";

/// Traces a program, looks what its exit code is, and returns what `check` and `stats` say.
fn traced(name: &str, source: &str, workers: &str, code: i32) -> String {
    let path = |extension: &str| -> PathBuf {
        std::env::temp_dir().join(format!("raddle-cli-{name}-{workers}-{}.{extension}", std::process::id()))
    };
    let (program, trace, picture) = (path("occ"), path("rdt"), path("svg"));
    std::fs::write(&program, source).expect("there is room");
    let mut run = raddle();
    run.args(["trace", "run", "-o"]).arg(&trace).args(["--", "--workers", workers]).arg(&program);
    let output = run.output().expect("it starts");
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    let said = ["check", "stats"].map(|what| {
        let output = raddle().args(["trace", what]).arg(&trace).output().expect("it starts");
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    });
    let drawn = raddle().args(["trace", "graph"]).arg(&trace).output().expect("it starts");
    let drawn = (text(&drawn.stdout) + &text(&drawn.stderr), std::fs::read_to_string(&picture));
    let (told, Ok(svg)) = drawn else { panic!("{}", drawn.0) };
    assert!(
        told.contains(".svg") && svg.contains("who let them go on") && svg.ends_with("</svg>\n"),
        "{told}"
    );
    for file in [program, trace, picture] {
        std::fs::remove_file(file).expect("it is ours");
    }
    said.concat()
}

#[test]
fn occam_processes_have_names_on_one_worker_and_on_two() {
    for workers in ["1", "2"] {
        let said = traced("ring", RING, workers, 0);
        assert!(said.contains(&format!("of {workers} workers in")) && said.contains(": sound\n"), "{said}");
        let threads: Vec<&str> =
            said.lines().filter(|line| line.contains(" 20 threads of stage (")).collect();
        assert!(threads.len() == 1 && threads[0].contains(".occ:19)"), "{said}");
        // Who waits, how, where and on which channel: of a stage, the sink, and the whole for its PAR.
        for place in [(" waited to receive at ", ".occ:5, `in`"), (" waited for a join at ", ".occ:15")] {
            let waits = |line: &str| line.contains(place.0) && line.contains(place.1);
            assert!(said.lines().any(waits), "{place:?} in {said}");
        }
    }
}

/// Two processes that compute for a moment and then wait for time, again and again.
const SLEEPERS: &str = "\
PROC sleeper (CHAN INT out!)
  TIMER clock:
  INT t:
  SEQ i = 0 FOR 40
    SEQ
      -- From now on: on a machine that stands still for a while, times that were fixed before are all over.
      clock ? t
      clock ? AFTER t PLUS 1000
      INITIAL INT sum IS 0:
      SEQ
        SEQ j = 0 FOR 500
          sum := sum PLUS j
        out ! sum
:
PROC main (CHAN BYTE keyboard?, screen!, error!)
  CHAN INT c, d:
  PAR
    sleeper (c!)
    sleeper (d!)
    SEQ i = 0 FOR 40
      INT x:
      SEQ
        c ? x
        d ? x
:
";

/// Whoever runs the whole program on one worker waits there for the clock, which is idle time as any other.
#[test]
fn waits_for_time_are_counted_as_they_are_recorded() {
    for workers in ["1", "2"] {
        let said = traced("sleepers", SLEEPERS, workers, 0);
        assert!(said.contains(": sound\n"), "{said}");
        let counted = said.lines().find(|line| line.starts_with("idle_incidents"));
        // By whichever worker runs the machine.
        assert!(
            counted.is_some_and(|line| line.split_whitespace().skip(1).any(|count| count != "0")),
            "{said}"
        );
    }
}

/// What a foreign file must not say to a terminal is one list, which stands in two crates.
#[test]
fn names_in_bytecode_and_in_traces_are_cleaned_alike() {
    for it in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
        let cleaned = raddle_bytecode::printable(&it.to_string()) == "\u{fffd}" && it != '\u{fffd}';
        assert_eq!(cleaned, raddle_trace::text::commands_a_terminal(it), "{it:?}");
    }
}

/// Traced or not, it runs on one worker as long as there is no work for two. And nobody is told to place processes.
#[test]
fn a_traced_token_stays_on_one_worker() {
    let said = traced("token", TOKEN, "2", 0);
    assert!(said.contains(": sound\n") && said.contains("at least two workers at once 0 ns"), "{said}");
    assert!(!said.contains("spawn_on") && !said.contains("RADDLE_"), "{said}");
}

#[test]
fn a_deadlock_leaves_its_trace_behind() {
    let said = traced("deadlock", DEADLOCK, "2", 3);
    assert!(said.contains(": sound\n"), "{said}");
}

#[test]
fn a_trace_is_never_overwritten_by_what_is_made_of_it() {
    let number = std::process::id();
    let path = |name: &str| std::env::temp_dir().join(format!("raddle-cli-{number}-{name}"));
    let (program, recorded, trace) = (path("kept.occ"), path("kept.rdt"), path("kept.html"));
    std::fs::write(&program, RING).expect("there is room");
    let run = raddle().args(["trace", "run", "-o"]).arg(&recorded).arg("--").arg(&program).output();
    assert!(run.expect("it starts").status.success());
    std::fs::rename(&recorded, &trace).expect("both lie in one folder");
    let before = std::fs::read(&trace).expect("a trace");
    let view = raddle().args(["trace", "view"]).arg(&trace).output().expect("it starts");
    assert!(!view.status.success());
    assert!(text(&view.stderr).contains("is the trace itself"), "{}", text(&view.stderr));
    let export = raddle().args(["trace", "export", "--format", "csv", "-o"]).arg(&trace).arg(&trace).output();
    assert!(!export.expect("it starts").status.success());
    let graph = raddle().args(["trace", "graph", "-o"]).arg(&trace).arg(&trace).output();
    assert!(!graph.expect("it starts").status.success());
    assert_eq!(std::fs::read(&trace).expect("a trace"), before);
    std::fs::remove_file(&program).expect("it is there");
    std::fs::remove_file(&trace).expect("it is there");
}

/// Two million records of one worker, in which two threads take turns: half of the memory allowed below would not hold
/// them all, analysed.
fn long_trace(path: &std::path::Path) {
    use raddle_trace::clock::Reading;
    use raddle_trace::{Event, Record, StopReason, event, file::Writer};
    let file = std::io::BufWriter::new(std::fs::File::create(path).expect("there is room"));
    let mut writer = Writer::begin(file, [("program", "long")]).expect("there is room");
    let reading = |ns| Reading { ticks: ns, monotonic_ns: ns, realtime_ns: ns };
    writer.clock(&[reading(0), reading(200_000_000)]).expect("there is room");
    let record = |n: u64| {
        let (thread, yielded) = (n as u32 % 2 + 1, event::pack(StopReason::Yield as u8, 0));
        Record::new(n * 100, Event::Switch, thread, yielded)
    };
    for first in (0..2_000_000).step_by(1 << 16) {
        let records: Vec<Record> = (first..(first + (1 << 16)).min(2_000_000)).map(record).collect();
        writer.records(0, first as usize, &records).expect("there is room");
    }
    writer.end().expect("there is room");
}

#[test]
fn a_long_trace_needs_memory_for_what_is_asked_for_and_shows_no_bar_in_a_pipe() {
    let path = |extension: &str| -> PathBuf {
        std::env::temp_dir().join(format!("raddle-cli-long-{}.{extension}", std::process::id()))
    };
    let (trace, out) = (path("rdt"), path("out"));
    long_trace(&trace);
    // In so many KiB of addresses, the program and all.
    let within = |words: &[&str]| {
        let mut run = std::process::Command::new("sh");
        run.args(["-c", "ulimit -v 150000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_raddle"), "trace"]);
        let output = run.args(words).arg(&trace).output().expect("it starts");
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr), "", "{words:?}");
        text(&output.stdout)
    };
    assert_eq!(within(&["check"]), "2000000 events of 1 workers in 200 ms: sound\n");
    let mut piped = std::process::Command::new("sh");
    piped.args(["-c", "cat \"$2\" | \"$1\" trace check /dev/stdin", "sh", env!("CARGO_BIN_EXE_raddle")]);
    let output = piped.arg(&trace).output().expect("it starts");
    assert_eq!(text(&output.stdout), "2000000 events of 1 workers in 200 ms: sound\n", "out of a pipe");
    let file = out.to_str().expect("it is text");
    let range = ["--from", "100ms", "--until", "100100us"];
    let said = within(&[&["stats"][..], &range].concat());
    assert!(said.contains("wall 100 us"), "{said}");
    for format in ["perfetto", "eventlog"] {
        within(&[&["export", "--format", format, "-o", file][..], &range].concat());
        let bytes = std::fs::metadata(&out).expect("it is there").len();
        assert!((1000..1_000_000).contains(&bytes), "{format}: {bytes} bytes");
    }
    within(&[&["view", "-o", file][..], &range].concat());
    within(&["export", "--format", "csv", "-o", file]);
    let table = std::fs::read(&out).expect("it is there");
    assert_eq!(table.iter().filter(|byte| **byte == b'\n').count(), 2_000_001);
    for file in [trace, out] {
        std::fs::remove_file(file).expect("it is ours");
    }
}

#[test]
fn a_part_that_ends_before_it_begins_is_refused() {
    for words in
        [&["stats"][..], &["view"], &["export", "--format", "csv"], &["export", "--format", "perfetto"]]
    {
        let range = ["--from", "2ms", "--until", "1ms", "no-such.rdt"];
        let output = raddle().arg("trace").args(words).args(range).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains("`--until` is before `--from`"), "{words:?}: {said}");
    }
}
