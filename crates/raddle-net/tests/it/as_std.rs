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

            /// What the program has set stays, there and back.
            fn by_address() -> String {
                use std::os::linux::net::SocketAddrExt as _;
                let name = format!("raddle-{}-{}", std::process::id(), stringify!($module));
                let address = unix::SocketAddr::from_abstract_name(&name).unwrap();
                let listener = unix::UnixListener::bind_addr(&address).unwrap();
                let twice = kind(unix::UnixListener::bind_addr(&address).map(drop));
                let connects = spawn(move || {
                    let mut one = unix::UnixStream::connect_addr(&address).unwrap();
                    one.write_all(b"by its address").unwrap();
                });
                let mut text = String::new();
                (&listener).into_iter().next().unwrap().unwrap().read_to_string(&mut text).unwrap();
                connects.join().unwrap();
                let nameless = unix::UnixDatagram::unbound().unwrap().local_addr().unwrap();
                let odd = kind(unix::UnixStream::connect_addr(&nameless).map(drop));
                let at = unix::SocketAddr::from_abstract_name(format!("{name}-d")).unwrap();
                let (to, from) =
                    (unix::UnixDatagram::bind_addr(&at).unwrap(), unix::UnixDatagram::unbound().unwrap());
                from.send_to_addr(b"first", &at).unwrap();
                from.connect_addr(&at).unwrap();
                from.send(b"next").unwrap();
                let mut bytes = [0; 8];
                let received = [to.recv(&mut bytes).unwrap(), to.recv(&mut bytes).unwrap()];
                format!("{twice:?} {text} {odd:?} {received:?}")
            }

            fn conversions() -> String {
                let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
                let second = Some(Duration::from_secs(1));
                one.set_read_timeout(second).unwrap();
                one.set_nonblocking(true).unwrap();
                let mut one = unix::UnixStream::from(one);
                let (kept, now) = (one.read_timeout().unwrap(), kind(one.read(&mut [0; 8])));
                one.set_write_timeout(second).unwrap();
                one.set_read_timeout(None).unwrap();
                let mut one = std::os::unix::net::UnixStream::from(one);
                let timeouts = (one.read_timeout().unwrap(), one.write_timeout().unwrap());
                let still = kind(one.read(&mut [0; 8]));
                one.set_nonblocking(false).unwrap();
                one.set_write_timeout(None).unwrap();
                let one = std::os::unix::net::UnixStream::from(unix::UnixStream::from(one));
                let none = (one.read_timeout().unwrap(), one.write_timeout().unwrap());
                let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
                listener.set_nonblocking(true).unwrap();
                let listener = net::TcpListener::from(listener);
                let nobody = kind(listener.accept().map(drop));
                let nobody_there = kind(std::net::TcpListener::from(listener).accept().map(drop));
                format!("{kept:?} {now:?} {timeouts:?} {still:?} {none:?} {nobody:?} {nobody_there:?}")
            }

            fn odd_times() -> String {
                let (one, _other) = pair();
                let mut all = Vec::new();
                for timeout in [Duration::from_nanos(1), Duration::from_secs(1 << 40), Duration::MAX] {
                    all.push(kind(one.set_write_timeout(Some(timeout))));
                }
                one.set_read_timeout(Some(Duration::from_nanos(1))).unwrap();
                let late = kind((&one).read(&mut [0; 8]));
                let zero = kind(
                    net::TcpStream::connect_timeout(&one.peer_addr().unwrap(), Duration::ZERO).map(drop),
                );
                let socket = net::UdpSocket::bind("127.0.0.1:0").unwrap();
                socket.set_read_timeout(Some(Duration::from_millis(3))).unwrap();
                format!("{all:?} {late:?} {zero:?} {:?}", kind(socket.recv(&mut [0; 4])))
            }

            /// A peer that does not read: so much is written, and no more in time.
            fn a_write_in_time() -> bool {
                let (one, _other) = unix::UnixStream::pair().unwrap();
                one.set_write_timeout(Some(Duration::from_millis(5))).unwrap();
                let mut all = 0;
                loop {
                    match (&one).write(&[1; 10_000]) {
                        Ok(n) => all += n,
                        Err(error) => break all > 0 && error.kind() == ErrorKind::WouldBlock,
                    }
                }
            }

            fn ends_twice() -> String {
                let (one, other) = pair();
                let first = kind(one.shutdown(Shutdown::Write));
                let second = kind(one.shutdown(Shutdown::Write));
                let same = other.try_clone().unwrap();
                drop(other);
                let nothing = kind((&same).read(&mut []));
                let end = (
                    kind((&same).read(&mut [0; 1])),
                    kind((&same).read(&mut [0; 1])),
                    kind(same.peek(&mut [0; 1])),
                );
                drop(same);
                let gone = (
                    kind((&one).read(&mut [0; 1])),
                    kind(one.shutdown(Shutdown::Both)),
                    kind(one.take_error()),
                );
                let settings =
                    (kind(one.nodelay()), kind(one.set_nodelay(true)), kind(one.nodelay()), kind(one.ttl()));
                format!("{first:?} {second:?} {nothing:?} {end:?} {gone:?} {settings:?}")
            }

            fn odd_datagrams() -> String {
                let one = net::UdpSocket::bind("127.0.0.1:0").unwrap();
                let other = net::UdpSocket::bind("127.0.0.1:0").unwrap();
                let to = one.local_addr().unwrap();
                let sent = [&b""[..], b"12345", b"x"].map(|bytes| kind(other.send_to(bytes, to)));
                let large = kind(other.send_to(&[0; 70_000], to));
                let none: &[std::net::SocketAddr] = &[];
                let nowhere =
                    (kind(other.send_to(b"x", none)), kind(other.connect(none)), kind(other.peer_addr()));
                let mut bytes = [0; 3];
                let empty = kind(one.recv(&mut bytes));
                let cut = (kind(one.peek(&mut bytes)), kind(one.recv(&mut bytes)));
                let into_nothing = kind(one.recv(&mut []));
                one.set_nonblocking(true).unwrap();
                let lost = kind(one.recv(&mut bytes));
                drop(one);
                other.connect(to).unwrap();
                let refused =
                    (kind(other.send(b"x")), kind(other.recv(&mut bytes)), kind(other.take_error()));
                format!(
                    "{sent:?} {large:?} {nowhere:?} {empty:?} {cut:?} {into_nothing:?} {lost:?} {refused:?}"
                )
            }

            fn where_nobody_can_listen() -> String {
                let one = net::TcpListener::bind("127.0.0.1:0").unwrap();
                let none: &[std::net::SocketAddr] = &[];
                let taken = kind(net::TcpListener::bind(one.local_addr().unwrap()).map(drop));
                let (nowhere, far) = (
                    kind(net::TcpListener::bind(none).map(drop)),
                    kind(net::TcpListener::bind("192.0.2.1:1").map(drop)),
                );
                let second = one.try_clone().unwrap();
                let address = one.local_addr().unwrap();
                drop(one);
                let comes = spawn(move || kind(net::TcpStream::connect(address).map(drop)));
                let came = kind(second.incoming().next().unwrap().map(drop));
                format!("{taken:?} {nowhere:?} {far:?} {came:?} {:?}", comes.join().unwrap())
            }

            pub(super) fn say() -> Vec<String> {
                let all: &[fn() -> String] = &[
                    half_close,
                    reset,
                    timeouts,
                    refused,
                    peeks_and_parts,
                    ends_by_a_clone,
                    datagrams,
                    in_the_file_system,
                    conversions,
                    by_address,
                    odd_times,
                    || format!("{}", a_write_in_time()),
                    ends_twice,
                    odd_datagrams,
                    where_nobody_can_listen,
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
