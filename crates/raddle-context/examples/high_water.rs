//! How deep a stack ordinary things go: the evidence for the default size.
//!
//! `cargo run [--release] -p raddle-context --example high_water`
#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use raddle_context::{Context, SizeClass, StackDepot, StackError, StackOptions, StackPool, transfer};
use std::cell::Cell;
use std::collections::HashMap;
use std::hint::black_box;
use std::panic::catch_unwind;

#[repr(C)]
struct Measured {
    context: Context,
    driver: Context,
    body: fn(),
}

unsafe extern "C" fn entry(me: *mut Context) -> *mut Context {
    // SAFETY: `context` is the first field of a `Measured` that `high_water` keeps alive.
    let measured = unsafe { &mut *me.cast::<Measured>() };
    (measured.body)();
    &raw mut measured.driver
}

fn high_water(pool: &mut StackPool, body: fn()) -> Result<usize, StackError> {
    let stack = pool.take(SizeClass::for_bytes(8 << 20)?)?;
    let mut measured = Measured { context: Context::empty(), driver: Context::empty(), body };
    // SAFETY: the stack is given back after the context has ended.
    unsafe { measured.context.prime(&stack, entry) };
    // SAFETY: `driver` is where we are saved, `context` is primed.
    unsafe { transfer(&raw mut measured.driver, &raw mut measured.context) };
    let bytes = stack.high_water_bytes().unwrap_or(0);
    pool.give(stack);
    Ok(bytes)
}

fn print_integers() {
    println!("{} {:?}", black_box(7), black_box([1, 2, 3]));
}

fn format_floats() {
    black_box(format!("{} {:e} {:.17}", black_box(0.1), black_box(1e300), black_box(f64::MIN_POSITIVE)));
}

fn parse_floats() {
    black_box(black_box("2.2250738585072011e-308").parse::<f64>()).ok();
}

fn hash_map() {
    let mut map: HashMap<String, Vec<u8>> = HashMap::new();
    for n in 0..1000 {
        map.entry(n.to_string()).or_default().push(1);
    }
    black_box(map);
}

fn sort() {
    let mut items: Vec<u64> = (0..100_000).map(|n| black_box(n * 7919 % 100_003)).collect();
    items.sort();
    black_box(items);
}

fn caught_panic_quiet() {
    black_box(catch_unwind(|| std::panic::resume_unwind(Box::new(1)))).ok();
}

fn caught_panic_printed() {
    black_box(catch_unwind(|| panic!("wanted, with a backtrace"))).ok();
}

fn thread_local() {
    thread_local!(static CELL: Cell<u64> = const { Cell::new(1) });
    black_box(CELL.get());
}

fn read_a_file() {
    black_box(std::fs::read_to_string("/proc/self/status")).ok();
}

fn resolve_a_name() {
    use std::net::ToSocketAddrs;
    black_box(("localhost", 80).to_socket_addrs()).ok();
}

fn main() -> Result<(), StackError> {
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("RUST_BACKTRACE", "1") };
    let mut pool = StackPool::new(StackDepot::with(StackOptions { fill: true, ..StackOptions::default() }));
    let rows: [(&str, fn()); 11] = [
        ("nothing", || ()),
        ("a thread-local", thread_local),
        ("println! of integers", print_integers),
        ("format! of floats", format_floats),
        ("parse of a float", parse_floats),
        ("HashMap, 1000 entries", hash_map),
        ("sort, 100 000 items", sort),
        ("a file read", read_a_file),
        ("panic caught, not printed", caught_panic_quiet),
        ("panic printed with backtrace", caught_panic_printed),
        ("a host name resolved (libc)", resolve_a_name),
    ];
    let figures: Result<Vec<usize>, _> = rows.iter().map(|row| high_water(&mut pool, row.1)).collect();
    for ((name, _), bytes) in rows.iter().zip(figures?) {
        println!("{name:<32}{bytes:>8} bytes");
    }
    Ok(())
}
