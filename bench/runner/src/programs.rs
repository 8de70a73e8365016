//! Owns: building the program of each runtime, and where it is then.
//! May use: cargo, go, javac, ghc, g++.
//! Never: installing anything; it reports what is missing.

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;

mod foreign;

/// The result of building a program.
pub enum BuildResult {
    /// It is built, at this path.
    Ready(PathBuf),
    /// Its toolchain or library is missing on this machine.
    Missing(String),
    /// It does not build.
    Failed(String),
}

/// Shows progress in the terminal's last line, if standard error is a terminal.
pub fn progress(what: &str) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    }
}

/// The folder `bench/` of this source tree.
pub fn bench_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Builds the program of `workload` for `runtime`.
pub fn build(workload: &str, runtime: &str) -> BuildResult {
    progress(&format!("building {workload} for {runtime}"));
    match runtime {
        "go" => go(workload),
        "java" => foreign::java(workload),
        "ghc" => foreign::ghc(workload),
        "erlang" => foreign::erlang(workload),
        "openmp" | "tbb" | "boost" => foreign::cpp(workload, runtime),
        _ => rust(workload, runtime),
    }
}

/// Builds the Rust programs among these `(workload, runtime)`, one runtime at a time: much faster than one by one.
///
/// Failures are reported later by [`build`].
pub fn prepare(programs: &[(&str, &str)]) {
    let mut runtimes: Vec<&str> =
        programs.iter().map(|(_, runtime)| *runtime).filter(|r| is_rust(r)).collect();
    runtimes.sort_unstable();
    runtimes.dedup();
    for runtime in runtimes {
        progress(&format!("building all programs for {runtime}"));
        let mut command = cargo_build(runtime);
        for (workload, _) in programs.iter().filter(|(_, of)| *of == runtime) {
            command.args(["--bin", &format!("{workload}-{runtime}")]);
        }
        let _ = finish(command, target_folder());
    }
}

fn is_rust(runtime: &str) -> bool {
    !["go", "java", "ghc", "erlang", "openmp", "tbb", "boost"].contains(&runtime)
}

fn cargo_build(runtime: &str) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--release", "--package", &format!("bench-{runtime}")]);
    command
}

/// The folder of built programs: that of this runner's own executable.
fn target_folder() -> Result<PathBuf, String> {
    let runner = std::env::current_exe().map_err(|e| format!("cannot find the runner's own path: {e}"))?;
    runner.parent().map(Path::to_owned).ok_or_else(|| format!("{} lies nowhere", runner.display()))
}

fn rust(workload: &str, runtime: &str) -> BuildResult {
    let binary = format!("{workload}-{runtime}");
    let mut command = cargo_build(runtime);
    command.args(["--bin", &binary]);
    // Do not pass on the environment of the cargo that runs this runner; cargo finds the settings again.
    finish(command, target_folder().map(|folder| folder.join(binary)))
}

fn go(workload: &str) -> BuildResult {
    if !works("go", "version") {
        return BuildResult::Missing("Go is not installed (Debian package golang-go)".into());
    }
    let output = target_folder().map(|folder| folder.join(format!("{workload}-go")));
    let mut command = Command::new("go");
    if let Ok(path) = &output {
        command.args(["build", "-o"]).arg(path).arg(format!("./{workload}/go"));
    }
    finish(command, output)
}

fn finish(mut command: Command, output: Result<PathBuf, String>) -> BuildResult {
    let outcome = command.current_dir(bench_folder()).output();
    match (outcome, output) {
        (_, Err(why)) => BuildResult::Failed(why),
        (Err(why), _) => BuildResult::Failed(format!("cannot start {command:?}: {why}")),
        (Ok(done), Ok(path)) if done.status.success() => BuildResult::Ready(path),
        (Ok(done), _) => BuildResult::Failed(first_error(&String::from_utf8_lossy(&done.stderr))),
    }
}

/// The line of a compiler's output that names the error.
fn first_error(text: &str) -> String {
    let line = text.lines().find(|line| line.contains("error")).or(text.lines().last());
    line.unwrap_or("the compiler failed and said nothing").to_owned()
}

fn works(tool: &str, argument: &str) -> bool {
    Command::new(tool).arg(argument).output().is_ok_and(|done| done.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_found_among_warnings() {
        let text = "warning: unused\n  |\nerror[E0432]: unresolved import\n --> x.rs\n";
        assert_eq!(first_error(text), "error[E0432]: unresolved import");
        assert_eq!(first_error("package not found"), "package not found");
    }

    #[test]
    fn a_program_that_does_not_exist_fails_with_a_reason() {
        assert!(matches!(finish(Command::new("false"), Ok(PathBuf::new())), BuildResult::Failed(_)));
    }
}
