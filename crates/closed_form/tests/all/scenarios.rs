//! The rules and the engine applied to scenarios: published numbers, regimes, no panics.

use forebay_closed_form::{ClosedFormEngine, Regime, default_model, regime, rule, rules};
use forebay_scenario::{BufferSize, Engine, Format, Holds, Metric, RunOptions, Scenario, Seed};

const SEED: Seed = Seed {
    seed: 1,
    replication: 0,
};

fn scenario(toml: &str) -> Scenario {
    Scenario::parse(toml, Format::Toml, "test.toml", &[]).unwrap()
}

/// `count` persistent flows of `cca` on 50 Mb/s, 100 ms, 1000-byte packets: BDP 625 packets.
fn persistent(count: u32, cca: &str, buffer: &str) -> Scenario {
    scenario(&format!(
        "[link]\nrate = \"50Mbps\"\nbuffer = \"{buffer}\"\n\
         [[flows]]\ncount = {count}\ncca = \"{cca}\"\nrtt = {{ linspace = [\"90ms\", \"112.5ms\"] }}\n\
         packet = \"1000B\"\nworkload = \"persistent\"\n"
    ))
}

fn background(load: &str, buffer: &str) -> Scenario {
    scenario(&format!(
        "[link]\nrate = \"50Mbps\"\nbuffer = \"{buffer}\"\n\
         [[flows]]\npacket = \"1000B\"\nworkload = {{ poisson = {{ rate = \"{load}\" }} }}\n"
    ))
}

fn packets(name: &str, scenario: &Scenario) -> u64 {
    match rule(name)
        .unwrap()
        .size(scenario, scenario.goals())
        .unwrap()
    {
        Some(BufferSize::Packets(packets)) => packets,
        other => panic!("{name}: {other:?}"),
    }
}

fn utilization(name: &str, scenario: &Scenario) -> f64 {
    rule(name).unwrap().predict(scenario).unwrap().metrics[&Metric::Utilization]
}

#[test]
fn buffers_of_the_textbooks() {
    let one = persistent(1, "newreno", "100p");
    let bdp = one.bdp_packets().unwrap();
    assert_eq!(packets("bdp", &one), bdp.ceil() as u64);
    let many = persistent(400, "newreno", "100p");
    let bdp = many.bdp_packets().unwrap();
    assert_eq!(packets("sqrt-n", &many), (bdp / 20.0).ceil() as u64);
    assert_eq!(packets("flow-proportional", &many), 2400);
    assert_eq!(packets("gorinsky", &many), 800);
    let cubic = persistent(1, "cubic", "100p");
    let ratio = packets("bdp", &cubic) as f64 / cubic.bdp_packets().unwrap();
    assert!((ratio - 0.43).abs() < 0.01, "{ratio}");
}

#[test]
fn every_rule_has_an_explanation() {
    for rule in rules() {
        assert_eq!(
            forebay_closed_form::model(rule.name()).unwrap().name,
            rule.name()
        );
    }
}

#[test]
fn regimes_choose_the_model() {
    let of = |scenario: &Scenario| (regime(scenario).0, default_model(scenario).0);
    assert_eq!(
        of(&background("40Mbps", "20p")),
        (Regime::Transparent, "mm1k")
    );
    assert_eq!(
        of(&background("60Mbps", "20p")),
        (Regime::Overload, "overload")
    );
    assert_eq!(
        of(&persistent(1, "newreno", "20p")),
        (Regime::Elastic, "one-flow")
    );
    assert_eq!(
        of(&persistent(500, "newreno", "20p")),
        (Regime::Elastic, "sqrt-n")
    );
}

#[test]
fn the_transparent_engine_is_mm1k() {
    let report = ClosedFormEngine
        .run(&background("45Mbps", "19p"), &SEED.into())
        .unwrap();
    let queue = forebay_closed_form::models::mm1k::Mm1k::new(0.9, 20.0).unwrap();
    assert!((report.value(Metric::LossRate).unwrap() / queue.loss() - 1.0).abs() < 1e-12);
    let delay = queue.mean_found_by_accepted() / 6250.0;
    assert!((report.value(Metric::QueueDelayMean).unwrap() / delay - 1.0).abs() < 1e-12);
    assert!(
        report
            .warnings
            .iter()
            .any(|line| line.text.contains("synchronization"))
    );
}

#[test]
fn one_flow_beside_a_background_uses_the_residual_capacity() {
    let both = scenario(
        "[link]\nrate = \"50Mbps\"\nbuffer = \"20p\"\n\
         [[flows]]\nname = \"elephant\"\ncca = \"newreno\"\nrtt = \"100ms\"\npacket = \"1000B\"\n\
         workload = \"persistent\"\n\
         [[flows]]\nname = \"mice\"\npacket = \"1000B\"\nworkload = { poisson = { rate = \"25Mbps\" } }\n",
    );
    let expected =
        forebay_closed_form::models::one_flow::mean_utilization(0.5, 20.0 / 312.5).unwrap();
    assert!((utilization("one-flow", &both) - (0.5 + 0.5 * expected)).abs() < 1e-12);
}

#[test]
fn a_sized_buffer_meets_the_goal_by_the_same_rule() {
    let goals = "[goal]\nutilization = \">= 98%\"\n";
    for (count, name) in [
        (4, "one-flow"),
        (300, "sqrt-n"),
        (50, "barman-droptail"),
        (2000, "barman-droptail"),
    ] {
        let toml = format!(
            "[link]\nrate = \"1Gbps\"\nbuffer = \"10p\"\n\
             [[flows]]\ncount = {count}\ncca = \"newreno\"\nrtt = {{ uniform = [\"20ms\", \"60ms\"] }}\n\
             packet = \"1500B\"\nworkload = \"persistent\"\n{goals}"
        );
        let small = scenario(&toml);
        let size = packets(name, &small);
        let at = |packets| small.with_buffer(BufferSize::Packets(packets)).unwrap();
        assert!(
            utilization(name, &at(size)) >= 0.98 - 1e-9,
            "{name} {count}"
        );
        assert!(
            size == 0 || utilization(name, &at(size - 1)) < 0.98 + 1e-9,
            "{name} {count}"
        );
    }
}

/// The size of a rule for a goal meets it by the rule's own prediction, and one packet less does
/// not. This holds for each rule, goal and traffic. Rules that ignore the goal are skipped.
#[test]
fn every_rule_that_predicts_what_it_sizes_for_is_of_one_mind() {
    let long = |cca: &str, count: u32| {
        format!(
            "[[flows]]\nname = \"long\"\ncount = {count}\ncca = \"{cca}\"\nrtt = \"100ms\"\n\
             packet = \"1000B\"\nworkload = \"persistent\"\n"
        )
    };
    let load = |rate: &str| {
        format!(
            "[[flows]]\nname = \"mice\"\npacket = \"1000B\"\n\
             workload = {{ poisson = {{ rate = \"{rate}\" }} }}\n"
        )
    };
    let transfers = "[[flows]]\nrtt = \"20ms\"\npacket = \"1000B\"\n\
         workload = { open_loop = { load = 0.7, size = { exponential = \"60kB\" } } }\n";
    let traffic = [
        long("newreno", 1),
        long("newreno", 5),
        long("newreno", 300),
        long("cubic", 1),
        long("bbr", 2),
        long("newreno", 1) + &load("20Mbps"),
        load("20Mbps"),
        load("48Mbps"),
        transfers.to_owned(),
    ];
    let mut compared = Vec::new();
    for traffic in &traffic {
        for (goal, metric, bounds) in [
            (
                "utilization = \">= ",
                Metric::Utilization,
                [1e-6, 0.95, 0.995],
            ),
            ("loss_rate = \"<= ", Metric::LossRate, [0.999, 1e-2, 1e-5]),
        ] {
            let asked = bounds.map(|bound| {
                scenario(&format!(
                    "[link]\nrate = \"50Mbps\"\nbuffer = \"10p\"\n{traffic}[goal]\n{goal}{bound}\"\n"
                ))
            });
            for rule in rules() {
                let sizes = asked
                    .each_ref()
                    .map(|small| rule.size(small, small.goals()).ok().flatten());
                // The size for a goal that every buffer meets has another cause.
                let Some(BufferSize::Packets(least)) = sizes[0] else {
                    continue;
                };
                let at = |packets| {
                    let sized = asked[0].with_buffer(BufferSize::Packets(packets)).unwrap();
                    rule.predict(&sized).ok()?.metrics.get(&metric).copied()
                };
                for (size, bound) in sizes.into_iter().zip(bounds).skip(1) {
                    let Some(BufferSize::Packets(size)) = size.filter(|_| size != sizes[0]) else {
                        continue;
                    };
                    let Some(with) = at(size) else { continue };
                    assert!(size > least, "{} {size} {least}", rule.name());
                    let met = |value: f64, slack: f64| match metric {
                        Metric::LossRate => value <= bound * (1.0 + slack),
                        _ => value >= bound - slack,
                    };
                    let said = format!("{} {goal}{bound} {size} {traffic}", rule.name());
                    assert!(met(with, 1e-6), "{with} {said}");
                    if let Some(before) = size.checked_sub(1).and_then(at) {
                        assert!(!met(before, -1e-6), "{before} {said}");
                    }
                    compared.push(rule.name());
                }
            }
        }
    }
    compared.sort_unstable();
    compared.dedup();
    let known = [
        "barman-droptail",
        "barman-red",
        "full-link-loss",
        "hybrid-fluid",
        "mm1k",
        "one-flow",
        "sqrt-n",
    ];
    assert_eq!(compared, known);
}

/// At an offered load above the link's rate any buffer loses the excess: 20 % of 62.5 Mb/s over 50
/// Mb/s.
#[test]
fn what_no_buffer_reaches_is_said_with_the_figure() {
    let asked = |loss: &str| {
        let toml = format!(
            "[link]\nrate = \"50Mbps\"\nbuffer = \"20p\"\n[[flows]]\npacket = \"1000B\"\n\
             workload = {{ poisson = {{ rate = \"62.5Mbps\" }} }}\n[goal]\nloss_rate = \"<= {loss}\"\n"
        );
        let overloaded = scenario(&toml);
        rule("mm1k").unwrap().size(&overloaded, overloaded.goals())
    };
    for loss in ["10%", "20%"] {
        let refused = asked(loss).unwrap_err().to_string();
        assert!(refused.contains("loses more than 20 %"), "{refused}");
    }
    assert!(asked("21%").unwrap().is_some());
}

/// From a hundred flows on, windows average out. Below, the rule for one flow is the default.
#[test]
fn hundreds_begin_at_a_hundred() {
    for (count, holds, speaks) in [(99, Holds::No, "one-flow"), (100, Holds::Yes, "sqrt-n")] {
        let flows = persistent(count, "newreno", "100p");
        assert_eq!(default_model(&flows).0, speaks);
        for rule in rules().iter().map(|rule| rule.name()) {
            let checks = forebay_closed_form::rule(rule).unwrap().assumptions(&flows);
            for check in checks {
                if check.why.contains("the rule needs about 100")
                    || check.why.contains("enough for independent windows")
                {
                    let hundreds = ["sqrt-n", "wischik-mckeown", "small-buffers"].contains(&rule);
                    assert!(
                        !hundreds || check.holds == holds,
                        "{rule} {count} {check:?}"
                    );
                }
            }
        }
    }
}

/// Two-sided normal quantiles: 3.2905 for three nines, the default without a goal, and 2.3263 for
/// 98 %.
#[test]
fn a_goal_is_the_confidence_of_the_rule_of_wischik_and_mckeown() {
    for (goal, z) in [
        ("", 3.290_527),
        ("[goal]\nutilization = \">= 98%\"\n", 2.326_348),
    ] {
        let many = scenario(&format!(
            "[link]\nrate = \"1Gbps\"\nbuffer = \"100p\"\n[[flows]]\ncount = 400\ncca = \"newreno\"\nrtt = \"100ms\"\n\
             packet = \"1000B\"\nworkload = \"persistent\"\n{goal}"
        ));
        let bdp = many.bdp_packets().unwrap();
        let expected = z / 27_f64.sqrt() * bdp / 20.0;
        let found = packets("wischik-mckeown", &many) as f64;
        assert!(
            (0.0..=1.0).contains(&(found - expected)),
            "{goal} {found} {expected}"
        );
    }
}

/// Every loss hits a single flow, so it needs the whole BDP, as in the oldest rule. If a loss hits
/// half of the flows, they need a third of it (1/2 of the window removed, and 1/4 of all).
#[test]
fn a_single_flow_is_hit_by_every_loss() {
    let [one, two] = [1, 2].map(|count| persistent(count, "newreno", "100p"));
    assert_eq!(packets("bscl", &one), packets("bdp", &one));
    let ratio = packets("bscl", &two) as f64 / two.bdp_packets().unwrap();
    assert!((ratio - 1.0 / 3.0).abs() < 0.01, "{ratio}");
}

#[test]
fn every_rule_answers_every_scenario_without_panic_or_nan() {
    let mut all = vec![
        background("1kbps", "0p"),
        background("49.9Mbps", "100000p"),
        background("500Mbps", "3p"),
    ];
    for cca in ["newreno", "cubic", "hstcp", "htcp", "scalable", "aimd"] {
        for count in [1, 7, 1000, 100_000] {
            all.push(persistent(count, cca, "0p"));
            all.push(persistent(count, cca, "500p"));
        }
    }
    for workload in [
        "{ closed_loop = { users = 20, think = \"1s\", size = \"1MB\" } }",
        "{ periodic = { every = \"2s\", size = \"1MB\" } }",
        "{ periodic = { every = \"1us\", size = \"1MB\" } }",
        "{ open_loop = { load = 0.5, size = { exponential = \"30kB\" } } }",
        "{ open_loop = { load = 1.5, size = { exponential = \"300kB\" } } }",
        "{ finite = { size = \"1MB\" } }",
    ] {
        all.push(scenario(&format!(
            "[link]\nrate = \"10Gbps\"\nbuffer = \"1MB\"\n[[flows]]\nrtt = \"10us\"\nworkload = {workload}\n"
        )));
    }
    for scenario in &all {
        for rule in rules() {
            for check in rule.assumptions(scenario) {
                assert!(
                    !check.why.is_empty() && !check.why.contains("NaN"),
                    "{} {check:?}",
                    rule.name()
                );
            }
            if let Ok(prediction) = rule.predict(scenario) {
                for (metric, value) in prediction.metrics {
                    assert!(
                        value.is_finite() && value >= 0.0,
                        "{} {metric:?} {value}",
                        rule.name()
                    );
                    let share = matches!(metric, Metric::Utilization | Metric::LossRate);
                    assert!(!share || value <= 1.0, "{} {metric:?} {value}", rule.name());
                }
            }
            let _ = rule.size(scenario, scenario.goals());
        }
        let _ = ClosedFormEngine.run(scenario, &SEED.into());
    }
}

#[test]
fn assumptions_know_when_they_fail() {
    let failing = |name: &str, scenario: &Scenario| {
        let checks = rule(name).unwrap().assumptions(scenario);
        checks
            .into_iter()
            .filter(|check| check.holds == Holds::No)
            .count()
    };
    assert_eq!(failing("sqrt-n", &persistent(500, "newreno", "50p")), 0);
    assert!(failing("sqrt-n", &persistent(2, "newreno", "50p")) > 0);
    assert_eq!(failing("mm1k", &background("30Mbps", "20p")), 0);
    assert!(failing("mm1k", &persistent(2, "newreno", "50p")) > 0);
    assert!(failing("hybrid-fluid", &persistent(5, "newreno", "50p")) > 0);
    assert!(rule("unheard-of").is_err());
    assert!(
        with_model("bdp")
            .check(ClosedFormEngine.description())
            .is_ok()
    );
}

#[test]
fn flows_held_down_elsewhere_are_not_counted() {
    // Fair shares are 1/200 of 50 Mb/s. At 60 ms a window of 44 packets allows 0.176 of the link,
    // and a window of one packet 0.004.
    let with_window = |window: u32| {
        scenario(&format!(
            "[link]\nrate = \"50Mbps\"\nbuffer = \"50p\"\n\
             [[flows]]\nname = \"free\"\ncount = 100\ncca = \"newreno\"\nrtt = \"60ms\"\npacket = \"1500B\"\n\
             workload = \"persistent\"\n\
             [[flows]]\nname = \"held\"\ncount = 100\ncca = \"newreno\"\nrtt = \"60ms\"\npacket = \"1500B\"\n\
             receive_window = \"{window}p\"\nworkload = \"persistent\"\n"
        ))
    };
    assert_eq!(packets("flow-proportional", &with_window(44)), 1200);
    assert_eq!(packets("flow-proportional", &with_window(1)), 600);
}

#[test]
fn finite_transfers_alone_are_unsupported() {
    let once = scenario(
        "[link]\nrate = \"50Mbps\"\nbuffer = \"50p\"\n\
         [[flows]]\nrtt = \"60ms\"\nworkload = { finite = { size = \"1MB\" } }\n",
    );
    let answer = ClosedFormEngine.run(&once, &SEED.into());
    assert!(matches!(
        answer,
        Err(forebay_scenario::EngineError::Unsupported { .. })
    ));
}

/// Options of a run with this model.
fn with_model(name: &str) -> RunOptions {
    RunOptions {
        model: Some(name.to_owned()),
        ..SEED.into()
    }
}

/// The reason of the rule's check whose assumption contains `part`.
fn why(name: &str, part: &str, scenario: &Scenario) -> String {
    let checks = rule(name).unwrap().assumptions(scenario);
    let mut found = checks.into_iter();
    let found = found.find(|check| check.assumption.contains(part));
    found.map_or_else(String::new, |check| check.why)
}

#[test]
fn the_controller_is_that_of_the_flows_that_last() {
    let both = scenario(
        "[link]\nrate = \"50Mbps\"\nbuffer = \"50p\"\n\
         [[flows]]\nname = \"long\"\ncca = \"cubic\"\nrtt = \"60ms\"\nworkload = \"persistent\"\n\
         [[flows]]\nname = \"users\"\ncca = \"newreno\"\nrtt = \"60ms\"\n\
         workload = { closed_loop = { users = 20, think = \"9s\", size = \"100kB\" } }\n",
    );
    assert_eq!(
        why("bdp", "cut at a loss", &both),
        "all long flows use cubic",
        "one persistent flow counts more than twenty users"
    );
}

#[test]
fn access_links_faster_than_the_link_limit_nobody() {
    let fast = scenario(
        "[link]\nrate = \"50Mbps\"\nbuffer = \"50p\"\n\
         [[flows]]\nrtt = \"60ms\"\naccess = { rate = \"100Mbps\" }\n\
         workload = { open_loop = { load = 0.5, size = { exponential = \"30kB\" } } }\n",
    );
    // One server is busy with the probability of the load.
    let told = why("core-access", "access links slower", &fast);
    assert!(told.contains("50 % of the time"), "{told}");
}

#[test]
fn a_second_link_leaves_the_bottleneck_open() {
    let two = scenario(
        "[[links]]\nname = \"near\"\nrate = \"100Mbps\"\nbuffer = \"50p\"\n\
         [[links]]\nname = \"far\"\nrate = \"50Mbps\"\nbuffer = \"50p\"\ntarget = true\n\
         [[flows]]\nrtt = \"60ms\"\npath = [\"near\", \"far\"]\n",
    );
    for rule in rules() {
        let told = why(rule.name(), "one bottleneck", &two);
        let expected = "one more link is on the paths and may hold up the flows";
        assert_eq!(told, expected, "{}", rule.name());
        let alone = why(
            rule.name(),
            "one bottleneck",
            &persistent(1, "newreno", "9p"),
        );
        assert_eq!(alone, "", "{}", rule.name());
    }
}

#[test]
fn no_rule_applies_to_a_link_with_several_classes() {
    let classes = |list: &str| {
        scenario(&format!(
            "[link]\nrate = \"50Mbps\"\nbuffer = \"50p\"\nqueue = {{ kind = \"classes\", classes = [{list}] }}\n\
             [[flows]]\nname = \"a\"\nrtt = \"60ms\"\n[[flows]]\nname = \"b\"\nrtt = \"60ms\"\n"
        ))
    };
    let two = classes("{ name = \"x\", groups = [\"a\"] }, { name = \"y\" }");
    let one = classes("{ name = \"x\" }");
    for rule in rules() {
        let told = why(rule.name(), "one queue", &two);
        assert_eq!(
            told,
            "2 classes with a queue each share the link",
            "{}",
            rule.name()
        );
        let checks = rule.assumptions(&two);
        assert!(checks.iter().any(|check| check.holds == Holds::No));
        assert_eq!(why(rule.name(), "one queue", &one), "", "{}", rule.name());
    }
}

/// The engine is constant, so a static registry can contain it.
static REGISTRY: [&dyn Engine; 1] = [&ClosedFormEngine];

#[test]
fn the_engine_reports_every_group_and_fixes_its_model_by_name() {
    let mut both = persistent(3, "cubic", "100p");
    both = both.with_buffer(BufferSize::Bdp(0.5)).unwrap();
    let report = REGISTRY[0].run(&both, &SEED.into()).unwrap();
    assert_eq!(report.groups.len(), 1);
    assert_eq!(report.groups[0].flows, 3);
    let fixed = ClosedFormEngine.run(&both, &with_model("barman-droptail"));
    let fixed = fixed.unwrap();
    assert!(fixed.value(Metric::LossRate).unwrap() > 0.0);
    assert!(
        fixed
            .warnings
            .iter()
            .any(|line| line.subject == "many unsynchronized long flows")
    );
    let unheard_of = ClosedFormEngine.run(&both, &with_model("unheard-of"));
    assert!(unheard_of.is_err());
}

/// The RED rule reads the scenario's queue. With Adaptive RED the queue is at the edge of its
/// target. With a fixed p_max the flows determine it between the thresholds.
#[test]
fn the_red_rule_reads_the_scenario_s_thresholds() {
    let queue = |red: &str| {
        let scenario = scenario(&format!(
            "[link]\nrate = \"50Mbps\"\nbuffer = \"500p\"\nqueue = {{ kind = \"red\", {red} }}\n\
             [[flows]]\ncount = 50\ncca = \"newreno\"\nrtt = {{ linspace = [\"90ms\", \"112.5ms\"] }}\n\
             packet = \"1000B\"\n"
        ));
        let found = rule("barman-red").unwrap().predict(&scenario).unwrap();
        assert!(found.metrics[&Metric::Utilization] > 0.9);
        found.metrics[&Metric::QueueMean]
    };
    // The target is 40 to 60 % of the way.
    let rests = queue("min = \"100p\", max = \"300p\"");
    assert!((179.0..=221.0).contains(&rests), "{rests}");
    // A quarter of the buffer is 125 packets. The p_max reaches its smallest value before the
    // target is met.
    let shares = queue("min = \"25%\", max = \"50%\"");
    assert_eq!(shares, queue("min = \"125p\", max = \"250p\""));
    let bottom = "adaptive = false, max_p = 0.0016";
    let rests = queue(&format!("min = \"125p\", max = \"250p\", {bottom}"));
    assert!((shares / rests - 1.0).abs() < 1e-6, "{shares} {rests}");
    let fixed = |max_p: f64| {
        queue(&format!(
            "min = \"10p\", max = \"200p\", adaptive = false, max_p = {max_p}"
        ))
    };
    let (steep, flat) = (fixed(0.1), fixed(0.01));
    assert!(10.0 < steep && steep < flat, "{steep} {flat}");
}

/// DCTCP's largest queue is its threshold and a packet per flow. Other controllers have no such
/// queue. A scenario without a threshold gets a seventh of its bandwidth-delay product.
#[test]
fn the_dctcp_rule_reads_the_marking_threshold() {
    let port = |cca: &str, queue: &str, buffer: &str| {
        scenario(&format!(
            "[link]\nrate = \"10Gbps\"\nbuffer = \"{buffer}\"\nqueue = {queue}\n\
             [[flows]]\ncount = 4\ncca = \"{cca}\"\necn = true\nrtt = \"100us\"\npacket = \"1500B\"\n"
        ))
    };
    let step = "{ kind = \"step\", threshold = \"40p\" }";
    let dctcp = port("dctcp", step, "200p");
    assert_eq!(packets("dctcp-sawtooth", &dctcp), 44);
    let found = rule("dctcp-sawtooth").unwrap().predict(&dctcp).unwrap();
    let amplitude = 0.5 * (8.0 * (dctcp.bdp_packets().unwrap() + 40.0)).sqrt();
    assert!((found.metrics[&Metric::QueueMean] - (44.0 - amplitude / 2.0)).abs() < 1e-9);
    let plain = port("dctcp", "\"droptail\"", "200p");
    let seventh = (plain.bdp_packets().unwrap() / 7.0 + 4.0).ceil() as u64;
    assert_eq!(packets("dctcp-sawtooth", &plain), seventh);
    let failing = |scenario: &Scenario| {
        let checks = rule("dctcp-sawtooth").unwrap().assumptions(scenario);
        checks
            .iter()
            .filter(|check| check.holds == Holds::No)
            .count()
    };
    assert_eq!((failing(&dctcp), failing(&plain)), (0, 1));
    assert_eq!(failing(&port("newreno", step, "200p")), 1);
    for (refused, why) in [
        (port("dctcp", step, "43p"), "44 packets"),
        (plain, "threshold"),
        (port("newreno", step, "200p"), "DCTCP"),
    ] {
        let error = rule("dctcp-sawtooth").unwrap().predict(&refused);
        assert!(error.unwrap_err().to_string().contains(why), "{why}");
    }
}
