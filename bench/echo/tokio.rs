//! Owns: a server with a task of tokio's for each connection.
//! May use: tokio.
//! Never: a task that blocks its thread, but the one that is to compute.

use std::io;
use std::process::ExitCode;

use bench_common::sockets::{self, BYTES};
use raddle_measure::{Job, Sample, program};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

fn main() -> ExitCode {
    program::main(run)
}

async fn echo(mut peer: TcpStream) -> io::Result<()> {
    peer.set_nodelay(true)?;
    let mut bytes = [0; 8 * BYTES];
    loop {
        match peer.read(&mut bytes).await? {
            0 => return Ok(()),
            n => peer.write_all(&bytes[..n]).await?,
        }
    }
}

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    let runtime = bench_tokio::runtime_with_sockets(job.workers)?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?.to_string();
    runtime.spawn(async move {
        while let Ok((peer, _)) = listener.accept().await {
            tokio::spawn(echo(peer));
        }
    });
    job.plan.repeat(|| sockets::measure(&address, job))
}
