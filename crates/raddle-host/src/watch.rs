//! Owns: the messages to the watcher of a program, and the thread that reads keys.
//! May use: `world`.
//! Never: runs a process.
//!
//! Keys come through a channel of the standard library, from one OS thread that reads them.
//!
//! It uses a channel of the standard library, one OS thread that reads keys.

use crate::world::World;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// A message to the watcher.
#[derive(Debug)]
pub(crate) enum WatchEvent {
    /// The program wants to read from the keyboard.
    WantsKey,
    /// A key; `None` at the end of the input.
    Key(Option<u8>),
    /// The program has taken the last key.
    KeyTaken,
    /// The program has come to its end, or failed.
    Over,
}

/// Reads keys when asked, on a thread of its own, which may hang in a read for ever.
pub(crate) struct Keys {
    asks: Option<Sender<()>>,
    world: Arc<dyn World>,
    events: Sender<WatchEvent>,
}

impl Keys {
    pub(crate) fn new(world: Arc<dyn World>) -> (Keys, Receiver<WatchEvent>) {
        let (events, receiver) = channel();
        (Keys { asks: None, world, events }, receiver)
    }

    /// The sender of messages to the watcher.
    pub(crate) fn events(&self) -> Sender<WatchEvent> {
        self.events.clone()
    }

    /// Requests one key, which comes as a message.
    pub(crate) fn ask(&mut self) {
        let asks = self.asks.get_or_insert_with(|| {
            self.world.opens_keyboard();
            let (asks, requests) = channel::<()>();
            let (world, events) = (self.world.clone(), self.events.clone());
            // If the system has no thread for it, the sender is dropped, and the keyboard is at its end.
            let reader = move || {
                for () in requests {
                    let key = world.key();
                    if events.send(WatchEvent::Key(key)).is_err() || key.is_none() {
                        return;
                    }
                }
            };
            let _detached = thread::Builder::new().name("keyboard".into()).spawn(reader);
            asks
        });
        if asks.send(()).is_err() {
            // The reader has ended: the receiver is still there, since its owner asks.
            let _told = self.events.send(WatchEvent::Key(None));
        }
    }
}
