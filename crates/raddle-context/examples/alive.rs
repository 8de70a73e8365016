//! Many contexts alive at once: time, resident memory, page tables and memory maps of each.
//!
//! `cargo run --release -p raddle-context --example alive [COUNT [protect]]`
//!
//! Each context is started, stops once on its own stack, and is resumed to its end. The floor is the bare cost of the
//! stacks: taking as many, and touching the page that a start would touch.
#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use raddle_context::{
    Context, Guard, SizeClass, Stack, StackDepot, StackError, StackOptions, StackPool, transfer,
};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use std::time::Instant;

static DRIVER: AtomicPtr<Context> = AtomicPtr::new(core::ptr::null_mut());

unsafe extern "C" fn entry(me: *mut Context) -> *mut Context {
    let driver = DRIVER.load(Relaxed);
    // SAFETY: the driver is suspended in `resume_all`, and `me` runs.
    unsafe { transfer(me, driver) };
    driver
}

fn resume_all(contexts: &mut [Context]) {
    let mut driver = Context::empty();
    let driver = &raw mut driver;
    DRIVER.store(driver, Relaxed);
    for context in contexts {
        // SAFETY: each context is primed in the first round and suspended in the second.
        unsafe { transfer(driver, context) };
    }
}

/// A figure of /proc/self/status, in bytes.
fn status_bytes(key: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("0");
    line.split_whitespace().find_map(|word| word.parse::<usize>().ok()).unwrap_or(0) * 1024
}

fn maps() -> usize {
    std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count())
}

struct Meter {
    at: Instant,
    count: usize,
}

impl Meter {
    fn lap(&mut self, what: &str) {
        let ns = self.at.elapsed().as_nanos() as f64 / self.count as f64;
        println!("{what:<34} {ns:>9.1} ns each");
        self.at = Instant::now();
    }
}

fn take_all(pool: &mut StackPool, count: usize) -> Result<Vec<Stack>, StackError> {
    (0..count).map(|_| pool.take(SizeClass::DEFAULT)).collect()
}

fn main() -> Result<(), StackError> {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let guard = if arguments.next().is_some() { Guard::Protect } else { Guard::Best };
    let mut pool = StackPool::new(StackDepot::with(StackOptions { guard, ..StackOptions::default() }));
    let mut meter = Meter { at: Instant::now(), count };

    let stacks = take_all(&mut pool, count)?;
    meter.lap("take, fresh");
    for stack in &stacks {
        // SAFETY: the highest word of a stack that nobody runs on.
        unsafe { stack.top().wrapping_sub(8).write(1) };
    }
    meter.lap("touch, fresh");
    stacks.into_iter().for_each(|stack| pool.give(stack));
    drop(pool);

    let mut pool = StackPool::new(StackDepot::with(StackOptions { guard, ..StackOptions::default() }));
    let before = (status_bytes("VmRSS:"), status_bytes("VmPTE:"), maps());
    meter.at = Instant::now();
    let stacks = take_all(&mut pool, count)?;
    let mut contexts: Vec<Context> = stacks.iter().map(prime).collect();
    meter.lap("take and prime, fresh");
    resume_all(&mut contexts);
    meter.lap("start, fresh");
    resume_all(&mut contexts);
    meter.lap("resume to the end");
    let resident = (status_bytes("VmRSS:") - before.0) / count;
    println!("resident, context and handle included {resident} bytes each");
    println!(
        "page tables                           {} bytes each",
        (status_bytes("VmPTE:") - before.1) / count
    );
    println!("memory maps                           {} more", maps() - before.2);
    meter.at = Instant::now();
    stacks.into_iter().for_each(|stack| pool.give(stack));
    meter.lap("give");
    let stacks = take_all(&mut pool, count)?;
    contexts = stacks.iter().map(prime).collect();
    resume_all(&mut contexts);
    meter.lap("take, prime and start, reused");
    stacks.into_iter().for_each(|stack| pool.give(stack));
    Ok(())
}

fn prime(stack: &Stack) -> Context {
    let mut context = Context::empty();
    // SAFETY: the stacks are given back when no context will be resumed any more.
    unsafe { context.prime(stack, entry) };
    context
}
