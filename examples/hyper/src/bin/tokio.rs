//! The same server on tokio, to measure: `hello-tokio 127.0.0.1:8080 2` has two workers.

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use raddle_hyper_example::hello;
use std::io;
use tokio::net::TcpListener;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let address = words.first().map_or("127.0.0.1:8080", String::as_str);
    let workers = words.get(1).map_or(Ok(2), |word| word.parse().map_err(io::Error::other))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_io().build()?;
    // In a task, as there.
    let server = runtime.spawn(serve(address.to_owned()));
    runtime.block_on(server).map_err(io::Error::other)?
}

async fn serve(address: String) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let io = TokioIo::new(stream);
            // A peer that resets is an end.
            let _ended = http1::Builder::new().serve_connection(io, service_fn(hello)).await;
        });
    }
}
