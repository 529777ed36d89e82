//! Texts that were not written by a friend: refused or read at once, with a message of one line.

use forebay_scenario::{Format, Scenario, ScenarioError};

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, Format::Toml, "file.toml", &[])
}

/// A quantity of packets that must be whole is refused with the nearest one; a threshold, a size of
/// a transfer and a window may be broken.
#[test]
fn packets_that_cannot_be_broken_are_whole() {
    let text = |buffer: &str, access: &str| {
        format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"{buffer}\"\n[[flows]]\nrtt = \"10ms\"\naccess = {{ rate = \"1Mbps\", queue = \"{access}\" }}\n"
        )
    };
    for (found, meant) in [
        ("1.5p", "2p"),
        ("0.4p", "1p"),
        ("1e-9p", "1p"),
        ("2.25 p", "2p"),
        ("99.999p", "100p"),
        ("12345e-1p", "1235p"),
    ] {
        for (buffer, access) in [(found, "3p"), ("3p", found)] {
            let error = parse(&text(buffer, access)).unwrap_err().to_string();
            let meant = format!("did you mean `{meant}`?");
            assert!(
                error.contains(&meant) && error.contains("whole"),
                "{found}: {error}"
            );
        }
    }
    for whole in ["1p", "0p", "2.0p", "15e-1 p", "1e3p", "0.1e1p"] {
        assert_eq!(
            parse(&text(whole, whole)).is_ok(),
            !whole.starts_with("15e-1"),
            "{whole}"
        );
    }
    let broken = "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\nqueue = { kind = \"red\", min = \"2.5p\" }\n[[flows]]\nrtt = \"10ms\"\ninitial_window = 1.5\nworkload = { finite = { size = \"1.5p\" } }\n";
    assert!(parse(broken).is_ok());
}

/// A round trip has the delays of all links on its way in it.
#[test]
fn a_round_trip_is_no_shorter_than_its_links_delays() {
    let text = |rtt: &str, reverse: &str| {
        format!(
            r#"
[[links]]
name = "a"
rate = "10Mbps"
buffer = "50p"
delay = "4ms"
[[links]]
name = "b"
rate = "10Mbps"
buffer = "50p"
delay = "7ms"
target = true
[[flows]]
rtt = {rtt}
path = ["a", "b"]
{reverse}
"#
        )
    };
    let (one, both) = ("", "reverse = [\"b\", \"a\"]");
    for (rtt, way, good) in [
        ("\"11ms\"", one, true),
        ("\"10999us\"", one, false),
        ("\"22ms\"", both, true),
        ("\"21ms\"", both, false),
        ("[\"10ms\"]", one, false),
        ("{ uniform = [\"10ms\", \"1s\"] }", one, false),
        ("{ linspace = [\"11ms\", \"1s\"] }", one, true),
        ("{ choice = [\"30ms\", \"5ms\"] }", one, false),
        ("{ common = { uniform = [\"1ms\", \"30ms\"] } }", one, false),
        (
            "{ pareto = { shape = 2.0, minimum = \"10ms\" } }",
            one,
            false,
        ),
        ("{ exponential = \"30ms\" }", one, true),
    ] {
        match parse(&text(rtt, way)) {
            Ok(_) => assert!(good, "{rtt} {way}"),
            Err(error) => {
                let error = error.to_string();
                let sum = if way == one { "11ms" } else { "22ms" };
                assert!(
                    !good && error.contains(sum) && error.contains("rtt"),
                    "{error}"
                );
            }
        }
    }
    // One link has a delay, too.
    let alone =
        "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\ndelay = \"1s\"\n[[flows]]\nrtt = \"20ms\"\n";
    let error = parse(alone).unwrap_err().to_string();
    assert!(error.contains("20ms") && error.contains("1s"), "{error}");
}

/// Reading takes time in proportion to the text: what would take minutes otherwise takes seconds
/// here.
#[test]
fn large_texts_are_read_or_refused_at_once() {
    let head = "[link]\nrate = \"1Gbps\"\nbuffer = \"50p\"\n";
    let group = "[[flows]]\nrtt = \"10ms\"\n";
    let groups = |count: usize| format!("{head}{}", group.repeat(count));
    let started = std::time::Instant::now();
    assert_eq!(parse(&groups(10_000)).unwrap().flows().len(), 10_000);
    let error = parse(&groups(100_000)).unwrap_err().to_string();
    assert!(
        error.contains("a list of 100000") && error.contains("10000 groups"),
        "{error}"
    );
    let lines = |count: u32, more: &str| -> String {
        let lines = (0..count).map(|k| format!("k{k}{more} = 1\n"));
        lines.collect::<Vec<_>>().concat()
    };
    let keys = lines(300_000, "");
    for table in ["run", "goal", "fluid", "trace"] {
        assert!(
            parse(&format!(
                "{}[{table}]
{keys}",
                groups(1)
            ))
            .is_err()
        );
    }
    let british = lines(100_000, "isation");
    assert!(parse(&format!("{head}[goal]\n{british}")).is_err());
    let list = vec!["\"10ms\""; 400_000].join(",\n");
    let flows = format!("{head}[[flows]]\ncount = 400000\nrtt = [{list}]\n");
    assert_eq!(parse(&flows).unwrap().flows()[0].count, 400_000);
    let short = groups(1);
    let most = format!(
        "{short}{}",
        "#".repeat(forebay_scenario::MAX_TEXT - short.len())
    );
    assert_eq!(parse(&most).unwrap().flows().len(), 1);
    let long = "#".repeat(forebay_scenario::MAX_TEXT + 1);
    let error = parse(&long).unwrap_err().to_string();
    assert!(error.contains("16777217 bytes"), "{error}");
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// No message echoes what was found at length.
#[test]
fn messages_are_short_whatever_was_found() {
    let long = "x".repeat(100_000);
    let head = "[link]\nrate = \"1Gbps\"\nbuffer = \"50p\"\n[[flows]]\nrtt = \"10ms\"\n";
    for text in [
        format!("{long} = 1\n{head}"),
        format!("{head}{long} = 1\n"),
        format!("{head}[goal]\n\"{long}\" = 1\n"),
        format!("{head}cca = \"{long}\"\n"),
        format!("{head}start = \"{long}\"\n"),
        format!("{head}start = {{ {long} = 1 }}\n"),
        format!("{head}path = [\"{long}\"]\n"),
        format!("{head}name = \"{long}\"\n"),
        format!("{head}workload = {{ {long} = 1 }}\n"),
        format!("{head}workload = \"{long}\"\n"),
        long.clone(),
        format!("{head}{long}"),
    ] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(
            error.len() < 1500 && error.lines().count() == 1,
            "{} {error:.300}",
            error.len()
        );
    }
    let json = format!("{{\"{long}\": 1, \"{long}\": 2}}");
    let error = Scenario::parse(&json, Format::Json, "file", &[])
        .unwrap_err()
        .to_string();
    assert!(error.len() < 1500 && error.contains("twice"), "{error}");
}

#[test]
fn a_key_of_json_stands_there_once() {
    for text in [
        r#"{"link": {"rate": "1Gbps", "buffer": "1p", "buffer": "2p"}, "flows": [{"rtt": "1ms"}]}"#,
        r#"{"title": "a", "title": "a"}"#,
        "{\"flows\": [{\"rtt\": \"1ms\",\n\"rtt\": \"1ms\"}]}",
    ] {
        let error = Scenario::parse(text, Format::Json, "file", &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("twice") && error.contains("line"), "{error}");
    }
}

/// An accepted scenario is written so that it is accepted again, also if an end of a range lies
/// beyond the other's default.
#[test]
fn an_end_beyond_the_others_default_reads_back() {
    for bottom in ["0.1", "0.5", "0.6", "1.0"] {
        for kind in ["red", "choke"] {
            let queue = format!("queue = {{ kind = \"{kind}\", bottom = {bottom} }}");
            let text = format!(
                "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\n{queue}\n[[flows]]\nrtt = \"10ms\"\n"
            );
            let scenario = parse(&text).unwrap();
            let canonical = scenario.canonical_json();
            let again = Scenario::parse(&canonical, Format::Json, "again", &[]);
            assert_eq!(again.as_ref(), Ok(&scenario), "{text}");
            let parameters = scenario.target().discipline.parameters();
            assert!(parameters.number("top") >= parameters.number("bottom"));
        }
    }
}
