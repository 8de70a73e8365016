//! Processes that all wait in `retry` are a deadlock, and it is reported with what they wait for.
//!
//! A program of its own without a harness, whose OS threads would be others that could end the wait.

#[cfg(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64"))]
fn main() {}

#[cfg(not(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
fn main() {
    const CHILD: &str = "TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return two_that_wait_for_each_other();
    }
    let program = std::env::current_exe().expect("a test program has a path");
    let output = std::process::Command::new(program).env(CHILD, "1").output().expect("it runs");
    let text = String::from_utf8(output.stderr).expect("a text");
    assert_eq!(output.status.code(), Some(3), "{text}");
    let first = text.lines().next().expect("a report");
    let wanted = [
        "raddle: deadlock: 2 processes",
        "'warp'",
        "'weft'",
        "waits in retry at ",
        "in the variable made at ",
        " (not written since)",
    ];
    wanted
        .iter()
        .for_each(|words| assert!(first.contains(words) && first.contains(file!()), "{words}: {text}"));
}

#[cfg(not(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
fn two_that_wait_for_each_other() {
    use raddle_stm::{TVar, atomically};

    let (left, right) = (TVar::new(false), TVar::new(false));
    let spawn = |name: &str, mine: &TVar<bool>, theirs: &TVar<bool>| {
        let (mine, theirs) = (mine.clone(), theirs.clone());
        let waits = move || {
            atomically(|tx| {
                let there = tx.read(&theirs)?;
                tx.check(there)?;
                tx.write(&mine, true)
            });
        };
        raddle::csp::Builder::new().name(name).spawn(waits).expect("a process")
    };
    raddle::Runtime::builder().workers(1).build().expect("a runtime").run(move || {
        let both = [spawn("warp", &left, &right), spawn("weft", &right, &left)];
        both.into_iter().for_each(|process| process.join().expect("it never ends"));
    });
}
