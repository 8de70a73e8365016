//! Sorts a million numbers, each half by whoever has time.

/// Pieces that are not worth dividing.
const ALONE_MAX: usize = 4096;

/// Quicksort: the two sides of the pivot have nothing in common.
fn sort(numbers: &mut [u64]) {
    if numbers.len() <= ALONE_MAX {
        return numbers.sort_unstable();
    }
    let middle = numbers.len() / 2;
    let (low, _, high) = numbers.select_nth_unstable(middle);
    raddle::join(|| sort(low), || sort(high));
}

fn main() {
    let mut numbers: Vec<u64> =
        (1..=1_000_000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).collect();
    sort(&mut numbers);
    assert!(numbers.is_sorted());
    println!("sorted {} numbers", numbers.len());
}
