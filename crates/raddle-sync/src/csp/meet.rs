//! Owns: how two ends meet in a channel's word: who copies, who waits, who is woken.
//! May use: `raddle-core`, `raddle-protocol`.
//! Never: the type of what is handed over; that is an address on either side and a function that copies.
//!
//! This is the raw layer under [`Sender`](super::Sender) and [`Receiver`](super::Receiver), and what an engine that
//! interprets processes calls: whoever waits is a header, be it a process, an OS thread or a task. An engine calls
//! [`try_meet`] and, if nobody is there, saves its task's state and then enters its [`ChanWaiter`] into the [`Word`];
//! from then on the task may run elsewhere.
//!
//! The second to arrive completes the communication and goes on; the first joins the batch of its waker. That is CCSP's
//! policy: it saves the switch there and back when the second has more to send.
//!
//! *Publish before switch.* A process enters the word before it leaves its stack, which is safe for the reason that
//! [`Here::leave_here`] gives, and saves a switch when the peer comes at that moment. A thread of C, whose control
//! words are to be switched, too, enters it only when its context is saved.
//!
//! *Looking out.* On a runtime whose workers spin (`spin`), who finds nobody at a channel, and nothing else to run
//! on its worker, looks for its peer for a moment before it leaves its stack. PERF: bench `pingpong`, two workers.

use super::alternate::{self, Guard, Ready};
use super::value::{Copy, Hot, Value};
use raddle_core::block::Block;
use raddle_core::region;
use raddle_core::wait::park;
use raddle_core::wait::{CallOn, MEETINGS, Meeting, Wait};
use raddle_core::worker::choice::{count, counted_point_at, point_at, settle_at};
use raddle_core::worker::{self, Here, RECORDED, SEEDED, SPINS, Worker};
use raddle_protocol::header::{FOREIGN, Header};
use raddle_protocol::prim;
use raddle_protocol::protocol::rendezvous::{Answer, Rendezvous, Seen};
use std::cell::Cell;
use std::panic::Location;
use std::time::Instant;

/// One who waits at a channel, in its frame.
#[derive(Debug)]
#[repr(C, align(8))]
pub(crate) struct ChanWaiter {
    /// Whom to wake. Of a loose waiter its alternation says that.
    pub(crate) header: Cell<*mut Header>,
    /// Where the value lies, or shall lie.
    pub(crate) data: Cell<*mut ()>,
    /// The channel has ended instead.
    pub(crate) over: Cell<bool>,
    /// Of a hot waiter: whoever took it out of the word is done.
    answer: Answer,
}

/// A channel's word.
pub(crate) type Word = Rendezvous<ChanWaiter>;

/// Why nothing was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The channel has ended: the other end is gone, or it was poisoned.
    Over,
    /// Nobody waits at the other end, or not by the deadline.
    Nobody,
}

impl ChanWaiter {
    #[inline(always)]
    pub(crate) fn new(data: *mut ()) -> ChanWaiter {
        let header = Cell::new(std::ptr::null_mut());
        ChanWaiter { header, data: Cell::new(data), over: Cell::new(false), answer: Answer::new() }
    }

    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut ChanWaiter {
        std::ptr::from_ref(self).cast_mut()
    }

    #[inline(always)]
    fn outcome(&self) -> Result<(), Refused> {
        if self.over.get() { Err(Refused::Over) } else { Ok(()) }
    }
}

/// Hands over, in the call of that number: copies between the value's place and the peer's. Waits for the peer if it is
/// not there.
///
/// PERF: what is compiled into the callers is the way of a process on a worker that nothing
/// [watches](Worker::watched), and that tests one byte for it: bench `pingpong`. All else is out of line.
///
/// # Safety
/// The caller has this end of the channel to itself, and the word lives as long as it has. The value is what the peer
/// expects.
#[inline(always)]
#[track_caller]
pub(crate) unsafe fn exchange<const CALL: u32>(word: &Word, value: Value) -> Result<(), Refused> {
    let (call, site) = (const { &MEETINGS[CALL as usize] }, Location::caller());
    let Some(block) = park::plain_caller() else {
        // SAFETY: passed on to the caller.
        return unsafe { exchange_otherwise(word, value.data, call, value.copy(), site) };
    };
    // SAFETY: `block` is what runs here: its runtime lives.
    let watched = unsafe { Worker::of(&block.header) }.watched();
    if watched != 0 {
        // SAFETY: passed on to the caller; `block` runs here and waits plainly.
        if let Some(done) = unsafe { exchange_watched(watched, block, word, value, call, site) } {
            return done;
        }
        if watched & RECORDED != 0 {
            // SAFETY: as above.
            return unsafe { exchange_recorded::<CALL>(block, word, value, site) };
        }
    }
    // SAFETY: as above.
    unsafe { exchange_plainly::<CALL, false>(block, word, value, site) }
}

/// As any other, and what comes next on this worker is recorded.
///
/// # Safety
/// As for [`exchange_plainly`].
#[cold]
#[inline(never)]
unsafe fn exchange_recorded<const CALL: u32>(
    block: &'static Block,
    word: &Word,
    value: Value,
    site: &'static Location<'static>,
) -> Result<(), Refused> {
    // SAFETY: passed on to the caller.
    unsafe { exchange_plainly::<CALL, true>(block, word, value, site) }
}

/// Meets the peer, or waits for it; whether that is recorded, has been looked at.
///
/// # Safety
/// As for [`exchange`]; `block` is what runs here, and waits plainly.
#[inline(always)]
unsafe fn exchange_plainly<const CALL: u32, const IS_RECORDED: bool>(
    block: &'static Block,
    word: &Word,
    value: Value,
    site: &'static Location<'static>,
) -> Result<(), Refused> {
    let call = const { &MEETINGS[CALL as usize] };
    let (data, copy) = (value.data, value.copy());
    match word.look_for_firm() {
        Ok(Some(peer)) => {
            // SAFETY: the word has just shown it.
            let header = unsafe { serve(word, peer, data, copy) };
            // SAFETY: `block` is what runs here, and leaves its stack by this only.
            let worker = unsafe { Here::of(&block.header) };
            // SAFETY: it waits, and whoever empties the word wakes it, once.
            unsafe { worker.wake(header) };
            // A peer on another worker may always be here first.
            count();
            return Ok(());
        }
        Ok(None) => {}
        // SAFETY: passed on to the caller.
        Err(_) => return unsafe { exchange_anywhere(word, data, call, copy, site) },
    }
    let waiter = ChanWaiter::new(data);
    waiter.header.set(block.as_header());
    if word.wait(waiter.as_ptr()).is_err() {
        // SAFETY: passed on to the caller.
        return unsafe { exchange_anywhere(word, data, call, copy, site) };
    }
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    // What is shown or noted is read when the process has left its stack, and not before it is queued or resumed.
    if IS_RECORDED {
        let wait = Wait::on(call, Meeting::at(word), site);
        let _shown = wait.show_alone(block);
        // SAFETY: it waits in the word, whose peer wakes it.
        unsafe { worker.leave_here(block) };
    } else {
        // SAFETY: as above; only `exchange` knows the number, and notes a word.
        unsafe { worker.leave_here_noting::<CALL, _>(block, call, Meeting::at(word), site) };
    }
    waiter.outcome()
}

/// What an exchange does first on a worker that something watches: another may be chosen to go on, the caller may look
/// out for its peer, what it is about to wait for is noted. `None` if it goes on as any other.
///
/// # Safety
/// As for [`exchange`]; `block` is what runs here, and waits plainly.
#[cold]
#[inline(never)]
unsafe fn exchange_watched(
    watched: u8,
    block: &'static Block,
    word: &Word,
    value: Value,
    call: &'static CallOn<Meeting>,
    site: &'static Location<'static>,
) -> Option<Result<(), Refused>> {
    let (data, copy) = (value.data, value.copy());
    count();
    if watched & (SEEDED | RECORDED) != 0 {
        point_at(call.name(), site);
    }
    if watched & SEEDED != 0 {
        // SAFETY: passed on to the caller.
        let done = unsafe { exchange_anywhere(word, data, call, copy, site) };
        settle_at(call.name(), site);
        return Some(done);
    }
    if watched & SPINS != 0 {
        // Whatever lies there, the caller changes it. PERF: bench `pingpong`, two workers.
        prim::will_write(word);
    }
    match word.look() {
        Seen::Empty => {}
        // SAFETY: passed on to the caller.
        Seen::Hot(peer) if unsafe { serve_hot(word, peer, data, copy) } => return Some(Ok(())),
        _ => return None,
    }
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    if watched & SPINS != 0 && worker.looks_out() {
        // SAFETY: passed on to the caller; `block` runs here and waits plainly.
        return Some(unsafe { exchange_hot(word, value, block, call, site) });
    }
    if watched & RECORDED != 0 {
        worker.note_stop_at(call.call(), std::ptr::from_ref(word).addr(), site);
    }
    None
}

/// As [`exchange`], when nothing else is to run here and the peer, which runs elsewhere, is about to come.
///
/// # Safety
/// As for [`exchange`]; `block` is what runs here, and waits plainly.
unsafe fn exchange_hot(
    word: &Word,
    value: Value,
    block: &'static Block,
    call: &'static CallOn<Meeting>,
    site: &'static Location<'static>,
) -> Result<(), Refused> {
    let hot = Hot::new(value);
    let (waiter, place) = (&hot.waiter, hot.lay_out(value));
    waiter.header.set(block.as_header());
    if word.look_out(place).is_err() {
        // SAFETY: passed on to the caller.
        return unsafe { exchange_anywhere(word, value.data, call, value.copy(), site) };
    }
    // SAFETY: `block` is what runs here, and leaves its stack by this only.
    let worker = unsafe { Here::of(&block.header) };
    if !worker.look_out(|| waiter.answer.is_given()) {
        if word.cool(place) {
            let wait = Wait::on(call, Meeting::at(word), site);
            let _shown = wait.show_at(block);
            worker.note_stop(call.call(), std::ptr::from_ref(word).addr());
            // SAFETY: it waits in the word, whose peer wakes it.
            unsafe { worker.leave_here(block) };
        } else {
            (0..).take_while(|_| !waiter.answer.is_given()).for_each(prim::give_way);
        }
    }
    waiter.outcome()?;
    hot.take_in(value);
    Ok(())
}

/// Serves a hot peer. False if it has turned firm.
///
/// # Safety
/// As for [`exchange`]; the word has shown it.
#[inline(never)]
unsafe fn serve_hot(word: &Word, peer: *mut ChanWaiter, data: *mut (), copy: Copy) -> bool {
    prim::will_write(peer);
    if !word.take_hot(peer) {
        return false;
    }
    // SAFETY: taken, so its frame stays until it is answered.
    let peer = unsafe { &*peer };
    // SAFETY: passed on to the caller.
    unsafe { copy(data, peer.data.get()) };
    peer.answer.give();
    true
}

/// Copies, and empties the word. Returns whom to wake.
///
/// # Safety
/// `peer` waits firmly in `word`, and the caller is its peer.
#[inline(always)]
unsafe fn serve(word: &Word, peer: *mut ChanWaiter, data: *mut (), copy: Copy) -> *mut Header {
    // SAFETY: it waits, so its frame stays until it is woken.
    let peer = unsafe { &*peer };
    // SAFETY: passed on to the caller.
    unsafe { copy(data, peer.data.get()) };
    word.clear();
    peer.header.get()
}

/// As [`exchange`], for a caller that is in a region, or is no process.
///
/// # Safety
/// As for [`exchange`].
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn exchange_otherwise(
    word: &Word,
    data: *mut (),
    call: &'static CallOn<Meeting>,
    copy: Copy,
    site: &'static Location<'static>,
) -> Result<(), Refused> {
    counted_point_at(call.name(), site);
    let _refuses_in_a_task = park::caller(call.name());
    // SAFETY: passed on to the caller.
    unsafe { exchange_anywhere(word, data, call, copy, site) }
}

/// As [`exchange`], in all other cases: an end, a loose peer, a caller in a region, or that is no process.
///
/// # Safety
/// As for [`exchange`].
#[cold]
#[inline(never)]
unsafe fn exchange_anywhere(
    word: &Word,
    data: *mut (),
    call: &'static CallOn<Meeting>,
    copy: Copy,
    site: &'static Location<'static>,
) -> Result<(), Refused> {
    let wait = Wait::on(call, Meeting::at(word), site);
    if region::is_in_one() {
        // SAFETY: passed on to the caller.
        return unsafe { exchange_in_region(word, data, copy, &wait) };
    }
    let _shown = wait.show();
    loop {
        // SAFETY: passed on to the caller.
        match unsafe { try_meet(word, data, copy) } {
            Err(Refused::Nobody) => {}
            done => {
                count();
                return done;
            }
        }
        let waiter = ChanWaiter::new(data);
        let mut waited = false;
        park::wait_registered(call.call(), |header| {
            waiter.header.set(header);
            // Once it is in the word the caller may run elsewhere: nothing of its frame is touched after that.
            let enters = &mut waited;
            *enters = true;
            let entered = word.wait(waiter.as_ptr()).is_ok();
            if !entered {
                *enters = false;
            }
            entered
        });
        if waited {
            return waiter.outcome();
        }
    }
}

/// As [`exchange`], for a caller that may be cancelled: it waits loosely, as in an alternation.
///
/// # Safety
/// As for [`exchange`].
unsafe fn exchange_in_region(word: &Word, data: *mut (), copy: Copy, wait: &Wait<'_>) -> Result<(), Refused> {
    let channel = Guard::channel(word, copy);
    channel.aim(data);
    // SAFETY: passed on to the caller.
    let Ready { over, .. } = unsafe { alternate::choose_now(&[&channel], 0, wait) };
    if over { Err(Refused::Over) } else { Ok(()) }
}

/// Hands over to, or takes from, whoever waits at the other end now.
///
/// # Errors
/// `Nobody` waits there, or the channel is over.
///
/// # Safety
/// As for [`exchange`].
pub(crate) unsafe fn try_meet(word: &Word, data: *mut (), copy: Copy) -> Result<(), Refused> {
    loop {
        match word.look() {
            Seen::Empty => return Err(Refused::Nobody),
            Seen::Over { .. } => return Err(Refused::Over),
            Seen::Firm(peer) => {
                // SAFETY: the word has just shown it.
                let header = unsafe { serve(word, peer, data, copy) };
                // SAFETY: it waits, and whoever empties the word wakes it, once.
                unsafe { worker::wake(header) };
                return Ok(());
            }
            Seen::Hot(peer) => {
                // SAFETY: passed on to the caller.
                if unsafe { serve_hot(word, peer, data, copy) } {
                    return Ok(());
                }
            }
            Seen::Loose(peer) => {
                if word.take(peer) {
                    // SAFETY: taken, so its frame stays until we let go of it.
                    let theirs = unsafe { &*peer }.data.get();
                    // SAFETY: passed on to the caller.
                    unsafe { copy(data, theirs) };
                    // SAFETY: taken, and let go of here.
                    if unsafe { alternate::let_go(peer) } {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// As [`exchange`], and gives up at `deadline`.
///
/// # Errors
/// `Nobody` came by then, or the channel is over.
///
/// # Safety
/// As for [`exchange`].
#[track_caller]
pub(crate) unsafe fn exchange_until(
    word: &Word,
    data: *mut (),
    deadline: Instant,
    call: &'static CallOn<Meeting>,
    copy: Copy,
) -> Result<(), Refused> {
    let wait = Wait::on(call, Meeting::at(word), Location::caller());
    let (channel, time) = (Guard::channel(word, copy), Guard::at(deadline));
    channel.aim(data);
    // SAFETY: passed on to the caller.
    match unsafe { alternate::choose(&[&channel, &time], 0, &wait) } {
        Ready { guard: 0, over: false } => Ok(()),
        Ready { over: true, .. } => Err(Refused::Over),
        _ => Err(Refused::Nobody),
    }
}

/// The caller's end goes, or is poisoned: tells whoever waited at the other.
pub(crate) fn tell_over(seen: Seen<ChanWaiter>) {
    match seen {
        Seen::Firm(peer) => {
            // SAFETY: it waits, so its frame stays until it is woken.
            let peer = unsafe { &*peer };
            peer.over.set(true);
            // SAFETY: it waits, and whoever takes it out of the word wakes it, once.
            unsafe { worker::wake(peer.header.get()) };
        }
        Seen::Hot(peer) => {
            // SAFETY: taken out of the word, so its frame stays until it is answered.
            let peer = unsafe { &*peer };
            peer.over.set(true);
            peer.answer.give();
        }
        Seen::Loose(peer) => {
            // SAFETY: taken out of the word, so its frame stays until we let go of it.
            unsafe { &*peer }.over.set(true);
            // SAFETY: as above, and let go of here. If another guard was chosen, nobody looks.
            unsafe { alternate::let_go(peer) };
        }
        Seen::Empty | Seen::Over { .. } => {}
    }
}

/// Whether the running `block` enters a word before it leaves its stack: all but a thread of C.
#[inline(always)]
pub(super) fn enters_first(block: &Block) -> bool {
    !block.header.is(FOREIGN)
}
