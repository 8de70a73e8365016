use super::*;
use std::collections::HashSet;

#[test]
fn inside_and_outside_it_is_the_same_thread() {
    everywhere(|| {
        let thread = thread::spawn(thread::current);
        let outside = thread.thread().clone();
        let inside = thread.join().unwrap();
        assert_eq!(inside.id(), outside.id());
    });
}

#[test]
fn a_thread_stays_itself_while_others_run() {
    everywhere(|| {
        let before = thread::current().id();
        for _ in 0..10 {
            thread::yield_now();
            thread::spawn(thread::yield_now).join().unwrap();
        }
        assert_eq!(thread::current().id(), before);
    });
}

#[test]
fn no_number_is_given_twice() {
    everywhere(|| {
        let mut seen = HashSet::from([thread::current().id()]);
        for _ in 0..200 {
            assert!(seen.insert(thread::spawn(|| thread::current().id()).join().unwrap()));
        }
        let alive: Vec<_> = (0..50).map(|_| thread::spawn(thread::yield_now)).collect();
        assert!(alive.iter().all(|thread| seen.insert(thread.thread().id())));
        alive.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn numbers_are_small_values() {
    everywhere(|| {
        let id = thread::current().id();
        let copy = id;
        assert_eq!(id, copy);
        let text = format!("{id:?}");
        let digits = text.strip_prefix("ThreadId(").and_then(|rest| rest.strip_suffix(")"));
        assert!(digits.is_some_and(|d| d.parse::<u64>().is_ok_and(|n| n > 0)), "{text}");
        assert!(size_of::<thread::ThreadId>() == 8 && size_of::<Option<thread::ThreadId>>() == 8);
    });
}

#[test]
fn a_thread_shows_its_number_and_its_name() {
    everywhere(|| {
        let thread = thread::Builder::new().name("shown".into()).spawn(|| ()).unwrap();
        let text = format!("{:?}", thread.thread());
        let id = thread.thread().id();
        assert_eq!(text, format!("Thread {{ id: {id:?}, name: Some(\"shown\"), .. }}"));
        thread.join().unwrap();
    });
}

#[test]
fn the_handle_outlives_the_thread() {
    everywhere(|| {
        let ended =
            thread::Builder::new().name("gone".into()).spawn(thread::current).unwrap().join().unwrap();
        ended.unpark();
        assert_eq!(ended.name(), Some("gone"));
        assert_ne!(ended.id(), thread::current().id());
    });
}

#[test]
fn the_parallelism_is_known() {
    everywhere(|| assert!(thread::available_parallelism().unwrap().get() >= 1));
}
