//! What is the same on every machine.

mod cancel;
mod fairness;
mod level0;
mod scope;
mod time;
