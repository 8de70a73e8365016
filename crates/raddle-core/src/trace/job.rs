//! Owns: by what a trace knows jobs: a number while they are open, a name while they run.
//! May use: the address of a job's node; the name of its closure's type.
//! Never: what the node holds.

use crate::worker::Worker;
use raddle_protocol::protocol::jobs::Node;
use raddle_trace::Event;

/// The number of a job: of all that are open or run at one time, no two have the same, if they lie within 64 GiB.
pub fn number_of_job(node: *const Node) -> u32 {
    (node.addr() >> 4) as u32
}

/// Something has become of a job of that number, here.
#[cold]
pub fn note_job(event: Event, job: u32) {
    if let Some(worker) = Worker::current() {
        worker.trace_job(event, job, 0);
    }
}

/// The running process runs a job, made of a closure of that type.
#[cold]
pub fn name_this_job<F>() {
    if let Some(worker) = Worker::current().filter(|worker| worker.traces()) {
        worker.name_running(&name_of_job(std::any::type_name::<F>()).into());
    }
}

/// What to call a process that runs a closure of that type: by the function in which the program wrote it.
///
/// Our own closures stand around the program's: `raddle::job::join::join<app::sum::{{closure}}, ...`.
fn name_of_job(closure: &str) -> String {
    let mut paths = closure.split(|c: char| !(c.is_alphanumeric() || "_:{}#".contains(c)));
    let ours =
        |path: &str| ["raddle", "core::", "alloc::", "std::", ":"].iter().any(|own| path.starts_with(own));
    let theirs = paths.find(|path| path.contains("::") && !ours(path));
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
