//! An HTTP/1.1 server by hyper, whose connections are Raddle's tasks; TLS by rustls.
//!
//! Nothing here knows a runtime but the lines that spawn, accept and stop: hyper and rustls ask for `AsyncRead` and
//! `AsyncWrite`, which Raddle's streams have (feature `tokio` of `raddle-net`: its traits, none of its runtime).

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use raddle::cancel::Token;
use raddle::net::TcpListener;
use raddle::task;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

/// For so long the answers that are under way at the end are waited for.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// So many connections are counted anew at least.
const FEW: usize = 64;

/// What is answered.
pub type Answer = Result<Response<Full<Bytes>>, Infallible>;

/// The service of the example.
///
/// # Errors
/// None.
pub async fn hello(request: Request<Incoming>) -> Answer {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => (StatusCode::OK, "Hello, world!\n"),
        (&Method::GET, _) => (StatusCode::NOT_FOUND, "There is no such page.\n"),
        _ => (StatusCode::METHOD_NOT_ALLOWED, ""),
    };
    let mut answer = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *answer.status_mut() = status;
    Ok(answer)
}

/// Serves a connection until it ends; once `stop` is cancelled, to the end of the answer that is under way.
async fn serve_one<S, F, A>(stream: S, stop: Token, service: F)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    F: Fn(Request<Incoming>) -> A,
    A: Future<Output = Answer>,
{
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(service));
    let mut connection = pin!(connection);
    // What is dropped when the token is cancelled is the reference.
    if stop.future(connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        // Who does not take the answer meanwhile loses it; a peer that resets is an end.
        let _ended = task::timeout(PATIENCE, connection).await;
    }
}

/// Accepts until `stop` is cancelled; returns when all connections have ended.
pub async fn serve<F, A>(listener: TcpListener, tls: Option<TlsAcceptor>, stop: Token, service: F)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    let (mut connections, mut many) = (Vec::new(), FEW);
    while let Ok(accepted) = stop.future(poll_fn(|context| listener.poll_accept(context))).await {
        let Ok((stream, _)) = accepted else {
            // Too many descriptors: some end.
            task::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Refused only by a socket that has ended.
        let _refused = stream.set_nodelay(true);
        let (tls, stop, service) = (tls.clone(), stop.clone(), service.clone());
        connections.push(task::spawn(async move {
            match tls {
                None => serve_one(stream, stop, service).await,
                Some(tls) => {
                    // Who says nothing is not waited for at the end; who says nonsense is not served.
                    if let Ok(Ok(stream)) = stop.future(tls.accept(stream)).await {
                        serve_one(stream, stop, service).await;
                    }
                }
            }
        }));
        if connections.len() > many {
            connections.retain(|connection| !connection.is_finished());
            many = FEW.max(2 * connections.len());
        }
    }
    // Nobody else is let in.
    drop(listener);
    for connection in connections {
        // A panic of one has been printed.
        let _ended = connection.await;
    }
}

/// A certificate for `localhost` that only whoever has the second part believes.
///
/// # Errors
/// If one cannot be made.
pub fn tls() -> Result<(TlsAcceptor, Arc<ClientConfig>), Box<dyn Error + Send + Sync>> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(io::Error::other)?;
    let server =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate.clone()], key)?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok((TlsAcceptor::from(Arc::new(server)), Arc::new(client)))
}
