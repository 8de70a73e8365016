//! Programs in C, and for the group of tests `capi` in C++ and Python too, on what `cargo xtask install` lays out.
//!
//! `CAPI=all` asks for what needs more than gcc: clang, g++, Python, CMake. `CAPI=sanitizers` for AddressSanitizer and
//! UndefinedBehaviorSanitizer in the programs' side.

use crate::own_folder::own_folder;
use crate::succeed::{succeed, xtask};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn folder() -> PathBuf {
    own_folder("capi")
}

fn here(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// Where everything is installed, once.
fn prefix() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let prefix = folder().join("prefix");
        succeed(xtask(&["install", "--debug", "--prefix"]).arg(&prefix));
        prefix
    })
}

fn asked_for(what: &str) -> bool {
    std::env::var("CAPI").is_ok_and(|asked| asked == what)
}

#[derive(Clone, Copy)]
struct Compiler {
    name: &'static str,
    options: &'static [&'static str],
}

const WARNINGS: [&str; 6] = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"];
const C: &[&str] = &["-std=c11", "-D_GNU_SOURCE"];
const CPP: &[&str] = &["-std=c++17"];
const ADDRESSES_C: &[&str] = &["-std=c11", "-D_GNU_SOURCE", "-fsanitize=address,undefined"];
const SANITIZED_C: &[&str] = &["-std=c11", "-D_GNU_SOURCE", "-fsanitize=undefined"];
const SANITIZED_CPP: &[&str] = &["-std=c++17", "-fsanitize=undefined"];

/// AddressSanitizer keeps what it knows of a thread in thread-local storage, and gives up where something unwinds in
/// one with storage of Raddle's: it looks on where nothing does.
fn compilers(plus_plus: bool, unwinds: bool) -> Vec<Compiler> {
    let of = |name, options| Compiler { name, options };
    match (asked_for("all"), asked_for("sanitizers"), plus_plus) {
        (_, true, false) => vec![of("gcc", if unwinds { SANITIZED_C } else { ADDRESSES_C })],
        (_, true, true) => vec![of("g++", SANITIZED_CPP)],
        (true, _, false) => vec![of("gcc", C), of("clang", C)],
        (true, _, true) => vec![of("g++", CPP), of("clang++", CPP)],
        (false, _, false) => vec![of("gcc", C)],
        (false, _, true) => Vec::new(),
    }
}

/// What `pkg-config` answers, by word.
fn flags(more: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).args(["--cflags", "--libs"]).args(more);
    succeed(command.arg("raddle")).split_whitespace().map(str::to_owned).collect()
}

#[track_caller]
fn compile(compiler: Compiler, source: &Path) -> PathBuf {
    let name = source.file_stem().expect("a source has a name").to_string_lossy();
    let binary = folder().join(format!("{name}-{}", compiler.name));
    let mut command = Command::new(compiler.name);
    command.args(compiler.options).args(WARNINGS).arg(source).args(flags(&[])).arg("-o").arg(&binary);
    succeed(&mut command);
    binary
}

/// What the program says. It has a watchdog of its own.
#[track_caller]
fn run(program: &mut Command, workers: u32) -> String {
    program.env("LD_LIBRARY_PATH", prefix().join("lib")).env("RADDLE_WORKERS", workers.to_string());
    // What is said of what takes long is said of a slow machine, too.
    program.env("RADDLE_SLOW_SLICE", "off").env("RADDLE_LIVELOCK", "off");
    // Of a thread that is over nobody knows where its stack was; what a program leaves at its end is no leak.
    program.env("ASAN_OPTIONS", "detect_leaks=0,detect_stack_use_after_return=0");
    succeed(program)
}

/// On one worker and on two. Nothing is said but what the program says.
#[track_caller]
fn check(name: &str, arguments: &[&str]) {
    let is_cpp = name.ends_with(".cpp");
    for compiler in compilers(is_cpp, ["hostile.c", "waits.c", "atomic.c", "later.c"].contains(&name)) {
        let binary = compile(compiler, &here("tests/c").join(name));
        for workers in [1, 2] {
            let said = run(Command::new(&binary).args(arguments), workers);
            assert_eq!(said, "well\n", "{name} by {}, {workers} workers", compiler.name);
        }
    }
}

#[test]
fn services_need_no_runtime() {
    check("alone.c", &[]);
}

#[test]
fn mistakes_are_told() {
    check("adverse.c", &[]);
}

#[test]
fn extremes_and_odd_places_are_answered() {
    check("hostile.c", &[]);
}

#[test]
fn threads_processes_and_forks_run() {
    check("flows.c", &[]);
}

#[test]
fn waits_end_by_what_they_wait_for_or_by_a_cancellation() {
    let trace = folder().join("waits.rdt");
    check("waits.c", &[trace.to_str().unwrap()]);
}

#[test]
fn transactions_hold_and_wait() {
    check("atomic.c", &[]);
}

#[test]
fn memory_is_given_and_taken_back() {
    check("memory.c", &[]);
}

#[test]
fn tasks_and_futures_are_woken() {
    check("later.c", &[]);
}

#[test]
fn calls_by_chance_return() {
    check("random.c", &[]);
}

#[test]
fn objects_of_cpp_clean_up() {
    check("plus.cpp", &[]);
}

#[test]
fn python_loads_it() {
    if !asked_for("all") {
        return;
    }
    for workers in [1, 2] {
        let mut command = Command::new("python3");
        command.arg(here("tests/c/loaded.py")).arg(prefix().join("lib/libraddle.so.0"));
        assert_eq!(run(&mut command, workers), "well\n");
    }
}

/// The names of the functions that a text has as `NAME` and an ending.
fn names(text: &str, ending: char) -> BTreeSet<String> {
    let is_name = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    let words = text.split_inclusive(|letter: char| !is_name(letter));
    words
        .filter_map(|word| word.strip_suffix(ending))
        .filter(|word| word.starts_with("raddle_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn what_is_declared_is_exported_and_nothing_else() {
    let read = |path: &str| fs::read_to_string(here(path)).unwrap();
    let declared = names(&read("include/raddle.h"), '(');
    assert!(declared.len() > 100);
    assert_eq!(names(&read("raddle.map"), ';'), declared);
    let library = prefix().join("lib/libraddle.so");
    let said = succeed(Command::new("nm").args(["--dynamic", "--defined-only"]).arg(&library));
    let symbols: BTreeSet<&str> = said.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let expected: BTreeSet<String> = declared.iter().map(|name| format!("{name}@@RADDLE_0.1")).collect();
    let other = symbols.iter().filter(|symbol| !expected.contains(**symbol)).collect::<Vec<_>>();
    assert_eq!(other, [&"RADDLE_0.1"], "the version itself is a symbol");
    assert_eq!(symbols.len(), expected.len() + 1);
    let head = succeed(Command::new("readelf").arg("--dynamic").arg(&library));
    assert!(head.contains("[libraddle.so.0]"), "{head}");
}

#[test]
fn a_program_may_have_it_within() {
    let binary = folder().join("within");
    let mut command = Command::new("gcc");
    command
        .args(C)
        .args(WARNINGS)
        .arg(here("tests/c/flows.c"))
        .args(["-Wl,--gc-sections", "-o"])
        .arg(&binary);
    let flags = flags(&["--static"]);
    command.args(flags.iter().map(|flag| if flag == "-lraddle" { "-l:libraddle.a" } else { flag }));
    succeed(&mut command);
    assert_eq!(run(&mut Command::new(&binary), 2), "well\n");
}

const CMAKE: &str = "cmake_minimum_required(VERSION 3.13)\nproject(user C CXX)\nset(CMAKE_CXX_STANDARD 17)\n\
    find_package(raddle 0.1 REQUIRED)\nfind_package(Threads REQUIRED)\nadd_executable(user ${SOURCE}/adverse.c)\n\
    target_compile_definitions(user PRIVATE _GNU_SOURCE)\ntarget_link_libraries(user raddle::raddle)\n\
    add_executable(within ${SOURCE}/adverse.c)\ntarget_compile_definitions(within PRIVATE _GNU_SOURCE)\n\
    target_link_libraries(within raddle::raddle_static Threads::Threads)\n";

#[test]
fn cmake_finds_it() {
    if !asked_for("all") {
        return;
    }
    let (source, build) = (folder().join("cmake"), folder().join("cmake/build"));
    let _not_there = fs::remove_dir_all(&source);
    fs::create_dir_all(&build).unwrap();
    fs::write(source.join("CMakeLists.txt"), CMAKE).unwrap();
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&build);
    configure.arg(format!("-DSOURCE={}", here("tests/c").display()));
    succeed(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix().display())));
    succeed(Command::new("cmake").arg("--build").arg(&build));
    assert_eq!(run(&mut Command::new(build.join("user")), 2), "well\n");
    assert_eq!(run(&mut Command::new(build.join("within")), 2), "well\n");
}

/// The programs of the manual with what they are to say: language, text, output.
fn examples(manual: &str) -> Vec<(&str, &str, &str)> {
    let mut blocks = manual.split("\n```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let mut found = Vec::new();
    while let Some((language, text)) = blocks.next() {
        if ["c", "cpp", "python"].contains(&language) {
            let (kind, output) = blocks.next().expect("what the program says follows it");
            assert_eq!(kind, "output", "after\n{text}");
            found.push((language, text, output));
        }
    }
    found
}

#[test]
fn programs_of_the_manual_run() {
    let manual = fs::read_to_string(here("../../docs/C.md")).unwrap();
    let examples = examples(&manual);
    assert!(examples.len() >= 8);
    for (number, (language, text, output)) in examples.into_iter().enumerate() {
        let name = if language == "python" { "py" } else { language };
        let source = folder().join(format!("manual-{number}.{name}"));
        fs::write(&source, text).unwrap();
        if language == "python" {
            if asked_for("all") {
                let said = run(Command::new("python3").arg(&source), 2);
                assert_eq!(said.trim_end(), output, "{}", source.display());
            }
            continue;
        }
        for compiler in compilers(language == "cpp", true) {
            let said = run(&mut Command::new(compile(compiler, &source)), 2);
            assert_eq!(said.trim_end(), output, "{} by {}", source.display(), compiler.name);
        }
    }
}

#[test]
fn the_page_of_the_manual_is_one() {
    let page = fs::read_to_string(prefix().join("share/man/man3/raddle.3")).unwrap();
    assert!(page.starts_with(".TH \"RADDLE\" \"3\""));
    assert!(page.contains(".SH Channels\n"));
}

/// What takes a few nanoseconds is called without the linkage table, where the compiler can do that.
#[test]
fn short_calls_take_no_detour() {
    let binary = compile(Compiler { name: "gcc", options: C }, &here("tests/c/speed.c"));
    let said = succeed(Command::new("readelf").args(["--relocs", "--wide"]).arg(&binary));
    let by_table = |name: &str| {
        let of = |line: &&str| line.split_whitespace().nth(4).is_some_and(|symbol| symbol.starts_with(name));
        said.lines().find(of).map(|line| line.contains("JUMP_SLO"))
    };
    assert_eq!(by_table("raddle_channel@"), Some(true), "{said}");
    for name in ["yield", "fork", "fork_join", "mutex_lock", "mutex_unlock", "send", "recv"] {
        assert_eq!(by_table(&format!("raddle_{name}@")), Some(false), "{name} in\n{said}");
    }
}

/// Of a program whose locks lie elsewhere the library takes calls; who wants calls has them, and either syntax will do.
#[test]
fn a_program_for_another_layout_calls() {
    let header = fs::read_to_string(here("include/raddle.h")).unwrap();
    let other = header.replace("0x31746d6c64646172", "0x32746d6c64646172");
    assert_ne!(header, other);
    let include = folder().join("other");
    fs::create_dir_all(&include).unwrap();
    fs::write(include.join("raddle.h"), other).unwrap();
    let locked = |binary: &Path| {
        let code = succeed(Command::new("objdump").args(["--disassemble", "--no-show-raw-insn"]).arg(binary));
        code.lines().filter(|line| line.contains("lock cmpxchg")).count()
    };
    for compiler in compilers(false, true).iter().filter(|compiler| compiler.options == C) {
        assert!(locked(&compile(*compiler, &here("tests/c/speed.c"))) > 0, "by {}", compiler.name);
    }
    let elsewhere = format!("-I{}", include.display());
    for (name, more) in
        [("elsewhere", elsewhere.as_str()), ("calls", "-DRADDLE_CALLS_ONLY"), ("intel", "-masm=intel")]
    {
        let binary = folder().join(name);
        let mut command = Command::new("gcc");
        command
            .args(C)
            .args(WARNINGS)
            .arg(more)
            .arg(here("tests/c/flows.c"))
            .args(flags(&[]))
            .arg("-o")
            .arg(&binary);
        succeed(&mut command);
        assert_eq!(run(&mut Command::new(&binary), 2), "well\n", "{name}");
        assert_eq!(locked(&binary) > 0, name != "calls", "{name} takes locks by itself");
    }
}

/// A page for each group of the header, to which each function of it leads.
#[test]
fn each_function_has_a_page() {
    let folder = prefix().join("share/man/man3");
    let declared = names(&fs::read_to_string(here("include/raddle.h")).unwrap(), '(');
    for name in declared {
        let leads = fs::read_to_string(folder.join(format!("{name}.3"))).unwrap();
        let group = leads.strip_prefix(".so man3/").expect(&name).trim_end();
        let page = fs::read_to_string(folder.join(group)).unwrap();
        assert!(page.contains(&format!("{name}(")), "{name} in {group}");
        assert!(page.contains("\\fBReturns\\fR: RADDLE_OK"), "{group}");
    }
}
