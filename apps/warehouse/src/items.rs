//! Owns: the item table that all warehouses share: prices, and how many of each were sold.
//! May use: `plan`, `random`, `raddle`.
//! Never: a warehouse's own tables.

use std::sync::atomic::{AtomicU64, Ordering};

use raddle::sync::Mutex;

use crate::plan::{WaitMode, WarehousePlan};
use crate::random::RandomStream;

/// What the warehouses sell.
#[derive(Debug)]
pub struct Items {
    prices: Vec<u32>,
    sold: Sold,
}

/// How sales are counted.
#[derive(Debug)]
enum Sold {
    /// Each item has its own counter: threads never wait.
    Each(Vec<AtomicU64>),
    /// One lock guards the whole table: threads wait for it.
    Locked(Mutex<Vec<u64>>),
}

impl Items {
    /// `count` items with prices from 1.00 to 100.00; `locked` says whether one lock guards the sales.
    fn new(count: u32, locked: bool, random: &mut RandomStream) -> Self {
        let prices = (0..count).map(|_| random.between(100, 10_000)).collect();
        let zeros = (0..count).map(|_| 0);
        let sold = if locked {
            Sold::Locked(Mutex::new(zeros.collect()))
        } else {
            Sold::Each(zeros.map(AtomicU64::new).collect())
        };
        Items { prices, sold }
    }

    /// The items of a run.
    pub fn of(plan: &WarehousePlan) -> Self {
        Items::new(plan.scale.items, plan.form != WaitMode::Busy, &mut RandomStream::new(plan.seed, 0))
    }

    /// How many items there are.
    pub fn count(&self) -> u32 {
        self.prices.len() as u32
    }

    /// What one of `item` costs, in cents.
    pub fn price(&self, item: u32) -> i64 {
        i64::from(self.prices[item as usize])
    }

    /// Counts what an order sells, pairs of item and quantity.
    pub fn sell(&self, order: &[(u32, u32)]) {
        match &self.sold {
            Sold::Each(counts) => {
                for (item, quantity) in order {
                    counts[*item as usize].fetch_add(u64::from(*quantity), Ordering::Relaxed);
                }
            }
            Sold::Locked(counts) => {
                let mut counts = counts.lock().expect("no transaction panics");
                for (item, quantity) in order {
                    counts[*item as usize] += u64::from(*quantity);
                }
            }
        }
    }

    /// How many of each item were sold.
    pub fn sold(&self) -> Vec<u64> {
        match &self.sold {
            Sold::Each(counts) => counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            Sold::Locked(counts) => counts.lock().expect("no transaction panics").clone(),
        }
    }
}
