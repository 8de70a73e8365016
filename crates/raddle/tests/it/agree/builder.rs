use super::*;
use std::hint::black_box;

#[test]
fn a_name_is_seen_inside_and_outside() {
    everywhere(|| {
        let builder = thread::Builder::new().name("weaver".into());
        let named = builder.spawn(|| thread::current().name().map(String::from)).unwrap();
        assert_eq!(named.thread().name(), Some("weaver"));
        assert_eq!(named.join().unwrap().as_deref(), Some("weaver"));
    });
}

#[test]
fn without_a_name_there_is_none() {
    everywhere(|| {
        let unnamed = thread::spawn(|| thread::current().name().is_none());
        assert_eq!(unnamed.thread().name(), None);
        assert!(unnamed.join().unwrap());
    });
}

#[test]
fn names_are_text_in_any_script_and_may_be_empty() {
    everywhere(|| {
        for name in
            ["", "Weberin für Kettfäden", "織", "a name that is far longer than the kernel would keep it"]
        {
            let named = thread::Builder::new().name(name.to_string()).spawn(thread::current).unwrap();
            assert_eq!(named.join().unwrap().name(), Some(name));
        }
    });
}

#[test]
fn a_name_with_a_null_byte_panics() {
    everywhere(|| {
        let text = panic_text(|| drop(thread::Builder::new().name("a\0b".into()).spawn(|| ())));
        assert!(text.starts_with("thread name may not contain interior null bytes"), "{text}");
    });
}

#[test]
fn a_scope_survives_a_name_with_a_null_byte() {
    everywhere(|| {
        let text = panic_text(|| {
            thread::scope(|s| drop(thread::Builder::new().name("\0".into()).spawn_scoped(s, || ())));
        });
        assert!(text.starts_with("thread name may not contain"), "{text}");
    });
}

/// Uses `bytes` of stack, however large a frame is, and says how far it came down from its first frame.
fn deep(bytes: usize) -> usize {
    fn down(from: usize, bytes: usize) -> usize {
        let room = black_box([1_u8; 1024]);
        let used = from.saturating_sub((&raw const room).addr());
        // Something is done after the call, so that it is none that reuses the frame.
        if used >= bytes { used } else { black_box(down(from, bytes)) }
    }
    let here = black_box(0_u8);
    down((&raw const here).addr(), bytes)
}

#[test]
fn a_stack_is_as_large_as_was_asked_for() {
    everywhere(|| {
        let large = thread::Builder::new().stack_size(6 << 20).spawn(|| deep(4 << 20)).unwrap();
        assert!(large.join().unwrap() >= 4 << 20);
    });
}

#[test]
fn a_stack_is_roomy_without_asking() {
    everywhere(|| assert!(thread::spawn(|| deep(3 << 19)).join().unwrap() >= 3 << 19));
}

#[test]
fn a_tiny_stack_still_holds_formatted_text() {
    everywhere(|| {
        let tiny =
            thread::Builder::new().stack_size(1).spawn(|| format!("{:>10.3}", 2.0_f64.sqrt())).unwrap();
        assert_eq!(tiny.join().unwrap(), "     1.414");
    });
}

#[test]
fn a_builder_spawns_into_a_scope() {
    everywhere(|| {
        let words = ["warp".to_string(), "weft".to_string()];
        let lengths = thread::scope(|s| {
            let named = thread::Builder::new().name("scoped".into());
            let other = named.spawn_scoped(s, || words.iter().map(String::len).sum::<usize>()).unwrap();
            assert_eq!(other.thread().name(), Some("scoped"));
            other.join().unwrap()
        });
        assert_eq!(lengths, 8);
    });
}

#[test]
fn an_unchecked_thread_borrows() {
    everywhere(|| {
        let mut numbers = [1, 2, 3];
        // SAFETY: the thread is joined before `numbers` goes.
        let thread = unsafe { thread::Builder::new().spawn_unchecked(|| numbers[1] = 20) };
        thread.unwrap().join().unwrap();
        assert_eq!(numbers, [1, 20, 3]);
    });
}

#[test]
fn a_builder_shows_its_settings() {
    let text = format!("{:?}", thread::Builder::new().name("shown".into()).stack_size(4096));
    assert!(text.starts_with("Builder {") && text.contains("shown") && text.contains("4096"), "{text}");
}
