//! Owns: what ranks say to each other, and how it lies in bytes.
//! May use: `raddle-vm`.
//! Never: a frame of another rank believed: what cannot be read is told.

use raddle_vm::{ChannelEnd, Port, UsedEnds};

/// The number of all that is said here. Who changes what is said, or what is to come of it, raises the number, so that
/// ranks of two builds are refused by name. What says it, [`RankFrame::Program`], stays as it is.
pub(crate) const FRAMES: u32 = 1;

/// What a rank says to another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RankFrame {
    /// To rank 0, at the beginning: how it speaks, and of what program.
    Program { frames: u32, hash: u64 },
    /// Of rank 0: a PLACED PAR begins; all that is needed to go on as rank 0.
    Image { epoch: u32, image: Vec<u8> },
    /// A process has used that end for the first time.
    Touched { epoch: u32, channel: u32, end: ChannelEnd },
    /// A process outputs this. The message of another channel may have been taken before.
    Offer { epoch: u32, channel: u32, also_taken: Option<u32>, message: Vec<u8> },
    /// It was taken.
    Taken { epoch: u32, channel: u32 },
    /// To rank 0: all branches of the PLACED PAR have ended here.
    Done { epoch: u32 },
    /// To rank 0: the program writes.
    Output { port: Port, bytes: Vec<u8> },
    /// To rank 0: nothing can go on here before something comes; so many frames were sent and handled.
    Still(FrameCounts),
    /// Of rank 0: is that still so?
    Ask { wave: u32 },
    /// To rank 0.
    Answer { wave: u32, still: bool, counts: FrameCounts },
    /// Of rank 0: nothing can go on anywhere; who waits for what?
    Tell,
    /// To all: these ends processes here may still use.
    Uses(UsedEnds),
    /// To rank 0: who waits here for which ranks, and in words.
    Told(Account),
    /// The program is over: well, or not, for this rank's reason.
    End { well: bool },
    /// To rank 0, and of it to all: this rank is there.
    Alive,
}

/// How many frames were sent to others, and of others handled; of those that may make something go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct FrameCounts {
    pub(crate) sent: u64,
    pub(crate) handled: u64,
}

/// What a rank tells of those that wait there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Account {
    /// For which ranks, and who, in words.
    pub(crate) waits: Vec<(u32, String)>,
    pub(crate) text: String,
}

/// No channel is at the last address: it has four bytes.
const NO_CHANNEL: u32 = u32::MAX;

const KINDS: [&str; 15] = [
    "program", "image", "touched", "offer", "taken", "done", "output", "still", "ask", "answer", "tell",
    "uses", "told", "end", "alive",
];

impl RankFrame {
    /// Whether something may go on by it.
    pub(crate) fn is_work(&self) -> bool {
        matches!(
            self,
            RankFrame::Image { .. }
                | RankFrame::Touched { .. }
                | RankFrame::Offer { .. }
                | RankFrame::Taken { .. }
                | RankFrame::Done { .. }
        )
    }

    /// As how many it counts of those by which something may go on.
    pub(crate) fn work(&self) -> u64 {
        let also_taken = matches!(self, RankFrame::Offer { also_taken: Some(_), .. });
        u64::from(self.is_work()) + u64::from(also_taken)
    }

    /// Of which PLACED PAR, if it is of one.
    pub(crate) fn epoch(&self) -> Option<u32> {
        match self {
            RankFrame::Touched { epoch, .. }
            | RankFrame::Offer { epoch, .. }
            | RankFrame::Taken { epoch, .. }
            | RankFrame::Done { epoch } => Some(*epoch),
            _ => None,
        }
    }

    fn kind(&self) -> usize {
        let name = match self {
            RankFrame::Program { .. } => "program",
            RankFrame::Image { .. } => "image",
            RankFrame::Touched { .. } => "touched",
            RankFrame::Offer { .. } => "offer",
            RankFrame::Taken { .. } => "taken",
            RankFrame::Done { .. } => "done",
            RankFrame::Output { .. } => "output",
            RankFrame::Still(_) => "still",
            RankFrame::Ask { .. } => "ask",
            RankFrame::Answer { .. } => "answer",
            RankFrame::Tell => "tell",
            RankFrame::Uses(_) => "uses",
            RankFrame::Told(_) => "told",
            RankFrame::End { .. } => "end",
            RankFrame::Alive => "alive",
        };
        KINDS.iter().position(|kind| *kind == name).expect("all are there")
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = vec![self.kind() as u8];
        let mut words = |words: &[u32]| out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        match self {
            RankFrame::Program { frames, hash } => {
                words(&[*frames]);
                words(&halves(*hash));
            }
            RankFrame::Image { epoch, image } => {
                words(&[*epoch]);
                out.extend(image);
            }
            RankFrame::Touched { epoch, channel, end } => {
                words(&[*epoch, *channel, u32::from(*end == ChannelEnd::Input)]);
            }
            RankFrame::Offer { epoch, channel, also_taken, message } => {
                words(&[*epoch, *channel, also_taken.unwrap_or(NO_CHANNEL)]);
                out.extend(message);
            }
            RankFrame::Taken { epoch, channel } => words(&[*epoch, *channel]),
            RankFrame::Done { epoch } => words(&[*epoch]),
            RankFrame::Output { port, bytes } => {
                words(&[u32::from(*port == Port::Error)]);
                out.extend(bytes);
            }
            RankFrame::Still(counts) => words(&of_counts(*counts)),
            RankFrame::Ask { wave } => words(&[*wave]),
            RankFrame::Answer { wave, still, counts } => {
                words(&[*wave, u32::from(*still)]);
                words(&of_counts(*counts));
            }
            RankFrame::Uses(used) => {
                words(&[u32::from(used.more)]);
                used.ends.iter().for_each(|(channel, output)| words(&[*channel, u32::from(*output)]));
            }
            RankFrame::Told(account) => {
                words(&[account.waits.len() as u32]);
                for (rank, who) in &account.waits {
                    words(&[*rank, who.len() as u32]);
                }
                account.waits.iter().for_each(|(_, who)| out.extend(who.as_bytes()));
                out.extend(account.text.as_bytes());
            }
            RankFrame::End { well } => words(&[u32::from(*well)]),
            RankFrame::Tell | RankFrame::Alive => {}
        }
        out
    }

    /// Nothing if it makes no sense.
    pub(crate) fn read(bytes: &[u8]) -> Option<RankFrame> {
        let (&kind, rest) = bytes.split_first()?;
        let mut reader = FrameReader(rest);
        let read = &mut reader;
        Some(match *KINDS.get(usize::from(kind))? {
            "program" => RankFrame::Program { frames: read.word()?, hash: read.long()? },
            "image" => RankFrame::Image { epoch: read.word()?, image: read.rest() },
            "touched" => {
                let (epoch, channel) = (read.word()?, read.word()?);
                let end = if read.word()? == 0 { ChannelEnd::Output } else { ChannelEnd::Input };
                RankFrame::Touched { epoch, channel, end }
            }
            "offer" => {
                let (epoch, channel, taken) = (read.word()?, read.word()?, read.word()?);
                let also_taken = Some(taken).filter(|taken| *taken != NO_CHANNEL);
                RankFrame::Offer { epoch, channel, also_taken, message: read.rest() }
            }
            "taken" => RankFrame::Taken { epoch: read.word()?, channel: read.word()? },
            "done" => RankFrame::Done { epoch: read.word()? },
            "output" => {
                let port = if read.word()? == 0 { Port::Screen } else { Port::Error };
                RankFrame::Output { port, bytes: read.rest() }
            }
            "still" => RankFrame::Still(read.counts()?),
            "ask" => RankFrame::Ask { wave: read.word()? },
            "answer" => {
                RankFrame::Answer { wave: read.word()?, still: read.word()? != 0, counts: read.counts()? }
            }
            "tell" => RankFrame::Tell,
            "uses" => {
                let mut used = UsedEnds { more: read.word()? != 0, ends: Vec::new() };
                while let Some(channel) = read.word() {
                    used.ends.push((channel, read.word()? != 0));
                }
                RankFrame::Uses(used)
            }
            "told" => RankFrame::Told(read.account()?),
            "end" => RankFrame::End { well: read.word()? != 0 },
            "alive" => RankFrame::Alive,
            _ => return None,
        })
    }
}

fn halves(long: u64) -> [u32; 2] {
    [long as u32, (long >> 32) as u32]
}

fn of_counts(counts: FrameCounts) -> [u32; 4] {
    let [low, high] = halves(counts.sent);
    let [least, most] = halves(counts.handled);
    [low, high, least, most]
}

struct FrameReader<'b>(&'b [u8]);

impl FrameReader<'_> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_at_checked(4)?;
        self.0 = rest;
        Some(u32::from_le_bytes(word.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from(self.word()?) | u64::from(self.word()?) << 32)
    }

    fn counts(&mut self) -> Option<FrameCounts> {
        Some(FrameCounts { sent: self.long()?, handled: self.long()? })
    }

    fn text(&mut self, length: usize) -> Option<String> {
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn account(&mut self) -> Option<Account> {
        let count = self.word()?;
        let mut heads = Vec::new();
        for _ in 0..count {
            heads.push((self.word()?, self.word()?));
        }
        let mut waits = Vec::new();
        for (rank, length) in heads {
            waits.push((rank, self.text(length as usize)?));
        }
        let text = self.text(self.0.len())?;
        Some(Account { waits, text })
    }

    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each, and more of some.
    fn frames() -> Vec<RankFrame> {
        let counts = FrameCounts { sent: 1 << 40, handled: 7 };
        let waits = vec![(3, "`node`".to_owned()), (0, String::new())];
        vec![
            RankFrame::Program { frames: FRAMES, hash: u64::MAX - 2 },
            RankFrame::Image { epoch: 1, image: vec![1, 2, 3] },
            RankFrame::Touched { epoch: 2, channel: 640, end: ChannelEnd::Input },
            RankFrame::Touched { epoch: 2, channel: 640, end: ChannelEnd::Output },
            RankFrame::Offer { epoch: 3, channel: 4, also_taken: None, message: Vec::new() },
            RankFrame::Offer { epoch: 3, channel: 4, also_taken: Some(8), message: vec![9] },
            RankFrame::Taken { epoch: 3, channel: 4 },
            RankFrame::Done { epoch: 9 },
            RankFrame::Output { port: Port::Screen, bytes: b"a".to_vec() },
            RankFrame::Output { port: Port::Error, bytes: b"b".to_vec() },
            RankFrame::Still(counts),
            RankFrame::Ask { wave: 5 },
            RankFrame::Answer { wave: 5, still: true, counts },
            RankFrame::Tell,
            RankFrame::Uses(UsedEnds { ends: vec![(640, true), (644, false)], more: true }),
            RankFrame::Told(Account { waits, text: "deadlock".to_owned() }),
            RankFrame::End { well: false },
            RankFrame::Alive,
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        for frame in frames() {
            let bytes = frame.write();
            assert_eq!(RankFrame::read(&bytes), Some(frame));
            assert!(RankFrame::read(&bytes[..0]).is_none());
        }
        assert_eq!(RankFrame::read(&[200]), None);
        assert_eq!(RankFrame::read(&[3, 1, 0, 0]), None, "cut off");
        assert_eq!(RankFrame::read(&[12, 255, 255, 255, 255]), None, "more than there is");
    }
    /// What another build reads: who changes it raises [`FRAMES`].
    #[test]
    fn what_is_written_is_those_frames() {
        let mut said = Vec::new();
        for bytes in frames().iter().map(RankFrame::write) {
            said.extend(u32::try_from(bytes.len()).expect("short").to_le_bytes());
            said.extend(bytes);
        }
        assert_eq!(
            (FRAMES, crate::fingerprint(&said)),
            (1, 0xe613_43a7_d7ab_0498),
            "the number, and what it stands for"
        );
    }
}
