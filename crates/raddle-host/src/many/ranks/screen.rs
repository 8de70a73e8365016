//! Owns: `FarScreen`: the world of a rank that is not the first.
//! May use: `world`, `raddle-vm`.
//! Never: a key.

use super::Keeper;
use super::frame::RankFrame;
use crate::world::World;
use raddle_vm::Port;
use std::sync::Arc;

/// The world of a rank that is not the first: its screen is rank 0's.
pub(crate) struct FarScreen {
    pub(crate) world: Arc<dyn World>,
    pub(crate) keeper: Arc<Keeper>,
}

impl World for FarScreen {
    fn output(&self, port: Port, bytes: &[u8]) {
        let frame = RankFrame::Output { port, bytes: bytes.to_vec() };
        let _gone = self.keeper.link.send(0, frame.write());
    }

    fn key(&self) -> Option<u8> {
        None
    }

    fn wants_end(&self) -> bool {
        self.world.wants_end()
    }

    fn holds_memory(&self) -> bool {
        self.world.holds_memory()
    }

    fn call(&self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        self.world.call(number, words)
    }
}
