//! Owns: what a rank says of others that are not as it is.
//! May use: the host's public face.
//! Never: MPI.

use crate::support::{CapturedOutput, single};
use raddle_bytecode::build::Code;
use raddle_bytecode::verify;
use raddle_host::{RankLink, RunOptions, run_on_ranks};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Rank 0 of two, to which the other one has said all that it says.
struct Told {
    frames: Mutex<VecDeque<Vec<u8>>>,
    /// What rank 0 has said.
    said: Mutex<Vec<Vec<u8>>>,
}

impl RankLink for Told {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        2
    }

    fn send(&self, rank: usize, message: Vec<u8>) -> Result<(), String> {
        assert_eq!(rank, 1, "there is no other");
        self.said.lock().unwrap().push(message);
        Ok(())
    }

    fn receive(&self, _: Duration) -> Result<Option<(usize, Vec<u8>)>, String> {
        self.look()
    }

    fn look(&self) -> Result<Option<(usize, Vec<u8>)>, String> {
        Ok(self.frames.lock().unwrap().pop_front().map(|frame| (1, frame)))
    }

    fn lull(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(30)
    }
}

/// What rank 0 tells when the other one has said that.
fn told_of(frame: &[u8]) -> String {
    let mut code = Code::default();
    code.ret();
    let program = verify(single(code, 6)).expect("it is valid");
    let frames = Mutex::new([frame.to_vec()].into());
    let link = Arc::new(Told { frames, said: Mutex::default() });
    let options = RunOptions { workers: 1, ..RunOptions::default() };
    let world = Arc::new(CapturedOutput::default());
    let (outcome, of_ranks) = run_on_ranks(program, options, world, link.clone()).expect("a runtime");
    assert!(outcome.result.is_err(), "it has not run");
    let said = link.said.lock().unwrap();
    assert!(said.iter().any(|frame| frame.first() == Some(&13)), "the other one hears that it ends");
    of_ranks.told.expect("why it has not run")
}

/// The number, and a program's fingerprint.
fn program(frames: u32) -> Vec<u8> {
    [&[0][..], &frames.to_le_bytes(), &[7; 8]].concat()
}

#[test]
fn a_rank_of_another_build_is_named() {
    let told = told_of(&program(77));
    assert!(
        told.starts_with("rank 1 is of another build of Raddle than rank 0: it speaks frames 77,"),
        "{told}"
    );
    // Of the same build.
    let told = told_of(&program(1));
    assert!(told.starts_with("rank 1 runs another program than rank 0"), "{told}");
    // Builds before there were numbers said only which program.
    let told = told_of(&[&[0][..], &[7; 8]].concat());
    assert_eq!(told, "rank 1 says what cannot be read: is it the same raddle?");
}
