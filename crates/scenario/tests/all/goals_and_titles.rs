//! Goals that share a metric, and titles of others.

use std::fmt::Write as _;

use forebay_scenario::{Format, Relation, Scenario};

const MINIMAL: &str = "[link]\nrate = \"10Mbps\"\nbuffer = \"20p\"\n[[flows]]\nrtt = \"40ms\"\n";

#[test]
fn a_goal_may_be_a_list_of_bounds() {
    let with = |goal: &str| {
        let text = format!("{MINIMAL}\n[goal]\n{goal}\n");
        Scenario::parse(&text, Format::Toml, "goals.toml", &[])
    };
    let said = |scenario: &Scenario| -> Vec<(String, Relation, f64)> {
        let goals = scenario.goals().iter();
        goals
            .map(|goal| (goal.key(), goal.relation, goal.threshold))
            .collect()
    };
    let two =
        with("utilization = [\">= 70%\", \"<= 90%\"]\nqueue_delay_p99 = [\"<= 20ms\"]").unwrap();
    assert_eq!(
        said(&two),
        [
            ("utilization".to_owned(), Relation::AtLeast, 0.7),
            ("utilization".to_owned(), Relation::AtMost, 0.9),
            ("queue_delay_p99".to_owned(), Relation::AtMost, 0.02),
        ]
    );
    let again = Scenario::parse(&two.canonical_json(), Format::Json, "again", &[]).unwrap();
    assert_eq!((said(&again), again.sha256()), (said(&two), two.sha256()));
    // One bound in a list is that bound, and the metric's two names are one.
    assert_eq!(
        with("loss_rate = [\"<= 1%\"]").unwrap().sha256(),
        with("loss_rate = \"<= 1%\"").unwrap().sha256()
    );
    let names = with("goodput = \">= 1Mbps\"\ngoodput_bps = \"<= 2Mbps\"").unwrap();
    let again = Scenario::parse(&names.canonical_json(), Format::Json, "again", &[]).unwrap();
    assert_eq!(said(&again).len(), 2);
    assert_eq!(said(&again), said(&names));
    for (goal, expected) in [
        ("loss_rate = []", "goal.loss_rate: found a list of 0"),
        (
            "loss_rate = [1]",
            "goal.loss_rate[0]: found `1`; allowed: a bound on a share",
        ),
        (
            "loss_rate = [\"<= 1%\", []]",
            "goal.loss_rate[1]: found a list of 0",
        ),
        ("nonsense = [\"<= 1%\"]", "unknown metric `nonsense`"),
    ] {
        let error = with(goal).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_title_is_one_line_in_which_nothing_moves() {
    let with = |title: &str| {
        let escaped = title.chars().fold(String::new(), |mut text, letter| {
            let _ = write!(text, "\\U{:08x}", letter as u32);
            text
        });
        let text = format!("title = \"{escaped}\"\n{MINIMAL}");
        Scenario::parse(&text, Format::Toml, "title.toml", &[])
    };
    assert_eq!(with("\n a\r\n\tb\u{2028}c ").unwrap().title(), " a b c ");
    for title in [
        "größer ≥ 日本語 😀",
        "$\\frac$ <b>&",
        "a  b",
        &"é".repeat(1000),
    ] {
        assert_eq!(with(title).unwrap().title(), title);
    }
    for title in [
        "\u{1b}[31m",
        "\0",
        "\u{9b}1m",
        "\u{202e}",
        "\u{feff}",
        "\u{fffe}",
        &"é".repeat(1001),
    ] {
        let error = with(title).unwrap_err().to_string();
        assert!(error.starts_with("title.toml:1: title: found `"), "{error}");
        assert!(!error.contains(title), "{error}");
    }
}
