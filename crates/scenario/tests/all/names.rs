//! Names and sizes as they are written, shown and listed.
use forebay_scenario::{BufferSize, Dimension, Format, Scenario, Unknown, likeliest};

/// One kind of quantity per name, which a program asks with.
#[test]
fn dimensions_have_names_of_their_own() {
    let names = Dimension::ALL.map(Dimension::name);
    assert_eq!(names, ["time", "rate", "bytes", "packets", "share"]);
}

/// A word that has nothing in common with a name is not taken for it, however short both are; a
/// typing error is.
#[test]
fn what_was_meant_has_something_in_common() {
    let meant = |found: &str, known: &[&'static str]| {
        let known: Vec<(&str, &str)> = known.iter().map(|name| (*name, *name)).collect();
        likeliest(found, known).map(str::to_owned)
    };
    assert_eq!(meant("x", &["y"]), None);
    assert_eq!(meant("xy", &["a", "b"]), None);
    assert_eq!(meant("zzzzz", &["qr", "abcde"]), None);
    assert_eq!(meant("", &["a"]), None);
    assert_eq!(meant("rat", &["rate", "delay"]).as_deref(), Some("rate"));
    assert_eq!(meant("dealy", &["rate", "delay"]).as_deref(), Some("delay"));
    assert_eq!(
        meant("DE-LAY", &["rate", "de_lay"]).as_deref(),
        Some("de_lay")
    );
    assert_eq!(meant("p98", &["p95", "p99"]).as_deref(), Some("p99"));
}

/// A name is letters, digits, hyphens and underscores, one to 64 of them.
#[test]
fn names_are_of_letters_digits_hyphens_and_underscores() {
    let long = "x".repeat(64);
    let group = |name: &str| {
        let text = format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\n[[flows]]\nname = \"{name}\"\nrtt = \"40ms\"\n"
        );
        Scenario::parse(&text, Format::Toml, "test.toml", &[]).is_ok()
    };
    for (name, valid) in [
        ("a", true),
        ("a-b", true),
        ("a_b", true),
        ("-", true),
        ("\u{e4}2", true),
        (long.as_str(), true),
        ("", false),
        ("a b", false),
        ("a.b", false),
        ("a/b", false),
        (&format!("{long}x"), false),
    ] {
        assert_eq!(group(name), valid, "{name}");
    }
}

/// Sizes of buffers are shown as they are read.
#[test]
fn a_buffer_is_shown_as_it_is_read() {
    for text in ["100p", "0p", "64kB", "1.5kB", "5ms", "0.5BDP", "2BDP"] {
        let size = BufferSize::parse(text).unwrap();
        assert_eq!(size.to_string(), text);
        assert_eq!(BufferSize::parse(&size.to_string()), Some(size));
    }
    for wrong in [
        "",
        "100",
        "-1p",
        "1.5p",
        "p",
        "5 furlongs",
        "infBDP",
        "-1BDP",
        "1e13p",
        "1e16B",
    ] {
        assert_eq!(BufferSize::parse(wrong), None, "{wrong}");
    }
}

/// As many names as a line bears, and never one that would take less room than saying that it is
/// left out.
#[test]
fn names_are_listed_or_counted() {
    for length in [1, 10, 40] {
        for count in 1..60_usize {
            let names: Vec<String> = (0..count).map(|k| format!("{k:0length$}")).collect();
            let listed = Unknown::among("word", "?", names.iter().map(String::as_str)).listed();
            let told = listed.split(" and ").next().unwrap().split(", ").count();
            let more = listed
                .split(" and ")
                .nth(1)
                .and_then(|rest| rest.split(' ').next()?.parse().ok());
            assert_eq!(told + more.unwrap_or(0), count, "{listed}");
            assert!(more != Some(1) && listed.starts_with(&names[0]), "{listed}");
            assert!(listed.len() < 400, "{listed}");
        }
    }
}

/// The schema says how many values a list has at least.
#[test]
fn the_schema_knows_the_least_of_a_list() {
    let schema = forebay_scenario::schema();
    let least = schema.pointer("/properties/fluid/properties/empirical/minItems");
    assert_eq!(least, Some(&1.into()));
}

#[test]
fn the_schema_says_what_a_count_and_a_list_take() {
    let count = &forebay_scenario::schema()["$defs"]["count"]["oneOf"];
    assert_eq!(count.as_array().unwrap().len(), 4, "{count}");
    assert_eq!(count[0]["minimum"], 1);
    for (at, name) in [(1, "poisson"), (2, "uniform"), (3, "choice")] {
        assert!(count[at]["properties"][name].is_object(), "{count}");
    }
    assert!(
        !forebay_scenario::schema()
            .to_string()
            .contains("\"minItems\":0"),
        "which says nothing"
    );
}
