//! Owns: a run: its threads, its beginning and end, and what is counted in between.
//! May use: `consistency`, `items`, `plan`, `random`, `transactions`, `ledger`, `raddle`.
//! Never: waiting within a transaction, except for the lock on the shared items.
//!
//! A timed run is controlled by an OS thread outside the runtime: it sleeps during warm-up and measurement, and reads
//! the threads' counters without involving the threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ledger::{Moment, Period};
use raddle::{Runtime, thread};

use crate::consistency;
use crate::items::Items;
use crate::plan::{Length, WaitMode, WarehousePlan};
use crate::random::RandomStream;
use crate::transactions::{KINDS, Warehouse};

/// The result of a run.
#[derive(Clone, Debug)]
pub struct WarehouseResult {
    /// How long was measured.
    pub elapsed: Duration,
    /// Transactions of each warehouse in that time.
    pub done: Vec<u64>,
    /// Transactions by kind, in the order of [`KINDS`], over the whole run.
    pub kinds: [u64; KINDS.len()],
    /// The workers' counters of that time.
    pub period: Period,
    /// Conditions that do not hold; empty when all is well.
    pub violations: Vec<String>,
    /// What the warehouses hold at the end.
    pub checksums: Vec<u64>,
}

impl WarehouseResult {
    /// Transactions per second.
    pub fn throughput(&self) -> f64 {
        self.done.iter().sum::<u64>() as f64 / self.elapsed.as_secs_f64()
    }

    /// How much less the slowest warehouse did than the fastest, in per cent.
    pub fn thread_spread(&self) -> f64 {
        ledger::thread_spread(&self.done)
    }
}

/// What all threads of a run share.
struct SharedRun {
    items: Items,
    form: WaitMode,
    limit: u64,
    over: AtomicBool,
    counts: Vec<DoneCounter>,
}

/// How many transactions a warehouse has done; its thread alone writes it.
#[repr(align(128))]
#[derive(Default)]
struct DoneCounter(AtomicU64);

impl SharedRun {
    fn new(plan: &WarehousePlan) -> Self {
        let limit = match plan.length {
            Length::Transactions(count) => count,
            Length::Time { .. } => u64::MAX,
        };
        SharedRun {
            items: Items::of(plan),
            form: plan.form,
            limit,
            over: AtomicBool::new(false),
            counts: (0..plan.warehouses).map(|_| DoneCounter::default()).collect(),
        }
    }

    fn done(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.0.load(Ordering::Relaxed)).collect()
    }

    /// The body of one warehouse's thread.
    fn serve(&self, number: usize, warehouse: &mut Warehouse, mut think_times: RandomStream) {
        let mut done = 0;
        while done < self.limit && !self.over.load(Ordering::Relaxed) {
            warehouse.transact(&self.items);
            done += 1;
            self.counts[number].0.store(done, Ordering::Relaxed);
            match self.form {
                WaitMode::Thinking { every, mean } if done % u64::from(every.max(1)) == 0 => {
                    let share = f64::from(think_times.below(2001)) / 1000.0;
                    thread::sleep(mean.mul_f64(share));
                }
                _ => thread::yield_now(),
            }
        }
    }
}

/// Runs the workload on `runtime` as `plan` says.
///
/// # Panics
/// When a thread cannot be made, or panics.
pub fn run(runtime: &Runtime, plan: &WarehousePlan) -> WarehouseResult {
    let shared = Arc::new(SharedRun::new(plan));
    let warehouses = (0..plan.warehouses).map(|n| Warehouse::new(plan.scale, plan.seed, n as u64));
    let mut warehouses: Vec<Warehouse> = warehouses.collect();
    let (theirs, seed) = (Arc::clone(&shared), plan.seed);
    let begun = (Moment::of(runtime), Instant::now());
    let running = runtime.spawn(move || {
        thread::scope(|threads| {
            for (number, warehouse) in warehouses.iter_mut().enumerate() {
                let shared = &theirs;
                let think_times = RandomStream::new(seed, (1 << 32) + number as u64);
                threads.spawn(move || shared.serve(number, warehouse, think_times));
            }
        });
        warehouses
    });
    let (elapsed, done, period, warehouses) = match plan.length {
        Length::Time { warm_up, measured } => {
            std::thread::sleep(warm_up);
            let (before, begun) = ((shared.done(), Moment::of(runtime)), Instant::now());
            std::thread::sleep(measured);
            let (after, elapsed) = ((shared.done(), Moment::of(runtime)), begun.elapsed());
            shared.over.store(true, Ordering::Relaxed);
            let warehouses = running.join().expect("no warehouse panics");
            let done = after.0.iter().zip(&before.0).map(|(after, before)| after - before).collect();
            (elapsed, done, before.1.until(&after.1), warehouses)
        }
        Length::Transactions(_) => {
            let warehouses = running.join().expect("no warehouse panics");
            (begun.1.elapsed(), shared.done(), begun.0.until(&Moment::of(runtime)), warehouses)
        }
    };
    summary(&shared, &warehouses, elapsed, done, period)
}

/// The same transactions in a plain loop on one OS thread, the warehouses in turn: the floor of the cost.
pub fn floor(plan: &WarehousePlan) -> WarehouseResult {
    let shared = SharedRun::new(plan);
    let warehouses = (0..plan.warehouses).map(|n| Warehouse::new(plan.scale, plan.seed, n as u64));
    let mut warehouses: Vec<Warehouse> = warehouses.collect();
    let (warm_up, measured, limit) = match plan.length {
        Length::Time { warm_up, measured } => (warm_up, measured, u64::MAX),
        Length::Transactions(count) => (Duration::ZERO, Duration::MAX, count),
    };
    let round = |warehouses: &mut [Warehouse]| warehouses.iter_mut().for_each(|w| w.transact(&shared.items));
    let warming = Instant::now();
    let mut before = 0;
    while before < limit && warming.elapsed() < warm_up {
        round(&mut warehouses);
        before += 1;
    }
    let (begun, mut after) = (Instant::now(), before);
    while after < limit && begun.elapsed() < measured {
        round(&mut warehouses);
        after += 1;
    }
    let done = vec![after - before; plan.warehouses];
    summary(&shared, &warehouses, begun.elapsed(), done, Period::default())
}

fn summary(
    shared: &SharedRun,
    warehouses: &[Warehouse],
    elapsed: Duration,
    done: Vec<u64>,
    period: Period,
) -> WarehouseResult {
    let kinds = std::array::from_fn(|kind| warehouses.iter().map(|warehouse| warehouse.done[kind]).sum());
    let violations = consistency::violations(warehouses, &shared.items);
    let checksums = warehouses.iter().map(Warehouse::checksum).collect();
    WarehouseResult { elapsed, done, kinds, period, violations, checksums }
}
