//! Another stack in a scenario that was read means what it would in its file.

use forebay_scenario::{Format, Override, Scenario};

const STACKS: [&str; 3] = ["rfc", "linux", "ns2"];

fn text(stack: &str, more: &str) -> String {
    let own = if stack.is_empty() {
        String::new()
    } else {
        format!("stack = \"{stack}\"")
    };
    format!(
        "[link]\nrate = \"10Mbps\"\nbuffer = \"20p\"\n\
         [[flows]]\nname = \"a\"\nrtt = \"20ms\"\n{own}\n{more}\n\
         [[flows]]\nname = \"b\"\nrtt = \"20ms\"\nstack = \"linux\"\ncca = \"newreno\"\n\
         [[flows]]\nname = \"c\"\nworkload = {{ cbr = {{ rate = \"1Mbps\" }} }}\n"
    )
}

fn read(text: &str, changes: &[Override]) -> Scenario {
    Scenario::parse(text, Format::Toml, "a.toml", changes).expect("a scenario")
}

/// The first group, resolved.
fn groups(scenario: &Scenario) -> String {
    let whole: serde_json::Value = serde_json::from_str(&scenario.canonical_json()).expect("JSON");
    whole["flows"][0].to_string()
}

#[test]
fn another_stack_means_the_same_before_and_after_reading() {
    let more = [
        "",
        "cca = \"newreno\"",
        "cca = \"htcp\"",
        "cca = \"bbr\"\ninitial_window = \"4p\"",
        "cca = { kind = \"cubic\", beta = 0.8 }\nmin_rto = \"300ms\"",
        "delayed_ack = { packets = 4 }\nheader = \"60B\"",
        "recovery = \"fack\"\nreceive_window = \"50p\"",
    ];
    for from in ["", "rfc", "linux", "ns2"] {
        for to in STACKS {
            for more in more {
                let file = text(from, more);
                let change = [Override::parse(&format!("flows.a.stack={to}")).unwrap()];
                let later = read(&file, &[]).with(&change).unwrap();
                let (later, file) = (groups(&later), groups(&read(&file, &change)));
                assert!(
                    later == file,
                    "{from} to {to}, {more}: {later} and not {file}"
                );
            }
        }
    }
}

#[test]
fn the_stack_that_it_has_changes_nothing() {
    for stack in STACKS {
        let scenario = read(&text(stack, "frto = false\noffload = false"), &[]);
        let change = Override::parse(&format!("flows.a.stack={stack}")).unwrap();
        let later = scenario.with(&[change]).unwrap();
        assert!(later == scenario, "{stack}: {}", groups(&later));
    }
}

#[test]
fn other_groups_stay_as_they_are() {
    let scenario = read(&text("ns2", ""), &[]);
    let change = Override::parse("flows.a.stack=linux").unwrap();
    let later = scenario.with(&[change]).unwrap();
    assert_ne!(later.flows()[0], scenario.flows()[0]);
    assert_eq!(later.flows()[1..], scenario.flows()[1..]);
}
