//! What is the same on every machine.

mod cancel;
mod fairness;
mod futex;
mod level0;
mod poller;
mod scope;
mod slices;
mod time;
