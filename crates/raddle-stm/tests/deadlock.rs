//! Processes that all wait in `retry` are a deadlock, and it is reported with what they wait for.
//!
//! A program of its own without a harness, whose OS threads would be others that could end the wait.

#[cfg(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64"))]
fn main() {}

#[cfg(not(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
fn main() {
    const CHILD: &str = "TEST_CHILD";
    match std::env::var(CHILD).as_deref() {
        Ok("retry") => return two_that_wait_for_each_other(),
        Ok("written") => return one_that_waits_for_what_others_have_written(),
        Ok("reserved") => return one_that_waits_in_the_body(),
        Ok("tasks") => return tasks_that_wait_for_a_change(),
        _ => {}
    }
    let retry =
        ["'warp'", "'weft'", "waits in retry at ", "in the variable made at ", " (not written since)"];
    let written =
        ["(last written by 'weft' at ", "(last written by #", ", which has ended, at ", "an OS thread at "];
    let tasks = [
        "; and 3 tasks; a future waits in retry at ",
        "(change: in one of the variables made at ",
        " (last written by a task at ",
        "; 2 futures wait in retry at ",
    ];
    for (child, wanted) in [
        ("retry", &retry[..]),
        ("written", &written[..]),
        ("reserved", &["'writer'", "waits in atomically for another transaction's end at "]),
        ("tasks", &tasks),
    ] {
        let program = std::env::current_exe().expect("a test program has a path");
        let output = std::process::Command::new(program).env(CHILD, child).output().expect("it runs");
        let text = String::from_utf8(output.stderr).expect("a text");
        assert_eq!(output.status.code(), Some(3), "{text}");
        let first = text.lines().next().expect("a report");
        let head = ["raddle: deadlock: ", file!()];
        head.iter().chain(wanted).for_each(|words| assert!(first.contains(words), "{words}: {text}"));
    }
}

/// For a message of one who waits for what it has reserved.
#[cfg(not(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
fn one_that_waits_in_the_body() {
    use raddle::csp;
    use raddle_stm::{Algorithm, TVar};

    raddle::Runtime::builder().workers(1).build().expect("a runtime").run(|| {
        let x = TVar::new(0);
        let (mut tell, mut told) = csp::channel();
        let writes = {
            let x = x.clone();
            move || {
                x.store(1);
                tell.send(()).expect("it is received");
            }
        };
        let mut writer = Some(csp::Builder::new().name("writer"));
        let mut writes = Some(writes);
        let keeps = move || {
            Algorithm::Pessimistic.atomically(|tx| {
                let n = tx.read(&x)?;
                if let (Some(writer), Some(writes)) = (writer.take(), writes.take()) {
                    drop(writer.spawn(writes).expect("a process"));
                }
                told.recv().expect("it is sent");
                tx.write(&x, n + 1)
            });
        };
        csp::Builder::new().name("keeper").spawn(keeps).expect("a process").join().expect("it never ends");
    });
}

/// For several variables, whose writers are: one that waits, too, one that has ended, and an OS thread.
#[cfg(not(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
fn one_that_waits_for_what_others_have_written() {
    use raddle_stm::{TVar, atomically};

    let all: [_; 4] = std::array::from_fn(|_| TVar::new(0));
    all[2].store(1);
    raddle::Runtime::builder().workers(1).build().expect("a runtime").run(move || {
        let (of_weft, of_dyer) = (all.clone(), all[1].clone());
        raddle::csp::spawn(move || of_dyer.store(2)).join().expect("it ends");
        let weft = raddle::csp::Builder::new().name("weft").spawn(move || {
            of_weft[0].store(3);
            atomically(|tx| {
                let last = tx.read(&of_weft[3])?;
                tx.check(last == 4)
            });
        });
        atomically(|tx| {
            let sum = all.iter().try_fold(0, |sum, one| Ok(sum + tx.read(one)?))?;
            tx.check(sum == 10)
        });
        weft.expect("a process").join().expect("it never ends");
    });
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

/// One for two variables, of which a task has written one; and two, in the same call, for another.
#[cfg(not(any(loom, raddle_tsan, raddle_twin, target_arch = "aarch64")))]
fn tasks_that_wait_for_a_change() {
    use raddle::task;
    use raddle_stm::{TVar, atomically_async};

    raddle::Runtime::builder().workers(1).build().expect("a runtime").run(|| {
        let [a, b, c] = std::array::from_fn(|_| TVar::new(0));
        let first = task::spawn(async move {
            a.store(1);
            atomically_async(|tx| {
                let sum = tx.read(&a)? + tx.read(&b)?;
                tx.check(sum == 2)
            })
            .await;
        });
        let waits = |c: TVar<i32>| async move {
            atomically_async(|tx| {
                let there = tx.read(&c)?;
                tx.check(there == 1)
            })
            .await;
        };
        let others = [task::spawn(waits(c.clone())), task::spawn(waits(c))];
        task::block_on(first).expect("it never ends");
        drop(others);
    });
}
