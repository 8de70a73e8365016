//! Owns: a server with a coroutine of may's for each connection.
//! May use: may.
//! Never: thread-local state.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;

use bench_common::sockets::{self, BYTES};
use may::net::{TcpListener, TcpStream};
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

fn run(job: &Job) -> Result<Vec<Sample>, String> {
    bench_may::set_workers(job.workers);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|e| e.to_string())?.to_string();
    drop(bench_may::start(move || {
        for peer in listener.incoming().map_while(Result::ok) {
            // A client that ends by a reset is an end.
            drop(bench_may::start(move || drop(echo(peer))));
        }
    }));
    job.plan.repeat(|| sockets::measure(&address, job))
}
