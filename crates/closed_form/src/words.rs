//! Figures in the sentences of reasons.

/// A share: "60 %", "1.5 %", "under 0.1 %". A smaller share is never printed as 100 %.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        return "more than any finite share".into();
    }
    if (percent - percent.round()).abs() < 1e-6 {
        return format!("{percent:.0} %");
    }
    match percent {
        ..0.1 => "under 0.1 %".into(),
        ..10.0 => format!("{percent:.1} %"),
        99.5..100.0 => "over 99 %".into(),
        100.0..100.5 => "over 100 %".into(),
        _ => format!("{percent:.0} %"),
    }
}

/// A number of things: "one long flow", "12 long flows", "about 3.4 long flows", "no long flow".
pub(crate) fn count(number: f64, thing: &str) -> String {
    if !number.is_finite() {
        return format!("ever more {thing}s");
    }
    if (number - number.round()).abs() > 0.05 && number < 100.0 {
        return format!("about {number:.1} {thing}s");
    }
    match number.round() {
        0.0 => format!("no {thing}"),
        1.0 => format!("one {thing}"),
        many => format!("{many} {thing}s"),
    }
}

/// The same after "there is" or "there are".
pub(crate) fn there_are(number: f64, thing: &str) -> String {
    let said = count(number, thing);
    format!(
        "there {} {said}",
        if is_single(&said) { "is" } else { "are" }
    )
}

/// A number of things with a verb: "one long flow fills", "12 long flows fill".
pub(crate) fn act(number: f64, thing: &str, (one, many): (&str, &str)) -> String {
    let said = count(number, thing);
    format!("{said} {}", if is_single(&said) { one } else { many })
}

/// Whether a count takes a verb in the singular.
fn is_single(count: &str) -> bool {
    count.starts_with("one ") || count.starts_with("no ")
}

/// A time with the unit that suits it.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        1.0.. => format!("{} s", figure(seconds)),
        1e-3.. => format!("{} ms", figure(seconds * 1e3)),
        _ => format!("{} µs", figure(seconds * 1e6)),
    }
}

/// Formats three significant digits, without trailing zeros.
pub(crate) fn figure(number: f64) -> String {
    let size = number.abs();
    if size >= 99.95 || number == 0.0 {
        return format!("{number:.0}");
    }
    if size < 1e-3 {
        return "under 0.001".into();
    }
    let places = (2 - libm::log10(size).floor() as i32).clamp(0, 6) as usize;
    let text = format!("{number:.places$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// A name of the registries in a sentence: "fq-codel".
pub(crate) fn name(registered: &str) -> String {
    registered.replace('_', "-")
}

/// Several things: "a", "a and b", "a, b and c".
pub(crate) fn list(things: &[String]) -> String {
    match things {
        [] => "none".into(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_an_engineer_writes_them() {
        for (share, text) in [
            (0.6, "60 %"),
            (0.015, "1.5 %"),
            (0.0, "0 %"),
            (0.0004, "under 0.1 %"),
            (0.9999, "over 99 %"),
            (1.0, "100 %"),
            (1.2, "120 %"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_eq!(there_are(1.0, "long flow"), "there is one long flow");
        assert_eq!(there_are(0.0, "long flow"), "there is no long flow");
        assert_eq!(there_are(8.0, "long flow"), "there are 8 long flows");
        assert_eq!(
            there_are(3.42, "long flow"),
            "there are about 3.4 long flows"
        );
        assert_eq!(
            (figure(0.05), figure(27.13), figure(4651.2)),
            ("0.05".into(), "27.1".into(), "4651".into())
        );
        assert_eq!(
            (duration(0.05), duration(2e-5), duration(1.5)),
            ("50 ms".into(), "20 µs".into(), "1.5 s".into())
        );
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            (list(&names), list(&names[..2])),
            ("a, b and c".into(), "a and b".into())
        );
    }
}
