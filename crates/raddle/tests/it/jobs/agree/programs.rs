//! Small programs as a user of such a library writes them.

use super::*;

fn quick_sort<T: PartialOrd + Send>(items: &mut [T]) {
    if items.len() < 2 {
        return;
    }
    let (mut middle, last) = (0, items.len() - 1);
    for at in 0..last {
        if items[at] <= items[last] {
            items.swap(at, middle);
            middle += 1;
        }
    }
    items.swap(middle, last);
    let (low, high) = items.split_at_mut(middle);
    jobs::join(|| quick_sort(low), || quick_sort(&mut high[1..]));
}

#[test]
fn sorting() {
    everywhere(|| {
        let mut numbers: Vec<u32> = (0..5000_u32).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        quick_sort(&mut numbers);
        assert_eq!(numbers, sorted);
    });
}

struct Tree {
    value: u64,
    children: Vec<Tree>,
}

impl Tree {
    fn new(value: u64, depth: u32) -> Tree {
        let children = if depth == 0 { 0 } else { 3 };
        Tree { value, children: (1..=children).map(|n| Tree::new(value * 3 + n, depth - 1)).collect() }
    }

    fn for_each<'tree, 'scope>(&'tree self, s: &jobs::Scope<'scope>, f: &'scope (impl Fn(u64) + Sync))
    where
        'tree: 'scope,
    {
        for child in &self.children {
            s.spawn(move |s| child.for_each(s, f));
        }
        f(self.value);
    }

    fn sum(&self) -> u64 {
        fn of(trees: &[Tree]) -> u64 {
            match trees {
                [] => 0,
                [tree] => tree.value + of(&tree.children),
                _ => {
                    let (left, right) = trees.split_at(trees.len() / 2);
                    let (left, right) = jobs::join(|| of(left), || of(right));
                    left + right
                }
            }
        }
        self.value + of(&self.children)
    }
}

#[test]
fn trees() {
    everywhere(|| {
        let tree = Tree::new(1, 5);
        let (sum, count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let visit = |value| {
            sum.fetch_add(value as usize, Ordering::Relaxed);
            count.fetch_add(1, Ordering::Relaxed);
        };
        jobs::scope(|s| tree.for_each(s, &visit));
        assert_eq!(count.into_inner(), 364);
        assert_eq!(sum.into_inner() as u64, tree.sum());
    });
}

#[test]
fn a_matrix_in_bands() {
    everywhere(|| {
        const SIZE: usize = 20;
        let (a, b): (Vec<usize>, Vec<usize>) = ((0..SIZE * SIZE).collect(), (0..SIZE * SIZE).rev().collect());
        let entry =
            |row: usize, column: usize| (0..SIZE).map(|k| a[row * SIZE + k] * b[k * SIZE + column]).sum();
        let mut product = vec![0_usize; SIZE * SIZE];
        jobs::scope_fifo(|s| {
            for (row, band) in product.chunks_mut(SIZE).enumerate() {
                s.spawn_fifo(move |_| {
                    band.iter_mut().enumerate().for_each(|(c, task)| *task = entry(row, c))
                });
            }
        });
        assert!((0..SIZE * SIZE).all(|at| product[at] == entry(at / SIZE, at % SIZE)));
    });
}

/// A scope may be opened, left and opened again, on every level, from every kind of job.
#[test]
fn everything_inside_of_everything() {
    fn nest(depth: u32, count: &AtomicUsize) {
        count.fetch_add(1, Ordering::Relaxed);
        if depth == 0 {
            return;
        }
        jobs::join(
            || jobs::scope(|s| s.spawn(|_| nest(depth - 1, count))),
            || jobs::scope_fifo(|s| s.spawn_fifo(|_| nest(depth - 1, count))),
        );
        jobs::in_place_scope(|s| s.spawn(|s| s.spawn(|_| nest(jobs::join(|| depth - 1, || ()).0, count))));
    }
    everywhere(|| {
        let count = AtomicUsize::new(0);
        nest(4, &count);
        assert_eq!(count.into_inner(), 121);
    });
}
