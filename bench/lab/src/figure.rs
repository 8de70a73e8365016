//! Owns: drawings: lines over two axes, bars over names; as SVG.
//! May use: plotters.
//! Never: a number that it was not given.
//!
//! Colours are Okabe and Ito's, which colour-blind people can distinguish, and then some more; lines also differ in
//! marks and dashes. The legend is next to the drawing, where it hides nothing.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    name: String,
    /// The factor from one label to the next, on a logarithmic axis.
    base: Option<f64>,
}

impl Axis {
    /// A logarithmic axis.
    pub fn log(name: &str) -> Axis {
        Axis { name: name.into(), base: Some(10.0) }
    }

    /// A logarithmic axis to base 2.
    pub fn log2(name: &str) -> Axis {
        Axis { name: name.into(), base: Some(2.0) }
    }

    /// A linear axis from zero.
    pub fn linear(name: &str) -> Axis {
        Axis { name: name.into(), base: None }
    }

    /// The range of the axis for these numbers.
    fn range(&self, numbers: impl Iterator<Item = f64>) -> (f64, f64) {
        let (low, high) = numbers.fold((f64::MAX, f64::MIN), |(low, high), n| (low.min(n), high.max(n)));
        match (low > high, self.base.is_some()) {
            (true, _) => (1.0, 10.0),
            (false, true) => (low.max(1e-3) / 1.5, high.max(1e-3) * 1.5),
            (false, false) => (0.0, if high > 0.0 { high * 1.08 } else { 1.0 }),
        }
    }
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub struct ChartLine {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    pub colour: usize,
    pub dashed: bool,
}

/// Bars of one colour, one for each name of the axis.
#[derive(Clone, Debug)]
pub struct Bar {
    pub name: String,
    pub heights: Vec<f64>,
    pub colour: usize,
}

const SIZE: (u32, u32) = (920, 480);
const LEGEND: u32 = 250;
const COLOURS: [RGBColor; 13] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(140, 140, 140),
    RGBColor(102, 51, 153),
    RGBColor(140, 86, 20),
    RGBColor(0, 190, 190),
    RGBColor(200, 190, 0),
    RGBColor(190, 190, 190),
];

type DrawResult = Result<(), Box<dyn std::error::Error>>;

fn colour(index: usize) -> RGBColor {
    COLOURS[index % COLOURS.len()]
}

/// A chart of lines; those without points are left out.
pub fn chart(title: &str, x: Axis, y: Axis, lines: &[ChartLine]) -> String {
    let lines: Vec<&ChartLine> = lines.iter().filter(|line| !line.points.is_empty()).collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    let (across, along) = (x.range(points().map(|p| p.0)), y.range(points().map(|p| p.1)));
    let names: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.colour, line.dashed)).collect();
    let (xs, ys) = (across.0..across.1, along.0..along.1);
    let axes = (x.name.as_str(), y.name.as_str());
    drawn(title, &names, |area| match (x.base, y.base) {
        (Some(a), Some(b)) => lines_on(area, (xs.log_scale().base(a), ys.log_scale().base(b)), axes, &lines),
        (Some(a), None) => lines_on(area, (xs.log_scale().base(a), ys), axes, &lines),
        (None, Some(b)) => lines_on(area, (xs, ys.log_scale().base(b)), axes, &lines),
        (None, None) => lines_on(area, (xs, ys), axes, &lines),
    })
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn lines_on<X, Y>(area: &Area<'_>, ranges: (X, Y), names: (&str, &str), lines: &[&ChartLine]) -> DrawResult
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut builder = ChartBuilder::on(area);
    let mut chart = builder
        .margin(12)
        .margin_right(20)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d(ranges.0, ranges.1)?;
    let label = |value: &f64| number(*value);
    chart
        .configure_mesh()
        .x_desc(names.0)
        .y_desc(names.1)
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", 13))
        .max_light_lines(1)
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    for line in lines {
        let (colour, points) = (colour(line.colour), line.points.iter().copied());
        if line.dashed {
            chart.draw_series(DashedLineSeries::new(points.clone(), 6, 4, colour.stroke_width(2)))?;
            chart.draw_series(points.map(|at| Circle::new(at, 3, colour.stroke_width(1))))?;
        } else {
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?;
            chart.draw_series(points.map(|at| Circle::new(at, 3, colour.filled())))?;
        }
    }
    Ok(())
}

/// A chart of bars, side by side over each name.
///
/// On a logarithmic axis they begin at its lower end, and 0 has no bar.
pub fn bars(title: &str, y: Axis, names: &[&str], bars: &[Bar]) -> String {
    let legend: Vec<_> = bars.iter().map(|bar| (bar.name.as_str(), bar.colour, false)).collect();
    let heights = bars.iter().flat_map(|bar| &bar.heights).copied();
    let range = y.range(heights.filter(|height| *height > 0.0));
    drawn(title, &legend, |area| match y.base {
        Some(base) => bars_on(area, (range.0..range.1).log_scale().base(base), &y.name, names, bars),
        None => bars_on(area, range.0..range.1, &y.name, names, bars),
    })
}

fn bars_on<Y>(area: &Area<'_>, range: Y, unit: &str, names: &[&str], bars: &[Bar]) -> DrawResult
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut builder = ChartBuilder::on(area);
    let mut chart = builder
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(76)
        .build_cartesian_2d((0..names.len().saturating_sub(1)).into_segmented(), range)?;
    let name = |at: &SegmentValue<usize>| match at {
        SegmentValue::CenterOf(index) => names.get(*index).map_or(String::new(), |name| (*name).to_owned()),
        _ => String::new(),
    };
    let label = |value: &f64| number(*value);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .y_desc(unit)
        .x_labels(names.len() + 1)
        .x_label_formatter(&name)
        .y_label_formatter(&label)
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", 13))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(215, 215, 215))
        .draw()?;
    let (width, pixels) = chart.plotting_area().dim_in_pixel();
    let slot = f64::from(width) / names.len().max(1) as f64;
    let bar_width = (slot * 0.8 / bars.len().max(1) as f64).max(2.0);
    let (above, plot) = (chart.plotting_area().get_base_pixel().1, chart.plotting_area().strip_coord_spec());
    for (series, bar) in bars.iter().enumerate() {
        for (index, height) in bar.heights.iter().enumerate().filter(|(_, height)| **height > 0.0) {
            let left = slot * (index as f64 + 0.1) + bar_width * series as f64;
            let top = chart.backend_coord(&(SegmentValue::Exact(index), *height)).1 - above;
            let corners = [(left as i32, top), ((left + bar_width - 1.0) as i32, pixels as i32)];
            plot.draw(&Rectangle::new(corners, colour(bar.colour).filled()))?;
        }
    }
    Ok(())
}

/// Draws the title, the legend, and the content by `draw`.
fn drawn(title: &str, legend: &[(&str, usize, bool)], draw: impl FnOnce(&Area<'_>) -> DrawResult) -> String {
    let mut svg = String::new();
    let outcome = {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        whole(&root, title, legend, draw)
    };
    match outcome {
        Ok(()) => svg,
        // Drawing into a string does not fail; if it did, the figure would show the error.
        Err(why) => format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><text y=\"20\">{why}</text></svg>"),
    }
}

fn whole(
    root: &Area<'_>,
    title: &str,
    legend: &[(&str, usize, bool)],
    draw: impl FnOnce(&Area<'_>) -> DrawResult,
) -> DrawResult {
    root.fill(&WHITE)?;
    let root = root.titled(title, ("sans-serif", 20))?;
    let (plot, side) = root.split_horizontally(SIZE.0 - LEGEND);
    draw(&plot)?;
    for (index, &(name, number, dashed)) in legend.iter().enumerate() {
        let (y, colour) = (24 + 20 * index as i32, colour(number));
        let segments: &[(i32, i32)] = if dashed { &[(0, 8), (12, 20)] } else { &[(0, 20)] };
        for (from, to) in segments {
            side.draw(&PathElement::new(vec![(*from, y), (*to, y)], colour.stroke_width(3)))?;
        }
        side.draw(&Text::new(name.to_owned(), (28, y - 7), ("sans-serif", 14)))?;
    }
    root.present()?;
    Ok(())
}

/// A number of an axis: short, without exponents.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 1e6 => format!("{}M", value / 1e6),
        large if large >= 1e4 => format!("{}k", value / 1e3),
        large if large >= 10.0 || large == 0.0 => format!("{value:.0}"),
        _ => {
            let text = format!("{value:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_with_points_is_in_the_legend() {
        let line = |name: &str, points: &[(f64, f64)]| ChartLine {
            name: name.into(),
            points: points.to_vec(),
            colour: 3,
            dashed: true,
        };
        let lines = [line("here", &[(1.0, 5.0), (100.0, 50.0)]), line("empty", &[])];
        for (x, y) in [(true, true), (true, false), (false, true), (false, false)] {
            let axis = |log, name| if log { Axis::log(name) } else { Axis::linear(name) };
            let svg = chart("T <1>", axis(x, "across"), axis(y, "along"), &lines);
            assert!(svg.contains("here") && !svg.contains("empty"), "{svg}");
            assert!(svg.contains("across") && svg.contains("along") && svg.contains("&lt;1&gt;"));
        }
    }

    #[test]
    fn bars_have_their_names() {
        let bar = Bar { name: "worker 0".into(), heights: vec![1.0, 5.0], colour: 1 };
        let svg = bars("Idle", Axis::linear("incidents"), &["short", "long"], &[bar]);
        assert!(svg.contains("worker 0") && svg.contains("short") && svg.contains("long"), "{svg}");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.05, 1.5, 12.0, 12_000.0, 2e6].map(number);
        assert_eq!(shown, ["0", "0.05", "1.5", "12", "12k", "2M"]);
    }
}
