//! Owns: what changed between two saved runs.
//! May use: runs.
//! Never: a claim from runs on two machines; it says that they differ.
//!
//! The runs were not interleaved, so only a ratio of medians can be given. It is called a change only if the two
//! interquartile ranges, of at least five rounds, do not overlap.

use raddle_measure::stats::percentile;
use raddle_measure::table::{Table, figure};

use crate::run::{Cell, Run};

/// The comparison as text: B against A.
///
/// # Errors
/// When they are runs of two experiments.
pub fn compare(a: &Run, b: &Run) -> Result<String, String> {
    if a.experiment != b.experiment {
        return Err(format!("A is a run of `{}` and B of `{}`", a.experiment, b.experiment));
    }
    let mut text = format!("A  {}  {}\nB  {}  {}\n", a.commit, a.command, b.commit, b.command);
    if a.machine != b.machine {
        text += &format!("two machines: A {}, B {}\n", a.machine, b.machine);
    }
    let mut table = Table::new(["bench", "runtime ", "workers", "params ", "A", "B", "B / A", "change "]);
    for cell in &b.cells {
        let before = a.cells.iter().find(|other| {
            (&other.bench, &other.runtime, other.workers, &other.params)
                == (&cell.bench, &cell.runtime, cell.workers, &cell.params)
        });
        let Some((before, (old, new))) = before.and_then(|other| {
            let medians = other.median("").zip(cell.median(""))?;
            Some((other, medians))
        }) else {
            continue;
        };
        let mut row =
            [&cell.bench, &cell.runtime, &cell.workers.to_string(), &cell.params].map(String::clone).to_vec();
        row.extend([figure(old), figure(new), figure(new / old), change(before, cell).to_owned()]);
        table.row(row);
    }
    if table.is_empty() {
        return Err("the runs have no cell in common".into());
    }
    Ok(format!("{text}\n{table}"))
}

fn change(before: &Cell, after: &Cell) -> &'static str {
    let quartiles = |cell: &Cell| {
        let figures: Vec<f64> = cell.series("").into_iter().flatten().collect();
        // Quartiles of fewer rounds are not reliable.
        percentile(&figures, 25.0).zip(percentile(&figures, 75.0)).filter(|_| figures.len() >= 5)
    };
    match quartiles(before).zip(quartiles(after)) {
        Some(((low, _), (_, high))) if high < low => "less",
        Some(((_, high), (low, _))) if low > high => "more",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn a_change_is_said_where_the_quartiles_lie_apart() {
        let of = |figure| run("ring", &[("line", "raddle", 1, "messages=1", figure)]);
        let text = compare(&of(10.0), &of(5.0)).unwrap();
        assert!(text.lines().last().is_some_and(|line| line.ends_with("0.500  less")), "{text}");
        assert!(!compare(&of(10.0), &of(10.0)).unwrap().contains("more"));
        let mut few = of(5.0);
        few.cells[0].rounds.truncate(4);
        assert!(!compare(&of(10.0), &few).unwrap().contains("less"));
        let mut other = of(1.0);
        other.machine = "another".into();
        assert!(compare(&of(1.0), &other).unwrap().contains("two machines"));
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let (ring, other) = (run("ring", &[]), run("threads", &[]));
        assert!(compare(&ring, &other).unwrap_err().contains("threads"));
        assert!(compare(&ring, &ring).unwrap_err().contains("in common"));
    }
}
