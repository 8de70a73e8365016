//! Owns: the product under each MPI: equal bit by bit over models, workers and MPIs, to loops, and over meshes.
//! May use: `raddle-mpi`, `redblack3d`, `summa`.
//! Never: expecting that something takes less than a time.

#[path = "../../../crates/raddle-mpi/tests/support/mod.rs"]
mod support;

use raddle_mpi::install::Flavour;
use redblack3d::mixed;
use std::cell::RefCell;
use summa::{Values, element};
use support::{Ended, Job, each_mpi};

const SIZE: [usize; 3] = [23, 31, 37];

fn job(mpi: Flavour, ranks: usize, workers: usize, arguments: &[&str]) -> Ended {
    let mut line = vec!["--size", "23x31x37", "--panel", "5", "--deadline", "120"];
    line.extend(arguments);
    Job::of(mpi, ranks, env!("CARGO_BIN_EXE_summa"), &line).with("RADDLE_WORKERS", &workers.to_string()).run()
}

/// By loops over whole numbers, which know nothing of ranks or of a BLAS.
fn checksum_of_loops() -> u64 {
    let [rows, columns, inner] = SIZE;
    let mut sum = 0_u64;
    for column in 0..columns {
        for row in 0..rows {
            let term =
                |at| element(0, row, at, Values::Whole) as i64 * element(1, at, column, Values::Whole) as i64;
            let product: i64 = (0..inner).map(term).sum();
            sum = sum.wrapping_add(mixed((row + rows * column) as u64, (product as f64).to_bits()));
        }
    }
    sum
}

#[test]
fn products_of_whole_numbers_are_those_of_loops_on_every_mesh() {
    let told = format!("checksum {:016x}", checksum_of_loops());
    each_mpi(|mpi| {
        for (ranks, workers, arguments) in [
            (1, 2, &["--model", "shared"][..]),
            (2, 1, &["--model", "sync", "--mesh", "2x1"]),
            (2, 1, &["--model", "async", "--mesh", "1x2"]),
            (3, 1, &["--model", "watched", "--mesh", "3x1"]),
            (4, 1, &["--model", "dedicated", "--mesh", "2x2"]),
            (6, 1, &["--model", "auto", "--mesh", "2x3"]),
        ] {
            let ended = job(mpi, ranks, workers, &[&["--values", "whole"], arguments].concat());
            ended.expect_well();
            ended.expect(&told);
            ended.expect("product within rounding");
        }
    });
}

#[test]
fn real_products_are_equal_over_models_workers_and_mpis() {
    let first = RefCell::new(None::<String>);
    each_mpi(|mpi| {
        for (workers, model) in
            [(1, "sync"), (1, "async"), (2, "shared"), (1, "watched"), (1, "dedicated"), (2, "auto")]
        {
            let ended = job(mpi, 4, workers, &["--model", model]);
            ended.expect_well();
            ended.expect("product within rounding");
            let said = ended.line("checksum");
            let first = first.borrow_mut().get_or_insert_with(|| said.clone()).clone();
            assert_eq!(said, first, "{mpi:?} {model}");
        }
    });
}

#[test]
fn panels_of_another_width_on_one_rank_are_named() {
    each_mpi(|mpi| {
        let ended = job(mpi, 2, 1, &["--disagree", "--mesh", "2x1"]);
        ended.expect_ill();
        // By either rank: mpirun may end the other one before it has said so, too.
        ended.expect("`left`, broadcast: rank ");
        ended.expect("rank 0 has 920 bytes of f64 along [0, 1]");
        ended.expect("rank 1 has 1104 bytes of f64 along [0, 1]");
    });
}
