//! Owns: what an occam program writes, beside reports, and to pipes of all kinds; options that fit no program.
//! May use: `libc`, for a pipe that does not make its writer wait.
//! Never: a time by which something must have been read.

use super::{raddle, text};
use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read as _, Write as _, pipe};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::{Output, Stdio};

/// A program in a file of its own.
fn program(name: &str, source: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("raddle-streams-{}-{name}.occ", std::process::id()));
    std::fs::write(&path, source).expect("there is room");
    path
}

/// Runs it with both streams into one pipe.
fn in_one(options: &[&str], path: &PathBuf) -> (String, Option<i32>) {
    let (mut reader, writer): (PipeReader, PipeWriter) = pipe().expect("there are pipes");
    let mut command = raddle();
    command.arg("run").args(options).arg(path).stdout(writer.try_clone().expect("it is open")).stderr(writer);
    let mut child = command.spawn().expect("it starts");
    // It has the writing end, too.
    drop(command);
    let mut both = Vec::new();
    reader.read_to_end(&mut both).expect("it can be read");
    (text(&both), child.wait().expect("it ends").code())
}

fn run(arguments: &[&str]) -> Output {
    raddle().args(arguments).output().expect("it starts")
}

#[test]
fn a_report_begins_a_line_of_its_own() {
    let source = "PROC main (CHAN BYTE screen!)\n  SEQ\n    screen ! 'h'\n    STOP\n:\n";
    let path = program("stop", source);
    for workers in ["1", "2"] {
        let (both, code) = in_one(&["--workers", workers], &path);
        assert!(both.starts_with("h\nrun-time error: "), "{both}");
        assert_eq!(code, Some(3));
        // The screen alone is the program's.
        assert_eq!(text(&run(&["run", "--workers", workers, path.to_str().unwrap()]).stdout), "h");
    }
    std::fs::remove_file(path).expect("it is there");
    let quiet = program("quiet", "PROC main (CHAN BYTE screen!)\n  screen ! 'h'\n:\n");
    assert_eq!(
        in_one(&[], &quiet),
        (String::from("h"), Some(0)),
        "where nothing is reported nothing is added"
    );
    std::fs::remove_file(quiet).expect("it is there");
}

/// Each key is written when the program has echoed the one before, and so waits for it.
#[test]
fn an_extended_input_waits_for_keys() {
    let source = "PROC main (CHAN BYTE keyboard?, screen!)
  BYTE ch:
  INITIAL INT n IS 0:
  SEQ i = 0 FOR 5
    SEQ
      keyboard ?? ch
        n := n + 1
      screen ! ch
      screen ! 255(BYTE)
:
";
    let path = program("keys", source);
    for workers in ["1", "2"] {
        let mut command = raddle();
        command.args(["run", "--workers", workers]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        for key in b"abcde" {
            keys.write_all(&[*key]).expect("it reads");
            let mut echo = [0];
            screen.read_exact(&mut echo).expect("it writes");
            assert_eq!(echo[0], *key, "{workers} workers");
        }
        assert!(child.wait().expect("it ends").success());
    }
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn a_pipe_that_does_not_make_its_writer_wait_gets_everything() {
    let source = "PROC main (CHAN BYTE screen!)\n  SEQ i = 0 FOR 200000\n    screen ! 'h'\n:\n";
    let path = program("pipe", source);
    for workers in ["1", "2"] {
        let (mut reader, writer) = pipe().expect("there are pipes");
        // SAFETY: it is open.
        assert_eq!(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) }, 0);
        let mut command = raddle();
        command.args(["run", "--workers", workers]).arg(&path).stdout(writer);
        let mut child = command.spawn().expect("it starts");
        drop(command);
        // It is full long before.
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut screen = Vec::new();
        reader.read_to_end(&mut screen).expect("it can be read");
        assert_eq!((screen.len(), child.wait().expect("it ends").code()), (200_000, Some(0)));
    }
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn an_option_that_a_program_has_no_use_for_is_refused() {
    let path = program("race", "PROC main (CHAN BYTE screen!)\n  SKIP\n:\n");
    let bytecode = path.with_extension("rbc");
    let (source, bytecode) = (path.to_str().unwrap(), bytecode.to_str().unwrap());
    assert_eq!(run(&["build", source, "-o", bytecode]).status.code(), Some(0));
    assert_eq!(run(&["run", bytecode]).status.code(), Some(0));
    let compilers: [&[&str]; 4] = [&["--debug"], &["-D", "X"], &["--deny", "warnings"], &["-I", "."]];
    for option in compilers {
        for file in [bytecode, "/bin/true"] {
            let output = run(&[&["run"], option, &[file]].concat());
            assert_eq!(output.status.code(), Some(2), "{option:?} {file}");
            assert!(text(&output.stderr).contains(option[0]), "{}", text(&output.stderr));
        }
    }
    assert_eq!(run(&["run", "--memory", "8", bytecode]).status.code(), Some(0));
    assert_eq!(run(&["run", "--memory", "8", "/bin/true"]).status.code(), Some(2));
    let output = run(&["run", "--memory", "0", bytecode]);
    assert!(text(&output.stderr).contains("MiB from 1 to 4095"), "{}", text(&output.stderr));
    File::open(bytecode).expect("nothing has been lost");
    [source, bytecode].iter().for_each(|file| std::fs::remove_file(file).expect("it is there"));
}
