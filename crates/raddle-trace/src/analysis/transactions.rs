//! Owns: what became of transactions: how many committed, which variables had others run again, who overtook whom.
//! May use: `event`, `log`.
//! Never: transactions that only read and went well: they are operations.
//!
//! A commit has a version, and so has a variable that was found newer than a transaction's snapshot: that is how the
//! one who wrote it is found. Versions are recorded in 32 bits: of two commits with the same the nearer one by time
//! counts as the one that was met. Who has a variable locked or reserved is not recorded.

use super::labels;
use crate::event::Event;
use crate::log::{At, Log};
use std::collections::{BTreeMap, HashMap};

/// The transactions of a trace of level `sync`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    /// Those that have committed and written something.
    pub committed: u64,
    /// Attempts in vain, of those that are known to have been overtaken.
    pub overtaken: u64,
    /// The places where variables were made, and how many attempts each had run again; most first.
    pub hottest: Vec<(String, u64)>,
    /// Who has overtaken whom, by label, and how often; most first. The first is `None` where that is not known.
    pub pairs: Vec<(Option<String>, String, u64)>,
}

/// Commits of one version: when each was recorded, and by which thread.
type Commits = HashMap<u32, Vec<(u64, u32)>>;

pub(super) fn of(log: &Log, by_time: &[(u32, At)]) -> Transactions {
    let (commits, overtaken) = read(by_time);
    let label = |thread| labels::split(&log.name(thread)).0.into_owned();
    let mut hottest = BTreeMap::<u32, u64>::new();
    let mut pairs = BTreeMap::<(Option<String>, String), u64>::new();
    for (ns, thread, site, version) in &overtaken {
        *hottest.entry(*site).or_default() += 1;
        let met = commits.get(version).filter(|_| *version != 0);
        let nearest = met.and_then(|all| all.iter().min_by_key(|(at, _)| at.abs_diff(*ns)));
        *pairs.entry((nearest.map(|(_, by)| label(*by)), label(*thread))).or_default() += 1;
    }
    let mut hottest: Vec<_> = hottest.into_iter().map(|(site, count)| (log.string(site), count)).collect();
    hottest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut pairs: Vec<_> = pairs.into_iter().map(|((by, whom), count)| (by, whom, count)).collect();
    pairs.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (&a.0, &a.1).cmp(&(&b.0, &b.1))));
    let committed = commits.values().map(|all| all.len() as u64).sum();
    Transactions { committed, overtaken: overtaken.len() as u64, hottest, pairs }
}

/// All commits; and of each attempt in vain the time, the thread, the variable's place and its version.
fn read(by_time: &[(u32, At)]) -> (Commits, Vec<(u64, u32, u32, u32)>) {
    let (mut commits, mut overtaken) = (Commits::new(), Vec::new());
    let mut running: HashMap<u32, u32> = HashMap::new();
    for (worker, at) in by_time {
        let thread = running.get(worker).copied().unwrap_or(0);
        match at.event {
            Event::Switch => {
                running.insert(*worker, at.a);
            }
            Event::Committed => commits.entry(at.a).or_default().push((at.ns, thread)),
            Event::Overtaken => overtaken.push((at.ns, thread, at.a, at.b)),
            _ => (),
        }
    }
    (commits, overtaken)
}

#[cfg(test)]
mod tests {
    use crate::analysis::{Analysis, report};
    use crate::event::{Event, StopReason};
    use crate::log::tests::Script;

    #[test]
    fn who_overtook_whom_is_found_by_the_version() {
        let mut script = Script::new(2, 1000);
        script.name(1, "mover 1").name(2, "audit 7").name(99, "src/bank.rs:3:9").name(98, "src/bank.rs:4:9");
        script.switch(0, 0, StopReason::None, 1).switch(1, 0, StopReason::None, 2);
        // The commit is recorded a little after others may see it.
        script.put(1, 90, Event::Overtaken, 3, 5).put(0, 100, Event::Committed, 5, 2);
        script.put(0, 200, Event::Committed, 6, 2).put(1, 300, Event::Overtaken, 3, 6);
        script.put(1, 400, Event::Overtaken, 4, 0);
        let log = script.log();
        let analysis = Analysis::of(&log);
        let found = &analysis.transactions;
        assert_eq!((found.committed, found.overtaken), (2, 3));
        let audit = "audit".to_owned();
        assert_eq!(found.pairs, [(Some("mover".to_owned()), audit.clone(), 2), (None, audit, 1)]);
        assert_eq!(found.hottest[0], ("src/bank.rs:3:9".to_owned(), 2));
        let said = report(&log, &analysis);
        assert!(said.contains("transactions: 2 have written; 3 attempts were overtaken"), "{said}");
        assert!(said.contains("2 x  at a variable made at src/bank.rs:3:9"), "{said}");
        assert!(said.contains("2 x  mover overtook audit"), "{said}");
    }
}
