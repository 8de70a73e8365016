//! Owns: the bare cost of fresh stacks: taken from a depot of Raddle's own and touched, with no scheduler.
//! May use: `raddle-context`; one `unsafe` write into a stack that nobody runs on.
//! Never: a stack that was used before.
//!
//! The stacks are the very ones that processes get (size, guard, colour), so that what remains of a process's
//! time when this is subtracted is the process itself. `bench_common::fresh_stacks` is the same by hand.

use std::time::Instant;

use raddle_context::{SizeClass, Stack, StackDepot, StackPool};

/// Nanoseconds a stack to make, guard and touch `count` fresh stacks that are all kept until the last one, and
/// then to touch each of them once more (which with many of them misses every cache: a resumption's floor).
///
/// # Errors
/// What the depot says when it cannot make that many.
pub fn touch_ns(count: u64) -> Result<[f64; 2], String> {
    let mut pool = StackPool::new(StackDepot::new());
    let mut stacks = Vec::with_capacity(count as usize);
    let start = Instant::now();
    for _ in 0..count {
        let stack = pool.take(SizeClass::DEFAULT).map_err(|e| e.to_string())?;
        touch(&stack);
        stacks.push(stack);
    }
    let fresh = start.elapsed();
    stacks.iter().for_each(touch);
    let again = start.elapsed() - fresh;
    stacks.into_iter().for_each(|stack| pool.give(stack));
    Ok([fresh, again].map(|elapsed| elapsed.as_nanos() as f64 / count as f64))
}

fn touch(stack: &Stack) {
    // SAFETY: the word below the top belongs to a stack that the caller owns and that nothing runs on.
    unsafe { stack.top().cast::<u64>().sub(1).write_volatile(1) };
}
