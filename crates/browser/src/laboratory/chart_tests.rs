//! Tests of charts and of lists of signals: they are those of the run, whatever the calls, and
//! they outlast it. Tests of the answer whether a page can play a scenario.

use serde_json::{Value, json};

use super::tests::{LINK, asked};
use super::*;

/// The chart that a page puts together from its pictures: the width of a column, and its numbers.
type Chart = (f64, Vec<Vec<f64>>);

/// Plays a run in calls with limits of time and events, with a picture after some of the calls.
fn played(laboratory: &mut Laboratory, step: Time, events: u64, look_every: usize) -> Chart {
    let request = json!({ "do": "begin", "text": LINK, "chart": { "columns": 100, "flows": 2 } });
    assert_eq!(asked(laboratory, &request).0, State::Done);
    let mut chart = (0.0, Vec::new());
    for call in 1.. {
        let until = laboratory.now().saturating_add(step);
        let state = laboratory.advance(until, events);
        if state == State::Ended || call % look_every == 0 {
            assert_eq!(laboratory.look(3), State::Done);
            update(&mut chart, laboratory.figures());
        }
        if state == State::Ended {
            return chart;
        }
    }
    unreachable!()
}

fn column(figures: &[f64], name: &str) -> f64 {
    figures[HEADER.iter().position(|it| *it == name).unwrap()]
}

/// Replaces the columns of a chart by those of a picture.
fn update((width, columns): &mut Chart, figures: &[f64]) {
    let header = |name| column(figures, name);
    let count = |name| header(name) as usize;
    let rows = [
        ("links", crate::picture::LINK.len()),
        ("flows", FLOW.len()),
        ("sightings", SIGHTING.len()),
        ("standings", STANDING.len()),
    ];
    let begin = HEADER.len()
        + rows
            .map(|(name, row)| count(name) * row)
            .iter()
            .sum::<usize>();
    let bands = begin + count("columns") * COLUMN.len();
    let flows = count("bands") / count("columns").max(1);
    *width = header("column_s");
    columns.truncate(count("first_column"));
    assert_eq!(columns.len(), count("first_column"));
    for at in 0..count("columns") {
        let own = &figures[begin + at * COLUMN.len()..][..COLUMN.len()];
        let windows = &figures[bands + at * flows * BAND.len()..][..flows * BAND.len()];
        columns.push([own, windows].concat());
    }
}

/// All packets of a list.
fn listed(laboratory: &mut Laboratory, kind: &str) -> (u64, Vec<Value>) {
    let (mut from, mut list) = (0, Vec::new());
    loop {
        let request = json!({ "do": "signals", "kind": kind, "from": from, "count": 100 });
        let (state, answer) = asked(laboratory, &request);
        assert_eq!(state, State::Done);
        let signals = answer["signals"].as_array().unwrap();
        if signals.is_empty() {
            return (answer["total"].as_u64().unwrap(), list);
        }
        from += signals.len() as u64;
        list.extend(signals.iter().cloned());
    }
}

#[test]
fn charts_and_lists_do_not_depend_on_the_calls() {
    let mut laboratory = Laboratory::default();
    let chart = played(&mut laboratory, Time::MAX, u64::MAX, 1);
    let losses = listed(&mut laboratory, "dropped");
    let bits = |(width, columns): &Chart| {
        let numbers = columns
            .iter()
            .map(|column| column.iter().map(|it| it.to_bits()));
        (
            width.to_bits(),
            numbers.map(Iterator::collect).collect::<Vec<Vec<u64>>>(),
        )
    };
    for (step, events, look_every) in [
        (Time::from_millis(1), u64::MAX, 1),
        (Time::from_millis(7), u64::MAX, 13),
        (Time::MAX, 5000, 1),
        (Time::from_millis(190), 3000, 3),
    ] {
        let other = played(&mut laboratory, step, events, look_every);
        assert_eq!(bits(&other), bits(&chart));
        assert_eq!(listed(&mut laboratory, "dropped"), losses);
    }
    let (width, columns) = chart;
    assert!((50..=100).contains(&columns.len()));
    assert!(width * columns.len() as f64 >= 5.0 && width * (columns.len() - 1) as f64 <= 5.0);
    let sum: f64 = columns.iter().map(|column| column[0]).sum();
    assert_eq!(
        (sum, losses.0),
        (losses.1.len() as f64, losses.1.len() as u64)
    );
    assert!(sum > 20.0);
    // The buffer of 20 packets is full where packets are lost.
    for (at, column) in columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column[0] > 0.0)
    {
        let before = columns[at.saturating_sub(1)][4];
        assert_eq!(column[4].max(before), 20.0, "column {at}");
    }
}

/// A list remains after the report, until another run begins.
#[test]
fn a_list_outlasts_its_run() {
    let mut laboratory = Laboratory::default();
    let text = LINK.replace("warmup = \"1s\"", "warmup = \"0s\"");
    let chart = json!({ "columns": 10, "flows": 0 });
    let begin = json!({ "do": "begin", "text": text, "chart": chart });
    asked(&mut laboratory, &begin);
    while laboratory.advance(Time::MAX, 9000) == State::Done {}
    laboratory.look(0);
    let drops = column(laboratory.figures(), "dropped");
    let losses = listed(&mut laboratory, "dropped");
    assert_eq!(losses.0 as f64, drops);
    let numbers: Vec<_> = losses
        .1
        .iter()
        .map(|it| it["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..losses.0).collect::<Vec<_>>());
    asked(&mut laboratory, &json!({ "do": "finish" }));
    assert_eq!(listed(&mut laboratory, "dropped"), losses);
    assert_eq!(listed(&mut laboratory, "marked"), (0, Vec::new()));
    asked(&mut laboratory, &begin);
    assert_eq!(listed(&mut laboratory, "dropped"), (0, Vec::new()));
}

#[test]
fn a_chart_of_no_columns_is_refused() {
    let mut laboratory = Laboratory::default();
    for columns in [0, MOST_COLUMNS + 1] {
        let chart = json!({ "columns": columns, "flows": 0 });
        let request = json!({ "do": "begin", "text": LINK, "chart": chart });
        assert_eq!(asked(&mut laboratory, &request).0, State::Refused);
    }
}

/// A page can play every scenario that comes with forebay, also with BBR.
#[test]
fn shipped_scenarios_are_playable() {
    let mut laboratory = Laboratory::default();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|it| it != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let request = json!({ "do": "playable", "text": text });
        let (state, answer) = asked(&mut laboratory, &request);
        assert_eq!(state, State::Done);
        if name == "lte-downlink.toml" {
            // A page reads no file beside the scenario: its list replaces the key by steps.
            assert_eq!(answer["reason"]["key"], "link.rate.file");
            continue;
        }
        assert_eq!(answer["playable"], true, "{name} {answer}");
        assert!(
            answer["memory_bytes"].as_f64().unwrap() < 150e6,
            "{name} {answer}"
        );
        let begin = json!({ "do": "begin", "text": text });
        assert_eq!(asked(&mut laboratory, &begin).0, State::Done, "{name}");
        count += 1;
    }
    assert!(count >= 26);
    let text = std::fs::read_to_string(format!("{folder}/elastic-access-link.toml")).unwrap();
    let text = text.replace("newreno", "bbr");
    let (_, answer) = asked(&mut laboratory, &json!({ "do": "playable", "text": text }));
    assert_eq!(answer["playable"], true);
    assert!(answer["memory_bytes"].as_f64().unwrap() < 5e6, "{answer}");
}

/// A scenario that a page cannot play has a reason, the key that causes it and, if a shorter run is
/// enough, a change that makes it playable.
#[test]
fn a_refusal_says_what_to_shorten() {
    let mut laboratory = Laboratory::default();
    let text = "[link]\nrate = \"100Gbps\"\nbuffer = \"1ms\"\n[[flows]]\ncount = 1000\n\
                rtt = { uniform = [\"1ms\", \"9ms\"] }\naccess = { rate = \"50Mbps\" }\n\
                [run]\nwarmup = \"1s\"\nmeasure = \"2000s\"\n";
    let playable = |laboratory: &mut Laboratory, overrides: &[String]| {
        let request = json!({ "do": "playable", "text": text, "overrides": overrides });
        asked(laboratory, &request).1
    };
    let answer = playable(&mut laboratory, &[]);
    assert_eq!(answer["playable"], false, "{answer}");
    assert!(
        answer["reason"]["message"]
            .as_str()
            .unwrap()
            .contains("too large")
    );
    assert_eq!(answer["reason"]["key"], "flows.flows0.rtt");
    let (key, value) = (&answer["shorten"]["key"], &answer["shorten"]["value"]);
    let change = format!("{}={}", key.as_str().unwrap(), value.as_str().unwrap());
    assert_eq!(playable(&mut laboratory, &[change])["playable"], true);
    // An error of the text is a reason, too.
    let request = json!({ "do": "playable", "text": "[link]\nrate = \"fast\"" });
    let (state, answer) = asked(&mut laboratory, &request);
    assert_eq!((state, &answer["playable"]), (State::Done, &json!(false)));
    assert_eq!(answer["reason"]["line"], 2);
}
