//! Owns: what transactions are measured on, whoever runs them: a counter, a transfer, 16 reads, a bank, its audit.
//! May use: `raddle-measure`.
//! Never: a transaction.

use raddle_measure::{Job, Sample};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Accounts of the bank, and what is in each.
pub const ACCOUNTS: usize = 1024;
/// What each account begins with.
pub const BALANCE: i64 = 1000;
/// So many variables are read at once.
pub const READS: usize = 16;

/// What one transaction of a bank is, by the number of the thread and of its round: from which account to which.
#[inline]
pub fn transfer(thread: u64, round: u64) -> (usize, usize) {
    let mixed = (thread << 40 ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (from, to) = ((mixed >> 20) as usize % ACCOUNTS, (mixed >> 40) as usize % ACCOUNTS);
    if from == to { (from, (to + 1) % ACCOUNTS) } else { (from, to) }
}

/// Transactions of one kind of variables.
pub trait Transactions: Send + Sync + 'static {
    /// So many variables, with so much in each.
    fn new(variables: usize, value: i64) -> Self;

    /// Adds one to the first.
    fn count(&self);

    /// Moves one from one to another.
    fn transfer(&self, from: usize, to: usize);

    /// The sum of all.
    fn sum(&self) -> i64;
}

/// Runs what the job asks for. `on_threads` runs its function with the numbers below the first, each on a thread, and
/// adds up what they return.
pub fn run<T: Transactions>(
    job: &Job,
    on_threads: impl Fn(u64, std::sync::Arc<dyn Fn(u64) -> u64 + Send + Sync>) -> u64,
) -> Result<Vec<Sample>, String> {
    let (threads, rounds) = (job.number("threads")?, job.number("rounds")?);
    let each = rounds / threads;
    let all = |f: std::sync::Arc<dyn Fn(u64) -> u64 + Send + Sync>| {
        job.plan.time(each * threads, || on_threads(threads, f.clone()))
    };
    match job.text("form")? {
        "counter" => {
            let one = T::new(1, 0);
            all(std::sync::Arc::new(move |_| {
                (0..each).for_each(|_| one.count());
                each
            }))
        }
        "transfer" => {
            let two = T::new(2, 0);
            all(std::sync::Arc::new(move |_| {
                (0..each).for_each(|_| two.transfer(0, 1));
                each
            }))
        }
        "reads" => {
            let sixteen = T::new(READS, 1);
            all(std::sync::Arc::new(move |_| (0..each).map(|_| sixteen.sum() as u64 / READS as u64).sum()))
        }
        "bank" => {
            let bank = T::new(ACCOUNTS, BALANCE);
            all(std::sync::Arc::new(move |thread| {
                for round in 0..each {
                    let (from, to) = transfer(thread, round);
                    bank.transfer(from, to);
                }
                each
            }))
        }
        "audit" => {
            let bank = std::sync::Arc::new(Audited {
                bank: T::new(ACCOUNTS, BALANCE),
                is_over: AtomicBool::new(false),
                worst_ns: AtomicU64::new(0),
            });
            let audits = each * threads;
            let samples = job.plan.time(audits, || {
                let bank = bank.clone();
                bank.is_over.store(false, Ordering::Relaxed);
                on_threads(threads, std::sync::Arc::new(move |thread| audit(&bank, thread, audits)))
            })?;
            let worst_ns = bank.worst_ns.load(Ordering::Relaxed) as f64;
            Ok(samples.into_iter().map(|sample| sample.with("worst_ns", worst_ns)).collect())
        }
        other => Err(format!("no form is called {other}")),
    }
}

/// A bank that is audited, and what its slowest audit has taken.
struct Audited<T> {
    bank: T,
    is_over: AtomicBool,
    worst_ns: AtomicU64,
}

/// The first thread audits, so often; the others move money until it is done.
fn audit<T: Transactions>(all: &Audited<T>, thread: u64, audits: u64) -> u64 {
    if thread == 0 {
        for _ in 0..audits {
            let start = Instant::now();
            assert_eq!(all.bank.sum(), ACCOUNTS as i64 * BALANCE, "a sum that never was");
            all.worst_ns.fetch_max(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        all.is_over.store(true, Ordering::Relaxed);
        return audits;
    }
    for round in (0..).take_while(|_| !all.is_over.load(Ordering::Relaxed)) {
        let (from, to) = transfer(thread, round);
        all.bank.transfer(from, to);
    }
    0
}

/// As [`run`], on OS threads.
pub fn run_on_os_threads<T: Transactions>(job: &Job) -> Result<Vec<Sample>, String> {
    crate::cores::use_first(job.workers)?;
    run::<T>(job, on_os_threads)
}

/// Runs `f` with the numbers below `threads`, each on an OS thread; the sum of what they return.
pub(crate) fn on_os_threads(threads: u64, f: std::sync::Arc<dyn Fn(u64) -> u64 + Send + Sync>) -> u64 {
    let thread = |number| {
        let f = f.clone();
        std::thread::spawn(move || f(number))
    };
    let all: Vec<_> = (0..threads).map(thread).collect();
    all.into_iter().map(|one| one.join().expect("it does not panic")).sum()
}
