//! Owns: what tokio's programs share: a multi-thread runtime whose main task is itself on a worker.
//! May use: tokio.
//! Never: a benchmark.

use tokio::runtime::Builder;

/// Runs `main` as a task on a runtime of `workers` workers.
pub fn run<F>(workers: usize, main: F) -> Result<F::Output, String>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let runtime = runtime(workers)?;
    runtime.block_on(async { tokio::spawn(main).await.map_err(|e| e.to_string()) })
}

/// A runtime of `workers` workers.
pub fn runtime(workers: usize) -> Result<tokio::runtime::Runtime, String> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_time().build().map_err(|e| e.to_string())
}

/// As [`runtime`], and its workers poll descriptors.
pub fn runtime_with_sockets(workers: usize) -> Result<tokio::runtime::Runtime, String> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all().build().map_err(|e| e.to_string())
}
