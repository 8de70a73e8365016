//! Owns: what the floor's programs share: coroutines that name the next to run, on pooled stacks.
//! May use: corosensei.
//! Never: a queue, an atomic, another thread.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};

/// A coroutine that at each suspension says which one is to run next, and in the end how often it did.
pub type FloorProcess = Coroutine<(), usize, u64, DefaultStack>;

/// `count` stacks of 64 KiB.
pub fn stacks(count: u64) -> Result<Vec<DefaultStack>, String> {
    let make = |_| DefaultStack::new(64 << 10).map_err(|e| format!("cannot make a stack: {e}"));
    (0..count).map(make).collect()
}

/// Runs one coroutine on each of `stacks`, each suspending `rounds` times in favour of the one after it,
/// and returns how often they did in all. The stacks are the same ones afterwards.
pub fn ring(stacks: &mut Vec<DefaultStack>, rounds: u64) -> u64 {
    let count = stacks.len();
    let start = |(place, stack)| {
        let next = (place + 1) % count;
        Coroutine::with_stack(stack, move |yielder, ()| {
            (0..rounds).for_each(|_| yielder.suspend(next));
            rounds
        })
    };
    let mut ring: Vec<FloorProcess> = stacks.drain(..).enumerate().map(start).collect();
    let (mut place, mut sum) = (0, 0);
    while sum < count as u64 * rounds {
        match ring[place].resume(()) {
            CoroutineResult::Yield(next) => place = next,
            CoroutineResult::Return(done) => {
                sum += done;
                place = (place + 1) % count;
            }
        }
    }
    stacks.extend(ring.into_iter().map(Coroutine::into_stack));
    sum
}
