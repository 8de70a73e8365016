//! Owns: a deadlock as a picture.
//! May use: `libm`.
//! Never: more than fits on a page; an arrow outside of the circle, where the texts are.
//!
//! Processes stand on a circle, clockwise. Every arrow bends inwards, and so stays within it. What is said of a process
//! stands outside, in a column to the left or to the right, at the end of a thin line.

use super::{Report, WaitingProcess};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::f64::consts::TAU;

const NODES_MAX: usize = 48;
const CHARACTERS_MAX: usize = 64;
/// A text of three lines with the space around it.
const TEXT_HEIGHT: f64 = 50.0;
/// About what a character takes, of plain and of bold text.
const CHARACTER_WIDTH: f64 = 7.0;
/// From the circle to a text.
const GAP: f64 = 36.0;
const RED: &str = "#c00";

type Point = (f64, f64);

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Not longer than there is room for.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some(_) => text.chars().take(CHARACTERS_MAX - 3).chain("...".chars()).collect(),
        None => String::from(text),
    }
}

/// What is said of a process, line by line.
fn lines(process: &WaitingProcess) -> [String; 3] {
    [process.label(), format!("{}", process.place), process.doing.clone()].map(|line| cut(&line))
}

fn width(lines: &[String]) -> f64 {
    lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as f64 * CHARACTER_WIDTH
}

/// Where everything is.
struct Page {
    count: usize,
    /// So many are on the right; the others follow on the left, from below.
    right: usize,
    centre: Point,
    radius: f64,
    size: Point,
}

impl Page {
    fn of(report: &Report, titles: &[String]) -> Page {
        let count = report.processes.len().min(NODES_MAX);
        let right = count.div_ceil(2);
        let radius = (TEXT_HEIGHT / 2.0 * right as f64).max(110.0);
        let widest = |range: core::ops::Range<usize>| {
            report.processes[range].iter().map(|process| width(&lines(process))).fold(0.0, f64::max)
        };
        let (left, right_width) = (widest(right..count), widest(0..right));
        let top = 24.0 + 18.0 * titles.len() as f64;
        let centre = (left + GAP + 24.0 + radius, top + TEXT_HEIGHT / 2.0 + radius);
        let across = (centre.0 + radius + GAP + 24.0 + right_width).max(24.0 + 1.2 * width(titles));
        Page { count, right, centre, radius, size: (across, centre.1 + radius + TEXT_HEIGHT / 2.0 + 12.0) }
    }

    fn place(&self, number: usize) -> Point {
        let angle = TAU * (number as f64 + 0.5) / self.count.max(1) as f64 - TAU / 4.0;
        (self.centre.0 + self.radius * libm::cos(angle), self.centre.1 + self.radius * libm::sin(angle))
    }

    /// The heights of the texts of a column, from above, each as near to its process as the others let it.
    fn heights(&self, numbers: impl Iterator<Item = usize>) -> Vec<(usize, f64)> {
        let mut heights: Vec<(usize, f64)> = numbers.map(|number| (number, self.place(number).1)).collect();
        let mut least = f64::MIN;
        for (_, height) in &mut heights {
            *height = height.max(least);
            least = *height + TEXT_HEIGHT;
        }
        let mut most = self.centre.1 + self.radius;
        for (_, height) in heights.iter_mut().rev() {
            *height = height.min(most);
            most = *height - TEXT_HEIGHT;
        }
        heights
    }

    /// An arrow that bends inwards, and to its left, so that two that wait for each other show two arrows.
    fn arrow(&self, from: usize, to: usize, style: &str) -> String {
        let (from, to) = (self.place(from), self.place(to));
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        // A short one bends little.
        let (inx, iny) = (self.centre.0 - middle.0, self.centre.1 - middle.1);
        let (far, long) = (libm::sqrt(inx * inx + iny * iny), libm::sqrt(dx * dx + dy * dy));
        let part = 0.2 * (long / far.max(1.0)).min(1.0);
        let bend = (middle.0 + part * inx + 0.06 * dy, middle.1 + part * iny - 0.06 * dx);
        // It ends a little before the process, on the line from where it bends.
        let (bx, by) = (to.0 - bend.0, to.1 - bend.1);
        let length = libm::sqrt(bx * bx + by * by).max(1.0);
        let end = (to.0 - bx / length * 9.0, to.1 - by / length * 9.0);
        format!(
            "<path d=\"M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" {style} marker-end=\"url(#tip)\"/>\n",
            from.0, from.1, bend.0, bend.1, end.0, end.1
        )
    }

    /// A process, and what is said of it.
    fn node(&self, number: usize, height: f64, process: &WaitingProcess, in_front: bool) -> String {
        let ((x, y), colour) = (self.place(number), if in_front { RED } else { "#333" });
        let (side, anchor) = if number < self.right { (1.0, "start") } else { (-1.0, "end") };
        let column = self.centre.0 + side * (self.radius + GAP);
        let [name, place, doing] = lines(process).map(|line| escaped(&line));
        format!(
            "<path d=\"M{x:.1} {y:.1}L{:.1} {height:.1}H{:.1}\" fill=\"none\" stroke=\"#ccc\"/>\n\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" fill=\"{colour}\"/>\n<g text-anchor=\"{anchor}\">\n\
             <text x=\"{column:.1}\" y=\"{:.1}\" font-weight=\"bold\">{name}</text>\n\
             <text x=\"{column:.1}\" y=\"{:.1}\" fill=\"#555\">{place}</text>\n\
             <text x=\"{column:.1}\" y=\"{:.1}\" fill=\"{colour}\">{doing}</text>\n</g>\n",
            column - side * 14.0,
            column - side * 4.0,
            height - 10.0,
            height + 4.0,
            height + 18.0,
        )
    }
}

impl Report {
    /// Who waits for whom as SVG: processes on a circle, an arrow to whom each waits for, dashed if one of several is
    /// enough; those at the front in red.
    ///
    /// ```
    /// let report = raddle_vm::Report::default();
    /// assert!(report.svg().starts_with("<svg"));
    /// ```
    pub fn svg(&self) -> String {
        let mut titles = Vec::from([self.headline.clone()]);
        titles.extend(
            (self.cycle > 0).then(|| format!("red: {}", self.front.what(self.cycle).trim_end_matches(':'))),
        );
        let any = |process: &WaitingProcess| !process.all && (process.waits_for.len() > 1 || process.unsure);
        titles
            .extend(self.processes.iter().any(any).then(|| String::from("dashed: one of several is enough")));
        let page = Page::of(self, &titles);
        let left = self.processes.len() + self.more - page.count;
        titles[0] += &if left > 0 { format!(" ({left} of them are not shown)") } else { String::new() };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0} {:.0}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" \
             markerWidth=\"12\" markerHeight=\"12\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8z\" fill=\"context-stroke\"/></marker></defs>\n",
            page.size.0, page.size.1
        );
        for (number, title) in titles.iter().enumerate() {
            let style =
                ["font-weight=\"bold\"", "fill=\"#c00\""].get(number).copied().unwrap_or("fill=\"#555\"");
            let style = if title.starts_with("dashed") { "fill=\"#555\"" } else { style };
            svg += &format!("<text x=\"12\" y=\"{}\" {style}>{}</text>\n", 20 + 18 * number, escaped(title));
        }
        for (number, process) in self.processes.iter().take(page.count).enumerate() {
            for &other in process.waits_for.iter().filter(|&&other| other < page.count) {
                let in_front = number < self.cycle && other < self.cycle;
                let (colour, wide) = if in_front { (RED, 2) } else { ("#888", 1) };
                let dashes = if any(process) { " stroke-dasharray=\"6 4\"" } else { "" };
                let style = format!("stroke=\"{colour}\" stroke-width=\"{wide}\"{dashes}");
                svg += &page.arrow(number, other, &style);
            }
        }
        let columns = [page.heights(0..page.right), page.heights((page.right..page.count).rev())];
        for (number, height) in columns.into_iter().flatten() {
            svg += &page.node(number, height, &self.processes[number], number < self.cycle);
        }
        svg += "</svg>\n";
        svg
    }
}
