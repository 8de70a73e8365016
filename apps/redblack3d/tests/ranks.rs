//! Owns: the solver under each MPI: results equal bit by bit over models, ranks and workers, and to another program's.
//! May use: `raddle-mpi`, `redblack3d`, gcc, `cargo xtask install`.
//! Never: expecting that something takes less than a time.

#[path = "../../../crates/raddle-core/tests/support/own_folder.rs"]
mod own_folder;
#[path = "../../../crates/raddle-core/tests/support/succeed.rs"]
mod succeed;
#[path = "../../../crates/raddle-mpi/tests/support/mod.rs"]
mod support;

use own_folder::own_folder;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use succeed::{succeed, xtask};

use support::{Job, each_mpi};

const SIZE: [usize; 3] = [18, 13, 11];
const ITERATIONS: usize = 5;

fn job(
    mpi: raddle_mpi::install::Flavour,
    ranks: usize,
    workers: usize,
    arguments: &[&str],
) -> support::Ended {
    let mut line = vec!["--size", "18x13x11", "--iterations", "5", "--deadline", "120"];
    line.extend(arguments);
    Job::of(mpi, ranks, env!("CARGO_BIN_EXE_redblack3d"), &line)
        .with("RADDLE_WORKERS", &workers.to_string())
        .run()
}

/// The same by plain loops, on one array that knows nothing of ranks.
fn alone() -> (f64, u64) {
    let [nx, ny, nz] = SIZE;
    let place = |x: usize, y: usize, z: usize| x + (nx + 2) * (y + (ny + 2) * z);
    let mut u = vec![0.0_f64; (nx + 2) * (ny + 2) * (nz + 2)];
    let hump = |at: usize, n: usize| (at * (n + 1 - at)) as f64 / (n * n) as f64;
    let source = |x, y, z| hump(x, nx) * (hump(y, ny) * hump(z, nz));
    let around = |u: &[f64], x: usize, y: usize, z: usize| {
        (u[place(x - 1, y, z)] + u[place(x + 1, y, z)])
            + (u[place(x, y - 1, z)] + u[place(x, y + 1, z)])
            + (u[place(x, y, z - 1)] + u[place(x, y, z + 1)])
    };
    let cells = || (1..=nz).flat_map(move |z| (1..=ny).flat_map(move |y| (1..=nx).map(move |x| (x, y, z))));
    for colour in (0..2 * ITERATIONS).map(|half| half % 2) {
        for (x, y, z) in cells().filter(|(x, y, z)| (x + y + z - 3) % 2 == colour) {
            let here = u[place(x, y, z)];
            u[place(x, y, z)] = here + 1.5 * ((around(&u, x, y, z) + source(x, y, z)) / 6.0 - here);
        }
    }
    cells().fold((0.0, 0), |(residual, sum), (x, y, z)| {
        let here = u[place(x, y, z)];
        let left = (around(&u, x, y, z) + source(x, y, z) - 6.0 * here).abs();
        let number = (x - 1 + nx * (y - 1 + ny * (z - 1))) as u64;
        (f64::max(residual, left), u64::wrapping_add(sum, redblack3d::mixed(number, here.to_bits())))
    })
}

#[test]
fn results_are_equal_over_models_ranks_and_workers() {
    let (residual, checksum) = alone();
    let told = format!("residual {:016x} ({residual:e}), checksum {checksum:016x}", residual.to_bits());
    each_mpi(|mpi| {
        for (ranks, workers, arguments) in [
            (1, 1, &["--model", "shared"][..]),
            (2, 1, &["--model", "sync"]),
            (2, 1, &["--model", "async"]),
            (2, 2, &["--model", "shared"]),
            (2, 1, &["--model", "dedicated"]),
            (2, 1, &["--model", "watched"]),
            (2, 2, &["--model", "auto", "--emulate", "100"]),
            (2, 1, &["--model", "shared", "--ranks", "1x1x2"]),
            (4, 1, &["--model", "shared", "--ranks", "2x2x1"]),
            (3, 1, &["--model", "shared", "--ranks", "1x1x3", "--speeds", "4,1,2"]),
            (4, 1, &["--model", "async", "--ranks", "2x1x2", "--by-speed"]),
        ] {
            let ended = job(mpi, ranks, workers, arguments);
            ended.expect_well();
            ended.expect(&told);
        }
    });
}

#[test]
fn a_rank_that_is_three_times_as_fast_gets_three_times_as_much() {
    each_mpi(|mpi| {
        let ended = job(mpi, 2, 1, &["--ranks", "1x1x2", "--speeds", "3,1"]);
        ended.expect_well();
        // Eight planes of eleven.
        ended.expect("rank 0 has 1872 cells, 0.727 of all");
    });
}

#[test]
fn a_plan_that_differs_on_two_ranks_is_named() {
    each_mpi(|mpi| {
        let ended = job(mpi, 2, 1, &["--disagree", "--ranks", "1x1x2"]);
        ended.expect_ill();
        ended.expect("`u`, face z+: rank 0 has 1872 bytes of f64, cells [0..18, 0..13] of [18, 13, 11] at z");
        ended.expect("rank 1 has 1976 bytes of f64, cells [0..19, 0..13] of [19, 13, 11] at z");
    });
}

/// A program in C, and where its library is, which is built once.
fn in_c(source: &str) -> (PathBuf, PathBuf) {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let folder = own_folder("redblack3d-c");
        succeed(xtask(&["install", "--debug", "--prefix"]).arg(folder.join("prefix")));
        folder
    });
    let (prefix, source) = (folder.join("prefix"), Path::new(env!("CARGO_MANIFEST_DIR")).join(source));
    let (library, binary) = (prefix.join("lib"), folder.join(source.file_stem().expect("a name")));
    let mut command = Command::new("gcc");
    command.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(prefix.join("include"));
    command.arg(source).arg("-L").arg(&library).args(["-lraddle", "-lm", "-o"]);
    succeed(command.arg(&binary));
    (binary, library)
}

#[test]
fn handles_in_c_that_somebody_is_in_a_call_on_are_busy() {
    each_mpi(|mpi| {
        let (binary, library) = in_c("tests/handles.c");
        let job = Job::of(mpi, 2, &binary, &[]).with("RADDLE_WORKERS", "2");
        let ended = job.with("LD_LIBRARY_PATH", library.to_str().expect("a path")).run();
        ended.expect_well();
        ended.expect("handles in use are refused");
    });
}

#[test]
fn the_program_in_c_has_the_same_result() {
    let (residual, checksum) = alone();
    let told = format!("residual {:016x}, checksum {checksum:016x}", residual.to_bits());
    each_mpi(|mpi| {
        let (binary, library) = in_c("c/redblack3d.c");
        for (ranks, workers, model, grid) in [
            (1, 1, "shared", None),
            (2, 1, "sync", None),
            (2, 2, "shared", None),
            (2, 1, "dedicated", Some("1x1x2")),
            (2, 1, "watched", Some("2x1x1")),
            (2, 1, "auto", None),
            (4, 2, "async", Some("2x2x1")),
        ] {
            let line: Vec<&str> = [model, "18x13x11", "5"].into_iter().chain(grid).collect();
            let job = Job::of(mpi, ranks, &binary, &line).with("RADDLE_WORKERS", &workers.to_string());
            let ended = job.with("LD_LIBRARY_PATH", library.to_str().expect("a path")).run();
            ended.expect_well();
            ended.expect(&told);
        }
        // What it cannot do is said by name, with what is known of it.
        let ended = Job::of(mpi, 2, &binary, &["shared", "18x13x11", "5", "3x1x1"])
            .with("LD_LIBRARY_PATH", library.to_str().expect("a path"))
            .run();
        ended.expect_ill();
        ended.expect("the array: RADDLE_EINVAL: a grid of [3, 1, 1] ranks, and there are 2");
    });
}
