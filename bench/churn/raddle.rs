//! Owns: processes, threads and tasks that come and go for a given time, and the memory that stays resident meanwhile.
//! May use: raddle.
//! Never: a setting other than the number of workers; a batch as large as the one before.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_raddle::{ProcessKind, joined, runtime};
use raddle::sync::Barrier;
use raddle::{csp, task};
use raddle_measure::machine::Memory;
use raddle_measure::stats::median;
use raddle_measure::work::burned;
use raddle_measure::{Job, Sample, program};

/// A batch has at most so many.
const BATCH_MAX: u64 = 1000;
/// Of four batches, two are of processes, one is of threads, one of tasks.
const KINDS: u64 = 4;
/// Each allocates at most so many bytes.
const BYTES_MAX: u64 = 16 << 10;
/// Resident memory is read so often in all.
const READINGS: u32 = 100;

fn main() -> ExitCode {
    program::main(run)
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let seconds = job.number("seconds")?;
    let sample = runtime(job.workers)?.run(move || churn(seconds))?;
    Ok(vec![sample])
}

/// The first tenth of the time warms up: the memory of the second tenth is held against that of the last.
fn churn(seconds: u64) -> Result<Sample, String> {
    let (all, begun) = (Duration::from_secs(seconds), Instant::now());
    let (mut made, mut number, mut resident) = (0, 0, Vec::new());
    while begun.elapsed() < all {
        made += batch(number)?;
        number += 1;
        if begun.elapsed() * READINGS >= all * (resident.len() as u32 + 1) {
            resident.push(Memory::now()?.resident as f64);
        }
    }
    let each = begun.elapsed().as_nanos() as f64 / made as f64;
    let tenth = resident.len().div_ceil(10);
    let of = |part: &[f64]| median(part).ok_or("too short a time to read the memory twice");
    let early = of(resident.get(tenth..2 * tenth).unwrap_or_default())?;
    let late = of(&resident[resident.len() - tenth..])?;
    Ok(Sample::new(each, seconds)
        .with("early_bytes", early)
        .with("late_bytes", late)
        .with("growth", late / early))
}

/// Makes as many as the number of the batch says, of a kind that goes round, and returns how many. The first batch of
/// each kind is the largest, and its processes are all alive at once, so that no later one needs more than there was.
fn batch(number: u64) -> Result<u64, String> {
    let size = if number < KINDS { BATCH_MAX } else { 1 + (burned(number, 1) >> 33) % BATCH_MAX };
    let sum = match number % KINDS {
        0 | 1 => by_processes(ProcessKind::Process, number, size),
        2 => by_processes(ProcessKind::Thread, number, size),
        _ => by_tasks(number, size)?,
    };
    let expected = (0..size).map(|index| bytes_of(number, index) as u64).sum::<u64>();
    if sum == expected { Ok(size) } else { Err(format!("batch {number}: {sum} bytes instead of {expected}")) }
}

fn by_processes(kind: ProcessKind, number: u64, size: u64) -> u64 {
    let meeting = (number < KINDS).then(|| Arc::new(Barrier::new(size as usize)));
    let one = |index| {
        let meeting = meeting.clone();
        kind.spawn(move || {
            let block = vec![1_u8; bytes_of(number, index)];
            match meeting {
                Some(meeting) => drop(meeting.wait()),
                None => csp::yield_now(),
            }
            block.iter().map(|byte| u64::from(*byte)).sum::<u64>()
        })
    };
    let all: Vec<_> = (0..size).map(one).collect();
    all.into_iter().map(joined).sum()
}

fn by_tasks(number: u64, size: u64) -> Result<u64, String> {
    let one = |index| {
        task::spawn(async move {
            let block = vec![1_u8; bytes_of(number, index)];
            task::yield_now().await;
            block.iter().map(|byte| u64::from(*byte)).sum::<u64>()
        })
    };
    let all: Vec<_> = (0..size).map(one).collect();
    task::block_on(async {
        let mut sum = 0;
        for task in all {
            sum += task.await.map_err(|e| e.to_string())?;
        }
        Ok(sum)
    })
}

fn bytes_of(number: u64, index: u64) -> usize {
    ((burned(number ^ index << 32, 2) >> 33) % BYTES_MAX) as usize
}
