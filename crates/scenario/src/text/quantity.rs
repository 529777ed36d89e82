//! Numbers with units as texts, before a reader knows which unit they need.

/// The number in a text such as "100p", where it is one.
pub(crate) fn packets(text: &str) -> Option<f64> {
    let count: f64 = text.trim().strip_suffix('p')?.trim_end().parse().ok()?;
    (count.is_finite() && count >= 0.0).then_some(count)
}

/// The number that a text begins with, and what follows it: a unit of whatever kind.
///
/// ```
/// use forebay_scenario::split_quantity;
///
/// assert_eq!(split_quantity("0.5BDP"), Some((0.5, "BDP")));
/// assert_eq!(split_quantity("1e3 p"), Some((1000.0, "p")));
/// assert_eq!(split_quantity("cubic"), None);
/// ```
pub fn split_quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // From the longest beginning that may be a number: "1e" in "1e" is one and a unit, in "1e3" it
    // is not.
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let longest = text.find(|c| !digits(c)).unwrap_or(text.len());
    let number = |end: &usize| text[..*end].parse::<f64>().is_ok();
    let end = (1..=longest).rev().find(number)?;
    let value = text[..end].parse().ok()?;
    Some((value, text[end..].trim_start()))
}
