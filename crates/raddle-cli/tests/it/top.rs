//! `raddle top`: a program is looked at while it runs, and is not disturbed.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{raddle, text};

/// This test is the program.
#[test]
fn a_live_program_shows_what_its_workers_do() {
    let runtime = raddle::Runtime::builder().workers(2).build().expect("a runtime");
    let stop = AtomicBool::new(false);
    let pid = std::process::id().to_string();
    runtime.run(|| {
        raddle::csp::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    raddle::csp::yield_now();
                }
            });
            let said = raddle::blocking(|| {
                loop {
                    let output = raddle().args(["top", "--count", "1", &pid]).output().expect("it starts");
                    // It has no page in its first tenth of a second.
                    if output.status.success() {
                        break text(&output.stdout);
                    }
                    assert_eq!(output.status.code(), Some(127));
                }
            });
            assert!(said.contains(&format!("pid {pid}, runs for ")), "{said}");
            assert!(said.contains(" of 2 workers busy, since its beginning\n"), "{said}");
            let listed = raddle::blocking(|| raddle().arg("top").output().expect("it starts"));
            let row = format!("{pid:>7}        2  ");
            assert!(text(&listed.stdout).contains(&row), "{}", text(&listed.stdout));
            stop.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn what_shows_nothing_is_said() {
    // No process has such a number.
    let output = raddle().args(["top", "4194305"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(127));
    assert!(
        text(&output.stderr).starts_with("raddle: process 4194305 shows nothing"),
        "{}",
        text(&output.stderr)
    );
    let output = raddle().args(["top", "--every", "0", "1"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
}
