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

/// Everything that writes a file: its name, and the command.
const WRITERS: [(&str, &[&str]); 7] = [
    ("it.rbc", &["build", "it.occ"]),
    ("no.rdt", &["trace", "run", "-o", "no.rdt", "--", "it.occ"]),
    ("it.pftrace", &["trace", "export", "--format", "perfetto", "it.rdt"]),
    ("it.eventlog", &["trace", "export", "--format", "eventlog", "it.rdt"]),
    ("it.csv", &["trace", "export", "--format", "csv", "it.rdt"]),
    ("it.html", &["trace", "view", "it.rdt"]),
    ("it.svg", &["run", "--deadlock-graph", "it.svg", "stuck.occ"]),
];

const STUCK: &str = "PROC main (CHAN BYTE screen!)\n  CHAN INT c:\n  INT x:\n  c ? x\n:\n";

/// A folder with a program, one that cannot go on, and a trace.
fn folder_with_a_trace(name: &str) -> Folder {
    let folder = Folder::with(name, HELLO);
    std::fs::write(folder.0.join("stuck.occ"), STUCK).expect("there is room");
    let output = folder.raddle_after(":", &["trace", "run", "-o", "it.rdt", "--", "it.occ"]);
    assert!(output.status.success(), "{output:?}");
    folder
}

fn is_told_and_leaves_nothing(folder: &Folder, before: &str, causes: &[&str]) {
    let names = folder.names();
    for (file, arguments) in WRITERS {
        let output = folder.raddle_after(before, arguments);
        let said = text(&output.stderr);
        // A program goes on without its trace.
        let (code, words) = match arguments.contains(&"run") && !arguments.contains(&"--deadlock-graph") {
            true => (0, "raddle: the trace cannot be written to no.rdt: ".to_owned()),
            false => (126, format!("raddle: could not write `{file}`: ")),
        };
        let cause = said.lines().find_map(|line| line.strip_prefix(&words));
        assert!(cause.is_some_and(|told| causes.iter().any(|cause| told.starts_with(cause))), "{said}");
        assert_eq!(output.status.code(), Some(code), "{file}: {said}");
        assert_eq!(folder.names(), names, "{file}");
    }
}

#[test]
fn whoever_writes_to_a_full_disk_says_so_and_leaves_nothing() {
    is_told_and_leaves_nothing(&folder_with_a_trace("full"), FULL, &["File too large"]);
}

/// The folder is mounted upon itself, so that it can only be read; or, where not even root may do that, the file is to
/// lie among the kernel's, where nobody makes one.
#[test]
fn whoever_writes_to_a_read_only_file_system_says_so() {
    let folder = folder_with_a_trace("read-only");
    let path = folder.0.display();
    let script =
        format!("mount --bind \"{path}\" \"{path}\" && mount -o remount,bind,ro \"{path}\" && cd \"{path}\"");
    let begin = "[ -n \"$INSIDE\" ] || INSIDE=1 exec unshare -m sh -c";
    let inside = format!("{begin} '{script} && exec \"$0\" \"$@\"' \"$0\" \"$@\"");
    if folder.raddle_after(&inside, &["explain", "O0901"]).status.success() {
        return is_told_and_leaves_nothing(&folder, &inside, &["Read-only file system"]);
    }
    let output = folder.raddle_after(":", &["build", "-o", "/sys/it.rbc", "it.occ"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(said.contains("could not write `/sys/it.rbc`: "), "{said}");
}

#[test]
fn an_earlier_file_stays_when_the_disk_is_full() {
    let folder = folder_with_a_trace("earlier");
    for (file, arguments) in WRITERS.into_iter().filter(|(_, arguments)| !arguments.contains(&"run")) {
        let path = folder.0.join(file);
        std::fs::write(&path, "earlier").expect("there is room");
        let output = folder.raddle_after(FULL, arguments);
        assert_eq!(output.status.code(), Some(126), "{output:?}");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "earlier", "{file}");
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let folder = Folder::with("link", HELLO);
    std::os::unix::fs::symlink("other.rbc", folder.0.join("it.rbc")).expect("links are possible");
    std::fs::write(folder.0.join("other.rbc"), "earlier").expect("there is room");
    let output = folder.raddle_after(":", &["build", "it.occ"]);
    assert!(output.status.success(), "{output:?}");
    assert!(folder.0.join("it.rbc").is_symlink());
    assert!(std::fs::read(folder.0.join("other.rbc")).expect("it is there").starts_with(b"RDLB"));
    assert_eq!(folder.names(), ["it.occ", "it.rbc", "other.rbc"]);
}

/// A report that nobody gets is no success.
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let folder = folder_with_a_trace("output");
    let shows: [&[&str]; 10] = [
        &["trace", "stats", "it.rdt"],
        &["trace", "stats", "--json", "it.rdt"],
        &["trace", "check", "it.rdt"],
        &["trace", "diff", "it.rdt", "it.rdt"],
        &["trace", "export", "--format", "csv", "it.rdt"],
        &["disasm", "it.occ"],
        &["explain", "O0901"],
        &["info"],
        &["top"],
        &["run", "it.occ"],
    ];
    for arguments in shows {
        let output = folder.raddle_after("exec >/dev/full", arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(126), "{arguments:?}: {said}");
        assert!(said.contains("could not write the ") && said.contains("No space left"), "{said}");
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
