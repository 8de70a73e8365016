//! Owns: the words through which workers and other OS threads meet, each a protocol with its own page.
//! May use: nothing.
//! Never: a stack, a clock, a policy; whoever uses a protocol brings those.
//!
//! | protocol | between | the word |
//! |---|---|---|
//! | [`inbox`] | anybody → one worker | a pointer: empty, asleep, or a list |
//! | [`alternation`] | who waits for several ↔ each of their peers | how many may look, and who was chosen |
//! | [`barrier`] | all who are enrolled in it | how many there are, how many are missing |
//! | [`claim`] | several who share one end | free, held, or a list of those who wait |
//! | [`fresh`] | one owner, many thieves | two indices announced to each other |
//! | [`window`] | one owner, many thieves | a few slots, each empty or a chain |
//! | [`gate`] | who looks ↔ those who stand still for it | open, or the number of a closing |
//! | [`idle`] | who has work → who sleeps | counts of sleepers and searchers |
//! | [`jobs`] | a flow that forks ↔ who takes a fork | a lock, and a word that asks for more |
//! | [`join`] | who ends ↔ who waits for the end | running, a joiner, done, detached |
//! | [`outstanding`] | who begins something that is to be asked for ↔ idle workers | a count, and who asks |
//! | [`promise`] | the flow that made a fork ↔ who has its handle | private, asked for, dropped, promoted |
//! | [`readiness`] | who is told of an edge → who waits for it | how many there were |
//! | [`rendezvous`] | the two ends of a channel | empty, a waiter, closed, poisoned |
//! | [`selection`] | several who could end a wait → who waits | none, open, parked, an outcome |
//! | [`shares`] | who hands places out ↔ who looks at them | how many look |
//! | [`short`] | whoever shares a channel | free or held, and a note beside it |
//! | [`task`] | who wakes a task → who polls it next; who frees it | queued, polled, done; references |
//! | [`token`] | who unparks → who parks | empty, parked, notified |
//! | [`watch`] | whoever changes something → who watches | ticks, sleeps, called |
//! | [`mutex`] | who unlocks ↔ who wants the lock | flags, and the newest who waits |
//! | [`rwlock`] | readers ↔ writers | a count of readers, flags, and a list |
//! | [`condvar`] | who notifies → who waits | a list |
//! | [`futex`] | who changes a word → who waits until it does | its address, in a bucket |
//! | [`semaphore`] | who gives ↔ who takes | a count of permits, flags, and a list |
//! | [`once`] | who does it ↔ who wants it done | a state, and the last who waits |
//! | [`mcs`], [`clh`] | who unlocks → the next | the last in the queue |
//!
//! Every one is modelled in `tests/loom`, with each of its orderings weakened in turn (see `order`).

pub mod alternation;
pub mod bag;
pub mod barrier;
pub mod claim;
pub mod clh;
pub mod condvar;
pub mod fifo;
pub mod fresh;
pub mod futex;
pub mod gate;
pub mod header;
pub mod idle;
pub mod inbox;
pub mod jobs;
pub mod join;
pub mod mcs;
pub mod mutex;
pub mod once;
pub mod outstanding;
pub mod promise;
pub mod readiness;
pub mod rendezvous;
pub mod rwlock;
pub mod selection;
pub mod semaphore;
pub mod shares;
pub mod short;
pub mod sleeper;
pub mod task;
pub mod token;
pub mod turn;
pub mod waitlist;
pub mod watch;
pub mod window;
