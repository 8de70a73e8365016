//! Owns: what is said of messages between ranks: when each was under way, who waited for whom, who looked after them.
//! May use: `event`, `log`.
//! Never: a guess at another rank's time; a trace is of one rank.
//!
//! An exchange is recorded at its end: one record of it, three of each of its messages, one of each look since the last
//! exchange; in one piece, on one worker. Times in them are counted back from there, in tenths of a microsecond.

use super::duration;
use crate::event::{Event, unpack};
use crate::log::{At, Log};
use std::collections::{BTreeMap, HashMap};

/// A message, from its posting until it was found to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageBar {
    /// When its exchange began, in nanoseconds of the trace.
    pub started_ns: u64,
    /// When MPI was told of it.
    pub posted_ns: u64,
    /// When it was found to be done; the end of the wait, if it was not.
    pub done_ns: u64,
    /// Whether it was done.
    pub is_done: bool,
    /// The string of its exchange's name.
    pub exchange: u32,
    /// The string of what it carries.
    pub name: u32,
    /// How long it is.
    pub bytes: u32,
    /// The rank at its other end.
    pub peer: u32,
    /// For how much of its time somebody waited for its exchange.
    pub waited_ns: u64,
}

/// A look of the proxy, or many for nothing, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyLook {
    /// When it began, in nanoseconds of the trace.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// How many messages it found done.
    pub found: u32,
    /// Whether the proxy's own OS thread looked, not a worker.
    pub by_keeper: bool,
}

/// What was waited for: exchanges of one name, with one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerWait {
    /// The exchange.
    pub exchange: String,
    /// The rank.
    pub peer: u32,
    /// How many there were.
    pub count: u64,
    /// All bytes of their messages.
    pub bytes: u64,
    /// How long they were under way together, in nanoseconds.
    pub under_way_ns: u64,
    /// How long somebody waited while messages of this rank were not done.
    pub waited_ns: u64,
    /// How often its message was the last one to come, of those with several ranks.
    pub last: u64,
    /// How many of its messages were not done when the wait ended.
    pub late: u64,
}

/// What is known of messages between ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Each message, by its posting.
    pub bars: Vec<MessageBar>,
    /// Each look, by its begin.
    pub looks: Vec<ProxyLook>,
    /// Those who were waited for most first.
    pub waits: Vec<PeerWait>,
    /// How many exchanges there were.
    pub exchanges: u64,
    /// How long they were waited for, in nanoseconds.
    pub waited_ns: u64,
    /// How long they were under way.
    pub under_way_ns: u64,
    /// The longest time without a look while messages were under way and nobody waited.
    pub longest_gap_ns: u64,
    /// What to do, in words; none without messages.
    pub advice: Option<String>,
}

/// An exchange that has ended.
struct Exchange {
    name: u32,
    end_ns: u64,
    waited_ns: u64,
    messages: Vec<MessageBar>,
}

/// With less of the time than this waiting, there is nothing to do: a fiftieth.
const WORTH_IT: u64 = 50;
/// Looks that are further apart lose time: twice the proxy's own longest gap.
const GAP_NS: u64 = 4_000_000;

fn before(ns: u64, tenths: u32) -> u64 {
    ns.saturating_sub(u64::from(tenths) * 100)
}

impl Exchange {
    fn started_ns(&self) -> u64 {
        self.messages.iter().map(|bar| bar.posted_ns).min().unwrap_or(self.end_ns)
    }

    fn wait_began_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.waited_ns)
    }

    fn done_ns(&self) -> u64 {
        self.messages.iter().map(|bar| bar.done_ns).max().unwrap_or(self.end_ns)
    }

    fn under_way_ns(&self) -> u64 {
        self.done_ns().saturating_sub(self.started_ns())
    }
}

pub(super) fn of(log: &Log, by_time: &[(u32, At)]) -> Messages {
    let (exchanges, mut looks) = read(by_time);
    if exchanges.is_empty() {
        return Messages::default();
    }
    looks.sort_by_key(|look| (look.begin_ns, look.end_ns));
    let sum = |of: fn(&Exchange) -> u64| exchanges.iter().map(of).fold(0, u64::saturating_add);
    let waits = waits(log, &exchanges);
    let longest_gap_ns = exchanges.iter().map(|exchange| longest_gap(exchange, &looks)).max().unwrap_or(0);
    let mut bars: Vec<MessageBar> = exchanges.iter().flat_map(Exchange::bars).collect();
    bars.sort_by_key(|bar| (bar.posted_ns, bar.done_ns));
    let mut messages = Messages {
        bars,
        waits,
        exchanges: exchanges.len() as u64,
        waited_ns: sum(|exchange| exchange.waited_ns),
        under_way_ns: sum(Exchange::under_way_ns),
        longest_gap_ns,
        advice: None,
        looks,
    };
    messages.advice = Some(messages.advice(log, &exchanges));
    messages
}

impl Exchange {
    fn bars(&self) -> impl Iterator<Item = MessageBar> {
        let (started_ns, began) = (self.started_ns(), self.wait_began_ns());
        self.messages.iter().map(move |bar| MessageBar {
            started_ns,
            waited_ns: bar.done_ns.saturating_sub(began.max(bar.posted_ns)),
            ..*bar
        })
    }
}

/// The exchanges, and the looks. What is incomplete, since it was overwritten, is left out.
fn read(by_time: &[(u32, At)]) -> (Vec<Exchange>, Vec<ProxyLook>) {
    let (mut exchanges, mut looks): (Vec<Exchange>, Vec<ProxyLook>) = (Vec::new(), Vec::new());
    // Of each worker: the place of the exchange whose messages come now.
    let mut current: HashMap<u32, usize> = HashMap::new();
    for (worker, at) in by_time {
        let place = current.get(worker).copied();
        let last = place.and_then(|place| exchanges[place].messages.last_mut());
        match at.event {
            Event::Exchanged => {
                current.insert(*worker, exchanges.len());
                let waited_ns = u64::from(at.b) * 100;
                exchanges.push(Exchange { name: at.a, end_ns: at.ns, waited_ns, messages: Vec::new() });
            }
            Event::Message => {
                let Some(exchange) = place.map(|place| &mut exchanges[place]) else { continue };
                let (name, bytes, end_ns) = (at.a, at.b, exchange.end_ns);
                exchange.messages.push(MessageBar {
                    started_ns: end_ns,
                    posted_ns: end_ns,
                    done_ns: end_ns,
                    is_done: false,
                    exchange: exchange.name,
                    name,
                    bytes,
                    peer: 0,
                    waited_ns: 0,
                });
            }
            Event::MessagePeer => last.into_iter().for_each(|bar| bar.peer = at.a),
            Event::MessageTimes => {
                let Some(bar) = last else { continue };
                bar.is_done = at.b != u32::MAX;
                bar.posted_ns = before(bar.done_ns, at.a);
                if bar.is_done {
                    bar.done_ns = before(bar.done_ns, at.b).max(bar.posted_ns);
                }
            }
            Event::ProxyLook => {
                let (found, length) = unpack(at.b);
                let begin_ns = before(at.ns, at.a);
                looks.push(ProxyLook {
                    begin_ns,
                    end_ns: begin_ns.saturating_add(u64::from(length) * 100).min(at.ns),
                    found: u32::from(found & 127),
                    by_keeper: found & 128 != 0,
                });
            }
            _ => (),
        }
    }
    exchanges.retain(|exchange| !exchange.messages.is_empty());
    (exchanges, looks)
}

/// What was waited for, by exchange and rank.
fn waits(log: &Log, exchanges: &[Exchange]) -> Vec<PeerWait> {
    let mut waits: BTreeMap<(u32, u32), PeerWait> = BTreeMap::new();
    for exchange in exchanges {
        let (began, done) = (exchange.wait_began_ns(), exchange.done_ns());
        let mut peers: BTreeMap<u32, (u64, u64, u64, u64)> = BTreeMap::new();
        for bar in &exchange.messages {
            let seen = peers.entry(bar.peer).or_insert((u64::MAX, 0, 0, 0));
            let late = seen.3 + u64::from(!bar.is_done);
            let bytes = seen.2 + u64::from(bar.bytes);
            *seen = (seen.0.min(bar.posted_ns), seen.1.max(bar.done_ns), bytes, late);
        }
        let are_several = peers.len() > 1;
        for (peer, (posted_ns, done_ns, bytes, late)) in peers {
            let wait = waits.entry((exchange.name, peer)).or_insert_with(|| PeerWait {
                exchange: log.string(exchange.name),
                peer,
                count: 0,
                bytes: 0,
                under_way_ns: 0,
                waited_ns: 0,
                last: 0,
                late: 0,
            });
            let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
            add(&mut wait.count, 1);
            add(&mut wait.bytes, bytes);
            add(&mut wait.under_way_ns, done_ns.saturating_sub(posted_ns));
            add(&mut wait.waited_ns, done_ns.saturating_sub(began.max(posted_ns)));
            add(&mut wait.last, u64::from(are_several && done_ns == done));
            add(&mut wait.late, late);
        }
    }
    let mut waits: Vec<PeerWait> = waits.into_values().collect();
    waits.sort_by(|a, b| b.waited_ns.cmp(&a.waited_ns).then_with(|| a.peer.cmp(&b.peer)));
    waits
}

/// The longest time without a look from an exchange's begin until somebody waits for it.
fn longest_gap(exchange: &Exchange, looks: &[ProxyLook]) -> u64 {
    let (mut since, until) = (exchange.started_ns(), exchange.wait_began_ns().min(exchange.done_ns()));
    let mut longest = 0;
    let first = looks.partition_point(|look| look.begin_ns < since);
    for look in looks[first..].iter().take_while(|look| look.begin_ns < until) {
        longest = longest.max(look.begin_ns.saturating_sub(since));
        since = since.max(look.end_ns);
    }
    longest.max(until.saturating_sub(since))
}

impl Messages {
    /// How much of the time under way nobody waited, in percent.
    pub fn hidden(&self) -> u64 {
        let waited = self.waited_ns.min(self.under_way_ns);
        100 - (100.0 * waited as f64 / self.under_way_ns.max(1) as f64).round() as u64
    }

    fn advice(&self, log: &Log, exchanges: &[Exchange]) -> String {
        if let Some(late) = self.waits.iter().find(|wait| wait.late > 0) {
            let PeerWait { exchange, peer, late, .. } = late;
            return format!(
                "{late} messages of {exchange} with rank {peer} were late: see what rank {peer} does"
            );
        }
        let hidden = self.hidden();
        if self.waited_ns < log.wall_ns() / WORTH_IT {
            let waited = duration(self.waited_ns);
            return format!(
                "nothing to do: {hidden} % of the messages' time is hidden, {waited} was waited for"
            );
        }
        // What is waited for most decides.
        let mut by_name: BTreeMap<u32, u64> = BTreeMap::new();
        for exchange in exchanges {
            let sum = by_name.entry(exchange.name).or_default();
            *sum = sum.saturating_add(exchange.waited_ns);
        }
        let Some((name, waited_ns)) = by_name.into_iter().max_by_key(|(_, ns)| *ns) else {
            return String::new();
        };
        let these: Vec<&Exchange> = exchanges.iter().filter(|exchange| exchange.name == name).collect();
        let count = these.len() as u64;
        let mean = |of: &dyn Fn(&Exchange) -> u64| {
            these.iter().map(|exchange| of(exchange)).fold(0, u64::saturating_add) / count.max(1)
        };
        let under_way = mean(&Exchange::under_way_ns);
        let computed = mean(&|exchange| exchange.wait_began_ns().saturating_sub(exchange.started_ns()));
        let bytes = mean(&|exchange| exchange.messages.iter().map(|bar| u64::from(bar.bytes)).sum());
        let name = log.string(name);
        let waited = duration(waited_ns / count.max(1));
        let lead = format!(
            "{name}: {bytes} bytes are under way {}, {waited} of it is waited for",
            duration(under_way)
        );
        let gap = these.iter().map(|exchange| longest_gap(exchange, &self.looks)).max().unwrap_or(0);
        if computed < under_way / 20 {
            return format!("{lead}, from its begin on; begin it before what does not need it is computed");
        }
        if !these.iter().any(|exchange| self.is_looked_after(exchange)) {
            return format!(
                "{lead}, and nobody looks before: MPI moves little then; mode `shared`, or `auto`"
            );
        }
        if let Some(of) = self.waits.iter().find(|of| of.exchange == name && 3 * of.last > 2 * count) {
            let PeerWait { peer, last, .. } = of;
            return format!(
                "{lead}; rank {peer} is last {last} of {count} times: it should have less to compute"
            );
        }
        if gap > GAP_NS {
            let gap = duration(gap);
            return format!(
                "{lead}, and nobody looks for {gap}: shorter tasks, `Net::point`, or mode `watched`"
            );
        }
        format!("{lead}, though somebody looks all the time: it takes the wire, or the other rank, that long")
    }

    /// Whether anybody looked before it was waited for.
    fn is_looked_after(&self, exchange: &Exchange) -> bool {
        let first = self.looks.partition_point(|look| look.begin_ns < exchange.started_ns());
        self.looks.get(first).is_some_and(|look| look.begin_ns < exchange.wait_began_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::event::StopReason;
    use crate::event::pack;
    use crate::log::tests::Script;

    /// An exchange on worker 0 that ends at `end` ms: waited for so long, and its messages: peer, posted, done.
    fn exchange(script: &mut Script, end: u64, waited: u64, messages: &[(u32, u64, Option<u64>)]) {
        let (ns, tenths) = (end * 1_000_000, |ms: u64| u32::try_from(ms * 10_000).expect("not long"));
        script.put(0, ns, Event::Exchanged, 1, tenths(waited));
        for (peer, posted, done) in messages {
            script.put(0, ns, Event::Message, 2, 1000).put(0, ns, Event::MessagePeer, *peer, 1);
            let done = done.map_or(u32::MAX, |done| tenths(end - done));
            script.put(0, ns, Event::MessageTimes, tenths(end - posted), done);
        }
    }

    fn looks(script: &mut Script, at: u64, looks: &[u64]) {
        for look in looks {
            let ago = u32::try_from((at - look) * 10_000).expect("not long");
            script.put(0, at * 1_000_000, Event::ProxyLook, ago, pack(1, 10));
        }
    }

    fn begun() -> Script {
        let mut script = Script::new(1, 100_000_000);
        script.name(1, "the exchange of `u`").name(2, "face");
        script.switch(0, 0, StopReason::None, 1);
        script
    }

    fn advice(script: &Script) -> String {
        Analysis::of(&script.log()).messages.advice.expect("there are messages")
    }

    #[test]
    fn bars_say_when_each_message_was_under_way_and_waited_for() {
        let mut script = begun();
        exchange(&mut script, 30, 10, &[(1, 10, Some(25)), (2, 12, Some(30))]);
        looks(&mut script, 30, &[15, 25]);
        let messages = Analysis::of(&script.log()).messages;
        let times: Vec<_> = messages
            .bars
            .iter()
            .map(|bar| [bar.started_ns, bar.posted_ns, bar.done_ns, bar.waited_ns].map(|ns| ns / 1_000_000))
            .collect();
        assert_eq!(times, [[10, 10, 25, 5], [10, 12, 30, 10]]);
        let waits: Vec<_> =
            messages.waits.iter().map(|of| (of.peer, of.waited_ns / 1_000_000, of.last)).collect();
        assert_eq!(waits, [(2, 10, 1), (1, 5, 0)]);
        assert_eq!((messages.exchanges, messages.hidden(), messages.looks.len()), (1, 50, 2));
        // From the posting to the first look, and from that one to the wait.
        assert_eq!(messages.longest_gap_ns / 1_000_000, 5);
    }

    #[test]
    fn the_advice_names_what_is_missing() {
        let mut hidden = begun();
        exchange(&mut hidden, 30, 0, &[(1, 10, Some(25))]);
        assert!(advice(&hidden).starts_with("nothing to do: 100 % of"), "{}", advice(&hidden));
        let mut late = begun();
        exchange(&mut late, 30, 10, &[(7, 10, None)]);
        assert!(advice(&late).contains("with rank 7 were late"), "{}", advice(&late));
        let mut at_once = begun();
        exchange(&mut at_once, 30, 20, &[(1, 10, Some(30))]);
        assert!(advice(&at_once).contains("from its begin on"), "{}", advice(&at_once));
        let mut alone = begun();
        exchange(&mut alone, 30, 10, &[(1, 10, Some(30))]);
        looks(&mut alone, 30, &[21, 25]);
        assert!(advice(&alone).contains("nobody looks before"), "{}", advice(&alone));
        let mut rare = begun();
        exchange(&mut rare, 30, 10, &[(1, 10, Some(30))]);
        looks(&mut rare, 30, &[11, 25]);
        assert!(advice(&rare).contains("nobody looks for 9.0"), "{}", advice(&rare));
        let mut slow = begun();
        exchange(&mut slow, 30, 10, &[(1, 10, Some(21)), (2, 10, Some(30))]);
        looks(&mut slow, 30, &[11, 25]);
        assert!(advice(&slow).contains("rank 2 is last 1 of 1 times"), "{}", advice(&slow));
        let mut wire = begun();
        exchange(&mut wire, 30, 10, &[(1, 10, Some(30))]);
        looks(&mut wire, 30, &[11, 14, 17, 19, 21, 25]);
        assert!(advice(&wire).contains("it takes the wire"), "{}", advice(&wire));
    }

    #[test]
    fn what_was_cut_off_is_left_out() {
        let mut script = begun();
        script.put(0, 5, Event::MessageTimes, 7, 0).put(0, 6, Event::Message, 2, 9);
        assert_eq!(Analysis::of(&script.log()).messages, Messages::default());
    }
}
