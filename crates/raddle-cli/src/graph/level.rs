//! Owns: a process with what is inside it as a drawing: sizes, places, where channels come in and go out.
//! May use: `network::tree`.
//! Never: a sign of the picture's language.

use std::collections::BTreeMap;

use crate::network::{Network, NetworkPort};

use super::layers::{self, Item, PlacedLine};

/// About what a character takes.
pub(super) const CHARACTER: f64 = 7.0;
/// A box's heading, and the space around what is in it.
const HEADING: f64 = 28.0;
const PADDING: f64 = 20.0;
/// Between two lines that come to one side of a box.
const PORT: f64 = 20.0;
/// Between two lines that go back below the boxes.
const LANE: f64 = 16.0;
/// A box's least size.
const WIDTH: f64 = 92.0;
const HEIGHT: f64 = 44.0;
/// More is cut.
pub(super) const TITLE_MAX: usize = 30;
pub(super) const TEXT_MAX: usize = 34;

/// A point of the drawing.
pub(super) type Point = (f64, f64);

/// A process as a box.
#[derive(Default)]
pub(super) struct Drawing {
    pub(super) process: usize,
    pub(super) size: Point,
    /// Channels that come from outside, and their heights.
    pub(super) ins: Vec<(usize, f64)>,
    pub(super) outs: Vec<(usize, f64)>,
    /// The boxes in it, with their places.
    pub(super) inside: Vec<(Point, Drawing)>,
    pub(super) wires: Vec<Wire>,
    /// Where several lines of a channel meet, or none is.
    pub(super) dots: Vec<Dot>,
}

/// A line, or part of it.
pub(super) struct Wire {
    pub(super) channel: usize,
    /// Where it passes, from its beginning to its end.
    pub(super) points: Vec<Point>,
    /// It goes back to the left: at this height.
    pub(super) lane: Option<f64>,
    /// Its text stands at its beginning.
    pub(super) text: bool,
    /// It ends with an arrow.
    pub(super) arrow: bool,
}

/// A dot.
pub(super) struct Dot {
    pub(super) at: Point,
    /// Nobody is at the other end.
    pub(super) nobody: Option<&'static str>,
}

/// What an item of a level is.
enum LevelThing {
    Inner(Drawing),
    In(usize),
    Out(usize),
    Dot(Option<&'static str>),
}

/// The text of a channel.
pub(super) fn text(network: &Network, channel: usize) -> (String, String) {
    let it = &network.channels[channel];
    let shared = if it.shared { "SHARED " } else { "" };
    (cut(&it.name, TEXT_MAX / 2), cut(&format!("{shared}{}", it.protocol), TEXT_MAX / 2))
}

/// Not longer than there is room for.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['\u{2026}']).collect(),
        None => text.to_owned(),
    }
}

pub(super) fn text_width(network: &Network, channel: usize) -> f64 {
    let (name, protocol) = text(network, channel);
    (name.chars().count() + protocol.chars().count() + 1) as f64 * CHARACTER
}

/// A network, and for each channel the process in whose box it is drawn: the innermost one with all that use it. None
/// if it comes from outside.
struct LevelPlan<'n> {
    network: &'n Network,
    levels: Vec<Option<usize>>,
}

impl LevelPlan<'_> {
    fn of(network: &Network) -> LevelPlan<'_> {
        let mut levels: Vec<Option<usize>> = vec![None; network.channels.len()];
        for (at, process) in network.processes.iter().enumerate() {
            for port in &process.ports {
                let level = &mut levels[port.channel];
                *level = Some(level.map_or(at, |other| common(network, other, at)));
            }
        }
        for (level, channel) in levels.iter_mut().zip(&network.channels) {
            *level = match (channel.owner, *level) {
                (Some(owner), Some(user)) if network.processes[user].children.is_empty() => {
                    // One process alone has it: if it is not its own, the other end is missing where it is declared.
                    Some(if owner == user { user } else { network.processes[user].parent.unwrap_or(user) })
                }
                (Some(_), level) => level,
                (None, _) => None,
            };
        }
        LevelPlan { network, levels }
    }
}

/// The innermost process with both inside.
fn common(network: &Network, one: usize, two: usize) -> usize {
    let mut one = one;
    while !within(network, two, one) {
        match network.processes[one].parent {
            Some(parent) => one = parent,
            None => return one,
        }
    }
    one
}

/// The ends of channels that a process has to the outside of it.
fn outer(plan: &LevelPlan<'_>, process: usize) -> Vec<NetworkPort> {
    let network = plan.network;
    let mut list: Vec<NetworkPort> = Vec::new();
    let mut left = vec![process];
    while let Some(at) = left.pop() {
        list.extend(&network.processes[at].ports);
        left.extend(&network.processes[at].children);
    }
    list.retain(|port| plan.levels[port.channel].is_none_or(|level| !within(network, level, process)));
    list.sort_unstable();
    list.dedup();
    list
}

fn within(network: &Network, mut process: usize, outer: usize) -> bool {
    while process != outer {
        match network.processes[process].parent {
            Some(parent) => process = parent,
            None => return false,
        }
    }
    true
}

/// The drawing of a program.
pub(super) fn of(network: &Network) -> Drawing {
    drawn(&LevelPlan::of(network), 0)
}

/// The drawing of a process.
fn drawn(plan: &LevelPlan<'_>, process: usize) -> Drawing {
    let network = plan.network;
    let ports = outer(plan, process);
    let node = &network.processes[process];
    let title =
        cut(&node.title, TITLE_MAX).chars().count() + node.count.as_ref().map_or(0, |it| it.len() + 3);
    let title = title as f64 * (CHARACTER + 0.4) + 24.0;
    let of = |output: bool| ports.iter().filter(move |it| it.output == output).map(|it| it.channel);
    if node.children.is_empty() {
        let most = of(true).count().max(of(false).count());
        let size = (WIDTH.max(title), HEIGHT.max(PORT * (most as f64 + 0.5)));
        let spread = |channels: Vec<usize>| -> Vec<(usize, f64)> {
            let count = channels.len() as f64;
            let height = |at: usize| size.1 / 2.0 + (at as f64 - (count - 1.0) / 2.0) * PORT;
            channels.into_iter().enumerate().map(|(at, channel)| (channel, height(at))).collect()
        };
        let (ins, outs) = (spread(of(false).collect()), spread(of(true).collect()));
        return Drawing { process, size, ins, outs, ..Drawing::default() };
    }
    let mut things: Vec<LevelThing> =
        node.children.iter().map(|&child| LevelThing::Inner(drawn(plan, child))).collect();
    things.extend(of(false).map(LevelThing::In));
    things.extend(of(true).map(LevelThing::Out));
    let ends = ends(&mut things);
    let mut items: Vec<Item> = things.iter().map(item).collect();
    let mut lines: Vec<PlacedLine> = ends
        .iter()
        .map(|end| PlacedLine {
            from: end.from,
            to: end.to,
            text_width: if end.text { text_width(network, end.channel) } else { 0.0 },
            through: Vec::new(),
            back: false,
        })
        .collect();
    let (width, height) = layers::arrange(&mut items, &mut lines);
    let mut drawing = Drawing { process, ..Drawing::default() };
    let lanes = lines.iter().filter(|line| line.back).count();
    let below = if lanes > 0 { LANE * (lanes as f64 + 1.0) } else { 0.0 };
    // Of a box without lines from outside the border keeps its distance.
    let side = |has: bool| if has { 0.0 } else { PADDING };
    let back = if lanes > 0 { LANE * lanes as f64 + 12.0 } else { 0.0 };
    let left = side(of(false).next().is_some()) + back;
    let right = side(of(true).next().is_some()) + back;
    let shift = (left, HEADING + 8.0);
    drawing.size = ((width + left + right).max(title + 12.0), height + HEADING + 8.0 + PADDING + below);
    wires(&mut drawing, &things, &items, &ends, &lines, shift);
    for (thing, item) in things.into_iter().zip(&items) {
        let (x, y) = (item.x + shift.0, item.y + shift.1);
        match thing {
            LevelThing::Inner(inner) => drawing.inside.push(((x, y), inner)),
            LevelThing::In(channel) => drawing.ins.push((channel, y + item.height / 2.0)),
            LevelThing::Out(channel) => drawing.outs.push((channel, y + item.height / 2.0)),
            LevelThing::Dot(nobody) => {
                drawing.dots.push(Dot { at: (x + 4.0, y + item.height / 2.0), nobody })
            }
        }
    }
    drawing
}

fn item(thing: &LevelThing) -> Item {
    match thing {
        LevelThing::Inner(inner) => Item { width: inner.size.0, height: inner.size.1, ..Item::default() },
        LevelThing::In(_) => Item { height: 4.0, first: true, ..Item::default() },
        LevelThing::Out(_) => Item { height: 4.0, last: true, ..Item::default() },
        LevelThing::Dot(_) => Item { width: 8.0, height: 8.0, ..Item::default() },
    }
}

/// A line between two things of a level.
struct ChannelLine {
    channel: usize,
    from: usize,
    to: usize,
    text: bool,
    arrow: bool,
}

/// The lines of a level; where a channel has not one writer and one reader, a dot comes between them.
fn ends(things: &mut Vec<LevelThing>) -> Vec<ChannelLine> {
    let mut channels: BTreeMap<usize, [Vec<usize>; 2]> = BTreeMap::new();
    for (at, thing) in things.iter().enumerate() {
        match thing {
            LevelThing::Inner(inner) => {
                inner.outs.iter().for_each(|it| channels.entry(it.0).or_default()[0].push(at));
                inner.ins.iter().for_each(|it| channels.entry(it.0).or_default()[1].push(at));
            }
            &LevelThing::In(channel) => channels.entry(channel).or_default()[0].push(at),
            &LevelThing::Out(channel) => channels.entry(channel).or_default()[1].push(at),
            LevelThing::Dot(_) => {}
        }
    }
    let mut list = Vec::new();
    for (channel, [from, to]) in channels {
        // What comes in and goes out has its text outside.
        let outside =
            from.iter().chain(&to).any(|&at| matches!(things[at], LevelThing::In(_) | LevelThing::Out(_)));
        if let (&[from], &[to]) = (&from[..], &to[..]) {
            list.push(ChannelLine { channel, from, to, text: !outside, arrow: true });
            continue;
        }
        let nobody = match (from.is_empty(), to.is_empty()) {
            (true, _) => Some("nobody writes"),
            (_, true) => Some("nobody reads"),
            _ => None,
        };
        things.push(LevelThing::Dot(nobody));
        let dot = things.len() - 1;
        let first_text = !outside && to.is_empty();
        list.extend(from.iter().map(|&from| ChannelLine {
            channel,
            from,
            to: dot,
            text: first_text,
            arrow: false,
        }));
        list.extend(to.iter().enumerate().map(|(at, &to)| ChannelLine {
            channel,
            from: dot,
            to,
            text: !outside && at == 0,
            arrow: true,
        }));
    }
    list
}

/// Where a channel leaves a thing (`output`), or comes to it, from its upper left corner.
fn port(thing: &LevelThing, item: &Item, channel: usize, output: bool) -> Point {
    match thing {
        LevelThing::Inner(inner) => {
            let side = if output { &inner.outs } else { &inner.ins };
            let height = side.iter().find(|it| it.0 == channel).map_or(item.height / 2.0, |it| it.1);
            (if output { item.width } else { 0.0 }, height)
        }
        LevelThing::Dot(_) => (4.0, item.height / 2.0),
        _ => (0.0, item.height / 2.0),
    }
}

fn wires(
    drawing: &mut Drawing,
    things: &[LevelThing],
    items: &[Item],
    ends: &[ChannelLine],
    lines: &[PlacedLine],
    shift: Point,
) {
    let bottom = items.iter().map(|it| it.y + it.height).fold(0.0, f64::max) + shift.1;
    let mut lane = bottom + LANE;
    for (end, line) in ends.iter().zip(lines) {
        let place = |at: usize, (x, y): Point| (items[at].x + x + shift.0, items[at].y + y + shift.1);
        let begin = place(end.from, port(&things[end.from], &items[end.from], end.channel, true));
        let close = place(end.to, port(&things[end.to], &items[end.to], end.channel, false));
        // What comes from outside begins at the border, what goes there ends at it.
        let begin = if let LevelThing::In(_) = things[end.from] { (0.0, begin.1) } else { begin };
        let close = if let LevelThing::Out(_) = things[end.to] { (drawing.size.0, close.1) } else { close };
        let middle = line.through.iter().map(|&at| place(at, (0.0, items[at].height / 2.0)));
        let points = std::iter::once(begin).chain(middle).chain([close]).collect();
        let mut wire = Wire { channel: end.channel, points, lane: None, text: end.text, arrow: end.arrow };
        if line.back {
            wire.lane = Some(lane);
            lane += LANE;
        }
        drawing.wires.push(wire);
    }
}
