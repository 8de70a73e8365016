//! Owns: the calls whose waits are noted in the switch itself, and their subject: a channel, by its address alone.
//! May use: `raddle-protocol`.
//! Never: following that address.
//!
//! A light process that waits at a one-to-one channel leaves three words and the number of its call in the switch
//! (`raddle_context::note`), instead of showing a [`Wait`](super::Wait). So a report must know the calls by number,
//! and what there is to say of a channel without knowing its type.

use crate::describe::thing::Thing;
use crate::describe::wait::{CallOn, Subject};
use raddle_protocol::call::WaitReason;

/// A channel of which only the address is known.
pub struct Meeting(());

impl Meeting {
    /// The channel whose word is `word`.
    #[inline(always)]
    pub fn at<T>(word: &T) -> &Meeting {
        const { assert!(size_of::<Meeting>() == 0 && align_of::<Meeting>() == 1) };
        // SAFETY: a reference to nothing: every address that is not null will do.
        unsafe { &*std::ptr::from_ref(word).cast() }
    }
}

impl Subject for Meeting {
    const KIND: &'static str = "channel";

    fn things(&self, each: &mut dyn FnMut(Thing)) {
        each(Thing::at(Meeting::KIND, self).between_two(true));
    }
}

/// The number of a call that sends.
pub const SEND: u32 = 0;
/// The number of a call that receives.
pub const RECV: u32 = 1;

/// The calls by their numbers.
pub static MEETINGS: [CallOn<Meeting>; 2] = [
    CallOn::new("csp::Sender::send", WaitReason::MeetToSend),
    CallOn::new("csp::Receiver::recv", WaitReason::MeetToReceive),
];
