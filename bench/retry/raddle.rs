//! Owns: processes that wait in a transaction until another has written, beside what they could wait for otherwise.
//! May use: raddle.
//! Never: a setting other than the number of workers.
//!
//! Forms: `turn`, one variable says whose turn it is, there and back; `boxes`, a number there and back in two variables
//! that are empty or not; `channel`, the same over two channels; `parked`, so many processes that wait at once;
//! `conflict`, two that change one variable, each of their transactions timed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bench_raddle::{joined, runtime};
use raddle::csp;
use raddle::stm::{TVar, atomically};
use raddle_measure::machine::processor_ns;
use raddle_measure::stats::percentile;
use raddle_measure::{Job, Sample, program};

// With Raddle's allocator nothing is counted: a program has one.
#[cfg_attr(not(feature = "raddle-alloc"), global_allocator)]
#[cfg_attr(feature = "raddle-alloc", allow(dead_code, reason = "it is another's then"))]
static COUNTED: Counted = Counted;

/// Bytes of the heap that are in use, less those of the stacks, which have none of it.
static IN_USE: AtomicU64 = AtomicU64::new(0);
/// Whether they are counted: two instructions that all workers share would be in every other figure.
static IS_COUNTED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, and a count of what is in use.
struct Counted;

// SAFETY: each call is the system's, with the same arguments.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_COUNTED.load(Ordering::Relaxed) {
            IN_USE.fetch_add(layout.size() as u64, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise is the system's, too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if IS_COUNTED.load(Ordering::Relaxed) {
            IN_USE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise is the system's, too.
        unsafe { System.dealloc(block, layout) }
    }
}

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, plan) = (job.number("count")?, job.plan);
    let workers = job.workers;
    match job.text("form")? {
        "turn" => runtime(workers)?.run(move || plan.time(count, || turns(count))),
        "boxes" => runtime(workers)?.run(move || plan.time(count, || boxes(count))),
        "channel" => runtime(workers)?.run(move || plan.time(count, || channel(count))),
        "parked" => {
            IS_COUNTED.store(true, Ordering::Relaxed);
            runtime(workers)?.run(move || parked(count)).map(|sample| vec![sample])
        }
        "conflict" => {
            let runtime = runtime(workers)?;
            (0..plan.samples).map(|_| runtime.run(move || conflict(count, workers))).collect()
        }
        other => Err(format!("no form is called {other}")),
    }
}

/// What waits in the variable, or nothing.
type Place = TVar<Option<u64>>;

fn put(place: &Place, number: u64) {
    atomically(|tx| tx.write(place, Some(number)));
}

fn take(place: &Place) -> u64 {
    atomically(|tx| match tx.read(place)? {
        Some(number) => tx.write(place, None).map(|()| number),
        None => tx.retry(),
    })
}

fn turns(rounds: u64) -> u64 {
    let turn = TVar::new(0_u64);
    let take_all = move |turn: TVar<u64>, mine: u64| {
        let take = |_| {
            atomically(|tx| match tx.read(&turn)? {
                now if now % 2 == mine => tx.write(&turn, now + 1),
                _ => tx.retry(),
            });
        };
        (0..rounds).for_each(take);
    };
    let other = {
        let turn = turn.clone();
        csp::spawn(move || take_all(turn, 1))
    };
    take_all(turn.clone(), 0);
    joined(other);
    turn.load() / 2
}

fn boxes(rounds: u64) -> u64 {
    let (there, back) = (Place::new(None), Place::new(None));
    let echo = {
        let (there, back) = (there.clone(), back.clone());
        csp::spawn(move || (0..rounds).for_each(|_| put(&back, take(&there) + 1)))
    };
    let mut number = 0;
    for _ in 0..rounds {
        put(&there, number);
        number = take(&back);
    }
    joined(echo);
    number
}

fn channel(rounds: u64) -> u64 {
    let (mut there, mut from_there) = csp::channel();
    let (mut back, mut from_back) = csp::channel();
    let echo = csp::spawn(move || {
        while let Ok(number) = from_there.recv() {
            back.send(number + 1).expect("the other waits for the answer");
        }
    });
    let mut number: u64 = 0;
    for _ in 0..rounds {
        there.send(number).expect("the echo receives");
        number = from_back.recv().expect("the echo answers");
    }
    drop(there);
    joined(echo);
    number
}

/// Each process waits until one variable is set; first they wait for a word, so that what they are made of is there.
fn parked(count: u64) -> Result<Sample, String> {
    let gate = Arc::new((AtomicBool::new(false), AtomicU64::new(0), TVar::new(false)));
    let member = |index: u64| {
        let gate = gate.clone();
        move || {
            while !gate.0.load(Ordering::Acquire) {
                csp::park();
            }
            gate.1.fetch_add(1, Ordering::Relaxed);
            atomically(|tx| if tx.read(&gate.2)? { Ok(()) } else { tx.retry() });
            index & 1
        }
    };
    let members: Vec<_> = (0..count).map(|index| csp::spawn(member(index))).collect();
    at_rest()?;
    let used_before_ns = used_in(Duration::from_secs(1))?;
    let before = IN_USE.load(Ordering::Relaxed);
    let start = Instant::now();
    gate.0.store(true, Ordering::Release);
    members.iter().for_each(|member| member.process().unpark());
    while gate.1.load(Ordering::Relaxed) < count {
        csp::sleep(Duration::from_millis(1));
    }
    let to_park_ns = start.elapsed().as_nanos() as f64 / count as f64;
    at_rest()?;
    let heap = IN_USE.load(Ordering::Relaxed).saturating_sub(before) as f64 / count as f64;
    // Less what the runtime and this measurement use if nobody is in a transaction.
    let used_ns = (used_in(Duration::from_secs(1))? - used_before_ns).max(0.0);
    let start = Instant::now();
    atomically(|tx| tx.write(&gate.2, true));
    let sum: u64 = members.into_iter().map(joined).sum();
    let woken_ns = start.elapsed().as_nanos() as f64 / count as f64;
    let sample = Sample::new(to_park_ns + woken_ns, sum).with("idle_percent", used_ns / 1e7);
    Ok(if cfg!(feature = "raddle-alloc") { sample } else { sample.with("heap_bytes", heap) })
}

/// Returns when all processes wait: nearly no processor time is used.
fn at_rest() -> Result<(), String> {
    for _ in 0..1000 {
        if used_in(Duration::from_millis(50))? < 2e6 {
            return Ok(());
        }
    }
    Err("the processes did not come to rest within 50 s".into())
}

/// The processor time in nanoseconds that this process uses in so long a time.
fn used_in(time: Duration) -> Result<f64, String> {
    let before = processor_ns()?;
    csp::sleep(time);
    Ok((processor_ns()? - before) as f64)
}

/// A process a worker adds to one variable, and takes the time of each transaction.
fn conflict(count: u64, workers: usize) -> Result<Sample, String> {
    let one = TVar::new(0);
    let each = count / workers as u64;
    let adder = |number: usize| {
        let one = one.clone();
        csp::spawn_on(number, move || {
            let timed = |_| {
                let start = Instant::now();
                atomically(|tx| tx.modify(&one, |n| n + 1));
                start.elapsed().as_nanos() as f64
            };
            (0..each).map(timed).collect::<Vec<f64>>()
        })
    };
    let adders: Vec<_> = (0..workers).map(adder).collect();
    let times: Vec<f64> = adders.into_iter().flat_map(joined).collect();
    let at = |percent| percentile(&times, percent).ok_or("no transaction was timed".to_owned());
    let (half, late) = (at(50.0)?, at(99.9)?);
    Ok(Sample::new(half, one.load()).with("p999_ns", late).with("p999_to_p50", late / half))
}
