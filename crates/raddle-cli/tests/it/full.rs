//! Owns: what stays of a file that cannot be written as a whole, and what a program does with too little memory.
//! May use: limits of the shell: on the size of files, which refuses a write as a full disk does, and on memory.
//! Never: a disk that is full for others.

use super::{raddle, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HELLO: &str = "PROC main (CHAN BYTE screen!)\n  screen ! 'h'\n:\n";

/// A folder of its own, which is gone when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, program: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("raddle-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is room");
        std::fs::write(path.join("it.occ"), program).expect("there is room");
        Folder(path)
    }

    /// What is in it.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it is there").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs `raddle` here after these commands of the shell.
    fn raddle_after(&self, before: &str, arguments: &[&str]) -> Output {
        let script = format!("{before}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.current_dir(&self.0).args(["-c", &script]).arg(program_of(&raddle())).args(arguments);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RADDLE_"))
        {
            command.env_remove(name);
        }
        command.output().expect("a shell starts")
    }
}

fn program_of(command: &Command) -> PathBuf {
    Path::new(command.get_program()).to_owned()
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Files may not grow; whoever writes gets an error instead of a signal.
const FULL: &str = "trap '' XFSZ; ulimit -f 0";

#[test]
fn bytecode_that_cannot_be_written_leaves_no_file() {
    let folder = Folder::with("full-rbc", HELLO);
    let output = folder.raddle_after(FULL, &["build", "-o", "it.rbc", "it.occ"]);
    assert_eq!(output.status.code(), Some(126), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("could not write"), "{}", text(&output.stderr));
    assert_eq!(folder.names(), ["it.occ"]);
}

#[test]
fn a_trace_that_cannot_be_written_leaves_no_file_and_the_program_runs() {
    for options in [&[][..], &["--stream"]] {
        let folder = Folder::with("full-rdt", HELLO);
        let arguments = [&["trace", "run", "-o", "it.rdt"], options, &["--", "it.occ"]].concat();
        let output = folder.raddle_after(FULL, &arguments);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "h"), "{said}");
        assert!(said.contains("the trace cannot be written"), "{said}");
        assert_eq!(folder.names(), ["it.occ"], "{options:?}");
    }
}

/// 1 GiB is what a program may use unless it is told otherwise; it is not what it needs.
#[test]
fn a_program_takes_the_memory_that_there_is() {
    let folder = Folder::with("little", HELLO);
    for kib in [800_000, 300_000, 100_000] {
        for workers in ["1", "2"] {
            let limit = format!("ulimit -v {kib}");
            let output = folder.raddle_after(&limit, &["run", "--workers", workers, "it.occ"]);
            let said = text(&output.stderr);
            let ended = (output.status.code(), text(&output.stdout));
            assert_eq!(ended, (Some(0), "h".to_owned()), "{kib} KiB, {workers} workers: {said}");
        }
    }
}

#[test]
fn a_program_that_needs_more_memory_than_there_is_ends_as_the_table_says() {
    let source = "PROC main (CHAN BYTE screen!)\n  INITIAL INT n IS 100000000:\n  MOBILE []INT a:\n  SEQ\n    \
                  a := MOBILE [n]INT\n    a[n - 1] := 1\n    screen ! BYTE a[n - 1]\n:\n";
    let folder = Folder::with("more", source);
    let output = folder.raddle_after("ulimit -v 300000", &["run", "it.occ"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("out of memory") && said.contains("of the 1024 MiB that it may use"), "{said}");
}
