//! Prints a digest of the reports and traces of many short scenarios, every feature in turn: two
//! versions that print the same lines give the same results. Run it before and after a change
//! that must not change any, and compare.

use forebay_packet::PacketEngine;
use forebay_scenario::{Cost, Engine, Format, Override, Report, RunOptions, Scenario, Seed};

const LINK: &str = r#"
[link]
rate = "20Mbps"
buffer = "40p"
queue = "droptail"
[[flows]]
name = "bulk"
count = 6
rtt = "40ms"
packet = "1000B"
start = { uniform = ["0s", "1s"] }
[run]
warmup = "1s"
measure = "5s"
seed = 3
[trace]
record = ["cwnd", "queue", "utilization", "packets"]
every = "37ms"
"#;

const PATH: &str = r#"
[[links]]
name = "first"
rate = "30Mbps"
buffer = "20p"
queue = "droptail"
delay = "2ms"
[[links]]
name = "second"
rate = "20Mbps"
buffer = "30p"
queue = "droptail"
delay = "1ms"
target = true
[[links]]
name = "third"
rate = "25Mbps"
buffer = "30kB"
queue = "droptail"
delay = "4ms"
[[flows]]
name = "bulk"
count = 4
rtt = "40ms"
packet = "1000B"
path = ["first", "second", "third"]
start = { uniform = ["0s", "1s"] }
[[flows]]
name = "short"
count = 3
rtt = { linspace = ["10ms", "50ms"] }
packet = "1000B"
path = ["second"]
[[flows]]
name = "back"
count = 3
rtt = "25ms"
packet = "700B"
path = ["third", "first"]
[[flows]]
name = "cross"
packet = { choice = ["80B", "500B", "1500B"] }
path = ["second", "third"]
workload = { poisson = { rate = "5Mbps" } }
[run]
warmup = "1s"
measure = "5s"
seed = 5
[trace]
record = ["cwnd", "queue", "utilization", "packets"]
"#;

const BACKGROUND: &str = r#"
[[flows]]
name = "background"
count = 3
packet = { choice = ["80B", "500B", "1500B"] }
workload = { poisson = { rate = "8Mbps" } }
[[flows]]
name = "bursts"
packet = "700B"
workload = { on_off = { peak = "10Mbps", on = { exponential = "50ms" }, off = { exponential = "100ms" } } }
[[flows]]
name = "web"
rtt = { choice = ["10ms", "30ms"] }
packet = "1500B"
stack = "linux"
workload = { open_loop = { load = 0.2, size = { exponential = "20p" } } }
"#;

/// The changes that are run one alternative at a time, beside pairs of all of them with each
/// controller.
const CHANGES: &[&[&str]] = &[
    &[],
    &["recovery=\"newreno\""],
    &["recovery=\"sack\""],
    &["recovery=\"rack\""],
    &["recovery=\"newreno\"", "partial_ack_timer=\"every\""],
    &["stack=\"ns2\""],
    &["stack=\"linux\""],
    &["delayed_ack.packets=2"],
    &["recovery=\"newreno\"", "delayed_ack.packets=2"],
    &["ecn=true"],
    &["pacing=true"],
    &["access={ rate = \"25Mbps\", queue = \"10p\" }"],
    &["access={ rate = \"100Mbps\" }", "delayed_ack.packets=2"],
    &["rtt={ linspace = [\"5ms\", \"80ms\"] }"],
    &["rtt={ uniform = [\"8ms\", \"90ms\"] }", "count=40"],
    &["workload={ finite = { size = { exponential = \"300p\" } } }"],
    &[
        "workload={ closed_loop = { users = 9, think = { exponential = \"100ms\" }, size = { exponential = \"60p\" } } }",
        "rtt={ choice = [\"10ms\", \"35ms\", \"90ms\"] }",
    ],
    &[
        "workload={ closed_loop = { users = 9, think = { exponential = \"100ms\" }, size = { exponential = \"60p\" } } }",
        "rtt={ uniform = [\"10ms\", \"35ms\"] }",
        "stack=\"linux\"",
    ],
    &[
        "workload={ open_loop = { load = 0.7, size = { exponential = \"30p\" } } }",
        "count=1",
    ],
    &["stop={ uniform = [\"2s\", \"4s\"] }"],
    &["packet={ choice = [\"500B\", \"1000B\", \"1500B\"] }"],
    &["receive_window=20", "initial_window=10"],
];

/// Classes whose buffers are shared, or their own, or one of either.
const CLASSES: [&str; 3] = [
    r#"classes = [{ name = "bulk", groups = ["bulk"], weight = 3 }, { name = "rest" }]"#,
    r#"drop = "tail", classes = [{ name = "bulk", groups = ["bulk"], buffer = "20p", queue = "codel" }, { name = "rest", buffer = "9kB" }]"#,
    r#"classes = [{ name = "bulk", groups = ["bulk"], queue = "red" }, { name = "rest", priority = true, buffer = "5ms", queue = "fq_codel" }]"#,
];

const CONTROLLERS: &[&str] = &["newreno", "cubic", "bbr", "dctcp", "vegas", "hstcp", "aimd"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut all = Vec::new();
    for (name, text) in [("link", LINK), ("path", PATH)] {
        for (controller, changes) in CONTROLLERS
            .iter()
            .flat_map(|controller| CHANGES.iter().map(move |changes| (controller, changes)))
        {
            if name == "path" && changes.iter().any(|change| change.contains("load")) {
                continue;
            }
            let mut overrides = vec![format!("flows.bulk.cca={controller}")];
            overrides.extend(changes.iter().map(|change| format!("flows.bulk.{change}")));
            let users = overrides.iter().any(|change| change.contains("users"));
            let text = if users {
                without_count(text)
            } else {
                text.to_owned()
            };
            all.push((name, text, overrides));
        }
        let disciplines = forebay_discipline::descriptions().iter();
        // The disciplines that existed when the digest was first taken.
        let known = |name: &str| !["classes", "delay_limit"].contains(&name);
        for description in disciplines.filter(|description| known(description.name)) {
            for changes in CHANGES.iter().take(10) {
                let queue = format!("queue = \"{}\"", description.name);
                let text = text.replace("queue = \"droptail\"", &queue);
                let mut overrides = vec![format!("run.seed={}", changes.len())];
                overrides.extend(changes.iter().map(|change| format!("flows.bulk.{change}")));
                all.push((description.name, text.clone(), overrides.clone()));
                if name == "link" {
                    all.push((description.name, text + BACKGROUND, overrides));
                }
            }
        }
    }
    for buffer in ["0p", "1p", "7p", "23kB", "300p", "9kB", "0B"] {
        for rate in ["20Mbps", "19999999bps", "7777777bps"] {
            let overrides = vec![format!("link.buffer={buffer}"), format!("link.rate={rate}")];
            all.push(("buffer", LINK.to_owned(), overrides.clone()));
            all.push(("buffer", format!("{LINK}{BACKGROUND}"), overrides));
        }
    }
    for schedule in ["strict", "wrr", "dwrr"] {
        for classes in CLASSES {
            let queue =
                format!("queue = {{ kind = \"classes\", schedule = \"{schedule}\", {classes} }}");
            for (name, text) in [
                ("link", format!("{LINK}{BACKGROUND}")),
                ("path", PATH.to_owned()),
            ] {
                let text = text.replace("queue = \"droptail\"", &queue);
                for changes in CHANGES.iter().take(3) {
                    let overrides = changes.iter().map(|change| format!("flows.bulk.{change}"));
                    all.push((name, text.clone(), overrides.collect()));
                }
            }
        }
    }
    for (name, text, overrides) in &all {
        let changes: Vec<_> = overrides
            .iter()
            .map(|text| Override::parse(text))
            .collect::<Result<_, _>>()?;
        match Scenario::parse(text, Format::Toml, name, &changes) {
            Ok(scenario) => {
                for quiet in [false, true] {
                    print_line(name, &overrides.join(" "), &scenario, quiet);
                }
            }
            Err(error) => println!("{name} {overrides:?} refused: {error}"),
        }
    }
    // Scenario files, each with the changes behind it up to the next file.
    let args: Vec<String> = std::env::args().skip(1).collect();
    for run in args.split(|arg| arg == "--").filter(|run| !run.is_empty()) {
        let text = std::fs::read_to_string(&run[0])?;
        let changes: Vec<_> = run[1..]
            .iter()
            .map(|text| Override::parse(text))
            .collect::<Result<_, _>>()?;
        let scenario = Scenario::parse(&text, Format::Toml, &run[0], &changes)?;
        print_line(&run[0], &run[1..].join(" "), &scenario, true);
    }
    Ok(())
}

/// The first group's users are its count.
fn without_count(text: &str) -> String {
    let (before, rest) = text.split_once("count = ").unwrap_or((text, ""));
    let (_, after) = rest.split_once('\n').unwrap_or(("", ""));
    format!("{before}{after}")
}

/// Removes the fields of traces that captures of both directions need, which these runs do not ask
/// for. Digests of versions without these fields then compare.
fn without_directions(text: &str) -> String {
    let mut text = text.replace(", headers: [], acknowledgments: []", "");
    for selective in [true, false] {
        for window in ["None", "Some(20)"] {
            let group = format!(", selective: {selective}, receive_window: {window}");
            text = text.replace(&group, "");
        }
    }
    text
}

fn print_line(name: &str, overrides: &str, scenario: &Scenario, quiet: bool) {
    let seed = Seed {
        seed: scenario.run().seed,
        replication: 0,
    };
    let options = RunOptions {
        traces: !quiet,
        ..seed.into()
    };
    let report = PacketEngine.run(scenario, &options);
    let (packets, text) = match report {
        Ok(report) => {
            let packets = report.cost.data_packets;
            let report = Report {
                cost: Cost::default(),
                // Digests of all versions compare.
                version: "0.1.0".to_owned(),
                ..report
            };
            (packets, without_directions(&format!("{report:?}")))
        }
        Err(error) => (0, error.to_string()),
    };
    let digest = forebay_random::key_of(&text);
    println!("{digest:016x} {packets:9} {name} {overrides} {quiet}");
}
