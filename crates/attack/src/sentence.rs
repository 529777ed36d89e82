//! Requirements of a message to a user.

/// The largest number of characters of a message: a name or two, the allowed values, and the
/// existing names.
const MOST: usize = 1500;

/// Checks that a message is one non-empty line of bounded length. It must not contain characters
/// that control a terminal or change the text direction.
///
/// # Panics
/// If it is not so.
pub fn check_sentence(message: &str) {
    let length = message.chars().count();
    assert!(length <= MOST, "{length} characters: {message:.300}");
    assert!(!message.trim().is_empty(), "an empty message");
    let steers = |c: char| {
        c.is_control()
            || matches!(
                c,
                '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
            )
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    let found = message.chars().find(|&c| steers(c));
    assert!(found.is_none(), "{found:?} in {message:?}");
}
