//! Traces: the file at the end, however a program ends.

use crate::child::{assert_said, assert_success, in_child, in_child_with, program};
use raddle::Runtime;
use std::path::PathBuf;
use std::process::Command;

/// A name for a file of this test's.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("raddle-{}-{name}.rdt", std::process::id()))
}

/// It is there, whole, and deleted now.
fn assert_whole(file: &PathBuf) {
    let bytes = std::fs::read(file).expect("the file of the trace");
    std::fs::remove_file(file).unwrap();
    assert!(bytes.starts_with(b"\x89RDT\r\n\x1a\n"), "{:?}", &bytes[..8]);
    assert!(bytes.windows(4).any(|four| four == b"END."), "it was not written to its end");
}

/// Whoever ends the program may stand on a small stack.
#[test]
fn a_program_that_ends_on_a_small_stack_has_its_file() {
    // The child has another number.
    let path = file("small");
    let name = path.to_str().unwrap();
    let outcome = in_child_with(
        "ends::a_program_that_ends_on_a_small_stack_has_its_file",
        &[("TEST_FILE", name)],
        || {
            let file = std::env::var_os("TEST_FILE").unwrap();
            let builder = Runtime::builder().workers(1).stack_size(8 << 10).trace(file);
            builder.build().unwrap().run(|| std::process::exit(0));
        },
    );
    assert_success(&outcome);
    assert_whole(&path);
}

/// The file system can only be read: a folder is mounted upon itself so, where that is allowed; otherwise the file is
/// to lie among the kernel's, where nobody makes one. The program runs, and says it.
#[test]
fn a_program_that_cannot_write_its_file_runs_and_says_so() {
    const TEST: &str = "ends::a_program_that_cannot_write_its_file_runs_and_says_so";
    if std::env::var_os("TEST_CHILD").is_some() {
        let _exits = in_child(TEST, || {
            let runtime = Runtime::builder().workers(1).build().unwrap();
            assert_eq!(runtime.run(|| raddle::csp::spawn(|| 6 * 7).join().unwrap()), 42);
            assert_eq!(runtime.shutdown(), 0);
        });
    }
    let folder = file("read-only");
    std::fs::create_dir(&folder).unwrap();
    let name = folder.to_str().unwrap();
    let script = format!("mount --bind '{name}' '{name}' && mount -o remount,bind,ro '{name}'");
    let inside = |command: &str| format!("{script} && exec {command}");
    let may_mount = Command::new("unshare").args(["-m", "sh", "-c", &inside("true")]).output();
    let may_mount = may_mount.is_ok_and(|it| it.status.success());
    let trace = if may_mount { folder.join("it.rdt") } else { "/sys/it.rdt".into() };
    let mut child = program(TEST, &[("RADDLE_TRACE", trace.to_str().unwrap())]);
    if may_mount {
        let mut outer = Command::new("unshare");
        outer
            .args(["-m", "sh", "-c", &inside("\"$0\" \"$@\"")])
            .arg(child.get_program())
            .args(child.get_args());
        for (name, value) in child.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        child = outer;
    }
    let output = child.output().unwrap();
    std::fs::remove_dir(&folder).unwrap();
    assert_success(&output);
    let cause = if may_mount { "Read-only file system" } else { "" };
    assert_said(&output, &[&format!("raddle: the trace cannot be written to {}: {cause}", trace.display())]);
}
