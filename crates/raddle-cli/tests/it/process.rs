//! The program runs as if it had been started by hand: exit code, signals, pipes, arguments, environment.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};

use super::{raddle, run_shell, text};

const SIGPIPE: i32 = 13;
const SIGTERM: i32 = 15;

#[test]
fn the_exit_code_is_the_programs() {
    for code in [0, 1, 7, 255] {
        let status = run_shell(&[], &format!("exit {code}")).status().expect("it starts");
        assert_eq!(status.code(), Some(code));
    }
}

#[test]
fn death_by_a_signal_is_the_programs_and_a_shell_shows_128_and_its_number() {
    let status = run_shell(&[], "kill -TERM $$").status().expect("it starts");
    assert_eq!(status.signal(), Some(SIGTERM));
    let line = format!("'{}' run /bin/sh -- -c 'kill -TERM $$'; echo $?", env!("CARGO_BIN_EXE_raddle"));
    let output = Command::new("sh").args(["-c", &line]).output().expect("it starts");
    assert_eq!(text(&output.stdout), "143\n");
}

/// The compiler to machine code is another program, to which this one is told: not by a variable that is a setting's,
/// since it knows its settings.
#[test]
fn the_native_compiler_gets_the_command_line_and_no_setting() {
    let folder = std::env::temp_dir().join(format!("raddle-native-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room");
    let program = folder.join("raddle-native");
    std::fs::write(&program, "#!/bin/sh\necho \"$@\"\nenv | grep '^RADDLE_'\nexit 7\n")
        .expect("there is room");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("there is one"));
    let mut command = raddle();
    command.args(["run", "--native", "--workers", "2", "prog.occ"]).env("PATH", path);
    let output = command.output().expect("it starts");
    assert_eq!(text(&output.stdout), "run --native --workers 2 prog.occ\n");
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn options_become_variables_and_the_rest_of_the_environment_stays() {
    let options = ["--workers", "3", "--queues", "group:2", "--stack-size", "65536", "--stats"];
    let script = "echo $RADDLE_WORKERS $RADDLE_QUEUES $RADDLE_STACK_SIZE $RADDLE_STATS $RADDLE_PIN $MINE";
    let output =
        run_shell(&options, script).env("RADDLE_PIN", "on").env("MINE", "too").output().expect("it starts");
    assert_eq!(text(&output.stdout), "3 group:2 65536 on on too\n");
}

#[test]
fn an_option_wins_over_the_environment() {
    let output = run_shell(&["--workers", "1"], "echo $RADDLE_WORKERS").env("RADDLE_WORKERS", "9").output();
    assert_eq!(text(&output.expect("it starts").stdout), "1\n");
}

#[test]
fn arguments_that_are_no_utf8_pass_unchanged() {
    let strange = OsStr::from_bytes(b"\xff\xfe x");
    let output = raddle().args(["run", "/bin/echo", "--"]).arg(strange).output().expect("it starts");
    assert_eq!(output.stdout, b"\xff\xfe x\n");
}

#[test]
fn a_program_whose_reader_has_gone_ends_by_the_signal_for_that() {
    let mut child =
        run_shell(&[], "while echo y; do :; done").stdout(Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").signal(), Some(SIGPIPE));
}

#[test]
fn an_interrupt_from_the_terminal_reaches_the_program() {
    let script = "trap 'echo interrupted; exit 3' INT; echo ready; read line";
    let mut command = run_shell(&[], script);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    output.read_line(&mut line).expect("it is ready");
    // A terminal sends the signal to the whole process group.
    let group = format!("-{}", child.id());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status().expect("kill starts");
    assert!(sent.success());
    output.read_to_string(&mut line).expect("it ends its output");
    assert_eq!(line, "ready\ninterrupted\n");
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
}

#[test]
fn what_is_not_executable_is_refused_with_126() {
    let path = format!("{}/no_program", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, "just text").expect("it can be written");
    let output = raddle().args(["run", &path]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(126));
    assert!(text(&output.stderr).contains("is it executable (`chmod +x`)?"), "{}", text(&output.stderr));
}

#[test]
fn a_program_is_not_lost_to_its_own_bytecode() {
    let path = std::env::temp_dir().join(format!("raddle-cli-kept-{}.occ", std::process::id()));
    let program = "PROC main (CHAN BYTE keyboard?, screen!, error!)\n  SKIP\n:\n";
    std::fs::write(&path, program).expect("there is room");
    let build = raddle().arg("build").arg(&path).arg("-o").arg(&path).output().expect("it starts");
    assert_eq!(build.status.code(), Some(126), "{}", text(&build.stderr));
    assert!(text(&build.stderr).contains("is the program itself"), "{}", text(&build.stderr));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), program);
    std::fs::remove_file(path).expect("it is ours");
}
