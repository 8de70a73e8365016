//! Counts the primes below a number in blocks, one process per block, and draws the result.
//!
//! `cargo raddle run examples/primes.rs -- 2000000`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use raddle::csp;
use std::time::Instant;

const BLOCKS: u64 = 64;

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

#[raddle::main]
fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_else(|| "1000000".to_owned());
    let Ok(limit) = wanted.parse::<u64>() else {
        eprintln!("primes: `{wanted}` is no number; usage: primes [LIMIT]");
        std::process::exit(2);
    };
    let began = Instant::now();
    let mut counts = vec![0_u64; BLOCKS as usize];
    csp::scope(|s| {
        for (block, count) in (0..BLOCKS).zip(&mut counts) {
            s.spawn(move || {
                let range = limit * block / BLOCKS..limit * (block + 1) / BLOCKS;
                *count = range.filter(|&n| is_prime(n)).count() as u64;
            });
        }
    });
    let most = counts.iter().max().copied().unwrap_or(0).max(1);
    for (block, count) in counts.iter().enumerate().step_by(8) {
        println!("{:>12}  {}", limit * block as u64 / BLOCKS, "#".repeat((count * 60 / most) as usize));
    }
    println!("{} primes below {limit} in {:.1?}", counts.iter().sum::<u64>(), began.elapsed());
}
