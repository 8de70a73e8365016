//! `raddle dump`: a program is asked what it is at, and goes on.

use super::{raddle, text};

/// This test is the program.
#[test]
fn a_live_program_says_who_waits() {
    let runtime = raddle::Runtime::builder().workers(1).build().expect("a runtime");
    let pid = std::process::id().to_string();
    // On a busy machine who answers may take longer to begin than `raddle dump` waits for it.
    let is_watcher = |path: std::path::PathBuf| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name == "raddle-watch\n")
    };
    while !std::fs::read_dir("/proc/self/task").expect("tasks").flatten().any(|task| is_watcher(task.path()))
    {
        std::thread::yield_now();
    }
    let answer = |options: &[&str]| {
        let output = raddle().arg("dump").args(options).arg(&pid).output().expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    runtime.run(|| {
        let weaver = raddle::csp::Builder::new().name("weaver").spawn(raddle::csp::park).expect("a process");
        let said = raddle::blocking(|| answer(&[]));
        assert!(said.contains("process 'weaver' (#"), "{said}");
        assert!(said.contains("is in a call of `blocking` at"), "{said}");
        let json = raddle::blocking(|| answer(&["--json"]));
        let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        assert_eq!(json["schema"], "raddle-dump/1");
        let processes = json["processes"].as_array().expect("a list");
        assert!(processes.iter().any(|process| process["name"] == "weaver"), "{json}");
        weaver.process().unpark();
        weaver.join().expect("it was woken");
    });
}

#[test]
fn who_would_not_answer_is_not_asked() {
    // A shell dies of SIGQUIT, or ignores it.
    let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
    let output = raddle().args(["dump", &other.id().to_string()]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("does not answer"), "{}", text(&output.stderr));
    assert!(other.try_wait().expect("its state").is_none(), "it lives");
    other.kill().expect("it ends");
    other.wait().expect("it ends");
}
