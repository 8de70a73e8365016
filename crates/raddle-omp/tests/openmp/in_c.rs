//! Programs in C and C++ with OpenMP, by gcc and, for the group of tests `openmp`, by clang: unchanged, on the library.

use crate::own_folder::own_folder;
use crate::succeed::{succeed, xtask};
use raddle_trace::analysis::Analysis;
use raddle_trace::log::Log;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn folder() -> PathBuf {
    own_folder("openmp")
}

/// The library with all its names, built once.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        succeed(xtask(&["openmp", "--debug", "--output"]).arg(folder()));
        folder()
    })
}

/// A program's name for what the linker finds: clang's where the tests are told to use it.
fn compilers() -> Vec<String> {
    let mut all = vec!["gcc".to_owned()];
    all.extend(std::env::var("OPENMP_CLANG").ok());
    all
}

fn compile(compiler: &str, name: &str) -> PathBuf {
    let binary = folder().join(format!("{name}-{compiler}"));
    let mut source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    let mut command = Command::new(compiler);
    if !source.exists() {
        // What it needs of C++ is in the language.
        source.set_extension("cpp");
        command.arg("-fno-exceptions");
    }
    command.args(["-O1", "-g", "-fopenmp", "-pthread", "-w", "-o"]).arg(&binary).arg(source);
    succeed(&mut command);
    binary
}

fn run(binary: &Path, workers: u32, arguments: &[&str]) -> String {
    let mut command = Command::new("timeout");
    command.args(["300", "env"]).arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(binary);
    command.args(arguments).env("RADDLE_WORKERS", workers.to_string()).env("OMP_CANCELLATION", "true");
    succeed(&mut command)
}

/// On one worker and on two. Nothing is said but what the program says.
#[track_caller]
fn check(name: &str, arguments: &[&str]) {
    library();
    for compiler in compilers() {
        let binary = compile(&compiler, name);
        for workers in [1, 2] {
            assert_eq!(run(&binary, workers, arguments), "well\n", "{name} by {compiler}, {workers} workers");
        }
    }
}

#[test]
fn members_of_regions_are_threads_of_their_own() {
    check("regions", &[]);
}

#[test]
fn iterations_run_once_and_in_order_where_that_is_asked_for() {
    check("loops", &[]);
}

#[test]
fn iterations_that_are_dealt_run_once_and_the_last_leaves_what_it_has() {
    check("dealt", &[]);
}

#[test]
fn tasks_run_when_they_may() {
    check("tasks", &[]);
}

#[test]
fn whoever_ends_the_last_child_its_parent_goes_on() {
    check("family", &[]);
}

#[test]
fn tasks_that_run_within_their_parents_are_outlived_by_their_children() {
    check("included", &[]);
}

#[test]
fn objects_of_tasks_are_destroyed_once() {
    check("objects", &[]);
}

#[test]
fn what_stands_around_regions_works() {
    check("around", &[]);
}

#[test]
fn members_that_spin_without_a_call_are_taken_off_their_worker() {
    check("spins", &[]);
}

#[test]
fn a_member_of_a_team_that_fits_wakes_on_a_worker_that_sleeps() {
    library();
    for compiler in compilers() {
        let mut command = Command::new("timeout");
        command.args(["300", "env", "RADDLE_STATS=on"]);
        command.arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(compile(&compiler, "apart"));
        let output = command.env("RADDLE_WORKERS", "2").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "well\n", "{said}");
        assert!(said.contains("shared_out"), "nobody went to another worker: {said}");
    }
}

#[test]
fn a_region_that_will_never_end_says_why() {
    library();
    let binary = compile("gcc", "stuck");
    let mut command = Command::new("timeout");
    command.args(["300", "env"]).arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(binary);
    let output = command.env("RADDLE_WORKERS", "2").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("deadlock") && said.contains("OpenMP"), "{said}");
    // Who waits, and in which region.
    let waits = |what: &str| said.contains(what) && said.contains("stuck.c:8");
    assert!(waits("waits in a lock") && said.contains("member 2 of 4)"), "{said}");
    assert!(waits("waits in a barrier") && said.contains("member 0 of 4, at its end)"), "{said}");
}

/// In whatever order the members run: what is counted is how long each works.
#[test]
fn a_trace_says_which_region_is_shared_out_unevenly() {
    library();
    for compiler in compilers() {
        let trace = folder().join(format!("uneven-{compiler}.rdt"));
        let mut command = Command::new("timeout");
        command.args(["300", "env", "OMP_NUM_THREADS=2"]).arg(format!("RADDLE_TRACE={}", trace.display()));
        command.arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(compile(&compiler, "uneven"));
        assert_eq!(succeed(command.env("RADDLE_WORKERS", "2")), "well\n");
        let bytes = std::fs::read(&trace).unwrap();
        let log = Log::read(&bytes).unwrap();
        let analysis = Analysis::of(&log);
        let teams = &analysis.teams;
        let region = |name: &str| teams.regions.iter().find(|region| region.name.contains(name)).expect(name);
        let triangle = region("triangle (uneven.c:20)");
        assert_eq!((triangle.times, triangle.members, triangle.busiest.0), (40, 2, 1), "{teams:?}");
        assert!(triangle.ratio() > 1.3, "{teams:?}");
        assert_eq!((region("even (uneven.c:15)").times, region("meet (uneven.c:25)").times), (40, 4));
        assert!(
            teams.waits.iter().any(|wait| wait.name.contains("barrier in meet (uneven.c:2")),
            "{teams:?}"
        );
        let tasks: u64 = teams.tasks.iter().map(|task| task.count).sum();
        assert_eq!(tasks, 4 * 62, "{teams:?}");
        let said = analysis.verdict.to_string();
        assert!(said.contains("region of triangle (uneven.c:20) more evenly: member 1"), "{said}");
    }
}

#[test]
fn the_environment_is_shown() {
    library();
    let binary = compile("gcc", "regions");
    let mut command = Command::new("timeout");
    command.args(["300", "env", "OMP_DISPLAY_ENV=true", "OMP_NUM_THREADS=3,2"]);
    command.arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(binary).env("RADDLE_WORKERS", "2");
    let said = succeed(&mut command);
    assert!(said.contains("[host] OMP_NUM_THREADS = '3,2'"), "{said}");
}

#[test]
fn the_stack_of_main_is_as_large_as_the_limit() {
    library();
    let binary = compile("gcc", "deep");
    for limit in ["unlimited", "200000"] {
        let line =
            format!("ulimit -s {limit} || {{ echo well; exit; }}; exec timeout 300 {} 150", binary.display());
        let mut command = Command::new("sh");
        command.args(["-c", &line]).env("RADDLE_WORKERS", "2").env("LD_LIBRARY_PATH", library());
        assert_eq!(succeed(&mut command), "well\n", "a limit of {limit}");
    }
}

#[test]
fn settings_of_the_library_are_none_of_the_runtimes() {
    library();
    let mut command = Command::new("timeout");
    command.args(["300", "env", "OPENMP_MAIN=os", "OPENMP_SPIN=5", "OPENMP_LIBRARY=/nowhere"]);
    command.arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(compile("gcc", "around"));
    assert_eq!(succeed(command.env("RADDLE_WORKERS", "1")), "well\n");
}

/// Runs it with these variables on as many workers as there are processors.
#[track_caller]
fn check_bound(binary: &Path, variables: &[(&str, &str)], arguments: &[&str]) {
    let mut command = Command::new("timeout");
    command
        .args(["300", "env", "-u", "RADDLE_WORKERS"])
        .arg(format!("LD_LIBRARY_PATH={}", library().display()));
    command.args(variables.iter().map(|(name, value)| format!("{name}={value}"))).arg(binary).args(arguments);
    command.env("OMP_MAX_ACTIVE_LEVELS", "2");
    assert_eq!(succeed(&mut command), "well\n", "{variables:?}");
}

#[test]
fn members_are_bound_where_the_standard_says_and_only_if_asked() {
    library();
    for compiler in compilers() {
        let binary = compile(&compiler, "bound");
        check_bound(&binary, &[("OMP_PROC_BIND", "close")], &[]);
        check_bound(&binary, &[("OMP_PLACES", "cores")], &[]);
        check_bound(&binary, &[("OMP_PROC_BIND", "spread"), ("OMP_PLACES", "sockets")], &[]);
        check_bound(&binary, &[("GOMP_CPU_AFFINITY", "0-1000")], &[]);
        check_bound(&binary, &[("KMP_AFFINITY", "verbose,granularity=fine,compact")], &[]);
        check_bound(&binary, &[], &["unbound"]);
        check_bound(&binary, &[("OMP_PROC_BIND", "false"), ("OMP_PLACES", "threads")], &["unbound"]);
    }
}
