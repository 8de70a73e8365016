//! Owns: whom a report of a deadlock begins with.
//! May use: nothing.
//! Never: a circle that is not certain.

use super::{Front, Report, WaitingProcess};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Of more processes than this no group is looked for: it takes a look at all of them for each.
const GROUP_MAX: usize = 500;

impl Report {
    /// Puts those to the front who hold up the others.
    pub(super) fn find_front(&mut self) {
        let (front, kind) = match cycle_in(&self.processes) {
            Some(cycle) => (cycle, Front::Circle),
            None => match alone_in(&self.processes) {
                alone if alone.is_empty() => (group_in(&self.processes), Front::Group),
                alone => (alone, Front::Alone),
            },
        };
        let rest = (0..self.processes.len()).filter(|at| !front.contains(at));
        let order: Vec<usize> = front.iter().copied().chain(rest).collect();
        let mut place = alloc::vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let processes = order.iter().map(|&old| self.processes[old].clone());
        self.processes = processes
            .map(|mut process| {
                process.waits_for.iter_mut().for_each(|other| *other = place[*other]);
                process
            })
            .collect();
        (self.cycle, self.front) = (front.len(), kind);
    }
}

/// Those of whom each must go on before the process can.
fn must(process: &WaitingProcess) -> &[usize] {
    let only = process.waits_for.len() == 1 && !process.unsure && !process.outside;
    if process.all || only { &process.waits_for } else { &[] }
}

/// Follows edges until a process comes up again. Without recursion: there may be many.
fn cycle_in(processes: &[WaitingProcess]) -> Option<Vec<usize>> {
    let mut done = alloc::vec![false; processes.len()];
    let mut at_step = alloc::vec![usize::MAX; processes.len()];
    for start in 0..processes.len() {
        // The way from `start` to here, with the number of the next edge to follow at each.
        let mut way: Vec<(usize, usize)> = alloc::vec![(start, 0)];
        at_step[start] = 0;
        while let Some((at, edge)) = way.last_mut() {
            let at = *at;
            let next = must(&processes[at]).get(*edge).copied().filter(|_| !done[at]);
            *edge += 1;
            match next {
                None => {
                    (done[at], at_step[at]) = (true, usize::MAX);
                    way.pop();
                }
                Some(next) if at_step[next] != usize::MAX => {
                    return Some(way[at_step[next]..].iter().map(|&(at, _)| at).collect());
                }
                Some(next) if !done[next] => {
                    at_step[next] = way.len();
                    way.push((next, 0));
                }
                Some(_) => {}
            }
        }
    }
    None
}

fn alone_in(processes: &[WaitingProcess]) -> Vec<usize> {
    (0..processes.len()).filter(|&at| processes[at].is_alone()).collect()
}

/// The smallest group out of which no wait leads.
fn group_in(processes: &[WaitingProcess]) -> Vec<usize> {
    if processes.len() > GROUP_MAX {
        return Vec::new();
    }
    let groups = (0..processes.len()).filter_map(|start| {
        let mut group = BTreeSet::from([start]);
        let mut todo = alloc::vec![start];
        while let Some(at) = todo.pop() {
            let process = &processes[at];
            if process.unsure || process.outside {
                return None;
            }
            todo.extend(process.waits_for.iter().copied().filter(|&other| group.insert(other)));
        }
        Some(group)
    });
    let smallest = groups.filter(|group| group.len() > 1).min_by_key(BTreeSet::len);
    smallest.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processes(edges: &[&[usize]], change: impl Fn(usize, &mut WaitingProcess)) -> Vec<WaitingProcess> {
        let process = |(number, to): (usize, &&[usize])| {
            let mut process = WaitingProcess { waits_for: to.to_vec(), ..WaitingProcess::default() };
            change(number, &mut process);
            process
        };
        edges.iter().enumerate().map(process).collect()
    }

    fn check(edges: &[&[usize]], expected: Option<&[usize]>) {
        let all = processes(edges, |_, process| process.all = true);
        assert_eq!(cycle_in(&all).as_deref(), expected);
    }

    #[test]
    fn cycles_are_found_and_only_they() {
        check(&[&[1], &[0]], Some(&[0, 1]));
        check(&[&[1, 2], &[2], &[]], None);
        check(&[&[1], &[2], &[3], &[1]], Some(&[1, 2, 3]));
        check(&[&[0]], Some(&[0]));
        check(&[&[1], &[2], &[], &[2, 3]], Some(&[3]));
    }

    fn front(edges: &[&[usize]], change: impl Fn(usize, &mut WaitingProcess)) -> (Front, usize) {
        let mut report = Report { processes: processes(edges, change), ..Report::default() };
        report.find_front();
        (report.front, report.cycle)
    }

    #[test]
    fn a_circle_is_none_if_somebody_else_could_come() {
        assert_eq!(front(&[&[1], &[0], &[0]], |_, _| ()), (Front::Circle, 2));
        assert_eq!(front(&[&[1, 2], &[0], &[0]], |_, _| ()), (Front::Group, 3));
        assert_eq!(front(&[&[1, 2], &[0], &[]], |_, _| ()), (Front::Alone, 1));
        assert_eq!(front(&[&[1], &[0]], |number, process| process.unsure = number == 0), (Front::Group, 0));
        assert_eq!(front(&[&[1], &[]], |_, process| process.outside = true), (Front::Group, 0));
    }
}
