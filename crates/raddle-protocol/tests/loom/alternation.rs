//! The alternation's word: peers that choose at once, one who chooses for itself, and a guard in a channel's word.

use crate::parked::Parked;
use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use raddle_protocol::model::{Alternation, Rendezvous, Seen};
use std::sync::Arc;

/// The frame of one who alternates: a place for each guard's value.
#[repr(align(8))]
struct Frame {
    word: Alternation,
    parked: Parked,
    places: [UnsafeCell<u32>; 2],
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Frame {}
// SAFETY: as above.
unsafe impl Send for Frame {}

impl Frame {
    fn new(guards: u32) -> Arc<Frame> {
        let frame = Frame {
            word: Alternation::new(),
            parked: Parked::default(),
            places: [UnsafeCell::new(0), UnsafeCell::new(0)],
        };
        frame.word.open(guards);
        Arc::new(frame)
    }

    /// A peer that holds `guard`: copies, chooses. True if it was chosen.
    fn choose(&self, guard: u32) -> bool {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.places[guard as usize].with_mut(|p| unsafe { *p = 10 + guard });
        let choice = self.word.choose(guard);
        if choice.wake {
            self.parked.wake();
        }
        choice.won
    }

    /// As `Chooser::leave`; then the frame is used for something else. The guard that was chosen, and what came.
    fn leave(&self, withdrawn: u32) -> (u32, u32) {
        let chosen = self.word.left(withdrawn).unwrap_or_else(|| {
            self.parked.wait(|| self.word.leave(withdrawn));
            self.word.result()
        });
        // SAFETY: as above.
        let take = |place: &UnsafeCell<u32>| place.with_mut(|p| unsafe { std::mem::replace(&mut *p, 99) });
        let values = [take(&self.places[0]), take(&self.places[1])];
        (chosen, values[chosen as usize])
    }
}

fn peer(frame: &Arc<Frame>, guard: u32) -> loom::thread::JoinHandle<bool> {
    let frame = frame.clone();
    go(move || frame.choose(guard))
}

#[test]
fn one_of_two_is_chosen() {
    check(Some(3), || {
        let frame = Frame::new(2);
        let peers = [peer(&frame, 0), peer(&frame, 1)];
        frame.parked.wait(|| frame.word.wait());
        let (chosen, value) = frame.leave(0);
        assert_eq!(value, 10 + chosen);
        let won = peers.map(|peer| peer.join().unwrap());
        assert_eq!(won, [chosen == 0, chosen == 1]);
    });
}

#[test]
fn the_owner_chooses_while_a_peer_does() {
    check(ALL, || {
        let frame = Frame::new(1);
        let other = peer(&frame, 0);
        let own = frame.word.choose_own(1);
        let (chosen, value) = frame.leave(0);
        assert_eq!(chosen, u32::from(own));
        assert!(own || value == 10);
        assert_eq!(other.join().unwrap(), !own);
    });
}

/// As `choose` with a channel and a deadline: the sender tries once; the alarm, which rings, is guard 1.
#[test]
fn a_channel_against_an_alarm() {
    check(Some(3), || {
        let frame = Frame::new(2);
        let word = Arc::new(Rendezvous::<Frame>::new());
        let waiter = Arc::as_ptr(&frame).cast_mut();
        assert!(word.offer(waiter).is_ok());
        let alarm = peer(&frame, 1);
        let sender = {
            let word = word.clone();
            go(move || match word.look() {
                // SAFETY: taken, so the frame stays.
                Seen::Loose(waiter) if word.take(waiter) => unsafe { &*waiter }.choose(0),
                _ => false,
            })
        };
        frame.parked.wait(|| frame.word.wait());
        let withdrawn = u32::from(word.withdraw(waiter));
        let (chosen, value) = frame.leave(withdrawn);
        assert_eq!(value, 10 + chosen);
        assert_eq!(sender.join().unwrap(), chosen == 0);
        assert_eq!(alarm.join().unwrap(), chosen == 1);
    });
}
