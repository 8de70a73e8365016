//! Any descriptor: pipes, regular files.

use crate::{KINDS, everywhere, start};
use raddle::csp;
use raddle_net::io::Descriptor;
use std::io::{Read as _, Write as _};
use std::time::Instant;

#[test]
fn a_full_pipe_waits_for_its_reader() {
    const BYTES: usize = 300_000;
    everywhere(|| {
        for kind in KINDS {
            let (reader, writer) = std::io::pipe().unwrap();
            let (mut reader, mut writer) = (Descriptor::new(reader), Descriptor::new(writer));
            let writes = start(kind, move || writer.write_all(&vec![7; BYTES]).unwrap());
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            writes();
            assert_eq!(all, vec![7; BYTES]);
        }
    });
}

#[test]
fn a_nonblocking_pipe_waits_too() {
    everywhere(|| {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut reader = Descriptor::nonblocking(reader).unwrap();
        let mut writer = Descriptor::nonblocking(writer).unwrap();
        let reads = csp::spawn(move || {
            let mut byte = [0];
            reader.read_exact(&mut byte).unwrap();
            reader.wait_readable().unwrap();
            assert_eq!(reader.into_inner().read(&mut byte).unwrap(), 1);
            byte[0]
        });
        writer.write_all(b"a").unwrap();
        writer.wait_writable().unwrap();
        csp::yield_now();
        writer.write_all(b"b").unwrap();
        assert_eq!(reads.join().unwrap(), b'b');
    });
}

/// The kernel does not poll such: they are always ready.
#[test]
fn a_regular_file_is_always_ready() {
    everywhere(|| {
        for kind in KINDS {
            let ready = start(kind, || {
                let file = Descriptor::new(std::fs::File::open("Cargo.toml").unwrap());
                file.wait_readable().unwrap();
                file.wait_writable().unwrap();
                let mut text = String::new();
                (&file).read_to_string(&mut text).unwrap();
                text.contains("raddle-net")
            });
            assert!(ready());
        }
        let file = Descriptor::new(std::fs::File::open("Cargo.toml").unwrap());
        raddle::task::block_on(file.readable()).unwrap();
    });
}

#[test]
fn a_wait_with_a_deadline_says_that_nothing_came() {
    everywhere(|| {
        for kind in KINDS {
            let (reader, writer) = std::io::pipe().unwrap();
            let reader = Descriptor::new(reader);
            let waits = start(kind, move || {
                let now = Instant::now();
                let before = reader.wait_readable_until(now).unwrap();
                let until = now + std::time::Duration::from_millis(5);
                let late = reader.wait_readable_until(until).unwrap();
                assert!(Instant::now() >= until);
                (before, late)
            });
            assert_eq!(waits(), (false, false));
            drop(writer);
        }
    });
}

/// The kernel's poll takes a descriptor once: both are told all the same.
#[test]
fn two_wait_for_one_descriptor() {
    everywhere(|| {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (one, other) = (Descriptor::new(&reader), Descriptor::new(&reader));
        // The kernel is told of the first, which lasts as long as the second, and ends before a third.
        assert!(!one.wait_readable_until(Instant::now()).unwrap());
        csp::scope(|s| {
            s.spawn(|| one.wait_readable().unwrap());
            s.spawn(|| other.wait_readable().unwrap());
            csp::yield_now();
            writer.write_all(b"x").unwrap();
        });
        let mut byte = [0];
        (&other).read_exact(&mut byte).unwrap();
        drop(one);
        csp::scope(|s| {
            s.spawn(|| other.wait_readable().unwrap());
            csp::yield_now();
            writer.write_all(b"y").unwrap();
        });
        (&other).read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"y");
    });
}

#[test]
fn what_is_put_in_its_place_is_waited_for() {
    everywhere(|| {
        let (reader, _writer) = std::io::pipe().unwrap();
        let (other, mut writer) = std::io::pipe().unwrap();
        let mut descriptor = Descriptor::new(reader);
        let read = |descriptor: &Descriptor<std::io::PipeReader>| descriptor.wait_readable().unwrap();
        let late = raddle::cancel::within(std::time::Duration::from_millis(1), || read(&descriptor));
        assert!(late.is_err());
        *descriptor.get_mut() = other;
        csp::scope(|s| {
            s.spawn(|| read(&descriptor));
            csp::yield_now();
            writer.write_all(b"x").unwrap();
        });
    });
}

/// In `select!` a descriptor is a case as a channel is, and what it leaves ends with the selection.
#[test]
fn a_selection_takes_what_is_ready_first() {
    use raddle::channel::{bounded, select};
    everywhere(|| {
        for kind in KINDS {
            let (reader, mut writer) = std::io::pipe().unwrap();
            let ((say, said), (answer, answers)) = (bounded(0), bounded(1));
            let selects = start(kind, move || {
                let (reader, mut byte) = (Descriptor::new(reader), [0]);
                for _ in 0..20 {
                    let got = select! {
                        recv(reader.when_readable().unwrap()) -> _ => {
                            (&reader).read_exact(&mut byte).unwrap();
                            byte[0]
                        }
                        recv(said) -> n => n.unwrap(),
                    };
                    answer.send(got).unwrap();
                }
                // Nothing comes: the second case is left where the first was chosen, and here both are.
                select! {
                    recv(reader.when_readable().unwrap()) -> _ => false,
                    recv(said) -> _ => false,
                    default(std::time::Duration::from_millis(1)) => true,
                }
            });
            for n in 0..10 {
                writer.write_all(&[n]).unwrap();
                assert_eq!(answers.recv(), Ok(n));
                say.send(n + 100).unwrap();
                assert_eq!(answers.recv(), Ok(n + 100));
            }
            assert!(selects());
            drop(say);
        }
    });
}

/// The same in `alt!`, beside an end of `csp`; a wait for it is no deadlock, and cancelling it takes it back.
#[test]
fn an_alternation_takes_what_is_ready_first() {
    use raddle::channel::bounded;
    use raddle::csp;
    everywhere(|| {
        for kind in KINDS {
            let (reader, mut writer) = std::io::pipe().unwrap();
            let ((mut say, mut said), (answer, answers)) = (csp::channel(), bounded(1));
            let alternates = start(kind, move || {
                let (reader, mut byte) = (Descriptor::new(reader), [0]);
                for _ in 0..20 {
                    let got = csp::alt! {
                        recv(reader.when_readable().unwrap()) -> gone => {
                            gone.unwrap_err();
                            (&reader).read_exact(&mut byte).unwrap();
                            byte[0]
                        }
                        recv(said) -> n => n.unwrap(),
                    };
                    answer.send(got).unwrap();
                }
                // Nothing comes.
                csp::pri_alt! {
                    recv(reader.when_readable().unwrap()) -> _ => false,
                    recv(said) -> _ => false,
                    after(std::time::Duration::from_millis(1)) => true,
                }
            });
            for n in 0..10 {
                writer.write_all(&[n]).unwrap();
                assert_eq!(answers.recv(), Ok(n));
                say.send(n + 100).unwrap();
                assert_eq!(answers.recv(), Ok(n + 100));
            }
            assert!(alternates());
            drop(say);
        }
    });
}

/// By priority: the first that is ready, whatever came first; one that is closed never is.
#[test]
fn a_descriptor_has_its_place_in_a_prioritised_alternation() {
    use raddle::csp;
    everywhere(|| {
        for kind in KINDS {
            let ((reader, mut writer), (other, mut to_other)) =
                (std::io::pipe().unwrap(), std::io::pipe().unwrap());
            writer.write_all(b"a").unwrap();
            to_other.write_all(b"b").unwrap();
            let alternates = start(kind, move || {
                let (reader, other) = (Descriptor::new(reader), Descriptor::new(other));
                let mut chosen = String::new();
                for is_open in [true, false] {
                    chosen.push(csp::pri_alt! {
                        recv(reader.when_readable().unwrap()) -> _ if is_open => 'a',
                        recv(other.when_readable().unwrap()) -> _ => 'b',
                    });
                }
                chosen.push(csp::pri_alt! {
                    recv(other.when_readable().unwrap()) -> _ if false => 'b',
                    recv(reader.when_writable().unwrap()) -> _ if false => 'w',
                    skip => 's',
                });
                chosen
            });
            assert_eq!(alternates(), "abs");
        }
    });
}
