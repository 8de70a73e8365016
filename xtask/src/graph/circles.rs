//! Owns: circles among numbered things that name each other, and how few arrows run against an order.
//! May use: nothing.
//! Never: what the numbers stand for.

use std::collections::BTreeSet;

/// Every set of two or more that all reach each other, the largest first.
pub(crate) fn circles(count: usize, arrows: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let forward = reached_by(count, arrows, |(from, to)| (from, to));
    let backward = reached_by(count, arrows, |(from, to)| (to, from));
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    for start in 0..count {
        if seen.contains(&start) {
            continue;
        }
        let back: BTreeSet<_> = reach(start, &backward).into_iter().collect();
        let circle: Vec<_> =
            reach(start, &forward).into_iter().filter(|other| back.contains(other)).collect();
        seen.extend(circle.iter().copied());
        if circle.len() > 1 {
            found.push(circle);
        }
    }
    found.sort_by_key(|circle| (usize::MAX - circle.len(), circle.clone()));
    found
}

fn reached_by(
    count: usize,
    arrows: &[(usize, usize)],
    direction: fn((usize, usize)) -> (usize, usize),
) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); count];
    for (from, to) in arrows.iter().copied().map(direction) {
        next[from].push(to);
    }
    next
}

/// Everything that `start` reaches, itself included, in order of numbers.
fn reach(start: usize, next: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; next.len()];
    let mut open = vec![start];
    seen[start] = true;
    while let Some(at) = open.pop() {
        for to in next[at].iter().copied() {
            if !std::mem::replace(&mut seen[to], true) {
                open.push(to);
            }
        }
    }
    (0..next.len()).filter(|at| seen[*at]).collect()
}

/// How many arrows run upward in the best order that is found by moving one thing at a time: 0 exactly if there is no
/// circle, and else close to the fewest that must be turned round to be rid of every circle.
pub(crate) fn upward(count: usize, arrows: &[(usize, usize)]) -> usize {
    let mut distinct: Vec<_> = arrows.iter().copied().filter(|(from, to)| from != to).collect();
    distinct.sort_unstable();
    distinct.dedup();
    circles(count, &distinct).iter().map(|circle| upward_within(circle, &distinct)).sum()
}

fn upward_within(circle: &[usize], arrows: &[(usize, usize)]) -> usize {
    let inside: Vec<_> =
        arrows.iter().filter(|(from, to)| circle.contains(from) && circle.contains(to)).copied().collect();
    let surplus = |at: &usize| {
        let out = inside.iter().filter(|(from, _)| from == at).count();
        let into = inside.iter().filter(|(_, to)| to == at).count();
        into as isize - out as isize
    };
    let mut order = circle.to_vec();
    order.sort_by_key(|at| (surplus(at), *at));
    let mut best = against(&order, &inside);
    loop {
        let before = best;
        for at in circle {
            best = best.min(move_one(&mut order, *at, &inside));
        }
        if best == before {
            return best;
        }
    }
}

/// Puts `thing` where the fewest arrows run upward, and counts them.
fn move_one(order: &mut Vec<usize>, thing: usize, arrows: &[(usize, usize)]) -> usize {
    let old = order.clone();
    order.retain(|other| *other != thing);
    let place = |at: usize| {
        let mut order = order.clone();
        order.insert(at, thing);
        (against(&order, arrows), order)
    };
    let best = (0..=order.len()).map(place).min_by_key(|(count, _)| *count);
    let (count, best) = best.unwrap_or_else(|| (against(&old, arrows), old));
    *order = best;
    count
}

fn against(order: &[usize], arrows: &[(usize, usize)]) -> usize {
    let mut place = vec![0; 1 + order.iter().copied().max().unwrap_or(0)];
    for (at, thing) in order.iter().enumerate() {
        place[*thing] = at;
    }
    arrows.iter().filter(|(from, to)| place[*from] > place[*to]).count()
}

#[test]
fn circles_are_found_and_the_largest_comes_first() {
    let arrows = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2), (5, 0)];
    assert_eq!(circles(6, &arrows), [vec![2, 3, 4], vec![0, 1]]);
    assert_eq!(circles(3, &[(0, 1), (1, 2), (0, 2)]), [[0; 0]; 0]);
}

#[test]
fn upward_arrows_are_as_few_as_an_order_allows() {
    assert_eq!(upward(3, &[(0, 1), (1, 2), (0, 2)]), 0);
    assert_eq!(upward(3, &[(0, 1), (1, 2), (2, 0)]), 1);
    assert_eq!(upward(4, &[(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (0, 2)]), 2);
    // A star whose points name the middle is one order; each point that is named back is one arrow upward.
    assert_eq!(upward(4, &[(1, 0), (2, 0), (3, 0), (0, 1), (0, 2)]), 2);
}
