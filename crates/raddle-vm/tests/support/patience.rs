//! A world that ends the program after some looks around, so that damaged programs come to an end.

use raddle_vm::Port;
use raddle_vm::solo::{Event, Until, World};

/// How often it has been looked around, and how often at most.
pub(crate) struct Patience {
    looks: u32,
    most: u32,
}

impl Patience {
    /// Ends the program after so many looks around.
    pub(crate) fn of(most: u32) -> Patience {
        Patience { looks: 0, most }
    }
}

impl World for Patience {
    fn now(&mut self) -> u64 {
        u64::from(self.looks)
    }

    fn wait(&mut self, until: Until, keys: bool) -> Event {
        self.looks += if let Until::At(_) = until { 1000 } else { 1 };
        match self.looks {
            looks if looks >= self.most => Event::Quit,
            looks if keys && looks.is_multiple_of(3) => Event::Key(looks as u8),
            _ => Event::Nothing,
        }
    }

    fn output(&mut self, _: Port, _: &[u8]) {}

    fn call(&mut self, number: i32, words: [u32; 4]) -> Option<[u32; 4]> {
        (number < 4).then_some(words)
    }
}
