//! Names and quantities as users write them: spellings that stand for a name, and what was likely
//! meant by one that does not exist.

use std::borrow::Cow;
use std::fmt;

use crate::text::quantity::split_quantity;

/// How many characters of a list of known names an error shows.
const SHOWN: usize = 160;

/// A name that does not exist, and those that do.
///
/// ```
/// use forebay_scenario::Unknown;
///
/// let unknown = Unknown::among("engine", "packt", ["packet", "fluid"]);
/// assert_eq!(unknown.meant.as_deref(), Some("packet"));
/// assert_eq!(
///     unknown.to_string(),
///     "unknown engine `packt`; did you mean `packet`? known: packet, fluid"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Kind of the name.
    pub what: String,
    /// The name that was found.
    pub found: String,
    /// The name that was likely meant.
    pub meant: Option<String>,
    /// The names that exist.
    pub known: Vec<String>,
}

impl Unknown {
    /// `found`, which is none of these names.
    pub fn among<'a>(what: &str, found: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::spelled(what, found, known.into_iter().map(|name| (name, [])))
    }

    /// `found`, which is none of these names, nor of the others that stand for each.
    pub fn spelled<'a, A>(
        what: &str,
        found: &str,
        names: impl IntoIterator<Item = (&'a str, A)>,
    ) -> Self
    where
        A: IntoIterator<Item = &'a str>,
    {
        let (mut known, mut spellings) = (Vec::new(), Vec::new());
        for (name, aliases) in names {
            known.push(name.to_owned());
            spellings.push((name, name));
            spellings.extend(aliases.into_iter().map(|alias| (alias, name)));
        }
        known.dedup();
        Self {
            what: what.to_owned(),
            found: found.to_owned(),
            meant: likeliest(found, spellings).map(str::to_owned),
            known,
        }
    }

    /// Where all of the names stand, if anywhere.
    fn elsewhere(&self) -> &'static str {
        match &*self.what {
            "option" => " (see --help)",
            "verb" | "figure" | "paper" | "buffer" | "class" | "group" | "link" | "memory" => "",
            _ => " (see `forebay explain`)",
        }
    }

    /// The names that exist, as many as a line bears.
    pub fn listed(&self) -> String {
        let mut text = String::new();
        for (at, name) in self.known.iter().enumerate() {
            let rest = self.known.len() - at;
            if at > 0 && rest > 1 && text.len() + name.len() > SHOWN {
                return format!("{text} and {rest} more{}", self.elsewhere());
            }
            if at > 0 {
                text.push_str(", ");
            }
            text.push_str(&sanitized(name));
        }
        if text.is_empty() { "none".into() } else { text }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} `{}`; ", self.what, shortened(&self.found))?;
        if let Some(meant) = &self.meant {
            write!(f, "did you mean `{meant}`? ")?;
        }
        write!(f, "known: {}", self.listed())
    }
}

/// The first 60 characters, as a message may show them.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    shortened_to(text, 60)
}

/// The first `most` characters, as a message may show them: characters with an effect, such as
/// control characters, appear as their numbers.
pub(crate) fn shortened_to(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", sanitized(&text[..end])).into(),
        None => sanitized(text),
    }
}

fn sanitized(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return text.into();
    }
    let told = text.chars().map(|letter| match letter {
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        _ if !is_control(letter) => letter.to_string(),
        _ if letter < '\u{100}' => format!("\\x{:02x}", u32::from(letter)),
        _ => format!("\\u{:04x}", u32::from(letter)),
    });
    told.collect::<String>().into()
}

/// Whether a character moves the cursor, colors, rings, breaks a line or turns the direction of
/// what follows (C0, C1, Unicode's separators and directional formatting), or is none at all: XML
/// 1.0 takes neither U+FFFE nor U+FFFF.
pub(crate) fn is_control(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        )
        || matches!(
            letter,
            '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// A number with its noun, in words of a message.
///
/// ```
/// use forebay_scenario::counted;
///
/// assert_eq!(counted(1, "congestion event"), "1 congestion event");
/// assert_eq!(counted(0, "flow"), "0 flows");
/// ```
pub fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The American spelling of a name, which is the one that forebay has.
///
/// ```
/// assert_eq!(forebay_scenario::american("utilisation"), "utilization");
/// assert_eq!(forebay_scenario::american("loss_rate"), "loss_rate");
/// ```
pub fn american(name: &str) -> Cow<'_, str> {
    if name.contains("isation") {
        name.replace("isation", "ization").into()
    } else {
        name.into()
    }
}

/// Renamed keys: the name in documents, and the deprecated name.
///
/// The canonical form has the deprecated name until its next version, so hashes stay valid.
const RENAMED_KEYS: [(&str, &str); 4] = [
    ("duration", "lasting"),
    ("max_airtime", "air"),
    ("resampled", "redrawn"),
    ("timeout_ssthresh", "timeout_cut"),
];

/// The canonical name of a key, with the American spelling. The part before a dot, as in
/// "group.metric", is the user's own.
pub(crate) fn canonical_key(key: &str) -> Cow<'_, str> {
    if let Some((_, canonical)) = RENAMED_KEYS.iter().find(|(name, _)| *name == key) {
        return (*canonical).into();
    }
    let (own, name) = key.split_at(key.rfind('.').map_or(0, |dot| dot + 1));
    match american(name) {
        Cow::Borrowed(_) => key.into(),
        Cow::Owned(name) => format!("{own}{name}").into(),
    }
}

/// The name of a key in documents and messages. It differs from the canonical name if the key was
/// renamed.
pub(crate) fn documented_key(canonical: &str) -> &str {
    let renamed = RENAMED_KEYS.iter().find(|(_, old)| *old == canonical);
    renamed.map_or(canonical, |(name, _)| name)
}

/// The deprecated name of a key with this name in documents, if there is one.
pub(crate) fn deprecated_key(documented: &str) -> Option<&'static str> {
    let renamed = RENAMED_KEYS.iter().find(|(name, _)| *name == documented);
    renamed.map(|(_, canonical)| *canonical)
}

/// The name that `found` was likely meant to be. It is one that differs in case, hyphens or
/// spelling only, else the one with the fewest typing errors, else one that contains it. Each
/// spelling comes with its name.
pub fn likeliest<'a>(
    found: &str,
    spellings: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Option<&'a str> {
    let wanted = folded(found);
    if wanted.is_empty() {
        return None;
    }
    let slips = wanted.chars().count().div_ceil(4);
    let ranked = spellings.into_iter().filter_map(|(spelling, name)| {
        let known = folded(spelling);
        let distance = strsim::damerau_levenshtein(&wanted, &known);
        if distance <= slips && distance < known.chars().count() {
            return Some(((0, distance, apart(&wanted, &known)), name));
        }
        let part = wanted.len() >= 3 && known.contains(&wanted)
            || known.len() >= 3 && wanted.contains(&known);
        let longer = known.len().abs_diff(wanted.len());
        part.then_some(((1, longer, 0), name))
    });
    // The first of equals.
    let best = ranked.min_by_key(|(rank, _)| *rank);
    best.map(|(_, name)| name)
}

/// How far two texts of one length are apart where they differ: `p98` is nearer to `p99` than to
/// `p95`.
fn apart(one: &str, other: &str) -> u32 {
    let pairs = one.chars().zip(other.chars());
    pairs.map(|(a, b)| (a as u32).abs_diff(b as u32)).sum()
}

fn folded(name: &str) -> String {
    let name = name.to_lowercase();
    let kept = american(&name);
    kept.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The quantity that a text was likely meant to be: the same number with a unit that exists, where
/// `valid` takes it.
pub(crate) fn likeliest_quantity(text: &str, valid: impl Fn(&str) -> bool) -> Option<String> {
    let (_, unit) = split_quantity(text)?;
    let number = text.trim().strip_suffix(unit)?.trim_end();
    let wanted = unit.to_lowercase();
    let units = UNITS
        .iter()
        .filter(|(_, spellings)| spellings.contains(&wanted.as_str()));
    let whole = whole_packets(text).into_iter();
    let mut candidates = units
        .map(|(unit, _)| format!("{number}{unit}"))
        .chain(whole);
    candidates.find(|candidate| candidate != text.trim() && valid(candidate))
}

/// The nearest whole number of packets to a text such as "1.5p", at least one.
fn whole_packets(text: &str) -> Option<String> {
    let count: f64 = text.trim().strip_suffix('p')?.trim_end().parse().ok()?;
    Some(format!("{}p", count.round().max(1.0)))
}

/// Units with other ways of writing them, in small letters. Where several units share a spelling,
/// what is asked for decides.
const UNITS: &[(&str, &[&str])] = &[
    ("bps", &["bps", "b/s", "bit/s", "bits/s", "bit"]),
    (
        "kbps",
        &["kbps", "kb/s", "kbit/s", "kbits/s", "kbit", "kb", "k"],
    ),
    (
        "Mbps",
        &["mbps", "mb/s", "mbit/s", "mbits/s", "mbit", "mb", "m"],
    ),
    (
        "Gbps",
        &["gbps", "gb/s", "gbit/s", "gbits/s", "gbit", "gb", "g"],
    ),
    (
        "Tbps",
        &["tbps", "tb/s", "tbit/s", "tbits/s", "tbit", "tb", "t"],
    ),
    ("B", &["b", "byte", "bytes", "octet", "octets"]),
    ("kB", &["kb", "kbyte", "kbytes", "k"]),
    ("MB", &["mb", "mbyte", "mbytes", "m"]),
    ("GB", &["gb", "gbyte", "gbytes", "g"]),
    ("KiB", &["kib", "ki"]),
    ("MiB", &["mib", "mi"]),
    ("GiB", &["gib", "gi"]),
    ("p", &["p", "packet", "packets", "pkt", "pkts"]),
    ("BDP", &["bdp", "bdps"]),
    ("ns", &["ns", "nsec", "nanosecond", "nanoseconds"]),
    ("us", &["us", "usec", "µsec", "microsecond", "microseconds"]),
    (
        "ms",
        &["ms", "msec", "msecs", "millisecond", "milliseconds"],
    ),
    ("s", &["s", "sec", "secs", "second", "seconds"]),
    ("min", &["min", "mins", "minute", "minutes"]),
    ("h", &["h", "hr", "hour", "hours"]),
    ("d", &["d", "day", "days"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn meant<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
        likeliest(found, known.iter().map(|name| (*name, *name)))
    }

    #[test]
    fn a_slip_of_a_finger_is_seen_through() {
        let known = [
            "newreno", "cubic", "hstcp", "htcp", "bbr", "bbr3", "red", "fq_codel", "codel",
        ];
        for (found, expected) in [
            ("cubik", "cubic"),
            ("cubci", "cubic"),
            ("CUBIC", "cubic"),
            ("fq-codel", "fq_codel"),
            ("fqcodel", "fq_codel"),
            ("bbrr", "bbr"),
            ("bbrv3", "bbr3"),
            ("rad", "red"),
            ("reno", "newreno"),
        ] {
            assert_eq!(meant(found, &known), Some(expected), "{found}");
        }
        for found in ["", "-", "x", "speed", "nonsense", "utilization"] {
            assert_eq!(meant(found, &known), None, "{found}");
        }
    }

    #[test]
    fn a_part_of_a_name_stands_for_the_shortest_that_has_it() {
        let known = [
            "loss_burst_mean",
            "loss_rate",
            "queue_delay_p95",
            "queue_delay_p99",
        ];
        assert_eq!(meant("loss", &known), Some("loss_rate"));
        assert_eq!(meant("delay_p99", &known), Some("queue_delay_p99"));
        assert_eq!(meant("queue_delay_p98", &known), Some("queue_delay_p99"));
        assert_eq!(meant("queue_delay_p99_ms", &known), Some("queue_delay_p99"));
    }

    /// Every existing name is found again, and an alias leads to the name.
    #[test]
    fn every_name_is_likeliest_for_itself() {
        let names: Vec<&str> = crate::Metric::ALL
            .into_iter()
            .map(crate::Metric::name)
            .collect();
        for name in &names {
            assert_eq!(meant(name, &names), Some(*name));
            assert_eq!(meant(&name.to_uppercase(), &names), Some(*name));
        }
        let spellings = [
            ("newreno", "newreno"),
            ("reno", "newreno"),
            ("cubic", "cubic"),
        ];
        assert_eq!(likeliest("renno", spellings), Some("newreno"));
        assert_eq!(
            Unknown::spelled(
                "cca",
                "renno",
                [("newreno", vec!["reno"]), ("cubic", vec![])]
            ),
            Unknown {
                what: "cca".into(),
                found: "renno".into(),
                meant: Some("newreno".into()),
                known: vec!["newreno".into(), "cubic".into()],
            }
        );
    }

    #[test]
    fn british_spellings_stand_for_american_names() {
        assert_eq!(
            american("minimum_synchronisation"),
            "minimum_synchronization"
        );
        assert_eq!(
            canonical_key("organisation.utilisation"),
            "organisation.utilization"
        );
        assert_eq!(canonical_key("utilization"), "utilization");
    }

    #[test]
    fn a_renamed_key_has_both_names() {
        for (name, canonical) in RENAMED_KEYS {
            assert_eq!(canonical_key(name), canonical);
            assert_eq!(canonical_key(canonical), canonical);
            assert_eq!(documented_key(canonical), name);
            assert_eq!(deprecated_key(name), Some(canonical));
        }
        assert_eq!(documented_key("rate"), "rate");
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let names: Vec<String> = (0..100).map(|n| format!("name{n}")).collect();
        let unknown = Unknown::among("name", "x", names.iter().map(String::as_str));
        let shown = unknown.listed();
        assert!(shown.len() < SHOWN + 60, "{shown}");
        assert!(shown.ends_with(" more (see `forebay explain`)"), "{shown}");
        let of_a_verb = Unknown::among("option", "x", names.iter().map(String::as_str));
        assert!(of_a_verb.listed().ends_with(" more (see --help)"));
        let listed = shown.matches("name").count();
        let rest: usize = shown
            .split(" and ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert_eq!(listed + rest, 100, "{shown}");
        assert_eq!(Unknown::among("name", "x", []).listed(), "none");
        assert!(
            Unknown::among("name", &"y".repeat(500), [])
                .to_string()
                .len()
                < 120
        );
    }

    /// The numbers of the characters are those that Python's `unicode_escape` says.
    #[test]
    fn what_steers_a_terminal_is_told_by_its_number() {
        for (found, told) in [
            ("plain ` \u{e9} \u{3b1}", "plain ` \u{e9} \u{3b1}"),
            ("\u{1b}[31mred", "\\x1b[31mred"),
            ("two\nlines\tand\r", "two\\nlines\\tand\\r"),
            (
                "\u{202e}turned\u{2028}\u{feff}",
                "\\u202eturned\\u2028\\ufeff",
            ),
            ("\u{9b}\u{7f}\0", "\\x9b\\x7f\\x00"),
        ] {
            assert_eq!(shortened(found), told);
            let unknown = Unknown::among("cca", found, ["cubic"]).to_string();
            assert!(unknown.contains(&*format!("`{told}`")), "{unknown}");
        }
        assert_eq!(shortened(&"\n".repeat(70)), "\\n".repeat(60) + "...");
    }

    #[test]
    fn one_is_counted_without_an_s() {
        for (number, told) in [
            (0, "0 flows"),
            (1, "1 flow"),
            (2, "2 flows"),
            (11, "11 flows"),
        ] {
            assert_eq!(counted(number, "flow"), told);
        }
    }

    #[test]
    fn a_unit_is_mended_only_into_what_is_valid() {
        let rate = |text: &str| text.ends_with("bps");
        let size = |text: &str| text.ends_with('B');
        assert_eq!(
            likeliest_quantity("5 mbit/s", rate).as_deref(),
            Some("5Mbps")
        );
        assert_eq!(likeliest_quantity("5mb", rate).as_deref(), Some("5Mbps"));
        assert_eq!(likeliest_quantity("5mb", size).as_deref(), Some("5MB"));
        assert_eq!(likeliest_quantity("5Mbps", rate), None);
        assert_eq!(likeliest_quantity("5 furlongs", |_| true), None);
        assert_eq!(likeliest_quantity("fast", |_| true), None);
    }
}
