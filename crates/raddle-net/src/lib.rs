// Owns: the list of what this crate has.
// May use: nothing.
// Never: an OS thread of its own.

//! Sockets, pipes and other descriptors, files and child processes, with the names of the standard library.
//!
//! [`net`] is `std::net` and `std::os::unix::net`, [`io`] any descriptor, [`fs`] and [`process`] what `std` has under
//! these names. Whoever waits leaves its worker to others:
//!
//! | caller | how it waits for a descriptor |
//! |---|---|
//! | a process, a thread of Raddle, a light process | parked; its worker goes on, and is told by the kernel |
//! | a task | by the futures and `poll_` methods; the calls that wait panic there |
//! | an OS thread of the program, or who is inside of `blocking` | in `poll(2)` |
//!
//! The kernel is asked by the workers themselves: one that has nothing to run sleeps in `epoll_wait` instead of at its
//! futex, busy ones look between two slices. Nothing costs while nobody waits for a descriptor. A wait can be
//! [cancelled](raddle_core::cancel) and has a deadline by `cancel::within`; dumps and reports of hangs say which
//! socket somebody waits for; a program that waits for a peer is no deadlock.
//!
//! ```
//! use raddle_net::net::{TcpListener, TcpStream};
//! use std::io::{Read as _, Write as _};
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! let server = raddle::csp::spawn(move || {
//!     let (mut peer, _) = listener.accept()?;
//!     let mut bytes = [0; 5];
//!     peer.read_exact(&mut bytes)?;
//!     peer.write_all(&bytes)
//! });
//! let mut client = TcpStream::connect(address)?;
//! client.write_all(b"hello")?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert_eq!(answer, "hello");
//! server.join().unwrap()?;
//! # Ok::<(), std::io::Error>(())
//! ```

#![warn(clippy::disallowed_methods)]

pub mod fs;
pub mod io;
pub mod net;
pub mod process;

mod den;
mod descriptor;
mod guard;
mod source;
mod waits;
