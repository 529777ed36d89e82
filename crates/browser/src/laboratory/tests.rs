//! Tests of the laboratory: it answers as the engines do, refuses in one line, and survives every
//! request.

use forebay_attack::{hostile, random_scenario};
use forebay_packet::PacketEngine;
use forebay_scenario::{Format, Seed};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

pub(super) const LINK: &str = "[link]\nrate = \"10Mbps\"\nbuffer = \"20p\"\n[[flows]]\ncount = 3\nrtt = \"20ms\"\n\
                    [run]\nwarmup = \"1s\"\nmeasure = \"4s\"\nseed = 9\n";

pub(super) fn asked(laboratory: &mut Laboratory, request: &Value) -> (State, Value) {
    let state = laboratory.ask(request.to_string().as_bytes());
    (state, serde_json::from_str(laboratory.answer()).unwrap())
}

fn alone(text: &str, engine: &dyn Engine, seed: Seed) -> String {
    let scenario = Scenario::parse(text, Format::Toml, "scenario", &[]).unwrap();
    serde_json::to_string(&engine.run(&scenario, &seed.into()).unwrap()).unwrap()
}

fn seed(seed: u64, replication: u64) -> Seed {
    Seed { seed, replication }
}

#[test]
fn reports_are_those_of_the_engines() {
    let mut laboratory = Laboratory::default();
    for (name, engine) in [
        ("fluid", &FluidEngine as &dyn Engine),
        ("closed_form", &ClosedFormEngine),
    ] {
        let request = json!({ "do": "answer", "text": LINK, "engine": name });
        assert_eq!(asked(&mut laboratory, &request).0, State::Done);
        assert_eq!(laboratory.answer(), alone(LINK, engine, seed(9, 0)));
    }
    let request = json!({ "do": "begin", "text": LINK, "seed": 4, "replication": 2 });
    let (state, answer) = asked(&mut laboratory, &request);
    assert_eq!(
        (state, &answer["end_ps"]),
        (State::Done, &json!("5000000000000"))
    );
    assert_eq!(laboratory.watch(1 << 30), State::Done);
    let mut steps = 0;
    while laboratory.advance(Time::MAX, 1000) == State::Done {
        assert_eq!(laboratory.look(10), State::Done);
        steps += 1;
    }
    assert!(steps > 1);
    assert_eq!(
        asked(&mut laboratory, &json!({ "do": "finish" })).0,
        State::Done
    );
    assert_eq!(laboratory.answer(), alone(LINK, &PacketEngine, seed(4, 2)));
}

/// A replication draws the numbers of its flows, and its report gives the requested distribution.
#[test]
fn numbers_of_flows_are_drawn() {
    let mut laboratory = Laboratory::default();
    let text = LINK.replace("count = 3", "count = { uniform = [2, 90] }");
    let scenario = Scenario::parse(&text, Format::Toml, "scenario", &[]).unwrap();
    let mut counts = Vec::new();
    for replication in 0..3 {
        let request = json!({ "do": "begin", "text": text, "replication": replication });
        let (_, begun) = asked(&mut laboratory, &request);
        let drawn = scenario.drawn(seed(9, replication));
        let count = begun["groups"][0]["count"].as_u64().unwrap();
        assert_eq!(count, drawn.flows()[0].count);
        counts.push(count);
        while laboratory.advance(Time::MAX, u64::MAX) == State::Done {}
        let (_, report) = asked(&mut laboratory, &json!({ "do": "finish" }));
        assert_eq!(report["scenario_sha256"], scenario.sha256());
        assert_eq!(report["groups"][0]["flows"], scenario.flows()[0].count);
    }
    assert!(
        counts[0] != counts[1] || counts[1] != counts[2],
        "{counts:?}"
    );
}

/// A picture has as many numbers as its header says and contains the state of the run.
#[test]
fn a_picture_says_how_long_it_is() {
    let mut laboratory = Laboratory::default();
    assert_eq!(
        asked(&mut laboratory, &json!({ "do": "begin", "text": LINK })).0,
        State::Done
    );
    laboratory.watch(100);
    let (mut seen, mut missed) = (0.0, 0.0);
    for (second, flows) in [(1, 0), (2, 2), (3, 1000), (9, 3)] {
        let state = laboratory.advance(Time::from_secs(second), u64::MAX);
        assert_eq!(state == State::Ended, second == 9);
        laboratory.look(flows);
        let figures = laboratory.figures();
        let column = |name: &str| figures[HEADER.iter().position(|it| *it == name).unwrap()];
        let rows = [
            ("links", LINK_COLUMNS),
            ("flows", FLOW.len()),
            ("sightings", SIGHTING.len()),
            ("standings", STANDING.len()),
            ("columns", COLUMN.len()),
            ("bands", BAND.len()),
            ("signals", SIGHTING.len()),
        ];
        let rows = rows.map(|(name, columns)| column(name) as usize * columns);
        assert_eq!(figures.len(), HEADER.len() + rows.iter().sum::<usize>());
        assert_eq!(column("time_s"), second.min(5) as f64);
        assert_eq!(column("flows"), flows.min(3) as f64);
        assert!(column("sightings") <= 100.0);
        (seen, missed) = (
            seen + column("sightings"),
            missed + column("missed_sightings"),
        );
        // The first row is flow 0 of group 0 and has a window.
        if flows > 0 {
            let first = &figures[HEADER.len() + LINK_COLUMNS..];
            assert_eq!(first[..3], [0.0, 0.0, 1.0]);
            assert!(first[3] >= 1.0 && first[5] > 0.02);
        }
    }
    // About 4,000 packets of 1,500 bytes arrive and leave.
    assert!((seen, missed) > (300.0, 0.0) && (6000.0..12000.0).contains(&(seen + missed)));
}

const LINK_COLUMNS: usize = crate::picture::LINK.len();

/// The error has the line of the text and the sentence of the command line.
#[test]
fn a_mistake_is_told_where_it_is() {
    let mut laboratory = Laboratory::default();
    let text = LINK.replace("\"20ms\"", "\"20\"");
    let error = Scenario::parse(&text, Format::Toml, "my.toml", &[]).unwrap_err();
    let request = json!({ "do": "check", "text": text, "file": "my.toml" });
    let (state, answer) = asked(&mut laboratory, &request);
    assert_eq!(state, State::Refused);
    assert_eq!(answer["kind"], "scenario");
    assert_eq!(
        (&answer["line"], &answer["key"]),
        (&json!(6), &json!("flows[0].rtt"))
    );
    assert_eq!(answer["message"], error.to_string());
    let request = json!({ "do": "check", "text": LINK, "overrides": ["link.bufer=3p"] });
    let (state, answer) = asked(&mut laboratory, &request);
    assert_eq!((state, &answer["line"]), (State::Refused, &Value::Null));
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("did you mean `buffer`?")
    );
}

#[test]
fn a_scenario_is_resolved_and_judged() {
    let mut laboratory = Laboratory::default();
    let overrides = json!(["link.buffer=50p", "flows.0.count=7"]);
    let request = json!({ "do": "check", "text": LINK, "overrides": overrides });
    let (_, answer) = asked(&mut laboratory, &request);
    assert_eq!(
        (&answer["buffer"]["packets"], &answer["groups"][0]["count"]),
        (&json!(50.0), &json!(7))
    );
    let canonical = answer["canonical"].as_str().unwrap();
    let again = json!({ "do": "check", "text": canonical, "format": "json" });
    assert_eq!(asked(&mut laboratory, &again).1["sha256"], answer["sha256"]);
    let (_, verdicts) = asked(
        &mut laboratory,
        &json!({ "do": "rules", "text": LINK, "overrides": ["flows.0.cca=newreno"] }),
    );
    let verdicts = verdicts.as_array().unwrap();
    assert_eq!(verdicts.len(), forebay_closed_form::rules().len());
    let bdp = verdicts.iter().find(|it| it["name"] == "bdp").unwrap();
    // The BDP is 10 Mb/s over 20 ms in packets of 1,500 bytes.
    let packets = bdp["packets"].as_f64().unwrap();
    assert!(
        (packets - 10e6 * 0.02 / 8.0 / 1500.0).abs() <= 1.0,
        "{packets}"
    );
    let (_, described) = asked(&mut laboratory, &json!({ "do": "describe" }));
    assert_eq!(
        described["columns"]["flow"].as_array().unwrap().len(),
        FLOW.len()
    );
}

/// Controls show the values of the text, and a change of one changes the text at its key.
#[test]
fn controls_are_answered_and_changed() {
    let mut laboratory = Laboratory::default();
    let text = "title = \"two\"\n[[links]]\nname = \"a\"\nrate = \"10Mbps\" # slow\nbuffer = \"2BDP\"\n\
                target = true\n[[links]]\nname = \"b\"\nrate = { steps = [[\"0s\", \"1Gbps\"]] }\nbuffer = \"9p\"\n\
                queue = \"codel\"\n[[flows]]\npath = [\"a\", \"b\"]\ncca = { kind = \"reno\" }\n\
                rtt = { value = \"20ms\", jitter = { uniform = [\"0s\", \"2ms\"] } }\n[[flows]]\nname = \"load\"\n\
                path = [\"a\"]\nworkload = { poisson = { rate = \"1Mbps\" } }\n";
    let (_, answer) = asked(&mut laboratory, &json!({ "do": "check", "text": text }));
    let quantity = |text: &str, value: f64| json!({ "text": text, "value": value });
    let load = &text[text.rfind("[[flows]]").unwrap()..];
    let expected = json!({
        "rate": quantity("10Mbps", 1e7),
        "buffer": { "text": "2BDP", "value": 2.0, "unit": "BDP" },
        "queue": "droptail",
        "threshold": null,
        "groups": [
            { "key": "0", "name": "flows0", "counted": true, "count": 1, "controller": "newreno",
              "rtt": { "text": "20ms", "value": 0.02, "jitter": quantity("2ms", 0.002) }, "load": null },
            { "key": "load", "name": "load", "counted": false, "count": 1, "controller": null, "rtt": null,
              "load": { "kind": "poisson", "rate_bps": 1e6, "text": load } },
        ],
    });
    assert_eq!(answer["controls"], expected);
    assert_eq!(answer["trace_every_s"], 0.1);
    let changes = json!([{ "set": "link.rate=20Mbps" }, { "remove": "flows.load" }]);
    let request = json!({ "do": "edit", "text": text, "changes": changes });
    let edited = text.replace("10Mbps", "20Mbps").replace(load, "");
    assert_eq!(
        asked(&mut laboratory, &request),
        (State::Done, json!(edited))
    );
    let changes = json!([{ "add_group": load }]);
    let request = json!({ "do": "edit", "text": edited, "changes": changes });
    let back = format!("{edited}\n{load}");
    assert_eq!(asked(&mut laboratory, &request), (State::Done, json!(back)));
    // A value that depends on others, or is drawn, is changed in the text alone.
    let text = LINK
        .replace("\"10Mbps\"", "{ steps = [[\"0s\", \"1Mbps\"]] }")
        .replace("count = 3", "count = { poisson = 4 }")
        .replace("\"20ms\"", "{ uniform = [\"1ms\", \"20ms\"] }");
    let (_, answer) = asked(&mut laboratory, &json!({ "do": "check", "text": text }));
    let controls = &answer["controls"];
    assert_eq!(controls["rate"], Value::Null);
    for key in ["count", "rtt"] {
        assert_eq!(controls["groups"][0][key], Value::Null, "{key}");
    }
}

/// A change that leads to no scenario is refused, without a line of a text that is shown nowhere.
#[test]
fn a_change_is_refused_at_its_key() {
    let mut laboratory = Laboratory::default();
    for (change, message) in [
        (
            json!({ "set": "link.buffer=fast" }),
            "link.buffer: found `fast`",
        ),
        (json!({ "set": "nothing" }), "found `nothing`"),
        (json!({ "remove": "link.rate" }), "link: found no `rate`"),
        (
            json!({ "add_group": "[[flows" }),
            "found text that is not TOML",
        ),
    ] {
        let request = json!({ "do": "edit", "text": LINK, "changes": [change] });
        let (state, answer) = asked(&mut laboratory, &request);
        assert_eq!((state, &answer["line"]), (State::Refused, &Value::Null));
        let said = answer["message"].as_str().unwrap();
        assert!(said.starts_with(message), "{said}");
    }
}

#[test]
fn goals_are_answered_in_the_units_of_reports() {
    let mut laboratory = Laboratory::default();
    let text = format!(
        "{LINK}[goal]\nqueue_delay_p99 = [\"<= 40ms\", \">= 2us\"]\n\"flows0.loss_rate\" = \"<= 1%\"\n"
    );
    let (_, answer) = asked(&mut laboratory, &json!({ "do": "check", "text": text }));
    let goal = |group: Value, metric: &str, at_least: bool, bound: f64, text: &str| json!({ "group": group, "metric": metric, "at_least": at_least, "bound": bound, "text": text });
    let expected = json!([
        goal(
            Value::Null,
            "queue_delay_p99_s",
            false,
            0.04,
            "queue_delay_p99 <= 40ms"
        ),
        goal(
            Value::Null,
            "queue_delay_p99_s",
            true,
            2e-6,
            "queue_delay_p99 >= 2us"
        ),
        goal(
            json!("flows0"),
            "loss_rate",
            false,
            0.01,
            "flows0.loss_rate <= 0.01"
        ),
    ]);
    assert_eq!(answer["goals"], expected);
}

/// A call that makes no sense in this state is refused and changes nothing.
#[test]
fn calls_out_of_turn_are_refused() {
    let mut laboratory = Laboratory::default();
    let out_of_turn = |laboratory: &mut Laboratory| {
        for state in [
            laboratory.advance(Time::MAX, 1),
            laboratory.look(1),
            laboratory.watch(1),
            laboratory.follow(0, 0),
        ] {
            assert_eq!(state, State::Refused);
            let answer: Value = serde_json::from_str(laboratory.answer()).unwrap();
            assert_eq!(answer["kind"], "request");
        }
    };
    out_of_turn(&mut laboratory);
    let finish = json!({ "do": "finish" });
    assert_eq!(asked(&mut laboratory, &finish).0, State::Refused);
    asked(&mut laboratory, &json!({ "do": "begin", "text": LINK }));
    // A report of half a run would be wrong. The run continues.
    laboratory.advance(Time::from_secs(2), u64::MAX);
    assert_eq!(asked(&mut laboratory, &finish).0, State::Refused);
    assert_eq!(laboratory.advance(Time::MAX, u64::MAX), State::Ended);
    assert_eq!(laboratory.advance(Time::MAX, u64::MAX), State::Ended);
    assert_eq!(asked(&mut laboratory, &finish).0, State::Done);
    out_of_turn(&mut laboratory);
    asked(&mut laboratory, &json!({ "do": "begin", "text": LINK }));
    assert_eq!(
        asked(&mut laboratory, &json!({ "do": "stop" })),
        (State::Done, Value::Null)
    );
    out_of_turn(&mut laboratory);
    for request in [
        "",
        "{}",
        "[1]",
        "{\"do\": \"fly\"}",
        "{\"do\": \"check\"}",
        "\u{0}",
    ] {
        assert_eq!(laboratory.ask(request.as_bytes()), State::Refused);
    }
    let request = json!({ "do": "begin", "text": LINK, "engine": "fluid" });
    assert_eq!(asked(&mut laboratory, &request).1["kind"], "request");
    assert_eq!(
        laboratory.ask(&vec![b' '; MOST_REQUEST + 1]),
        State::Refused
    );
}

/// A scenario that is too large for a page is refused before it begins.
#[test]
fn absurd_numbers_are_refused() {
    let mut laboratory = Laboratory::default();
    for change in [
        "flows.0.count=1000000",
        "flows.0.count=99999999999",
        "link.rate=999999Tbps",
        "run.measure=1e30s",
        "flows.0.rtt=0s",
    ] {
        let request = json!({ "do": "begin", "text": LINK, "overrides": [change] });
        let (state, answer) = asked(&mut laboratory, &request);
        assert_eq!(state, State::Refused, "{change}");
        let message = answer["message"].as_str().unwrap();
        assert!(
            !message.contains("--memory") && message.lines().count() == 1,
            "{message}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any scenario with any value in it is answered or refused by every request, within the
    /// allowed cost.
    #[test]
    fn hostile_scenarios_are_survived(
        words in prop::collection::vec(any::<u16>(), 0..160),
        (at, value) in any::<(u16, u16)>(),
    ) {
        let text = hostile(&random_scenario(&words), at, value);
        let mut laboratory = Laboratory::default();
        for request in [
            json!({ "do": "check", "text": text }),
            json!({ "do": "edit", "text": text, "changes": [
                { "remove": "flows.0" }, { "set": "link.buffer=9p" }, { "add_group": "[[flows]]\nrtt = \"1ms\"" },
            ] }),
            json!({ "do": "rules", "text": text }),
            json!({ "do": "answer", "text": text }),
            json!({ "do": "begin", "text": text }),
        ] {
            let (state, answer) = asked(&mut laboratory, &request);
            prop_assert!(state == State::Done || answer["message"].is_string(), "{}", text);
        }
        if laboratory.advance(Time::MAX, 20_000) == State::Done {
            prop_assert_eq!(laboratory.look(10), State::Done);
        }
    }

    /// Bytes that are not a request are refused.
    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut laboratory = Laboratory::default();
        prop_assert_eq!(laboratory.ask(&bytes), State::Refused);
        let refusal: Value = serde_json::from_str(laboratory.answer()).unwrap();
        prop_assert_eq!(&refusal["kind"], "request");
    }
}

/// A flow is recorded by its number over all groups, and its window falls when a loss is detected.
#[test]
fn a_picture_tells_how_a_followed_flow_stood() {
    let mut laboratory = Laboratory::default();
    asked(&mut laboratory, &json!({ "do": "begin", "text": LINK }));
    assert_eq!(laboratory.follow(0, 2), State::Done);
    laboratory.advance(Time::from_secs(5), u64::MAX);
    laboratory.look(0);
    let figures = laboratory.figures();
    let column = |name: &str| figures[HEADER.iter().position(|it| *it == name).unwrap()] as usize;
    assert_eq!(column("missed_standings"), 0);
    let rows = &figures[figures.len() - column("standings") * STANDING.len()..];
    let rows: Vec<_> = rows.chunks(STANDING.len()).collect();
    let at = |name: &str| STANDING.iter().position(|it| *it == name).unwrap();
    let (time, state, cwnd) = (at("time_s"), at("state"), at("cwnd_packets"));
    let found = |pair: &&[&[f64]]| (pair[0][state], pair[1][state]) == (0.0, 1.0);
    let falls: Vec<_> = rows.windows(2).filter(found).collect();
    assert!(!falls.is_empty() && rows.len() > 100);
    assert!(falls.iter().all(|pair| pair[1][cwnd] < pair[0][cwnd]));
    assert!(rows.windows(2).all(|pair| pair[0][time] < pair[1][time]));
    assert_eq!(laboratory.follow(0, 3), State::Refused);
    assert!(laboratory.answer().contains("group 0 has no flow 3"));
}
