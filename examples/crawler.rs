//! A crawler: it asks a site for its first page, and then for whatever the pages link to, each once, several at a time.
//!
//! `cargo raddle run examples/crawler.rs` crawls a site of its own, of 200 pages, and ends. With an address and a page
//! it crawls that one: `cargo run --release --example crawler 127.0.0.1:8080 /`. Each request is a span of a trace:
//! `RADDLE_TRACE=crawl.rdt RADDLE_TRACE_LEVEL=user`, then `raddle trace crawl.rdt`.
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use raddle::cancel::{self, Token};
use raddle::net::{TcpListener, TcpStream};
use raddle::sync::{Mutex, Semaphore};
use raddle::{csp, trace};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

/// So many requests are under way at once.
const AT_ONCE: usize = 8;
/// A page that does not come within this time is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// A page has no more bytes.
const PAGE_MAX: u64 = 1 << 20;

/// What has been found.
#[derive(Default)]
struct Found {
    asked_for: BTreeSet<String>,
    /// By page: how many bytes, or why not.
    pages: BTreeMap<String, Result<usize, String>>,
}

struct Crawl {
    site: SocketAddr,
    slots: Semaphore,
    found: Mutex<Found>,
}

/// Asks for one page: its body.
fn get(site: SocketAddr, path: &str) -> io::Result<String> {
    let _request = trace::span!("request");
    let mut stream = TcpStream::connect(site)?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {site}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(PAGE_MAX).read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        Some((head, _)) => Err(io::Error::other(head.lines().next().unwrap_or_default().to_owned())),
        None => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// The pages of this site that a page links to.
fn links(body: &str) -> impl Iterator<Item = &str> {
    let after = body.split("href=\"").skip(1);
    after.filter_map(|rest| rest.split('"').next()).filter(|link| link.starts_with('/'))
}

impl Crawl {
    fn new(site: SocketAddr) -> Crawl {
        Crawl { site, slots: Semaphore::new(AT_ONCE), found: Mutex::default() }
    }

    /// Asks for a page, and then has a process of its own ask for each that it links to, unless somebody has.
    fn visit(&self, path: String) {
        if !self.found.lock().expect("nobody panics").asked_for.insert(path.clone()) {
            return;
        }
        let page = {
            let _slot = self.slots.acquire();
            let page = cancel::within(PATIENCE, || get(self.site, &path));
            page.unwrap_or_else(|_late| Err(ErrorKind::TimedOut.into()))
        };
        let said = page.as_ref().map(String::len).map_err(ToString::to_string);
        self.found.lock().expect("nobody panics").pages.insert(path, said);
        csp::scope(|s| {
            for link in page.iter().flat_map(|body| links(body)).map(str::to_owned) {
                s.spawn(|| self.visit(link));
            }
        });
    }
}

/// A site of so many pages: each links to a few others, and one to a page that is not there.
fn page(count: usize, path: &str) -> Option<String> {
    let number: usize = path.strip_prefix('/')?.parse().ok().filter(|number| *number < count)?;
    let others = [2 * number + 1, 2 * number + 2, number / 3, count - 1 - number];
    let to = |other: usize| format!("<a href=\"/{other}\">{other}</a>\n");
    let nowhere = if number == count / 2 { "<a href=\"/nowhere\">?</a>" } else { "" };
    let all: String = others.into_iter().filter(|other| *other < count).map(to).collect();
    Some(format!("<h1>{number}</h1>\n{all}{nowhere}"))
}

fn answer(mut peer: &TcpStream, count: usize) -> io::Result<()> {
    let mut line = String::new();
    let mut request = BufReader::new(peer);
    request.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    while request.read_line(&mut line)? > 2 {}
    let (status, body) = match page(count, &path) {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", String::new()),
    };
    write!(peer, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Until it is told to stop.
fn serve(listener: &TcpListener, count: usize, stop: &Token) {
    csp::scope(|s| {
        while let Ok(Ok((peer, _))) = stop.run(|| listener.accept()) {
            s.spawn(move || answer(&peer, count));
        }
    });
}

fn crawl(site: SocketAddr, first: &str) -> Found {
    let crawl = Crawl::new(site);
    crawl.visit(first.to_owned());
    crawl.found.into_inner().expect("nobody panics")
}

#[raddle::main]
fn main() -> io::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [site, first] = &given[..] {
        for (path, said) in crawl(site.parse().map_err(io::Error::other)?, first).pages {
            println!("{path}: {}", said.map_or_else(|error| error, |bytes| format!("{bytes} bytes")));
        }
        return Ok(());
    }
    const COUNT: usize = 200;
    let (listener, stop) = (TcpListener::bind("127.0.0.1:0")?, Token::new());
    let site = listener.local_addr()?;
    let found = csp::scope(|s| {
        s.spawn(|| serve(&listener, COUNT, &stop));
        let found = crawl(site, "/0");
        stop.cancel();
        found
    });
    let (good, bad): (Vec<_>, Vec<_>) = found.pages.into_iter().partition(|(_, said)| said.is_ok());
    assert!(good.len() == COUNT && bad.len() == 1, "{} pages, {bad:?}", good.len());
    println!("{} pages, and {} is missing", good.len(), bad[0].0);
    Ok(())
}
