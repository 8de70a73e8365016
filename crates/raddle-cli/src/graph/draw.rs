//! Owns: a network as SVG.
//! May use: `network::tree`, `raddle-occam`.
//! Never: a character of the program that the picture's language takes for its own.

use std::fmt::Write as _;

use crate::network::Network;
use raddle_occam::source::Sources;

use super::level::{self, Drawing, Point, Wire, cut, text, text_width};

/// Around everything.
const MARGIN: f64 = 16.0;
const HEAD: &str = "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"9\" \
    markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.5L8 4L0 7.5z\" fill=\"#335\"/>\
    </marker></defs>\n<style>text{font-family:sans-serif;font-size:12px;fill:#222}.t{font-weight:bold}\
    .p{fill:#777}.w{fill:none;stroke:#335;stroke-width:1.3}.b{stroke:#446;stroke-width:1.2}</style>\n";
/// Behind boxes within boxes.
const SHADES: [&str; 4] = ["#f4f6fa", "#eaf0f7", "#fbf6ea", "#eef5ea"];

fn escaped(text: &str) -> String {
    let plain = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect::<String>();
    plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The picture.
pub(super) fn svg(network: &Network, sources: &Sources) -> String {
    if network.processes.is_empty() {
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 10 10\"></svg>\n".to_owned();
    }
    let drawing = level::of(network);
    let wide =
        |list: &[(usize, f64)]| list.iter().map(|it| text_width(network, it.0) + 44.0).fold(0.0, f64::max);
    let (left, right) = (wide(&drawing.ins), wide(&drawing.outs));
    let origin = (MARGIN + left, MARGIN);
    let size = (origin.0 + drawing.size.0 + right + MARGIN, drawing.size.1 + 2.0 * MARGIN);
    let note = if network.more { 20.0 } else { 0.0 };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0}\" height=\"{1:.0}\" viewBox=\"0 0 {0:.0} {1:.0}\">\n\
         {HEAD}<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        size.0,
        size.1 + note
    );
    let picture = Picture { network, sources };
    picture.process(&mut out, &drawing, origin, 0);
    for (side, list) in [(false, &drawing.ins), (true, &drawing.outs)] {
        for &(channel, height) in list {
            picture.outside(&mut out, channel, side, (origin, drawing.size.0, height));
        }
    }
    if network.more {
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{:.0}\" class=\"p\">there are more than these</text>",
            size.1
        );
    }
    out += "</svg>\n";
    out
}

struct Picture<'n> {
    network: &'n Network,
    sources: &'n Sources,
}

impl Picture<'_> {
    fn process(&self, out: &mut String, drawing: &Drawing, (x, y): Point, depth: usize) {
        let process = &self.network.processes[drawing.process];
        let (width, height) = drawing.size;
        let around = !process.children.is_empty();
        let fill = if around { SHADES[depth % SHADES.len()] } else { "#fff" };
        let dashes = if process.forked { " stroke-dasharray=\"5 3\"" } else { "" };
        let shape = |out: &mut String, by: f64| {
            let (x, y) = (x + by, y + by);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\" \
                 fill=\"{fill}\" class=\"b\"{dashes}/>"
            );
        };
        let place = self.sources.place(process.span.lo);
        let place = place.map_or(String::new(), |it| format!("{}:{}", it.file, it.line));
        let _ = writeln!(out, "<g><title>{}</title>", escaped(&place));
        if process.count.is_some() {
            shape(out, 6.0);
            shape(out, 3.0);
        }
        shape(out, 0.0);
        let title = escaped(&cut(&process.title, level::TITLE_MAX));
        let count = process.count.as_ref().map(|it| {
            format!("<tspan class=\"p\" font-weight=\"normal\"> \u{d7} {}</tspan>", escaped(&cut(it, 16)))
        });
        let count = count.unwrap_or_default();
        let (at, anchor) = match around {
            true => ((x + 10.0, y + 18.0), "start"),
            false => ((x + width / 2.0, y + height / 2.0 + 4.0), "middle"),
        };
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" class=\"t\">{title}{count}</text></g>",
            at.0, at.1
        );
        for (place, inner) in &drawing.inside {
            self.process(out, inner, (x + place.0, y + place.1), depth + 1);
        }
        for wire in &drawing.wires {
            self.wire(out, wire, (x, y));
        }
        for dot in &drawing.dots {
            let (x, y) = (x + dot.at.0, y + dot.at.1);
            let fill = if dot.nobody.is_some() { "#fff" } else { "#335" };
            let _ =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" class=\"b\"/>");
            if let Some(nobody) = dot.nobody {
                let _ = writeln!(
                    out,
                    "<text x=\"{:.1}\" y=\"{:.1}\" class=\"p\">{nobody}</text>",
                    x - 4.0,
                    y + 18.0
                );
            }
        }
    }

    /// A line: level for the length of its text, then in curves to each of its points.
    fn wire(&self, out: &mut String, wire: &Wire, (x, y): Point) {
        let at = |point: Point| (x + point.0, y + point.1);
        let Some((&begin, rest)) = wire.points.split_first() else { return };
        let mut from = at(begin);
        let mut path = format!("M{:.1} {:.1}", from.0, from.1);
        if let (Some(lane), Some(&end)) = (wire.lane, rest.last()) {
            // Down, back below the boxes, and up: the further below, the further out.
            let (lane, end) = (y + lane, at(end));
            let lowest = wire.lane.unwrap_or(0.0);
            let out_by =
                12.0 + (lowest % 7.0) + if wire.text { text_width(self.network, wire.channel) } else { 0.0 };
            let (right, left) = (from.0 + out_by, end.0 - 14.0 - (lowest % 7.0));
            let round = 8.0;
            let _ = write!(
                path,
                "H{:.1}Q{right:.1} {1:.1} {right:.1} {2:.1}V{3:.1}Q{right:.1} {lane:.1} {4:.1} {lane:.1}H{5:.1}\
                 Q{left:.1} {lane:.1} {left:.1} {3:.1}V{6:.1}Q{left:.1} {7:.1} {8:.1} {7:.1}H{9:.1}",
                right - round,
                from.1,
                from.1 + round,
                lane - round,
                right - round,
                left + round,
                end.1 + round,
                end.1,
                left + round,
                end.0
            );
        } else {
            if wire.text {
                from.0 += text_width(self.network, wire.channel) + 8.0;
                let _ = write!(path, "H{:.1}", from.0);
            }
            for &point in rest {
                let to = at(point);
                let half = (to.0 - from.0) / 2.0;
                let _ = write!(
                    path,
                    "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
                    from.0 + half,
                    from.1,
                    to.0 - half,
                    to.1,
                    to.0,
                    to.1
                );
                from = to;
            }
        }
        let arrow = if wire.arrow { " marker-end=\"url(#tip)\"" } else { "" };
        let _ = writeln!(out, "<path d=\"{path}\" class=\"w\"{arrow}/>");
        if wire.text {
            let (x, y) = at(begin);
            self.label(out, wire.channel, (x + 6.0, y - 4.0), "start");
        }
    }

    fn label(&self, out: &mut String, channel: usize, (x, y): Point, anchor: &str) {
        let (name, protocol) = text(self.network, channel);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{} <tspan class=\"p\">{}</tspan></text>",
            escaped(&name),
            escaped(&protocol)
        );
    }

    /// A channel of the outside: to the left of the program, or to its right.
    fn outside(
        &self,
        out: &mut String,
        channel: usize,
        output: bool,
        (origin, width, height): (Point, f64, f64),
    ) {
        let y = origin.1 + height;
        let length = text_width(self.network, channel) + 30.0;
        let (from, to) = match output {
            true => (origin.0 + width, origin.0 + width + length),
            false => (origin.0 - length, origin.0),
        };
        let _ = writeln!(out, "<path d=\"M{from:.1} {y:.1}H{to:.1}\" class=\"w\" marker-end=\"url(#tip)\"/>");
        self.label(out, channel, (from + 8.0, y - 4.0), "start");
    }
}
