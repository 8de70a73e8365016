//! Owns: the processes and alarms that the single thread hands over to the workers and that are not queued yet.
//! May use: nothing.
//! Never: a share kept for a late worker while another one is idle.

use std::ops::Range;

/// Processes and alarms that are handed over.
///
/// The ready processes are divided: each worker gets a contiguous share. When stealing distributed them, a program of
/// two milliseconds ran on one worker for some tenths of that time: a thief does not steal from a list before it knows
/// what kind of list it is.
pub(super) struct HandOver<P> {
    ready: Box<[P]>,
    /// What is left of each worker's share, as indices into `ready`.
    shares: Box<[Range<usize>]>,
    pub(super) alarms: Vec<(u32, u32)>,
}

impl<P: Copy> HandOver<P> {
    /// Divides `ready` into `shares` parts whose sizes differ by at most one.
    pub(super) fn new(ready: Vec<P>, shares: usize, alarms: Vec<(u32, u32)>) -> HandOver<P> {
        let edge = |share: usize| ready.len() * share / shares;
        let shares = (0..shares).map(|share| edge(share)..edge(share + 1)).collect();
        HandOver { ready: ready.into_boxed_slice(), shares, alarms }
    }

    /// Takes the first process of each share, with its worker: queued there, it makes the worker come here.
    pub(super) fn take_first_of_each(&mut self) -> Vec<(usize, P)> {
        let ready = &self.ready;
        let first_of_each = self.shares.iter_mut().enumerate();
        first_of_each.filter_map(|(worker, share)| Some((worker, ready[share.next()?]))).collect()
    }

    /// Takes at most `most` processes of the worker's own share; if that is empty and the worker has nothing else to
    /// do, from the end of another one's.
    pub(super) fn take(&mut self, worker: usize, most: usize, has_nothing_else: bool) -> &[P] {
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
    use super::HandOver;

    #[test]
    fn each_gets_neighbours_and_all_are_taken() {
        let mut handed_over = HandOver::new((0..11).collect(), 3, Vec::new());
        assert_eq!(handed_over.take_first_of_each(), [(0, 0), (1, 3), (2, 7)]);
        assert_eq!(handed_over.take(1, 2, false), [4, 5]);
        assert_eq!(handed_over.take(1, 2, false), [6]);
        assert_eq!(handed_over.take(1, 9, false), [0_u32; 0], "the others may still come");
        assert_eq!(handed_over.take(1, 9, true), [9, 10], "half of the longest, from behind");
        assert_eq!(handed_over.take(2, 9, false), [8]);
        assert_eq!(handed_over.take(2, 1, true), [2]);
        assert_eq!(handed_over.take(0, 9, true), [1]);
        assert!(handed_over.is_empty() && handed_over.take(0, 9, true).is_empty());
    }

    #[test]
    fn one_alone_has_no_share_beside_it() {
        let mut handed_over = HandOver::new(vec![7], 2, Vec::new());
        assert_eq!(handed_over.take_first_of_each(), [(1, 7)]);
        assert!(handed_over.is_empty());
    }
}
