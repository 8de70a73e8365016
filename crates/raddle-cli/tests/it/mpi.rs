//! `raddle mpi`, where there is no MPI; where there is one, the tests of raddle-mpi call what it calls.

use super::{interruptible, raddle, text};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn without_an_mpi_it_says_what_to_install() {
    let without = |command: &str| {
        let mut raddle = raddle();
        raddle
            .args(["mpi", command])
            .env("PATH", "/nowhere")
            .env("MPI_SHIM_DIR", "/nowhere")
            .env_remove("MPICC");
        raddle.output().expect("it starts")
    };
    let info = without("info");
    assert!(info.status.success());
    assert!(text(&info.stdout).contains("apt-get install libopenmpi-dev"), "{}", text(&info.stdout));
    let build = without("build");
    assert_eq!(build.status.code(), Some(127));
    assert!(text(&build.stderr).contains("raddle: there is no mpicc"), "{}", text(&build.stderr));
}

#[test]
fn what_is_no_compiler_of_an_mpi_is_refused() {
    let output = raddle().args(["mpi", "build", "--mpicc", "/bin/true"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("is for neither Open MPI nor MPICH"), "{}", text(&output.stderr));
}

#[test]
fn a_simulation_needs_simgrid_and_a_scene_that_can_be() {
    let simulate = |path: &str, arguments: &[&str]| {
        let output =
            raddle().args(["mpi", "simulate"]).args(arguments).env("PATH", path).output().expect("it starts");
        assert_eq!(text(&output.stdout), "", "nothing is said before");
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = simulate("/nowhere", &["--ranks", "8"]);
    assert_eq!(code, Some(127), "{said}");
    assert!(said.contains("apt-get install libsimgrid-dev"), "{said}");
    for wrong in
        [&["--ranks", "0"][..], &["--megabits", "0"], &["--latency-us", "nan"], &["--iterations", "0"]]
    {
        let (code, said) = simulate("/nowhere", wrong);
        assert_eq!(code, Some(2), "{wrong:?}: {said}");
    }
}

/// A folder with an `smpirun` that does this, and one for temporary files.
fn with_launcher(name: &str, script: &str) -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _before = fs::remove_dir_all(&folder);
    let (programs, temporary) = (folder.join("bin"), folder.join("tmp"));
    fs::create_dir_all(&programs).expect("a folder");
    fs::create_dir_all(&temporary).expect("a folder");
    let launcher = programs.join("smpirun");
    fs::write(&launcher, format!("#!/bin/sh\n{script}\n")).expect("written");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("made a program");
    (programs, temporary)
}

fn simulation(mut raddle: Command, programs: &Path, temporary: &Path) -> Command {
    let path = format!("{}:/usr/bin:/bin", programs.display());
    raddle.args(["mpi", "simulate", "--ranks", "2"]).env("PATH", path).env("TMPDIR", temporary);
    raddle
}

/// By an `smpirun` that says where it is: in a folder of its own, which goes afterwards.
#[test]
fn schedules_lie_in_a_new_folder_of_the_callers_own() {
    let script = "/usr/bin/stat -c %a . >> ../../modes\necho Simulation time 1.0";
    let (programs, temporary) = with_launcher("simulated", script);
    let output = simulation(raddle(), &programs, &temporary).output().expect("it starts");
    // Seconds are not what the formula says.
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let modes = programs.with_file_name("modes");
    assert_eq!(fs::read_to_string(modes).expect("it ran"), "700\n".repeat(4));
    assert_eq!(fs::read_dir(&temporary).expect("it is there").count(), 0);
}

#[test]
fn all_that_a_failed_simulator_says_is_shown() {
    let script = "i=0\nwhile [ $i -lt 300 ]; do i=$((i+1)); echo line $i of its trouble >&2; done\nexit 3";
    let (programs, temporary) = with_launcher("fails", script);
    let output = simulation(raddle(), &programs, &temporary).output().expect("it starts");
    assert_eq!(output.status.code(), Some(126), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!((1..=300).all(|line| said.contains(&format!("line {line} of its trouble"))), "{said}");
    assert_eq!(fs::read_dir(&temporary).expect("it is there").count(), 0);
}

#[test]
fn a_signal_ends_the_simulator_and_removes_its_schedules() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let script = "/bin/sleep 1000 &\necho $! > ../../new\n/bin/mv ../../new ../../child\nwait";
        let (programs, temporary) = with_launcher(&format!("ended{signal}"), script);
        let mut simulate = simulation(interruptible(), &programs, &temporary).spawn().expect("it starts");
        let child = programs.with_file_name("child");
        while !child.exists() {
            std::thread::yield_now();
        }
        let sent = Command::new("kill").args([signal, &simulate.id().to_string()]).status();
        assert!(sent.expect("it can be sent").success());
        assert_eq!(simulate.wait().expect("it ends").code(), Some(code));
        assert_eq!(fs::read_dir(&temporary).expect("it is there").count(), 0, "schedules are removed");
        // Killed; who takes note of that may be late.
        let child = fs::read_to_string(child).expect("its number");
        let state = || fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        while state().rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z")) {
            std::thread::yield_now();
        }
    }
}
