//! What a dump says of those who wait for a descriptor.

use crate::watched;
use raddle::{Runtime, csp};
use raddle_net::net::{TcpListener, TcpStream};
use std::io::{Read as _, Write as _};

#[test]
fn a_dump_says_from_whom_one_waits_to_read() {
    watched();
    let runtime = Runtime::builder().workers(2).build().unwrap();
    runtime.run(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (mut peer, from) = listener.accept().unwrap();
        let reads = csp::spawn(move || peer.read(&mut [0; 8]).unwrap());
        let accepts = csp::spawn(move || listener.accept().unwrap().1);
        let told = loop {
            let told = raddle::dump().to_string();
            // The word of a wait is set before its poller counts it.
            let wanted =
                ["TcpStream::read", "TcpListener::accept", "outstanding at the poller 'descriptors': "];
            if wanted.iter().all(|word| told.contains(word)) {
                break told;
            }
            csp::yield_now();
        };
        assert!(told.contains(&format!("from {from}, descriptor")), "{told}");
        assert!(told.contains(&format!("at {address}, descriptor")), "{told}");
        assert!(told.contains("tests/it/dumps.rs:"), "{told}");
        client.write_all(b"x").unwrap();
        assert_eq!(reads.join().unwrap(), 1);
        let other = TcpStream::connect(address).unwrap();
        assert_eq!(accepts.join().unwrap(), other.local_addr().unwrap());
    });
}
