//! Owns: a deadlock as a picture.
//! May use: the report.
//! Never: more than fits on a page.

use super::{Report, Waiting};
use alloc::format;
use alloc::string::String;
use core::f64::consts::TAU;

const NODES_MAX: usize = 48;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Report {
    /// Who waits for whom as SVG: processes on a circle, an arrow to whom each waits for; the cycle in red.
    ///
    /// ```
    /// let report = raddle_vm::Report::default();
    /// assert!(report.svg().starts_with("<svg"));
    /// ```
    pub fn svg(&self) -> String {
        let count = self.processes.len().min(NODES_MAX);
        let radius = 120.0 + 14.0 * count as f64;
        let (width, height) = (2.0 * radius + 440.0, 2.0 * radius + 120.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" \
             refY=\"4\" markerWidth=\"12\" markerHeight=\"12\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8z\" fill=\"context-stroke\"/></marker></defs>\n\
             <style>text{{paint-order:stroke;stroke:#fff;stroke-width:4px}}</style>\n\
             <text x=\"12\" y=\"20\" font-weight=\"bold\">{}</text>\n",
            escaped(&self.headline)
        );
        let place = |number: usize| {
            let angle = TAU * number as f64 / count.max(1) as f64 - TAU / 4.0;
            (width / 2.0 + radius * libm::cos(angle), height / 2.0 + radius * libm::sin(angle))
        };
        for (number, process) in self.processes.iter().take(count).enumerate() {
            for &other in process.waits_for.iter().filter(|&&other| other < count) {
                svg.push_str(&arrow(place(number), place(other), number < self.cycle && other < self.cycle));
            }
        }
        for (number, process) in self.processes.iter().take(count).enumerate() {
            svg.push_str(&node(process, place(number), (width / 2.0, height / 2.0), number < self.cycle));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// A process with what is said of it, on the side that is away from the arrows.
fn node(process: &Waiting, (x, y): (f64, f64), centre: (f64, f64), in_cycle: bool) -> String {
    let colour = if in_cycle { "#c00" } else { "#333" };
    let (right, below) = (x - centre.0, y - centre.1);
    let sideways = libm::fabs(right) > 2.0 * libm::fabs(below);
    let (anchor, left, top) = match (sideways, right > 0.0, below > 0.0) {
        (true, true, _) => ("start", x + 14.0, y - 10.0),
        (true, false, _) => ("end", x - 14.0, y - 10.0),
        (false, _, true) => ("middle", x, y + 22.0),
        (false, _, false) => ("middle", x, y - 40.0),
    };
    let (name, at) = (escaped(&process.label()), escaped(&format!("{}", process.place)));
    format!(
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" fill=\"{colour}\"/>\n<g text-anchor=\"{anchor}\">\n\
         <text x=\"{left:.1}\" y=\"{top:.1}\" font-weight=\"bold\">{name}</text>\n\
         <text x=\"{left:.1}\" y=\"{:.1}\" fill=\"#555\">{at}</text>\n\
         <text x=\"{left:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>\n</g>\n",
        top + 14.0,
        top + 28.0,
        escaped(&process.doing)
    )
}

/// An arrow that bends to its left, so that two that wait for each other show two arrows.
fn arrow(from: (f64, f64), to: (f64, f64), in_cycle: bool) -> String {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let bend = 0.15;
    let middle = ((from.0 + to.0) / 2.0 + bend * dy, (from.1 + to.1) / 2.0 - bend * dx);
    // It ends a little before the circle, on the line from where it bends.
    let (bx, by) = (to.0 - middle.0, to.1 - middle.1);
    let length = libm::sqrt(bx * bx + by * by).max(1.0);
    let end = (to.0 - bx / length * 10.0, to.1 - by / length * 10.0);
    let (colour, width) = if in_cycle { ("#c00", 2) } else { ("#888", 1) };
    format!(
        "<path d=\"M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"{colour}\" \
         stroke-width=\"{width}\" marker-end=\"url(#tip)\"/>\n",
        from.0, from.1, middle.0, middle.1, end.0, end.1
    )
}
