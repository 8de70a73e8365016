//! Stacks: reuse, colours, guards, many alive, refusals.

use crate::support::{Coroutine, pool, run_on};
use raddle_context::{Guard, SizeClass, StackDepot, StackOptions, StackPool};
use std::collections::HashSet;

/// Contexts alive at once; the twin takes an OS thread for each.
const MANY: usize = if cfg!(raddle_twin) { 200 } else { 100_000 };

#[test]
fn the_stack_given_last_is_taken_first() {
    let mut pool = pool();
    let (one, two) = (pool.take(SizeClass::DEFAULT).unwrap(), pool.take(SizeClass::DEFAULT).unwrap());
    let (first, second) = (one.top(), two.top());
    pool.give(one);
    pool.give(two);
    assert_eq!(pool.take(SizeClass::DEFAULT).unwrap().top(), second);
    assert_eq!(pool.take(SizeClass::DEFAULT).unwrap().top(), first);
}

#[test]
fn tops_are_coloured_and_leave_room_in_the_top_page() {
    let mut pool = pool();
    for class in SizeClass::all() {
        let stacks: Vec<_> = (0..64).map(|_| pool.take(class).unwrap()).collect();
        let colours: HashSet<usize> = stacks.iter().map(|s| s.top().addr() % 4096).collect();
        // Each of the largest is mapped by itself, wherever the kernel finds room: that may be one colour twice.
        let least = if class.bytes() > 8 << 20 { 16 } else { 32 };
        assert!(colours.len() >= least, "{class:?}: {} colours", colours.len());
        for stack in &stacks {
            let in_page = (stack.top().addr() - 1) % 4096 + 1;
            assert!(in_page >= 1800, "{in_page} bytes are left in the top page");
            assert_eq!(stack.top().addr() % 64, 0);
            assert!(stack.bytes() <= class.bytes() && stack.bytes() + 1984 >= class.bytes());
        }
        stacks.into_iter().for_each(|stack| pool.give(stack));
    }
}

#[test]
fn all_memory_of_all_classes_can_be_used() {
    let mut pool = pool();
    for class in SizeClass::all() {
        let stack = pool.take(class).unwrap();
        let (low, high) = (stack.limit(), stack.top().wrapping_sub(1));
        // SAFETY: both are bytes of a stack that this test holds.
        unsafe { low.write(1) };
        // SAFETY: as above.
        unsafe { high.write(2) };
        pool.give(stack);
    }
}

#[test]
fn giving_more_than_a_magazine_holds_keeps_every_stack_once() {
    let depot = StackDepot::new();
    let mut pool = StackPool::new(depot.clone());
    for _ in 0..3 {
        let stacks: Vec<_> = (0..1500).map(|_| pool.take(SizeClass::DEFAULT).unwrap()).collect();
        let distinct: HashSet<_> = stacks.iter().map(|stack| stack.top()).collect();
        assert_eq!(distinct.len(), 1500);
        stacks.into_iter().for_each(|stack| pool.give(stack));
    }
    assert!(depot.made() < 1500 + 64, "stacks were not reused: {} made", depot.made());
}

#[test]
fn a_stack_moves_from_one_worker_to_another_through_the_depot() {
    let depot = StackDepot::new();
    let stack = StackPool::new(depot.clone()).take(SizeClass::DEFAULT).unwrap();
    let other = depot.clone();
    std::thread::spawn(move || StackPool::new(other).give(stack)).join().unwrap();
    let mut pool = StackPool::new(depot.clone());
    run_on(&mut pool, SizeClass::DEFAULT, |_| ());
    assert_eq!(depot.made(), 4);
}

/// A program of a few processes does not pay for the stacks of many, and one of many comes to a batch at a time.
#[test]
fn few_stacks_are_cut_at_first_and_then_as_many_as_there_are_up_to_a_batch() {
    let depot = StackDepot::new();
    let mut pool = StackPool::new(depot.clone());
    let mut made = vec![0];
    let stacks: Vec<_> = (0..200)
        .map(|_| {
            let stack = pool.take(SizeClass::DEFAULT).unwrap();
            if depot.made() != made[made.len() - 1] {
                made.push(depot.made());
            }
            stack
        })
        .collect();
    assert_eq!(made, [0, 4, 8, 16, 32, 64, 128, 192, 256]);
    stacks.into_iter().for_each(|stack| pool.give(stack));
}

/// A guard's page cannot be populated.
fn is_guarded(page: *mut u8) -> bool {
    // SAFETY: what the page holds stays as it is.
    let answer = unsafe { libc::madvise(page.cast(), 4096, libc::MADV_POPULATE_READ) };
    answer != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// Slots are cut and guarded several at a time, and nobody tries each: one that was left out would show nowhere else.
#[test]
fn each_stack_of_a_batch_has_its_guard_and_no_other_page_is_one() {
    let depot = StackDepot::new();
    let mut pool = StackPool::new(depot.clone());
    for class in SizeClass::all().take(4) {
        let stacks: Vec<_> = (0..300).map(|_| pool.take(class).unwrap()).collect();
        if depot.guard(class) == Guard::Best {
            for stack in &stacks {
                assert!(is_guarded(stack.limit().wrapping_sub(4096)), "{class:?}: no guard");
                assert!(!is_guarded(stack.limit()) && !is_guarded(stack.memory().end.wrapping_sub(4096)));
            }
        }
        stacks.into_iter().for_each(|stack| pool.give(stack));
    }
}

#[test]
fn many_contexts_are_alive_at_once() {
    let depot = StackDepot::new();
    let mut pool = StackPool::new(depot.clone());
    run_on(&mut pool, SizeClass::DEFAULT, |_| ());
    // Without guard regions (Linux before 6.13, qemu-user) each stack takes two of 65530 memory maps.
    let many = if depot.guard(SizeClass::DEFAULT) == Guard::Best { MANY } else { MANY.min(20_000) };
    let flows: Vec<Coroutine> =
        (0..many).map(|_| Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), |y| y.pause())).collect();
    assert!(flows.iter().all(|flow| flow.resume()));
    flows.into_iter().for_each(|flow| pool.give(flow.finish()));
}

#[test]
fn the_fallback_guard_carries_contexts_too() {
    let depot = StackDepot::with(StackOptions { guard: Guard::Protect, ..StackOptions::default() });
    let mut pool = StackPool::new(depot);
    let flows: Vec<Coroutine> = (0..MANY.min(1000))
        .map(|_| Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), |y| y.pause()))
        .collect();
    assert!(flows.iter().all(|flow| flow.resume()));
    flows.into_iter().for_each(|flow| pool.give(flow.finish()));
}

#[test]
fn refused_memory_is_an_error_that_says_what_to_change() {
    let options = StackOptions { refuse_after: Some(10), ..StackOptions::default() };
    let mut pool = StackPool::new(StackDepot::with(options));
    let taken: Vec<_> = (0..10).map(|_| pool.take(SizeClass::DEFAULT).unwrap()).collect();
    let error = pool.take(SizeClass::DEFAULT).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    let text = error.to_string();
    for part in ["65536-byte", "10 made", "vm.max_map_count", "ulimit -v", "smaller"] {
        assert!(text.contains(part), "\"{part}\" is missing in: {text}");
    }
    taken.into_iter().for_each(|stack| pool.give(stack));
    pool.take(SizeClass::DEFAULT).expect("a stack that came back can be had again");
}

#[test]
fn a_wish_beyond_the_largest_class_is_refused_with_both_figures() {
    let text = SizeClass::for_bytes(2 << 30).unwrap_err().to_string();
    assert!(text.contains("2097152 KiB") && text.contains("1048576 KiB"), "{text}");
}

#[test]
fn trimmed_stacks_can_be_used_again() {
    let depot = StackDepot::new();
    let mut pool = StackPool::new(depot.clone());
    run_on(&mut pool, SizeClass::DEFAULT, |_| ());
    pool.flush();
    assert_eq!(depot.trim(), depot.made());
    run_on(&mut pool, SizeClass::DEFAULT, |_| ());
}

#[cfg(not(raddle_twin))] // whose contexts run on other stacks
#[test]
fn the_high_water_mark_follows_the_depth() {
    let depot = StackDepot::with(StackOptions { fill: true, ..StackOptions::default() });
    let mut pool = StackPool::new(depot);
    let mark = |pool: &mut StackPool, bytes: usize| {
        let stack = pool.take(SizeClass::DEFAULT).unwrap();
        assert_eq!(stack.high_water_bytes(), Some(0));
        let stack = Coroutine::new(stack, move |_| {
            std::hint::black_box(if bytes == 0 { 0 } else { std::hint::black_box([7_u8; 20_000])[bytes] });
        })
        .finish();
        let mark = stack.high_water_bytes().unwrap();
        pool.give(stack);
        mark
    };
    let (deep, shallow) = (mark(&mut pool, 1), mark(&mut pool, 1));
    assert!(deep > 20_000 && deep < 40_000 && deep == shallow, "{deep} then {shallow}");
    assert_eq!(self::pool().take(SizeClass::DEFAULT).unwrap().high_water_bytes(), None);
}
