//! Owns: labels, which group threads by name: `stage 17` is number 17 of `stage`, `worker-7-a` of `worker-#-a`.
//! May use: nothing.
//! Never: a guess where a name has no number.
//!
//! Any number in a name may be that of a member. One at the end is left out, with what separates it; for the others
//! stands `#`. What names a place or a function, as `main.rs:17` and `app::sum2` do, keeps its numbers.

use std::borrow::Cow;

/// A name without its numbers, and the last of them.
pub(super) fn split(name: &str) -> (Cow<'_, str>, Option<u64>) {
    let without = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[without.len()..].parse().ok();
    // `main.rs:17` is a place, not the seventeenth of something.
    let is_place = without.ends_with(':');
    if number.is_some() && !is_place && !without.is_empty() {
        return (masked(without.trim_end_matches([' ', '-', '_', '#', '.'])).0, number);
    }
    if without.is_empty() { (Cow::Borrowed(name), None) } else { masked(name) }
}

/// The text with `#` for each number, and the last number.
fn masked(text: &str) -> (Cow<'_, str>, Option<u64>) {
    let is_plain = |word: &&str| !word.contains(':') && word.contains(|c: char| c.is_ascii_digit());
    if !text.split(' ').any(|word| is_plain(&word)) {
        return (Cow::Borrowed(text), None);
    }
    let (mut out, mut last) = (String::with_capacity(text.len()), None);
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 {
            out.push(' ');
        }
        if is_plain(&word) { last = mask_word(word, &mut out).or(last) } else { out.push_str(word) }
    }
    (Cow::Owned(out), last)
}

/// Adds the word with `#` for each number; its last number.
fn mask_word(word: &str, out: &mut String) -> Option<u64> {
    let (mut rest, mut last) = (word, None);
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
        let end =
            rest[begin..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| begin + length);
        out.push_str(&rest[..begin]);
        out.push('#');
        last = rest[begin..end].parse().ok();
        rest = &rest[end..];
    }
    out.push_str(rest);
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, label: &str, number: Option<u64>) {
        let (own, member) = split(name);
        assert_eq!((own.as_ref(), member), (label, number), "{name}");
    }

    #[test]
    fn numbers_at_the_end_are_members() {
        check("stage 17", "stage", Some(17));
        check("worker-3", "worker", Some(3));
        check("main", "main", None);
        check("src/main.rs:17", "src/main.rs:17", None);
        check("42", "42", None);
        check("", "", None);
    }

    #[test]
    fn numbers_within_a_name_are_members_too() {
        check("worker-12-a", "worker-#-a", Some(12));
        check("worker-7-a", "worker-#-a", Some(7));
        check("shard 3 writer", "shard # writer", Some(3));
        check("row 3 column 7", "row # column", Some(7));
        check("3rd stage", "#rd stage", Some(3));
        check("a 99999999999999999999999 b", "a # b", None);
    }

    #[test]
    fn places_and_functions_keep_their_numbers() {
        check("stage (ring.occ:19)", "stage (ring.occ:19)", None);
        check("crates/v2/main.rs:7:13", "crates/v2/main.rs:7:13", None);
        check("job of app2::sum", "job of app2::sum", None);
        check("stage 4 (ring.occ:19)", "stage # (ring.occ:19)", Some(4));
        check("crates/v2/main.rs:7:13 5", "crates/v2/main.rs:7:13", Some(5));
    }
}
