//! Owns: the one client of the socket benchmarks, and how a program has it run against its server.
//! May use: `cores`, rustix's poll.
//! Never: a server; that is each runtime's own.
//!
//! The client is a process of the runner's executable, so that it is the same for servers in all languages, and costs
//! none of them anything. It is one OS thread on the last core, with a poll of its own.
//!
//! | `form` | what it does |
//! |---|---|
//! | `echo` | 64 bytes there and back on each of its connections, the next as soon as the answer has come |
//! | `half` | the same at a rate, whatever comes back when: a time counts from when the request was due |
//! | `accept` | a connection, 64 bytes there and back, its end; so many are under way at a time |

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use raddle_measure::stats::percentile;
use raddle_measure::{Job, Sample};
use rustix::event::epoll;

use crate::cores;

/// The environment variable by which a program finds the client: the runner's executable.
pub const CLIENT: &str = "BENCH_CLIENT";
/// What the runner is called with to be one.
pub const WORD: &str = "socket-client";
/// Before a request that is due sooner the client looks again and again.
const WORTH_A_SLEEP: Duration = Duration::from_micros(20);
/// As long is a message.
pub const BYTES: usize = 64;

/// Has the client run as `job` says, against a server at `address`.
///
/// # Errors
/// If there is no client, or it fails.
pub fn measure(address: &str, job: &Job) -> Result<Sample, String> {
    let client = std::env::var_os(CLIENT).ok_or_else(|| format!("{CLIENT} is to name the runner"))?;
    let mut client = Command::new(client);
    client.args([WORD, job.text("form")?, address]);
    for number in ["connections", "requests", "gap_ns"] {
        client.arg(job.text(number).unwrap_or("0"));
    }
    let output = client.output().map_err(|e| format!("cannot start the client: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Sample::from_json_line(&String::from_utf8_lossy(&output.stdout))
}

/// The client's whole life: its arguments, behind the word, and the line that it prints.
///
/// # Errors
/// If the arguments are not such, or the server does not answer.
pub fn client(arguments: &[String]) -> Result<String, String> {
    let [form, address, connections, requests, gap_ns] = arguments else {
        return Err("wants a form, an address, connections, requests and a gap".to_owned());
    };
    let number = |text: &String| text.parse::<u64>().map_err(|e| format!("{text}: {e}"));
    let (connections, requests, gap_ns) = (number(connections)?, number(requests)?, number(gap_ns)?);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores::pin(cores - 1)?;
    let run = || {
        let mut client = SocketClient::connect(address, connections as usize)?;
        match form.as_str() {
            "echo" => client.echo(requests as usize, Again::Same),
            "accept" => client.echo(requests as usize, Again::Anew),
            "half" => client.paced(requests as usize, Duration::from_nanos(gap_ns)),
            _ => Err(io::Error::other("no such form")),
        }
    };
    run().map(|sample| sample.to_json_line()).map_err(|e| format!("{form} at {address}: {e}"))
}

/// On which connection the next request goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Same,
    Anew,
}

struct SocketClient {
    address: String,
    poll: rustix::fd::OwnedFd,
    connections: Vec<Connection>,
}

struct Connection {
    stream: TcpStream,
    asked: Instant,
}

impl Connection {
    fn to(address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, asked: Instant::now() })
    }

    fn ask(&mut self, asked: Instant) -> io::Result<()> {
        self.asked = asked;
        self.stream.write_all(&[7; BYTES])
    }

    /// How long it took, in nanoseconds.
    fn answer(&mut self) -> io::Result<f64> {
        self.stream.read_exact(&mut [0; BYTES])?;
        Ok(self.asked.elapsed().as_nanos() as f64)
    }
}

impl SocketClient {
    fn connect(address: &str, count: usize) -> io::Result<SocketClient> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut client = SocketClient { address: address.to_owned(), poll, connections: Vec::new() };
        for place in 0..count {
            let mut one = client.new_connection(place)?;
            one.ask(Instant::now())?;
            one.answer()?;
            client.connections.push(one);
        }
        Ok(client)
    }

    fn new_connection(&self, place: usize) -> io::Result<Connection> {
        let one = Connection::to(&self.address)?;
        epoll::add(&self.poll, &one.stream, epoll::EventData::new_u64(place as u64), epoll::EventFlags::IN)?;
        Ok(one)
    }

    /// The connection ends by a reset: so its port is free at once.
    fn renew(&mut self, place: usize) -> io::Result<()> {
        rustix::net::sockopt::set_socket_linger(&self.connections[place].stream, Some(Duration::ZERO))?;
        self.connections[place] = self.new_connection(place)?;
        Ok(())
    }

    /// The places that have an answer, after so long at most.
    fn answered(&self, places: &mut Vec<usize>, wait: Option<&rustix::event::Timespec>) -> io::Result<()> {
        let mut events = Vec::with_capacity(1024);
        epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), wait)?;
        places.clear();
        places.extend(events.iter().map(|event| { event.data }.u64() as usize));
        Ok(())
    }

    fn echo(&mut self, requests: usize, again: Again) -> io::Result<Sample> {
        let (began, mut times, mut places) = (Instant::now(), Vec::with_capacity(requests), Vec::new());
        for one in &mut self.connections {
            one.ask(began)?;
        }
        while times.len() < requests {
            self.answered(&mut places, None)?;
            for &place in &places {
                times.push(self.connections[place].answer()?);
                if again == Again::Anew {
                    self.renew(place)?;
                }
                self.connections[place].ask(Instant::now())?;
            }
        }
        Ok(sample(began.elapsed().as_nanos() as f64 / times.len() as f64, requests, &times))
    }

    /// Never sleeps, so that no request is late by its own sleep.
    fn paced(&mut self, requests: usize, gap: Duration) -> io::Result<Sample> {
        let mut free: Vec<usize> = (0..self.connections.len()).collect();
        let (began, mut times, mut places) = (Instant::now(), Vec::with_capacity(requests), Vec::new());
        let mut due = began;
        while times.len() < requests {
            while due <= Instant::now()
                && let Some(place) = free.pop()
            {
                self.connections[place].ask(due)?;
                due += gap;
            }
            // A client that spins where there is time takes its core from the server: the third of three on two cores
            // beside one that computes.
            let left = due.saturating_duration_since(Instant::now());
            let none_is_free = free.is_empty();
            let sleeps = if left < WORTH_A_SLEEP { Duration::ZERO } else { left };
            let at_most = (!none_is_free).then(|| sleeps.try_into().unwrap_or_default());
            self.answered(&mut places, at_most.as_ref())?;
            for &place in &places {
                times.push(self.connections[place].answer()?);
                free.push(place);
            }
        }
        let median = percentile(&times, 50.0).unwrap_or_default();
        Ok(sample(median, requests, &times))
    }
}

/// The checksum is what was asked for: a few more may have been answered.
fn sample(ns: f64, requests: usize, times: &[f64]) -> Sample {
    let of = |percent| percentile(times, percent).unwrap_or_default();
    Sample::new(ns, requests as u64).with("p50_ns", of(50.0)).with("p99_ns", of(99.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server whose threads echo.
    fn serve() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for peer in listener.incoming() {
                std::thread::spawn(move || {
                    let (mut peer, mut bytes) = (peer.unwrap(), [0; BYTES]);
                    while peer.read_exact(&mut bytes).is_ok() && peer.write_all(&bytes).is_ok() {}
                });
            }
        });
        address
    }

    #[test]
    fn each_form_answers_what_was_asked_for() {
        let address = serve();
        for form in ["echo", "half", "accept"] {
            let arguments = [form, &address, "3", "100", "1000"].map(str::to_owned);
            let sample = Sample::from_json_line(&client(&arguments).unwrap()).unwrap();
            assert_eq!(sample.checksum, 100, "{form}");
            assert!(sample.metric("p99_ns") >= sample.metric("p50_ns"), "{form}");
        }
        assert!(client(&["none", &address, "1", "1", "0"].map(str::to_owned)).is_err());
        assert!(client(&[]).is_err());
    }
}
