//! Owns: `WaitCall`, a call in which somebody may wait, and why one waits there.
//! May use: nothing.
//! Never: a reason that is looked for in a name.
//!
//! A program's message has the name; a trace has the reason. Each call says both where it is defined, so that neither
//! depends on how the other is written.

/// Why somebody waits: the trace format's reasons to stop, as far as they are waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitReason {
    /// It has parked.
    Park,
    /// It sleeps.
    Sleep,
    /// It joins something.
    Join,
    /// It wants the result of a fork.
    Fork,
    /// It is in a blocking call.
    Blocking,
    /// It sends to a channel that has no place.
    Send,
    /// It receives from a channel that is empty.
    Receive,
    /// It waits for one of several channels.
    Select,
    /// It sends to a rendezvous channel: whoever comes first waits for the other.
    MeetToSend,
    /// It receives from a rendezvous channel.
    MeetToReceive,
    /// It waits for one of several rendezvous channels.
    MeetOne,
    /// It waits at a barrier.
    Barrier,
    /// It waits for a lock, or for what is counted by a semaphore.
    Lock,
    /// It waits for a descriptor: for what its peer does.
    Descriptor,
    /// It waits for something else: a condition, a word, the end of an initialisation.
    Wait,
}

/// A call in which somebody may wait.
#[derive(Debug)]
pub struct WaitCall {
    name: &'static str,
    reason: WaitReason,
    has_deadline: bool,
}

impl WaitCall {
    /// The call of this name, `Mutex::lock`, in which one waits for that reason.
    pub const fn new(name: &'static str, reason: WaitReason) -> WaitCall {
        WaitCall { name, reason, has_deadline: false }
    }

    /// The same call, of which it is known that time ends each wait in it.
    pub const fn with_deadline(self) -> WaitCall {
        WaitCall { has_deadline: true, ..self }
    }

    /// Its name.
    #[inline(always)]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Why one waits in it.
    #[inline(always)]
    pub const fn reason(&self) -> WaitReason {
        self.reason
    }

    /// Whether time ends each wait in it. Of a call that may have a deadline or not, it is not known.
    #[inline(always)]
    pub const fn has_deadline(&self) -> bool {
        self.has_deadline
    }
}
