//! Owns: `par_for`, `par_map`, `par_for_each`: loops whose turns may run in parallel.
//! May use: nothing.
//! Never: a number of chunks chosen beforehand.
//!
//! *Lazy splitting.* A loop runs turn after turn. When jobs are wanted it forks what is left in halves; so a
//! loop that nobody helps is a loop, with one relaxed load a turn, and one that somebody helps is cut where it stands.

use super::flow::Flow;
use super::join::join;
use std::ops::Range;

/// Calls `f` with each number of `range`, in parallel if there are idle workers.
///
/// The calls must not wait for each other: what is left of a range starts only when somebody is idle, or in its turn.
///
/// # Panics
/// As the first of the calls that panicked, in the order of the range, when all that was begun has ended. Calls that
/// would follow it in its part of the range do not happen.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// raddle::par_for(0..1000, |n| {
///     sum.fetch_add(n, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
pub fn par_for<F>(range: Range<usize>, f: F)
where
    F: Fn(usize) + Sync,
{
    if range.len() > 1 {
        // The outermost join makes the list, and enters the runtime.
        halves(range, &f);
    } else {
        range.for_each(f);
    }
}

/// Calls `f` with each element of `items`, in parallel if there are idle workers.
///
/// # Panics
/// As [`par_for`].
pub fn par_for_each<T, F>(items: &mut [T], f: F)
where
    T: Send,
    F: Fn(&mut T) + Sync,
{
    fn each<T: Send, F: Fn(&mut T) + Sync>(items: &mut [T], f: &F) {
        let mut rest = items;
        while rest.len() > 1 && !jobs_are_wanted() {
            let Some((first, others)) = std::mem::take(&mut rest).split_first_mut() else { return };
            f(first);
            rest = others;
        }
        match rest {
            [] => {}
            [last] => f(last),
            _ => cut(rest, f),
        }
    }
    fn cut<T: Send, F: Fn(&mut T) + Sync>(items: &mut [T], f: &F) {
        let (left, right) = items.split_at_mut(items.len() / 2);
        join(|| each(left, f), || each(right, f));
    }
    match items {
        [] => {}
        [only] => f(only),
        _ => cut(items, &f),
    }
}

/// The values of `f` for each element of `items`, in their order, computed in parallel if there are idle workers.
///
/// # Panics
/// As [`par_for`].
///
/// ```
/// let squares = raddle::par_map(&[1, 2, 3], |n| n * n);
/// assert_eq!(squares, [1, 4, 9]);
/// ```
pub fn par_map<T, R, F>(items: &[T], f: F) -> Vec<R>
where
    T: Sync,
    R: Send,
    F: Fn(&T) -> R + Sync,
{
    let mut values: Vec<(&T, Option<R>)> = items.iter().map(|item| (item, None)).collect();
    par_for_each(&mut values, |(item, value)| *value = Some(f(item)));
    values.into_iter().filter_map(|(_, value)| value).collect()
}

fn halves<F: Fn(usize) + Sync>(range: Range<usize>, f: &F) {
    let middle = range.start + range.len() / 2;
    join(|| turns(range.start..middle, f), || turns(middle..range.end, f));
}

fn turns<F: Fn(usize) + Sync>(mut range: Range<usize>, f: &F) {
    while let Some(turn) = range.next() {
        f(turn);
        if range.len() > 1 && jobs_are_wanted() {
            return halves(range, f);
        }
    }
}

#[inline(always)]
fn jobs_are_wanted() -> bool {
    Flow::current().is_some_and(|flow| flow.worker().jobs.is_wanted())
}
