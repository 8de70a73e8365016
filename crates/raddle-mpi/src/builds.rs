//! Owns: what ranks say first: of which build they are, so that two that would not understand each other are refused.
//! May use: `error`, `late`.
//! Never: a first row that other builds could not read: it has five bytes, for ever.

use crate::error::NetError;
use crate::late::OnLate;

/// The number of what ranks say to each other: at the beginning and the end, when they gather, of plans, at channels
/// and to boxes. Who changes any of it raises the number.
pub(crate) const PROTOCOL: u32 = 1;

const ROW_BYTES: usize = 5;

/// What a rank says first: its protocol, and what it does when something is late.
pub(crate) fn beginning_row(protocol: u32, on_late: u8) -> [u8; ROW_BYTES] {
    let [a, b, c, d] = protocol.to_le_bytes();
    [a, b, c, d, on_late]
}

/// Whether all ranks have said the same.
pub(crate) fn compare_beginnings(rows: &[u8]) -> Result<(), NetError> {
    let (rows, _) = rows.as_chunks::<ROW_BYTES>();
    let protocol = |rank: usize| u32::from_le_bytes(*rows[rank].first_chunk().expect("five bytes"));
    if let Some(other) = (0..rows.len()).find(|rank| protocol(*rank) != protocol(0)) {
        let [first, second] = [0, other].map(protocol);
        return Err(NetError::Disagree(format!(
            "ranks are of two builds of Raddle: rank 0 speaks protocol {first}, rank {other} protocol {second}; all \
             are to be of one build"
        )));
    }
    let on_late = |rank: usize| rows[rank][ROW_BYTES - 1];
    if let Some(other) = (0..rows.len()).find(|rank| on_late(*rank) != on_late(0)) {
        let [first, second] = [0, other].map(|rank| OnLate::name(on_late(rank)));
        return Err(NetError::Disagree(format!(
            "what is done when something is late: rank 0 has {first}, rank {other} {second}; all are to have the same"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(rows: [[u8; ROW_BYTES]; 3]) -> String {
        compare_beginnings(&rows.concat()).expect_err("they differ").to_string()
    }

    #[test]
    fn who_differs_is_named() {
        assert_eq!(compare_beginnings(&[beginning_row(PROTOCOL, 1); 3].concat()), Ok(()));
        let other = refusal([beginning_row(7, 1), beginning_row(7, 1), beginning_row(1 << 24, 0)]);
        assert!(other.contains("rank 0 speaks protocol 7, rank 2 protocol 16777216"), "{other}");
        let other = refusal([beginning_row(7, 0), beginning_row(7, 1), beginning_row(7, 0)]);
        assert!(other.contains("rank 0 has Error, rank 1 Abort"), "{other}");
    }
}
