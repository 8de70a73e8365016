//! Owns: a program as users of rayon write it: the most frequent words of a text, counted and sorted in parallel.
//! May use: rayon.
//! Never: a name of Raddle's. That it runs on Raddle's scheduler says its manifest.
//!
//!     cargo run --manifest-path examples/rayon/Cargo.toml < README.md

use rayon::prelude::*;
use std::collections::HashMap;
use std::io::{self, Read, Write};

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let mut out = io::stdout().lock();
    for (word, count) in most_frequent(&text, 10) {
        writeln!(out, "{count:6} {word}")?;
    }
    Ok(())
}

/// The most frequent words, in lower case; of those that are as frequent, the first by the alphabet.
fn most_frequent(text: &str, count: usize) -> Vec<(String, usize)> {
    let counts = text
        .par_split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .fold(HashMap::new, |mut counts, word| {
            *counts.entry(word).or_insert(0) += 1;
            counts
        })
        .reduce(HashMap::new, |mut all, some| {
            some.into_iter().for_each(|(word, n)| *all.entry(word).or_insert(0) += n);
            all
        });
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.par_sort_unstable_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    counts.truncate(count);
    counts
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_counted() {
        let text = "To be, or not to be: that is the question. ".repeat(1000);
        let words = super::most_frequent(&text, 3);
        assert_eq!(words, [("be".into(), 2000), ("to".into(), 2000), ("is".into(), 1000)]);
        assert!(super::most_frequent("", 3).is_empty());
    }
}
