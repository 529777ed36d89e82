//! Random valid scenarios over everything that is registered: a test only.
//!
//! Each scenario is spelled from a tape of random words, so that a failure shrinks towards a plain
//! one and prints the text that replays it. Each runs to its end, counts every packet once and
//! reports only finite numbers, or is refused by name.

mod checks;

use std::fmt::Write as _;

use forebay_scenario::{FlowGroup, Format, Scenario};
use forebay_units::parameter::{Description, ParameterKind};
use proptest::prelude::*;

use checks::check;

/// Random words that choose; where they end the first choice is taken.
struct Tape<'a>(std::slice::Iter<'a, u16>);

impl Tape<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n
    }

    fn one<'b>(&mut self, choices: &[&'b str]) -> &'b str {
        choices[self.below(choices.len())]
    }

    /// One in `n` times, so that the plain case is common and where a failure shrinks to.
    fn rarely(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }
}

const TIMES: [&str; 5] = ["10ms", "1ms", "0s", "100ms", "1s"];

/// A value for a parameter, within what it may be.
fn value(tape: &mut Tape<'_>, kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Number { min, max } => {
            let middle = f64::midpoint(min, max);
            format!("{:?}", [middle, min, max][tape.below(3)])
        }
        ParameterKind::Time => format!("{:?}", tape.one(&TIMES)),
        ParameterKind::Bytes => format!("{:?}", tape.one(&["1500B", "0B", "100kB", "1B"])),
        ParameterKind::Rate => format!("{:?}", tape.one(&["1Mbps", "1bps", "100Gbps"])),
        ParameterKind::Threshold => {
            format!(
                "{:?}",
                tape.one(&["10p", "0p", "50%", "5ms", "3kB", "1000%"])
            )
        }
        ParameterKind::Switch => ["false", "true"][tape.below(2)].to_owned(),
        ParameterKind::Choice { words } => format!("{:?}", tape.one(words)),
    }
}

/// Any registered algorithm, now and then with a parameter changed.
fn algorithm(tape: &mut Tape<'_>, registry: &[&Description]) -> String {
    let chosen = registry[tape.below(registry.len())];
    let mut text = format!("{{ kind = \"{}\"", chosen.name);
    if !chosen.parameters.is_empty() && tape.rarely(3) {
        let parameter = chosen.parameters[tape.below(chosen.parameters.len())];
        let _ = write!(
            text,
            ", {} = {}",
            parameter.name,
            value(tape, parameter.kind)
        );
    }
    text + " }"
}

const ROUND_TRIPS: [&str; 8] = [
    "\"20ms\"",
    "{ linspace = [\"5ms\", \"80ms\"] }",
    "{ uniform = [\"10ms\", \"50ms\"] }",
    "\"100us\"",
    "{ exponential = \"30ms\" }",
    "{ lognormal = { median = \"30ms\", sigma = 1.0 } }",
    "{ choice = [\"5ms\", \"7ms\"] }",
    "{ value = \"20ms\", jitter = \"5ms\" }",
];

const SIZES: [&str; 9] = [
    "\"20p\"",
    "\"1p\"",
    "\"1B\"",
    "\"0B\"",
    "{ exponential = \"30p\" }",
    "{ pareto = { shape = 1.2, mean = \"20p\" } }",
    "{ lognormal = { median = \"10kB\", sigma = 2.0 } }",
    "{ cdf = [[\"1kB\", 0.0], [\"10kB\", 0.9], [\"1MB\", 1.0]] }",
    "{ mixture = [{ weight = 0.3, value = \"3p\" }, { weight = 0.7, exponential = \"9kB\" }] }",
];

fn workload(tape: &mut Tape<'_>) -> String {
    let size = tape.one(&SIZES);
    let rate = tape.one(&["1Mbps", "9Mbps", "20Mbps", "1kbps"]);
    let period = |tape: &mut Tape<'_>| {
        tape.one(&[
            "{ exponential = \"50ms\" }",
            "\"10ms\"",
            "{ pareto = { shape = 1.5, mean = \"20ms\" } }",
        ])
    };
    match tape.below(12) {
        8 => {
            let pause = tape.one(&["{ exponential = \"100ms\" }", "\"10ms\"", "\"0s\""]);
            let delay = tape.one(&["{ exponential = \"1ms\" }", "\"0s\""]);
            let servers = 1 + tape.below(20);
            format!(
                "{{ incast = {{ servers = {servers}, pause = {pause}, delay = {delay}, size = {size} }} }}"
            )
        }
        9 => format!("{{ app_limited = {{ rate = \"{rate}\" }} }}"),
        10 => "\"voip\"".to_owned(),
        11 => {
            let every = period(tape);
            format!("{{ periodic = {{ every = {every}, size = {size} }} }}")
        }
        0 => "\"persistent\"".to_owned(),
        1 => format!("{{ finite = {{ size = {size} }} }}"),
        2 => {
            let think = tape.one(&["{ exponential = \"100ms\" }", "\"10ms\"", "\"1s\""]);
            let users = 1 + tape.below(20);
            format!("{{ closed_loop = {{ users = {users}, think = {think}, size = {size} }} }}")
        }
        3 => {
            let load = tape.one(&["0.5", "1.2", "0.01"]);
            // Transfers of no bytes at all still take a packet each.
            format!("{{ open_loop = {{ load = {load}, size = {size} }} }}")
        }
        4 => {
            let gap = tape.one(&["{ exponential = \"20ms\" }", "\"7ms\""]);
            format!("{{ open_loop = {{ interarrival = {gap}, size = {size} }} }}")
        }
        5 => format!("{{ poisson = {{ rate = \"{rate}\" }} }}"),
        6 => format!("{{ cbr = {{ rate = \"{rate}\" }} }}"),
        _ => {
            let (on, off) = (period(tape), period(tape));
            format!("{{ on_off = {{ peak = \"{rate}\", on = {on}, off = {off} }} }}")
        }
    }
}

/// Keys of the stack, a few of them now and then.
fn stack(tape: &mut Tape<'_>) -> String {
    let mut text = format!("stack = \"{}\"\n", tape.one(&["rfc", "ns2", "linux"]));
    let keys: [(&str, &[&str]); 21] = [
        (
            "recovery",
            &["\"sack\"", "\"newreno\"", "\"rack\"", "\"fack\""],
        ),
        ("timeout_cut", &["\"first\"", "\"every\""]),
        ("initial_rto", &["\"1s\"", "\"3s\"", "\"1us\""]),
        ("partial_ack_timer", &["\"first\"", "\"every\""]),
        ("min_rto", &["\"200ms\"", "\"1us\"", "\"60s\""]),
        ("clock", &["\"10ms\"", "\"0s\"", "\"1s\""]),
        (
            "delayed_ack",
            &[
                "{ packets = 2, timeout = \"40ms\" }",
                "{ packets = 1000, timeout = \"1s\" }",
                "{ packets = 3, timeout = \"0s\" }",
                "{ packets = 2, push = true, quick = 3, sack_delay = \"1ms\" }",
                "{ packets = 2, gro = \"100us\", sack_delay = \"1s\" }",
                "{ gro = \"1s\" }",
            ],
        ),
        ("initial_window", &["\"1p\"", "\"10p\"", "\"1000p\"", "1.5"]),
        ("initial_ssthresh", &["\"2p\"", "\"50p\""]),
        (
            "receive_window",
            &["\"20p\"", "\"1p\"", "\"1000000000p\"", "1.5"],
        ),
        ("header", &["\"40B\"", "\"0B\"", "\"499B\""]),
        ("timestamps", &["false", "true"]),
        ("handshake", &["false", "true"]),
        ("pacing", &["false", "true"]),
        ("offload", &["false", "true"]),
        ("offload_grows", &["false", "true"]),
        ("ecn", &["false", "true"]),
        ("frto", &["false", "true"]),
        ("processing", &["\"10us\"", "\"5ms\""]),
        ("slow_start_after_idle", &["true", "false"]),
        (
            "access",
            &[
                "{ rate = \"20Mbps\" }",
                "{ rate = \"2Mbps\", queue = \"5p\" }",
                "{ rate = \"5Mbps\", queue = \"0p\" }",
            ],
        ),
    ];
    for (key, values) in keys {
        if tape.rarely(4) {
            let _ = writeln!(text, "{key} = {}", tape.one(values));
        }
    }
    text
}

fn group(tape: &mut Tape<'_>, number: usize, paths: &[&str]) -> String {
    let workload = workload(tape);
    let unresponsive = ["poisson", "cbr", "on_off"]
        .iter()
        .any(|kind| workload.contains(kind));
    let mut text = format!("[[flows]]\nname = \"g{number}\"\nworkload = {workload}\n");
    if !workload.contains("users") && !workload.contains("open_loop") {
        let count = [1, 3, 40][tape.below(3)];
        let _ = writeln!(text, "count = {count}");
    }
    let _ = writeln!(
        text,
        "cca = {}",
        algorithm(tape, forebay_congestion::descriptions())
    );
    let _ = writeln!(text, "rtt = {}", tape.one(&ROUND_TRIPS));
    let packets = [
        "\"1500B\"",
        "\"1000B\"",
        "{ choice = [\"600B\", \"1500B\"] }",
        "\"65535B\"",
    ];
    let _ = writeln!(text, "packet = {}", tape.one(&packets));
    text += &stack(tape);
    let starts = [
        "{ uniform = [\"0s\", \"500ms\"] }",
        "\"0s\"",
        "\"1s\"",
        "\"100s\"",
    ];
    let _ = writeln!(text, "start = {}", tape.one(&starts));
    if tape.rarely(4) {
        let _ = writeln!(
            text,
            "stop = {}",
            tape.one(&["\"1s\"", "\"0s\"", "\"1500ms\""])
        );
    }
    if !paths.is_empty() {
        let _ = writeln!(text, "path = {}", tape.one(paths));
        if tape.rarely(3) && !unresponsive {
            let _ = writeln!(text, "reverse = {}", tape.one(paths));
        }
    }
    text
}

/// Any discipline; classes with any in them, with and without buffers of their own.
fn queue(tape: &mut Tape<'_>) -> String {
    let chosen = algorithm(tape, forebay_discipline::descriptions());
    if !chosen.contains("\"classes\"") {
        return chosen;
    }
    let all = forebay_discipline::descriptions().iter().copied();
    let inner: Vec<_> = all
        .filter(|description| description.name != "classes")
        .collect();
    let mut class = |name: &str, more: &str| {
        let queue = algorithm(tape, &inner);
        let buffer = tape.one(&[
            "",
            ", buffer = \"10p\"",
            ", buffer = \"0p\"",
            ", buffer = \"3ms\"",
        ]);
        let weight = tape.one(&["", ", weight = 7", ", priority = true"]);
        format!("{{ name = \"{name}\"{more}{buffer}{weight}, queue = {queue} }}")
    };
    let first = class("first", ", groups = [\"g0\"]");
    let rest = class("rest", "");
    let open = chosen.trim_end_matches([' ', '}']);
    format!("{open}, classes = [{first}, {rest}] }}")
}

fn link(tape: &mut Tape<'_>, shared: bool) -> String {
    let rates = ["10Mbps", "9999991bps", "1Mbps", "30Mbps"];
    let buffers = ["50p", "0p", "1p", "30kB", "0B", "5ms", "1000000000000p"];
    let queue = queue(tape);
    let mut text = format!(
        "rate = \"{}\"\nbuffer = \"{}\"\nqueue = {queue}\n",
        tape.one(&rates),
        tape.one(&buffers)
    );
    if shared && tape.rarely(2) {
        text += "memory = \"chip\"\n";
    }
    if tape.rarely(4) {
        let _ = writeln!(text, "rate_layer = \"{}\"", tape.one(&["l1", "l2"]));
    }
    text
}

/// One link, or two in a row with traffic over either or both (a parking lot).
fn scenario_text(words: &[u16]) -> String {
    let mut tape = Tape(words.iter());
    let mut text = String::new();
    let mut paths: &[&str] = &[];
    let shared = tape.rarely(4);
    if shared {
        let size = tape.one(&["20p", "0p", "1p", "30kB"]);
        let _ = writeln!(text, "[[memories]]\nname = \"chip\"\nsize = \"{size}\"");
    }
    if tape.rarely(3) {
        paths = &["[\"a\", \"b\"]", "[\"b\"]", "[\"b\", \"a\"]"];
        let delay = tape.one(&["0s", "1ms"]);
        let _ = write!(
            text,
            "[[links]]\nname = \"a\"\ndelay = \"{delay}\"\n{}",
            link(&mut tape, shared)
        );
        let _ = write!(
            text,
            "[[links]]\nname = \"b\"\ntarget = true\n{}",
            link(&mut tape, shared)
        );
    } else {
        let _ = write!(text, "[link]\n{}", link(&mut tape, shared));
    }
    for number in 0..=tape.below(3) {
        text += &group(&mut tape, number, paths);
    }
    let warmup = tape.one(&["0s", "500ms", "2s"]);
    let _ = writeln!(
        text,
        "[run]\nwarmup = \"{warmup}\"\nmeasure = \"2s\"\nseed = {}",
        tape.below(100)
    );
    text
}

/// A scenario that a failure prints as it stands in a file.
#[derive(Clone)]
struct Text(String);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

fn any_scenario() -> impl Strategy<Value = Text> {
    prop::collection::vec(any::<u16>(), 0..160).prop_map(|words| Text(scenario_text(&words)))
}

/// 500 of them, or as many as `PROPTEST_CASES` says.
fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig::with_cases(asked.and_then(|count| count.parse().ok()).unwrap_or(500))
}

/// Values that no key of a scenario may fall over.
const HOSTILE: [&str; 26] = [
    "0",
    "-1",
    "1e300",
    "-1e300",
    "1e-300",
    "nan",
    "inf",
    "18446744073709551615",
    "\"\"",
    "\"0\"",
    "\"0s\"",
    "\"1ps\"",
    "\"1e300s\"",
    "\"-1s\"",
    "\"0bps\"",
    "\"1e300bps\"",
    "\"0p\"",
    "\"1e300p\"",
    "\"NaNp\"",
    "\"1e300BDP\"",
    "\"0B\"",
    "\"1e300B\"",
    "[]",
    "{}",
    "true",
    "16777214",
];

/// A scenario of which one value is replaced by a hostile one.
fn hostile_scenario() -> impl Strategy<Value = Text> {
    let words = prop::collection::vec(any::<u16>(), 0..160);
    (
        words,
        any::<prop::sample::Index>(),
        prop::sample::select(&HOSTILE[..]),
    )
        .prop_map(|(words, at, value)| {
            let text = scenario_text(&words);
            let lines: Vec<&str> = text.lines().collect();
            let keyed: Vec<usize> = (0..lines.len())
                .filter(|&k| lines[k].contains(" = "))
                .collect();
            let chosen = keyed[at.index(keyed.len())];
            let changed = lines
                .iter()
                .enumerate()
                .map(|(k, line)| match line.split_once(" = ") {
                    Some((key, _)) if k == chosen => format!("{key} = {value}\n"),
                    _ => format!("{line}\n"),
                });
            Text(changed.collect())
        })
}

/// Whether it is small enough to run here: what is larger is only set up.
fn small(scenario: &Scenario) -> bool {
    let rate: f64 = scenario
        .links()
        .iter()
        .map(|l| l.rate.as_bytes_per_second())
        .sum();
    let run = scenario.run();
    let flows: u64 = scenario.flows().iter().map(|group| group.count).sum();
    let offered: f64 = scenario
        .flows()
        .iter()
        .filter_map(FlowGroup::unresponsive_rate)
        .sum();
    let seconds = (run.warmup + run.measure).as_secs_f64();
    let smallest = scenario
        .flows()
        .iter()
        .map(|g| g.packet.infimum())
        .fold(f64::INFINITY, f64::min);
    flows < 10_000 && (rate + offered / 8.0) * seconds / smallest < 1e5
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_scenario_runs_or_is_refused_by_name(text in any_scenario()) {
        check(&text.0);
    }

    #[test]
    fn hostile_values_are_refused_or_survived(text in hostile_scenario()) {
        match Scenario::parse(&text.0, Format::Toml, "hostile", &[]) {
            Ok(scenario) if small(&scenario) => check(&text.0),
            Ok(_) => {}
            Err(error) => prop_assert!(!error.mistake.allowed().is_empty()),
        }
    }
}
