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

/// The first group of a file with this stack, controller and further keys.
fn group(stack: &str, cca: &str, more: &str) -> String {
    text(stack, &format!("cca = {cca}\n{more}"))
}

#[test]
fn bbr_detects_losses_by_time_unless_its_group_says_otherwise() {
    use forebay_scenario::Recovery::{Fack, NewReno, Rack, Sack};
    let time_based = [
        "\"bbr\"",
        "\"bbr1\"",
        "\"bbr3\"",
        "{ kind = \"bbr\" }",
        "{ kind = \"bbrv3\", probe_rtt = false }",
        "\"copa\"",
    ];
    for cca in time_based {
        for (stack, more, recovery) in [
            ("", "", Rack),
            ("rfc", "", Rack),
            ("rfc", "min_rto = \"300ms\"", Rack),
            ("ns2", "", NewReno),
            ("linux", "", Rack),
            ("", "recovery = \"sack\"", Sack),
            ("rfc", "recovery = \"newreno\"", NewReno),
            ("linux", "recovery = \"fack\"", Fack),
        ] {
            let scenario = read(&group(stack, cca, more), &[]);
            let found = scenario.flows()[0].stack.recovery;
            assert_eq!(found, recovery, "{cca} {stack} {more}");
            let written = scenario.canonical_json();
            let again = Scenario::parse(&written, Format::Json, "again", &[]).unwrap();
            assert!(again == scenario, "{written}");
        }
    }
    for cca in [
        "cubic", "newreno", "vegas", "dctcp", "prague", "ledbat", "ledbatpp",
    ] {
        let scenario = read(&group("", &format!("\"{cca}\""), ""), &[]);
        assert_eq!(scenario.flows()[0].stack.recovery, Sack, "{cca}");
    }
}

/// A recovery that the file gives and that its controller has anyway is equivalent to one that is
/// not given.
#[test]
fn another_controller_means_the_same_before_and_after_reading() {
    let controllers = [
        "\"cubic\"",
        "\"newreno\"",
        "\"htcp\"",
        "\"bbr\"",
        "\"bbr3\"",
    ];
    let more = [
        "",
        "min_rto = \"300ms\"",
        "recovery = \"fack\"\nreceive_window = \"50p\"",
        "recovery = \"pipe\"",
        "frto = false\noffload = false",
    ];
    let beside_bbr = ["recovery = \"sack\"", "recovery = \"newreno\""];
    for stack in ["", "rfc", "linux", "ns2"] {
        for from in controllers {
            let kept: &[&str] = if from.contains("bbr") && !matches!(stack, "ns2") {
                &beside_bbr
            } else {
                &[]
            };
            for more in more.iter().chain(kept) {
                let file = group(stack, from, more);
                let scenario = read(&file, &[]);
                for (to, key) in controllers
                    .iter()
                    .flat_map(|to| ["a", "0", "*"].map(|key| (to, key)))
                {
                    let change = [Override::parse(&format!("flows.{key}.cca={to}")).unwrap()];
                    let later = groups(&scenario.with(&change).unwrap());
                    let fresh = groups(&read(&file, &change));
                    assert!(
                        later == fresh,
                        "{from} to {to}, {stack} {more}: {later} and not {fresh}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_controller_that_is_changed_back_leaves_the_scenario_as_it_was() {
    let (to_bbr, to_cubic) = ("flows.a.cca=bbr", "flows.a.cca=cubic");
    for (stack, more) in [
        ("", ""),
        ("linux", ""),
        ("ns2", ""),
        ("", "recovery = \"fack\""),
    ] {
        let scenario = read(&text(stack, more), &[]);
        let changed = scenario
            .with(&[Override::parse(to_bbr).unwrap()])
            .and_then(|it| it.with(&[Override::parse("link.buffer=9p").unwrap()]))
            .and_then(|it| it.with(&[Override::parse("link.buffer=20p").unwrap()]))
            .and_then(|it| it.with(&[Override::parse(to_cubic).unwrap()]))
            .unwrap();
        assert!(changed == scenario, "{stack} {more}: {}", groups(&changed));
    }
}

#[test]
fn a_change_may_give_the_recovery_beside_the_controller() {
    let scenario = read(&text("", ""), &[]);
    let changes = ["flows.a.recovery=sack", "flows.a.cca=bbr"];
    for order in [[0, 1], [1, 0]] {
        let changes = order.map(|at| Override::parse(changes[at]).unwrap());
        let later = scenario.with(&changes).unwrap();
        assert_eq!(
            later.flows()[0].stack.recovery,
            forebay_scenario::Recovery::Sack
        );
    }
}
