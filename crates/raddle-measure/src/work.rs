//! Owns: a known amount of computation, and its result without the computation.
//! May use: nothing.
//! Never: the clock.
//!
//! Each step is one step of a 64-bit linear congruential generator (Knuth's MMIX constants): a multiplication and
//! an addition, each waiting for the one before, which no compiler can shorten and no second core can share. The
//! result after `n` steps can be had in log n steps (F. Brown, *Random number generation with arbitrary strides*,
//! 1994), and so the runner knows the checksum that each program must print.

const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// Computes for `steps` steps (each about 1 ns on today's machines) from `seed`; returns where it ended.
#[inline(never)]
pub fn burn(seed: u64, steps: u64) -> u64 {
    // A constant that the optimiser cannot see: it would make one step of several. (Hiding `x` instead sends it
    // through memory at each step and takes 2.5 ns for one of 1.1.)
    let multiplier = std::hint::black_box(MULTIPLIER);
    (0..steps).fold(seed, |x, _| x.wrapping_mul(multiplier).wrapping_add(INCREMENT))
}

/// What [`burn`] returns, in time logarithmic in `steps`.
///
/// ```
/// use raddle_measure::work::{burn, burned};
/// assert_eq!(burn(7, 12_345), burned(7, 12_345));
/// ```
pub fn burned(seed: u64, steps: u64) -> u64 {
    let (mut multiplier, mut increment) = (MULTIPLIER, INCREMENT);
    let (mut x, mut left) = (seed, steps);
    while left > 0 {
        if left & 1 == 1 {
            x = x.wrapping_mul(multiplier).wrapping_add(increment);
        }
        increment = increment.wrapping_mul(multiplier.wrapping_add(1));
        multiplier = multiplier.wrapping_mul(multiplier);
        left >>= 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_ends_where_the_long_way_does() {
        for steps in [0, 1, 2, 3, 64, 1000, 65_537] {
            for seed in [0, 1, u64::MAX] {
                assert_eq!(burn(seed, steps), burned(seed, steps), "seed {seed}, {steps} steps");
            }
        }
    }

    #[test]
    fn other_seeds_and_other_lengths_end_elsewhere() {
        assert_ne!(burned(1, 1000), burned(2, 1000));
        assert_ne!(burned(1, 1000), burned(1, 1001));
    }
}
