//! Owns: whether anything can go on, on any rank; and the account if nothing can.
//! May use: `many`, `raddle-vm`.
//! Never: a deadlock told while a message is on its way.
//!
//! Rank 0 hears of each rank that nothing there can go on before something comes, and how many frames it has sent to
//! others and handled of others. If these add up to the same, nothing was on its way when each said so; but they said
//! it at different times. So rank 0 asks all again: if each answers that nothing has gone on there since, with the same
//! counts, then nothing was on its way, and nobody went on, between the last first word and the first answer: and what
//! waits for others then waits for ever. (Mattern's four counters.) A rank answers by looking itself, under the lock by
//! which it handles frames.

use super::frame::{Account, FrameCounts, RankFrame};
use super::{Keeper, KeeperState};
use crate::Failure;
use crate::many::MachineHost;
use raddle_vm::FarUsers;
use std::fmt::Write as _;

/// What is known of that.
#[derive(Default)]
pub(super) struct StillTable {
    /// The visits to the machine when it was last seen to stand still, and what was said then.
    said: Option<(u32, FrameCounts)>,
    /// Rank 0: what each has said last. None has sent or handled anything before its first image.
    heard: Vec<FrameCounts>,
    /// The wave that is under way, and the number of the next.
    wave: Option<Wave>,
    waves: u32,
    /// Nothing can go on anywhere, and what others may use has been heard of so many.
    users: FarUsers,
    users_of: usize,
    has_told_uses: bool,
    accounts: Vec<Option<Account>>,
}

/// All are asked again.
struct Wave {
    number: u32,
    /// What each had said.
    before: Vec<FrameCounts>,
    answers: Vec<Option<bool>>,
}

impl Keeper {
    /// Nothing here can go on by itself, as the watcher has seen: no worker has been in the machine since that many
    /// visits.
    pub(in crate::many) fn stands_still(&self, host: &MachineHost<'_>, visits: u32) {
        let mut state = self.state();
        self.pay(&mut state);
        let said = (visits, state.counts);
        if state.still.said == Some(said) || !state.stand_ins_wait(host) {
            return;
        }
        state.still.said = Some(said);
        if self.rank == 0 {
            self.others_still(&mut state, 0, said.1);
        } else {
            self.send(&mut state, 0, &RankFrame::Still(said.1));
        }
    }

    fn is_still(host: &MachineHost<'_>, state: &KeeperState) -> bool {
        let said = state.still.said.filter(|(_, counts)| *counts == state.counts);
        said.is_some_and(|(visits, _)| {
            state.stand_ins_wait(host) && host.machine.stands_still(visits, || host.visits())
        })
    }

    /// Rank 0: another one, or itself, stands still.
    fn others_still(&self, state: &mut KeeperState, rank: usize, counts: FrameCounts) {
        let size = self.size;
        state.still.heard.resize(size, FrameCounts::default());
        state.still.heard[rank] = counts;
        let own = state.still.said.is_some_and(|(_, counts)| counts == state.counts);
        if !own || state.still.wave.is_some() || !adds_up(&state.still.heard) {
            return;
        }
        state.still.waves += 1;
        let number = state.still.waves;
        let before = state.still.heard.clone();
        state.still.wave = Some(Wave { number, before, answers: vec![None; size] });
        self.send_to_others(state, &RankFrame::Ask { wave: number });
    }

    pub(super) fn handle_still(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        from: usize,
        frame: RankFrame,
    ) -> Result<(), String> {
        match frame {
            RankFrame::Still(counts) => self.others_still(state, from, counts),
            RankFrame::Ask { wave } => {
                let still = Self::is_still(host, state);
                let answer = RankFrame::Answer { wave, still, counts: state.counts };
                self.send(state, 0, &answer);
            }
            RankFrame::Answer { wave, still, counts } => {
                self.answered(host, state, (from, wave), (still, counts))
            }
            RankFrame::Tell => self.tell_uses(host, state),
            RankFrame::Uses(used) => {
                let rank = from as u32;
                for end in used.ends {
                    state.still.users.ends.entry(end).or_default().push(rank);
                }
                if used.more {
                    state.still.users.unknown.push(rank);
                }
                state.still.users_of += 1;
                self.tell_if_complete(host, state);
            }
            RankFrame::Told(account) => self.told(host, state, from, account),
            _ => return Err(super::not_understood(from)),
        }
        Ok(())
    }

    /// Rank 0 hears an answer.
    fn answered(
        &self,
        host: &MachineHost<'_>,
        state: &mut KeeperState,
        (from, number): (usize, u32),
        (still, counts): (bool, FrameCounts),
    ) {
        let Some(wave) = state.still.wave.as_mut().filter(|wave| wave.number == number) else { return };
        wave.answers[from] = Some(still && wave.before[from] == counts);
        if wave.answers[1..].contains(&None) {
            return;
        }
        let wave = state.still.wave.take().expect("just looked at");
        let all = wave.answers[1..].iter().all(|answer| *answer == Some(true));
        if all && wave.before[0] == state.counts && Self::is_still(host, state) {
            state.still.accounts = vec![None; self.size];
            self.send_to_others(state, &RankFrame::Tell);
            self.tell_uses(host, state);
        } else {
            // Who has gone on says when it stands again; rank 0 itself, too.
            state.still.said = None;
        }
    }

    /// Tells all others which ends processes here may still use: who waits for those waits for this rank.
    fn tell_uses(&self, host: &MachineHost<'_>, state: &mut KeeperState) {
        let used = host.machine.used_ends(&state.placed);
        self.send_to_others(state, &RankFrame::Uses(used));
        state.still.has_told_uses = true;
        self.tell_if_complete(host, state);
    }

    /// When all others have said that, this rank knows for whom it waits.
    fn tell_if_complete(&self, host: &MachineHost<'_>, state: &mut KeeperState) {
        if !state.still.has_told_uses || state.still.users_of + 1 < self.size {
            return;
        }
        let account = self.account(host, state);
        if self.rank == 0 {
            self.told(host, state, 0, account);
        } else {
            self.send(state, 0, &RankFrame::Told(account));
        }
    }

    /// Who waits here, and for which rank.
    fn account(&self, host: &MachineHost<'_>, state: &KeeperState) -> Account {
        let report = host.machine.report_deadlock_among(&state.still.users);
        let mut waits = Vec::new();
        for process in &report.processes {
            let who = || format!("`{}` at {} {}", process.label(), process.place, process.doing);
            waits.extend(process.ranks.iter().map(|rank| (*rank, who())));
        }
        Account { waits, text: format!("rank {}: {report}", self.rank) }
    }

    /// Rank 0 hears that; when it has heard of all, the program is over.
    fn told(&self, host: &MachineHost<'_>, state: &mut KeeperState, from: usize, account: Account) {
        let Some(place) = state.still.accounts.get_mut(from) else { return };
        *place = Some(account);
        if state.still.accounts.contains(&None) {
            return;
        }
        let accounts: Vec<Account> = state.still.accounts.drain(..).flatten().collect();
        state.outcome.told = Some(written(&accounts));
        host.end_from_outside(Failure::Deadlock);
    }
}

/// Whether as much was handled as sent.
fn adds_up(all: &[FrameCounts]) -> bool {
    let (sent, handled) = all.iter().fold((0_u64, 0_u64), |(sent, handled), counts| {
        (sent.wrapping_add(counts.sent), handled.wrapping_add(counts.handled))
    });
    sent == handled
}

/// The account of all.
fn written(accounts: &[Account]) -> String {
    let mut text = format!(
        "deadlock over {} ranks: no process can go on on any of them, and no message is on its way\n",
        accounts.len()
    );
    let circle = circle_of(accounts);
    if !circle.is_empty() {
        text.push_str("  these ranks wait for each other in a circle:\n");
    }
    for (rank, other, who) in circle {
        let _ = writeln!(text, "    rank {rank} for rank {other}: {who}");
    }
    accounts.iter().for_each(|account| text.push_str(&account.text));
    text.trim_end().to_owned()
}

/// Ranks of which each has a process that waits for the next one, and the last for the first; with that process.
fn circle_of(accounts: &[Account]) -> Vec<(usize, usize, &str)> {
    for start in 0..accounts.len() {
        // The way from `start` to here: each rank, and which of its waits was followed last.
        let mut way: Vec<(usize, usize)> = vec![(start, 0)];
        let mut seen = vec![false; accounts.len()];
        seen[start] = true;
        while let Some((rank, next)) = way.last_mut() {
            let Some((other, _)) = accounts[*rank].waits.get(*next) else {
                way.pop();
                continue;
            };
            *next += 1;
            let other = *other as usize;
            if other == start {
                let step = |&(rank, next): &(usize, usize)| {
                    let (other, who) = &accounts[rank].waits[next - 1];
                    (rank, *other as usize, who.as_str())
                };
                return way.iter().map(step).collect();
            }
            if other < accounts.len() && !std::mem::replace(&mut seen[other], true) {
                way.push((other, 0));
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(all: &[&[u32]]) -> Vec<Account> {
        let one = |list: &&[u32]| {
            let waits = list.iter().map(|rank| (*rank, format!("`p{rank}`"))).collect();
            Account { waits, text: String::new() }
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn a_circle_of_ranks_is_found_and_named() {
        let accounts = waits(&[&[1], &[3, 2], &[1], &[]]);
        let circle: Vec<(usize, usize)> =
            circle_of(&accounts).into_iter().map(|(one, other, _)| (one, other)).collect();
        assert_eq!(circle, [(1, 2), (2, 1)]);
        assert!(circle_of(&waits(&[&[1], &[2], &[]])).is_empty());
        assert!(written(&accounts).contains("rank 1 for rank 2: `p2`"), "{}", written(&accounts));
    }

    #[test]
    fn frames_on_their_way_do_not_add_up() {
        let counts = |sent, handled| FrameCounts { sent, handled };
        assert!(adds_up(&[counts(3, 1), counts(1, 3)]));
        assert!(!adds_up(&[counts(3, 1), counts(1, 2)]));
    }
}
