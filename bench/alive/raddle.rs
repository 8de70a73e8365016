//! Owns: light processes, threads, or tasks that are all alive and blocked at once.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::process::ExitCode;

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Instant;

use bench_raddle::bare_stacks::BareStacks;
use bench_raddle::{ProcessKind, joined, runtime};
use raddle::{csp, task};
use raddle_measure::machine::Memory;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

/// One burst for the time of create and join and for the memory; and, for processes, the net time of a create.
fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, kind) = (job.number("count")?, job.text("kind")?);
    let tasks_wanted = kind == "task";
    let runtime = runtime(job.workers)?;
    let made_of = ProcessKind::of(job);
    let burst = runtime.run(move || if tasks_wanted { tasks(count) } else { processes(made_of, count) })?;
    drop(runtime);
    if tasks_wanted || made_of == ProcessKind::Thread {
        return Ok(vec![burst]);
    }
    let net = net_create_ns(job.workers, count)?;
    Ok(vec![burst.with("net_create_ns", net)])
}

/// Processes are made in lots of this size, each alternating with as many plain stacks.
const LOT: u64 = 1000;
/// About how many processes are made for the net time, however few are alive at once.
const IN_ALL: u64 = 200_000;

/// The cost of creating a process minus that of a new stack, with `count` alive in the end.
///
/// A first touch of a page costs microseconds here and drifts by more than a process costs, since the host backs the
/// memory only then. So lots of processes and lots of plain stacks, made and touched, alternate in one program, each
/// first in turn; all of them stay alive, and the figure is the median difference over the lots.
fn net_create_ns(workers: usize, count: u64) -> Result<f64, String> {
    let mut differences = Vec::new();
    for turn in 0..(IN_ALL / count).max(1) {
        let runtime = runtime(workers)?;
        let lots = count.div_ceil(LOT);
        differences.extend(runtime.run(move || lots_in_turn(turn, lots, LOT.min(count)))?);
    }
    differences.sort_by(f64::total_cmp);
    Ok(differences[differences.len() / 2])
}

fn lots_in_turn(turn: u64, lots: u64, size: u64) -> Result<Vec<f64>, String> {
    let mut bare = BareStacks::new();
    let mut children = Vec::with_capacity((lots * size) as usize);
    let mut differences = Vec::with_capacity(lots as usize);
    for lot in 0..lots {
        let stacks_first = (turn + lot) % 2 == 1;
        let mut touched_ns = if stacks_first { timed_ns(|| bare.touch_more(size))? } else { 0.0 };
        let created_ns = timed_ns(|| create_blocked(size, &mut children))?;
        if !stacks_first {
            touched_ns = timed_ns(|| bare.touch_more(size))?;
        }
        differences.push((created_ns - touched_ns) / size as f64);
    }
    children.iter().for_each(|child| child.process().unpark());
    children.into_iter().for_each(joined);
    Ok(differences)
}

fn timed_ns(body: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    let start = Instant::now();
    body()?;
    Ok(start.elapsed().as_nanos() as f64)
}

/// Spawns `size` processes and waits until all of them are blocked.
fn create_blocked(size: u64, children: &mut Vec<csp::JoinHandle<()>>) -> Result<(), String> {
    let blocked = Arc::new(Blocked::new(size)?);
    for _ in 0..size {
        let blocked = Arc::clone(&blocked);
        children.push(csp::spawn(move || {
            blocked.one_more();
            csp::park();
        }));
    }
    blocked.wait();
    Ok(())
}

/// Wakes the main process when the last of the others is about to block.
struct Blocked {
    left: AtomicU64,
    main: csp::Process,
}

impl Blocked {
    fn new(count: u64) -> Result<Self, String> {
        Ok(Blocked { left: AtomicU64::new(count), main: csp::current().ok_or("main is no process")? })
    }

    fn one_more(&self) {
        if self.left.fetch_sub(1, Ordering::Release) == 1 {
            self.main.unpark();
        }
    }

    fn wait(&self) {
        while self.left.load(Ordering::Acquire) > 0 {
            csp::park();
        }
    }
}

fn processes(kind: ProcessKind, count: u64) -> Result<Sample, String> {
    let blocked = Arc::new(Blocked::new(count)?);
    let released = Arc::new(AtomicBool::new(false));
    let mut children = Vec::with_capacity(count as usize);
    let (before, start) = (Memory::now()?, Instant::now());
    for index in 0..count {
        let (blocked, released) = (Arc::clone(&blocked), Arc::clone(&released));
        children.push(kind.spawn(move || {
            blocked.one_more();
            while !released.load(Ordering::Acquire) {
                csp::park();
            }
            index
        }));
    }
    blocked.wait();
    let create_ns = start.elapsed().as_nanos() as f64 / count as f64;
    let (after, start) = (Memory::now()?, Instant::now());
    released.store(true, Ordering::Release);
    children.iter().for_each(|child| child.process().unpark());
    let sum = children.into_iter().map(joined).sum();
    let join_ns = start.elapsed().as_nanos() as f64 / count as f64;
    Ok(sample(count, sum, [create_ns, join_ns], [before, after]))
}

fn tasks(count: u64) -> Result<Sample, String> {
    let blocked = Arc::new(Blocked::new(count)?);
    let release = Arc::new((AtomicBool::new(false), Mutex::new(Vec::<Waker>::with_capacity(count as usize))));
    let mut children = Vec::with_capacity(count as usize);
    let (before, start) = (Memory::now()?, Instant::now());
    for index in 0..count {
        let (blocked, release) = (Arc::clone(&blocked), Arc::clone(&release));
        children.push(task::spawn(async move {
            blocked.one_more();
            poll_fn(|context| match release.0.load(Ordering::Acquire) {
                true => Poll::Ready(()),
                false => {
                    release.1.lock().expect("nobody panics").push(context.waker().clone());
                    Poll::Pending
                }
            })
            .await;
            index
        }));
    }
    blocked.wait();
    let create_ns = start.elapsed().as_nanos() as f64 / count as f64;
    let (after, start) = (Memory::now()?, Instant::now());
    release.0.store(true, Ordering::Release);
    std::mem::take(&mut *release.1.lock().expect("nobody panics")).into_iter().for_each(Waker::wake);
    let sum = task::block_on(async {
        let mut sum = 0;
        for child in children {
            sum += child.await.map_err(|_| "a cell panicked")?;
        }
        Ok::<_, String>(sum)
    })?;
    let join_ns = start.elapsed().as_nanos() as f64 / count as f64;
    Ok(sample(count, sum, [create_ns, join_ns], [before, after]))
}

fn sample(count: u64, sum: u64, [create_ns, join_ns]: [f64; 2], [before, after]: [Memory; 2]) -> Sample {
    let each = |after: u64, before: u64| after.saturating_sub(before) as f64 / count as f64;
    Sample::new(create_ns + join_ns, sum)
        .with("create_ns", create_ns)
        .with("join_ns", join_ns)
        .with("resident_bytes", each(after.resident, before.resident))
        .with("page_table_bytes", each(after.page_tables, before.page_tables))
}
