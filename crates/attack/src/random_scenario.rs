//! Random scenarios over all registered algorithms, written as in a file.
//!
//! Each is made from a tape of random words. A failure therefore shrinks towards a plain scenario
//! and prints the text that replays it.

use std::fmt::Write as _;

use forebay_units::parameter::{Description, ParameterKind};

use crate::Tape;
use crate::random_traffic::{Traffic, group};

/// The text of the scenario that these words define: one link, or two in a row with traffic over
/// one or both (a parking lot).
pub fn random_scenario(words: &[u16]) -> String {
    let mut tape = Tape::new(words);
    let traffic = [Traffic::Any, Traffic::Any, Traffic::Steady][tape.below(3)];
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
        text += &group(&mut tape, number, paths, traffic);
    }
    let warmup = tape.one(&["0s", "500ms", "2s"]);
    let measure = tape.one(&["2s", "2s", "2s", "100ms", "1us", "10s"]);
    let seed = tape.below(100);
    let _ = writeln!(
        text,
        "[run]\nwarmup = \"{warmup}\"\nmeasure = \"{measure}\"\nseed = {seed}"
    );
    if tape.rarely(3) {
        text += &fluid(&mut tape);
    }
    text
}

/// Hostile values for keys of a scenario.
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

/// A scenario's text with the value at `at` replaced by a hostile one.
pub fn hostile(text: &str, at: u16, value: u16) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let keyed: Vec<usize> = (0..lines.len())
        .filter(|&k| lines[k].contains(" = "))
        .collect();
    let chosen = keyed[usize::from(at) % keyed.len()];
    let value = HOSTILE[usize::from(value) % HOSTILE.len()];
    let changed = lines
        .iter()
        .enumerate()
        .map(|(k, line)| match line.split_once(" = ") {
            Some((key, _)) if k == chosen => format!("{key} = {value}\n"),
            _ => format!("{line}\n"),
        });
    changed.collect()
}

/// Any discipline. Classes contain any disciplines, with and without buffers of their own.
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
    let (rate, buffer) = (tape.one(&rates), tape.one(&buffers));
    let mut text = format!("buffer = \"{buffer}\"\nqueue = {queue}\n");
    if shared && tape.rarely(2) {
        text += "memory = \"chip\"\n";
    }
    if tape.rarely(6) {
        text += &pfc(tape);
    }
    if tape.rarely(2) {
        return text + &format!("rate = \"{rate}\"\n");
    }
    if tape.rarely(4) {
        let _ = writeln!(text, "rate_layer = \"{}\"", tape.one(&["l1", "l2"]));
    }
    if tape.rarely(6) {
        let distributions = [
            "random = \"1%\"",
            "random = \"0.01%\"",
            "random = 1.0",
            "gilbert_elliott = { to_bad = \"1%\", to_good = \"25%\" }",
            "random = \"5%\", gilbert_elliott = { to_bad = 0.5, to_good = 1.0, bad = \"30%\", good = \"2%\" }",
        ];
        let _ = writeln!(text, "loss = {{ {} }}", tape.one(&distributions));
    }
    if tape.rarely(6) {
        let more = tape.one(&[
            "",
            ", excess_burst = \"99999B\"",
            ", peak = \"20Mbps\", peak_burst = \"70kB\"",
            ", peak = \"9Mbps\", peak_burst = \"65535B\", yellow = \"drop\"",
        ]);
        let rate = tape.one(&["8999999bps", "2Mbps", "1kbps"]);
        let burst = tape.one(&["65535B", "200kB", "1000000000000000B"]);
        let _ = writeln!(
            text,
            "policer = {{ rate = \"{rate}\", burst = \"{burst}\"{more} }}"
        );
    }
    let shaped = tape.rarely(6);
    if shaped {
        let more = tape.one(&[
            "",
            ", peak = \"9Mbps\"",
            ", peak = \"40Mbps\", peak_burst = \"80kB\"",
            ", kind = \"htb\"",
            ", kind = \"htb\", peak = \"12Mbps\", peak_burst = \"1B\"",
        ]);
        let rate = tape.one(&["4Mbps", "8999999bps", "100kbps"]);
        let burst = tape.one(&["66kB", "200kB", "1000000000000000B"]);
        let _ = writeln!(
            text,
            "shaper = {{ rate = \"{rate}\", burst = \"{burst}\"{more} }}"
        );
    }
    let rate = if tape.rarely(6) {
        let rate = changing(tape);
        let sends_at_once = shaped && rate.contains("opportunities");
        if sends_at_once { steps(tape) } else { rate }
    } else {
        format!("\"{rate}\"")
    };
    if tape.rarely(8) && !rate.contains("opportunities") {
        let outages = [
            "[[\"40ms\", \"30ms\"]]",
            "[[\"0s\", \"1ps\"], [\"50ms\", \"1s\"]]",
            "{ between = { exponential = \"50ms\" }, lasting = \"3ms\" }",
            "{ times = [[\"40ms\", \"10ms\"], [\"50ms\", \"10ms\"]], flush = true }",
            "{ between = \"30ms\", lasting = { pareto = { mean = \"5ms\", shape = 1.5 } }, flush = true }",
        ];
        let known = if shaped { 3 } else { outages.len() };
        let _ = writeln!(text, "outages = {}", tape.one(&outages[..known]));
    }
    if tape.rarely(8) {
        let delays = [
            "{ steps = [[\"0s\", \"1ms\"], [\"30ms\", \"0s\"]], repeat = \"50ms\" }",
            "{ steps = [[\"0s\", \"0s\"], [\"40ms\", \"20ms\"], [\"41ms\", \"1ms\"]], in_order = true }",
            "{ steps = [[\"0s\", \"7ms\"], [\"1ms\", \"2ms\"]], repeat = \"2000000001ps\" }",
        ];
        let _ = writeln!(text, "delay = {}", tape.one(&delays));
    }
    let wire = ["rate_layer", "flush", "shaper"]
        .iter()
        .any(|word| text.contains(word));
    if tape.rarely(6) && !wire && !rate.contains("opportunities") {
        let changes = !rate.starts_with('"') || text.contains("outages");
        let media = &MEDIA[if changes { 3 } else { 0 }..];
        let _ = writeln!(text, "medium = {}", tape.one(media));
    }
    text + &format!("rate = {rate}\n")
}

/// Thresholds of a lossless queue, with and without headroom.
fn pfc(tape: &mut Tape<'_>) -> String {
    let thresholds = [
        ("20kB", "10kB"),
        ("0B", "0B"),
        ("3kB", "3kB"),
        ("1499B", "0B"),
        ("1000000000000B", "0B"),
    ];
    let (xoff, xon) = thresholds[tape.below(thresholds.len())];
    let headroom = tape.one(&["100kB", "0B", "3kB", "1000000000000B"]);
    let more = tape.one(&["", ", cable = \"40km\"", ", response = \"1ms\""]);
    format!("pfc = {{ xoff = \"{xoff}\", xon = \"{xon}\", headroom = \"{headroom}\"{more} }}\n")
}

/// A rate that changes.
fn changing(tape: &mut Tape<'_>) -> String {
    let kinds = [
        "{ opportunities = \"1\" }",
        "{ opportunities = \"0 0 3 40\" }",
        "{ opportunities = \"1 1 1 2 90\", as = \"rate\" }",
        "{ markov = [{ rate = \"10Mbps\", mean_time = \"40ms\" }, { rate = \"0bps\", mean_time = \"5ms\" }, { rate = \"1Mbps\", mean_time = \"1ms\" }] }",
    ];
    match tape.below(8) {
        kind if kind < kinds.len() => kinds[kind].to_owned(),
        _ => steps(tape),
    }
}

/// Media: the first three are for constant rates.
const MEDIA: [&str; 8] = [
    "\"wifi\"",
    "{ kind = \"wifi\", frames = 2, stations = 3, slow = \"1Mbps\" }",
    "{ kind = \"wifi\", stations = 40, cw_min = 3, cw_max = 7, air = \"1ms\" }",
    "\"cellular\"",
    "{ kind = \"cellular\", slot = \"500us\", block_error = \"50%\", repeats = 0, recovery = \"1s\" }",
    "{ kind = \"cellular\", slot = \"7ms\", block_error = 0, feedback = 1 }",
    "\"docsis\"",
    "{ kind = \"docsis\", map = \"7ms\", grant = 1 }",
];

/// A rate in a few steps, sometimes with an outage. The first step sends some packets in the
/// shortest run.
fn steps(tape: &mut Tape<'_>) -> String {
    let mut list = format!("[\"0s\", \"{}\"]", tape.one(&["10Mbps", "3333333bps"]));
    let mut at: u64 = 0;
    for _ in 0..tape.below(3) {
        at += [1, 999_999_937, 40_000_000, 700_000_000_000][tape.below(4)];
        let rate = tape.one(&["1Mbps", "0bps", "20Mbps", "9999991bps"]);
        let _ = write!(list, ", [\"{at}ps\", \"{rate}\"]");
    }
    if tape.rarely(2) || list.ends_with("\"0bps\"]") {
        at += [1_000_000_007, 300_000_000_000][tape.below(2)];
        let _ = write!(list, "], repeat = \"{at}ps\"");
        return format!("{{ steps = [{list} }}");
    }
    format!("{{ steps = [{list}] }}")
}

/// Options of the fluid engine, sometimes a few of them.
fn fluid(tape: &mut Tape<'_>) -> String {
    let text = "[fluid]\n".to_owned();
    let keys: [(&str, &[&str]); 6] = [
        (
            "law",
            &[
                "\"truncated_normal\"",
                "\"uniform\"",
                "\"fixed\"",
                "\"continuous\"",
                "\"empirical\"\nempirical = [1, 3, 1000]",
            ],
        ),
        (
            "victims",
            &["\"highest_rate\"", "\"random\"", "\"rate_proportional\""],
        ),
        ("window", &["\"whole_cycles\"", "\"fixed\""]),
        ("minimum_synchronization", &["0.3", "0.0", "1.0", "1e-9"]),
        ("tolerance", &["1e-4", "1e-9", "0.1"]),
        (
            "background",
            &[
                "\"constant\"",
                "{ redrawn = \"100ms\" }",
                "{ redrawn = \"1ms\" }",
            ],
        ),
    ];
    text + &tape.some_of(&keys, 3)
}

const TIMES: [&str; 5] = ["10ms", "1ms", "0s", "100ms", "1s"];

/// An allowed value for a parameter.
fn value(tape: &mut Tape<'_>, kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Number { min, max, .. } => {
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

/// Any registered algorithm, sometimes with a changed parameter.
pub(crate) fn algorithm(tape: &mut Tape<'_>, registry: &[&Description]) -> String {
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
