//! Owns: who waited for whom, as SVG.
//! May use: `analysis`.
//! Never: a figure that the analysis did not compute; a character of a name that the picture takes for its own.
//!
//! Two columns: on the left who waited, on the right who let them go on, each once, longest first. A program whose
//! processes all wait for each other would be a tangle as a graph; here each line begins beside its own text.

use crate::analysis::{Analysis, WaitedFor, duration};
use std::fmt::Write as _;

/// More lines are not drawn.
const LINES_MAX: usize = 40;
const MARGIN: f64 = 16.0;
const HEADING: f64 = 52.0;
const BOX_WIDTH: f64 = 270.0;
/// Between the columns: room for a line's text, and for the line to turn.
const BETWEEN: f64 = 460.0;
/// What a line's text takes, of the longest.
const TEXT: f64 = 176.0;
/// Between two lines at a box, and between two boxes.
const PORT: f64 = 22.0;
const GAP: f64 = 14.0;
const WIDEST: f64 = 9.0;
/// More of a name is cut.
const NAME_MAX: usize = 36;
const STYLE: &str = "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"9\" \
    markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.5L8 4L0 7.5z\" fill=\"#335\"/>\
    </marker></defs>\n<style>text{font-family:sans-serif;font-size:12px;fill:#222}.t{font-weight:bold}\
    .p{fill:#777}.w{fill:none;stroke:#335;stroke-opacity:.55}.b{fill:#f4f6fa;stroke:#446;stroke-width:1.2}\
    </style>\n";

/// All waits of one label for another.
struct PairLine<'a> {
    waiter: &'a str,
    by: &'a str,
    count: u64,
    waited_ns: u64,
    /// Where most of them began, in words.
    most: &'a WaitedFor,
}

/// A box, with the numbers of its lines from the top.
struct Side<'a> {
    name: &'a str,
    waited_ns: u64,
    lines: Vec<usize>,
    top: f64,
}

/// The picture: an SVG file.
pub fn graph(analysis: &Analysis) -> String {
    let (lines, left_out) = lines(analysis);
    let mut left = sides(&lines, |line| line.waiter);
    let mut right = sides(&lines, |line| line.by);
    let height = place(&mut left).max(place(&mut right)) + MARGIN;
    let width = 2.0 * (MARGIN + BOX_WIDTH) + BETWEEN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n{STYLE}<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut said = |x: f64, y: f64, class: &str, text: &str| {
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>", escaped(text));
    };
    said(MARGIN, 22.0, "t", "who waited");
    said(MARGIN + BOX_WIDTH + BETWEEN, 22.0, "t", "who let them go on");
    let note = match (lines.is_empty(), left_out) {
        (true, _) => "nobody waited for anybody".to_owned(),
        (false, 0) => "how often, how long in the mean, and in all".to_owned(),
        (false, more) => format!("how often, how long in the mean, and in all; {more} more are left out"),
    };
    said(MARGIN + BOX_WIDTH + 12.0, 22.0, "p", &note);
    let most_ns = lines.iter().map(|line| line.waited_ns).max().unwrap_or(0).max(1);
    for (number, line) in lines.iter().enumerate() {
        let from = (MARGIN + BOX_WIDTH, port(&left, number));
        let to = (MARGIN + BOX_WIDTH + BETWEEN, port(&right, number));
        draw_line(&mut out, line, (from, to), most_ns);
    }
    left.iter().for_each(|side| draw_box(&mut out, side, MARGIN));
    right.iter().for_each(|side| draw_box(&mut out, side, MARGIN + BOX_WIDTH + BETWEEN));
    out += "</svg>\n";
    out
}

/// The lines, longest first, and how many more there are.
fn lines(analysis: &Analysis) -> (Vec<PairLine<'_>>, usize) {
    let mut lines: Vec<PairLine<'_>> = Vec::new();
    // The longest of each pair comes first.
    for it in &analysis.waited {
        match lines.iter_mut().find(|line| line.waiter == it.waiter && line.by == it.by) {
            Some(line) => {
                line.count += it.count;
                line.waited_ns = line.waited_ns.saturating_add(it.waited_ns);
            }
            None => lines.push(PairLine {
                waiter: &it.waiter,
                by: &it.by,
                count: it.count,
                waited_ns: it.waited_ns,
                most: it,
            }),
        }
    }
    lines.sort_by_key(|line| std::cmp::Reverse(line.waited_ns));
    let left_out = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    (lines, left_out)
}

/// The boxes of one column.
fn sides<'a>(lines: &[PairLine<'a>], name: impl Fn(&PairLine<'a>) -> &'a str) -> Vec<Side<'a>> {
    let mut sides: Vec<Side<'a>> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let name = name(line);
        let at = sides.iter().position(|side| side.name == name).unwrap_or_else(|| {
            sides.push(Side { name, waited_ns: 0, lines: Vec::new(), top: 0.0 });
            sides.len() - 1
        });
        sides[at].waited_ns = sides[at].waited_ns.saturating_add(line.waited_ns);
        sides[at].lines.push(number);
    }
    sides
}

/// One box below the other; gives where the last one ends.
fn place(sides: &mut [Side<'_>]) -> f64 {
    let mut top = HEADING - 14.0;
    for side in sides {
        side.top = top;
        top += height(side) + GAP;
    }
    top
}

fn height(side: &Side<'_>) -> f64 {
    44_f64.max(PORT * side.lines.len() as f64 + 8.0)
}

/// How high the line of that number comes to its box.
fn port(sides: &[Side<'_>], number: usize) -> f64 {
    let of = |side: &Side<'_>| {
        let place = side.lines.iter().position(|line| *line == number)?;
        let above = (height(side) - PORT * side.lines.len() as f64) / 2.0;
        Some(side.top + above + PORT * (place as f64 + 0.5))
    };
    sides.iter().find_map(of).unwrap_or(0.0)
}

fn draw_line(out: &mut String, line: &PairLine<'_>, (from, to): ((f64, f64), (f64, f64)), most_ns: u64) {
    let share = (line.waited_ns as f64 / most_ns as f64).sqrt();
    let most = line.most;
    let place = most.site.as_ref().map_or(String::new(), |site| format!(" at {site}"));
    let title = format!("{} {}{place}; {} let it go on", line.waiter, most.reason.words(), line.by);
    let text = format!(
        "{} \u{d7} {} = {}",
        line.count,
        duration(line.waited_ns / line.count.max(1)),
        duration(line.waited_ns)
    );
    // From behind the text over to the other side.
    let (begin, turn) = (from.0 + TEXT, from.0 + TEXT + 12.0);
    let middle = (turn + to.0) / 2.0;
    let _ = writeln!(
        out,
        "<g><title>{0}</title>\
         <path d=\"M{begin:.1} {1:.1}H{turn:.1}C{middle:.1} {1:.1} {middle:.1} {2:.1} {3:.1} {2:.1}\" class=\"w\" \
         stroke-width=\"{4:.1}\" marker-end=\"url(#tip)\"/>\
         <text x=\"{5:.1}\" y=\"{6:.1}\">{7}</text></g>",
        escaped(&title),
        from.1,
        to.1,
        to.0,
        1.0 + (WIDEST - 1.0) * share,
        from.0 + 12.0,
        from.1 + 4.0,
        escaped(&text)
    );
}

fn draw_box(out: &mut String, side: &Side<'_>, x: f64) {
    let (height, middle) = (height(side), side.top + height(side) / 2.0);
    let _ = writeln!(
        out,
        "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{BOX_WIDTH:.1}\" height=\"{height:.1}\" rx=\"6\" \
         class=\"b\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"t\">{}</text>\
         <text x=\"{:.1}\" y=\"{:.1}\" class=\"p\">{}</text></g>",
        escaped(side.name),
        side.top,
        x + 10.0,
        middle - 3.0,
        escaped(&cut(side.name)),
        x + 10.0,
        middle + 13.0,
        duration(side.waited_ns)
    );
}

fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME_MAX) {
        Some((at, _)) => format!("{}\u{2026}", &name[..at]),
        None => name.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    // The last two are no characters to XML.
    let is_plain = |it: char| !it.is_control() && !matches!(it, '\u{fffe}' | '\u{ffff}');
    let plain: String = text.chars().map(|it| if is_plain(it) { it } else { ' ' }).collect();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
