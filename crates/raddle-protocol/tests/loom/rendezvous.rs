//! The channel's word: two who meet, ends that go, and a loose waiter that goes and comes back.

use crate::parked::Parked;
use crate::{ALL, check, go};
use loom::cell::UnsafeCell;
use raddle_protocol::model::{Answer, Ended, Rendezvous, Seen};
use std::sync::Arc;

/// A waiter's frame.
#[repr(align(8))]
struct Frame {
    value: UnsafeCell<u32>,
    over: UnsafeCell<bool>,
    answer: Answer,
    parked: Parked,
}

impl Default for Frame {
    fn default() -> Self {
        let (value, over) = (UnsafeCell::new(0), UnsafeCell::new(false));
        Frame { value, over, answer: Answer::new(), parked: Parked::default() }
    }
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Frame {}
// SAFETY: as above.
unsafe impl Send for Frame {}

impl Frame {
    fn put(&self, value: u32) {
        // SAFETY: loom hands out the pointer after it has checked the access.
        self.value.with_mut(|p| unsafe { *p = value });
    }

    fn get(&self) -> u32 {
        // SAFETY: as above.
        self.value.with(|p| unsafe { *p })
    }

    fn is_over(&self) -> bool {
        // SAFETY: as above.
        self.over.with(|p| unsafe { *p })
    }

    fn as_waiter(&self) -> *mut Frame {
        std::ptr::from_ref(self).cast_mut()
    }
}

/// A channel, and whether its memory is free.
struct Channel {
    word: Rendezvous<Frame>,
    free: UnsafeCell<bool>,
}

// SAFETY: loom checks the accesses.
unsafe impl Sync for Channel {}
// SAFETY: as above.
unsafe impl Send for Channel {}

impl Channel {
    fn new() -> Arc<Channel> {
        Arc::new(Channel { word: Rendezvous::new(), free: UnsafeCell::new(false) })
    }

    fn word(&self) -> &Rendezvous<Frame> {
        // SAFETY: as above.
        assert!(!self.free.with(|p| unsafe { *p }), "used when it was free");
        &self.word
    }

    /// As `csp::meet::exchange`; `copy` gets the peer's frame. False if the channel is over.
    fn exchange(&self, own: &Frame, copy: impl Fn(&Frame)) -> bool {
        loop {
            match self.word().look() {
                Seen::Firm(peer) => {
                    // SAFETY: it waits, and the frames of a model live to its end.
                    let peer = unsafe { &*peer };
                    copy(peer);
                    self.word().clear();
                    peer.parked.wake();
                    return true;
                }
                Seen::Empty => {
                    if own.parked.wait(|| self.word().wait(own.as_waiter()).is_ok()) {
                        return !own.is_over();
                    }
                }
                Seen::Hot(peer) => {
                    if self.word().take_hot(peer) {
                        // SAFETY: taken, and the frames of a model live to its end.
                        let peer = unsafe { &*peer };
                        copy(peer);
                        peer.answer.give();
                        return true;
                    }
                }
                Seen::Loose(_) => unreachable!("nobody waits loosely in this model"),
                Seen::Over { .. } => return false,
            }
        }
    }

    /// As `csp::meet::exchange_hot`, if nobody is there: looks out for so many looks, then turns firm. `None` if
    /// somebody was there.
    fn wait_hot(&self, own: &Frame, looks: usize) -> Option<bool> {
        self.word().look_out(own.as_waiter()).ok()?;
        for _ in 0..looks {
            if own.answer.is_given() {
                return Some(!own.is_over());
            }
        }
        let waited = own.parked.wait(|| self.word().cool(own.as_waiter()));
        while !waited && !own.answer.is_given() {
            loom::thread::yield_now();
        }
        Some(!own.is_over())
    }

    fn send(&self, own: &Frame, value: u32) -> bool {
        own.put(value);
        self.exchange(own, |peer| peer.put(value))
    }

    fn receive(&self, own: &Frame) -> Option<u32> {
        self.exchange(own, |peer| own.put(peer.get())).then(|| own.get())
    }

    /// As the drop of an end. True if it freed the channel.
    fn close(&self) -> bool {
        match self.word().close() {
            Ended::First(seen) => {
                tell(seen);
                false
            }
            Ended::Second => {
                // SAFETY: as above.
                let before = self.free.with_mut(|p| unsafe { std::mem::replace(&mut *p, true) });
                assert!(!before, "freed twice");
                true
            }
        }
    }
}

fn tell(seen: Seen<Frame>) {
    if let Seen::Firm(peer) | Seen::Hot(peer) | Seen::Loose(peer) = seen {
        // SAFETY: it waits, and the frames of a model live to its end.
        let peer = unsafe { &*peer };
        // SAFETY: as above.
        peer.over.with_mut(|p| unsafe { *p = true });
        let _last = peer.get();
        match seen {
            Seen::Firm(_) => peer.parked.wake(),
            Seen::Hot(_) => peer.answer.give(),
            _ => {}
        }
    }
}

#[test]
fn two_meet_twice() {
    check(Some(3), || {
        let (channel, frames) = (Channel::new(), Arc::new([Frame::default(), Frame::default()]));
        let sender = {
            let (channel, frames) = (channel.clone(), frames.clone());
            go(move || assert!(channel.send(&frames[0], 1) && channel.send(&frames[0], 2)))
        };
        assert_eq!(channel.receive(&frames[1]), Some(1));
        assert_eq!(channel.receive(&frames[1]), Some(2));
        sender.join().unwrap();
    });
}

#[test]
fn an_end_goes_while_the_other_waits_or_comes() {
    check(ALL, || {
        let (channel, frames) = (Channel::new(), Arc::new([Frame::default(), Frame::default()]));
        let sender = {
            let (channel, frames) = (channel.clone(), frames.clone());
            go(move || {
                assert!(!channel.send(&frames[0], 1), "nobody receives");
                channel.close()
            })
        };
        let first = channel.close();
        assert!(sender.join().unwrap() != first, "one of them frees it");
    });
}

#[test]
fn both_ends_go_at_once() {
    check(ALL, || {
        let channel = Channel::new();
        let other = {
            let channel = channel.clone();
            go(move || channel.close())
        };
        let first = channel.close();
        assert!(other.join().unwrap() != first, "one of them frees it");
    });
}

#[test]
fn poison_meets_one_who_waits() {
    check(ALL, || {
        let (channel, frames) = (Channel::new(), Arc::new([Frame::default(), Frame::default()]));
        let sender = {
            let (channel, frames) = (channel.clone(), frames.clone());
            go(move || {
                assert!(!channel.send(&frames[0], 1), "it is poisoned");
                assert!(matches!(channel.word().look(), Seen::Over { poisoned: true }));
                channel.close()
            })
        };
        tell(channel.word().poison());
        let first = channel.close();
        assert!(sender.join().unwrap() != first, "one of them frees it");
    });
}

#[test]
fn a_peer_comes_to_one_that_looks_out_or_has_just_turned_firm() {
    check(ALL, || {
        let (channel, frames) = (Channel::new(), Arc::new([Frame::default(), Frame::default()]));
        let sender = {
            let (channel, frames) = (channel.clone(), frames.clone());
            go(move || assert!(channel.send(&frames[0], 7)))
        };
        let got = match channel.wait_hot(&frames[1], 1) {
            Some(met) => met.then(|| frames[1].get()),
            None => channel.receive(&frames[1]),
        };
        assert_eq!(got, Some(7));
        sender.join().unwrap();
    });
}

#[test]
fn an_end_goes_while_the_other_looks_out() {
    check(ALL, || {
        let (channel, frames) = (Channel::new(), Arc::new([Frame::default()]));
        let receiver = {
            let (channel, frames) = (channel.clone(), frames.clone());
            go(move || {
                assert!(channel.wait_hot(&frames[0], 1) != Some(true), "nobody sends");
                channel.close()
            })
        };
        let first = channel.close();
        assert!(receiver.join().unwrap() != first, "one of them frees it");
    });
}

/// Shows itself, goes, changes its frame, and comes back at the same address. True if it could not go at last.
fn comes_back(channel: &Channel, frame: &Frame) -> bool {
    for value in [1, 2] {
        frame.put(value);
        if channel.word().offer(frame.as_waiter()).is_err() {
            return false;
        }
        if !channel.word().withdraw(frame.as_waiter()) {
            return true;
        }
    }
    false
}

#[test]
fn a_loose_one_is_taken_as_it_is_now() {
    check(ALL, || {
        let (channel, frames) = (Channel::new(), Arc::new([Frame::default(), Frame::default()]));
        let loose = {
            let (channel, frames) = (channel.clone(), frames.clone());
            go(move || comes_back(&channel, &frames[0]))
        };
        let mut taken = false;
        if let Seen::Loose(peer) = channel.word().look()
            && channel.word().take(peer)
        {
            // SAFETY: taken, and the frames of a model live to its end.
            unsafe { &*peer }.put(7);
            taken = true;
        }
        assert_eq!(loose.join().unwrap(), taken);
    });
}

#[test]
fn an_end_goes_and_tells_a_loose_one_as_it_is_now() {
    check(ALL, || {
        let (channel, frames) = (Channel::new(), Arc::new([Frame::default(), Frame::default()]));
        let loose = {
            let (channel, frames) = (channel.clone(), frames.clone());
            go(move || comes_back(&channel, &frames[0]))
        };
        let told = match channel.word().close() {
            Ended::First(seen) => {
                let told = matches!(seen, Seen::Loose(_));
                tell(seen);
                told
            }
            Ended::Second => unreachable!("the other end has not gone"),
        };
        assert_eq!(loose.join().unwrap(), told);
    });
}
