//! Laws of lossless queues over random networks: no loss with enough headroom, pauses that end, and
//! reports that do not depend on an observer. The engine itself checks at the end of each run that
//! the counts of a lossless queue agree with what waits in it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use forebay_attack::Tape;
use forebay_packet::{PacketEngine, Stepwise};
use forebay_scenario::{
    BufferLimit, Cost, Engine, Estimate, FlowGroup, Format, Metric, Pfc, Report, RunOptions,
    Scenario, Seed, Warning, WarningKind, Workload,
};
use forebay_units::Time;
use proptest::prelude::*;

/// Largest packet of the scenarios in bytes.
const LARGEST: f64 = 1500.0;

/// Smallest packet of the scenarios in bytes: an acknowledgment.
const SMALLEST: f64 = 40.0;

/// A scenario that a failure prints in the form of a file.
#[derive(Clone)]
struct Text(String);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.0)
    }
}

/// The traffic of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    /// Any, over any links.
    Any,
    /// Transfers over links without a circle, with enough headroom.
    Finite,
}

/// Priority flow control.
fn pfc(tape: &mut Tape<'_>, traffic: Traffic) -> String {
    let xoff = [30_000, 3_000, 1_500, 1_499, 0, 100_000][tape.below(6)];
    let xon = [xoff / 2, xoff, 0][tape.below(3)];
    let headroom = match traffic {
        Traffic::Any => tape.one(&["1MB", "1MB", "3kB", "0B"]),
        Traffic::Finite => "1MB",
    };
    let more = tape.one(&[
        "",
        ", cable = \"300m\"",
        ", response = \"3us\"",
        ", cable = \"2km\", response = \"1us\"",
    ]);
    format!("pfc = {{ xoff = \"{xoff}B\", xon = \"{xon}B\", headroom = \"{headroom}\"{more} }}")
}

/// Classes of a link, of which some are lossless: the first one has these groups.
fn classes(tape: &mut Tape<'_>, groups: &str, traffic: Traffic) -> String {
    let mut keys = || {
        let mut keys = String::new();
        if traffic == Traffic::Any {
            keys += tape.one(&[
                "",
                "",
                ", queue = { kind = \"step\", threshold = \"10kB\" }",
                ", queue = \"fq_codel\"",
                ", buffer = \"100MB\"",
                ", weight = 3",
                ", buffer = \"9p\"",
            ]);
        }
        if traffic == Traffic::Finite || tape.below(3) > 0 {
            keys = format!("{keys}, {}", pfc(tape, traffic));
        }
        keys
    };
    let (first, rest) = (keys(), keys());
    let schedule = tape.one(&["strict", "wrr", "dwrr"]);
    format!(
        "{{ kind = \"classes\", schedule = \"{schedule}\", classes = [{{ name = \"a\", groups = [{groups}]{first} }}, {{ name = \"b\"{rest} }}] }}"
    )
}

/// The rest of a link's table. `groups` are those of the first class, if it has classes.
fn link(tape: &mut Tape<'_>, groups: Option<&str>, traffic: Traffic) -> String {
    let rate = match tape.below(8) {
        0..5 => format!(
            "\"{}\"",
            tape.one(&["1Gbps", "10Gbps", "999999991bps", "3Gbps"])
        ),
        5 => "{ steps = [[\"0s\", \"2Gbps\"], [\"300us\", \"100Mbps\"]], repeat = \"700us\" }".into(),
        6 => "{ steps = [[\"0s\", \"1Gbps\"], [\"200us\", \"0bps\"], [\"300us\", \"10Gbps\"]] }".into(),
        _ => "{ markov = [{ rate = \"1Gbps\", mean_time = \"50us\" }, { rate = \"0bps\", mean_time = \"20us\" }] }".to_owned(),
    };
    let mut queue = tape.one(&[
        "\"droptail\"",
        "\"droptail\"",
        "\"droptail\"",
        "{ kind = \"step\", threshold = \"10kB\" }",
        "{ kind = \"red\", min = \"5kB\", max = \"50kB\" }",
        "{ kind = \"codel\", target = \"20us\", interval = \"200us\" }",
        "\"fq_codel\"",
        "\"drr\"",
        "\"drophead\"",
    ]);
    let mut buffer = tape.one(&["100MB", "100MB", "100MB", "100MB", "20p", "0p"]);
    if traffic == Traffic::Finite {
        (queue, buffer) = ("\"droptail\"", "100MB");
    }
    let queue = match groups {
        Some(groups) => classes(tape, groups, traffic),
        None => queue.to_owned(),
    };
    let delay = tape.one(&["0s", "1us", "7us"]);
    let mut text =
        format!("rate = {rate}\nqueue = {queue}\nbuffer = \"{buffer}\"\ndelay = \"{delay}\"\n");
    if groups.is_none() && tape.below(3) > 0 {
        text = text + &pfc(tape, traffic) + "\n";
    }
    text
}

/// The path of a group over `links` links: some in a row, of a circle if `circle`.
fn path(tape: &mut Tape<'_>, links: usize, circle: bool) -> Vec<usize> {
    let first = if circle {
        tape.below(links)
    } else {
        tape.below(links.div_ceil(2))
    };
    let most = if circle { links } else { links - first };
    let hops = 1 + tape.below(most);
    (first..first + hops).map(|at| at % links).collect()
}

fn group(
    tape: &mut Tape<'_>,
    (number, own): (usize, Vec<usize>),
    (links, circle): (usize, bool),
    traffic: Traffic,
) -> String {
    let list = |path: Vec<usize>| {
        let names: Vec<_> = path.iter().map(|at| format!("\"l{at}\"")).collect();
        names.join(", ")
    };
    let mut text = format!("[[flows]]\nname = \"g{number}\"\npath = [{}]\n", list(own));
    let size = tape.one(&[
        "\"60kB\"",
        "\"300kB\"",
        "{ exponential = \"20kB\" }",
        "\"1B\"",
    ]);
    let rtt = tape.one(&["50us", "150us", "36us"]);
    let kind = match traffic {
        Traffic::Any => tape.below(7),
        Traffic::Finite => 0,
    };
    let workload = match kind {
        0 | 1 => format!("{{ finite = {{ size = {size} }} }}"),
        2 => "\"persistent\"".to_owned(),
        3 => format!("{{ closed_loop = {{ users = 3, think = \"50us\", size = {size} }} }}"),
        4 => format!(
            "{{ open_loop = {{ interarrival = {{ exponential = \"200us\" }}, size = {size} }} }}"
        ),
        5 => format!("{{ incast = {{ servers = 6, pause = \"100us\", size = {size} }} }}"),
        _ => "{ cbr = { rate = \"200Mbps\" } }".to_owned(),
    };
    let counts = ["4", "1", "9"];
    if workload.contains("finite") || workload.contains("persistent") {
        let _ = writeln!(text, "count = {}", tape.one(&counts));
    }
    let _ = writeln!(text, "workload = {workload}");
    let packet = tape.one(&[
        "\"1500B\"",
        "\"1500B\"",
        "{ choice = [\"1500B\", \"200B\"] }",
    ]);
    let _ = writeln!(text, "packet = {packet}");
    if workload.contains("cbr") {
        return text;
    }
    let _ = writeln!(
        text,
        "rtt = \"{rtt}\"\nmin_rto = \"{}\"",
        match traffic {
            Traffic::Any => tape.one(&["200ms", "1ms"]),
            Traffic::Finite => "1s",
        }
    );
    let cca = tape.one(&[
        "\"newreno\"",
        "\"cubic\"",
        "\"dctcp\"",
        "\"bbr\"",
        "{ kind = \"aimd\", increase = 20 }",
    ]);
    let _ = writeln!(text, "cca = {cca}");
    let mut access = tape.one(&[
        "",
        "access = { rate = \"10Gbps\" }\n",
        "access = { rate = \"1Gbps\", queue = \"1p\" }\n",
        "access = { rate = \"2500000001bps\", queue = \"0p\" }\n",
        "access = { rate = \"10Gbps\", queue = \"7p\" }\n",
    ]);
    if traffic == Traffic::Finite && access.contains("queue") {
        access = "access = { rate = \"1Gbps\" }\n";
    }
    text += access;
    let window = tape.one(&["200p", "40p", "10p"]);
    let _ = writeln!(text, "initial_window = \"{window}\"");
    text += &tape.some_of(
        &[
            ("ecn", &["true"]),
            ("pacing", &["true"]),
            ("handshake", &["true"]),
            ("receive_window", &["\"100p\"", "\"1000p\""]),
            ("delayed_ack", &["{ packets = 2, timeout = \"100us\" }"]),
            ("start", &["\"150us\"", "{ uniform = [\"0s\", \"1ms\"] }"]),
        ],
        3,
    );
    if tape.rarely(5) && workload.contains("persistent") {
        text += "stop = \"1100us\"\n";
    }
    if tape.rarely(6) && traffic == Traffic::Any {
        let _ = writeln!(text, "reverse = [{}]", list(path(tape, links, circle)));
    }
    text
}

/// The counters of a switch in a memory.
const INGRESS: &str = "pfc_counters = \"ingress\"";

/// A network of some links, in a row or in a circle, with some groups.
fn network(words: &[u16], traffic: Traffic) -> String {
    let mut tape = Tape::new(words);
    let links = 1 + tape.below(5);
    let circle = tape.rarely(2) && traffic == Traffic::Any;
    let exact = tape.rarely(2);
    let mut text = String::new();
    let shares = tape.rarely(5) && traffic == Traffic::Any;
    if shares {
        let size = tape.one(&["50kB", "0B", "1MB"]);
        // One of the links may not be lossless: the reader refuses some of these.
        let keys = tape.one(&[
            "",
            "",
            "cell = \"208B\"",
            "headroom = \"20kB\"",
            "headroom = \"20kB\"\ncell = \"192B\"",
            "threshold = \"lqd\"",
            "threshold = \"lqd\"\ncell = \"192B\"",
            "threshold = \"abm\"",
            "threshold = \"fab\"\nshort_alpha = 4\nshort_flow = \"9kB\"\nshort_idle = \"50us\"",
            INGRESS,
            "headroom = \"20kB\"\npfc_counters = \"ingress\"",
        ]);
        let _ = writeln!(
            text,
            "[[memories]]\nname = \"chip\"\nsize = \"{size}\"\n{keys}"
        );
    }
    let paths: Vec<_> = (0..=1 + tape.below(4))
        .map(|_| path(&mut tape, links, circle))
        .collect();
    // All links have classes for the same groups, or few of them have.
    let apart = tape.one(&["\"g0\"", "\"g0\", \"g1\"", "\"g1\""]);
    let with_classes = [0, 0, 1, 9][tape.below(4)];
    let target = paths[0][tape.below(paths[0].len())];
    for at in 0..links {
        let _ = write!(text, "[[links]]\nname = \"l{at}\"\n{}", {
            let classes = tape.below(10) < with_classes || with_classes == 9;
            link(&mut tape, classes.then_some(apart), traffic)
        });
        if at == target {
            text += "target = true\n";
        }
        if shares && tape.rarely(2) {
            text += "memory = \"chip\"\n";
            text += tape.one(&["", "", "memory_alpha = 0.5\n", "memory_alpha = 2\n"]);
            let own = text.rfind("[[links]]").expect("the table of the link");
            if tape.rarely(2) {
                let with = text[own..].replace(", headroom = ", ", alpha = 0.7, headroom = ");
                text.replace_range(own.., &with);
            }
        }
    }
    for own in paths.into_iter().enumerate() {
        text += &group(&mut tape, own, (links, circle), traffic);
        if exact && !text.ends_with("\"1500B\"\n") {
            text += "processing = \"0s\"\n";
        }
    }
    let (warmup, measure) = match traffic {
        Traffic::Any => (
            tape.one(&["0s", "400us", "333333ns"]),
            tape.one(&["3ms", "10ms", "1us", "60ms"]),
        ),
        Traffic::Finite => ("0s", "3s"),
    };
    let seed = tape.below(100);
    let _ = write!(
        text,
        "[run]\nwarmup = \"{warmup}\"\nmeasure = \"{measure}\"\nseed = {seed}\n\
         [trace]\nrecord = [\"cwnd\", \"queue\", \"utilization\", \"packets\"]\nevery = \"97us\"\n"
    );
    if text.contains(INGRESS) {
        same_pfc(&text)
    } else {
        text
    }
}

/// Gives all lossless queues the keys of the first one.
fn same_pfc(text: &str) -> String {
    let mut parts = text.split("pfc = {");
    let mut same = parts.next().unwrap_or_default().to_owned();
    let mut first = None;
    for part in parts {
        let (keys, rest) = part.split_once('}').expect("a table in a line");
        let keys = *first.get_or_insert(keys);
        let _ = write!(same, "pfc = {{{keys}}}{rest}");
    }
    same
}

fn parsed(text: &str) -> Option<Scenario> {
    Scenario::parse(text, Format::Toml, "laws", &[]).ok()
}

fn options(scenario: &Scenario) -> RunOptions {
    RunOptions::from(Seed {
        seed: scenario.run().seed,
        replication: 0,
    })
}

/// A report without what depends on how a run was done.
fn figures(mut report: Report) -> Report {
    report.cost = Cost::default();
    report.traces = None;
    report
}

/// The report of a run in steps that an observer looks at.
fn in_steps(scenario: &Scenario, words: &[u16]) -> Report {
    let mut tape = Tape::new(words);
    let mut run = Stepwise::begin(scenario, options(scenario)).expect("it ran before");
    run.draw(100, 4);
    run.watch(1000);
    run.follow((0, 0), 100);
    while run.now() < run.end() {
        let step = [1_000_000, 77_777_777, 1, 1_000_000_007][tape.below(4)];
        let until = run.now().saturating_add(Time::from_picos(step * 40));
        run.advance(until, 5000).expect("it ran before");
        run.packet_events();
        let _ = run.chart();
        for picture in run.links() {
            assert!(picture.backlog_s >= 0.0 && (0.0..=1.0 + 1e-9).contains(&picture.utilization));
        }
    }
    run.finish().expect("a report")
}

/// The lossless queues of a link, each with its flow groups.
fn lossless_queues(scenario: &Scenario, at: usize) -> Vec<(Pfc, Vec<&FlowGroup>)> {
    let link = &scenario.links()[at];
    let classes = 0..link.classes.len().max(1);
    let queues = classes.filter_map(|class| {
        let joins = |group: &&FlowGroup| link.class_of(&group.name).unwrap_or_default() == class;
        let pfc = match link.classes.get(class) {
            Some(class) => class.pfc,
            None => link.pfc,
        };
        Some((pfc?, scenario.flows().iter().filter(joins).collect()))
    });
    queues.collect()
}

/// The most bytes of one sender above `xoff` in a lossless queue: see the reference of switches. A
/// packet of the smallest size may occupy a whole cell.
fn most_headroom(scenario: &Scenario, at: usize, (pfc, groups): &(Pfc, Vec<&FlowGroup>)) -> f64 {
    let links = scenario.links();
    let seconds = |time: Time| time.as_secs_f64();
    let after_pause = |rate: f64, delay: f64| {
        let cable = pfc.cable_delay().map_or(delay, seconds);
        (cable + cable.max(delay) + seconds(pfc.response)) * rate + 2.0 * LARGEST + 1.0
    };
    let mut most: f64 = 0.0;
    for group in groups {
        if group.path[0] == at {
            let own = group.access.as_ref().map(|access| access.rate);
            let rate = own.unwrap_or(links[at].rate);
            most = most.max(after_pause(rate.as_bytes_per_second(), 0.0));
        }
        for path in [&group.path, &group.reverse] {
            for pair in path.windows(2).filter(|pair| pair[1] == at) {
                let before = &links[pair[0]];
                let rate = before.highest_rate().as_bytes_per_second();
                most = most.max(after_pause(rate, seconds(before.delay)));
            }
        }
    }
    let memory = links[at].memory.map(|number| &scenario.memories()[number]);
    let cell = memory.and_then(|memory| memory.cell);
    most * cell.map_or(1.0, |cell| (cell.get() as f64 / SMALLEST).max(1.0))
}

fn check_laws(text: &str, words: &[u16]) {
    let Some(scenario) = parsed(text) else {
        return;
    };
    let run = |options: &RunOptions| PacketEngine.run(&scenario, options);
    let Ok(report) = run(&options(&scenario)) else {
        return;
    };
    let report = figures(report);
    assert_eq!(report, figures(run(&options(&scenario)).expect("again")));
    let traced = RunOptions {
        traces: true,
        ..options(&scenario)
    };
    assert_eq!(report, figures(run(&traced).expect("traced")), "traced");
    assert_eq!(report, figures(in_steps(&scenario, words)), "in steps");
    let mut pauses = 0.0;
    for (at, link) in scenario.links().iter().enumerate() {
        let other = report.links.iter().find(|other| other.name == link.name);
        let metrics = other.map_or(&report.metrics, |other| &other.metrics);
        let value = |metric| metrics.get(&metric).map(|it| it.mean);
        let Some(used) = value(Metric::HeadroomMax) else {
            assert!(!link.is_lossless());
            continue;
        };
        pauses += value(Metric::PauseFrames).expect("a count");
        let queues = lossless_queues(&scenario, at);
        let most = queues.iter().map(|queue| {
            let most = most_headroom(&scenario, at, queue);
            most.min(queue.0.headroom.get() as f64)
        });
        let most = most.fold(0.0, f64::max);
        assert!(used <= most, "{}: {used} of {most}", link.name);
        let spread = value(Metric::Spread).expect("a number of hops");
        let frames = value(Metric::PauseFrames).expect("a count");
        assert!(spread > 0.0 || frames == 0.0, "{}: {frames}", link.name);
        assert!(spread <= scenario.links().len() as f64 * 2.0, "{spread}");
        let measured = scenario.run().measure.as_secs_f64() + 1e-12;
        assert!(value(Metric::PauseTime).expect("a time") <= measured);
        let fits = |limit: &BufferLimit| matches!(limit, BufferLimit::Bytes(size) if size.get() == 100_000_000);
        let is_large = |name: &str, limit: &BufferLimit| name == "droptail" && fits(limit);
        let holds_all = link.memory.is_none()
            && if link.classes.is_empty() {
                is_large(link.discipline.name(), &link.buffer)
            } else {
                link.classes.iter().all(|class| {
                    let buffer = class.buffer.as_ref().unwrap_or(&link.buffer);
                    class.pfc.is_none() || is_large(class.discipline.name(), buffer)
                }) && fits(&link.buffer)
            };
        let suffices = queues
            .iter()
            .all(|queue| most_headroom(&scenario, at, queue) <= queue.0.headroom.get() as f64);
        if holds_all && suffices {
            let lost =
                |it: &&Warning| it.kind == WarningKind::LosslessDrops && it.subject == link.name;
            let lost = report.warnings.iter().find(lost);
            assert!(lost.is_none(), "{lost:?}");
            let lost = value(Metric::LossRate).filter(|_| link.classes.is_empty());
            assert!(
                lost.is_none_or(|lost| lost == 0.0),
                "{}: {lost:?}",
                link.name
            );
        }
    }
    let is_deadlocked = report
        .warnings
        .iter()
        .any(|warning| warning.kind == WarningKind::Deadlock);
    if pauses == 0.0 && scenario.run().warmup == Time::ZERO {
        assert!(!is_deadlocked);
    }
    check_victims(&scenario, &report);
    check_calm(text, &scenario, &report);
}

/// Only a flow that a queue other than its own may pause can be a victim: it crosses a link before
/// a lossless queue that it does not cross, or a lossless queue that such a link may pause in turn.
fn check_victims(scenario: &Scenario, report: &Report) {
    let total = report.metrics.get(&Metric::Victims).map(|it| it.mean);
    let counts = report.groups.iter();
    let counts = counts.map(|group| group.metrics.get(&Metric::Victims).map(|it| it.mean));
    assert_eq!(total.unwrap_or(0.0), counts.clone().flatten().sum::<f64>());
    let lossless = |at: &usize| scenario.links()[*at].is_lossless();
    let all = (0..scenario.links().len()).filter(lossless).count();
    for (group, count) in scenario.flows().iter().zip(counts) {
        let own = group.path.iter().filter(|at| lossless(at)).count();
        if own == all && scenario.links().iter().all(|link| link.classes.is_empty()) {
            assert!(
                count.is_none_or(|count| count == 0.0),
                "{}: {count:?}",
                group.name
            );
        }
        let many = matches!(group.workload, Workload::OpenLoop { .. });
        assert!(many || count.is_none_or(|count| count <= group.count as f64));
    }
}

/// Everything completes that is to be sent, whatever pauses it.
fn check_completion(text: &str) {
    let scenario = parsed(text).expect("a scenario");
    let outcome = PacketEngine.run(&scenario, &options(&scenario));
    if let Err(refusal) = &outcome
        && refusal.to_string().contains("would stop the group")
    {
        return;
    }
    let report = outcome.expect("a report");
    for (group, spec) in report.groups.iter().zip(scenario.flows()) {
        let completed = group.completions.as_ref().map(|it| it.completed);
        assert_eq!(completed, Some(spec.count), "{}", group.name);
        let timeouts = group.metrics[&Metric::Timeouts].mean;
        assert_eq!(timeouts, 0.0, "{}", group.name);
    }
    for link in &report.links {
        let lost = link.metrics.get(&Metric::LossRate);
        assert!(lost.is_none_or(|lost| lost.mean == 0.0), "{}", link.name);
    }
}

/// Without waiting bytes above `xoff` a run has the figures of the same network without `pfc`. Its
/// hosts must be exact: the variation of their answers is that of a link that no queue may pause.
/// Those at a lossless queue must have access links, which they get otherwise.
fn check_calm(text: &str, scenario: &Scenario, report: &Report) {
    let links = scenario.links();
    let is_calm = |metrics: &BTreeMap<Metric, Estimate>| {
        let used = metrics.get(&Metric::HeadroomMax);
        used.is_none_or(|used| used.mean == 0.0)
    };
    let all_calm = report
        .links
        .iter()
        .map(|link| &link.metrics)
        .chain([&report.metrics])
        .all(is_calm);
    let has_headroom = (0..links.len())
        .flat_map(|at| lossless_queues(scenario, at))
        .all(|(pfc, _)| pfc.headroom.get() >= 1_000_000);
    let have_access = scenario
        .flows()
        .iter()
        .all(|group| group.access.is_some() || links[group.path[0]].pfc_of(&group.name).is_none());
    let is_exact = text.contains("processing") && text.contains("warmup = \"0s\"");
    // At the end of a transmission, a link without departure events needs no memory for an arrival.
    let shares = !scenario.memories().is_empty();
    if !(all_calm && has_headroom && have_access && is_exact) || shares {
        return;
    }
    let lines = text.lines().filter(|line| !line.starts_with("pfc"));
    let mut plain = lines.collect::<Vec<_>>().join("\n");
    while let Some(begin) = plain.find(", pfc = {") {
        let length = plain[begin..].find('}').expect("the end of a table");
        plain.replace_range(begin..=begin + length, "");
    }
    let plain = parsed(&plain).expect("a scenario");
    let plain = PacketEngine
        .run(&plain, &options(&plain))
        .expect("a report");
    let plain = without_pauses(figures(plain));
    assert_eq!(without_pauses(report.clone()), plain, "without `pfc`");
}

/// A report without what only a lossless queue has, and without the autocorrelation of the queue. A
/// link whose departures are events samples its backlog to the nearest picosecond of all that
/// waits, and not to the sum of rounded packets.
fn without_pauses(mut report: Report) -> Report {
    let links = report.links.iter_mut().map(|link| &mut link.metrics);
    for metrics in links.chain([&mut report.metrics]) {
        for metric in [
            Metric::PauseTime,
            Metric::PauseFrames,
            Metric::HeadroomMax,
            Metric::PausedTime,
            Metric::Spread,
            Metric::Victims,
            Metric::QueueAutocorrelation,
        ] {
            metrics.remove(&metric);
        }
    }
    report.scenario_sha256.clear();
    for group in &mut report.groups {
        group.metrics.remove(&Metric::Victims);
    }
    let of_pauses = [WarningKind::FewCongestionEvents, WarningKind::LosslessDrops];
    report
        .warnings
        .retain(|warning| !of_pauses.contains(&warning.kind));
    report
}

/// Random networks, and the words that they were made of.
fn texts(traffic: Traffic) -> impl Strategy<Value = (Text, Vec<u16>)> {
    prop::collection::vec(any::<u16>(), 0..160)
        .prop_map(move |words| (Text(network(&words, traffic)), words))
}

fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig::with_cases(asked.and_then(|count| count.parse().ok()).unwrap_or(150))
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn lossless_queues_keep_their_laws((text, words) in texts(Traffic::Any)) {
        check_laws(&text.0, &words);
    }

    #[test]
    fn transfers_complete_behind_lossless_queues((text, _) in texts(Traffic::Finite)) {
        check_completion(&text.0);
    }
}
