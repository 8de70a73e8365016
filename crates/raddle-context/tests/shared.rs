//! A shared library by `cargo xtask link-shared`, and a C program that is linked against it.

// The library is built for programs, by flags of its own.
#![cfg(not(any(raddle_twin, raddle_asan, raddle_tsan)))]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The standard output of a program that must succeed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shared").join(name)
}

/// A folder of this test's own; gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let folder = std::env::temp_dir().join(format!("raddle-shared-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

fn link(folder: &Path) -> PathBuf {
    let library = folder.join("libshared.so.1");
    let mut command = Command::new(std::env::var_os("CARGO").expect("a test runs under cargo"));
    command.args(["run", "--quiet", "--package", "xtask", "--", "link-shared"]);
    command.args(["--package", "raddle-context", "--example", "shared", "--soname", "libshared.so.1"]);
    command.arg("--version-script").arg(source("shared.map")).arg("--output").arg(&library);
    run(&mut command);
    library
}

/// Name, address and size of the functions that a library exports.
fn exported(library: &Path) -> Vec<(String, u64, u64)> {
    let table = run(Command::new("readelf").args(["--wide", "--dyn-syms"]).arg(library));
    let row = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, address, size, "FUNC", _, _, place, name] = words[..] else { return None };
        let address = u64::from_str_radix(address, 16).expect("an address");
        (place != "UND").then(|| (name.to_owned(), address, size.parse().expect("a size")))
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn a_c_program_is_linked_against_versioned_symbols() {
    let folder = Folder::new();
    let library = link(&folder.0);
    let mut names: Vec<_> = exported(&library).into_iter().map(|(name, ..)| name).collect();
    names.sort();
    assert_eq!(names, ["shared_exchange@@SHARED_1.1", "shared_run@@SHARED_1.0"]);
    let dynamic = run(Command::new("readelf").arg("-d").arg(&library));
    assert!(dynamic.contains("Library soname: [libshared.so.1]"), "{dynamic}");

    let program = folder.0.join("program");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-Wall", "-Werror", "-pthread", "-o"])
        .arg(&program)
        .arg(source("program.c"))
        .arg(&library);
    run(&mut compiler);
    run(Command::new(&program).env("LD_LIBRARY_PATH", &folder.0));

    the_word_is_read_without_a_call(&library, &dynamic);
}

/// What runs is found by a word at a fixed place in each thread's storage.
fn the_word_is_read_without_a_call(library: &Path, dynamic: &str) {
    assert!(dynamic.lines().any(|line| line.contains("(FLAGS)") && line.contains("STATIC_TLS")), "{dynamic}");
    let functions = exported(library);
    let (_, from, size) =
        functions.iter().find(|(name, ..)| name.starts_with("shared_exchange@")).expect("the function");
    let range = [format!("--start-address={from:#x}"), format!("--stop-address={:#x}", from + size)];
    let code = run(Command::new("objdump").arg("--disassemble").args(range).arg(library));
    assert!(code.contains("%fs:") || code.contains("tpidr_el0"), "{code}");
    assert!(!code.contains("call") && !code.contains("\tbl"), "{code}");
}
