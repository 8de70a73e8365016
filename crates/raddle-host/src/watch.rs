//! Owns: what the watcher of a program is told, and reads: keys, the end.
//! May use: `world`.
//! Never: runs a process.
//!
//! Keys come through a channel of the standard library, from one OS thread that reads them.

use crate::world::World;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What the watcher is told.
#[derive(Debug)]
pub(crate) enum News {
    /// The program wants to read from the keyboard.
    WantsKey,
    /// What was typed; `None` if there is no more.
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
    news: Sender<News>,
}

impl Keys {
    pub(crate) fn new(world: Arc<dyn World>) -> (Keys, Receiver<News>) {
        let (news, receiver) = channel();
        (Keys { asks: None, world, news }, receiver)
    }

    /// Where to tell news.
    pub(crate) fn news(&self) -> Sender<News> {
        self.news.clone()
    }

    /// Asks for one key, which comes as news.
    pub(crate) fn ask(&mut self) {
        let asks = self.asks.get_or_insert_with(|| {
            self.world.opens_keyboard();
            let (asks, requests) = channel::<()>();
            let (world, news) = (self.world.clone(), self.news.clone());
            // If the system has no thread for it, the sender is dropped, and the keyboard is at its end.
            let reader = move || {
                for () in requests {
                    let key = world.key();
                    if news.send(News::Key(key)).is_err() || key.is_none() {
                        return;
                    }
                }
            };
            let _detached = thread::Builder::new().name("keyboard".into()).spawn(reader);
            asks
        });
        if asks.send(()).is_err() {
            // The reader has ended: the receiver is still there, since its owner asks.
            let _told = self.news.send(News::Key(None));
        }
    }
}
