//! Owns: what comes over from the single thread and is not queued yet, and whose it is.
//! May use: nothing.
//! Never: a share kept for a worker that is late, while another one has nothing to do.
//!
//! Processes are numbers here.

use std::ops::Range;

/// Processes and alarms that come over.
///
/// Those that are ready are dealt: each worker gets a contiguous share. Dealt by stealing, a program that is over after
/// two milliseconds spent some tenths of them with one worker at work: a thief leaves a list alone until it has seen
/// what kind of list it is.
pub(super) struct Arrived {
    ready: Box<[u32]>,
    /// What is left of each worker's share, as places in `ready`.
    shares: Box<[Range<usize>]>,
    pub(super) alarms: Vec<(u32, u32)>,
}

impl Arrived {
    /// So many shares, which differ by one at most.
    pub(super) fn new(ready: Vec<u32>, shares: usize, alarms: Vec<(u32, u32)>) -> Arrived {
        let edge = |share: usize| ready.len() * share / shares;
        let shares = (0..shares).map(|share| edge(share)..edge(share + 1)).collect();
        Arrived { ready: ready.into_boxed_slice(), shares, alarms }
    }

    /// The first of each share, with its worker: it brings the worker here.
    pub(super) fn take_heralds(&mut self) -> Vec<(usize, u32)> {
        let ready = &self.ready;
        let heralds = self.shares.iter_mut().enumerate();
        heralds.filter_map(|(worker, share)| Some((worker, ready[share.next()?]))).collect()
    }

    /// At most so many of the worker's own share; or, if it has nothing else to do, of another one's, from behind.
    pub(super) fn take(&mut self, worker: usize, most: usize, has_nothing_else: bool) -> &[u32] {
        if let Some(own) = self.shares.get_mut(worker)
            && own.start < own.end
        {
            let from = own.start;
            own.start += own.len().min(most);
            return &self.ready[from..own.start];
        }
        if has_nothing_else && let Some(longest) = self.shares.iter_mut().max_by_key(|share| share.len()) {
            let to = longest.end;
            longest.end -= longest.len().div_ceil(2).min(most);
            return &self.ready[longest.end..to];
        }
        &[]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.alarms.is_empty() && self.shares.iter().all(|share| share.start == share.end)
    }
}

#[cfg(test)]
mod tests {
    use super::Arrived;

    #[test]
    fn each_gets_neighbours_and_all_are_dealt() {
        let mut arrived = Arrived::new((0..11).collect(), 3, Vec::new());
        assert_eq!(arrived.take_heralds(), [(0, 0), (1, 3), (2, 7)]);
        assert_eq!(arrived.take(1, 2, false), [4, 5]);
        assert_eq!(arrived.take(1, 2, false), [6]);
        assert_eq!(arrived.take(1, 9, false), [0_u32; 0], "the others may still come");
        assert_eq!(arrived.take(1, 9, true), [9, 10], "half of the longest, from behind");
        assert_eq!(arrived.take(2, 9, false), [8]);
        assert_eq!(arrived.take(2, 1, true), [2]);
        assert_eq!(arrived.take(0, 9, true), [1]);
        assert!(arrived.is_empty() && arrived.take(0, 9, true).is_empty());
    }

    #[test]
    fn one_alone_has_no_share_beside_it() {
        let mut arrived = Arrived::new(vec![7], 2, Vec::new());
        assert_eq!(arrived.take_heralds(), [(1, 7)]);
        assert!(arrived.is_empty());
    }
}
