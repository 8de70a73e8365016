//! Owns: a deadlock as a picture.
//! May use: the report.
//! Never: more than fits on a page.

use super::Report;
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
             refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
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
            let (x, y) = place(number);
            let colour = if number < self.cycle { "#c00" } else { "#333" };
            let (name, at) = (escaped(&process.name), escaped(&format!("{}", process.place)));
            svg.push_str(&format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\" fill=\"{colour}\"/>\n\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-weight=\"bold\">{name}</text>\n\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{at}</text>\n\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"{colour}\">{}</text>\n",
                y - 12.0,
                y + 20.0,
                y + 34.0,
                escaped(&process.doing)
            ));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn arrow(from: (f64, f64), to: (f64, f64), in_cycle: bool) -> String {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = libm::sqrt(dx * dx + dy * dy).max(1.0);
    let end = (to.0 - dx / length * 10.0, to.1 - dy / length * 10.0);
    let (colour, width) = if in_cycle { ("#c00", 2) } else { ("#888", 1) };
    format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\" \
         marker-end=\"url(#tip)\"/>\n",
        from.0, from.1, end.0, end.1
    )
}
