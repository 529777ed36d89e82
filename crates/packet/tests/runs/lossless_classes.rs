//! Lossless and lossy classes at one port: what a pause of a class stops, and what it leaves alone.

use std::fmt::Write as _;

use forebay_packet::PacketEngine;
use forebay_scenario::{
    Engine, Format, LinkReport, Metric, Report, RunOptions, Scenario, WarningKind,
};

use super::{run, value};

const PFC: &str = "pfc = { xoff = \"30kB\", xon = \"15kB\", headroom = \"60kB\" }";

/// Classes of a link: storage of the group `storage` with these keys, and the rest with others.
fn classes(schedule: &str, storage: &str, rest: &str) -> String {
    format!(
        "queue = {{ kind = \"classes\", schedule = \"{schedule}\", classes = [\
         {{ name = \"storage\", groups = [\"storage\"], {storage} }}, {{ name = \"web\", {rest} }}] }}"
    )
}

fn group(name: &str, path: &str, keys: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\npath = [{path}]\nrtt = \"50us\"\npacket = \"1500B\"\n\
         access = {{ rate = \"10Gbps\" }}\nprocessing = \"0s\"\n{keys}\n"
    )
}

fn link(name: &str, rate: &str, keys: &str) -> String {
    let target = if name == "port" { "target = true" } else { "" };
    format!(
        "[[links]]\nname = \"{name}\"\nrate = \"{rate}\"\nbuffer = \"100MB\"\ndelay = \"1us\"\n{keys}\n{target}\n"
    )
}

const TRANSFER: &str = "count = 8\ninitial_window = \"400p\"\nmin_rto = \"200ms\"\n\
     workload = { finite = { size = \"600kB\" } }";
const BULK: &str = "count = 2\nreceive_window = \"100p\"";

/// `warmup` and `measure` of a run.
fn over(warmup: &str, measure: &str) -> String {
    format!("[run]\nwarmup = \"{warmup}\"\nmeasure = \"{measure}\"\n")
}

fn goodput(report: &Report, group: usize) -> f64 {
    report.groups[group].metrics[&Metric::Goodput].mean
}

fn of<'a>(report: &'a Report, name: &str) -> &'a LinkReport {
    let mut links = report.links.iter();
    links.find(|link| link.name == name).expect("a link")
}

fn warned(report: &Report, kind: WarningKind) -> bool {
    report.warnings.iter().any(|warning| warning.kind == kind)
}

/// Hosts of both classes burst into one port. The lossless class loses nothing and pauses its
/// hosts; the lossy one loses what its buffer cannot hold.
#[test]
fn a_lossless_class_loses_nothing_beside_a_lossy_one() {
    let report = run(&(link(
        "port",
        "10Gbps",
        &classes("dwrr", PFC, "buffer = \"150kB\""),
    ) + &group("storage", "\"port\"", TRANSFER)
        + &group("web", "\"port\"", TRANSFER)
        + &over("0s", "100ms")));
    let lost = |group: usize| report.groups[group].metrics[&Metric::LossRate].mean;
    assert_eq!(lost(0), 0.0);
    assert!(lost(1) > 0.05, "{}", lost(1));
    assert!(value(&report, Metric::PauseFrames) >= 8.0);
    assert!(!warned(&report, WarningKind::LosslessDrops));
    // Alone the storage takes 3.84 ms; the other class has at most the same share of the link.
    let last = report.groups[0].metrics[&Metric::CompletionTimeP99].mean;
    assert!((0.0039..0.0077).contains(&last), "{last}");
}

/// The headroom that was used suffices, and one byte less loses a packet of the class.
#[test]
fn a_headroom_of_a_class_that_is_too_small_by_one_byte_loses_packets() {
    let report = |headroom: u64| {
        let pfc = format!(
            "pfc = {{ xoff = \"30kB\", xon = \"15kB\", headroom = \"{headroom}B\", cable = \"300m\" }}"
        );
        run(&(link(
            "port",
            "10Gbps",
            &classes("wrr", &pfc, "buffer = \"150kB\""),
        ) + &group("storage", "\"port\"", TRANSFER)
            + &group("web", "\"port\"", TRANSFER)
            + &over("0s", "50ms")))
    };
    let used = value(&report(100_000), Metric::HeadroomMax) as u64;
    let lost = |report: &Report| report.groups[0].metrics[&Metric::LossRate].mean;
    assert!(used > 0);
    let (exact, less) = (report(used), report(used - 1));
    assert_eq!(lost(&exact), 0.0);
    assert!(lost(&less) > 0.0);
    assert!(warned(&less, WarningKind::LosslessDrops));
    assert!(!warned(&exact, WarningKind::LosslessDrops));
}

/// Two links, of which the second is slow for storage: `first` and `port` are their queues.
fn chain(first: &str, port: &str) -> String {
    link("first", "10Gbps", first)
        + &link("port", "1Gbps", port)
        + &link("other", "10Gbps", "")
        + &group("storage", "\"first\", \"port\"", BULK)
        + &group("web", "\"first\", \"other\"", BULK)
        + &over("10ms", "50ms")
}

/// A pause of the storage stops the storage of the link before, and no other packet of it.
#[test]
fn a_pause_of_a_class_stops_the_class_of_the_same_groups_before() {
    let lossy = "weight = 1";
    let port = classes("dwrr", PFC, lossy);
    let apart = run(&chain(&classes("dwrr", "weight = 1", lossy), &port));
    // In one queue the pause stops both.
    let together = run(&chain("", &port));
    for report in [&apart, &together] {
        assert_eq!(value(report, Metric::LossRate), 0.0);
        assert!(value(report, Metric::Utilization) > 0.99);
        let paused = of(report, "first").metrics[&Metric::PausedTime].mean;
        assert!(paused > 0.01, "{paused}");
    }
    // 100 packets of each flow in 50 us are 48 Gb/s: what the link is free to send, it sends.
    let (free, held) = (goodput(&apart, 1), goodput(&together, 1));
    assert!(free > 8.5e9, "{free}");
    assert!(held < 0.5 * free, "{held} {free}");
    let used = of(&apart, "first").metrics[&Metric::Utilization].mean;
    assert!(used > 0.99, "{used}");
}

/// A lossless queue for all traffic behind a link with classes pauses the class with too much.
#[test]
fn a_lossless_queue_without_classes_pauses_the_classes_before_it() {
    let keys = PFC;
    let report = run(&(link(
        "first",
        "10Gbps",
        &classes("dwrr", "weight = 3", "weight = 1"),
    ) + &link("port", "1Gbps", keys)
        + &group("storage", "\"first\", \"port\"", BULK)
        + &group("web", "\"first\", \"port\"", BULK)
        + &over("10ms", "50ms")));
    assert_eq!(value(&report, Metric::LossRate), 0.0);
    assert!(value(&report, Metric::Utilization) > 0.99);
    assert!(of(&report, "first").metrics[&Metric::PausedTime].mean > 0.01);
    // Each class has its own counter and threshold in the lossless queue.
    let (storage, web) = (goodput(&report, 0), goodput(&report, 1));
    assert!((storage / web - 1.0).abs() < 0.3, "{storage} {web}");
    assert!(value(&report, Metric::HeadroomMax) < 10_000.0);
}

/// The weights hold while no class is paused, and a paused class saves no allowance.
#[test]
fn a_class_that_was_paused_has_its_weight_and_no_more() {
    // The storage may send a tenth of the time: the other class has the rest.
    let port = classes("dwrr", PFC, "weight = 1");
    for schedule in ["dwrr", "wrr", "strict"] {
        let report = run(&chain(
            &classes(schedule, "weight = 1", "weight = 1"),
            &port,
        ));
        let (storage, web) = (goodput(&report, 0), goodput(&report, 1));
        let both = (storage + web) / (1448.0 / 1500.0);
        assert!((storage / 0.965e9 - 1.0).abs() < 0.02, "{storage}");
        assert!((both / 10e9 - 1.0).abs() < 0.02, "{schedule}: {both}");
    }
}

/// ECN in a lossless class keeps its queue below the pause.
#[test]
fn marks_in_a_lossless_class_avoid_pauses() {
    let report = |queue: &str| {
        let storage =
            format!("pfc = {{ xoff = \"100kB\", xon = \"50kB\", headroom = \"60kB\" }}{queue}");
        run(&(link(
            "first",
            "10Gbps",
            &classes("dwrr", "weight = 1", "weight = 1"),
        ) + &link("port", "1Gbps", &classes("dwrr", &storage, "weight = 1"))
            + &group(
                "storage",
                "\"first\", \"port\"",
                "count = 2\ncca = \"dctcp\"\necn = true\nmin_rto = \"1s\"",
            )
            + &group(
                "web",
                "\"first\", \"port\"",
                "count = 2\nreceive_window = \"10p\"",
            )
            + &over("20ms", "50ms")))
    };
    let marked = report(", queue = { kind = \"step\", threshold = \"20kB\" }");
    let unmarked = report("");
    assert!(value(&marked, Metric::MarkRate) > 0.01);
    assert_eq!(value(&marked, Metric::PauseFrames), 0.0);
    assert!(value(&unmarked, Metric::PauseFrames) > 10.0);
    assert!(value(&marked, Metric::Utilization) > 0.95);
}

/// Three switches in a ring whose storage closes a circle: the storage is deadlocked, and the other
/// class moves on.
#[test]
fn a_deadlock_of_a_class_leaves_the_other_class_alone() {
    let pfc = "pfc = { xoff = \"20kB\", xon = \"10kB\", headroom = \"60kB\" }";
    let storages = ["ab", "bc", "port-a"];
    let list = storages.map(|name| format!("\"{name}\"")).join(", ");
    let queue = format!(
        "queue = {{ kind = \"classes\", schedule = \"dwrr\", classes = [\
         {{ name = \"storage\", groups = [{list}], {pfc} }}, {{ name = \"web\" }}] }}"
    );
    let mut text = String::new();
    for name in ["port", "b", "c"] {
        text += &link(name, "10Gbps", &queue);
    }
    for (name, path) in [
        ("ab", "\"port\", \"b\""),
        ("bc", "\"b\", \"c\""),
        ("port-a", "\"c\", \"port\""),
    ] {
        text += &group(name, path, "count = 4\nreceive_window = \"1000p\"");
    }
    text += &group(
        "web",
        "\"port\", \"b\"",
        "count = 4\nreceive_window = \"100p\"",
    );
    let report = run(&(text + &over("5ms", "50ms")));
    let mut warnings = report.warnings.iter();
    let warning = warnings.find(|warning| warning.kind == WarningKind::Deadlock);
    let warning = warning.expect("a deadlock");
    let mut names: Vec<_> = warning.subject.split(", ").collect();
    names.sort_unstable();
    assert_eq!(names, ["b.storage", "c.storage", "port.storage"]);
    assert!(warning.text.contains("the queues "), "{}", warning.text);
    for group in 0..3 {
        assert_eq!(goodput(&report, group), 0.0);
    }
    assert!(goodput(&report, 3) > 9e9, "{}", goodput(&report, 3));
}

/// Scenarios that mix priorities are refused in a line that names class, link and groups.
#[test]
fn a_class_that_would_pause_another_one_is_refused_by_name() {
    let refusal = |text: &str| {
        let scenario = Scenario::parse(text, Format::Toml, "test", &[]).expect("a scenario");
        let outcome = PacketEngine.run(&scenario, &RunOptions::default());
        outcome.expect_err("a refusal").to_string()
    };
    let port = classes("dwrr", PFC, "weight = 1");
    let both = |first: &str| {
        link("first", "10Gbps", first)
            + &link("port", "1Gbps", &port)
            + &group("storage", "\"first\", \"port\"", BULK)
            + &group("web", "\"first\", \"port\"", BULK)
            + &over("1ms", "1ms")
    };
    let one_class = "queue = { kind = \"classes\", classes = [{ name = \"all\" }] }";
    for first in ["", one_class] {
        let said = refusal(&both(first));
        for part in ["`storage` of link `port`", "link `first`", "group `web`"] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(said.lines().count(), 1);
    }
    // A source that cannot be paused, in the lossless class and in the other one.
    let cbr = |name: &str| {
        let mut text = link("port", "10Gbps", &port) + &group("storage", "\"port\"", BULK);
        let _ = write!(
            text,
            "[[flows]]\nname = \"{name}\"\nworkload = {{ cbr = {{ rate = \"1Mbps\" }} }}\n"
        );
        text + &over("1ms", "1ms")
    };
    let run_it = |text: &str| {
        let scenario = Scenario::parse(text, Format::Toml, "test", &[]).expect("a scenario");
        PacketEngine.run(&scenario, &RunOptions::default())
    };
    assert!(run_it(&cbr("noise")).is_ok());
    let in_storage = cbr("noise").replace("[\"storage\"]", "[\"storage\", \"noise\"]");
    let said = run_it(&in_storage).expect_err("a refusal").to_string();
    assert!(
        said.contains("`noise`") && said.contains("cannot pause"),
        "{said}"
    );
}

#[test]
fn pause_keys_beside_classes_are_refused_in_a_line() {
    let read = |link: &str| {
        let text = format!(
            "[link]\nrate = \"1Gbps\"\nbuffer = \"1MB\"\n{link}\n[[flows]]\nname = \"storage\"\nrtt = \"1ms\"\n"
        );
        let error = Scenario::parse(&text, Format::Toml, "test", &[]).expect_err("a mistake");
        error.to_string()
    };
    let both = format!("{PFC}\n{}", classes("dwrr", "weight = 1", "weight = 1"));
    let above = classes(
        "dwrr",
        "pfc = { xoff = \"10B\", xon = \"11B\", headroom = \"9B\" }",
        "weight = 1",
    );
    for (link, said) in [
        (both, "`pfc` in classes"),
        (above, "at most 10B, the `xoff`"),
    ] {
        let error = read(&link);
        assert!(
            error.contains(said) && error.lines().count() == 1,
            "{error}"
        );
    }
}
