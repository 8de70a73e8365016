//! Owns: how ranks agree on a plan when it is made: who has messages for whom, and what each of them carries.
//! May use: `error`, `net`, `post`.
//! Never: an agreement that one rank can leave while others wait: who cannot make its plan says so.

use crate::error::NetError;
use crate::net::{Net, PLAN_TAGS, fill};
use crate::post::Transfer;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// What two ranks tell each other of a message.
const NOTE_BYTES: usize = 256;
/// Each plan has a tag, and what is said of it another one; every MPI has 32768.
const PLANS_MAX: u32 = 16_000;
/// Instead of the kind of a plan: there is none.
const NO_PLAN: u8 = 255;

/// What a plan does; ranks compare it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum PlanKind {
    Halo = 1,
    Regions = 2,
    Broadcast = 3,
    Shift = 4,
    Gather = 5,
}

const KINDS: [&str; 5] = ["a halo", "custom regions", "a broadcast", "a shift", "a gather"];

/// What a rank expects of a message with another one: both sides' texts are to be equal.
pub(crate) struct Note {
    pub(crate) peer: usize,
    pub(crate) label: String,
    pub(crate) text: String,
}

impl Net {
    /// The number of a plan, by which its messages are told from others'.
    pub(crate) fn plan_number(&self) -> Result<u32, NetError> {
        let number = self.plans.fetch_add(1, Ordering::Relaxed);
        if number >= PLANS_MAX {
            return Err(NetError::Misuse(format!("{PLANS_MAX} plans have used up the tags")));
        }
        Ok(number)
    }

    /// Agrees with all others on a plan, made or not; ranks' notes of each other are in one order.
    pub(crate) fn agree<P>(
        &self,
        number: u32,
        kind: PlanKind,
        made: Result<(P, Vec<Note>), NetError>,
    ) -> Result<P, NetError> {
        let (said, notes) = match &made {
            Ok((_, notes)) => (kind as u8, &notes[..]),
            Err(_) => (NO_PLAN, &[][..]),
        };
        let told = self.compare_counts(number, said, notes).and_then(|()| self.compare(number, notes));
        // Its own error says more than what the others tell of it.
        let (plan, _) = made?;
        told.map(|()| plan)
    }

    /// All ranks hear which plan each makes, and how many messages it has with whom.
    fn compare_counts(&self, number: u32, kind: u8, notes: &[Note]) -> Result<(), NetError> {
        let mut counts = BTreeMap::<usize, u32>::new();
        for note in notes {
            *counts.entry(note.peer).or_default() += 1;
        }
        let peers = u32::try_from(counts.len()).expect("few peers");
        let all = self.all_gather(&[&[kind][..], &peers.to_le_bytes()].concat())?;
        let all: Vec<(u8, usize)> = all.chunks_exact(5).map(|row| (row[0], word(&row[1..]))).collect();
        if let Some(without) = all.iter().position(|row| row.0 == NO_PLAN) {
            return Err(NetError::Disagree(format!("rank {without} cannot make plan {number}")));
        }
        if let Some(other) = all.iter().position(|row| row.0 != all[0].0) {
            let name = |rank: usize| KINDS[usize::from(all[rank].0) - 1];
            let text = format!("plan {number}: rank 0 makes {}, rank {other} {}", name(0), name(other));
            return Err(NetError::Disagree(text));
        }
        let width = 8 * all.iter().map(|row| row.1).max().unwrap_or(0);
        let mut row: Vec<u8> = Vec::with_capacity(width);
        for (peer, count) in &counts {
            row.extend(u32::try_from(*peer).expect("MPI counts ranks in an int").to_le_bytes());
            row.extend(count.to_le_bytes());
        }
        row.resize(width, 0);
        let rows = self.all_gather(&row)?;
        let of = |rank: usize, peer: usize| {
            let row = &rows[rank * width..rank * width + 8 * all[rank].1];
            let mut pairs = row.chunks_exact(8).map(|pair| (word(pair), word(&pair[4..])));
            pairs.find(|pair| pair.0 == peer).map_or(0, |pair| pair.1)
        };
        for rank in 0..self.size() {
            for pair in rows[rank * width..rank * width + 8 * all[rank].1].chunks_exact(8) {
                let (peer, count) = (word(pair), word(&pair[4..]));
                let theirs = of(peer, rank);
                if theirs != count {
                    return Err(NetError::Disagree(format!(
                        "plan {number}: rank {rank} has {count} messages with rank {peer}, which has {theirs} with it"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Compares notes with the peers; then all ranks hear whether all agree.
    fn compare(&self, number: u32, notes: &[Note]) -> Result<(), NetError> {
        let tag = PLAN_TAGS + c_int::try_from(number).expect("below 16000");
        let mut transfers = Vec::new();
        for Note { peer, text, .. } in notes {
            transfers.push(Transfer::into(self.private(*peer, tag, 1), NOTE_BYTES)?);
            transfers.push(Transfer::out(self.private(*peer, tag, 1), &padded(text))?);
        }
        let post = self.run(format!("the comparison of plan {number}"), transfers)?;
        let mut wrong = String::new();
        for (index, Note { peer, label, text }) in notes.iter().enumerate() {
            let mut theirs = [0; NOTE_BYTES];
            fill(&post, 2 * index, &mut theirs)?;
            if theirs[..] != padded(text)[..] && wrong.is_empty() {
                let theirs = String::from_utf8_lossy(&theirs);
                let theirs = theirs.trim_end_matches('\0');
                wrong = format!("{label}: rank {} has {text}; rank {peer} has {theirs}", self.rank());
            }
        }
        let all = self.all_gather(&[u8::from(!wrong.is_empty())])?;
        let who: Vec<usize> = (0..all.len()).filter(|rank| all[*rank] != 0).collect();
        match (who.is_empty(), wrong.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => Err(NetError::Disagree(format!("ranks {who:?} do not agree on plan {number}"))),
            (false, false) => Err(NetError::Disagree(wrong)),
        }
    }
}

/// The text comes first that matters most: it may be longer than there is room.
fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(NOTE_BYTES, 0);
    bytes
}

fn word(bytes: &[u8]) -> usize {
    let word: [u8; 4] = bytes[..4].try_into().expect("four bytes");
    usize::try_from(u32::from_le_bytes(word)).expect("32 bits")
}
