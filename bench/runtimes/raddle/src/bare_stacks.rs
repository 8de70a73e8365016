//! Owns: the cost of new stacks: taken from a depot of Raddle's and touched, without a scheduler.
//! May use: `raddle-context`; one `unsafe` write into a stack that nobody runs on.
//! Never: a stack that was used before.
//!
//! The stacks are the same that processes get (size, guard, colour), so that what remains of a process's
//! time when this is subtracted is the process itself. `bench_common::fresh_stacks` is the same by hand.

use raddle_context::{SizeClass, Stack, StackDepot, StackPool};

/// Stacks that are all kept until this is dropped.
pub struct BareStacks {
    pool: StackPool,
    taken: Vec<Stack>,
}

impl BareStacks {
    /// None yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a depot is made, which is no default of anything")]
    pub fn new() -> Self {
        BareStacks { pool: StackPool::new(StackDepot::new()), taken: Vec::new() }
    }

    /// Makes, guards and touches `count` more.
    ///
    /// # Errors
    /// What the depot says when it cannot make that many.
    pub fn touch_more(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            let stack = self.pool.take(SizeClass::DEFAULT).map_err(|e| e.to_string())?;
            touch(&stack);
            self.taken.push(stack);
        }
        Ok(())
    }
}

impl Drop for BareStacks {
    fn drop(&mut self) {
        self.taken.drain(..).for_each(|stack| self.pool.give(stack));
    }
}

fn touch(stack: &Stack) {
    // SAFETY: the word below the top belongs to a stack that the caller owns and that nothing runs on.
    unsafe { stack.top().cast::<u64>().sub(1).write_volatile(1) };
}
