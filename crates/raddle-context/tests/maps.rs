//! A program of its own, since it uses up what all threads of a program share.

use raddle_context::{Guard, SizeClass, StackDepot, StackOptions, StackPool};

/// Where the kernel allows more maps than are worth a test.
const MOST: usize = 200_000;

/// Each of these takes two of the kernel's maps, of which there are 65 530: the refusal is an error, and what comes
/// back can be had again.
#[cfg(not(any(raddle_twin, raddle_asan, raddle_tsan)))]
#[test]
fn more_stacks_than_the_kernel_has_maps_are_refused_by_an_error() {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let maps: usize = limit.and_then(|text| text.trim().parse().ok()).unwrap_or(usize::MAX);
    let options = StackOptions { guard: Guard::Protect, ..StackOptions::default() };
    let mut pool = StackPool::new(StackDepot::with(options));
    let class = SizeClass::for_bytes(1).unwrap();
    let wanted = maps.min(MOST);
    let mut taken = Vec::new();
    let error = (0..wanted).find_map(|_| pool.take(class).map(|stack| taken.push(stack)).err());
    if wanted == maps {
        let text = error.expect("no map is left").to_string();
        assert!(text.contains("vm.max_map_count"), "{text}");
        assert!(taken.len() > maps / 4, "{}", taken.len());
    }
    let count = taken.len() / 2;
    taken.drain(count..).for_each(|stack| pool.give(stack));
    let again: Vec<_> = (0..count / 2).map(|_| pool.take(class).expect("it came back")).collect();
    again.into_iter().chain(taken).for_each(|stack| pool.give(stack));
}
