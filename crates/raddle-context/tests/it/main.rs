//! What a user of stacks and the switch may rely on, grouped by behaviour.

mod stacks;
mod support;
mod switch;
