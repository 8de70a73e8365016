//! Owns: what a trace is told of jobs: what becomes of them, and their names while they run.
//! May use: `worker`, `raddle-trace`.
//! Never: what a job holds.

use crate::worker::{self, Worker};
use raddle_trace::Event;

/// Something has become of a job of that number, here.
#[cold]
pub fn note_job(event: Event, job: u32) {
    worker::trace_job(event, job);
}

/// The running process runs a job, made of a closure of that type.
#[cold]
pub fn name_this_job<F>() {
    if Worker::with_current(Worker::traces) == Some(true) {
        worker::name_running(&name_of_job(std::any::type_name::<F>()).into());
    }
}

/// What to call a process that runs a closure of that type: by the function in which the program wrote it.
///
/// Our own closures stand around the program's: `raddle::job::join::join<app::sum::{{closure}}, ...`.
fn name_of_job(closure: &str) -> String {
    let mut paths = closure.split(|c: char| !(c.is_alphanumeric() || "_:{}#".contains(c)));
    let ours =
        |path: &str| ["raddle", "core::", "alloc::", "std::", ":"].iter().any(|own| path.starts_with(own));
    // A search for text would be linked for this alone, 3 KB.
    let is_path = |path: &str| path.as_bytes().windows(2).any(|two| two == b"::");
    let theirs = paths.find(|path| is_path(path) && !ours(path));
    match theirs.and_then(|path| path.split("::{{").next()) {
        Some(function) => format!("job of {function}"),
        None => "job".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_goes_by_the_function_that_made_it() {
        let join = "raddle_job::job::join::join<app::sum::{{closure}}, app::sum::{{closure}}, u64, u64>::{{closure}}";
        assert_eq!(name_of_job(join), "job of app::sum");
        assert_eq!(name_of_job("app::sum<u64>::{{closure}}"), "job of app::sum");
        assert_eq!(name_of_job("app::Tree::walk::{{closure}}::{{closure}}"), "job of app::Tree::walk");
        assert_eq!(name_of_job("raddle_job::job::par::halves<usize>::{{closure}}"), "job");
    }
}
