//! Owns: the table of events, the record that holds one, and the levels.
//! May use: nothing.
//! Never: a meaning of a number that the table does not give.
//!
//! The table is written into every file, so that an older tool can skip what it does not know and show it by name.
//! A number never gets a second meaning: an event that changes gets a new number (21 was a promotion that named no
//! job). Bits that the table does not define are written as 0. A later version may define them, if 0 keeps its meaning.

/// How much is recorded. Each level holds those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Level {
    /// Nothing; the workers' counters are kept all the same.
    #[default]
    Off = 0,
    /// What the scheduler does: switches, spawns, wakes, steals, idleness.
    Sched = 1,
    /// Also operations on channels, locks and barriers that do not wait, and forks that become jobs.
    Sync = 2,
    /// Also the program's own spans, marks and counters.
    User = 3,
}

impl Level {
    /// The names of the levels, for options and messages.
    pub const NAMES: [(&'static str, Level); 4] =
        [("off", Level::Off), ("sched", Level::Sched), ("sync", Level::Sync), ("user", Level::User)];

    /// The level's name.
    pub fn name(self) -> &'static str {
        Level::NAMES[self as usize].0
    }
}

impl std::str::FromStr for Level {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Level::NAMES.iter().find(|(name, _)| *name == word);
        found.map(|(_, level)| *level).ok_or_else(|| {
            let names: Vec<_> = Level::NAMES.iter().map(|(name, _)| *name).collect();
            format!("`{word}` is not a level; the levels are {}", names.join(", "))
        })
    }
}

/// A row of the table of events, as it is written into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// The number in a record.
    pub number: u8,
    /// The name.
    pub name: &'static str,
    /// The lowest level at which it is recorded.
    pub level: Level,
    /// The meaning of the record's first word.
    pub a: &'static str,
    /// The meaning of its second word.
    pub b: &'static str,
}

macro_rules! events {
    ($($number:literal $name:ident $level:ident, $a:literal, $b:literal, $doc:literal;)*) => {
        /// What happened.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Event { $(#[doc = $doc] $name = $number),* }

        impl Event {
            /// The whole table, by number.
            pub const TABLE: &'static [Schema] = &[
                $(Schema { number: $number, name: stringify!($name), level: Level::$level, a: $a, b: $b }),*
            ];

            /// The event with this number, if this version knows it.
            pub fn of_number(number: u8) -> Option<Event> {
                match number { $($number => Some(Event::$name),)* _ => None }
            }

            /// The lowest level at which it is recorded.
            pub fn level(self) -> Level {
                match self { $(Event::$name => Level::$level),* }
            }
        }
    };
}

events! {
    1 Switch Sched, "the thread that runs now, 0 for none", "reason << 24 | object",
        "The worker switches to another thread. The reason is why the previous one stopped.";
    2 Spawn Sched, "the new thread", "its worker, 255 for any beyond << 24 | where it may run: see `Freedom`",
        "The running thread spawns another.";
    3 Wake Sched, "the woken thread", "the worker it is queued at, 255 for any beyond << 24 | object",
        "The running thread, or a timer, makes a waiting thread ready.";
    4 Migrate Sched, "the thread", "the worker it came from",
        "A thread that has run before came to this worker.";
    5 Steal Sched, "how many it got", "the worker they came from",
        "The worker has taken ready threads from another.";
    6 IdleBegin Sched, "0", "0", "The worker has nothing to run.";
    7 IdleEnd Sched, "the cause: see `IdleCause`", "0", "The worker has something to run again.";
    9 Sample Sched, "how many are ready here", "the nanoseconds they will take, at most 2^32 - 1",
        "The worker's published backlog. Read from the samples of a file.";
    10 KernelTook Sched, "nanoseconds since the last of these, at most 2^32 - 1", "0",
        "How long this worker's OS thread was runnable but had no core. Read from the samples of a file.";
    11 Lost Sched, "how many records, at most 2^32 - 1", "0",
        "Records that were overwritten before they were written to the file.";
    12 Site Sched, "the string of the place", "0",
        "Where in the program the running thread is about to stop; its `Switch` comes next.";
    13 WakeOutside Sched, "the woken thread", "the worker it is queued at, 255 for any << 24 | the string of the waker",
        "An OS thread that is not a worker makes a waiting thread ready.";
    14 SpawnOutside Sched, "the new thread", "the worker it is queued at, 255 for any << 24 | the string of the maker",
        "An OS thread that is not a worker spawns a thread.";
    22 Operation Sync, "the string of its name", "0",
        "The running thread begins an operation on a channel, a lock, a barrier or the like, whether or not it waits.";
    23 Promoted Sync, "the job", "0", "The oldest fork of the running thread became a job that others may take.";
    24 JobTaken Sync, "the job", "the thread that is to run it",
        "The worker took the oldest job, its own or another worker's, and starts a thread for it.";
    25 JobDone Sync, "the job", "0", "The running thread has done the job, and ends.";
    26 JobBack Sync, "the job", "0", "The running thread takes back its own job, which no worker took, and calls it.";
    27 Committed Sync, "the version that this gave, its low 32 bits", "how many variables it has written",
        "The running thread has committed a transaction that writes.";
    28 Overtaken Sync, "the string of the place where a variable was made", "its version, low 32 bits; 0 if kept",
        "A transaction of the running thread must run again: another has written the variable, or keeps it.";
    30 RegionBegin Sched, "the string of its name", "which member << 24 | the region's number, its low 24 bits",
        "The running thread enters a parallel region, as a member of its team.";
    31 RegionEnd Sched, "the string of its name", "as for its begin",
        "The running thread has come to the end of the region; it may wait there for the others.";
    32 BarrierBegin Sched, "the string of its place", "as for the region",
        "The running thread waits at a barrier of its team, or for tasks; it may run tasks meanwhile.";
    33 BarrierEnd Sched, "the string of its place", "as for the region", "The running thread waits there no more.";
    34 TaskBegin Sched, "the string of its name", "as for the region",
        "The running thread begins a task of its team, above what it is in.";
    35 TaskEnd Sched, "the string of its name", "as for the region", "The running thread has done the task.";
    36 Exchanged Sched, "the string of its name", "how long somebody waited, in tenths of a microsecond",
        "Messages between ranks were waited for until now; those and the proxy's looks follow at once.";
    37 Message Sched, "the string of what it carries", "bytes", "One of these messages; two more records are of it.";
    38 MessagePeer Sched, "the rank", "0 if it went there, 1 if it came from there", "The other end of that message.";
    39 MessageTimes Sched, "tenths of a microsecond since it was posted", "since it was done, 2^32 - 1 if it is not",
        "When that message was under way, counted back from this record.";
    40 SpanBegin User, "the string of its name", "0", "The program enters a span.";
    41 SpanEnd User, "the string of its name", "0", "The program leaves the span.";
    42 Mark User, "the string of its text", "a value", "The program reached this point.";
    43 Counter User, "the string of its name", "the value", "A value that the program counts.";
    44 ProxyLook Sched, "tenths of a microsecond since it began",
        "what it found done, 128 more if by the proxy's own OS thread << 24 | its length",
        "The proxy looked after messages, once or again and again for nothing.";
}

impl Event {
    /// Those whose first word is the string of a name that the program or an adaptor gave; in memory, the place of it.
    pub const NAMED: [Event; 10] = [
        Event::RegionBegin,
        Event::RegionEnd,
        Event::BarrierBegin,
        Event::BarrierEnd,
        Event::TaskBegin,
        Event::TaskEnd,
        Event::SpanBegin,
        Event::SpanEnd,
        Event::Mark,
        Event::Counter,
    ];

    /// Whether it makes a waiting thread ready.
    pub fn wakes(self) -> bool {
        matches!(self, Event::Wake | Event::WakeOutside)
    }

    /// Whether it makes a thread ready, waiting or new.
    pub fn makes_ready(self) -> bool {
        self.wakes() || matches!(self, Event::Spawn | Event::SpawnOutside)
    }

    /// Whether an OS thread that is not a worker did it.
    pub fn is_outside(self) -> bool {
        matches!(self, Event::WakeOutside | Event::SpawnOutside)
    }
}

/// Why a thread stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum StopReason {
    /// Nothing ran before.
    None = 0,
    /// It yielded and is ready.
    Yield = 1,
    /// It has ended.
    Exit = 2,
    /// It waits for an unpark.
    Park = 3,
    /// It sleeps.
    Sleep = 4,
    /// It waits for another thread to end.
    Join = 5,
    /// It waits to send.
    Send = 6,
    /// It waits to receive.
    Receive = 7,
    /// It waits for one of several channels.
    Select = 8,
    /// It waits for a lock.
    Lock = 9,
    /// It waits at a barrier.
    Barrier = 10,
    /// It waits for the result of a fork.
    Fork = 11,
    /// It is in a blocking call, on a spare OS thread.
    Blocking = 12,
    /// It used up its time slice and is ready.
    Preempted = 13,
    /// It waits for something that the call site does not name.
    Wait = 14,
    /// It waits to send on a rendezvous channel.
    MeetToSend = 15,
    /// It waits to receive from a rendezvous channel.
    MeetToReceive = 16,
    /// It waits for one of several rendezvous channels.
    MeetOne = 17,
    /// It waits for a descriptor.
    Descriptor = 18,
}

impl StopReason {
    /// All of them, by number.
    pub const ALL: [StopReason; 19] = [
        StopReason::None,
        StopReason::Yield,
        StopReason::Exit,
        StopReason::Park,
        StopReason::Sleep,
        StopReason::Join,
        StopReason::Send,
        StopReason::Receive,
        StopReason::Select,
        StopReason::Lock,
        StopReason::Barrier,
        StopReason::Fork,
        StopReason::Blocking,
        StopReason::Preempted,
        StopReason::Wait,
        StopReason::MeetToSend,
        StopReason::MeetToReceive,
        StopReason::MeetOne,
        StopReason::Descriptor,
    ];

    /// The reason with this number; `Wait` for one of a newer version.
    pub fn of_number(number: u8) -> StopReason {
        StopReason::ALL.get(usize::from(number)).copied().unwrap_or(StopReason::Wait)
    }

    /// Whether the thread is still ready.
    pub fn is_ready(self) -> bool {
        matches!(self, StopReason::Yield | StopReason::Preempted)
    }

    /// Whether it waits for a rendezvous, at which whoever comes first waits for the other.
    pub fn meets(self) -> bool {
        matches!(self, StopReason::MeetToSend | StopReason::MeetToReceive | StopReason::MeetOne)
    }

    /// What the thread did, as a phrase.
    pub fn words(self) -> &'static str {
        match self {
            StopReason::None => "did not run",
            StopReason::Yield => "yielded",
            StopReason::Exit => "ended",
            StopReason::Park => "parked",
            StopReason::Sleep => "slept",
            StopReason::Join => "waited for a join",
            StopReason::Send | StopReason::MeetToSend => "waited to send",
            StopReason::Receive | StopReason::MeetToReceive => "waited to receive",
            StopReason::Select | StopReason::MeetOne => "waited in an alternation",
            StopReason::Lock => "waited for a lock",
            StopReason::Barrier => "waited at a barrier",
            StopReason::Fork => "waited for a fork",
            StopReason::Blocking => "was in a blocking call",
            StopReason::Preempted => "was preempted",
            StopReason::Wait => "waited",
            StopReason::Descriptor => "waited for a descriptor",
        }
    }
}

/// Where a new thread may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Freedom {
    /// Not recorded.
    #[default]
    Unsaid = 0,
    /// On its worker only: the program placed it there.
    Placed = 1,
    /// Any worker may start it; then it stays with that worker.
    UntilBegun = 2,
    /// On any worker; it may migrate.
    Always = 3,
}

impl Freedom {
    /// The freedom with this number; `Unsaid` for one of a newer version.
    pub fn of_number(number: u32) -> Freedom {
        let all = [Freedom::Unsaid, Freedom::Placed, Freedom::UntilBegun, Freedom::Always];
        all.get(number as usize).copied().unwrap_or_default()
    }
}

/// How an idle time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum IdleCause {
    /// A timer expired, or the worker found work of its own.
    Own = 0,
    /// Another thread put work into its inbox.
    Mail = 1,
    /// It stole.
    Stole = 2,
    /// The runtime stops.
    Stop = 3,
}

/// One event of one worker: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// `ticks << 8 | number`.
    word: u64,
    /// The event's first word.
    pub a: u32,
    /// The event's second word.
    pub b: u32,
}

impl Record {
    /// The bytes of a record.
    pub const BYTES: usize = 16;

    /// A record of `event` at `ticks`, of which the lower 56 bits are kept: 278 days at 3 GHz.
    #[inline(always)]
    pub fn new(ticks: u64, event: Event, a: u32, b: u32) -> Record {
        Record { word: ticks << 8 | event as u64, a, b }
    }

    /// The clock's reading.
    pub fn ticks(self) -> u64 {
        self.word >> 8
    }

    /// The event's number; it may be of a newer version.
    pub fn number(self) -> u8 {
        (self.word & 0xff) as u8
    }

    /// The record as two words, for a ring.
    #[inline(always)]
    pub(crate) fn words(self) -> [u64; 2] {
        [self.word, u64::from(self.b) << 32 | u64::from(self.a)]
    }

    pub(crate) fn of_words([word, ab]: [u64; 2]) -> Record {
        Record { word, a: ab as u32, b: (ab >> 32) as u32 }
    }

    /// The bytes of a file: little-endian.
    pub fn to_bytes(self) -> [u8; Record::BYTES] {
        let [word, ab] = self.words();
        let mut bytes = [0; Record::BYTES];
        bytes[..8].copy_from_slice(&word.to_le_bytes());
        bytes[8..].copy_from_slice(&ab.to_le_bytes());
        bytes
    }

    /// From the bytes of a file.
    pub fn of_bytes(bytes: &[u8; Record::BYTES]) -> Record {
        let half = |at: usize| {
            let mut half = [0; 8];
            half.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(half)
        };
        Record::of_words([half(0), half(8)])
    }
}

/// Packs a number of 8 bits and one of 24 into a record's second word; what does not fit is cut off.
#[inline(always)]
pub fn pack(high: u8, low: u32) -> u32 {
    u32::from(high) << 24 | low & 0x00ff_ffff
}

/// Undoes [`pack`].
pub fn unpack(word: u32) -> (u8, u32) {
    ((word >> 24) as u8, word & 0x00ff_ffff)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_ascending() {
        assert!(Event::TABLE.windows(2).all(|two| two[0].number < two[1].number));
        for schema in Event::TABLE {
            let event = Event::of_number(schema.number).expect("it is in the table");
            assert_eq!((event as u8, event.level()), (schema.number, schema.level));
        }
        assert_eq!(Event::of_number(0), None);
    }

    #[test]
    fn a_record_survives_its_bytes() {
        let record = Record::new(0x00ab_cdef_0123_4567, Event::Wake, 0xdead_beef, pack(7, 9));
        let again = Record::of_bytes(&record.to_bytes());
        assert_eq!(again, record);
        assert_eq!((again.ticks(), again.number()), (0x00ab_cdef_0123_4567, 3));
        assert_eq!(unpack(again.b), (7, 9));
    }

    #[test]
    fn every_reason_has_its_number() {
        for (number, reason) in StopReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, number);
            assert_eq!(StopReason::of_number(reason as u8), reason);
        }
        assert_eq!(StopReason::of_number(200), StopReason::Wait);
    }

    #[test]
    fn levels_have_words() {
        for (word, level) in Level::NAMES {
            assert_eq!((word.parse(), level.name()), (Ok(level), word));
        }
        let error = "loud".parse::<Level>().unwrap_err();
        assert_eq!(error, "`loud` is not a level; the levels are off, sched, sync, user");
    }
}
