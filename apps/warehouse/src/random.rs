//! Owns: the random numbers of the transactions: a stream from a seed, and TPC-C's non-uniform distribution.
//! May use: nothing.
//! Never: anything that differs from run to run.

/// A stream of numbers (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014: `SplitMix64`).
#[derive(Clone, Debug)]
pub struct RandomStream(u64);

impl RandomStream {
    /// The stream of this seed and this number.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = RandomStream(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// A number below `bound`, non-uniformly distributed (TPC-C, clause 2.1.6).
    pub fn uneven(&mut self, bound: u32) -> u32 {
        let mask = bound.next_power_of_two() / 4;
        let hot = self.below(mask.max(1)) | self.below(bound);
        (hot + bound / 3) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_a_stream() {
        let draw = |seed, stream| {
            let mut random = RandomStream::new(seed, stream);
            (0..8).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_some_are_hot() {
        let mut random = RandomStream::new(7, 0);
        let mut seen = [0_u32; 300];
        for _ in 0..30_000 {
            assert!((5..=15).contains(&random.between(5, 15)));
            seen[random.uneven(300) as usize] += 1;
        }
        assert!(seen.iter().max() > Some(&300), "an even choice takes each 100 times: {seen:?}");
    }
}
