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
    Uint,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Real32,
    Real64,
}

impl Basic {
    /// Whether it is one of the UINT types.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Basic::Uint | Basic::Uint8 | Basic::Uint16 | Basic::Uint32 | Basic::Uint64)
    }

    /// Whether it is a real type.
    pub const fn is_real(self) -> bool {
        matches!(self, Basic::Real32 | Basic::Real64)
    }
}
