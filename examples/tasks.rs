//! A hundred thousand tasks sleep for a hundredth of a second each, all at the same time.
//!
//! `cargo raddle run examples/tasks.rs`
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle::task;
use std::time::{Duration, Instant};

#[raddle::main]
async fn main() {
    let began = Instant::now();
    let sleepers: Vec<_> = (0..100_000_u64)
        .map(|n| {
            task::spawn(async move {
                task::sleep(Duration::from_millis(10)).await;
                n
            })
        })
        .collect();
    let mut sum = 0;
    for sleeper in sleepers {
        sum += sleeper.await.expect("no task panics");
    }
    println!("{sum} from 100000 sleepers in {:.1?}", began.elapsed());
    assert_eq!(sum, 4_999_950_000);
}
