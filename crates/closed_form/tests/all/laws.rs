//! Invariants of every rule. Units do not matter, and other traffic leaves a slower link. Larger
//! buffers lose less, and waiting packets obey Little's law.

use std::collections::BTreeMap;

use forebay_closed_form::{Regime, default_model, regime, rule, rules};
use forebay_scenario::{BufferSize, Format, Goal, Holds, Metric, Scenario};

use crate::links::{link, links, long, scenario, stream, web};

fn near(ours: f64, theirs: f64, tolerance: f64) -> bool {
    ours == theirs || (ours - theirs).abs() <= tolerance * theirs.abs().max(ours.abs())
}

/// The results of a rule without units: its size in packets for the scenario's goals, and its
/// figures.
#[derive(Debug)]
struct Said {
    size: Option<f64>,
    figures: BTreeMap<Metric, f64>,
    checks: Vec<(Holds, Option<f64>)>,
}

fn said(rule: &str, scenario: &Scenario) -> Said {
    let rule = forebay_closed_form::rule(rule).unwrap();
    let pps = scenario.packets_per_second();
    let size = match rule.size(scenario, scenario.goals()) {
        Ok(Some(BufferSize::Packets(packets))) => Some(packets as f64),
        _ => None,
    };
    let figures = rule
        .predict(scenario)
        .map_or_else(|_| BTreeMap::new(), |found| found.metrics);
    let unitless = |(metric, value): (Metric, f64)| match metric {
        Metric::QueueDelayMean => (metric, value * pps),
        _ => (metric, value),
    };
    let checks = rule.assumptions(scenario).into_iter();
    Said {
        size,
        figures: figures.into_iter().map(unitless).collect(),
        checks: checks.map(|check| (check.holds, check.share)).collect(),
    }
}

fn alike(ours: &Said, theirs: &Said, tolerance: f64) -> bool {
    let whole = match (ours.size, theirs.size) {
        (Some(a), Some(b)) => (a - b).abs() <= 1.0 + tolerance * a,
        (a, b) => a == b,
    };
    let keys = |said: &Said| said.figures.keys().copied().collect::<Vec<_>>();
    whole
        && keys(ours) == keys(theirs)
        && ours
            .figures
            .iter()
            .all(|(metric, value)| near(*value, theirs.figures[metric], tolerance))
        && ours.checks == theirs.checks
}

/// All results are the same on a link four times as fast, with a quarter of every time and four
/// times every rate. CUBIC and H-TCP are left out, because their windows grow with real time.
#[test]
fn units_do_not_matter() {
    let at = |faster: u64, kind: usize| {
        let rtt = format!(
            "rtt = {{ linspace = [\"{}ms\", \"{}ms\"] }}",
            40 / faster,
            80 / faster
        );
        let flows = |count: u32, cca: &str| format!("count = {count}\ncca = \"{cca}\"\n{rtt}");
        let access = format!("access = {{ rate = \"{}kbps\" }}", 200 * faster);
        let transfers = |more: &str| {
            format!(
                "{rtt}\nworkload = {{ open_loop = {{ load = 0.6, size = {{ exponential = \"90kB\" }} }} }}\n{more}"
            )
        };
        let users = format!(
            "{rtt}\nworkload = {{ closed_loop = {{ users = 30, think = \"{}ms\", size = \"400kB\" }} }}",
            4000 / faster
        );
        let (red, step) = (
            "queue = { kind = \"red\", min = \"20p\", max = \"80p\", bottom = 0.001 }",
            "queue = { kind = \"step\", threshold = \"30p\" }",
        );
        let background = stream(5000 * faster);
        let goal = "[goal]\nutilization = \">= 97%\"\nloss_rate = \"<= 2%\"";
        let (queue, groups) = match kind {
            0 => ("", vec![flows(1, "newreno")]),
            1 => ("", vec![flows(300, "newreno"), background]),
            2 => ("", vec![flows(4, "hstcp"), background]),
            3 => ("", vec![flows(50, "bbr"), flows(20, "newreno")]),
            4 => (red, vec![flows(40, "newreno")]),
            5 => (step, vec![format!("{}\necn = true", flows(40, "dctcp"))]),
            6 => ("", vec![transfers(""), background]),
            7 => ("", vec![transfers(&access)]),
            8 => ("", vec![users, background]),
            9 => (
                "",
                vec![
                    format!("{}\nreceive_window = \"4p\"", flows(20, "newreno")),
                    background,
                ],
            ),
            _ => ("", vec![background]),
        };
        let rate = 40_000 * faster;
        let groups = groups
            .iter()
            .enumerate()
            .map(|(n, body)| format!("[[flows]]\nname = \"g{n}\"\npacket = \"1000B\"\n{body}\n"));
        let groups: String = groups.collect();
        scenario(&format!(
            "[link]\nrate = \"{rate}kbps\"\nbuffer = \"60p\"\n{queue}\n{groups}{goal}\n"
        ))
    };
    for kind in 0..11 {
        let (slow, fast) = (at(1, kind), at(4, kind));
        for rule in rules() {
            let (ours, theirs) = (said(rule.name(), &fast), said(rule.name(), &slow));
            assert!(
                alike(&ours, &theirs, 1e-8),
                "{} {kind}\n{ours:?}\n{theirs:?}",
                rule.name()
            );
        }
        assert_eq!(default_model(&slow).0, default_model(&fast).0);
    }
}

/// The load of other traffic, a stream or transfers, reduces the capacity. Long flows have a link
/// with the remaining rate.
#[test]
fn other_traffic_leaves_a_slower_link() {
    let others: [(f64, Vec<String>); 3] = [
        (0.5, vec![stream(25_000)]),
        (0.25, vec![web(0.25)]),
        (0.6, vec![stream(20_000), web(0.2)]),
    ];
    let known = [
        "bdp",
        "bscl",
        "flow-proportional",
        "gorinsky",
        "hybrid-fluid",
        "one-flow",
        "sqrt-n",
        "wischik-mckeown",
    ];
    for (taken, others) in others {
        for flows in [long(1, "newreno"), long(40, "newreno"), long(3, "scalable")] {
            for buffer in [0, 40, 1000] {
                let left = (50_000.0 * (1.0 - taken)) as u64;
                let alone = link(left, buffer, std::slice::from_ref(&flows));
                let mut all = others.clone();
                all.push(flows.clone());
                let beside = link(50_000, buffer, &all);
                for name in known {
                    let (ours, theirs) = (said(name, &beside), said(name, &alone));
                    let what = format!("{name} {taken} {buffer} {flows}\n{ours:?}\n{theirs:?}");
                    match (ours.size, theirs.size) {
                        (Some(a), Some(b)) => assert!((a - b).abs() <= 1.0, "{what}"),
                        (a, b) => assert_eq!(a, b, "{what}"),
                    }
                    assert_eq!(ours.figures.len(), theirs.figures.len(), "{what}");
                    for (metric, value) in &ours.figures {
                        let there = theirs.figures[metric];
                        let expected = match metric {
                            Metric::Utilization => taken + (1.0 - taken) * there,
                            _ => there,
                        };
                        assert!(near(*value, expected, 1e-9), "{metric:?} {what}");
                    }
                }
            }
        }
    }
}

/// Flows held down by their receive windows reduce it, too: 25 with 8 packets in 64 ms take half of
/// 50 Mb/s.
#[test]
fn flows_that_are_held_down_leave_a_slower_link() {
    let held = "count = 25\nrtt = \"64ms\"\nreceive_window = \"8p\"".to_owned();
    for count in [1, 10] {
        let flows = format!("count = {count}\nrtt = \"64ms\"\ncca = \"newreno\"");
        for buffer in [0, 40, 1000] {
            let alone = link(25_000, buffer, std::slice::from_ref(&flows));
            let beside = link(50_000, buffer, &[flows.clone(), held.clone()]);
            for name in [
                "bdp",
                "one-flow",
                "sqrt-n",
                "flow-proportional",
                "hybrid-fluid",
            ] {
                let (ours, theirs) = (said(name, &beside), said(name, &alone));
                let what = format!("{name} {count} {buffer}\n{ours:?}\n{theirs:?}");
                assert!(
                    ours.size.is_some() && (ours.size.unwrap() - theirs.size.unwrap()).abs() <= 1.0,
                    "{what}"
                );
                for (metric, value) in &ours.figures {
                    let there = theirs.figures[metric];
                    let expected = match metric {
                        Metric::Utilization => 0.5 + 0.5 * there,
                        _ => there,
                    };
                    assert!(near(*value, expected, 1e-9), "{metric:?} {what}");
                }
            }
        }
    }
}

/// A larger buffer never costs throughput nor packets. The queue grows with the buffer but does not
/// exceed it. Shares lie between 0 and 1.
#[test]
fn larger_buffers_lose_less_and_hold_more() {
    let mut examined = BTreeMap::new();
    for (number, open) in links().iter().enumerate() {
        for rule in rules() {
            let mut before: Option<BTreeMap<Metric, f64>> = None;
            for packets in [1_u64, 15, 250, 3000, 40_000] {
                let sized = open.with_buffer(BufferSize::Packets(packets)).unwrap();
                let figures = said(rule.name(), &sized).figures;
                let what = format!("{} {number} {packets} {before:?} {figures:?}", rule.name());
                let known = before.as_ref().unwrap_or(&figures);
                for (metric, value) in &figures {
                    let last = known.get(metric).unwrap_or(value);
                    // The load of a fixed point may fall as the buffer grows, and its utilization a
                    // little.
                    let slack = 1e-5 * last.abs() + 1e-12;
                    match metric {
                        Metric::Utilization => {
                            assert!(
                                *value >= last - slack && (0.0..=1.0).contains(value),
                                "{what}"
                            );
                            let offered = open.background_load().min(1.0);
                            assert!(*value >= offered * 0.3, "{what}");
                        }
                        Metric::LossRate => {
                            assert!(
                                *value <= last + slack && (0.0..=1.0).contains(value),
                                "{what}"
                            );
                        }
                        _ => {
                            assert!(*value >= last - slack && *value >= 0.0, "{what}");
                            assert!(*value <= packets as f64 + 1.0, "{what}");
                        }
                    }
                    *examined.entry((rule.name(), *metric)).or_insert(0) += 1;
                }
                before = Some(figures);
            }
        }
    }
    assert!(examined.len() > 15, "{examined:?}");
}

/// The number of waiting packets equals the accepted packets per second times their mean delay.
#[test]
fn waiting_packets_obey_the_law_of_little() {
    let mut examined = 0;
    for open in links() {
        for name in ["mm1k", "barman-droptail", "barman-red"] {
            for packets in [2, 30, 400] {
                let sized = open.with_buffer(BufferSize::Packets(packets)).unwrap();
                let said = said(name, &sized).figures;
                let figure = |metric| said.get(&metric).copied();
                if let (Some(waits), Some(delay), Some(busy)) = (
                    figure(Metric::QueueMean),
                    figure(Metric::QueueDelayMean),
                    figure(Metric::Utilization),
                ) {
                    assert!(near(waits, busy * delay, 1e-6), "{name} {packets} {said:?}");
                    examined += 1;
                }
            }
        }
    }
    assert!(examined > 10, "{examined}");
}

/// A queue of one flow that never empties swings between its length after a decrease and the
/// buffer.
#[test]
fn a_queue_that_never_empties_swings_above_the_cut() {
    for (cca, beta) in [("newreno", 0.5), ("cubic", 0.7)] {
        for taken in [0, 20_000] {
            let others = if taken > 0 {
                vec![long(1, cca), stream(taken)]
            } else {
                vec![long(1, cca)]
            };
            let open = link(50_000, 10, &others);
            let bdp = open.bdp_packets().unwrap() * (1.0 - taken as f64 / 50_000.0);
            let buffer = (3.0 * bdp) as u64;
            let sized = open.with_buffer(BufferSize::Packets(buffer)).unwrap();
            let figures = said("one-flow", &sized).figures;
            let least = beta * (bdp + buffer as f64) - bdp;
            let mean = figures[&Metric::QueueMean];
            // Round trips are longer at a long queue, so the mean lies above the middle.
            assert!(
                mean > 0.5 * (least + buffer as f64) && mean < buffer as f64,
                "{cca} {mean} {least} {buffer}"
            );
            assert!(near(figures[&Metric::Utilization], 1.0, 1e-12));
        }
    }
}

/// A loss that depends on the storage of path and buffer does not depend on its division.
#[test]
fn storage_is_storage() {
    let at = |ms: u64, buffer: u64| {
        let flows = format!("count = 50\nrtt = \"{ms}ms\"");
        said("flow-proportional", &link(50_000, buffer, &[flows])).figures[&Metric::LossRate]
    };
    // A delay of 16 ms holds 100 packets.
    for (ms, buffer) in [(96, 0), (80, 100), (64, 200), (16, 500)] {
        assert!(near(at(ms, buffer), at(96, 0), 1e-12), "{ms} {buffer}");
    }
    assert!(at(96, 1) < at(96, 0) && at(95, 0) > at(96, 0));
}

/// A rule without a goal sizes for 100 %.
#[test]
fn the_whole_link_is_what_is_sized_for() {
    for open in links() {
        let goals = |goal: &str| -> Vec<Goal> {
            let text = open.canonical_json();
            let change = forebay_scenario::Override::of("test", "goal.utilization", goal);
            let asked = Scenario::parse(&text, Format::Json, "test", &[change]).unwrap();
            asked.goals().to_vec()
        };
        for name in [
            "bdp",
            "bscl",
            "one-flow",
            "sqrt-n",
            "wischik-mckeown",
            "tiny-buffers",
            "hybrid-fluid",
        ] {
            let rule = rule(name).unwrap();
            let whole = rule.size(&open, &goals(">= 100%"));
            assert_eq!(whole, rule.size(&open, &[]), "{name}");
            // A goal of half the utilization never needs a larger buffer.
            if let (Ok(Some(BufferSize::Packets(half))), Ok(Some(BufferSize::Packets(whole)))) =
                (rule.size(&open, &goals(">= 50%")), &whole)
            {
                assert!(half <= *whole, "{name} {half} {whole}");
            }
        }
    }
}

fn holds(name: &str, part: &str, scenario: &Scenario) -> Holds {
    let checks = rule(name).unwrap().assumptions(scenario);
    let found = checks
        .into_iter()
        .find(|check| check.assumption.contains(part));
    found
        .unwrap_or_else(|| panic!("{name} has no check {part}"))
        .holds
}

/// If access links limit the transfers, the regime is transparent, and all rules about it agree.
/// Transfers together with a stream can make an overload.
#[test]
fn regimes_and_rules_are_of_one_mind() {
    let mut seen = Vec::new();
    for ratio in [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 200.0] {
        for load in [0.3, 0.6, 0.9] {
            let access = format!(
                "{}\naccess = {{ rate = \"{}bps\" }}",
                web(load),
                50e6 / ratio
            );
            let link = link(50_000, 20, &[access]);
            let transparent = regime(&link).0 == Regime::Transparent;
            let yes = |holds: Holds| holds == Holds::Yes;
            assert_eq!(
                yes(holds("mm1k", "transparent regime", &link)),
                transparent,
                "{ratio} {load}"
            );
            assert_eq!(
                yes(holds("core-access", "access links slower", &link)),
                transparent,
                "{ratio} {load}"
            );
            seen.push(transparent);
        }
    }
    assert!(seen.contains(&true) && seen.contains(&false));
    for (fixed, transfers, overload) in [
        (30_000, 0.3, false),
        (30_000, 0.5, true),
        (60_000, 0.1, true),
        (1000, 1.2, true),
    ] {
        let found = regime(&link(50_000, 20, &[stream(fixed), web(transfers)])).0;
        assert_eq!(found == Regime::Overload, overload, "{fixed} {transfers}");
        // The same holds with persistent flows.
        let found = regime(&link(
            50_000,
            20,
            &[stream(fixed), web(transfers), long(9, "newreno")],
        ))
        .0;
        assert_eq!(found == Regime::Overload, overload, "{fixed} {transfers}");
    }
}

/// For a rule of loads, windows that offer half of the link equal transfers that offer half.
#[test]
fn a_load_is_a_load() {
    // 25 flows of 8 packets in 64 ms send 3125 packets/s.
    let windows = "count = 25\nrtt = \"64ms\"\nreceive_window = \"8p\"".to_owned();
    let transfers = "rtt = \"64ms\"\nreceive_window = \"8p\"\n\
        workload = { open_loop = { load = 0.5, size = \"20kB\" } }"
        .to_owned();
    for beside in [5000, 15_000] {
        let sizes = [&windows, &transfers].map(|flows| {
            said(
                "tiny-buffers",
                &link(50_000, 20, &[flows.clone(), stream(beside)]),
            )
            .size
        });
        assert!(sizes[0].is_some() && sizes[0] == sizes[1], "{sizes:?}");
        // Windows without a limit offer the whole link, for which no tiny buffer suffices.
        let free = link(50_000, 20, &[long(50, "newreno"), stream(beside)]);
        assert_eq!(said("tiny-buffers", &free).size, None);
    }
    // Finite transfers offer no load, and the reason says so.
    let once = "rtt = \"40ms\"\nworkload = { finite = { size = \"1MB\" } }".to_owned();
    let refused = rule("mm1k").unwrap().size(&link(50_000, 20, &[once]), &[]);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("no traffic has a load"), "{refused}");
}
