//! Owns: a ring of ranks around which a message goes by channels, and what a round costs.
//! May use: `raddle`, `raddle-mpi`.
//! Never: more than a channel in each direction between two ranks.
//!
//! ```console
//! $ cargo build --release -p raddle-mpi --example ring
//! $ mpirun -np 4 target/release/examples/ring            # a round of ten thousand, 8 bytes
//! $ mpirun -np 2 target/release/examples/ring 4096 2000  # so many bytes, so many rounds
//! ```
//!
//! Of two ranks a round is there and back; `bench/proxy/pingpong.c` is the same by plain MPI. `RING_MODE` may be
//! `inline`, `shared`, `watched` or `dedicated`.
#![allow(clippy::print_stdout, reason = "it is a program")]

use raddle::csp;
use raddle_mpi::{Mode, Net, NetConfig, RemoteReceiver, RemoteSender};
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut line = std::env::args().skip(1);
    let bytes: usize = line.next().map_or(Ok(8), |text| text.parse())?;
    let rounds: usize = line.next().map_or(Ok(10_000), |text| text.parse())?;
    let net = Net::start(NetConfig::default())?;
    net.set_mode(match std::env::var("RING_MODE").as_deref() {
        Ok("shared") => Mode::Shared,
        Ok("watched") => Mode::Watched,
        Ok("dedicated") => Mode::Dedicated { core: None },
        _ => Mode::Inline,
    })?;
    let (rank, size) = (net.rank(), net.size());
    let to = net.sender::<Vec<u8>>("ring", (rank + 1) % size)?;
    let from = net.receiver::<Vec<u8>>("ring", (rank + size - 1) % size)?;
    net.bind_channels()?;
    // A stack for calls of MPI.
    let passes = csp::Builder::new().stack_size(1 << 20).spawn(move || pass(rank, (bytes, rounds), to, from));
    let mut times = passes?.join().expect("no panic")?;
    if rank == 0 {
        times.sort_unstable();
        let [median, least, most] = [times.len() / 2, 0, times.len() - 1].map(|at| times[at]);
        let library = net.library();
        println!("{size} ranks, {bytes} bytes, {:?}, {library}", net.mode());
        println!("a round: median {median:?}, least {least:?}, most {most:?}");
    }
    Ok(())
}

/// The time of each round after the first tenth, at rank 0.
fn pass(
    rank: usize,
    (bytes, rounds): (usize, usize),
    mut to: RemoteSender<Vec<u8>>,
    mut from: RemoteReceiver<Vec<u8>>,
) -> Result<Vec<Duration>, Failure> {
    let (mut message, mut times) = (vec![7; bytes], Vec::new());
    for round in 0..rounds {
        if rank == 0 {
            let began = Instant::now();
            to.send(message)?;
            message = from.recv()?;
            if round >= rounds / 10 {
                times.push(began.elapsed());
            }
        } else {
            let came = from.recv()?;
            to.send(came)?;
        }
    }
    Ok(times)
}
