//! Owns: labels, which group threads by name: `stage 17` is number 17 of `stage`.
//! May use: nothing.
//! Never: a guess where a name has no number.

/// A name without its number, and the number.
pub(super) fn split(name: &str) -> (&str, Option<u64>) {
    let without = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name[without.len()..].parse().ok();
    // `main.rs:17` is a place, not the seventeenth of something.
    let is_place = without.ends_with(':');
    if number.is_none() || is_place || without.is_empty() {
        return (name, None);
    }
    (without.trim_end_matches([' ', '-', '_', '#', '.']), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_end_are_members() {
        assert_eq!(split("stage 17"), ("stage", Some(17)));
        assert_eq!(split("worker-3"), ("worker", Some(3)));
        assert_eq!(split("main"), ("main", None));
        assert_eq!(split("src/main.rs:17"), ("src/main.rs:17", None));
        assert_eq!(split("42"), ("42", None));
        assert_eq!(split(""), ("", None));
    }
}
