//! Owns: light processes, or cells, that are all alive and blocked at once.
//! May use: raddle.
//! Never: a setting beside the number of workers.

use std::process::ExitCode;

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Instant;

use bench_raddle::bare_stacks::touch_ns;
use bench_raddle::{joined, runtime};
use raddle::{csp, task};
use raddle_measure::machine::Memory;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

/// A cold time, then warm ones, each with a runtime of its own and so with fresh stacks. The cold one shows what
/// memory is used. In the warm ones neither the host's memory nor our own blocks are touched for the first time,
/// so that the times are those of processes and of fresh stacks and of nothing else.
fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (count, kind) = (job.number("count")?, job.text("kind")?);
    let once = || {
        let runtime = runtime(job.workers)?;
        runtime.run(move || if kind == "cell" { cells(count) } else { processes(count) })
    };
    let cold = once()?;
    // What a page fault costs varies by more than a process costs: few processes are measured often.
    let times = (WARM_PROCESSES / count).max(1);
    let warm = || if kind == "cell" { once() } else { beside_bare_stacks(count, once) };
    let warm = (0..times).map(|_| warm()).collect::<Result<Vec<_>, _>>()?;
    let mut sample = Sample::median_of(&warm)?;
    sample.extra.extend(cold.extra.into_iter().filter(|(name, _)| name.ends_with("_bytes")));
    Ok(vec![sample])
}

/// About so many warm processes in all.
const WARM_PROCESSES: u64 = 200_000;

/// The sample of `body`, with what remains of its time without the bare cost of as many stacks. That cost is
/// taken before and after, so that a drift of the machine falls on both sides.
fn beside_bare_stacks(count: u64, body: impl Fn() -> Result<Sample, String>) -> Result<Sample, String> {
    let before = touch_ns(count)?;
    let sample = body()?;
    let after = touch_ns(count)?;
    let mean = |at: usize| f64::midpoint(before[at], after[at]);
    let net_ns = sample.ns_per_op - mean(0);
    Ok(sample.with("touch_ns", mean(0)).with("retouch_ns", mean(1)).with("net_ns", net_ns))
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

fn processes(count: u64) -> Result<Sample, String> {
    let blocked = Arc::new(Blocked::new(count)?);
    let released = Arc::new(AtomicBool::new(false));
    let mut children = Vec::with_capacity(count as usize);
    let (before, start) = (Memory::now()?, Instant::now());
    for index in 0..count {
        let (blocked, released) = (Arc::clone(&blocked), Arc::clone(&released));
        children.push(csp::spawn(move || {
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

fn cells(count: u64) -> Result<Sample, String> {
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
