//! Reading, printing and refusing scenarios.
use forebay_scenario::{
    BackgroundRate, BufferLimit, BufferSize, Dimension, Format, Override, RateLayer, Scenario,
    ScenarioError, VictimPolicy, schema,
};
use forebay_units::Bytes;
use proptest::prelude::*;

pub(crate) const EXAMPLE: &str = r#"
title = "Access link, four elephants over a Poisson background"

[link]
rate   = "50Mbps"
buffer = "100p"
queue  = "droptail"

[[flows]]
name     = "elephants"
count    = 4
cca      = "newreno"
rtt      = "100ms"
packet   = "1000B"
workload = "persistent"
start    = { uniform = ["0s", "5s"] }

[[flows]]
name     = "background"
packet   = "1000B"
workload = { poisson = { rate = "25Mbps" } }

[run]
warmup  = "60s"
measure = "240s"
seed    = 1
replications = 3

[goal]
utilization     = ">= 99%"
loss_rate       = "<= 1%"
queue_delay_p99 = "<= 20ms"
"background.loss_rate" = "<= 0.1%"
"#;

pub(crate) fn read(text: &str, overrides: &[&str]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    Scenario::parse(text, Format::Toml, "example.toml", &overrides)
}

pub(crate) fn with(overrides: &[&str]) -> Result<Scenario, ScenarioError> {
    read(EXAMPLE, overrides)
}

#[test]
fn the_contract_example_is_read() {
    let scenario = with(&[]).unwrap();
    assert_eq!(scenario.flows().len(), 2);
    assert_eq!(scenario.persistent_flows(), 4);
    assert_eq!(scenario.bdp_packets(), Some(625.0));
    assert_eq!(scenario.background_load(), 0.5);
    assert_eq!(scenario.goals().len(), 4);
    assert_eq!(scenario.goals()[2].threshold, 0.02);
    assert_eq!(scenario.buffer().packets, 100.0);
    assert_eq!(scenario.buffer().seconds, 0.016);
    assert_eq!(scenario.buffer().bdp, Some(0.16));
}

#[test]
fn a_star_changes_every_group() {
    let scenario = with(&["flows.*.packet=500B"]).unwrap();
    for group in scenario.flows() {
        assert_eq!(group.packet.mean(), 500.0, "{}", group.name);
    }
    for wrong in [
        "flows.*=1",
        "flows.*.nonsense=1",
        "run.*.seed=1",
        "links.*.buffer=1p",
    ] {
        let error = with(&[wrong]).unwrap_err();
        assert!(!error.value_error.allowed().is_empty(), "{wrong}");
    }
}

#[test]
fn canonical_json_reads_back_to_an_equal_scenario() {
    for change in [
        "link.buffer=0.5BDP",
        "link.buffer=5ms",
        "flows.elephants.rtt={ linspace = [\"50ms\", \"150ms\"] }",
        "flows.elephants.rtt={ list = [\"1ms\", \"2ms\", \"3ms\", \"4ms\"], jitter = \"1us\" }",
        "flows.elephants.cca={ kind = \"cubic\", beta = 0.8 }",
        "flows.elephants.stack=linux",
        "flows.elephants.stack=ns2",
        "flows.elephants.reduction=rate_halving",
        "flows.elephants.initial_rto=3s",
        "flows.elephants.frto=true",
        "flows.elephants.slow_start_after_idle=false",
        "flows.elephants.access={ rate = \"100Mbps\", queue = \"50p\" }",
        "flows.elephants.workload={ finite = { size = { pareto = { shape = 1.5, mean = \"100kB\" } } } }",
        "flows.elephants.workload={ finite = { size = { lognormal = { mean = \"100kB\", sigma = 1.5 } } } }",
        "flows.elephants.workload={ finite = { size = { weibull = { mean = \"100kB\", shape = 0.5 } } } }",
        "flows.elephants.start={ weibull = { scale = \"5s\", shape = 2 } }",
        "flows.elephants.workload={ finite = { size = { cdf = [[\"1kB\", 0.0], [\"5kB\", 0.5], [\"1MB\", 1.0]] } } }",
        "flows.background.workload={ on_off = { peak = \"1Mbps\", on = { exponential = \"1s\" }, off = \"2s\" } }",
        "fluid.law=uniform",
        "fluid.victims=random",
        "fluid.victims={ priority = [[1, 2.5, -3, 1e-7], [4, 3, 2, 1]] }",
        "fluid.background={ redrawn = \"12.5ms\" }",
        "fluid.background=constant",
        "trace.record=[\"packets\"]",
        "goal.background.queue_delay_mean=<= 1.5ms",
    ] {
        let scenario = with(&[change]).unwrap();
        let json = scenario.canonical_json();
        let again = Scenario::parse(&json, Format::Json, "again", &[]).unwrap();
        assert_eq!(scenario, again, "{change}");
        assert_eq!(json, again.canonical_json(), "{change}");
        assert_eq!(scenario.sha256(), again.sha256());
    }
}

#[test]
fn timeouts_are_tested_with_linux_only_unless_said_otherwise() {
    let scenario = |overrides: &[&str]| with(overrides).unwrap();
    for (stack, frto) in [("rfc", false), ("ns2", false), ("linux", true)] {
        let preset = format!("flows.0.stack=\"{stack}\"");
        assert_eq!(scenario(&[&preset]).flows()[0].stack.frto, frto);
        let changed = format!("flows.0.frto={}", !frto);
        assert_eq!(scenario(&[&preset, &changed]).flows()[0].stack.frto, !frto);
        // Scenarios without it keep their canonical form, and with it their hash.
        let shown = serde_json::to_string(&scenario(&[&preset])).unwrap();
        assert_eq!(shown.contains("frto"), frto, "{stack}");
    }
}

#[test]
fn how_a_window_falls_is_that_of_the_recovery_unless_said_otherwise() {
    use forebay_scenario::{Reduction, Stack, TimeoutSsthresh};
    let stack = |overrides: &[&str]| with(overrides).unwrap().flows()[0].stack;
    for (recovery, reduction) in [
        ("newreno", Reduction::AtOnce),
        ("sack", Reduction::AtOnce),
        ("fack", Reduction::RateHalving),
        ("rack", Reduction::Prr),
    ] {
        let own = stack(&[&format!("flows.0.recovery=\"{recovery}\"")]);
        assert_eq!(own.reduction(), reduction);
    }
    let chosen = stack(&[
        "flows.0.stack=\"linux\"",
        "flows.0.reduction=\"rate_halving\"",
    ]);
    assert_eq!(chosen.reduction(), Reduction::RateHalving);
    assert_eq!(Stack::RFC.timeout_ssthresh, TimeoutSsthresh::First);
    assert_eq!(
        stack(&["flows.0.stack=\"ns2\""]).timeout_ssthresh,
        TimeoutSsthresh::Every
    );
    let refused = with(&["flows.0.recovery=\"newreno\"", "flows.0.reduction=\"prr\""]);
    assert!(refused.unwrap_err().to_string().contains("deflates"));
}

#[test]
fn every_bench_scenario_shape_is_read() {
    let mixture = "flows.elephants.workload={ closed_loop = { users = 450, think = { exponential = \"5s\" }, \
        size = { mixture = [{ weight = 0.266, exponential = \"15p\" }, { weight = 0.734, exponential = \"50p\" }] } } }";
    let scenario = with(&["flows.elephants.count=450", mixture]).unwrap();
    assert_eq!(scenario.flows()[0].count, 450);
    let links = EXAMPLE.replace("[link]", "[[links]]\nname = \"a\"").replace(
        "[[flows]]\nname     = \"elephants\"",
        "[[links]]\nname = \"b\"\nrate = \"1Gbps\"\nbuffer = \"1p\"\ndelay = \"5ms\"\ntarget = true\n\
         [[flows]]\npath = [\"a\", \"b\"]\nname = \"elephants\"",
    );
    let links = links.replace(
        "name     = \"background\"",
        "name = \"background\"\npath = [\"a\"]",
    );
    let scenario = read(&links, &["link.buffer=7p"]).unwrap();
    assert_eq!(scenario.target().name, "b");
    assert_eq!(scenario.target().buffer, BufferLimit::Packets(7));
    assert_eq!(scenario.background_load(), 0.0);
}

#[test]
fn buffers_resolve_to_packets_or_bytes() {
    let limit = |text: &str| {
        with(&[&format!("link.buffer={text}")])
            .unwrap()
            .target()
            .buffer
    };
    assert_eq!(limit("100p"), BufferLimit::Packets(100));
    assert_eq!(limit("64KiB"), BufferLimit::Bytes(Bytes::new(65536)));
    assert_eq!(limit("5ms"), BufferLimit::Bytes(Bytes::new(31250)));
    assert_eq!(limit("0.5BDP"), BufferLimit::Bytes(Bytes::new(312_500)));
    let changed = with(&[])
        .unwrap()
        .with_buffer(BufferSize::Bdp(2.0))
        .unwrap();
    assert_eq!(
        changed.target().buffer,
        BufferLimit::Bytes(Bytes::new(1_250_000))
    );
}

/// A name that is taken for another, and British spellings, give the very scenario.
#[test]
fn aliases_and_spellings_are_canonical_in_the_end() {
    let hash = |change: &str| with(&[change]).unwrap().sha256();
    for (alias, name) in [
        ("flows.0.cca=reno", "flows.0.cca=newreno"),
        ("flows.0.cca={ kind = \"reno\" }", "flows.0.cca=newreno"),
        ("link.queue=fifo", "link.queue=droptail"),
        ("goal.utilisation=>= 90%", "goal.utilization=>= 90%"),
        (
            "fluid.minimum_synchronisation=0.5",
            "fluid.minimum_synchronization=0.5",
        ),
        (
            "trace.record=[\"utilisation\"]",
            "trace.record=[\"utilization\"]",
        ),
    ] {
        assert_eq!(hash(alias), hash(name), "{alias}");
    }
    let british = EXAMPLE.replace("utilization", "utilisation");
    assert_ne!(british, EXAMPLE);
    assert_eq!(
        read(&british, &[]).unwrap().sha256(),
        with(&[]).unwrap().sha256()
    );
    let twice = EXAMPLE.replace("[goal]", "[goal]\nutilisation = \">= 1%\"");
    let error = read(&twice, &[]).unwrap_err().to_string();
    assert!(error.contains("`utilization` in two spellings"), "{error}");
}

#[test]
fn a_renamed_key_gives_the_same_canonical_form_and_hash() {
    let pairs = [
        (
            "link.outages={ between = \"9s\", lasting = \"1s\" }",
            "link.outages={ between = \"9s\", duration = \"1s\" }",
        ),
        (
            "link.medium={ kind = \"wifi\", air = \"2ms\" }",
            "link.medium={ kind = \"wifi\", max_airtime = \"2ms\" }",
        ),
        (
            "flows.elephants.timeout_cut=every",
            "flows.elephants.timeout_ssthresh=every",
        ),
        (
            "fluid.background={ redrawn = \"20ms\" }",
            "fluid.background={ resampled = \"20ms\" }",
        ),
    ];
    for (old, new) in pairs {
        let (before, now) = (with(&[old]).unwrap(), with(&[new]).unwrap());
        assert_eq!(before.canonical_json(), now.canonical_json(), "{new}");
        assert_eq!(before.sha256(), now.sha256(), "{new}");
    }
    let both = "[link]\noutages = { between = \"9s\", lasting = \"1s\", duration = \"1s\" }";
    let error = read(&EXAMPLE.replace("[link]", both), &[])
        .unwrap_err()
        .to_string();
    assert!(error.contains("`duration` in two spellings"), "{error}");
    let wrong = with(&["link.outages={ between = \"9s\", lasting = \"1x\" }"]).unwrap_err();
    assert!(wrong.to_string().contains("outages"), "{wrong}");
}

/// Every controller and discipline is explained, and no spelling belongs to two of a kind.
#[test]
fn every_algorithm_is_explained_and_spelled_once() {
    let kinds = [
        forebay_congestion::descriptions(),
        forebay_discipline::descriptions(),
    ];
    for descriptions in kinds {
        let mut spellings = std::collections::BTreeSet::new();
        for known in descriptions {
            assert!(
                !known.title.is_empty() && !known.source.is_empty(),
                "{}",
                known.name
            );
            assert!(!known.formula.is_empty(), "{}", known.name);
            assert!(
                known.formula.iter().all(|line| !line.is_empty()),
                "{}",
                known.name
            );
            for spelling in [&known.name].into_iter().chain(known.aliases) {
                assert!(spellings.insert(*spelling), "{spelling}");
                assert!(known.is_called(spelling));
            }
        }
    }
}

/// Unchanged, not right: hashes of scenarios stand in reports and file names, and a key that is
/// added may not change those of scenarios without it.
#[test]
fn the_hash_of_a_scenario_stays() {
    let hash = "61f241b94c57f18c3f5ea2b3efcda2e33508d9104ae2c12f81f1bfee80881bca";
    assert_eq!(with(&[]).unwrap().sha256(), hash);
}

/// Bounds are within what they bound, and links without names are numbered.
#[test]
fn the_ends_of_bounds_are_allowed() {
    for allowed in [
        "flows.0.min_rto=1us",
        "flows.0.min_rto=60s",
        "flows.0.clock=0s",
        "flows.0.header=0B",
        "flows.0.receive_window=1p",
        "flows.0.initial_ssthresh=2p",
        "run.measure=100d",
        "run.replications=1000000",
        "link.rate=1kbps",
        "link.rate=100Tbps",
    ] {
        with(&[allowed]).expect(allowed);
    }
    for refused in ["flows.0.initial_ssthresh=1p", "flows.0.receive_window=0.5"] {
        with(&[refused]).expect_err(refused);
    }
    let links = "link = [{ rate = \"1Mbps\", buffer = \"1p\", target = true }, { rate = \"1Mbps\", buffer = \"1p\" }]";
    let text = format!(
        "{}\n[[flows]]\nrtt = \"1s\"\npath = [\"link\", \"link1\"]\n",
        links.replacen("link", "links", 1)
    );
    let scenario = read(&text, &[]).unwrap();
    assert_eq!(scenario.links()[1].name, "link1");
    assert_eq!(scenario.flows()[0].path, [0, 1]);
    // The keys that unresponsive, closed-loop and preset groups leave out or take over.
    assert!(with(&["flows.1.reverse=[\"link\"]"]).is_err());
    assert!(
        with(&["memories=[{ name = \"a\", size = \"1p\" }, { name = \"a\", size = \"1p\" }]"])
            .is_err()
    );
    assert_eq!(
        with(&["flows.0.stack=ns2"]).unwrap().flows()[0].stack,
        forebay_scenario::Stack::NS2
    );
    // The second group says nothing of its controller.
    let linux = with(&["flows.1.stack=linux"]).unwrap();
    assert_eq!(
        linux.flows()[1].controller.parameters().word("variant"),
        "linux"
    );
    let users = "flows.0.workload={ closed_loop = { users = 4, think = \"1s\", size = \"9kB\" } }";
    let shown = serde_json::to_value(with(&[users]).unwrap()).unwrap();
    assert!(
        shown["flows"][0].get("count").is_none(),
        "users count the flows"
    );
    let linux = with(&["flows.0.cca=cubic", "flows.0.stack=linux"]).unwrap();
    assert_eq!(
        linux.flows()[0].controller.parameters().word("variant"),
        "linux"
    );
}

#[test]
fn a_range_upside_down_names_both_ends() {
    let red = |ends: &str| with(&[&format!("link.queue={{ kind = \"red\", {ends} }}")]);
    let error = red("min = \"80p\", max = \"40p\"").unwrap_err();
    assert_eq!(
        error.at_key(),
        "link.queue.max: found `40p`; allowed: at least min, which is `80p`"
    );
    for ends in [
        "min = \"40p\", max = \"40p\"",
        "max = \"1p\"",
        "min = \"5ms\", max = \"100p\"",
        "bottom = 0.6",
    ] {
        assert!(red(ends).is_ok(), "{ends}");
    }
}

#[test]
fn harmonic_mean_is_weighted_and_computed_from_the_law() {
    let change = "flows.elephants.rtt=[\"30ms\", \"60ms\", \"60ms\", \"60ms\"]";
    let rtt = with(&[change]).unwrap().harmonic_rtt().unwrap();
    assert!((rtt - 0.048).abs() < 1e-12, "{rtt}");
    let uniform = with(&["flows.elephants.rtt={ uniform = [\"50ms\", \"150ms\"] }"]).unwrap();
    let rtt = uniform.harmonic_rtt().unwrap();
    assert!((rtt - 0.1 / 1.098_612_288_668_109_8).abs() < 1e-9, "{rtt}");
}

#[test]
fn open_loop_load_is_what_was_asked_for() {
    let change =
        "flows.elephants.workload={ open_loop = { load = 0.3, size = { exponential = \"50p\" } } }";
    let scenario = with(&["flows.elephants.count=1", change]).unwrap();
    assert!(
        (scenario.open_loop_load() - 0.3).abs() < 1e-6,
        "{}",
        scenario.open_loop_load()
    );
}

#[test]
fn the_schema_lists_every_registered_name() {
    let text = schema().to_string();
    for name in [
        "droptail",
        "newreno",
        "hstcp",
        "cubic",
        "utilization",
        "minimum_synchronization",
        "priority",
        "redrawn",
    ] {
        assert!(
            text.contains(&format!("\"{name}")) || text.contains(name),
            "{name}"
        );
    }
}

proptest! {
    #[test]
    fn any_priorities_and_any_redrawing_survive_the_canonical_form(
        rows in prop::collection::vec(prop::collection::vec(-1e9..1e9f64, 4), 1..5),
        picoseconds in 1_000_000..1_000_000_000_000_000u64,
    ) {
        let changes = [
            format!("fluid.victims={{ priority = {rows:?} }}"),
            format!("fluid.background={{ redrawn = \"{picoseconds}ps\" }}"),
        ];
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        let scenario = with(&changes).unwrap();
        prop_assert_eq!(&scenario.fluid().victims, &VictimPolicy::Priority(rows));
        let every = forebay_units::Time::from_picos(picoseconds);
        prop_assert_eq!(scenario.fluid().background, BackgroundRate::Resampled(every));
        let again = Scenario::parse(&scenario.canonical_json(), Format::Json, "again", &[]);
        prop_assert_eq!(again.as_ref(), Ok(&scenario));
    }

    #[test]
    fn no_text_panics(text in "[\\PC\n]{0,200}") {
        let _ = read(&text, &[]);
    }

    #[test]
    fn no_override_panics(key in "[a-z0-9._*\\[\\]]{1,30}", value in "\\PC{0,30}") {
        let _ = Scenario::parse(EXAMPLE, Format::Toml, "x", &[Override::of("overrides", &key, &value)]);
    }

    #[test]
    fn no_value_at_a_known_key_panics(
        key in prop::sample::select(vec![
            "link.rate", "link.buffer", "link.queue", "link.delay", "flows.elephants.count",
            "flows.elephants.rtt", "flows.elephants.packet", "flows.elephants.start",
            "flows.elephants.workload", "flows.elephants.min_rto", "flows.elephants.access",
            "flows.background.workload", "run.warmup", "run.measure", "run.seed", "goal.utilization",
            "fluid.victims", "fluid.victims.priority", "fluid.background", "fluid.background.redrawn",
            "fluid.empirical",
        ]),
        value in prop::sample::select(vec![
            "0", "-1", "1e300", "nan", "inf", "\"0s\"", "\"1e300s\"", "\"NaNs\"", "[]", "{}", "true",
            "[[]]", "\"1p\"", "\"0p\"", "\"-1p\"", "{ uniform = [] }", "{ mixture = [] }",
            "{ exponential = \"0s\" }", "{ pareto = { shape = 0.0, minimum = \"1s\" } }",
            "{ cdf = [] }", "{ choice = [] }", "{ lognormal = { sigma = 1e300, mean = \"1s\" } }",
            "{ closed_loop = {} }", "{ poisson = { rate = \"0bps\" } }", "\"9999999999999999999s\"",
        ]),
    ) {
        let change = Override::of("overrides", key, value);
        if let Ok(scenario) = Scenario::parse(EXAMPLE, Format::Toml, "x", &[change]) {
            let again = Scenario::parse(&scenario.canonical_json(), Format::Json, "x", &[]);
            prop_assert_eq!(again.as_ref(), Ok(&scenario));
        }
    }
}

/// The canonical form shows by the absence of `start` whether flows are active when the run begins.
/// Scenarios without a repeating workload retain their canonical form, and their SHA-256.
#[test]
fn without_start_what_repeats_itself_is_under_way() {
    let with = |workload: &str, start: &str| {
        let text = format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"9p\"\n[[flows]]\nrtt = \"10ms\"\nworkload = {workload}\n{start}"
        );
        Scenario::parse(&text, Format::Toml, "test.toml", &[])
    };
    for (workload, repeats) in [
        ("\"persistent\"", false),
        ("\"voip\"", true),
        ("{ poisson = { rate = \"1Mbps\" } }", false),
        ("{ cbr = { rate = \"1Mbps\" } }", true),
        (
            "{ on_off = { peak = \"1Mbps\", on = \"1s\", off = \"2s\" } }",
            true,
        ),
        ("{ periodic = { every = \"1s\", size = \"9p\" } }", true),
        ("{ app_limited = { rate = \"1Mbps\" } }", true),
        (
            "{ closed_loop = { users = 3, think = \"1s\", size = \"9p\" } }",
            false,
        ),
    ] {
        let plain = with(workload, "").unwrap();
        assert_eq!(plain.flows()[0].under_way, repeats, "{workload}");
        let canonical = plain.canonical_json();
        assert_eq!(canonical.contains("\"start\""), !repeats, "{canonical}");
        let again = Scenario::parse(&canonical, Format::Json, "again", &[]).unwrap();
        assert_eq!(again.flows(), plain.flows(), "{workload}");
        let started = with(workload, "start = \"0s\"\n").unwrap();
        assert!(!started.flows()[0].under_way && started.canonical_json().contains("\"start\""));
        assert_eq!(started.sha256() == plain.sha256(), !repeats, "{workload}");
    }
}

#[test]
fn periods_of_infinite_mean_have_no_steady_state() {
    let with = |on: &str, start: &str| {
        let text = format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"9p\"\n[[flows]]\n\
             workload = {{ on_off = {{ peak = \"1Mbps\", on = {on}, off = \"1s\" }} }}\n{start}"
        );
        Scenario::parse(&text, Format::Toml, "test.toml", &[])
    };
    let endless = "{ pareto = { shape = 0.9, minimum = \"1s\" } }";
    let error = with(endless, "").unwrap_err().to_string();
    assert!(
        error.contains("flows[0].workload") && error.contains("`start`"),
        "{error}"
    );
    assert!(with(endless, "start = \"0s\"\n").is_ok());
    assert!(
        with(
            "{ pareto = { shape = 0.9, minimum = \"1s\", maximum = \"9s\" } }",
            ""
        )
        .is_ok()
    );
    assert!(with("{ pareto = { shape = 1.1, minimum = \"1s\" } }", "").is_ok());
}

/// Gigabit Ethernet carries 1,488,095 frames of 64 bytes, or 81,274 of 1,518 bytes, in a second
/// (RFC 2544 section 9.1 lists the frame sizes; each takes 8 bytes of preamble and 12 of gap more).
#[test]
fn a_gigabit_ethernet_carries_the_frames_that_the_standard_says() {
    for (payload, frames) in [(46, 1_488_095), (1500, 81_274)] {
        let bytes = payload + RateLayer::L1.framing().get();
        assert_eq!(1_000_000_000 / (8 * bytes), frames);
        assert_eq!(
            RateLayer::L1.framing().get() - RateLayer::L2.framing().get(),
            8 + 12
        );
        assert_eq!(
            payload + RateLayer::L2.framing().get(),
            if payload == 46 { 64 } else { 1518 }
        );
    }
    assert_eq!(RateLayer::L3.framing().get(), 0);
}

/// Flows have numbers of 24 bits, of which two mean something else.
#[test]
fn as_many_flows_as_have_numbers_are_allowed() {
    let flows = |count: u64| {
        let text = format!(
            "[link]\nrate = \"1Gbps\"\nbuffer = \"9p\"\n[[flows]]\nrtt = \"9ms\"\ncount = {count}\n"
        );
        Scenario::parse(&text, Format::Toml, "test", &[])
    };
    assert!(flows((1 << 24) - 2).is_ok());
    let refused = flows((1 << 24) - 1).unwrap_err().to_string();
    assert!(refused.contains("16777214"), "{refused}");
}

/// A text is read in the wanted unit; an error names the allowed texts.
#[test]
fn a_quantity_is_read_in_its_unit() {
    for (dimension, text, value) in [
        (Dimension::Time, "20ms", 0.02),
        (Dimension::Rate, "3Mbps", 3e6),
        (Dimension::Bytes, "1.5kB", 1500.0),
        (Dimension::Packets, "7p", 7.0),
        (Dimension::Share, "45%", 0.45),
        (Dimension::Share, "0.3", 0.3),
    ] {
        assert_eq!(dimension.read(text).unwrap(), value, "{text}");
        let wrong = dimension.read("7 furlongs").unwrap_err().to_string();
        assert!(wrong.contains("`7 furlongs`"), "{wrong}");
    }
    assert!(Dimension::Share.read("-1%").is_err());
}
