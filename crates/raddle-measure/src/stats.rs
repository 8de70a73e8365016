//! Owns: medians, spread, percentiles, and the interval in which a median lies.
//! May use: nothing.
//! Never: a clock; pure functions of given samples.
//!
//! Times on a shared machine have a long tail to one side, so means and standard deviations mislead: everything
//! here is order statistics. The interval around a median is the classic distribution-free one: between the
//! k-th smallest and the k-th largest sample, k as large as the binomial distribution with p = 1/2 allows at 95 %
//! (Conover, *Practical Nonparametric Statistics*, confidence intervals for quantiles). It needs six samples; a
//! claim needs [`PAIRS_MIN`].

/// A required ratio is claimed on at least this many interleaved pairs.
pub const PAIRS_MIN: usize = 15;

/// What a series of samples says in five figures.
///
/// ```
/// use raddle_measure::Summary;
/// let summary = Summary::of(&[5.0, 1.0, 2.0, 3.0, 100.0]).unwrap();
/// assert_eq!((summary.median, summary.min, summary.max, summary.mad), (3.0, 1.0, 100.0, 2.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The middle sample, or the mean of the two middle ones.
    pub median: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// Median absolute deviation from the median, unscaled.
    pub mad: f64,
    /// Number of samples.
    pub runs: usize,
}

impl Summary {
    /// Summarises `samples`; `None` when there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        let median = median(&sorted)?;
        let deviations: Vec<f64> = sorted.iter().map(|x| (x - median).abs()).collect();
        let mad = self::median(&deviations)?;
        Some(Summary { median, min: *sorted.first()?, max: *sorted.last()?, mad, runs: sorted.len() })
    }
}

/// A median and the 95 % interval around it.
///
/// ```
/// use raddle_measure::Interval;
/// let ratios: Vec<f64> = (1..=15).map(f64::from).collect();
/// let interval = Interval::of(&ratios).unwrap();
/// assert_eq!((interval.low, interval.median, interval.high, interval.worst), (4.0, 8.0, 12.0, 15.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The median of the samples.
    pub median: f64,
    /// Lower end; with fewer than six samples simply the smallest.
    pub low: f64,
    /// Upper end; with fewer than six samples simply the largest.
    pub high: f64,
    /// The largest sample.
    pub worst: f64,
    /// Number of samples.
    pub count: usize,
}

/// What an interval says about a bound that the true median must not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval lies at or below the bound, on enough pairs.
    Yes,
    /// The whole interval lies above the bound, on enough pairs.
    No,
    /// The bound lies within the interval, on enough pairs: neither is shown.
    Open,
    /// Too few pairs to claim anything; the median lies at or below the bound.
    LooksLikeYes,
    /// Too few pairs to claim anything; the median lies above the bound.
    LooksLikeNo,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Verdict::Yes => "yes",
            Verdict::No => "no",
            Verdict::Open => "open",
            Verdict::LooksLikeYes => "yes?",
            Verdict::LooksLikeNo => "no?",
        })
    }
}

impl Interval {
    /// The interval around the median of `samples`; `None` when there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples);
        let rank = rank_of_interval(sorted.len()).unwrap_or(0);
        let (low, high) = (*sorted.get(rank)?, sorted[sorted.len() - 1 - rank]);
        Some(Interval { median: median(&sorted)?, low, high, worst: *sorted.last()?, count: sorted.len() })
    }

    /// Does the median lie at or below `bound`?
    pub fn at_most(&self, bound: f64) -> Verdict {
        match self.count >= PAIRS_MIN {
            true if self.high <= bound => Verdict::Yes,
            true if self.low > bound => Verdict::No,
            true => Verdict::Open,
            false if self.median <= bound => Verdict::LooksLikeYes,
            false => Verdict::LooksLikeNo,
        }
    }
}

/// The median of `samples`; `None` when there are none.
pub fn median(samples: &[f64]) -> Option<f64> {
    let sorted = sorted(samples);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

/// The smallest sample that at least `percent` per cent of `samples` do not exceed; `None` when there are none.
///
/// ```
/// use raddle_measure::stats::percentile;
/// let samples: Vec<f64> = (1..=100).map(f64::from).collect();
/// assert_eq!(percentile(&samples, 99.0), Some(99.0));
/// assert_eq!(percentile(&samples, 50.0), Some(50.0));
/// ```
pub fn percentile(samples: &[f64], percent: f64) -> Option<f64> {
    let sorted = sorted(samples);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The largest `k` such that the median lies outside of `[x(k), x(n-1-k)]` (counted from 0) with at most 5 %;
/// `None` when even the whole range does not reach that.
fn rank_of_interval(count: usize) -> Option<usize> {
    let n = count as f64;
    let (mut log_term, mut tail, mut rank) = (-n * std::f64::consts::LN_2, 0.0, None);
    for k in 0..count / 2 {
        tail += log_term.exp();
        if 2.0 * tail > 0.05 {
            break;
        }
        rank = Some(k);
        log_term += ((n - k as f64) / (k as f64 + 1.0)).ln();
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_number_of_samples_has_its_median_between() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn percentiles_are_samples() {
        assert_eq!(percentile(&[3.0], 99.0), Some(3.0));
        assert_eq!(percentile(&[1.0, 2.0], 0.0), Some(1.0));
        assert_eq!(percentile(&[1.0, 2.0, 3.0], 100.0), Some(3.0));
        assert_eq!(percentile(&[], 50.0), None);
    }

    /// The printed tables of sign-test intervals: n and the rank (from 1) of the lower end at 95 %.
    #[test]
    fn interval_ranks_agree_with_the_printed_table() {
        for (n, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8), (50, 18), (100, 40)] {
            assert_eq!(rank_of_interval(n), Some(rank - 1), "n = {n}");
        }
        assert_eq!(rank_of_interval(5), None);
        assert_eq!(rank_of_interval(0), None);
        assert!(rank_of_interval(5000).is_some_and(|rank| (2400..2500).contains(&rank)));
    }

    #[test]
    fn few_samples_give_their_range() {
        let interval = Interval::of(&[2.0, 1.0, 3.0]).unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 3.0));
    }

    #[test]
    fn a_bound_holds_only_with_the_whole_interval_and_enough_pairs() {
        let many: Vec<f64> = (1..=15).map(f64::from).collect();
        let interval = Interval::of(&many).unwrap();
        assert_eq!(interval.at_most(12.0), Verdict::Yes);
        assert_eq!(interval.at_most(11.9), Verdict::Open);
        assert_eq!(interval.at_most(4.0), Verdict::Open);
        assert_eq!(interval.at_most(3.9), Verdict::No);
        let few = Interval::of(&many[..14]).unwrap();
        assert_eq!(few.at_most(100.0), Verdict::LooksLikeYes);
        assert_eq!(few.at_most(1.0), Verdict::LooksLikeNo);
    }
}
