//! Owns: which characters of a foreign file must not reach a terminal.
//! May use: nothing.
//! Never: a file.

/// Whether a terminal would obey this character instead of showing it: a control character, one that turns the
/// direction of the text around it, a separator of lines, or one that cannot be seen at all. Unicode calls most of them
/// format characters; the two joiners are not among these, since words and emoji are written with them.
///
/// ```
/// use raddle_trace::text::commands_a_terminal;
/// assert!(['\x1b', '\u{202e}', '\u{2066}', '\u{feff}'].into_iter().all(commands_a_terminal));
/// assert!(!"naïve 線 \u{200d}".chars().any(commands_a_terminal));
/// ```
pub fn commands_a_terminal(it: char) -> bool {
    it.is_control()
        || matches!(it,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
