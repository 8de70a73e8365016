//! Owns: the order in which compared cells run.
//! May use: nothing.
//! Never: a clock or a process.
//!
//! Each round runs every cell once; the next round starts one cell further, so that no cell always runs first
//! after a pause or always behind the same neighbour (who may leave the machine hot, or its caches full).

/// The cells `0..cells` in the order of round `round`.
///
/// ```
/// use raddle_measure::rounds::order;
/// assert_eq!(order(3, 0).collect::<Vec<_>>(), [0, 1, 2]);
/// assert_eq!(order(3, 1).collect::<Vec<_>>(), [1, 2, 0]);
/// assert_eq!(order(3, 3).collect::<Vec<_>>(), [0, 1, 2]);
/// ```
pub fn order(cells: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..cells).map(move |place| (place + round) % cells)
}

/// Figures that two cells made in the same round, as ratios `numerator / denominator`.
/// Rounds in which one of them has no figure, or the denominator is 0, are left out.
///
/// ```
/// use raddle_measure::rounds::pair_ratios;
/// assert_eq!(pair_ratios(&[Some(1.0), None, Some(3.0)], &[Some(2.0), Some(2.0), Some(2.0)]), [0.5, 1.5]);
/// ```
pub fn pair_ratios(numerators: &[Option<f64>], denominators: &[Option<f64>]) -> Vec<f64> {
    let pairs = numerators.iter().zip(denominators);
    pairs.filter_map(|(n, d)| Some(n.as_ref()? / d.filter(|&d| d != 0.0)?)).collect()
}

/// Figures that two cells made in the same round, as differences `figure - less`. Rounds in which one of them has no
/// figure are left out.
///
/// ```
/// use raddle_measure::rounds::pair_differences;
/// assert_eq!(pair_differences(&[Some(3.0), None, Some(5.0)], &[Some(2.0), Some(2.0), Some(7.0)]), [1.0, -2.0]);
/// ```
pub fn pair_differences(figures: &[Option<f64>], less: &[Option<f64>]) -> Vec<f64> {
    figures.iter().zip(less).filter_map(|(figure, less)| Some(figure.as_ref()? - less.as_ref()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_runs_every_cell_once() {
        for round in 0..10 {
            let mut cells: Vec<usize> = order(7, round).collect();
            cells.sort_unstable();
            assert_eq!(cells, (0..7).collect::<Vec<_>>());
        }
    }

    #[test]
    fn over_as_many_rounds_as_cells_everyone_is_first_once() {
        let mut first: Vec<usize> = (0..5).filter_map(|round| order(5, round).next()).collect();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn no_cells_make_no_rounds() {
        assert_eq!(order(0, 3).count(), 0);
    }

    #[test]
    fn pairs_never_cross_rounds() {
        assert_eq!(pair_ratios(&[Some(1.0), Some(8.0)], &[Some(2.0)]), [0.5]);
        assert_eq!(pair_ratios(&[Some(1.0), Some(8.0)], &[None, Some(2.0)]), [4.0]);
        assert_eq!(pair_ratios(&[Some(1.0)], &[Some(0.0)]), Vec::<f64>::new());
    }
}
