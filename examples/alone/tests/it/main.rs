//! Owns: tests of locks, channels and transactions in a program without a scheduler: OS threads alone.
//! May use: `raddle-stm`, `raddle-sync`, `std::thread`.
//! Never: the crate `raddle`, which would bring the scheduler.

mod channels;
mod linked;
mod locks;
mod queue_locks;
mod select;
mod sleepers;
mod transactions;
