//! Owns: how what ends say lies in bytes.
//! May use: `error`.
//! Never: a message's own bytes, but those that ride along behind.

use crate::error::NetError;
use std::fmt;

/// Before the bytes that ride along: what is said, to which end, and of how many bytes; and a `Take` besides.
pub(crate) const HEAD_BYTES: usize = 24;
/// So many bytes of a message ride along with the offer.
pub(crate) const RIDE_BYTES: usize = 8192;
/// No frame is larger: questions of who waits for whom are the largest, of 64 ranks with 300 bytes of words each.
pub(crate) const FRAME_MAX: usize = HEAD_BYTES + 20 * 1024;
/// A channel's name, and that of its type.
const NAME_BYTES: usize = 255;

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Bind = 1,
    /// The message rides along.
    Small = 2,
    Large = 3,
    Take = 4,
    Close = 5,
    /// Who waits for whom: see `chase`.
    Chase = 6,
}

/// What stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub(crate) kind: FrameKind,
    /// The number of the end that is to hear it, on its rank; of a binding that of the end which says it.
    pub(crate) end: u32,
    /// Of the message, or of what rides along.
    pub(crate) bytes: u64,
    /// The end whose message was taken before this was said.
    pub(crate) also_taken: Option<u32>,
}

impl FrameHead {
    pub(crate) fn new(kind: FrameKind, end: u32, bytes: usize) -> FrameHead {
        FrameHead { kind, end, bytes: bytes as u64, also_taken: None }
    }

    pub(crate) fn write(self, to: &mut [u8]) {
        to[..4].copy_from_slice(&[self.kind as u8, 0, 0, 0]);
        to[4..8].copy_from_slice(&self.end.to_le_bytes());
        to[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        // No end has the last number: there are not so many.
        let taken = self.also_taken.unwrap_or(u32::MAX);
        to[16..HEAD_BYTES].copy_from_slice(&u64::from(taken).to_le_bytes());
    }

    /// What stands there, and what rides along; nothing, if it makes no sense.
    pub(crate) fn read(from: &[u8]) -> Option<(FrameHead, &[u8])> {
        let (head, rides) = from.split_at_checked(HEAD_BYTES)?;
        let kind = match head[0] {
            1 => FrameKind::Bind,
            2 => FrameKind::Small,
            3 => FrameKind::Large,
            4 => FrameKind::Take,
            5 => FrameKind::Close,
            6 => FrameKind::Chase,
            _ => return None,
        };
        let end = u32::from_le_bytes(head[4..8].try_into().ok()?);
        let bytes = u64::from_le_bytes(head[8..16].try_into().ok()?);
        let taken = u32::from_le_bytes(head[16..20].try_into().ok()?);
        let also_taken = Some(taken).filter(|taken| *taken != u32::MAX);
        let rides_whole = matches!(kind, FrameKind::Bind | FrameKind::Small | FrameKind::Chase);
        (!rides_whole || rides.len() as u64 == bytes)
            .then_some((FrameHead { kind, end, bytes, also_taken }, rides))
    }
}

/// What an end is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndRole {
    Sends,
    Receives,
}

impl EndRole {
    pub(crate) fn other(self) -> EndRole {
        match self {
            EndRole::Sends => EndRole::Receives,
            EndRole::Receives => EndRole::Sends,
        }
    }
}

/// What a rank says of an end that it has made. Both sides compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) role: EndRole,
    pub(crate) capacity: u32,
    /// The type of its messages, and how many bytes one has; 0 if that differs from one to the other.
    pub(crate) type_name: String,
    pub(crate) type_bytes: u32,
}

impl Binding {
    /// Refuses what would not fit.
    pub(crate) fn check(&self) -> Result<(), NetError> {
        if self.name.len() <= NAME_BYTES && self.type_name.len() <= NAME_BYTES {
            return Ok(());
        }
        let text = "the name of a channel, and that of its type, have at most 255 bytes";
        Err(NetError::Misuse(text.to_owned()))
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.role == EndRole::Receives), self.name.len() as u8];
        bytes.extend(self.capacity.to_le_bytes());
        bytes.extend(self.type_bytes.to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes.extend(self.type_name.as_bytes());
        bytes
    }

    pub(crate) fn read(from: &[u8]) -> Option<Binding> {
        let (head, rest) = from.split_at_checked(10)?;
        let (name, type_name) = rest.split_at_checked(usize::from(head[1]))?;
        Some(Binding {
            role: if head[0] == 0 { EndRole::Sends } else { EndRole::Receives },
            capacity: u32::from_le_bytes(head[2..6].try_into().ok()?),
            type_bytes: u32::from_le_bytes(head[6..].try_into().ok()?),
            name: String::from_utf8(name.to_vec()).ok()?,
            type_name: String::from_utf8(type_name.to_vec()).ok()?,
        })
    }

    /// Whether both are ends of one channel, whatever else they say.
    pub(crate) fn meets(&self, other: &Binding) -> bool {
        self.name == other.name && self.role == other.role.other()
    }

    /// Whether they also agree on what goes through it.
    pub(crate) fn agrees(&self, other: &Binding) -> bool {
        let all = |one: &Binding| (one.capacity, one.type_bytes, one.type_name.clone());
        all(self) == all(other)
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.role == EndRole::Sends { "sends " } else { "receives " })?;
        f.write_str(&self.type_name)?;
        match self.type_bytes {
            0 => f.write_str(" of any length")?,
            bytes => write!(f, " of {bytes} bytes")?,
        }
        match self.capacity {
            0 => f.write_str(", without a buffer"),
            places => write!(f, ", with a buffer of {places}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding() -> Binding {
        Binding {
            name: "ring".to_owned(),
            role: EndRole::Receives,
            capacity: 3,
            type_name: "f64".to_owned(),
            type_bytes: 8,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let one = binding();
        assert_eq!(Binding::read(&one.write()), Some(one.clone()));
        assert_eq!(one.to_string(), "receives f64 of 8 bytes, with a buffer of 3");
        let mut bytes = [0; HEAD_BYTES + 3];
        for also_taken in [None, Some(0), Some(31_999)] {
            let head = FrameHead { also_taken, ..FrameHead::new(FrameKind::Small, 7, 3) };
            head.write(&mut bytes);
            bytes[HEAD_BYTES..].copy_from_slice(b"abc");
            assert_eq!(FrameHead::read(&bytes), Some((head, &b"abc"[..])));
        }
    }

    /// What another build reads: who changes it raises [`PROTOCOL`](crate::builds::PROTOCOL).
    #[test]
    fn what_is_written_is_that_protocol() {
        let mut bytes = [0; HEAD_BYTES];
        let head = FrameHead { also_taken: Some(9), ..FrameHead::new(FrameKind::Small, 7, 3) };
        head.write(&mut bytes);
        let said = [&bytes[..], &binding().write()[..]].concat();
        let expected = [
            [2, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0].as_slice(),
            &[1, 4, 3, 0, 0, 0, 8, 0, 0, 0],
            b"ringf64",
        ]
        .concat();
        assert_eq!((crate::builds::PROTOCOL, said), (1, expected));
    }

    #[test]
    fn what_makes_no_sense_is_not_read() {
        let mut bytes = [0; HEAD_BYTES];
        assert_eq!(FrameHead::read(&bytes), None, "no such kind");
        FrameHead::new(FrameKind::Small, 7, 3).write(&mut bytes);
        assert_eq!(FrameHead::read(&bytes), None, "what rides along is missing");
        assert_eq!(FrameHead::read(&bytes[1..]), None, "too short");
        assert_eq!(Binding::read(&binding().write()[..9]), None);
        let long = Binding { name: "x".repeat(256), ..binding() };
        assert!(matches!(long.check(), Err(NetError::Misuse(_))));
    }

    #[test]
    fn ends_of_one_channel_agree_or_not() {
        let receives = binding();
        let sends = Binding { role: EndRole::Sends, ..binding() };
        assert!(receives.meets(&sends) && receives.agrees(&sends) && !receives.meets(&receives));
        assert!(!receives.agrees(&Binding { type_name: "u64".to_owned(), ..sends.clone() }));
        assert!(!receives.agrees(&Binding { capacity: 0, ..sends }));
    }
}
