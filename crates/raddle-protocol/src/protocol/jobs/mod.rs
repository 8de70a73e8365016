//! Owns: where a fork waits, and how it gets from its flow to whoever takes it.
//! May use: nothing.
//! Never: what a job does; who takes one calls what its node says.
//!
//! A fork is a node in its parent's frame. While nobody asks for it, it hangs in the private list of its flow of
//! control, the [`Forks`]: two pointers to push, one to pop, no atomic. *Promoted*, it leaves that list for good and
//! waits in the [`JobQueue`] of the worker on which it was promoted, under a lock; there an idle worker takes it, or
//! its own flow takes it back. The lock is what keeps a frame alive: a thief touches a node only under it, or when
//! the node is taken and so has to be waited for.
//!
//! | the node is | `older` | `younger` | `before` | who may touch it |
//! |---|---|---|---|---|
//! | private | the next older fork, or the base | the next younger, if it is not the top | - | its flow |
//! | promoted | the queue, tagged | the next in the queue | the one before it | the lock's holder; `older`: its flow |
//! | taken | the queue, tagged | - | `taken` | its taker; `join` by its transitions; `before`: under the lock |
//!
//! A flow whose OS thread stands in a call that the scheduler does not know promotes nothing. Then whoever watches may
//! do it in its place, while that OS thread is stopped: nothing here makes a system call between two states of a list,
//! so that who stands in one is in the midst of no change.
//!
//! | file | what |
//! |---|---|
//! | `node` | what is handed over |
//! | `forks` | the private list of a flow |
//! | `queue` | a worker's jobs, under a lock |

mod forks;
mod node;
mod queue;

pub use forks::{Forks, Reclaimed};
pub use node::{Act, How, Node};
pub use queue::JobQueue;
