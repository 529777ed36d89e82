//! What a message to a user must be.

/// The most characters of a message: a name or two, what is allowed, and the names that exist.
const MOST: usize = 1500;

/// A message is one line of bounded length that says something, without characters that steer a
/// terminal or turn its text around.
///
/// # Panics
/// Where it is not.
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
