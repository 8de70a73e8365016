//! Owns: a server with a process, a thread or a task for each connection.
//! May use: raddle.
//! Never: a setting other than the number of workers.

use std::future::poll_fn;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bench_common::sockets::{self, BYTES};
use bench_raddle::{ProcessKind, runtime};
use raddle::cancel::Token;
use raddle::net::{TcpListener, TcpStream};
use raddle_measure::work::burn;
use raddle_measure::{Job, Sample, program};

fn main() -> ExitCode {
    program::main(run)
}

fn echo(mut peer: TcpStream) -> io::Result<()> {
    peer.set_nodelay(true)?;
    let mut bytes = [0; 8 * BYTES];
    loop {
        match peer.read(&mut bytes)? {
            0 => return Ok(()),
            n => peer.write_all(&bytes[..n])?,
        }
    }
}

async fn echo_in_a_task(peer: TcpStream) -> io::Result<()> {
    peer.set_nodelay(true)?;
    let mut bytes = [0; 8 * BYTES];
    loop {
        let n = poll_fn(|context| peer.poll_read(context, &mut bytes)).await?;
        if n == 0 {
            return Ok(());
        }
        let mut written = 0;
        while written < n {
            written += poll_fn(|context| peer.poll_write(context, &bytes[written..n])).await?;
        }
    }
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let (kind, tasks, busy) =
        (ProcessKind::of(job), job.text("kind") == Ok("task"), job.text("busy") == Ok("1"));
    let runtime = runtime(job.workers)?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?.to_string();
    let over = Arc::new(AtomicBool::new(false));
    let computing = busy.then(|| {
        let over = over.clone();
        runtime.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                std::hint::black_box(burn(1, 10_000));
            }
        })
    });
    let accepts = Token::new();
    let region = accepts.clone();
    let listens = runtime.spawn(move || {
        region.run(|| {
            for peer in listener.incoming().map_while(Result::ok) {
                // A client that ends by a reset is an end.
                if tasks {
                    drop(raddle::task::spawn(async move { drop(echo_in_a_task(peer).await) }));
                } else {
                    drop(kind.spawn(move || drop(echo(peer))));
                }
            }
        })
    });
    let samples = job.plan.repeat(|| sockets::measure(&address, job));
    over.store(true, Ordering::Relaxed);
    accepts.cancel();
    drop(listens.join());
    drop(computing.map(|computing| computing.join()));
    samples
}
