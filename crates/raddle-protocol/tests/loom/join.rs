//! The join word: an end against a joiner, a look, or a handle that goes.

use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use raddle_protocol::model::{Finished, JoinWord, Saved};
use std::sync::Arc;

/// A block with a result, and a name that its handle may read and whoever is second takes out.
#[derive(Default)]
struct Block {
    join: JoinWord,
    result: UnsafeCell<u32>,
    name: UnsafeCell<bool>,
    joiner: Saved,
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Block {}
// SAFETY: as above.
unsafe impl Send for Block {}

impl Block {
    fn put_result(&self) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.result.with_mut(|p| unsafe { *p = 7 });
    }

    fn take_result(&self) {
        // SAFETY: as above.
        let taken = self.result.with_mut(|p| unsafe { std::mem::take(&mut *p) });
        assert_eq!(taken, 7, "the result was not there, or was taken twice");
    }

    fn read_name(&self) {
        // SAFETY: as above.
        assert!(!self.name.with(|p| unsafe { *p }), "the name has been taken out");
    }

    /// Only whoever comes second does it: the end of the block's life.
    fn free(&self) {
        // SAFETY: as above.
        let before = self.name.with_mut(|p| unsafe { std::mem::replace(&mut *p, true) });
        assert!(!before, "freed twice");
    }

    /// What a process does last.
    fn end(&self) -> Finished {
        self.read_name();
        self.put_result();
        let finished = self.join.finish();
        if finished == Finished::Free {
            self.take_result();
            self.free();
        }
        finished
    }

    fn is_freed(&self) -> bool {
        // SAFETY: as above.
        self.name.with(|p| unsafe { *p })
    }
}

fn against_an_end(handle: impl Fn(&Block, Box<dyn FnOnce() -> Finished>) + Send + Sync + 'static) {
    check(ALL, move || {
        let block = Arc::new(Block::default());
        let process = {
            let block = block.clone();
            go(move || block.end())
        };
        handle(&block, Box::new(move || process.join().unwrap()));
        assert!(block.is_freed(), "nobody was second");
    });
}

#[test]
fn a_joiner_registers_or_comes_too_late() {
    against_an_end(|block, ended| {
        block.read_name();
        block.joiner.save();
        if block.join.register(&block.joiner) {
            assert_eq!(ended(), Finished::Woke);
            block.take_result();
        } else {
            block.take_result();
            block.free();
            assert_eq!(ended(), Finished::HandleHasIt);
            return;
        }
        block.free();
    });
}

#[test]
fn a_handle_looks_until_the_end_has_come() {
    against_an_end(|block, ended| {
        while !block.join.is_done() {
            loom::thread::yield_now();
        }
        block.take_result();
        block.free();
        assert_eq!(ended(), Finished::HandleHasIt);
    });
}

#[test]
fn a_handle_goes_without_waiting() {
    against_an_end(|block, ended| {
        block.read_name();
        if block.join.detach() {
            block.take_result();
            block.free();
            assert_eq!(ended(), Finished::HandleHasIt);
        } else {
            assert_eq!(ended(), Finished::Free);
        }
    });
}

/// A joiner with a deadline: whoever ends has taken it out, and wakes it, or never looks at it.
#[test]
fn a_loose_joiner_is_woken_or_gives_up() {
    against_an_end(|block, ended| {
        block.joiner.save();
        if !block.join.register_loosely(&block.joiner) {
            block.take_result();
            block.free();
            assert_eq!(ended(), Finished::HandleHasIt);
        } else if block.join.withdraw(&block.joiner) {
            block.joiner.resume();
            if block.join.detach() {
                block.take_result();
                block.free();
                assert_eq!(ended(), Finished::HandleHasIt);
            } else {
                assert_eq!(ended(), Finished::Free);
            }
        } else {
            assert_eq!(ended(), Finished::Woke);
            block.take_result();
            block.free();
        }
    });
}
