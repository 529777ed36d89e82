//! Tests of the rules on mixes. An engineer can read the reasons. The shares do not depend on the
//! order or the division of flows in a scenario.

use forebay_closed_form::rules;
use forebay_scenario::{Check, ClosedForm, Format, Holds, Scenario};
use proptest::prelude::*;

fn scenario(toml: &str) -> Scenario {
    Scenario::parse(toml, Format::Toml, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

/// A link of 50 Mb/s with these groups of flows.
fn link(extra: &str, groups: &[String]) -> Scenario {
    let groups = groups.iter().enumerate().map(|(number, body)| {
        format!("[[flows]]\nname = \"g{number}\"\npacket = \"1000B\"\n{body}\n")
    });
    let groups: String = groups.collect();
    scenario(&format!(
        "[link]\nrate = \"50Mbps\"\nbuffer = \"100p\"\n{extra}\n{groups}"
    ))
}

fn long(count: u32, cca: &str) -> String {
    format!("count = {count}\ncca = \"{cca}\"\nrtt = {{ uniform = [\"20ms\", \"80ms\"] }}")
}

fn check(rule: &str, part: &str, scenario: &Scenario) -> Check {
    let rule = forebay_closed_form::rule(rule).unwrap();
    let checks = rule.assumptions(scenario);
    let found = checks
        .into_iter()
        .find(|check| check.assumption.contains(part));
    found.unwrap_or_else(|| panic!("{} has no check {part}", rule.name()))
}

/// The verdict and share of every check, and whether there is a size.
fn verdicts(scenario: &Scenario) -> Vec<(&'static str, &'static str, Holds, Option<u64>, bool)> {
    let mut all = Vec::new();
    for rule in rules() {
        let sized = rule.size(scenario, scenario.goals()).is_ok();
        for check in rule.assumptions(scenario) {
            let share = check.share.map(|share| (share * 1e6).round() as u64);
            all.push((rule.name(), check.assumption, check.holds, share, sized));
        }
    }
    all
}

#[test]
fn a_rule_speaks_of_the_share_that_it_fits() {
    let mix = |newreno: u32, bbr: u32| link("", &[long(newreno, "newreno"), long(bbr, "bbr")]);
    let most = check("sqrt-n", "cut at a loss", &mix(60, 40));
    assert_eq!((most.holds, most.share), (Holds::Partly, Some(0.6)));
    assert_eq!(
        most.why,
        "fits 60 % of the long flows: newreno; the others use bbr"
    );
    let least = check("bbr", "BBR version 1", &mix(60, 40));
    assert_eq!((least.holds, least.share), (Holds::No, Some(0.4)));
    // At a tie the rule does not apply.
    for rule in ["sqrt-n", "bbr"] {
        let tie = check(
            rule,
            if rule == "bbr" {
                "BBR"
            } else {
                "cut at a loss"
            },
            &mix(50, 50),
        );
        assert_eq!((tie.holds, tie.share), (Holds::No, Some(0.5)), "{rule}");
    }
    let all = check("sqrt-n", "cut at a loss", &link("", &[long(60, "newreno")]));
    assert_eq!((all.holds, all.share), (Holds::Yes, Some(1.0)));
}

/// A formula for one kind of flow uses the commonest that it fits. At a tie the deeper decrease
/// decides, whichever comes first, because its buffer is larger.
#[test]
fn at_a_tie_the_deeper_cut_decides() {
    let size = |groups: &[String]| {
        let scenario = link("", groups);
        forebay_closed_form::rule("bdp")
            .unwrap()
            .size(&scenario, &[])
            .unwrap()
    };
    let (reno, cubic) = (|n| long(n, "newreno"), |n| long(n, "cubic"));
    let deep = size(&[reno(8)]);
    assert_ne!(deep, size(&[cubic(8)]));
    assert_eq!(size(&[reno(4), cubic(4)]), deep);
    assert_eq!(size(&[cubic(4), reno(4)]), deep);
    assert_eq!(size(&[cubic(2), reno(4), cubic(2)]), deep);
    assert_eq!(size(&[reno(4), cubic(5)]), size(&[cubic(9)]));
    // BBR has no such decrease, so the other flows decide, however few they are.
    assert_eq!(size(&[long(7, "bbr"), reno(1)]), deep);
}

/// Scenarios of all kinds: those that come with forebay, and odd ones.
fn scenarios() -> Vec<(String, Scenario)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut all = Vec::new();
    for folder in [folder.clone(), folder.join("fluid-and-packet")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(path).unwrap();
                // The test does not read the files that a scenario refers to.
                if !text.contains("file = ") {
                    all.push((name, scenario(&text)));
                }
            }
        }
    }
    assert!(all.len() > 20);
    all.extend(odd_scenarios());
    all
}

fn odd_scenarios() -> Vec<(String, Scenario)> {
    let poisson = |rate: &str| format!("workload = {{ poisson = {{ rate = \"{rate}\" }} }}");
    let web = |load: f64| {
        format!(
            "rtt = \"60ms\"\nworkload = {{ open_loop = {{ load = {load}, size = {{ exponential = \"30kB\" }} }} }}"
        )
    };
    let users = "cca = \"cubic\"\nrtt = \"60ms\"\nworkload = { closed_loop = { users = 20, think = \"1s\", size = \"1MB\" } }".to_owned();
    let video =
        "rtt = \"20ms\"\ncount = 3\nworkload = { periodic = { every = \"2s\", size = \"1MB\" } }"
            .to_owned();
    let incast =
        "rtt = \"1ms\"\nworkload = { incast = { servers = 40, pause = \"10ms\", size = \"10p\" } }"
            .to_owned();
    let once = "rtt = \"20ms\"\nworkload = { finite = { size = \"1MB\" } }".to_owned();
    let limited =
        "rtt = \"20ms\"\ncount = 4\nworkload = { app_limited = { rate = \"5Mbps\" } }".to_owned();
    let held = format!("{}\nreceive_window = \"2p\"", long(5, "newreno"));
    let paced = format!(
        "{}\npacing = true\nreceive_window = \"9p\"",
        long(50, "newreno")
    );
    let access =
        |ratio: f64, rest: &str| format!("{rest}\naccess = {{ rate = \"{}bps\" }}", 50e6 / ratio);
    let bursts = |count: u32, peak: &str| {
        format!(
            "count = {count}\nworkload = {{ on_off = {{ peak = \"{peak}\", on = {{ exponential = \"1s\" }}, off = {{ exponential = \"1s\" }} }} }}"
        )
    };
    let groups: Vec<(&str, Vec<String>)> = vec![
        ("no responsive flow", vec![poisson("30Mbps")]),
        ("no traffic to speak of", vec![poisson("1bps")]),
        ("exactly full", vec![poisson("50Mbps")]),
        ("overload", vec![poisson("60Mbps")]),
        (
            "flood beside flows",
            vec![poisson("60Mbps"), long(4, "newreno")],
        ),
        (
            "one constant stream",
            vec!["workload = { cbr = { rate = \"20Mbps\" } }".to_owned()],
        ),
        ("one bursty source", vec![bursts(1, "20Mbps")]),
        ("a crowd", vec![bursts(300, "100kbps")]),
        (
            "fast and slow sources",
            vec![bursts(30, "1Mbps"), bursts(3, "9Mbps")],
        ),
        ("voip", vec!["count = 100\nworkload = \"voip\"".to_owned()]),
        ("web alone", vec![web(0.6)]),
        ("too much web", vec![web(1.3)]),
        ("web behind access links", vec![access(100.0, &web(0.6))]),
        ("web behind fast access links", vec![access(0.5, &web(0.6))]),
        ("users", vec![users.clone()]),
        ("users and elephants", vec![users, long(2, "newreno")]),
        ("video", vec![video]),
        ("incast", vec![incast]),
        ("once", vec![once]),
        ("limited by applications", vec![limited]),
        ("held down", vec![held]),
        ("paced", vec![paced]),
        ("one flow", vec![long(1, "newreno")]),
        ("one cubic", vec![long(1, "cubic")]),
        ("one bbr", vec![long(1, "bbr")]),
        ("only bbr", vec![long(300, "bbr")]),
        ("only vegas", vec![long(30, "vegas")]),
        ("dctcp", vec![format!("{}\necn = true", long(30, "dctcp"))]),
        ("reno and bbr", vec![long(60, "newreno"), long(40, "bbr")]),
        ("a tie", vec![long(50, "newreno"), long(50, "bbr")]),
        (
            "three ways",
            vec![long(50, "newreno"), long(30, "cubic"), long(20, "bbr")],
        ),
        (
            "reno and cubic",
            vec![long(100, "newreno"), long(200, "cubic")],
        ),
        (
            "two cubics",
            vec![
                format!("count = 20\nrtt = \"30ms\"\ncca = {{ kind = \"cubic\", beta = 0.8 }}"),
                long(30, "cubic"),
            ],
        ),
        (
            "half paced",
            vec![
                long(60, "newreno"),
                format!("{}\npacing = true", long(140, "newreno")),
            ],
        ),
        ("very many", vec![long(100_000, "newreno")]),
    ];
    let mut all: Vec<(String, Scenario)> = groups
        .iter()
        .map(|(name, groups)| ((*name).to_owned(), link("", groups)))
        .collect();
    for queue in ["fq_codel", "codel", "red", "pie", "dualpi2", "sfq"] {
        let changed = |name: &str, groups: &[String]| {
            let toml = format!("queue = \"{queue}\"");
            (format!("{name} through {queue}"), link(&toml, groups))
        };
        all.push(changed("one flow", &[long(1, "cubic")]));
        all.push(changed("many", &[long(200, "newreno"), poisson("5Mbps")]));
    }
    for goals in [
        "loss_rate = \"<= 0%\"",
        "utilization = \">= 100%\"",
        "queue_delay_p99 = \"<= 1us\"",
        "loss_rate = \"<= 100%\"",
    ] {
        for (name, groups) in &groups {
            let mut groups = groups.clone();
            groups.push(format!("{}\n[goal]\n{goals}", poisson("1kbps")));
            all.push((format!("{name} with {goals}"), link("", &groups)));
        }
    }
    all
}

/// Every sentence of a rule about a scenario.
fn sentences(rule: &dyn ClosedForm, scenario: &Scenario) -> Vec<String> {
    let mut all: Vec<String> = rule
        .assumptions(scenario)
        .into_iter()
        .map(|check| check.why)
        .collect();
    all.extend(
        rule.size(scenario, scenario.goals())
            .err()
            .map(|error| error.to_string()),
    );
    all.extend(rule.predict(scenario).err().map(|error| error.to_string()));
    all
}

/// A reason continues "does not apply: ". It contains no message of the program about itself, no
/// key names and no formula.
#[test]
fn reasons_are_words_of_an_engineer() {
    const BANNED: &[&str] = &[
        "found",
        "allowed",
        "not applicable",
        "no solution",
        "_",
        "`",
        "<",
        ">",
        "==",
        "NaN",
        "inf ",
        "{",
        "}",
        "(packets)",
        "(s)",
        "(share)",
        "e-",
        "e+",
        " rad",
        "taken for all",
        "None",
    ];
    const VERBS: &[&str] = &[
        " is ",
        " are ",
        " be ",
        " has ",
        " have ",
        " use ",
        " uses ",
        " fill ",
        " fills ",
        "fits ",
        " offer ",
        " offers ",
        " move ",
        " keep ",
        " keeps ",
        " limits ",
        " limit ",
        " need ",
        " needs ",
        " marks ",
        " takes ",
        " take ",
        " reacts ",
        " says ",
        " does ",
        " loses ",
        " leaves ",
        " sends ",
        " comes ",
        " oscillate ",
        " hits ",
        " lasts ",
        " gives ",
        " send ",
        " share ",
        " lets ",
        " prevent ",
        " allow ",
        " can ",
        " reduces ",
    ];
    let print = std::env::var_os("PRINT_REASONS").is_some();
    let mut seen = std::collections::BTreeSet::new();
    for (name, scenario) in scenarios() {
        for rule in rules() {
            for why in sentences(*rule, &scenario) {
                let at = format!("{} on {name}: {why}", rule.name());
                for banned in BANNED {
                    assert!(!why.contains(banned), "`{banned}` in {at}");
                }
                let first = why.chars().next().unwrap();
                assert!(first.is_lowercase() || first.is_ascii_digit(), "{at}");
                assert!(
                    why.ends_with(|c: char| c.is_alphanumeric() || c == '%'),
                    "{at}"
                );
                assert!(VERBS.iter().any(|verb| why.contains(verb)), "no verb: {at}");
                assert!(why.len() < 240, "{at}");
                for plural in ["one long flows", "1 long flow", "1 flow", " 1 packets"] {
                    assert!(
                        !why.contains(plural) || why.contains(&format!("1{plural}")),
                        "{at}"
                    );
                }
                if print && seen.insert((rule.name(), why.clone())) {
                    println!("{:18} {why}   [{name}]", rule.name());
                }
            }
        }
    }
}

/// Every rule that averages over many flows does not hold for one flow, whatever it sends, and says
/// so.
#[test]
fn many_flows_are_not_one() {
    let many = [
        "sqrt-n",
        "wischik-mckeown",
        "barman-droptail",
        "barman-red",
        "full-link-loss",
        "tiny-buffers",
        "small-buffers",
        "flow-proportional",
        "gorinsky",
        "power-law",
    ];
    for rule in many {
        for cca in ["newreno", "cubic", "bbr", "dctcp"] {
            for count in [1, 3] {
                let few = check(rule, "many", &link("", &[long(count, cca)]));
                assert_eq!(few.holds, Holds::No, "{rule} {cca}: {}", few.why);
            }
            let enough = check(rule, "many", &link("", &[long(400, cca)]));
            assert_eq!(enough.holds, Holds::Yes, "{rule} {cca}: {}", enough.why);
        }
    }
    for rule in ["mm1k", "core-access", "processor-sharing"] {
        let stream = "workload = { cbr = { rate = \"20Mbps\" } }".to_owned();
        let one = check(rule, "many", &link("", std::slice::from_ref(&stream)));
        assert_eq!(one.holds, Holds::No, "{rule}: {}", one.why);
        let crowd = check(rule, "many", &link("", &[format!("count = 40\n{stream}")]));
        assert_eq!(crowd.holds, Holds::Yes, "{rule}: {}", crowd.why);
        let poisson = "workload = { poisson = { rate = \"20Mbps\" } }".to_owned();
        let poisson = check(rule, "many", &link("", &[poisson]));
        assert_eq!(poisson.holds, Holds::Yes, "{rule}: {}", poisson.why);
    }
    // Access links do not make transfers out of long flows.
    let elephants = format!("{}\naccess = {{ rate = \"1Gbps\" }}", long(4, "newreno"));
    let poisson = "workload = { poisson = { rate = \"5Mbps\" } }".to_owned();
    let both = check("core-access", "transfers", &link("", &[elephants, poisson]));
    assert_eq!(both.holds, Holds::No, "{}", both.why);
    // The rules for one flow do not hold for many.
    for rule in ["bdp", "one-flow"] {
        let crowd = check(rule, "one long flow", &link("", &[long(400, "newreno")]));
        assert_eq!(crowd.holds, Holds::No, "{rule}: {}", crowd.why);
    }
}

/// A group of flows, and its number of flows in pairs, so that the group can be halved.
fn group() -> impl Strategy<Value = (u32, String)> {
    let cca = prop::sample::select(vec![
        "newreno", "cubic", "bbr", "scalable", "vegas", "dctcp",
    ]);
    let persistent = (
        cca,
        prop::sample::select(vec![
            "",
            "pacing = true",
            "receive_window = \"4p\"",
            "access = { rate = \"2Mbps\" }",
        ]),
    )
        .prop_map(|(cca, rest)| {
            format!(
                "cca = \"{cca}\"\nrtt = {{ uniform = [\"20ms\", \"80ms\"] }}\n{rest}\ncount = #"
            )
        });
    let other = prop::sample::select(vec![
        "cca = \"cubic\"\nrtt = \"60ms\"\nworkload = { closed_loop = { users = #, think = \"2s\", size = \"600kB\" } }",
        "cca = \"bbr\"\nrtt = \"60ms\"\nworkload = { periodic = { every = \"4s\", size = \"1MB\" } }\ncount = #",
        "rtt = \"60ms\"\nworkload = { app_limited = { rate = \"200kbps\" } }\ncount = #",
        "workload = { on_off = { peak = \"400kbps\", on = \"1s\", off = \"1s\" } }\ncount = #",
        "workload = \"voip\"\ncount = #",
    ])
    .prop_map(str::to_owned);
    (1_u32..40, prop_oneof![3 => persistent, 1 => other])
}

/// Users that take the whole link leave nothing to others, in however many groups a scenario lists
/// them.
#[test]
fn what_fills_the_link_to_the_last_bit_fills_it_in_any_order() {
    let users = |users: u32| {
        format!(
            "cca = \"cubic\"\nrtt = \"60ms\"\nworkload = {{ closed_loop = {{ users = {users}, think = \"2s\", size = \"600kB\" }} }}"
        )
    };
    let lasting =
        "cca = \"newreno\"\nrtt = { uniform = [\"20ms\", \"80ms\"] }\ncount = 26".to_owned();
    let with = |groups: &[u32], beside: &[String]| {
        let groups = groups.iter().map(|&n| users(n));
        verdicts(&link(
            "",
            &groups.chain(beside.iter().cloned()).collect::<Vec<_>>(),
        ))
    };
    for beside in [&[][..], &[lasting]] {
        for (together, apart) in [
            ([18, 66].as_slice(), [9, 66, 9].as_slice()),
            (&[40, 46], &[40, 23, 23]),
            (&[6, 66], &[3, 66, 3]),
        ] {
            assert_eq!(with(together, beside), with(apart, beside), "{together:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Verdicts do not depend on the order of groups, nor on the division of equal flows into
    /// groups.
    #[test]
    fn verdicts_speak_of_the_mix(groups in prop::collection::vec(group(), 1..5), turn in 0_usize..5, half in 0_usize..5) {
        let body = |(halves, body): &(u32, String), flows: u32| body.replace('#', &(halves * flows).to_string());
        let all: Vec<String> = groups.iter().map(|each| body(each, 2)).collect();
        let base = verdicts(&link("", &all));
        let mut turned = all.clone();
        turned.rotate_left(turn % all.len());
        prop_assert_eq!(&verdicts(&link("", &turned)), &base);
        turned.reverse();
        prop_assert_eq!(&verdicts(&link("", &turned)), &base);
        let mut split = all.clone();
        let at = half % all.len();
        split[at] = body(&groups[at], 1);
        split.push(body(&groups[at], 1));
        prop_assert_eq!(&verdicts(&link("", &split)), &base);
    }
}
