//! Traces: the file at the end, however a program ends.

use crate::child::{assert_success, in_child_with};
use raddle::Runtime;
use std::path::PathBuf;

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
