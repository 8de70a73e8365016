//! The switch: state survives, stacks are aligned, ends chain, panics stay inside, backtraces end.

use crate::support::{Coroutine, pool, run_on};
use raddle_context::{Context, SizeClass, current, transfer};
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

#[test]
fn two_flows_take_turns_in_order() {
    let (mut pool, log) = (pool(), Rc::new(RefCell::new(Vec::new())));
    let flows: Vec<Coroutine> = ["a", "b"]
        .map(|name| {
            let log = log.clone();
            Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), move |y| {
                for round in 0..3 {
                    log.borrow_mut().push(format!("{name}{round}"));
                    y.pause();
                }
            })
        })
        .into();
    while flows.iter().fold(true, |all, flow| all & flow.resume()) {}
    assert_eq!(log.borrow().join(" "), "a0 b0 a1 b1 a2 b2");
    flows.into_iter().for_each(|flow| pool.give(flow.finish()));
}

/// Holds more live values over a switch than there are registers, integer and floating.
#[inline(never)]
fn live_values(seed: u64, pause: &dyn Fn()) -> (u64, f64) {
    let ints: [u64; 20] = core::array::from_fn(|i| black_box(seed).wrapping_mul(i as u64 + 3));
    let floats: [f64; 20] = core::array::from_fn(|i| black_box(seed as f64) + i as f64);
    pause();
    (ints.iter().fold(0, |sum, x| sum ^ x), floats.iter().sum())
}

#[test]
fn live_registers_survive_a_switch() {
    let mut pool = pool();
    let expected = live_values(11, &|| ());
    let flow = Coroutine::new(pool.take(SizeClass::DEFAULT).unwrap(), move |y| {
        for _ in 0..100 {
            assert_eq!(live_values(11, &|| y.pause()), expected);
        }
    });
    let others = live_values(29, &|| ());
    let going = Cell::new(true);
    while going.get() {
        let seen = live_values(29, &|| going.set(flow.resume()));
        assert_eq!(seen, others);
    }
    pool.give(flow.finish());
}

#[test]
fn a_start_is_aligned_as_the_calling_convention_says() {
    #[repr(align(16))]
    struct Aligned16([u8; 16]);
    let mut pool = pool();
    for _ in 0..64 {
        run_on(&mut pool, SizeClass::DEFAULT, |_| {
            let local = Aligned16([1; 16]);
            assert_eq!((&raw const *black_box(&local)).addr() % 16, 0);
            black_box(local.0);
        });
    }
}

#[test]
fn a_panic_is_caught_at_the_base() {
    let caught = Rc::new(Cell::new(false));
    let seen = caught.clone();
    run_on(&mut pool(), SizeClass::DEFAULT, move |y| {
        y.pause();
        let outcome = catch_unwind(AssertUnwindSafe(|| std::panic::resume_unwind(Box::new(7_u8))));
        seen.set(outcome.unwrap_err().downcast_ref() == Some(&7_u8));
    });
    assert!(caught.get());
}

#[test]
fn a_backtrace_ends_at_the_base() {
    let text = Rc::new(RefCell::new(String::new()));
    let inside = text.clone();
    run_on(&mut pool(), SizeClass::for_bytes(1 << 20).unwrap(), move |_| {
        *inside.borrow_mut() = std::backtrace::Backtrace::force_capture().to_string();
    });
    let text = text.borrow();
    // With line tables only, as in release, a frame has its bare name.
    assert!(text.contains("entry"), "the base is missing:\n{text}");
    assert!(!text.contains("a_backtrace_ends_at_the_base\n"), "it went on into the resumer:\n{text}");
    assert!(text.lines().count() < 100, "it did not end:\n{text}");
}

#[test]
fn the_current_word_is_what_was_set_last() {
    let seen = Rc::new(Cell::new(0));
    let inside = seen.clone();
    // SAFETY: nobody but this test reads the word here.
    let set = |word: usize| unsafe { current::set(core::ptr::without_provenance_mut(word)) };
    set(0x1230);
    run_on(&mut pool(), SizeClass::DEFAULT, move |_| {
        inside.set(current::get().addr());
        set(0x4560);
    });
    assert_eq!((seen.get(), current::get().addr()), (0x1230, 0x4560));
    set(0);
}

#[test]
fn a_count_is_used_up_until_it_is_set_anew() {
    // On a thread of its own, whose count is as it begins.
    let counted = || {
        assert_eq!(current::count_given(), current::COUNT_MAX);
        for count in [current::COUNT_MAX, 3, 1, 100] {
            if count != current::COUNT_MAX {
                current::set_count(count);
            }
            assert_eq!((0..).position(|_| current::count_down()), Some(count as usize - 1));
            assert!(current::count_down() && current::count_down(), "still used up");
            assert_eq!(current::count_given(), count);
        }
    };
    std::thread::spawn(counted).join().unwrap();
}

/// A chain of contexts, each of which starts the next by returning it, all on one stack.
#[repr(C)]
struct ChainLink {
    context: Context,
    next: *mut Context,
    ran: bool,
}

unsafe extern "C" fn link(me: *mut Context) -> *mut Context {
    // SAFETY: `context` is the first field of a `ChainLink` that the test keeps alive.
    let link = unsafe { &mut *me.cast::<ChainLink>() };
    link.ran = true;
    link.next
}

#[test]
fn an_end_may_start_the_next_context_on_the_same_stack() {
    let mut pool = pool();
    let stack = pool.take(SizeClass::DEFAULT).unwrap();
    let mut main = Context::empty();
    let mut links: Vec<ChainLink> = (0..1000)
        .map(|_| ChainLink { context: Context::empty(), next: core::ptr::null_mut(), ran: false })
        .collect();
    let mut next = &raw mut main;
    for link_ref in links.iter_mut().rev() {
        // SAFETY: the links run one after the other, so that only one of them uses the stack at a time.
        unsafe { link_ref.context.prime(&stack, link) };
        link_ref.next = core::mem::replace(&mut next, &raw mut link_ref.context);
    }
    // SAFETY: `next` is the first link, primed; `main` is ours.
    unsafe { transfer(&raw mut main, next) };
    assert!(links.iter().all(|link| link.ran));
    pool.give(stack);
}
