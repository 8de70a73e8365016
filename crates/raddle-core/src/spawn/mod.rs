//! Owns: processes as programs have them made: on the caller's runtime, or on the default one.
//! May use: nothing.
//! Never: deciding who runs.

mod builder;
mod scope;

pub use builder::{
    Builder, goes_on_for, spawn, spawn_alone, spawn_light, spawn_on, spawn_with, try_spawn, try_spawn_light,
};
pub use scope::{Scope, ScopedJoinHandle, scope};
