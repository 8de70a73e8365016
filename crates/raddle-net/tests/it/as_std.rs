//! The same program with the standard library's sockets and with ours, which say the same.

use crate::everywhere;

macro_rules! programs {
    ($module:ident, $net:path, $unix:path, $spawn:path) => {
        mod $module {
            use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read as _, Write as _};
            use std::net::Shutdown;
            use std::time::Duration;
            use $net as net;
            use $spawn as spawn;
            use $unix as unix;

            fn pair() -> (net::TcpStream, net::TcpStream) {
                let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                let accepts = spawn(move || listener.accept().unwrap());
                let one = net::TcpStream::connect(address).unwrap();
                let (other, from) = accepts.join().unwrap();
                assert_eq!(from, one.local_addr().unwrap());
                (one, other)
            }

            fn kind<T: std::fmt::Debug>(result: io::Result<T>) -> Result<String, ErrorKind> {
                result.map(|value| format!("{value:?}")).map_err(|error| error.kind())
            }

            fn half_close() -> String {
                let (mut one, mut other) = pair();
                let answers = spawn(move || {
                    let mut text = String::new();
                    other.read_to_string(&mut text).unwrap();
                    other.write_all(text.to_uppercase().as_bytes()).unwrap();
                    text
                });
                one.write_all(b"to the end").unwrap();
                one.shutdown(Shutdown::Write).unwrap();
                let mut answer = String::new();
                one.read_to_string(&mut answer).unwrap();
                let late = kind(one.write(b"more"));
                format!("{answer} {} {late:?}", answers.join().unwrap())
            }

            fn reset() -> String {
                let (mut one, mut other) = pair();
                one.write_all(b"nobody reads this").unwrap();
                let mut first = [0];
                other.read_exact(&mut first).unwrap();
                drop(other);
                let read = kind(one.read(&mut [0; 8]));
                let writes: Vec<_> = (0..2).map(|_| kind(one.write(b"x"))).collect();
                format!("{read:?} {writes:?}")
            }

            fn timeouts() -> String {
                let (mut one, _other) = pair();
                let none = one.read_timeout().unwrap();
                let zero = kind(one.set_read_timeout(Some(Duration::ZERO)));
                one.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
                let same = one.try_clone().unwrap().read_timeout().unwrap();
                let late = kind(one.read(&mut [0; 8]));
                one.set_nonblocking(true).unwrap();
                let now = kind(one.read(&mut [0; 8]));
                format!("{none:?} {zero:?} {same:?} {late:?} {now:?}")
            }

            fn refused() -> String {
                let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
                let address = listener.local_addr().unwrap();
                listener.set_nonblocking(true).unwrap();
                let nobody = kind(listener.accept().map(drop));
                drop(listener);
                let second = Duration::from_secs(600);
                let both = (
                    kind(net::TcpStream::connect(address).map(drop)),
                    kind(net::TcpStream::connect_timeout(&address, second).map(drop)),
                );
                let none: &[std::net::SocketAddr] = &[];
                let nowhere = kind(net::TcpStream::connect(none).map(drop));
                format!("{nobody:?} {both:?} {nowhere:?}")
            }

            fn peeks_and_parts() -> String {
                let (mut one, mut other) = pair();
                let writes = spawn(move || {
                    other.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"cdef")]).unwrap()
                });
                let (mut peeked, mut begin, mut rest) = ([0; 1], [0; 2], [0; 8]);
                one.peek(&mut peeked).unwrap();
                let n = writes.join().unwrap();
                let mut parts = [IoSliceMut::new(&mut begin), IoSliceMut::new(&mut rest)];
                let read = one.read_vectored(&mut parts).unwrap();
                let end = one.read(&mut [0; 4]).unwrap();
                format!("{peeked:?} {n} {read} {begin:?} {rest:?} {end}")
            }

            fn ends_by_a_clone() -> String {
                let (one, _other) = pair();
                let mut reads = one.try_clone().unwrap();
                let waits = spawn(move || kind(reads.read(&mut [0; 8])));
                one.shutdown(Shutdown::Both).unwrap();
                format!("{:?}", waits.join().unwrap())
            }

            fn datagrams() -> String {
                let one = net::UdpSocket::bind("127.0.0.1:0").unwrap();
                let other = net::UdpSocket::bind("127.0.0.1:0").unwrap();
                let to = one.local_addr().unwrap();
                let receives = spawn(move || {
                    let mut bytes = [0; 4];
                    let (peeked, _) = one.peek_from(&mut bytes).unwrap();
                    let (n, from) = one.recv_from(&mut bytes).unwrap();
                    one.connect(from).unwrap();
                    one.send(b"answer").unwrap();
                    (peeked, n, bytes)
                });
                other.send_to(b"longer", to).unwrap();
                let mut answer = [0; 8];
                let n = other.recv(&mut answer).unwrap();
                let nowhere = kind(other.send(b"to whom"));
                format!("{:?} {n} {answer:?} {nowhere:?}", receives.join().unwrap())
            }

            fn in_the_file_system() -> String {
                let name = format!("raddle-net-{}-{}", stringify!($module), std::process::id());
                let path = std::env::temp_dir().join(name);
                let _old = std::fs::remove_file(&path);
                let listener = unix::UnixListener::bind(&path).unwrap();
                let twice = kind(unix::UnixListener::bind(&path).map(drop));
                let serves = spawn(move || {
                    let (mut peer, _) = listener.accept().unwrap();
                    let mut text = String::new();
                    peer.read_to_string(&mut text).map(|_| text)
                });
                let mut client = unix::UnixStream::connect(&path).unwrap();
                client.write_all(b"by name").unwrap();
                drop(client);
                let text = serves.join().unwrap();
                std::fs::remove_file(&path).unwrap();
                let gone = kind(unix::UnixStream::connect(&path).map(drop));
                let (one, other) = unix::UnixDatagram::pair().unwrap();
                let receives = spawn(move || other.recv(&mut [0; 16]).unwrap());
                one.send(b"datagram").unwrap();
                format!("{twice:?} {text:?} {gone:?} {}", receives.join().unwrap())
            }

            pub(super) fn say() -> Vec<String> {
                let all = [
                    half_close,
                    reset,
                    timeouts,
                    refused,
                    peeks_and_parts,
                    ends_by_a_clone,
                    datagrams,
                    in_the_file_system,
                ];
                all.iter().map(|program| program()).collect()
            }
        }
    };
}

programs!(of_std, std::net, std::os::unix::net, std::thread::spawn);
programs!(of_processes, raddle_net::net, raddle_net::net::unix, raddle::csp::spawn);
programs!(of_threads, raddle_net::net, raddle_net::net::unix, raddle::thread::spawn);
programs!(of_os_threads, raddle_net::net, raddle_net::net::unix, std::thread::spawn);

#[test]
fn processes_and_threads_see_what_std_shows() {
    let expected = of_std::say();
    everywhere(|| {
        assert_eq!(of_processes::say(), expected);
        assert_eq!(of_threads::say(), expected);
    });
}

#[test]
fn os_threads_see_what_std_shows() {
    crate::watched();
    assert_eq!(of_os_threads::say(), of_std::say());
}
