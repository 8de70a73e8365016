//! Owns: running several groups side by side, and which of them may.
//! May use: `failing`, `groups`, `run`, `anyhow`.
//! Never: the output of two groups mixed, or what passed shown: of a group that fails, what failed is shown in the end.
//!
//! Cargo uses all cores while it compiles, and few while it links or while a test waits for time to pass. A second
//! group fills those gaps. Two groups that build into the same folder would only wait for each other's lock, so a
//! thread prefers a group whose folder nobody builds into.
//!
//! What the groups need may be installed meanwhile: until it is, only groups run that read the source and run nothing
//! else. (A new machine's installation takes minutes, most of them on one core.)

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::failing;
use crate::groups::Group;
use crate::run::{GroupOutcome, Row, run_group};

/// Groups for which nothing has to be installed.
const READ_ONLY: [&str; 4] = ["fmt", "tidy", "clippy", "doc"];

/// Installs what groups need, and gives what there is to say of that.
type Setup = fn() -> anyhow::Result<String>;

/// What is left to do, what is being done, and what came of it.
struct Work {
    waiting: VecDeque<(usize, &'static Group)>,
    folders_in_use: Vec<&'static str>,
    rows: Vec<(usize, anyhow::Result<Row>)>,
    /// What groups need is being installed.
    installs: bool,
}

/// The work, and a bell for those that wait until all is installed.
struct Bench {
    work: Mutex<Work>,
    installed: Condvar,
}

/// Where a group builds.
fn folder(group: &Group) -> &'static str {
    let named = |step: &&'static str, option| step.split_once(option)?.1.split_whitespace().next();
    let first = group.steps.first();
    let named =
        first.and_then(|step| named(step, "--target-dir ").or_else(|| named(step, "--manifest-path ")));
    named.unwrap_or("target")
}

/// Runs `groups`, at most `jobs` at a time, and `setup` beside the first of them; the rows in the order of `groups`.
///
/// # Errors
/// If something cannot be started, or `setup` fails: then no group begins any more.
pub(crate) fn run(
    groups: &[&'static Group],
    jobs: usize,
    setup: Option<Setup>,
    say: &mut (dyn FnMut(&str) + Send),
) -> anyhow::Result<Vec<Row>> {
    let waiting = groups.iter().copied().enumerate().collect();
    let work = Work { waiting, folders_in_use: Vec::new(), rows: Vec::new(), installs: setup.is_some() };
    let bench = Bench { work: Mutex::new(work), installed: Condvar::new() };
    let say = Mutex::new(say);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| run_all(&bench, &say));
        }
        let said = setup.map_or_else(|| Ok(String::new()), |setup| setup());
        let mut work = lock(&bench.work);
        work.installs = false;
        if said.is_err() {
            work.waiting.clear();
        }
        drop(work);
        bench.installed.notify_all();
        said.map(|said| lock(&say)(&said))
    })?;
    let mut rows = bench.work.into_inner().unwrap_or_else(PoisonError::into_inner).rows;
    rows.sort_by_key(|(number, _)| *number);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run_all(bench: &Bench, say: &Mutex<&mut (dyn FnMut(&str) + Send)>) {
    loop {
        // A statement of its own: the guard must not live through the body.
        let chosen = wait_for_next(bench);
        let Some((number, group)) = chosen else { return };
        lock(say)(&format!("\n[{}] has begun\n", group.name));
        let mut shown = String::new();
        let row = run_group(group, &mut |text| shown.push_str(text));
        lock(say)(&told(group, &row, &shown));
        let mut work = lock(&bench.work);
        work.rows.push((number, row));
        if let Some(place) = work.folders_in_use.iter().position(|folder_| *folder_ == folder(group)) {
            work.folders_in_use.swap_remove(place);
        }
    }
}

/// What is shown of a group that has ended.
fn told(group: &Group, row: &anyhow::Result<Row>, output: &str) -> String {
    match row {
        Ok(Row { outcome: GroupOutcome::Passed, took, .. }) => {
            format!("[{}] has passed, in {:.0} s\n", group.name, took.as_secs_f64())
        }
        Ok(Row { outcome: GroupOutcome::Skipped(why), .. }) => {
            format!("[{}] is skipped: {why}\n", group.name)
        }
        Ok(Row { outcome: GroupOutcome::Failed(_), .. }) | Err(_) => {
            format!("[{}] has failed:\n{}", group.name, failing::parts(output))
        }
    }
}

/// The next group, for which it waits while others are being installed. `None` if there is none left.
fn wait_for_next(bench: &Bench) -> Option<(usize, &'static Group)> {
    let mut work = lock(&bench.work);
    loop {
        if let Some(chosen) = next(&mut work) {
            return Some(chosen);
        }
        if !work.installs || work.waiting.is_empty() {
            return None;
        }
        work = bench.installed.wait(work).unwrap_or_else(PoisonError::into_inner);
    }
}

/// The first group that may run and whose folder is free, or the first that may run.
fn next(work: &mut Work) -> Option<(usize, &'static Group)> {
    let installs = work.installs;
    let may_run = |group: &Group| !installs || READ_ONLY.contains(&group.name);
    let is_free = |group: &Group| !work.folders_in_use.contains(&folder(group));
    let place =
        |free: bool| work.waiting.iter().position(|(_, group)| may_run(group) && (!free || is_free(group)));
    let chosen = work.waiting.remove(place(true).or_else(|| place(false))?)?;
    work.folders_in_use.push(folder(chosen.1));
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    static A: Group = Group { name: "a", what: "", needs: &[], steps: &["echo a1; echo a2"] };
    static B: Group = Group { name: "b", what: "", needs: &[], steps: &["echo b1; echo b2"] };
    static FAR: Group =
        Group { name: "far", what: "", needs: &[], steps: &["true --target-dir target/far x"] };

    #[test]
    fn the_folder_is_the_one_that_the_step_names() {
        assert_eq!(folder(&A), "target");
        assert_eq!(folder(&FAR), "target/far");
    }

    #[test]
    fn rows_keep_the_order_and_outputs_do_not_mix() {
        let mut shown = String::new();
        static RED: Group = Group { name: "red", what: "", needs: &[], steps: &["echo r1; echo r2; false"] };
        let rows = run(&[&A, &RED, &B], 2, None, &mut |text| shown.push_str(text)).expect("sh starts");
        assert_eq!(rows.iter().map(|row| row.group).collect::<Vec<_>>(), ["a", "red", "b"]);
        assert!(shown.contains("[a] has passed") && shown.contains("[b] has passed"), "{shown}");
        assert!(shown.contains("r1\nr2\n") && !shown.contains("a1\n"), "{shown}");
    }

    #[test]
    fn a_thread_prefers_a_folder_that_nobody_uses() {
        let mut work = Work {
            waiting: [&A, &B, &FAR].into_iter().enumerate().collect(),
            folders_in_use: Vec::new(),
            rows: Vec::new(),
            installs: false,
        };
        let order: Vec<_> = std::iter::from_fn(|| next(&mut work)).map(|(_, group)| group.name).collect();
        assert_eq!(order, ["a", "far", "b"]);
    }

    #[test]
    fn until_all_is_installed_only_the_source_is_read() {
        static FMT: Group = Group { name: "fmt", what: "", needs: &[], steps: &["true"] };
        static INSTALLED: AtomicBool = AtomicBool::new(false);
        fn setup() -> anyhow::Result<String> {
            std::thread::sleep(std::time::Duration::from_millis(100));
            INSTALLED.store(true, Ordering::Relaxed);
            Ok("all is there\n".to_owned())
        }
        let mut shown = String::new();
        let rows = run(&[&A, &FMT], 2, Some(setup), &mut |text| {
            assert!(!text.contains("[a] has begun") || INSTALLED.load(Ordering::Relaxed), "{text}");
            shown.push_str(text);
        });
        assert_eq!(rows.expect("sh starts").len(), 2);
        assert!(shown.contains("all is there") && shown.contains("[fmt]"), "{shown}");
    }

    #[test]
    fn nothing_begins_where_nothing_could_be_installed() {
        let setup = || anyhow::bail!("no network");
        let mut shown = String::new();
        let said = run(&[&A], 2, Some(setup), &mut |text| shown.push_str(text)).map(|rows| rows.len());
        assert!(said.is_err_and(|error| error.to_string() == "no network") && shown.is_empty());
    }
}
