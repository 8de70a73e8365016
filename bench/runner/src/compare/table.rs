//! Owns: what a comparison prints: a row for each figure of each pair, and which rows are slower.
//! May use: pairs, intervals.
//! Never: a bound of its own; a row is slower if its whole interval says so.

use raddle_measure::rounds::pair_ratios;
use raddle_measure::table::{Table, figure};
use raddle_measure::{Interval, Summary};

use super::Comparison;
use crate::pair::{PROCESSOR, Pair};

/// With fewer pairs an interval is only their range.
const PAIRS_OF_INTERVAL: usize = 6;

/// The rows of `comparison`, then what could not be compared.
pub fn rows(comparison: &Comparison) -> String {
    let mut table = Table::new([
        "bench",
        "profile ",
        "runtime ",
        "workers",
        "params ",
        "figure ",
        "old",
        "new",
        "old worst",
        "new worst",
        "new / old",
        "95 % interval",
        "pairs",
        "seems ",
    ]);
    for pair in &comparison.pairs {
        for (metric, unit) in pair.bench.metrics().chain([(PROCESSOR, "ms")]) {
            row(&mut table, pair, metric, unit);
        }
    }
    let mut text = if table.is_empty() { String::new() } else { table.to_string() };
    for (name, why) in &comparison.absent {
        text += &format!("NOT COMPARED {name}: {why}\n");
    }
    for pair in &comparison.pairs {
        if let Some(why) = pair.failure() {
            text += &format!("FAILED {}: {why}\n", name(pair));
        }
    }
    text
}

fn row(table: &mut Table, pair: &Pair, metric: &str, unit: &str) {
    let [new, old] =
        pair.series(metric).map(|figures| Summary::of(&Vec::from_iter(figures.into_iter().flatten())));
    let (Some(new), Some(old), Some(ratio)) = (new, old, ratio(pair, metric)) else { return };
    let cell = &pair.new.cell;
    table.row([
        pair.bench.name.to_owned(),
        pair.profile.to_string(),
        cell.runtime.to_owned(),
        cell.workers.to_string(),
        cell.params.clone(),
        if metric.is_empty() { unit.to_owned() } else { metric.to_owned() },
        figure(old.median),
        figure(new.median),
        figure(old.max),
        figure(new.max),
        format!("{:.3}", ratio.median),
        format!("{:.3} .. {:.3}", ratio.low, ratio.high),
        ratio.count.to_string(),
        seems(&ratio).to_owned(),
    ]);
}

/// Which rows are slower after `again`, in which only those were run that seemed slower before.
pub fn repeated(again: &Comparison) -> String {
    let slower: Vec<String> = again.pairs.iter().filter(|pair| is_slower(pair)).map(name).collect();
    match slower.is_empty() {
        true => "no row is slower both times\n".to_owned(),
        false => format!("slower both times:\n  {}\n", slower.join("\n  ")),
    }
}

/// Whether the time of `pair`, or the processor time, is larger in the new tree by its whole interval.
pub fn is_slower(pair: &Pair) -> bool {
    ["", PROCESSOR].iter().filter_map(|metric| ratio(pair, metric)).any(|ratio| seems(&ratio) == "slower")
}

fn ratio(pair: &Pair, metric: &str) -> Option<Interval> {
    let [new, old] = pair.series(metric);
    Interval::of(&pair_ratios(&new, &old))
}

fn seems(ratio: &Interval) -> &'static str {
    match ratio {
        Interval { count, .. } if *count < PAIRS_OF_INTERVAL => "open",
        Interval { low, .. } if *low > 1.0 => "slower",
        Interval { high, .. } if *high < 1.0 => "faster",
        _ => "",
    }
}

fn name(pair: &Pair) -> String {
    let cell = &pair.new.cell;
    format!("{} {} {} {} ({})", pair.bench.name, cell.runtime, cell.workers, cell.params, pair.profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::tests::measured;

    fn seems_of(new: &[f64], old: &[f64]) -> &'static str {
        seems(&ratio(&measured(new, old), "").unwrap())
    }

    #[test]
    fn a_row_seems_slower_by_its_whole_interval_only() {
        assert_eq!(seems_of(&[1.02; 6], &[1.0; 6]), "slower");
        assert_eq!(seems_of(&[0.98; 6], &[1.0; 6]), "faster");
        assert_eq!(seems_of(&[1.1, 1.1, 1.1, 1.1, 1.1, 0.9], &[1.0; 6]), "");
        assert_eq!(seems_of(&[2.0; 5], &[1.0; 5]), "open");
    }

    #[test]
    fn a_row_holds_both_medians_both_worst_runs_and_the_ratio() {
        let pairs = vec![measured(&[3.0, 3.0, 3.0, 3.0, 3.0, 9.0], &[2.0, 2.0, 2.0, 2.0, 2.0, 4.0])];
        let text =
            rows(&Comparison { pairs, absent: vec![("ring occam (user)".into(), "old: no bin".into())] });
        let line: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        let figures = ["ns", "2.00", "3.00", "4.00", "9.00", "1.500", "1.500", "..", "2.250", "6", "slower"];
        assert_eq!(line[..4], ["yield2", "user", "raddle", "1"]);
        assert_eq!(line[5..], figures);
        assert!(
            text.contains("processor_ms") && text.contains("NOT COMPARED ring occam (user): old: no bin"),
            "{text}"
        );
    }

    #[test]
    fn the_slower_ones_are_named() {
        let pairs = |new| vec![measured(&[new; 15], &[1.0; 15])];
        let said = |new| repeated(&Comparison { pairs: pairs(new), absent: vec![] });
        assert!(said(1.5).contains("yield2 raddle 1 processes=2,rounds=100000 (user)"));
        assert!(said(1.0).starts_with("no row"));
    }
}
