//! Owns: messages through channels with cloneable ends, on Raddle.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use raddle::channel::{Receiver, Select, Sender, bounded, unbounded};
use raddle::csp;
use raddle::sync::mpsc;
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (form, count, plan) = (job.text("form")?.to_owned(), job.number("count")?, job.plan);
    let (ends, width, capacity) = (job.number("ends")?, job.number("width")?, job.number("capacity")?);
    if let Some(form) = form.strip_prefix("os_") {
        bench_common::cores::use_first(job.workers)?;
        return match form {
            "pingpong" => plan.time(count, || pingpong::<OsThreads>(count)),
            "flow" => plan.time(count, || flow::<OsThreads>(count, ends, width, capacity)),
            other => Err(format!("unknown form os_{other}")),
        };
    }
    let runtime = bench_raddle::runtime(job.workers)?;
    runtime.run(move || match form.as_str() {
        "pingpong" => plan.time(count, || pingpong::<Processes>(count)),
        "flow" => plan.time(count, || flow::<Processes>(count, ends, width, capacity)),
        "mpsc" => plan.time(count, || to_one(count, ends, capacity)),
        "pool" => plan.time(count, || pool(count, ends, capacity, width)),
        "ready" => plan.time(count, || ready(count, width)),
        "wait" => plan.time(count, || wait(count, width)),
        other => Err(format!("unknown form {other}")),
    })
}

/// What communicates: processes or OS threads.
trait Executor {
    /// Runs `f` concurrently with the caller; the returned closure waits for its end.
    fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T;
}

/// Light processes of the runtime.
struct Processes;
/// OS threads, without a runtime.
struct OsThreads;

impl Executor for Processes {
    fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T {
        let process = csp::spawn(f);
        || process.join().expect("it does not panic")
    }
}

impl Executor for OsThreads {
    fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T {
        let thread = std::thread::spawn(f);
        || thread.join().expect("it does not panic")
    }
}

/// Round trips over two rendezvous channels.
fn pingpong<P: Executor>(count: u64) -> u64 {
    let ((there, near), (back, far)) = (bounded(0), bounded(0));
    let echo = P::spawn(move || near.iter().for_each(|number: u64| back.send(number + 1).expect("it waits")));
    let mut number = 0;
    for _ in 0..count {
        there.send(number).expect("the echo receives");
        number = far.recv().expect("the echo answers");
    }
    drop(there);
    echo();
    number
}

/// Sends messages from several senders to several receivers. A capacity of a million means unbounded.
fn flow<P: Executor>(count: u64, senders: u64, receivers: u64, capacity: u64) -> u64 {
    let (s, r) = if capacity == 1_000_000 { unbounded() } else { bounded(capacity as usize) };
    let each = count / senders;
    let take_all = |r: Receiver<u64>| P::spawn(move || r.iter().sum::<u64>());
    let receivers: Vec<_> = (0..receivers).map(|_| take_all(r.clone())).collect();
    let send =
        |s: Sender<u64>, first: u64| move || (first..first + each).for_each(|n| s.send(n).expect("received"));
    let senders: Vec<_> = (0..senders).map(|part| P::spawn(send(s.clone(), part * each))).collect();
    drop((s, r));
    senders.into_iter().for_each(|sender| sender());
    receivers.into_iter().map(|receiver| receiver()).sum()
}

/// Jobs of so many steps through a channel to a pool of processes, and what comes of them through another one.
fn pool(count: u64, processes: u64, capacity: u64, steps: u64) -> u64 {
    let ((jobs, todo), (done, results)) = (bounded(capacity as usize), bounded(capacity as usize));
    let works = |(todo, done): (Receiver<u64>, Sender<u64>)| {
        Processes::spawn(move || {
            for job in &todo {
                std::hint::black_box(burn(job, steps));
                done.send(job).expect("it is waited for");
            }
        })
    };
    let all: Vec<_> = (0..processes).map(|_| works((todo.clone(), done.clone()))).collect();
    drop((todo, done));
    let feeds = Processes::spawn(move || (0..count).for_each(|job| jobs.send(job).expect("they work")));
    let sum = results.iter().sum();
    feeds();
    all.into_iter().for_each(|one| one());
    sum
}

/// As [`flow`] to one receiver, through a channel of `raddle::sync::mpsc`.
fn to_one(count: u64, senders: u64, capacity: u64) -> u64 {
    if capacity == 1_000_000 {
        let (s, r) = mpsc::channel();
        return sent_to(r, count / senders, (0..senders).map(|_| s.clone()).collect(), s, |s, n| s.send(n));
    }
    let (s, r) = mpsc::sync_channel(capacity as usize);
    sent_to(r, count / senders, (0..senders).map(|_| s.clone()).collect(), s, |s, n| s.send(n))
}

/// Each of `senders` sends its share by `send`, the caller's own end is dropped; returns the sum of what came.
fn sent_to<S: Send + 'static>(
    receiver: mpsc::Receiver<u64>,
    each: u64,
    senders: Vec<S>,
    own: S,
    send: fn(&S, u64) -> Result<(), mpsc::SendError<u64>>,
) -> u64 {
    let takes = Processes::spawn(move || receiver.iter().sum::<u64>());
    let share = |(part, s): (usize, S)| {
        let first = part as u64 * each;
        Processes::spawn(move || (first..first + each).for_each(|n| send(&s, n).expect("received")))
    };
    let senders: Vec<_> = senders.into_iter().enumerate().map(share).collect();
    drop(own);
    senders.into_iter().for_each(|sender| sender());
    takes()
}

fn select_over(receivers: &[Receiver<u64>]) -> Select<'_> {
    let mut select = Select::new();
    for receiver in receivers {
        select.recv(receiver);
    }
    select
}

/// A selection over channels, one of which has a message.
fn ready(count: u64, width: u64) -> u64 {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..width).map(|_| bounded(1)).unzip();
    let mut select = select_over(&receivers);
    (0..count).fold(0, |sum, n| {
        senders[(n % width) as usize].send(n).expect("there is place");
        let operation = select.select();
        let receiver = &receivers[operation.index()];
        sum + operation.recv(receiver).expect("it was sent")
    })
}

/// A selection over rendezvous channels that has to wait.
fn wait(count: u64, width: u64) -> u64 {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..width).map(|_| bounded(0)).unzip();
    let send = move || (0..count).for_each(|n| senders[(n % width) as usize].send(n).expect("received"));
    let sender = Processes::spawn(send);
    let mut select = select_over(&receivers);
    let sum = (0..count).fold(0, |sum, _| {
        let operation = select.select();
        let receiver = &receivers[operation.index()];
        sum + operation.recv(receiver).expect("it was sent")
    });
    sender();
    sum
}
