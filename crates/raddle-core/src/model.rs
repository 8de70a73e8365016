//! Owns: the protocols under names that the models in `tests/loom.rs` can use.
//! May use: `protocol`, `order`.
//! Never: being built into a runtime.
