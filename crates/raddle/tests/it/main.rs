//! What a user of the public face may rely on; where it takes the place of another library, against that library too.

#[allow(clippy::duplicate_mod, reason = "the same cases run in several worlds")]
mod sync;
