//! Owns: what a net takes of a core while nothing is under way, and while one waits for long.
//! May use: `raddle`, `raddle-mpi`.
//! Never: a message while it is measured.
//!
//! ```console
//! $ cargo build --release -p raddle-mpi --example idle
//! $ mpirun -np 2 target/release/examples/idle 15      # seconds for each line
//! ```
//!
//! Rank 0 prints the processor time of all its OS threads, in hundredths of a core: of the runtime before there is a
//! net, then in each mode with nothing under way, and with a process that waits for a message of the other rank.
#![allow(clippy::print_stdout, reason = "it is a program")]

use raddle::{Runtime, csp};
use raddle_mpi::{Mode, Net, NetConfig};
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let seconds = std::env::args().nth(1).map_or(Ok(15), |text| text.parse())?;
    let runtime = Runtime::builder().stack_size(1 << 20).build()?;
    runtime.run(move || measure(Duration::from_secs(seconds)))
}

fn measure(span: Duration) -> Result<(), Failure> {
    let alone = share_of_core(span);
    let net = Net::start(NetConfig::default().deadline(span * 10 + Duration::from_secs(30)))?;
    let says = |what: &str, share: f64| {
        if net.rank() == 0 {
            println!("{what:<42} {share:.3} %");
        }
    };
    says("without a net", alone);
    let peer = 1 - net.rank();
    let mut to = net.sender::<u64>("idle", peer)?;
    let mut from = net.receiver::<u64>("idle", peer)?;
    for (name, mode) in [
        ("inline", Mode::Inline),
        ("shared", Mode::Shared),
        ("watched", Mode::Watched),
        ("dedicated", Mode::Dedicated { core: None }),
    ] {
        net.set_mode(mode)?;
        net.barrier()?;
        says(&format!("{name}, nothing under way"), share_of_core(span));
        net.barrier()?;
        let waits = csp::spawn(move || {
            let got = from.recv();
            (from, got)
        });
        says(&format!("{name}, a process waits for a message"), share_of_core(span));
        // Both have measured, though neither has heard of the other.
        csp::sleep(Duration::from_millis(200));
        to.send(7)?;
        let (end, got) = waits.join().map_err(|_| "a panic")?;
        got?;
        from = end;
    }
    Ok(())
}

/// Of all OS threads of this program, in hundredths of a core, for so long; the caller sleeps.
fn share_of_core(span: Duration) -> f64 {
    let (before, began) = (processor_ns(), Instant::now());
    csp::sleep(span);
    100.0 * (processor_ns() - before) as f64 / began.elapsed().as_nanos() as f64
}

fn processor_ns() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").expect("/proc").filter_map(Result::ok);
    let texts = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("schedstat")).ok());
    texts.filter_map(|text| text.split(' ').next()?.parse::<u64>().ok()).sum()
}
