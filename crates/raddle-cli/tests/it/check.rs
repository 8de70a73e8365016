//! `raddle check`: what it reads and where it writes. What it says stands in the transcripts.

use std::io::Write as _;
use std::process::Stdio;

use super::{raddle, text};

const RACE: &str = "tests/transcripts/race.occ";

#[test]
fn standard_input_is_read_and_its_includes_are_looked_up() {
    let mut command = raddle();
    command.args(["check", "-I", "tests/transcripts/lib", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let program = "#INCLUDE \"emit.inc\"\nPROC main (CHAN BYTE out!)\n  emit (y, out!)\n:\n";
    child.stdin.take().expect("piped").write_all(program.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("error[O0301]") && said.contains("--> <stdin>:3:9"), "{said}");
    assert!(said.ends_with("\n1 error, 0 warnings\n"), "{said}");
}

#[test]
fn json_is_on_standard_output_and_nothing_else_is_said() {
    let output = raddle().args(["check", "--error-format", "json", RACE]).output().expect("it starts");
    let lines = text(&output.stdout);
    assert_eq!(text(&output.stderr), "");
    assert!(!lines.is_empty());
    for line in lines.lines() {
        let value: serde_json::Value = serde_json::from_str(line).expect("an object");
        assert_eq!((&value["file"], &value["severity"]), (&RACE.into(), &"error".into()), "{line}");
    }
}

#[test]
fn a_reader_that_has_gone_away_changes_nothing() {
    for format in ["human", "json"] {
        let mut command = raddle();
        command.args(["check", "--error-format", format, RACE]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "{format}");
    }
}

#[test]
fn diagnostics_that_cannot_be_written_are_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = raddle();
    let output = command.args(["check", "--error-format", "json", RACE]).stdout(full).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).starts_with("raddle: could not write the diagnostics"));
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    for asked in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let output = raddle().args(asked).stdout(full).output().expect("it starts");
        assert_eq!(output.status.code(), Some(126), "{asked:?}");
        assert!(text(&output.stderr).starts_with("raddle: could not write the output"), "{asked:?}");
    }
}

#[test]
fn no_colours_where_nobody_looks() {
    let output = raddle().args(["check", RACE]).env_remove("NO_COLOR").output().expect("it starts");
    assert!(!output.stderr.contains(&b'\x1b'), "{}", text(&output.stderr));
}

#[test]
fn a_defined_name_selects_lines() {
    let path = std::env::temp_dir().join(format!("raddle-define-{}.occ", std::process::id()));
    std::fs::write(&path, "#IF DEFINED (WRONG)\nPROC p ()\n  x := 1\n:\n#ENDIF\nPROC q ()\n  SKIP\n:\n")
        .expect("written");
    let codes = [&["-D", "WRONG"][..], &[]].map(|options| {
        raddle().arg("check").args(options).arg(&path).output().expect("it starts").status.code()
    });
    std::fs::remove_file(&path).expect("it was there");
    assert_eq!(codes, [Some(1), Some(0)]);
}

#[test]
fn an_included_file_that_cannot_be_used_is_named() {
    let folder = std::env::temp_dir().join(format!("raddle-latin-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("latin.inc"), b"-- \xE9\n").expect("written");
    let program = folder.join("main.occ");
    std::fs::write(&program, "#INCLUDE \"latin.inc\"\nPROC q ()\n  SKIP\n:\n").expect("written");
    let output = raddle().arg("check").arg(&program).output().expect("it starts");
    std::fs::remove_dir_all(&folder).expect("it was there");
    assert_eq!(output.status.code(), Some(126));
    let said = text(&output.stderr);
    assert!(said.contains("latin.inc` is not UTF-8 text: byte #E9 in line 1"), "{said}");
    assert!(!said.contains("O0108"), "{said}");
}

#[test]
fn what_has_no_end_or_is_no_text_is_refused() {
    let output = raddle().args(["check", "/dev/zero"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(126));
    assert_eq!(text(&output.stderr), "raddle: `/dev/zero` is no text: line 1 holds a byte of value 0\n");
    let endless = std::process::Command::new("yes").stdout(Stdio::piped()).spawn();
    let mut endless = endless.expect("`yes` starts");
    let mut command = raddle();
    command.args(["check", "-"]).stdin(endless.stdout.take().expect("piped"));
    let output = command.output().expect("it starts");
    // With it goes the pipe's end, which ends the writer.
    drop(command);
    endless.wait().expect("nobody reads what it writes");
    assert_eq!(text(&output.stderr), "raddle: standard input is too long: a file may have 64 MiB of text\n");
}

#[test]
fn a_full_disk_leaves_no_part_of_a_file() {
    let file = std::env::temp_dir().join(format!("raddle-full-{}.rbc", std::process::id()));
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" build -o \"$1\" tests/transcripts/prog.occ";
    let mut command = super::without_settings(std::process::Command::new("/bin/sh"));
    command.args(["-c", script, env!("CARGO_BIN_EXE_raddle")]).arg(&file);
    let output = command.output().expect("it starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(said.contains("could not write") && !file.exists(), "{said}");
}
