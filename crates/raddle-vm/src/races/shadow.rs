//! Owns: what is watched, and which accesses to it could still take part in a race.
//! May use: nothing.
//! Never: keeps an access that another one, by which it is ordered, stands for.
//!
//! For every word that was touched there is a list. A new access is compared with all that touch a byte of the same;
//! then those that happened before it and that it covers are dropped: whatever races with one of them later races with
//! it, too (Flanagan and Freund, FastTrack, 2009). A read stands for reads only.

use super::clock::Clock;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    Read,
    Change,
    /// With a channel.
    Output,
    Input,
}

/// Who did what, where in the code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(super) flow: u32,
    pub(super) time: u32,
    /// The process, which may have ended by now.
    pub(crate) process: u32,
    /// The instruction.
    pub(crate) at: u32,
    /// Where the process began.
    pub(crate) start: u32,
    pub(crate) deed: Deed,
}

/// Two accesses that nothing orders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    /// Which watched entry of the module.
    pub(crate) watched: u32,
    /// How many bytes behind its beginning.
    pub(crate) offset: u32,
    pub(crate) earlier: Access,
    pub(crate) now: Access,
}

#[derive(Debug)]
struct Area {
    watched: u32,
    bytes: u32,
    /// By word: who has touched which of its bytes.
    words: BTreeMap<u32, Vec<(u8, Access)>>,
}

/// All that is watched, by where it begins. Areas do not overlap.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    areas: BTreeMap<u32, Area>,
}

impl Shadow {
    /// False if a part of it is watched already.
    pub(super) fn watch(&mut self, watched: u32, address: u32, bytes: u32) -> bool {
        let behind = address.saturating_add(bytes);
        let last = self.areas.range(..behind).next_back();
        if last.is_some_and(|(&at, area)| at + area.bytes > address) {
            return false;
        }
        self.areas.insert(address, Area { watched, bytes, words: BTreeMap::new() });
        true
    }

    /// How many bytes there were.
    pub(super) fn unwatch(&mut self, address: u32) -> u32 {
        self.areas.remove(&address).map_or(0, |area| area.bytes)
    }

    /// Whether a byte of that word is watched.
    pub(super) fn has_in_word(&self, word: u32) -> bool {
        let behind = word.saturating_mul(4).saturating_add(4);
        let last = self.areas.range(..behind).next_back();
        last.is_some_and(|(&at, area)| at + area.bytes > 4 * word)
    }

    /// Bytes from there on are touched by a flow whose clock that is.
    pub(super) fn touch(
        &mut self,
        clock: &Clock,
        access: Access,
        (from, behind): (u32, u32),
    ) -> Result<(), Race> {
        for (&start, area) in self.areas.range_mut(..behind).rev() {
            let end = start + area.bytes;
            if end <= from {
                break;
            }
            let (first, last) = (from.max(start), behind.min(end));
            for word in first / 4..last.div_ceil(4) {
                let bytes = (4 * word).max(first) - 4 * word..(4 * word + 4).min(last) - 4 * word;
                let mask = bytes.fold(0, |mask, byte| mask | 1 << byte);
                area.touch(clock, access, (start, word), mask)?;
            }
        }
        Ok(())
    }

    /// An end of a channel is used.
    pub(super) fn use_end(&mut self, clock: &Clock, access: Access, channel: u32) -> Result<(), Race> {
        // The two ends are apart, as two bytes are.
        let end = if access.deed == Deed::Output { 1 } else { 2 };
        match self.areas.range_mut(..=channel).next_back() {
            Some((&start, area)) if channel < start + area.bytes => {
                area.touch(clock, access, (start, channel / 4), end)
            }
            _ => Ok(()),
        }
    }
}

impl Area {
    fn touch(
        &mut self,
        clock: &Clock,
        access: Access,
        (start, word): (u32, u32),
        mask: u8,
    ) -> Result<(), Race> {
        let list = self.words.entry(word).or_default();
        let happened = |other: &Access| other.flow == access.flow || clock.get(other.flow) >= other.time;
        let races =
            |other: &Access| (other.deed != Deed::Read || access.deed != Deed::Read) && !happened(other);
        if let Some(&(bytes, earlier)) = list.iter().find(|(bytes, other)| bytes & mask != 0 && races(other))
        {
            let offset = 4 * word + (bytes & mask).trailing_zeros() - start;
            return Err(Race { watched: self.watched, offset, earlier, now: access });
        }
        let stands_for = |other: &Access| access.deed != Deed::Read || other.deed == Deed::Read;
        list.retain(|(bytes, other)| bytes & !mask != 0 || !stands_for(other) || !happened(other));
        list.push((mask, access));
        Ok(())
    }
}
