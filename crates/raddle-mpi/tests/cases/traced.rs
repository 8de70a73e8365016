//! Owns: what a rank does to look at the trace of its own messages.
//! May use: `raddle`, `raddle-mpi`, `raddle-trace`.
//! Never: a test; `ranks` starts these.

use super::{BRIEF, PATIENT, start};
use raddle_mpi::{Cart, DistArray, Mode};
use raddle_trace::analysis::{Analysis, Messages};
use raddle_trace::log::Log;

const EXCHANGES: u64 = 3;
/// Cells of a face.
const FACE: u32 = 40 * 30;

/// What the trace so far says of messages.
fn seen(rank: usize) -> (Log, Messages) {
    let file = std::env::temp_dir().join(format!("raddle-mpi-{}-{rank}.rdt", std::process::id()));
    raddle::trace::dump(&file).expect("a trace");
    let bytes = std::fs::read(&file).expect("what was written");
    std::fs::remove_file(&file).expect("the same");
    let log = Log::read(&bytes).expect("it is whole");
    let messages = Analysis::of(&log).messages;
    (log, messages)
}

/// On two ranks: exchanges in each mode, and a message that nobody sends.
pub(crate) fn exchanges() {
    let mut net = start();
    let (rank, peer) = (net.rank(), 1 - net.rank());
    let cart = Cart::new(&net, [1, 1, 2]).expect("a grid");
    let mut u = DistArray::<f64>::new("u", &cart, [40, 30, 6]).expect("an array");
    let mut halo = net.plan_halo(&u).expect("a plan");
    let modes = [Mode::Inline, Mode::Shared, Mode::Dedicated { core: None }];
    for mode in modes {
        net.set_mode(mode).expect("a mode");
        for _ in 0..EXCHANGES {
            halo.start(&mut u).expect("a start").wait().expect("an exchange");
        }
    }
    let (log, messages) = seen(rank);
    let side = ["z+", "z-"][rank];
    for way in ["to", "from"] {
        let name = format!("{way} {peer}: `u`, face {side}");
        let bars: Vec<_> = messages.bars.iter().filter(|bar| log.string(bar.name) == name).collect();
        assert_eq!(bars.len() as u64, EXCHANGES * modes.len() as u64, "{name}");
        for bar in bars {
            assert!(
                bar.is_done && bar.started_ns <= bar.posted_ns && bar.posted_ns <= bar.done_ns,
                "{bar:?}"
            );
            assert_eq!((bar.peer as usize, bar.bytes), (peer, FACE * 8));
            assert_eq!(log.string(bar.exchange), "the exchange of `u`");
        }
    }
    let found: u32 = messages.looks.iter().map(|look| look.found).sum();
    assert!(u64::from(found) >= 2 * EXCHANGES * modes.len() as u64, "{found} were found done");
    let wait =
        messages.waits.iter().find(|wait| wait.exchange == "the exchange of `u`").expect("it was waited for");
    assert_eq!((wait.count, wait.peer as usize), (EXCHANGES * modes.len() as u64, peer));
    net.barrier().expect("a barrier");
    // Both wait for nothing: of that the trace says who is late.
    net.set_mode(Mode::Inline).expect("a mode");
    net.set_deadline(BRIEF);
    net.receive(peer, 9, &mut [0; 8]).expect_err("nobody sends it");
    let (log, messages) = seen(rank);
    let bar = messages.bars.iter().find(|bar| !bar.is_done).expect("it is not done");
    assert_eq!(log.string(bar.name), format!("from {peer}: tag 9"));
    let advice = messages.advice.expect("there is something to say");
    let told = format!(
        "1 messages of a receive from rank {peer} with rank {peer} were late: see what rank {peer} does"
    );
    assert_eq!(advice, told);
    println!("rank {rank} is done");
    // The net ends the job: not before both have said so.
    net.set_deadline(PATIENT);
    net.barrier().expect("a barrier");
}
