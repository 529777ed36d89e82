//! What a run may need, to the packet: counts that follow from a scenario's own numbers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_scenario::{
    FlowGroup, FlowSample, Footprint, Format, Need, PacketRecord, Scenario, TransferRecord,
    Waiting, schema,
};

/// An engine that keeps a byte of each packet that is not acknowledged, and nothing else.
struct Sent;

impl Footprint for Sent {
    fn flow(&self, _: &FlowGroup) -> f64 {
        0.0
    }

    fn source(&self, _: &FlowGroup) -> f64 {
        0.0
    }

    fn waiting(&self, _: &Scenario, _: usize, _: Waiting) -> f64 {
        0.0
    }

    fn outstanding(&self, _: &FlowGroup) -> f64 {
        1.0
    }
}

/// One that keeps a byte of each flow.
struct Flows;

impl Footprint for Flows {
    fn flow(&self, _: &FlowGroup) -> f64 {
        1.0
    }

    fn source(&self, _: &FlowGroup) -> f64 {
        1.0
    }

    fn waiting(&self, _: &Scenario, _: usize, _: Waiting) -> f64 {
        0.0
    }
}

/// Ten seconds of a link of 8 Mb/s, which sends 1000 packets of 1000 bytes in each, with room for ten.
fn scenario(flows: &str, more: &str) -> Scenario {
    let text = format!(
        "[link]\nrate = \"8Mbps\"\nbuffer = \"10p\"\n{flows}\n[run]\nwarmup = \"2s\"\nmeasure = \"8s\"\n{more}"
    );
    Scenario::parse(&text, Format::Toml, "test", &[]).unwrap()
}

fn group(more: &str) -> String {
    format!("[[flows]]\nname = \"bulk\"\nrtt = \"100ms\"\npacket = \"1000B\"\n{more}\n")
}

fn only(needs: Vec<Need>) -> Need {
    assert_eq!(needs.len(), 1, "{needs:?}");
    needs.into_iter().next().unwrap()
}

#[test]
fn what_is_not_acknowledged_propagates_waits_or_follows_a_missing_packet() {
    let stack = "min_rto = \"1s\"\nhandshake = false\n";
    for (more, most) in [
        // 100 packets of a round trip and one of each of three flows, 11 in the queue, and what
        // arrives in a timeout and two round trips.
        ("count = 3", 100.0 + 3.0 + 11.0 + 1200.0),
        ("count = 3\nmin_rto = \"2s\"", 100.0 + 3.0 + 11.0 + 2200.0),
        // First windows leave at once.
        ("count = 3\ninitial_window = \"1000p\"", 3000.0),
        // No more than windows allow.
        ("count = 3\nreceive_window = \"10p\"", 30.0),
        ("count = 5\nreceive_window = \"10p\"", 50.0),
    ] {
        let own = if more.contains("min_rto") {
            "handshake = false\n"
        } else {
            stack
        };
        let scenario = scenario(&group(&format!("{more}\n{own}")), "");
        let need = only(scenario.needs(&Sent, false));
        assert_eq!(need.key, "flows.bulk.rtt", "{more}");
        assert!((need.bytes - most).abs() < 1e-6, "{more}: {}", need.bytes);
    }
}

/// Transfers stay for a few round trips and a timeout, share the link with others, and swing.
#[test]
fn transfers_that_are_alive_are_those_that_come_in_the_time_that_they_stay() {
    let of = |rtt: &str, min_rto: &str| {
        let open = format!(
            "[[flows]]\nname = \"web\"\nrtt = \"{rtt}\"\npacket = \"1000B\"\nmin_rto = \"{min_rto}\"\n\
             workload = {{ open_loop = {{ interarrival = \"10ms\", size = \"5kB\" }} }}\n"
        );
        only(scenario(&open, "").needs(&Flows, false)).bytes
    };
    let arrivals = 1001.0;
    // 5 kB every 10 ms are half of the link.
    let sharing = 0.5 / (1.0 - 0.5);
    for (rtt, min_rto, trips) in [
        ("100ms", "1s", 2.4),
        ("250ms", "1s", 3.0),
        ("100ms", "2s", 4.4),
    ] {
        let hand = arrivals * trips / 10.0 + sharing + 6.0 * f64::sqrt(arrivals);
        let found = of(rtt, min_rto);
        assert!((found - hand).abs() < 0.02 * hand, "{found} {hand}");
    }
}

#[test]
fn records_are_counted_and_kept_in_lists_that_double() {
    let trace = |what: &str| format!("[trace]\nevery = \"1s\"\nrecord = [\"{what}\"]\n");
    let swung = |mean: f64| mean + 6.0 * f64::sqrt(mean);
    let needs =
        |flows: &str, what: &str| only(scenario(&group(flows), &trace(what)).needs(&Silent, true));
    // Four users that ask every two seconds, and begin once: in ten seconds.
    let periodic = needs(
        "count = 4\nworkload = { periodic = { every = \"2s\", size = \"5kB\" } }",
        "transfers",
    );
    let count = swung(4.0 * 10.0 / 2.0 + 4.0);
    assert_eq!(periodic.what, format!("{} transfers", count.ceil()));
    let each = size_of::<TransferRecord>() as f64;
    assert!((periodic.bytes / count / each - 3.0).abs() < 1e-9);
    // 4 Mb/s in packets of 1000 bytes: 500 in each second.
    let steady = needs("workload = { cbr = { rate = \"4Mbps\" } }", "packets");
    let count = swung(5000.0);
    assert_eq!(steady.what, format!("{} packets", count.ceil()));
    let each = size_of::<PacketRecord>() as f64;
    let more = steady.bytes / count - 3.0 * each;
    assert!(
        (0.0..72.0).contains(&more),
        "and of those that wait a place in a tree: {more}"
    );
    let windows = needs("count = 7", "cwnd");
    assert_eq!(windows.what, "77 samples");
    let each = size_of::<FlowSample>() as f64;
    assert!((windows.bytes / 77.0 / each - 3.0).abs() < 1e-9);
}

/// One that keeps nothing: what is left is what is recorded.
struct Silent;

impl Footprint for Silent {
    fn flow(&self, _: &FlowGroup) -> f64 {
        0.0
    }

    fn source(&self, _: &FlowGroup) -> f64 {
        0.0
    }

    fn waiting(&self, _: &Scenario, _: usize, _: Waiting) -> f64 {
        0.0
    }
}

/// Forty for each packet that links carry, sources send, flows begin with or push to no avail, and ten
/// thousand of the run's own.
#[test]
fn events_are_a_few_for_each_packet() {
    let bulk = |more: &str| group(&format!("initial_window = \"10p\"\n{more}"));
    let steady = "[[flows]]\nname = \"steady\"\nworkload = { cbr = { rate = \"4Mbps\" } }\npacket = \"500B\"\n";
    for (flows, packets) in [
        (bulk(""), 10_000.0 + 110.0),
        (bulk("count = 3"), 10_000.0 + 330.0),
        // Of packets of 500 bytes the link carries twice as many.
        (
            bulk("") + steady,
            20_000.0 + 10_000.0 + 110.0 + first_of(steady),
        ),
        // A hundred round trips, in each of which each window grows by fifty.
        (
            bulk("count = 3\ncca = { kind = \"aimd\", increase = 50 }"),
            10_000.0 + 330.0 + 3.0 * 100.0 * 50.0,
        ),
        (
            bulk("count = 3\ncca = { kind = \"aimd\", increase = 50 }").replace("100ms", "200ms"),
            10_000.0 + 330.0 + 3.0 * 50.0 * 50.0,
        ),
    ] {
        let found = scenario(&flows, "").most_events();
        assert!(
            (found - (40.0 * packets + 1e4)).abs() < 1e-3,
            "{} packets for {packets}: {flows}",
            (found - 1e4) / 40.0
        );
    }
}

/// The first window of a source, and the times that it may set a timer.
fn first_of(group: &str) -> f64 {
    scenario(group, "").flows()[0].stack.initial_window + 100.0
}

#[test]
fn the_schema_says_what_a_count_and_a_list_take() {
    let count = &schema()["$defs"]["count"]["oneOf"];
    assert_eq!(count.as_array().unwrap().len(), 4, "{count}");
    assert_eq!(count[0]["minimum"], 1);
    for (at, name) in [(1, "poisson"), (2, "uniform"), (3, "choice")] {
        assert!(count[at]["properties"][name].is_object(), "{count}");
    }
    assert!(
        !schema().to_string().contains("\"minItems\":0"),
        "which says nothing"
    );
}

#[test]
fn a_pareto_law_has_a_minimum_above_zero_and_a_maximum_above_that() {
    let refused = |law: &str| {
        let flows = group(&format!(
            "workload = {{ closed_loop = {{ users = 1, think = \"1s\", size = {law} }} }}"
        ));
        let text = format!("[link]\nrate = \"8Mbps\"\nbuffer = \"10p\"\n{flows}");
        Scenario::parse(&text, Format::Toml, "test", &[]).is_err()
    };
    let law = |minimum: &str, more: &str| {
        format!("{{ pareto = {{ shape = 1.5, minimum = \"{minimum}\"{more} }} }}")
    };
    assert!(!refused(&law("1kB", "")));
    assert!(!refused(&law("1kB", ", maximum = \"2kB\"")));
    assert!(refused(&law("0B", "")));
    assert!(refused(&law("0B", ", maximum = \"2kB\"")));
    assert!(refused(&law("2kB", ", maximum = \"2kB\"")));
    assert!(refused(&law("2kB", ", maximum = \"1kB\"")));
}

#[test]
fn only_sizes_have_measured_laws() {
    let text = "[link]\nrate = \"8Mbps\"\nbuffer = \"10p\"\n[[flows]]\nname = \"a\"\nrtt = { measured = \"websearch\" }\n";
    let refused = Scenario::parse(text, Format::Toml, "test", &[]).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("only sizes have names"), "{said}");
}
