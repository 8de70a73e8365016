//! Owns: `TouchTable`: which rank has used which end of a channel first, as far as this one knows.
//! May use: `raddle-vm`.
//! Never: a wait: an end is bound when both ranks have heard of each other, in whatever order.
//!
//! The first process of a rank that uses a channel takes [`UNTOUCHED`](raddle_vm) out of its word, by one exchange, and
//! comes here; others find a channel as any. Each rank tells all others of its first touch. A test searches all orders
//! of exchanges, of entries here, and of what is heard, for two and three users on two and three ranks.

use raddle_vm::ChannelEnd;
use std::collections::BTreeMap;

/// What is known of a PLACED PAR's channels.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct TouchTable {
    /// The ends that are used here, as far as that was seen: the first of each channel.
    own: BTreeMap<u32, ChannelEnd>,
    /// Those of others.
    others: BTreeMap<(u32, ChannelEnd), usize>,
}

/// What comes of a touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Touch {
    /// Of the other end nothing is known yet; or it is used here.
    Alone,
    /// This end is used here, the other one there.
    Joins(ChannelEnd, usize),
    /// That rank uses the same end.
    Twice(usize),
}

impl TouchTable {
    /// A process here is the first of this rank to use the channel. Others are to hear it, unless it is used twice.
    pub(super) fn own(&mut self, channel: u32, end: ChannelEnd) -> Touch {
        self.own.insert(channel, end);
        if let Some(&peer) = self.others.get(&(channel, end)) {
            return Touch::Twice(peer);
        }
        self.others.get(&(channel, end.other())).map_or(Touch::Alone, |peer| Touch::Joins(end, *peer))
    }

    /// A process of rank `from` is the first there.
    pub(super) fn others(&mut self, (rank, from): (usize, usize), channel: u32, end: ChannelEnd) -> Touch {
        if let Some(other) = self.others.insert((channel, end), from) {
            return Touch::Twice(other);
        }
        match self.own.get(&channel) {
            Some(own) if *own == end => Touch::Twice(rank),
            Some(own) => Touch::Joins(*own, from),
            None => Touch::Alone,
        }
    }

    /// Another PLACED PAR has begun: what others have touched in the last one, after it had ended here, is over.
    pub(super) fn forget_others(&mut self) {
        self.others.clear();
    }

    /// It has ended here.
    pub(super) fn forget(&mut self) {
        *self = TouchTable::default();
    }
}

#[cfg(test)]
mod model {
    use super::*;
    use std::collections::{BTreeSet, VecDeque};

    const CHANNEL: u32 = 640;

    /// How far a user has come.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    enum User {
        Begins,
        /// It has taken `UNTOUCHED` out, and is not in the table yet.
        HasExchanged,
        Uses,
    }

    #[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
    struct World {
        users: Vec<User>,
        /// Whether the word of each rank is untouched.
        untouched: Vec<bool>,
        tables: Vec<TouchTable>,
        /// What is on its way from one rank to another one, in its order.
        wires: Vec<Vec<VecDeque<ChannelEnd>>>,
        /// To whom each rank has joined which end of its own; and who has told that one is used twice.
        joined: Vec<Vec<(ChannelEnd, usize)>>,
        told: bool,
    }

    /// A planted mistake.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Mistake {
        None,
        /// Others hear it before it is in the table, which forgets what came meanwhile.
        LooksAtOthersFirst,
        /// The word is read and written, and not exchanged.
        ReadsAndWrites,
        /// What is heard of a channel that nobody here has touched is dropped.
        ForgetsEarly,
    }

    impl World {
        fn took(&mut self, rank: usize, touch: Touch) {
            match touch {
                Touch::Alone => {}
                Touch::Joins(end, peer) => self.joined[rank].push((end, peer)),
                Touch::Twice(_) => self.told = true,
            }
        }
    }

    /// All worlds that are reached when nothing can go on, of users at ranks.
    fn search(ranks: usize, users: &[(usize, ChannelEnd)], mistake: Mistake) -> Vec<World> {
        let begin = World {
            users: vec![User::Begins; users.len()],
            untouched: vec![true; ranks],
            tables: vec![TouchTable::default(); ranks],
            wires: vec![vec![VecDeque::new(); ranks]; ranks],
            joined: vec![Vec::new(); ranks],
            told: false,
        };
        let (mut seen, mut left, mut ends) = (BTreeSet::from([begin.clone()]), vec![begin], Vec::new());
        while let Some(world) = left.pop() {
            let mut next = Vec::new();
            for (number, &(rank, end)) in users.iter().enumerate() {
                let mut after = world.clone();
                match world.users[number] {
                    User::Begins => {
                        let splits = mistake == Mistake::ReadsAndWrites
                            && users
                                .iter()
                                .zip(&world.users)
                                .any(|(other, at)| other.0 == rank && *at == User::HasExchanged);
                        let was = std::mem::replace(&mut after.untouched[rank], false) || splits;
                        after.users[number] = if was { User::HasExchanged } else { User::Uses };
                    }
                    User::HasExchanged => {
                        if mistake == Mistake::LooksAtOthersFirst {
                            after.tables[rank].forget_others();
                        }
                        let touch = after.tables[rank].own(CHANNEL, end);
                        after.took(rank, touch);
                        if !matches!(touch, Touch::Twice(_)) {
                            (0..ranks)
                                .filter(|to| *to != rank)
                                .for_each(|to| after.wires[rank][to].push_back(end));
                        }
                        after.users[number] = User::Uses;
                    }
                    User::Uses => continue,
                }
                next.push(after);
            }
            for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
                let mut after = world.clone();
                let Some(end) = after.wires[from][to].pop_front() else { continue };
                if mistake != Mistake::ForgetsEarly || after.tables[to].own.contains_key(&CHANNEL) {
                    let touch = after.tables[to].others((to, from), CHANNEL, end);
                    after.took(to, touch);
                }
                next.push(after);
            }
            if next.is_empty() {
                ends.push(world);
            }
            for world in next {
                if seen.insert(world.clone()) {
                    left.push(world);
                }
            }
        }
        ends
    }

    /// Whether each end of all is as it must be.
    fn is_right(ranks: usize, users: &[(usize, ChannelEnd)], mistake: Mistake) -> bool {
        let at = |end| -> BTreeSet<usize> {
            users.iter().filter(|user| user.1 == end).map(|user| user.0).collect()
        };
        let (outputs, inputs) = (at(Output), at(Input));
        let all = search(ranks, users, mistake);
        assert!(!all.is_empty());
        all.iter().all(|world| {
            if outputs.len() > 1 || inputs.len() > 1 {
                // Where both ends are used on one rank, too, its machine finds a stranger in the word.
                let is_mixed = outputs.intersection(&inputs).next().is_some();
                return world.told || is_mixed;
            }
            let (Some(&output), Some(&input)) = (outputs.first(), inputs.first()) else { return !world.told };
            let mut expected = vec![Vec::new(); ranks];
            if output != input {
                expected[output] = vec![(Output, input)];
                expected[input] = vec![(Input, output)];
            }
            !world.told && world.joined == expected
        })
    }

    use ChannelEnd::{Input, Output};

    const CASES: [(usize, &[(usize, ChannelEnd)]); 9] = [
        (2, &[(0, Output), (1, Input)]),
        (2, &[(0, Output), (0, Input)]),
        (3, &[(2, Output), (2, Input)]),
        (3, &[(1, Output), (2, Input)]),
        (2, &[(0, Output), (1, Output)]),
        (3, &[(0, Input), (1, Input), (2, Output)]),
        (3, &[(0, Output), (1, Output), (2, Output)]),
        (2, &[(0, Output), (0, Output), (1, Input)]),
        (2, &[(0, Output), (1, Input), (1, Input)]),
    ];

    #[test]
    fn ends_are_joined_in_all_orders() {
        for (ranks, users) in CASES {
            assert!(is_right(ranks, users, Mistake::None), "{ranks} ranks: {users:?}");
        }
    }

    #[test]
    fn planted_mistakes_are_found() {
        for mistake in [Mistake::LooksAtOthersFirst, Mistake::ReadsAndWrites, Mistake::ForgetsEarly] {
            assert!(CASES.iter().any(|(ranks, users)| !is_right(*ranks, users, mistake)));
        }
    }
}
