//! Owns: what smol's programs share: its executor with threads that run it, and a main task on it.
//! May use: async-executor, which is smol's `Executor`; futures-lite, whose `block_on` is smol's.
//! Never: a benchmark; the executor that smol itself makes, whose number of threads is a variable of the environment.

use std::sync::Arc;
use std::thread;

use async_executor::Executor;
use futures_lite::future::{block_on, pending};

/// Runs `main` as a task on an executor that `workers` threads run, and returns what it returns.
///
/// The threads stay until the program ends, as smol's own do.
pub fn run<F, M>(workers: usize, main: M) -> F::Output
where
    M: FnOnce(Arc<Executor<'static>>) -> F,
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let executor = Arc::new(Executor::new());
    for _ in 0..workers {
        let executor = Arc::clone(&executor);
        thread::spawn(move || block_on(executor.run(pending::<()>())));
    }
    let main = main(Arc::clone(&executor));
    block_on(executor.spawn(main))
}
