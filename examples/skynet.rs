//! A million processes, each the parent of ten, add up their numbers: the "skynet" benchmark.
//!
//! `cargo raddle run examples/skynet.rs --workers 2`
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle::csp;
use std::time::Instant;

fn skynet(number: u64, size: u64) -> u64 {
    if size == 1 {
        return number;
    }
    let part = size / 10;
    let children: Vec<_> =
        (0..10).map(|child| csp::spawn(move || skynet(number + child * part, part))).collect();
    children.into_iter().map(|child| child.join().expect("no child panics")).sum()
}

#[raddle::main]
fn main() {
    let began = Instant::now();
    let sum = skynet(0, 1_000_000);
    println!("{sum} from 1111111 processes in {:.1?}", began.elapsed());
    assert_eq!(sum, 499_999_500_000);
}
