//! Public behaviour of locks, channels and communicating processes, grouped by behaviour.

mod described;
