//! Who holds what several may hold.

use crate::child::{in_program, stderr};
use crate::plain;
use crate::runtime;
use raddle::Runtime;
use raddle::csp::{self, Builder};
use raddle::hang::{OnDeadlock, dump};
use raddle::sync::{Arc, Semaphore};

/// Three have the permits, and one wants another.
pub(super) fn permits() {
    runtime(1).run(|| {
        let tables = Arc::new(Semaphore::new(3));
        for name in ["first", "second", "third"] {
            let tables = tables.clone();
            let has_one = move || {
                let _permit = tables.acquire().unwrap();
                csp::park();
            };
            drop(Builder::new().name(name).spawn(has_one).unwrap());
        }
        csp::yield_now();
        let wants = move || drop(tables.acquire().unwrap());
        Builder::new().name("waits").spawn(wants).unwrap().join().unwrap();
    });
}

#[test]
fn a_semaphore_names_all_its_holders() {
    let output = in_program("permits", &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let text = plain(&stderr(&output));
    let line = text.lines().find(|line| line.contains("waits in Semaphore::acquire at")).expect(&text);
    let since = "since crates/raddle-hang/tests/it/holders.rs:N";
    let all = format!("held by 'first' {since}, by 'second' {since}, by 'third' {since}");
    assert!(line.contains(&all), "{text}");
    assert!(line.contains("(semaphore: permits left: 0)"), "{text}");
}

/// Permits come and go: who has none is not named, nor who has forgotten its own; many are.
#[test]
fn only_those_are_named_who_hold_something() {
    let rt = Runtime::builder().workers(1).deadlock(OnDeadlock::Off).build().unwrap();
    let json = rt.run(|| {
        let tables = Arc::new(Semaphore::new(100));
        let hold = |forgets: bool| {
            let tables = tables.clone();
            csp::spawn(move || {
                let permit = tables.acquire().unwrap();
                if forgets {
                    permit.forget();
                    return csp::park();
                }
                csp::park();
                drop(permit);
                csp::park();
            })
        };
        let holders: Vec<_> = (0..99).map(|number| hold(number == 98)).collect();
        let until_left = |left| {
            while tables.available_permits() != left {
                csp::yield_now();
            }
        };
        until_left(1);
        let all = tables.clone();
        let waits = csp::spawn(move || drop(all.acquire_many(99).unwrap()));
        while !dump().list().contains("waits in Semaphore::acquire at ") {
            csp::yield_now();
        }
        let many = dump();
        // All but the last seven give theirs back.
        holders[..91].iter().for_each(|one| one.process().unpark());
        until_left(92);
        let few = dump();
        holders.iter().for_each(|one| one.process().unpark());
        waits.join().unwrap();
        holders.iter().for_each(|one| one.process().unpark());
        holders.into_iter().for_each(|one| one.join().unwrap());
        [many, few].map(|dump| (dump.json(), dump.to_string()))
    });
    let count = |json: &str| {
        let all = json.split(r#""holders":["#).nth(1).and_then(|rest| rest.split(']').next());
        all.map(|all| all.split(',').count())
    };
    assert_eq!(count(&json[0].0), Some(64), "{}", json[0].0);
    assert!(json[0].1.contains("34 more have some"), "{}", json[0].1);
    assert!(count(&json[1].0).is_none_or(|count| count <= 7), "{}", json[1].0);
}
