//! Owns: messages through channels with cloneable ends, on OS threads.
//! May use: crossbeam-channel.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use crossbeam_channel::{Receiver, Select, Sender, bounded, unbounded};
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (form, count, plan) = (job.text("form")?.to_owned(), job.number("count")?, job.plan);
    let (ends, width, capacity) = (job.number("ends")?, job.number("width")?, job.number("capacity")?);
    bench_common::cores::use_first(job.workers)?;
    match form.trim_start_matches("os_") {
        "pingpong" => plan.time(count, || pingpong(count)),
        "flow" => plan.time(count, || flow(count, ends, width, capacity)),
        "ready" => plan.time(count, || ready(count, width)),
        "wait" => plan.time(count, || wait(count, width)),
        other => Err(format!("unknown form {other}")),
    }
}

fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
    std::thread::spawn(f)
}

/// Round trips over two rendezvous channels.
fn pingpong(count: u64) -> u64 {
    let ((there, near), (back, far)) = (bounded(0), bounded(0));
    let echo = spawn(move || near.iter().for_each(|number: u64| back.send(number + 1).expect("it waits")));
    let mut number = 0;
    for _ in 0..count {
        there.send(number).expect("the echo receives");
        number = far.recv().expect("the echo answers");
    }
    drop(there);
    echo.join().expect("the echo does not panic");
    number
}

/// Sends messages from several senders to several receivers. A capacity of a million means unbounded.
fn flow(count: u64, senders: u64, receivers: u64, capacity: u64) -> u64 {
    let (s, r) = if capacity == 1_000_000 { unbounded() } else { bounded(capacity as usize) };
    let each = count / senders;
    let receivers: Vec<_> =
        (0..receivers).map(|_| r.clone()).map(|r| spawn(move || r.iter().sum::<u64>())).collect();
    let send =
        |s: Sender<u64>, first: u64| move || (first..first + each).for_each(|n| s.send(n).expect("received"));
    let senders: Vec<_> = (0..senders).map(|part| spawn(send(s.clone(), part * each))).collect();
    drop((s, r));
    senders.into_iter().for_each(|sender| sender.join().expect("a sender does not panic"));
    receivers.into_iter().map(|receiver| receiver.join().expect("a receiver does not panic")).sum()
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
    let sender =
        spawn(move || (0..count).for_each(|n| senders[(n % width) as usize].send(n).expect("received")));
    let mut select = select_over(&receivers);
    let sum = (0..count).fold(0, |sum, _| {
        let operation = select.select();
        let receiver = &receivers[operation.index()];
        sum + operation.recv(receiver).expect("it was sent")
    });
    sender.join().expect("the sender does not panic");
    sum
}
