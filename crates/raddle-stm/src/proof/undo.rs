//! Owns: the tests that what nested transactions have written over is dropped once, as what it is.
//! May use: `atomically`, `stop`, `tvar`, `tx`.
//! Never: a second thread.

use super::Chance;
use super::reclaim::{Counted, check_freed};
use crate::{StopOr, TVar, Tx, abort, atomically_or_err};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Variables of several kinds: a word, two words, a box with memory of its own, a large box.
struct Mixed {
    alive: Arc<AtomicUsize>,
    numbers: Vec<TVar<u64>>,
    pairs: Vec<TVar<(u64, u64)>>,
    texts: Vec<TVar<String>>,
    larges: Vec<TVar<Large>>,
}

/// Counted, and whole: each number is the first.
#[derive(Clone)]
struct Large([u64; 9], #[allow(dead_code, reason = "it counts")] Counted);

impl Mixed {
    fn new(count: usize) -> Mixed {
        let mut all = Mixed {
            alive: Arc::default(),
            numbers: Vec::new(),
            pairs: Vec::new(),
            texts: Vec::new(),
            larges: Vec::new(),
        };
        for _ in 0..count {
            // One after the other, so that any two kinds come in either order of their addresses.
            all.numbers.push(TVar::new(0));
            all.texts.push(TVar::new(text(0)));
            all.larges.push(TVar::new(all.large(0)));
            all.pairs.push(TVar::new((0, 0)));
        }
        all
    }

    fn large(&self, n: u64) -> Large {
        Large([n; 9], Counted::new(&self.alive))
    }

    fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Writes `n` to one of the variables.
    fn write(&self, tx: &mut Tx<'_>, at: usize, n: u64) -> Result<(), StopOr<()>> {
        match (at % 4, at / 4 % self.count()) {
            (0, at) => tx.write(&self.numbers[at], n)?,
            (1, at) => tx.write(&self.pairs[at], (n, n))?,
            (2, at) => tx.write(&self.texts[at], text(n))?,
            (_, at) => tx.write(&self.larges[at], self.large(n))?,
        }
        Ok(())
    }

    /// All values, each told as its number.
    fn values(&self) -> Vec<u64> {
        let mut all = vec![0; 4 * self.count()];
        for at in 0..self.count() {
            all[4 * at] = self.numbers[at].load();
            let (first, second) = self.pairs[at].load();
            assert_eq!(first, second);
            all[4 * at + 1] = first;
            let told = self.texts[at].load();
            all[4 * at + 2] = told.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
            assert_eq!(told, text(all[4 * at + 2]));
            let Large(large, _) = self.larges[at].load();
            assert_eq!(large, [large[0]; 9]);
            all[4 * at + 3] = large[0];
        }
        all
    }
}

fn text(n: u64) -> String {
    format!("{n} {}", "x".repeat(40))
}

/// Writes some, and more in a part of its own, that is kept or not.
fn act(
    tx: &mut Tx<'_>,
    all: &Mixed,
    model: &mut Vec<u64>,
    chance: &mut Chance,
    depth: usize,
) -> Result<(), StopOr<()>> {
    for _ in 0..chance.below(8) {
        let (at, n) = (chance.below(model.len()), chance.below(1 << 30) as u64);
        all.write(tx, at, n)?;
        model[at] = n;
    }
    if depth == 0 {
        return Ok(());
    }
    let (mut inner, is_kept) = (model.clone(), chance.below(3) > 0);
    let done = if chance.below(2) == 0 {
        let part = tx.nested(|tx| {
            act(tx, all, &mut inner, chance, depth - 1)?;
            if is_kept { Ok(()) } else { abort(()) }
        })?;
        part.is_ok()
    } else {
        let first = |tx: &mut Tx<'_>| -> Result<bool, StopOr<()>> {
            act(tx, all, &mut inner, chance, depth - 1)?;
            if is_kept { Ok(true) } else { Ok(tx.retry()?) }
        };
        tx.or_else(first, |_| Ok(false))?
    };
    assert_eq!(done, is_kept);
    if done {
        *model = inner;
    }
    for _ in 0..chance.below(3) {
        let (at, n) = (chance.below(model.len()), chance.below(1 << 30) as u64);
        all.write(tx, at, n)?;
        model[at] = n;
    }
    Ok(())
}

/// Ends as `end` says: by a commit, an abort, a panic, or a conflict and then a commit.
fn run(all: &Mixed, model: &mut Vec<u64>, chance: &mut Chance, end: usize) {
    let (mut result, mut conflicts) = (model.clone(), end == 3);
    let watched = TVar::new(0);
    let done = catch_unwind(AssertUnwindSafe(|| {
        atomically_or_err(|tx| -> Result<(), StopOr<()>> {
            tx.read(&watched)?;
            result.clone_from(model);
            act(tx, all, &mut result, chance, 3)?;
            if std::mem::take(&mut conflicts) {
                watched.store(1);
            }
            match end {
                0 => abort(()),
                1 => std::panic::resume_unwind(Box::new(())),
                _ => Ok(()),
            }
        })
    }));
    assert_eq!(matches!(done, Ok(Ok(()))), end > 1);
    if end > 1 {
        *model = result;
    }
}

/// Values of several kinds, a few variables and many, so that a commit finds its writes in either order.
#[test]
fn what_was_written_over_is_dropped_as_what_it_is() {
    for count in [1, 2, 12] {
        let mut chance = Chance::new(count as u64);
        let all = Mixed::new(count);
        let mut model = vec![0; 4 * count];
        for _ in 0..3000 {
            let end = chance.below(6);
            run(&all, &mut model, &mut chance, end);
            assert_eq!(all.values(), model);
        }
        check_freed(&all.alive, || all.larges[0].store(all.large(model[3])));
    }
}
