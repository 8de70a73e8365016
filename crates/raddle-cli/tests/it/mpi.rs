//! `raddle mpi`, where there is no MPI; where there is one, the tests of raddle-mpi call what it calls.

use super::{raddle, text};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

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

/// By an `smpirun` that says where it is: in a folder of its own, which goes afterwards.
#[test]
fn schedules_lie_in_a_new_folder_of_the_callers_own() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("simulated");
    let _before = fs::remove_dir_all(&folder);
    let (programs, temporary) = (folder.join("bin"), folder.join("tmp"));
    fs::create_dir_all(&programs).expect("a folder");
    fs::create_dir_all(&temporary).expect("a folder");
    let launcher = programs.join("smpirun");
    fs::write(&launcher, "#!/bin/sh\n/usr/bin/stat -c %a . >> ../../modes\necho Simulation time 1.0\n")
        .expect("written");
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).expect("made a program");
    let mut simulate = raddle();
    simulate.args(["mpi", "simulate", "--ranks", "2"]).env("PATH", &programs).env("TMPDIR", &temporary);
    let output = simulate.output().expect("it starts");
    // Seconds are not what the formula says.
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(folder.join("modes")).expect("it ran"), "700\n".repeat(4));
    assert_eq!(fs::read_dir(&temporary).expect("it is there").count(), 0);
}
