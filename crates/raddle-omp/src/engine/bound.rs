//! Owns: at which place each member of a team is: OpenMP's binding of threads.
//! May use: nothing.
//! Never: which processors a place has.
//!
//! The rules are those of OpenMP 5.1, 2.6.2. What it leaves open: `true` is as `close`; of more threads than places the
//! first places have one more; of several processors of a place each thread has one, in turn.

pub(crate) const TRUE: u32 = 1;
pub(crate) const PRIMARY: u32 = 2;
pub(crate) const CLOSE: u32 = 3;
pub(crate) const SPREAD: u32 = 4;

/// Where a member is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) place: u32,
    /// Its partition: the first place, and how many.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Which of its place's processors.
    pub(crate) turn: u32,
}

impl Binding {
    /// Those of a team of so many, whose master is here, by these rules.
    pub(crate) fn of_team(self, bind: u32, count: u32) -> Vec<Binding> {
        let mut all = match bind {
            PRIMARY => vec![self; count as usize],
            SPREAD if count <= self.count => self.spread(count),
            SPREAD => self.packed(count, |place| (place, 1)),
            TRUE | CLOSE if count <= self.count => {
                (0..count).map(|n| Binding { place: self.place_behind(n), ..self }).collect()
            }
            _ => self.packed(count, |_| (self.first, self.count)),
        };
        // Those of one place share its processors.
        for at in 0..all.len() {
            let place = all[at].place;
            let before = all[..at].iter().filter(|other| other.place == place).count() as u32;
            let begins = if place == self.place { self.turn } else { 0 };
            all[at].turn = begins + before;
        }
        all
    }

    /// The n-th place from its own on, within the partition and around it.
    fn place_behind(&self, n: u32) -> u32 {
        self.first + (self.place - self.first + n) % self.count
    }

    /// More threads than places: those with numbers in a row share one.
    fn packed(&self, count: u32, partition: impl Fn(u32) -> (u32, u32)) -> Vec<Binding> {
        let (each, more) = (count / self.count, count % self.count);
        let mut all = Vec::with_capacity(count as usize);
        for n in 0..self.count {
            let place = self.place_behind(n);
            let (first, count) = partition(place);
            let here = each + u32::from(n < more);
            all.extend((0..here).map(|_| Binding { place, first, count, turn: 0 }));
        }
        all
    }

    /// Each thread has a part of the partition, and its first place; the master stays at its own.
    fn spread(&self, count: u32) -> Vec<Binding> {
        let (each, more) = (self.count / count, self.count % count);
        let part = |n: u32| (self.first + n * each + n.min(more), each + u32::from(n < more));
        let is_here = |n: &u32| {
            let (first, count) = part(*n);
            (first..first + count).contains(&self.place)
        };
        let mine = (0..count).find(is_here).unwrap_or(0);
        let bound = |n: u32| {
            let (first, parts) = part((mine + n) % count);
            let place = if n == 0 { self.place } else { first };
            Binding { place, first, count: parts, turn: 0 }
        };
        (0..count).map(bound).collect()
    }
}
