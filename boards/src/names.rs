//! Owns: names of a program, as they lie in the flash.
//! May use: `raddle-bytecode`.
//! Never: memory.

use raddle_bytecode::file;

/// A word of a file.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// The string of that number.
pub(crate) fn name(bytes: &[u8], number: u32) -> Option<&[u8]> {
    let names = file::part(bytes, b"STRS")?;
    let mut at = 0_usize;
    for _ in 0..number {
        at = at.checked_add(4 + word(names, at)?.checked_next_multiple_of(4)? as usize)?;
    }
    names.get(at.checked_add(4)?..)?.get(..word(names, at)? as usize)
}
