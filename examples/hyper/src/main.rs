//! The server of [`raddle_hyper_example`].
//!
//!     cargo run --release --manifest-path examples/hyper/Cargo.toml --bin hello 127.0.0.1:8080
//!
//! Behind the address, `tls` has it speak TLS, with a certificate of its own. It serves until a line, or the end, comes
//! on standard input; then it ends in order.

use raddle::cancel::Token;
use raddle::net::TcpListener;
use raddle::task;
use raddle_hyper_example::{hello, serve, tls};
use std::error::Error;

#[raddle::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let address = words.first().map_or("127.0.0.1:8080", String::as_str);
    let acceptor = if words.get(1).is_some_and(|word| word == "tls") { Some(tls()?.0) } else { None };
    let (listener, stop) = (TcpListener::bind(address)?, Token::new());
    let scheme = if acceptor.is_some() { "https" } else { "http" };
    println!("serves {scheme}://{}/ until a line comes", listener.local_addr()?);
    let server = task::spawn(serve(listener, acceptor, stop.clone(), hello));
    raddle::io::stdin().get_ref().readable().await?;
    stop.cancel();
    server.await.map_err(|error| error.to_string())?;
    println!("all connections have ended");
    Ok(())
}
