//! Owns: vector clocks.
//! May use: nothing.
//! Never: knows what a flow is, beyond its number.
//!
//! A clock says of each flow how much of it has happened before. Most clocks agree in most entries: those of siblings
//! differ from their parent's in their own. So a clock is a base, which many share, and what differs from it.

use alloc::vec::Vec;

#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc as Shared;
// Where no pointer can be exchanged there is one thread.
#[cfg(not(target_has_atomic = "ptr"))]
use alloc::rc::Rc as Shared;

/// Pairs of flow and time, by flow.
type Entries = Vec<(u32, u32)>;

/// So many entries of its own a clock passes on to a new flow; with more it gets a new base first.
const OWN_MAX: usize = 16;

/// A vector clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    base: Shared<Entries>,
    own: Entries,
}

fn find(entries: &Entries, flow: u32) -> Result<usize, usize> {
    match entries.last() {
        Some(&(last, _)) if last < flow => Err(entries.len()),
        _ => entries.binary_search_by_key(&flow, |entry| entry.0),
    }
}

impl Clock {
    /// How much of that flow has happened.
    pub(super) fn get(&self, flow: u32) -> u32 {
        match find(&self.own, flow) {
            Ok(at) => self.own[at].1,
            Err(_) => find(&self.base, flow).map_or(0, |at| self.base[at].1),
        }
    }

    /// One more step of that flow.
    pub(super) fn tick(&mut self, flow: u32) {
        let time = self.get(flow).saturating_add(1);
        self.raise(flow, time);
    }

    fn raise(&mut self, flow: u32, time: u32) {
        match find(&self.own, flow) {
            Ok(at) => self.own[at].1 = self.own[at].1.max(time),
            Err(at) if self.get(flow) < time => self.own.insert(at, (flow, time)),
            Err(_) => {}
        }
    }

    /// What has happened before the other has happened before this one, too.
    pub(super) fn merge(&mut self, other: &Clock) {
        if !Shared::ptr_eq(&self.base, &other.base) {
            other.base.iter().for_each(|&(flow, time)| self.raise(flow, time));
        }
        other.own.iter().for_each(|&(flow, time)| self.raise(flow, time));
    }

    /// Makes it cheap to clone.
    pub(super) fn settle(&mut self) {
        if self.own.len() <= OWN_MAX {
            return;
        }
        let (mut all, mut own) = (Entries::with_capacity(self.base.len()), self.own.iter().peekable());
        for &(flow, time) in self.base.iter() {
            while let Some(&&before) = own.peek().filter(|entry| entry.0 < flow) {
                all.push(before);
                own.next();
            }
            let newer = own.next_if(|entry| entry.0 == flow).map_or(0, |entry| entry.1);
            all.push((flow, time.max(newer)));
        }
        all.extend(own);
        *self = Clock { base: Shared::new(all), own: Entries::new() };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    #[test]
    fn a_clock_is_a_map_of_the_highest_times() {
        let (mut state, mut clocks) = (7_u64, [const { None }; 4].map(|_: Option<()>| Clock::default()));
        let mut models: [BTreeMap<u32, u32>; 4] = Default::default();
        for _ in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (one, other) = ((state >> 33) as usize % 4, (state >> 41) as usize % 4);
            let flow = (state >> 48) as u32 % 60;
            match (state >> 60) % 4 {
                0 if one != other => {
                    let theirs = clocks[other].clone();
                    clocks[one].merge(&theirs);
                    for (flow, time) in models[other].clone() {
                        let mine = models[one].entry(flow).or_default();
                        *mine = time.max(*mine);
                    }
                }
                1 => clocks[one].settle(),
                2 => {
                    clocks[other] = clocks[one].clone();
                    models[other] = models[one].clone();
                }
                _ => {
                    clocks[one].tick(flow);
                    *models[one].entry(flow).or_default() += 1;
                }
            }
            let model = |flow| models[one].get(&flow).copied().unwrap_or(0);
            assert!((0..60).all(|flow| clocks[one].get(flow) == model(flow)));
        }
    }
}
