//! The server is asked by processes, with and without TLS, and ends in order.

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use raddle::cancel::Token;
use raddle::net::{TcpListener, TcpStream};
use raddle::{Runtime, channel, csp, task};
use raddle_hyper_example::{hello, serve, tls};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// On one worker and on two. A server that hangs is ended by the tests' own watchdog.
fn everywhere(f: impl Fn() + Sync + Send) {
    static WATCHDOG: std::sync::Once = std::sync::Once::new();
    WATCHDOG.call_once(|| {
        std::thread::spawn(|| {
            #[allow(clippy::disallowed_methods, reason = "an OS thread sleeps, outside of any runtime")]
            std::thread::sleep(std::time::Duration::from_secs(900));
            eprintln!("the tests hang:\n{}", raddle::dump());
            std::process::abort();
        });
    });
    for workers in [1, 2] {
        Runtime::builder().workers(workers).build().unwrap().run(&f);
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Asks for these pages on one connection, the last time for its end; what all of it answers.
fn ask(mut stream: impl Read + Write, paths: &[&str]) -> String {
    for (n, path) in paths.iter().enumerate() {
        let ends = if n + 1 == paths.len() { "connection: close\r\n" } else { "" };
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n{ends}\r\n").unwrap();
    }
    stream.flush().unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn is_good(answer: &str) {
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 404 Not Found").count(), 1, "{answer}");
    assert!(answer.ends_with("Hello, world!\n"), "{answer}");
}

const PATHS: [&str; 3] = ["/", "/nowhere", "/"];

/// rustls's own stream, on a process: its reads and writes are the standard library's traits.
fn by_tls(config: Arc<ClientConfig>, address: SocketAddr) -> impl Read + Write {
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), TcpStream::connect(address).unwrap())
}

#[test]
fn many_connections_are_served_with_and_without_tls() {
    everywhere(|| {
        let ((plain, address), (secret, secret_address)) = (listen(), listen());
        let (stop, (acceptor, config)) = (Token::new(), tls().unwrap());
        let servers = [
            task::spawn(serve(plain, None, stop.clone(), hello)),
            task::spawn(serve(secret, Some(acceptor), stop.clone(), hello)),
        ];
        csp::scope(|s| {
            for _ in 0..20 {
                s.spawn(|| is_good(&ask(TcpStream::connect(address).unwrap(), &PATHS)));
            }
            for _ in 0..5 {
                s.spawn(|| is_good(&ask(by_tls(config.clone(), secret_address), &PATHS)));
            }
        });
        stop.cancel();
        servers.into_iter().for_each(|server| task::block_on(server).unwrap());
    });
}

/// Who speaks no TLS, or nothing, is not served, and keeps nobody from ending.
#[test]
fn nonsense_and_silence_are_no_obstacle() {
    everywhere(|| {
        let ((secret, address), stop) = (listen(), Token::new());
        let (acceptor, config) = tls().unwrap();
        let server = task::spawn(serve(secret, Some(acceptor), stop.clone(), hello));
        let silent = TcpStream::connect(address).unwrap();
        let mut plain = TcpStream::connect(address).unwrap();
        plain.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        // An alert, or a reset.
        let _refused = plain.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP"));
        is_good(&ask(by_tls(config, address), &PATHS));
        stop.cancel();
        task::block_on(server).unwrap();
        drop(silent);
    });
}

/// The request that is under way is answered; the connection then ends, as does one that asks nothing, and nobody is
/// let in any more.
#[test]
fn the_end_waits_for_the_answer_that_is_under_way() {
    everywhere(|| {
        let ((listener, address), stop) = (listen(), Token::new());
        let (begins, begun) = channel::bounded(1);
        let (lets, go_on) = channel::bounded::<()>(1);
        let slow = move |_request| {
            let (begins, go_on) = (begins.clone(), go_on.clone());
            async move {
                begins.send(()).unwrap();
                task::spawn_blocking(move || go_on.recv().unwrap()).await.unwrap();
                Ok(Response::new(Full::new(Bytes::from_static(b"late"))))
            }
        };
        let server = task::spawn(serve(listener, None, stop.clone(), slow));
        let mut idle = TcpStream::connect(address).unwrap();
        let asks = csp::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        });
        begun.recv().unwrap();
        stop.cancel();
        // Its end is the server's doing, though an answer is under way elsewhere.
        assert_eq!(idle.read(&mut [0]).unwrap(), 0);
        assert!(!server.is_finished());
        lets.send(()).unwrap();
        assert!(asks.join().unwrap().ends_with("late"));
        task::block_on(server).unwrap();
        assert!(TcpStream::connect(address).is_err());
    });
}
