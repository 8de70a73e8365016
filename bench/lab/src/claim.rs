//! Owns: the requirements of an experiment, and the sentence that says whether one holds.
//! May use: the cells of a run.
//! Never: a bound of its own; the experiments give them.

use raddle_measure::Interval;
use raddle_measure::rounds::pair_ratios;
use raddle_measure::stats::Verdict;
use raddle_measure::table::figure;

use crate::run::Cell;

/// A requirement and its result.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What is compared, such as `T2/T1 at granularity 1 (light processes)`.
    pub what: String,
    /// Claims of one series differ only in the place, and are reported together: the series, and the place.
    pub series: Option<(String, String)>,
    /// The bound: the figure must be at most this.
    pub bound: f64,
    /// The figure; `None` if it was not measured.
    pub interval: Option<Interval>,
    /// Whether it is judged by an interval over pairs, or by the median.
    ratio: bool,
}

impl Claim {
    /// The ratio of `numerator` to `denominator` in the same rounds is at most `bound`.
    pub fn ratio(
        what: impl Into<String>,
        numerator: Option<&Cell>,
        denominator: Option<&Cell>,
        metrics: (&str, &str),
        bound: f64,
    ) -> Claim {
        let pairs = numerator.zip(denominator);
        let ratios =
            pairs.map_or_else(Vec::new, |(n, d)| pair_ratios(&n.series(metrics.0), &d.series(metrics.1)));
        Claim { what: what.into(), series: None, bound, interval: Interval::of(&ratios), ratio: true }
    }

    /// The figure `metric` of `cell` is at most `bound`.
    pub fn value(what: impl Into<String>, cell: Option<&Cell>, metric: &str, bound: f64) -> Claim {
        let figures: Vec<f64> =
            cell.map_or_else(Vec::new, |c| c.series(metric).into_iter().flatten().collect());
        Claim { what: what.into(), series: None, bound, interval: Interval::of(&figures), ratio: false }
    }

    /// The median of these ratios is at most `bound`.
    pub fn median(what: impl Into<String>, numerator: &Cell, denominator: &Cell, bound: f64) -> Claim {
        let claim = Claim::ratio(what, Some(numerator), Some(denominator), ("", ""), bound);
        Claim { ratio: false, ..claim }
    }

    /// One of a series, at a place such as `granularity 10`.
    pub fn of_series(series: impl Into<String>, place: impl Into<String>, claim: Claim) -> Claim {
        let (series, place) = (series.into(), place.into());
        Claim { what: format!("{series} {place},"), series: Some((series, place)), ..claim }
    }

    /// The verdict; `None` if it was not measured.
    pub fn verdict(&self) -> Option<Verdict> {
        let interval = self.interval?;
        Some(match (self.ratio, interval.median <= self.bound) {
            (true, _) => interval.at_most(self.bound),
            (false, true) => Verdict::Yes,
            (false, false) => Verdict::No,
        })
    }

    /// The requirement of its series.
    pub fn required_of_series(&self) -> String {
        let name = self.series.as_ref().map_or("", |(name, _)| name);
        format!("{name} must be at most {}", figure(self.bound))
    }

    /// The place within its series, and the figure there.
    pub fn in_series(&self) -> String {
        let place = self.series.as_ref().map_or("", |(_, place)| place);
        match self.interval {
            Some(found) if found.count == 1 => format!("{place}: {}", figure(found.median)),
            Some(found) => {
                let [median, low, high] = [found.median, found.low, found.high].map(figure);
                format!("{place}: {median} ({low} to {high})")
            }
            None => place.to_owned(),
        }
    }

    /// The sentence: the requirement, the result, whether it holds, and by how much.
    pub fn sentence(&self) -> String {
        let required = format!("{} must be at most {}", self.what, figure(self.bound));
        let (Some(interval), Some(verdict)) = (self.interval, self.verdict()) else {
            return format!("{required}: not measured.");
        };
        let [median, low, high] = [interval.median, interval.low, interval.high].map(figure);
        let found = match interval.count {
            1 => format!("{required}: {median} (one round)"),
            count => format!("{required}: {median} (95 % interval {low} to {high}, {count} rounds)"),
        };
        let margin = 100.0 * (interval.median / self.bound - 1.0).abs();
        let by = match interval.median <= self.bound {
            true => format!("{margin:.0} % below the bound"),
            false => format!("{margin:.0} % above the bound"),
        };
        match verdict {
            Verdict::Yes => format!("{found}; it holds, {by}."),
            Verdict::No => format!("{found}; it does not hold, {by}."),
            Verdict::Open => format!("{found}; open: the median is {by}, the interval lies on both sides."),
            Verdict::LooksLikeYes => format!("{found}; too few rounds to claim it, but it looks so, {by}."),
            Verdict::LooksLikeNo => format!("{found}; too few rounds to tell, but it looks as if not, {by}."),
        }
    }
}

/// Claims that are reported together: each series, and each other claim alone.
pub fn together(claims: &[Claim]) -> impl Iterator<Item = &[Claim]> {
    let name =
        |claim: &Claim| claim.series.as_ref().map(|(series, _)| (series.clone(), claim.bound.to_bits()));
    claims.chunk_by(move |a, b| name(a).is_some() && name(a) == name(b))
}

/// The sentences of claims, one for each series: whether it holds, and the figure at each place.
pub fn sentences(claims: &[Claim]) -> Vec<String> {
    together(claims)
        .map(|claims| if let [claim] = claims { claim.sentence() } else { series(claims) })
        .collect()
}

fn series(claims: &[Claim]) -> String {
    let of = |wanted: &[Option<Verdict>]| {
        let wanted = claims.iter().filter(|claim| wanted.contains(&claim.verdict()));
        wanted.map(Claim::in_series).collect::<Vec<_>>().join(", ")
    };
    let parts = [
        ("it holds at", of(&[Some(Verdict::Yes)])),
        ("it does not hold at", of(&[Some(Verdict::No)])),
        ("open, since the bound lies within the interval, at", of(&[Some(Verdict::Open)])),
        ("too few rounds to claim it, but it looks so at", of(&[Some(Verdict::LooksLikeYes)])),
        ("too few rounds to tell, but it looks as if not at", of(&[Some(Verdict::LooksLikeNo)])),
        ("not measured at", of(&[None])),
    ];
    let parts = parts.iter().filter(|(_, places)| !places.is_empty());
    let parts: Vec<String> = parts.map(|(how, places)| format!("{how} {places}")).collect();
    format!("{} (medians, 95 % intervals): {}.", claims[0].required_of_series(), parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    fn sentence(figure: f64, bound: f64, rounds: usize) -> String {
        let mut run = run("x", &[("b", "raddle", 2, "", figure), ("b", "raddle", 1, "", 1.0)]);
        run.cells.iter_mut().for_each(|cell| cell.rounds.truncate(rounds));
        let (two, one) = (run.find("b", "raddle", 2, ""), run.find("b", "raddle", 1, ""));
        Claim::ratio("T2/T1", two, one, ("", ""), bound).sentence()
    }

    #[test]
    fn a_sentence_says_whether_it_holds_and_by_how_much() {
        let holds = "T2/T1 must be at most 0.600: 0.540 (95 % interval 0.540 to 0.540, 15 rounds); it holds, \
                     10 % below the bound.";
        assert_eq!(sentence(0.54, 0.6, 15), holds);
        assert!(sentence(0.66, 0.6, 15).ends_with("it does not hold, 10 % above the bound."));
        assert!(sentence(0.54, 0.6, 5).contains("too few rounds to claim it"));
        assert!(sentence(0.66, 0.6, 5).contains("looks as if not"));
        assert!(sentence(0.54, 0.6, 1).contains(": 0.540 (one round); too few rounds"));
    }

    #[test]
    fn what_was_not_measured_is_said_so() {
        let claim = Claim::ratio("T2/T1", None, None, ("", ""), 0.6);
        assert_eq!(
            (claim.sentence().as_str(), claim.verdict()),
            ("T2/T1 must be at most 0.600: not measured.", None)
        );
        let run = run("x", &[("b", "raddle", 1, "", 5.5)]);
        let value = Claim::value("a future, ns", run.cells.first(), "", 6.0);
        assert_eq!(value.verdict(), Some(Verdict::Yes));
    }

    #[test]
    fn a_series_is_told_in_one_sentence() {
        let run = run("x", &[("b", "raddle", 2, "", 0.5), ("b", "raddle", 1, "", 1.0)]);
        let (two, one) = (run.find("b", "raddle", 2, ""), run.find("b", "raddle", 1, ""));
        let claim = |place: &str, bound| {
            Claim::of_series("T2/T1 at", place, Claim::ratio("", two, one, ("", ""), bound))
        };
        let said = sentences(&[claim("1", 0.6), claim("10", 0.6), claim("99", 0.4)]);
        assert_eq!(
            said[0],
            "T2/T1 at must be at most 0.600 (medians, 95 % intervals): it holds at 1: 0.500 (0.500 to 0.500), 10: \
             0.500 (0.500 to 0.500)."
        );
        assert!(said[1].starts_with("T2/T1 at 99, must be at most 0.400: 0.500"), "{}", said[1]);
    }
}
