//! Owns: how programs in Java, Haskell, C++, C and Erlang are built, and which tools they need.
//! May use: javac, ghc, g++, cc, erlc; `cargo xtask` for a library that is preloaded.
//! Never: installing anything; it reports what is missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{BuildResult, bench_folder, finish, target_folder, works};
use crate::runtimes::{ALLOCATORS, Built, Found, Library, Preloaded, Runtime, of};

/// Virtual threads are in Java from this version on.
const JAVA_MIN: u32 = 21;

/// A Java program with virtual threads: `<workload>/java/Main.java` and the shared library. The result is a script that
/// starts it with as many carrier threads as workers.
pub(super) fn java(workload: &str) -> BuildResult {
    let Some(home) = jdk() else {
        let why = format!(
            "no JDK of version {JAVA_MIN} or later: neither on PATH nor in JAVA_HOME nor in /usr/lib/jvm"
        );
        return BuildResult::Missing(why);
    };
    let target = match target_folder() {
        Ok(folder) => folder,
        Err(why) => return BuildResult::Failed(why),
    };
    let (classes, script) =
        (target.join(format!("{workload}-java-classes")), target.join(format!("{workload}-java")));
    let mut javac = Command::new(home.join("bin/javac"));
    javac.arg("-d").arg(&classes).arg("javameasure/Measure.java").arg(format!("{workload}/java/Main.java"));
    match finish(javac, Ok(script.clone())) {
        BuildResult::Ready(_) => match write_script(&script, &home.join("bin/java"), &classes) {
            Ok(()) => BuildResult::Ready(script),
            Err(why) => BuildResult::Failed(format!("cannot write {}: {why}", script.display())),
        },
        other => other,
    }
}

/// The runner's arguments begin with `--workers N`.
fn write_script(script: &Path, java: &Path, classes: &Path) -> std::io::Result<()> {
    let (java, classes) = (java.display(), classes.display());
    let carriers =
        "-Djdk.virtualThreadScheduler.parallelism=\"$2\" -Djdk.virtualThreadScheduler.maxPoolSize=\"$2\"";
    executable(script, &format!("'{java}' {carriers} -cp '{classes}' Main \"$@\""))
}

/// Writes a script that executes `command`.
fn executable(script: &Path, command: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(script, format!("#!/bin/sh\nexec {command}\n"))?;
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755))
}

/// A JDK that has virtual threads.
fn jdk() -> Option<PathBuf> {
    let on_path = Command::new("sh").args(["-c", "readlink -f \"$(command -v javac)\""]).output().ok();
    let on_path = on_path.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned());
    let on_path = on_path.and_then(|javac| Some(Path::new(&javac).parent()?.parent()?.to_owned()));
    let given = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let installed =
        std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|entry| entry.path());
    let all = given.into_iter().chain(on_path).chain(installed);
    all.into_iter().find(|home| version(home).is_some_and(|version| version >= JAVA_MIN))
}

fn version(home: &Path) -> Option<u32> {
    let done = Command::new(home.join("bin/javac")).arg("-version").output().ok()?;
    // Java 8 wrote it on standard error.
    java_version(&String::from_utf8_lossy(if done.stdout.is_empty() { &done.stderr } else { &done.stdout }))
}

fn java_version(text: &str) -> Option<u32> {
    text.strip_prefix("javac ")?.split(['.', '-']).next()?.trim().parse().ok()
}

/// A Haskell program: `<workload>/ghc/Main.hs`, on GHC's threaded runtime.
pub(super) fn ghc(workload: &str) -> BuildResult {
    if !works("ghc", "--version") {
        return BuildResult::Missing("GHC is not installed (Debian package ghc)".into());
    }
    let output = target_folder().map(|folder| folder.join(format!("{workload}-ghc")));
    let mut ghc = Command::new("ghc");
    if let Ok(path) = &output {
        let objects = path.with_extension("objects");
        ghc.args(["-v0", "-O2", "-threaded", "-rtsopts", "-outputdir"]).arg(objects).arg("-o").arg(path);
        ghc.arg(format!("{workload}/ghc/Main.hs"));
    }
    finish(ghc, output)
}

/// A program in C++: `<workload>/<runtime>.cpp`.
pub(super) fn cpp(workload: &str, of: &Runtime, library: Library) -> BuildResult {
    if !works("g++", "--version") {
        return BuildResult::Missing("g++ is not installed (Debian package g++)".into());
    }
    let (runtime, Library { header, package, options }) = (of.name, library);
    let there =
        format!("echo '#include <{header}>' | g++ -std=c++17 -fopenmp -fsyntax-only -x c++ - 2>/dev/null");
    if !Command::new("sh").args(["-c", &there]).status().is_ok_and(|status| status.success()) {
        return BuildResult::Missing(format!("{} is not installed (Debian package {package})", of.title));
    }
    let output = target_folder().map(|folder| folder.join(format!("{workload}-{runtime}")));
    let mut gxx = Command::new("g++");
    if let Ok(path) = &output {
        gxx.args(["-std=c++17", "-O2", "-Icppmeasure", "-o"]).arg(path);
        gxx.arg(format!("{workload}/{runtime}.cpp")).args(options);
    }
    finish(gxx, output)
}

/// A program in C: `<workload>/<runtime>.c`.
pub(super) fn c(workload: &str, runtime: &str, options: &[&str]) -> BuildResult {
    by("cc", "gcc", (workload, runtime, runtime), options)
}

/// The program of another runtime in C, by clang.
pub(super) fn clang(workload: &str, runtime: &str, other: &str) -> BuildResult {
    match of(other).map(|of| of.built) {
        Some(Built::C(options)) => by("clang", "clang", (workload, runtime, other), options),
        _ => BuildResult::Failed(format!("{other} is no program in C")),
    }
}

fn by(
    compiler: &str,
    package: &str,
    (workload, runtime, source): (&str, &str, &str),
    options: &[&str],
) -> BuildResult {
    if !works(compiler, "--version") {
        return BuildResult::Missing(format!("`{compiler}` is not installed (Debian package {package})"));
    }
    let output = target_folder().map(|folder| folder.join(format!("{workload}-{runtime}")));
    let mut cc = Command::new(compiler);
    if let Ok(path) = &output {
        cc.args(["-O2", "-pthread"]).args(options).arg("-o").arg(path).arg(format!("{workload}/{source}.c"));
    }
    finish(cc, output)
}

/// The program of another runtime in C, with a library that is installed. The result is a script that starts it.
pub(super) fn found(workload: &str, runtime: &Runtime, found: Found) -> BuildResult {
    let Some(library) = library_of(found.library) else {
        let package = match found.package {
            "" => String::new(),
            package => format!(" (Debian package {package})"),
        };
        let title = runtime.title;
        return BuildResult::Missing(format!("{title} is not installed{package}, nor in {ALLOCATORS}"));
    };
    let program = match c(workload, found.of, &[]) {
        BuildResult::Ready(program) => program,
        missing => return missing,
    };
    let start = format!("env LD_PRELOAD='{}' '{}' \"$@\"", library.display(), program.display());
    let script = target_folder().map(|folder| folder.join(format!("{workload}-{}", runtime.name)));
    match script.and_then(|script| match executable(&script, &start) {
        Ok(()) => Ok(script),
        Err(why) => Err(format!("cannot write {}: {why}", script.display())),
    }) {
        Ok(script) => BuildResult::Ready(script),
        Err(why) => BuildResult::Failed(why),
    }
}

/// A library whose file's name begins so: in the folders that are named, or known to the loader.
fn library_of(name: &str) -> Option<PathBuf> {
    let named = std::env::var(ALLOCATORS).unwrap_or_default();
    let in_named = named.split(':').filter(|folder| !folder.is_empty()).find_map(|folder| {
        let path = Path::new(folder).canonicalize().ok()?.join(name);
        path.is_file().then_some(path)
    });
    in_named.or_else(|| {
        let known =
            Command::new("sh").args(["-c", "PATH=$PATH:/sbin:/usr/sbin ldconfig -p"]).output().ok()?;
        let known = String::from_utf8_lossy(&known.stdout).into_owned();
        let line = known.lines().find(|line| line.trim_start().starts_with(name))?;
        line.split(" => ").nth(1).map(PathBuf::from)
    })
}

/// The program of another runtime in C, with a library of Raddle's. The result is a script that starts it with as many
/// workers.
pub(super) fn preloaded(workload: &str, runtime: &str, preloaded: Preloaded) -> BuildResult {
    let options = match of(preloaded.of).map(|of| of.built) {
        Some(Built::C(options)) => options,
        _ => return BuildResult::Failed(format!("{} is no program in C", preloaded.of)),
    };
    let program = match c(workload, preloaded.of, options) {
        BuildResult::Ready(program) => program,
        missing => return missing,
    };
    let target = match target_folder() {
        Ok(folder) => folder,
        Err(why) => return BuildResult::Failed(why),
    };
    let (folder, script) =
        (target.join(format!("raddle-{}", preloaded.command)), target.join(format!("{workload}-{runtime}")));
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(bench_folder().join(".."));
    cargo.args(["run", "--quiet", "--package", "xtask", "--", preloaded.command, "--output"]).arg(&folder);
    match finish(cargo, Ok(script.clone())) {
        BuildResult::Ready(_) => {
            let library = folder.join(preloaded.library);
            let (library, program) = (library.display(), program.display());
            let variable = preloaded.variable;
            let start = format!("env RADDLE_WORKERS=\"$2\" {variable}='{library}' '{program}' \"$@\"");
            match executable(&script, &start) {
                Ok(()) => BuildResult::Ready(script),
                Err(why) => BuildResult::Failed(format!("cannot write {}: {why}", script.display())),
            }
        }
        other => other,
    }
}

/// A program in Erlang: `<workload>/erlang/main.erl`. The result is a script that starts it with as many schedulers
/// as workers.
pub(super) fn erlang(workload: &str) -> BuildResult {
    let there = Command::new("sh").args(["-c", "command -v erlc erl"]).output();
    if !there.is_ok_and(|done| done.status.success()) {
        return BuildResult::Missing("Erlang is not installed (Debian package erlang-base)".into());
    }
    let target = match target_folder() {
        Ok(folder) => folder,
        Err(why) => return BuildResult::Failed(why),
    };
    let (beams, script) =
        (target.join(format!("{workload}-erlang-beams")), target.join(format!("{workload}-erlang")));
    if let Err(why) = std::fs::create_dir_all(&beams) {
        return BuildResult::Failed(format!("cannot make {}: {why}", beams.display()));
    }
    let mut erlc = Command::new("erlc");
    erlc.arg("-o").arg(&beams).arg(format!("{workload}/erlang/main.erl"));
    match finish(erlc, Ok(script.clone())) {
        BuildResult::Ready(_) => {
            let start =
                format!("erl +S \"$2:$2\" -noshell -pa '{}' -s main main -extra \"$@\"", beams.display());
            match executable(&script, &start) {
                Ok(()) => BuildResult::Ready(script),
                Err(why) => BuildResult::Failed(format!("cannot write {}: {why}", script.display())),
            }
        }
        other => other,
    }
}

#[test]
fn the_version_of_java_is_its_first_number() {
    assert_eq!([java_version("javac 25.0.3\n"), java_version("javac 21-ea")], [Some(25), Some(21)]);
    assert_eq!(java_version("error"), None);
}
