//! Owns: the judge of a recorded history: whether all attempts, those that failed too, saw what one order explains.
//! May use: nothing.
//! Never: a variable; it judges what was written down.
//!
//! A history is opaque if there is an order of all attempts, in which each that failed counts as one that only read,
//! that agrees with real time, and in which each read gives what was written last. Every value is written once, and who
//! writes a variable has read it; so the order of a variable's values is known, and the judge need not search. It draws
//! an arrow from each attempt to those that must come later, and looks for a circle (Adya's direct serialization graph,
//! as Elle draws it: Kingsbury, Alvaro, 2020), in time linear in the number of reads.

use std::collections::HashMap;

/// What somebody saw and did, once.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempt {
    /// Stamps of one counter: it began after the first, and ended before the second.
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) has_committed: bool,
    /// Variable and value; 0 is what stands there first. Not what it has written itself.
    pub(super) reads: Vec<(usize, u64)>,
    pub(super) writes: Vec<(usize, u64)>,
}

/// Says what is wrong with the history, if anything is.
pub(super) fn judge(history: &[Attempt]) -> Result<(), String> {
    let mut graph = Graph::new(history.len());
    let writers = writers(history)?;
    let successors = successors(history)?;
    for (at, attempt) in history.iter().enumerate() {
        for read in &attempt.reads {
            if read.1 != 0 {
                let writer =
                    writers.get(read).ok_or(format!("{at} read {read:?}, which nobody committed"))?;
                graph.arrow(*writer, at);
            }
            if let Some(next) = successors.get(read) {
                graph.arrow(at, *next);
            }
        }
    }
    graph.real_time(history);
    match graph.circle() {
        None => Ok(()),
        Some(stuck) => {
            let told: Vec<_> = stuck.iter().filter(|at| **at < history.len()).take(6).collect();
            let told: Vec<_> = told.iter().map(|at| (**at, &history[**at])).collect();
            Err(format!("no order explains {told:#?}"))
        }
    }
}

type Writes = HashMap<(usize, u64), usize>;

/// Who has committed each value.
fn writers(history: &[Attempt]) -> Result<Writes, String> {
    let mut writers = Writes::new();
    for (at, attempt) in history.iter().enumerate().filter(|(_, attempt)| attempt.has_committed) {
        for write in &attempt.writes {
            if writers.insert(*write, at).is_some() {
                return Err(format!("{write:?} was written twice: the test is wrong"));
            }
        }
    }
    Ok(writers)
}

/// Who has committed what comes after each value.
fn successors(history: &[Attempt]) -> Result<Writes, String> {
    let mut successors = Writes::new();
    for (at, attempt) in history.iter().enumerate() {
        let mut seen = HashMap::new();
        for (variable, value) in &attempt.reads {
            if seen.insert(*variable, *value).is_some_and(|before| before != *value) {
                return Err(format!("{at} read two values of {variable}: {attempt:?}"));
            }
        }
        if !attempt.has_committed {
            continue;
        }
        for (variable, _) in &attempt.writes {
            let before = *seen.get(variable).ok_or("who writes has read: the test is wrong")?;
            if let Some(other) = successors.insert((*variable, before), at) {
                return Err(format!("{other} and {at} both wrote after {before} of {variable}: one is lost"));
            }
        }
    }
    Ok(successors)
}

/// Attempts, and moments between them, with what must come after each.
struct Graph {
    after: Vec<Vec<usize>>,
}

impl Graph {
    fn new(nodes: usize) -> Graph {
        Graph { after: vec![Vec::new(); nodes] }
    }

    fn arrow(&mut self, from: usize, to: usize) {
        if from != to {
            self.after[from].push(to);
        }
    }

    /// What ended before another began comes before it: by way of a row of moments, one for each end.
    fn real_time(&mut self, history: &[Attempt]) {
        let mut ends: Vec<_> = history.iter().enumerate().map(|(at, attempt)| (attempt.end, at)).collect();
        ends.sort_unstable();
        let first = self.after.len();
        for (number, (_, at)) in ends.iter().enumerate() {
            let moment = first + number;
            self.after.push(Vec::new());
            self.arrow(*at, moment);
            if number > 0 {
                self.arrow(moment - 1, moment);
            }
        }
        for (at, attempt) in history.iter().enumerate() {
            let ended = ends.partition_point(|(end, _)| *end < attempt.begin);
            if ended > 0 {
                self.arrow(first + ended - 1, at);
            }
        }
    }

    /// Those that are on a circle, or come after one.
    fn circle(&self) -> Option<Vec<usize>> {
        let mut before = vec![0_usize; self.after.len()];
        self.after.iter().flatten().for_each(|to| before[*to] += 1);
        let mut ready: Vec<_> = (0..before.len()).filter(|at| before[*at] == 0).collect();
        while let Some(at) = ready.pop() {
            for to in &self.after[at] {
                before[*to] -= 1;
                if before[*to] == 0 {
                    ready.push(*to);
                }
            }
        }
        let stuck: Vec<_> = (0..before.len()).filter(|at| before[*at] > 0).collect();
        (!stuck.is_empty()).then_some(stuck)
    }
}

fn attempt(time: (u64, u64), committed: bool, reads: &[(usize, u64)], writes: &[(usize, u64)]) -> Attempt {
    let (begin, end) = time;
    Attempt { begin, end, has_committed: committed, reads: reads.to_vec(), writes: writes.to_vec() }
}

#[track_caller]
fn check(history: &[Attempt], expected: Option<&str>) {
    match (judge(history), expected) {
        (Ok(()), None) => {}
        (Err(said), Some(words)) => assert!(said.contains(words), "{said}"),
        (verdict, _) => panic!("{verdict:?}, expected {expected:?}"),
    }
}

#[test]
fn histories_that_are_right_are_taken() {
    check(&[], None);
    let one_after_the_other =
        [attempt((0, 1), true, &[(0, 0)], &[(0, 7)]), attempt((2, 3), true, &[(0, 7)], &[(0, 8)])];
    check(&one_after_the_other, None);
    // It read before the other wrote, and ended later.
    let overlapping =
        [attempt((0, 9), false, &[(0, 0), (1, 0)], &[]), attempt((1, 2), true, &[(0, 0)], &[(0, 7)])];
    check(&overlapping, None);
}

#[test]
fn histories_that_are_wrong_are_refused() {
    let writes_both = attempt((1, 9), true, &[(0, 0), (1, 0)], &[(0, 7), (1, 8)]);
    // A zombie: it failed, but has seen half of a commit.
    check(&[writes_both.clone(), attempt((2, 8), false, &[(0, 7), (1, 0)], &[])], Some("no order"));
    check(&[attempt((0, 9), true, &[(0, 5)], &[])], Some("nobody committed"));
    check(
        &[attempt((0, 9), false, &[(0, 0)], &[(0, 5)]), attempt((0, 9), true, &[(0, 5)], &[])],
        Some("nobody"),
    );
    let adds = |value| attempt((0, 9), true, &[(0, 0)], &[(0, value)]);
    check(&[adds(7), adds(8)], Some("one is lost"));
    // Each has read both, and writes one.
    let skewed = |at: usize, value| attempt((0, 9), true, &[(0, 0), (1, 0)], &[(at, value)]);
    check(&[skewed(0, 7), skewed(1, 8)], Some("no order"));
    // What was over is not seen.
    check(&[adds(7), attempt((10, 11), false, &[(0, 0)], &[])], Some("no order"));
    check(&[adds(7), attempt((0, 9), false, &[(0, 0), (0, 7)], &[])], Some("two values"));
}
