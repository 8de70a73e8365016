//! Owns: how a program of each runtime is built, and where it then lies.
//! May use: cargo, go, javac, ghc, g++, cc.
//! Never: installing anything; what is missing is said.

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::profile::Profile;
use crate::runtimes::{self, Built};

mod foreign;

/// What came of the attempt to have a program.
pub enum BuildResult {
    /// It is built and lies here.
    Ready(PathBuf),
    /// Its toolchain or library is not on this machine.
    Missing(String),
    /// It does not build.
    Failed(String),
}

/// Shows what is going on in the terminal's last line; nothing where standard error is no terminal.
pub fn progress(what: &str) {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
    }
}

/// The folder `bench/` of this source tree.
pub fn bench_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Builds the program of `workload` for `runtime`, from this source tree and in the house's profile.
pub fn build(workload: &str, runtime: &str) -> BuildResult {
    Tree::own(Profile::House).map_or_else(BuildResult::Failed, |tree| tree.build(workload, runtime))
}

/// As [`Tree::prepare`], from this source tree and in the house's profile.
pub fn prepare(programs: &[(&str, &str)]) {
    if let Ok(tree) = Tree::own(Profile::House) {
        tree.prepare(programs);
    }
}

/// A source tree, and the profile in which its Rust programs are built.
pub struct Tree {
    bench: PathBuf,
    /// Cargo's target folder. Named to cargo each time: two trees that share one would overwrite each other's programs.
    target: PathBuf,
    profile: Profile,
}

impl Tree {
    /// The source tree of this runner.
    pub fn own(profile: Profile) -> Result<Tree, String> {
        let folder = target_folder()?;
        let target = folder.parent().ok_or_else(|| format!("{} is no target folder", folder.display()))?;
        Ok(Tree { bench: bench_folder().to_owned(), target: target.to_owned(), profile })
    }

    /// The source tree at `root`, a checkout of another commit.
    pub fn other(root: &Path, profile: Profile) -> Result<Tree, String> {
        let bench = root.join("bench");
        let bench = bench.canonicalize().map_err(|e| format!("no benchmarks in {}: {e}", bench.display()))?;
        Ok(Tree { target: bench.join("target"), bench, profile })
    }

    /// Builds the program of `workload` for `runtime`.
    pub fn build(&self, workload: &str, runtime: &str) -> BuildResult {
        progress(&format!("building {workload} for {runtime}"));
        let Some(of) = runtimes::of(runtime) else {
            return BuildResult::Failed(format!("no runtime is called {runtime}"));
        };
        match of.built {
            Built::Rust => self.rust(workload, runtime),
            Built::VariantOf(other) => self.rust(workload, other),
            Built::Native(_) if !works("raddle-native", "--version") => BuildResult::Missing(
                "the compiler is not in PATH (cargo install --path crates/raddle-jit/command)".into(),
            ),
            Built::Native(other) => self.rust(workload, other),
            Built::Go => go(workload),
            Built::Java => foreign::java(workload),
            Built::Ghc => foreign::ghc(workload),
            Built::Erlang => foreign::erlang(workload),
            Built::Cpp(library) => foreign::cpp(workload, of, library),
            Built::C(options) => foreign::c(workload, runtime, options),
            Built::Clang(other) => foreign::clang(workload, runtime, other),
            Built::Preloaded(library) => foreign::preloaded(workload, runtime, library),
            Built::Found(library) => foreign::found(workload, of, library),
        }
    }

    /// Builds what of these `(workload, runtime)` is in Rust, a runtime at a time: much faster than one by one.
    ///
    /// What does not build is found by [`Tree::build`], which says why.
    pub fn prepare(&self, programs: &[(&str, &str)]) {
        let mut runtimes: Vec<&str> = programs
            .iter()
            .map(|(_, runtime)| runtimes::program_of(runtime))
            .filter(|r| is_rust(r))
            .collect();
        runtimes.sort_unstable();
        runtimes.dedup();
        for runtime in runtimes {
            progress(&format!("building all programs for {runtime}"));
            let mut command = self.cargo_build(runtime);
            let mut workloads: Vec<&str> = programs
                .iter()
                .filter(|(_, of)| runtimes::program_of(of) == runtime)
                .map(|(workload, _)| *workload)
                .collect();
            workloads.sort_unstable();
            workloads.dedup();
            for workload in workloads {
                command.args(["--bin", &format!("{workload}-{runtime}")]);
            }
            let _ = command.output();
        }
    }

    fn rust(&self, workload: &str, runtime: &str) -> BuildResult {
        let binary = format!("{workload}-{runtime}");
        let mut command = self.cargo_build(runtime);
        command.args(["--bin", &binary]);
        finish(command, Ok(self.target.join(self.profile.folder()).join(binary)))
    }

    /// The rustc settings of the cargo that runs this runner are meant for it, and are found again by themselves.
    fn cargo_build(&self, runtime: &str) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--package", &format!("bench-{runtime}")]);
        command.args(self.profile.arguments()).arg("--target-dir").arg(&self.target).current_dir(&self.bench);
        command
    }
}

/// A copy of a program that is compared, at a path which is as long as that of the program on the other side.
///
/// Linux puts the path where the first stack begins, and so all that lies below moves with its length. The same program
/// at paths of different length read 1.3 to 1.7 times as slow where two workers hand an MCS lock to each other.
///
/// # Errors
/// When it cannot be copied.
pub fn at_side(side: CompareSide, profile: Profile, program: &Path) -> Result<PathBuf, String> {
    let side = match side {
        CompareSide::New => "new",
        CompareSide::Old => "old",
    };
    let folder = target_folder()?.join("compared").join(side).join(profile.name());
    let copy =
        folder.join(program.file_name().ok_or_else(|| format!("{} is no program", program.display()))?);
    let copied = std::fs::create_dir_all(&folder).and_then(|()| std::fs::copy(program, &copy));
    copied.map_err(|e| format!("cannot copy {} to {}: {e}", program.display(), copy.display()))?;
    Ok(copy)
}

/// Which of the two programs that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareSide {
    New,
    Old,
}

fn is_rust(runtime: &str) -> bool {
    runtimes::of(runtime).is_some_and(|of| matches!(of.built, Built::Rust))
}

/// Where built programs lie: beside this runner's own executable.
fn target_folder() -> Result<PathBuf, String> {
    let runner = std::env::current_exe().map_err(|e| format!("cannot find the runner's own path: {e}"))?;
    runner.parent().map(Path::to_owned).ok_or_else(|| format!("{} lies nowhere", runner.display()))
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

/// Runs a compiler, in this source tree unless it is told where.
fn finish(mut command: Command, output: Result<PathBuf, String>) -> BuildResult {
    if command.get_current_dir().is_none() {
        command.current_dir(bench_folder());
    }
    let outcome = command.output();
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
    fn what_is_compared_lies_at_paths_of_one_length() {
        let program = std::env::current_exe().unwrap();
        let [new, old] =
            [CompareSide::New, CompareSide::Old].map(|side| at_side(side, Profile::User, &program).unwrap());
        assert_ne!(new, old);
        assert_eq!(new.as_os_str().len(), old.as_os_str().len());
        assert_eq!(std::fs::metadata(&new).unwrap().len(), std::fs::metadata(&program).unwrap().len());
    }

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
