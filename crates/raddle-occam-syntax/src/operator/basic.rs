//! Owns: the predefined types of values, which operators take and give.
//! May use: nothing.
//! Never: a type that a program defines.

/// The predefined types of values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "each is the type of that name")]
pub enum Basic {
    Bool,
    Byte,
    Int,
    Int16,
    Int32,
    Int64,
    Real32,
    Real64,
}
