//! Owns: the figures of experiment 4.
//! May use: its cells.
//! Never: a claim.

use super::{FORMS, Variant, counts, find};
use crate::experiment::Figure;
use crate::figure::{Axis, Bar, ChartLine, bars, chart};
use crate::run::Run;

pub fn figures(run: &Run) -> Vec<Figure> {
    let mut figures = Vec::new();
    for form in &FORMS {
        let (x, name) = (|| Axis::linear("warehouses"), form.name);
        let y = Axis::linear("thousands of transactions a second");
        let lines = against(run, "throughput", form, 1e-3);
        figures.push((form.throughput, chart(&format!("Throughput of warehouses ({name})"), x(), y, &lines)));
        let y = Axis::linear("100 (max - min) / max (%)");
        let lines = against(run, "thread_spread", form, 1.0);
        figures.push((form.spread, chart(&format!("Thread spread of warehouses ({name})"), x(), y, &lines)));
    }
    figures.push(("idle", histogram(run, &FORMS[1])));
    figures.push(("idle-brief", histogram(run, &FORMS[2])));
    figures
}

/// A figure of the warehouses against their number, by workers and migration.
fn against(run: &Run, metric: &str, form: &Variant, scale: f64) -> Vec<ChartLine> {
    let mut lines = Vec::new();
    for (colour, workers) in run.workers().into_iter().enumerate() {
        for migration in ["on", "off"] {
            let point = |count| {
                Some((count as f64, find(run, workers, count, form, migration)?.median(metric)? * scale))
            };
            let points = counts(run).into_iter().filter_map(point).collect();
            let name =
                format!("{workers} worker{}, migration {migration}", if workers == 1 { "" } else { "s" });
            lines.push(ChartLine { name, points, colour, dashed: migration == "off" });
        }
    }
    lines
}

/// Idle incidents by decade, for each worker, at the first number of warehouses that is no multiple of the workers.
fn histogram(run: &Run, form: &Variant) -> String {
    let workers = run.workers().into_iter().max().unwrap_or(1);
    let count = counts(run).into_iter().find(|count| *count > workers as u64).unwrap_or(1);
    let decades = ["0-10 us", "10-100 us", "0.1-1 ms", "1-10 ms", "10-100 ms", "0.1-1 s"];
    let mut all = Vec::new();
    for (series, migration) in ["off", "on"].into_iter().enumerate() {
        let cell = find(run, workers, count, form, migration);
        for worker in 0..workers {
            let height =
                |decade: usize| cell.and_then(|c| c.median(&format!("w{worker}_d{decade}"))).unwrap_or(0.0);
            let name = format!("worker {worker}, migration {migration}");
            let heights = (0..decades.len()).map(height).collect();
            all.push(Bar { name, heights, colour: 4 * series + worker });
        }
    }
    let title = format!("Idle incidents by length: {count} warehouses ({}) on {workers} workers", form.name);
    bars(&title, Axis::linear("incidents"), &decades, &all)
}
