//! Owns: the tests that run programs by chance, on variables and on a model that is plain memory.
//! May use: `atomically`, `stop`, `tvar`, `tx`.
//! Never: a second thread.

use super::Chance;
use crate::{StopOr, TVar, Tx, abort, atomically_or_err};
use std::panic::{AssertUnwindSafe, catch_unwind};

const VARIABLES: usize = 40;

type State = Vec<String>;

/// Does something by chance, to the variables and to the model alike. What is rolled back, the caller of each undoes in
/// the model.
fn act(
    tx: &mut Tx<'_>,
    all: &[TVar<String>],
    model: &mut State,
    chance: &mut Chance,
    depth: usize,
) -> Result<(), StopOr<usize>> {
    for _ in 0..chance.below(30) {
        let at = chance.below(VARIABLES);
        match chance.below(if depth < 3 { 14 } else { 11 }) {
            0..4 => assert_eq!(tx.read(&all[at])?, model[at]),
            4..8 => {
                model[at] = chance.below(1 << 20).to_string();
                tx.write(&all[at], model[at].clone())?;
            }
            8..11 => {
                model[at].push('x');
                tx.modify(&all[at], |text| text + "x")?;
            }
            11 => {
                let before = model.clone();
                let retries = chance.below(2) == 0;
                let mut inner = model.clone();
                let first = tx.or_else(
                    |tx| {
                        act(tx, all, &mut inner, chance, depth + 1)?;
                        if retries { Ok(tx.retry()?) } else { Ok(true) }
                    },
                    |_| Ok::<_, StopOr<usize>>(false),
                )?;
                *model = if first { inner } else { before };
            }
            12 => {
                let before = model.clone();
                let part = tx.nested(|tx| {
                    act(tx, all, model, chance, depth + 1)?;
                    if chance.below(2) == 0 { abort(0) } else { Ok(()) }
                })?;
                if part.is_err() {
                    *model = before;
                }
            }
            _ => {
                let before = model.clone();
                let panics = catch_unwind(AssertUnwindSafe(|| {
                    tx.or_else(
                        |tx| {
                            act(tx, all, model, chance, depth + 1)?;
                            std::panic::resume_unwind(Box::new(()))
                        },
                        |_| Ok::<_, StopOr<usize>>(()),
                    )
                }));
                match panics {
                    Ok(result) => result?,
                    Err(_) => *model = before,
                }
            }
        }
    }
    if depth > 0 && chance.below(12) == 0 { abort(depth) } else { Ok(()) }
}

#[test]
fn programs_do_what_their_model_does() {
    for seed in 1..100 {
        let mut chance = Chance::new(seed);
        let all: Vec<_> = (0..VARIABLES).map(|at| TVar::new(at.to_string())).collect();
        let mut model: State = (0..VARIABLES).map(|at| at.to_string()).collect();
        for _ in 0..10 {
            let mut inner = model.clone();
            let end = chance.below(4);
            let done = catch_unwind(AssertUnwindSafe(|| {
                atomically_or_err(|tx| {
                    act(tx, &all, &mut inner, &mut chance, 0)?;
                    match end {
                        0 => abort(99),
                        1 => std::panic::resume_unwind(Box::new(())),
                        _ => Ok(()),
                    }
                })
            }));
            if matches!(done, Ok(Ok(()))) {
                model = inner;
            }
            let now: Vec<_> = all.iter().map(TVar::load).collect();
            assert_eq!(now, model, "seed {seed}");
        }
    }
}
