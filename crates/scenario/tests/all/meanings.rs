//! The meaning of a scenario's values, each computed in another way than in the code.
use forebay_random::{Purpose, Stream};
use forebay_scenario::{
    Bin, BufferLimit, Distribution, FlowGroup, Format, MeasuredDistribution, Quantity, Recovery,
    Scenario, ScenarioError, Seed, Segment, Stack,
};
use forebay_units::{Bytes, Time};

fn read(link: &str, flows: &str) -> Result<Scenario, ScenarioError> {
    let text = format!(
        "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\n{link}\n[[flows]]\nrtt = \"40ms\"\n{flows}\n"
    );
    Scenario::parse(&text, Format::Toml, "test.toml", &[])
}

fn group(flows: &str) -> FlowGroup {
    read("", flows)
        .unwrap_or_else(|error| panic!("{error}"))
        .flows()[0]
        .clone()
}

/// Laws that are given by their mean have it: of starts to a picosecond's share, of sizes to a
/// byte.
#[test]
fn a_law_of_a_mean_has_it() {
    for distribution in [
        "{ exponential = \"MEAN\" }",
        "{ pareto = { shape = 1.5, mean = \"MEAN\" } }",
        "{ pareto = { shape = 7, mean = \"MEAN\" } }",
        "{ lognormal = { sigma = 0.3, mean = \"MEAN\" } }",
        "{ lognormal = { sigma = 2.5, mean = \"MEAN\" } }",
        "{ weibull = { shape = 0.5, mean = \"MEAN\" } }",
        "{ weibull = { shape = 3, mean = \"MEAN\" } }",
        "{ uniform = [\"0MEAN\", \"2MEAN\"] }",
    ] {
        let written = |mean: &str, most: &str| {
            distribution
                .replace("0MEAN", "0s")
                .replace("2MEAN", most)
                .replace("MEAN", mean)
        };
        let start = group(&format!("start = {}", written("3s", "6s"))).start;
        assert!(
            (start.mean() / 3.0 - 1.0).abs() < 1e-9,
            "{distribution} {}",
            start.mean()
        );
        if !distribution.contains("uniform") {
            let size = group(&format!(
                "workload = {{ finite = {{ size = {} }} }}",
                written("9MB", "")
            ));
            let forebay_scenario::Workload::Finite { size } = &size.workload else {
                panic!("{distribution}");
            };
            assert!(
                (size.mean() / 9e6 - 1.0).abs() < 1e-4,
                "{distribution} {}",
                size.mean()
            );
        }
    }
}

/// A list has a value for each flow, wherever a law is for each flow, with and without jitter.
#[test]
fn lists_fit_the_number_of_flows() {
    for (key, list) in [
        ("start", "[\"1s\", \"2s\", \"3s\"]"),
        (
            "start",
            "{ list = [\"1s\", \"2s\", \"3s\"], jitter = \"1ms\" }",
        ),
        ("stop", "[\"11s\", \"12s\", \"13s\"]"),
        ("packet", "[\"900B\", \"1000B\", \"1100B\"]"),
        (
            "workload",
            "{ finite = { size = [\"1kB\", \"2kB\", \"3kB\"] } }",
        ),
        (
            "workload",
            "{ finite = { size = { list = [\"1kB\", \"2kB\", \"3kB\"], jitter = \"1kB\" } } }",
        ),
    ] {
        for (count, fits) in [
            ("3", true),
            ("2", false),
            ("4", false),
            ("{ uniform = [3, 3] }", false),
            ("{ poisson = 3 }", false),
        ] {
            let found = read("", &format!("count = {count}\n{key} = {list}"));
            assert_eq!(found.is_ok(), fits, "{key} {list} {count}");
        }
        // Laws that are drawn fit any number.
        assert!(
            read(
                "",
                "count = { poisson = 3 }\nstart = { uniform = [\"0s\", \"1s\"] }"
            )
            .is_ok()
        );
    }
}

/// Numbers of flows that are drawn have their law's mean, and lie where it says.
#[test]
fn numbers_of_flows_follow_their_law() {
    for (distribution, mean, low, high) in [
        ("{ uniform = [2, 8] }", 5.0, 2, 8),
        ("{ choice = [1, 4, 10] }", 5.0, 1, 10),
        ("{ poisson = 5 }", 5.0, 1, 40),
    ] {
        let scenario = read("", &format!("count = {distribution}")).unwrap();
        assert!(scenario.uncertain(), "{distribution}");
        assert_eq!(scenario.flows()[0].count, 5, "{distribution}");
        let counts: Vec<u64> = (0..600)
            .map(|replication| {
                scenario
                    .drawn(Seed {
                        seed: 3,
                        replication,
                    })
                    .flows()[0]
                    .count
            })
            .collect();
        let found = counts.iter().sum::<u64>() as f64 / 600.0;
        assert!((found - mean).abs() < 0.7, "{distribution} {found}");
        assert!(
            counts.iter().all(|count| (low..=high).contains(count)),
            "{distribution}"
        );
        if !distribution.contains("poisson") {
            assert!(
                counts.contains(&low) && counts.contains(&high),
                "{distribution}"
            );
        }
        let again = Scenario::parse(&scenario.canonical_json(), Format::Json, "again", &[]);
        assert!(again.as_ref() == Ok(&scenario), "{distribution}");
    }
    assert!(!read("", "count = 5").unwrap().uncertain());
    for wrong in [
        "{ uniform = [8, 2] }",
        "{ uniform = [0, 2] }",
        "{ choice = [] }",
        "{ poisson = 0 }",
        "{ normal = 3 }",
    ] {
        assert!(read("", &format!("count = {wrong}")).is_err(), "{wrong}");
    }
}

/// Speech is a packet in every interval of a spurt, whatever its size: what it sends is that while
/// it talks.
#[test]
fn speech_is_a_packet_in_every_interval() {
    let rate = |flows: &str| group(flows).unresponsive_rate().unwrap();
    let speech = |packet: u32, interval: u32, talk: u32, silence: u32| {
        rate(&format!(
            "count = 3\npacket = \"{packet}B\"\nworkload = {{ voip = {{ interval = \"{interval}ms\", \
             talk = \"{talk}ms\", silence = \"{silence}ms\" }} }}"
        ))
    };
    for (packet, interval, talk, silence) in
        [(200, 20, 352, 650), (60, 30, 1000, 1000), (1000, 1, 5, 15)]
    {
        let talking = f64::from(talk) / f64::from(talk + silence);
        let expected = 3.0 * f64::from(packet) * 8000.0 / f64::from(interval) * talking;
        let found = speech(packet, interval, talk, silence);
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }
    // The word means the spurts of Sriram and Whitt.
    let word = rate("count = 3\nworkload = \"voip\"");
    assert!((word - speech(200, 20, 352, 650)).abs() < 1e-6 * word);
    for (wrong, said) in [
        ("nonsense", "unknown workload"),
        ("poisson", "allowed"),
        ("finite", "allowed"),
    ] {
        let error = read("", &format!("workload = \"{wrong}\""))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Transfers load a link by the bytes of their packets, headers included, over the time between
/// them.
#[test]
fn open_loops_offer_packets_over_time() {
    for (size, packets) in [("960B", 1.0), ("961B", 2.0), ("9600B", 10.0), ("1B", 1.0)] {
        for (arrivals, each) in [
            ("interarrival = \"50ms\"", 0.05),
            ("interarrival = { exponential = \"1s\" }", 1.0),
        ] {
            let flows = format!(
                "packet = \"1000B\"\nworkload = {{ open_loop = {{ {arrivals}, size = \"{size}\" }} }}"
            );
            let found = group(&flows).open_loop_rate().unwrap();
            assert!(
                (found / (packets * 8000.0 / each) - 1.0).abs() < 1e-9,
                "{size} {arrivals}"
            );
        }
        for (asked, bps) in [("load = 0.3", 3e6), ("rate = \"2Mbps\"", 2e6)] {
            let flows = format!(
                "packet = \"1000B\"\nworkload = {{ open_loop = {{ {asked}, size = \"{size}\" }} }}"
            );
            let scenario = read("", &flows).unwrap();
            assert!(
                (scenario.flows()[0].open_loop_rate().unwrap() / bps - 1.0).abs() < 1e-6,
                "{size} {asked}"
            );
            assert!(
                (scenario.open_loop_load() / (bps / 1e7) - 1.0).abs() < 1e-6,
                "{size} {asked}"
            );
            assert_eq!(scenario.flows()[0].unresponsive_rate(), None);
        }
    }
    for wrong in [
        "",
        "load = 0.3, rate = \"1Mbps\"",
        "rate = \"1Mbps\", interarrival = \"1s\"",
        "interarrival = \"1ps\"",
    ] {
        assert!(
            read(
                "",
                &format!("workload = {{ open_loop = {{ {wrong}, size = \"9kB\" }} }}")
            )
            .is_err(),
            "{wrong}"
        );
    }
}

/// A payload is what a packet has beside its header, and `p` counts in it.
#[test]
fn a_payload_is_a_packet_without_its_header() {
    for (packet, header) in [(1000, 40), (1500, 52), (41, 40), (9000, 0)] {
        let body = format!(
            "packet = \"{packet}B\"\nheader = \"{header}B\"\nworkload = {{ finite = {{ size = \"7p\" }} }}"
        );
        let group = group(&body);
        assert_eq!(group.payload().get(), packet - header);
        let forebay_scenario::Workload::Finite { size } = &group.workload else {
            panic!();
        };
        assert_eq!(size.mean(), 7.0 * (packet - header) as f64);
    }
    // Fewer than 1e18 bytes.
    let body = |packets: &str| {
        format!(
            "packet = \"41B\"\nheader = \"40B\"\nworkload = {{ finite = {{ size = \"{packets}\" }} }}"
        )
    };
    assert!(read("", &body("1e17p")).is_ok());
    assert!(read("", &body("1e18p")).is_err() && read("", &body("1e19p")).is_err());
}

/// A jitter is added to times and to sizes; for a plain value it is the largest addition.
#[test]
fn jitter_is_added() {
    let sizes = Distribution::Jitter {
        base: Box::new(Distribution::Value(Bytes::new(10_000))),
        jitter: Box::new(Distribution::Uniform(Bytes::new(0), Bytes::new(5000))),
    };
    let mut stream = Stream::new(Seed::default(), 0, Purpose::Phase);
    let draws: Vec<f64> = (0..4000)
        .map(|_| sizes.draw(0, 1, &mut stream).to_real())
        .collect();
    assert!(
        draws
            .iter()
            .all(|size| (10_000.0..=15_000.0).contains(size))
    );
    let mean = draws.iter().sum::<f64>() / 4000.0;
    assert!(
        (mean - 12_500.0).abs() < 100.0 && sizes.mean() == 12_500.0,
        "{mean}"
    );
    let start = group("start = { value = \"1s\", jitter = \"200ms\" }").start;
    assert_eq!(
        (start.infimum(), start.supremum(), start.mean()),
        (1.0, 1.2, 1.1)
    );
}

/// The ends of a range over flows are its first and last flow, to the last bit, and all steps are
/// equal.
#[test]
fn equally_spaced_flows_begin_and_end_where_they_should() {
    let ends = (Time::from_millis(7), Time::from_picos(100_000_000_001));
    let distribution = Distribution::Linspace(ends.0, ends.1);
    let mut stream = Stream::new(Seed::default(), 0, Purpose::Phase);
    for count in [2_u64, 3, 10, 1001] {
        let mut at = |index| distribution.draw(index, count, &mut stream);
        assert_eq!((at(0), at(count - 1)), ends, "{count}");
        let step = (ends.1 - ends.0).to_real() / (count - 1) as f64;
        for index in 1..count {
            let found = at(index).to_real() - at(index - 1).to_real();
            assert!((found - step).abs() < 2e-12, "{count} {index}");
        }
    }
    assert_eq!(distribution.draw(0, 1, &mut stream), ends.0);
    // Also where a picosecond is less than the last bit of the seconds.
    let late = Time::from_picos(1_000_000_000_000_000_001);
    for count in [2, 3, 7] {
        let distribution = Distribution::Linspace(ends.0, late);
        assert_eq!(
            distribution.draw(count - 1, count, &mut stream),
            late,
            "{count}"
        );
    }
    let list = Distribution::List(vec![ends.0, ends.1, Time::ZERO]);
    for (index, expected) in [
        (0, ends.0),
        (1, ends.1),
        (2, Time::ZERO),
        (3, ends.0),
        (5, Time::ZERO),
    ] {
        assert_eq!(list.draw(index, 6, &mut stream), expected);
    }
}

/// A share of a bandwidth-delay product is rounded down to bytes, but not for what rounding of the
/// product does.
#[test]
fn multiples_of_a_product_are_whole_where_they_should_be() {
    // 10 Mb/s and 40 ms are 50000 bytes.
    let bytes = |buffer: &str| {
        let text = format!(
            "[link]\nrate = \"10Mbps\"\nbuffer = \"{buffer}\"\n[[flows]]\nrtt = \"40ms\"\n"
        );
        match Scenario::parse(&text, Format::Toml, "test.toml", &[])
            .unwrap()
            .target()
            .buffer
        {
            BufferLimit::Bytes(bytes) => bytes.get(),
            BufferLimit::Packets(_) => panic!("{buffer}"),
        }
    };
    for (multiple, expected) in [
        ("1BDP", 50_000),
        ("0.5BDP", 25_000),
        ("0.1BDP", 5000),
        ("0.7BDP", 35_000),
        ("0.00001BDP", 0),
        ("0.00003BDP", 1),
        ("0.00005BDP", 2),
        ("1.00001BDP", 50_000),
        ("1.00003BDP", 50_001),
        ("3.3BDP", 165_000),
        // 28499.999999999996 and the like.
        ("0.57BDP", 28_500),
        ("0.29BDP", 14_500),
        ("2.3BDP", 115_000),
        ("40ms", 50_000),
        ("1us", 1),
    ] {
        assert_eq!(bytes(multiple), expected, "{multiple}");
    }
}

/// A packet's kind follows from who sends it and when.
#[test]
fn segments_open_or_acknowledge() {
    for (segment, opens, acknowledges) in [
        (Segment::Data, false, false),
        (Segment::Syn, true, false),
        (Segment::Ack, false, true),
        (Segment::SynAck, true, true),
    ] {
        assert_eq!(
            (segment.opens(), segment.acknowledges()),
            (opens, acknowledges)
        );
    }
}

/// Constants as RFC 6298, RFC 2988, RFC 6928, ns-2's ns-default.tcl and Linux's tcp.h have them.
#[test]
fn presets_are_those_of_their_sources() {
    let millis = Time::from_millis;
    let of = |stack: &Stack| (stack.min_rto, stack.initial_rto, stack.initial_window);
    assert_eq!(of(&Stack::RFC), (millis(1000), millis(1000), 10.0));
    assert_eq!(of(&Stack::NS2), (millis(200), millis(3000), 2.0));
    assert_eq!(of(&Stack::LINUX), (millis(200), millis(1000), 10.0));
    // tcp_: tcpTick_ 0.01; Linux: srtt_us.
    assert_eq!(
        [&Stack::RFC, &Stack::NS2, &Stack::LINUX].map(|s| s.clock),
        [Time::ZERO, millis(10), Time::from_micros(1)]
    );
    // TCP_DELACK_MIN is HZ/25, TCP_MAX_QUICKACKS 16, tcp_comp_sack_delay_ns a million.
    let ack = Stack::LINUX.delayed_ack;
    assert_eq!(
        (
            ack.packets,
            ack.timeout,
            ack.quick,
            ack.sack_delay,
            ack.push
        ),
        (2, millis(40), 16, millis(1), true)
    );
    assert_eq!(
        [&Stack::RFC, &Stack::NS2].map(|s| s.delayed_ack.packets),
        [1, 1]
    );
    // Twelve bytes of timestamps beside forty of IPv4 and TCP; segmentation offload; F-RTO (RFC
    // 5682).
    for (stack, linux) in [
        (Stack::RFC, false),
        (Stack::NS2, false),
        (Stack::LINUX, true),
    ] {
        assert_eq!(
            (
                stack.timestamps,
                stack.offload,
                stack.offload_grows,
                stack.frto
            ),
            (linux, linux, linux, linux)
        );
        assert_eq!(stack.header.get(), 40 + if linux { 12 } else { 0 });
        assert_eq!(stack.handshake, stack != Stack::RFC);
        assert_eq!(stack.restart_window(), Some(stack.initial_window));
    }
    let recoveries = [&Stack::RFC, &Stack::NS2, &Stack::LINUX].map(|stack| stack.recovery);
    assert_eq!(
        recoveries,
        [Recovery::Sack, Recovery::NewReno, Recovery::Rack]
    );
}

/// Without SACK a receiver does not compress what it says of holes; a SYN is a header, which IPv4
/// never goes without.
#[test]
fn what_a_stack_sends_follows_from_what_it_is() {
    for recovery in ["newreno", "go_back_n", "sack", "pipe", "fack", "rack"] {
        let body = format!(
            "recovery = \"{recovery}\"\ndelayed_ack = {{ packets = 3, sack_delay = \"1ms\", quick = 5 }}"
        );
        let acknowledgments = group(&body).stack.acknowledgments();
        let expected = if ["newreno", "go_back_n"].contains(&recovery) {
            Time::ZERO
        } else {
            Time::from_millis(1)
        };
        assert_eq!(acknowledgments.sack_delay, expected, "{recovery}");
        assert_eq!((acknowledgments.packets, acknowledgments.quick), (3, 5));
    }
    for (header, syn) in [(0, 20), (19, 20), (20, 20), (40, 40), (60, 60)] {
        assert_eq!(
            group(&format!("header = \"{header}B\"")).stack.syn().get(),
            syn
        );
    }
    assert_eq!(
        group("slow_start_after_idle = false")
            .stack
            .restart_window(),
        None
    );
}

/// A class's mean packet is that of its groups.
#[test]
fn packets_of_a_class_are_those_of_its_groups() {
    let text = "[link]\nrate = \"10Mbps\"\nbuffer = \"50p\"\n\
        queue = { kind = \"classes\", classes = [{ name = \"x\", groups = [\"a\"] }, { name = \"y\", groups = [\"b\"] }, { name = \"z\" }] }\n\
        [[flows]]\nname = \"a\"\nrtt = \"9ms\"\npacket = \"500B\"\n[[flows]]\nname = \"b\"\nrtt = \"9ms\"\npacket = \"900B\"\n\
        [[flows]]\nname = \"c\"\nrtt = \"9ms\"\npacket = \"1300B\"\n";
    let scenario = Scenario::parse(text, Format::Toml, "test.toml", &[]).unwrap();
    let classes = [0, 1, 2].map(|class| scenario.class_packet_bytes(0, class));
    assert_eq!(classes, [500.0, 900.0, 1300.0]);
    assert_eq!(scenario.packet_bytes(), 900.0);
}

/// Each of several parts is drawn as often as its weight says; the remainder of rounding belongs to
/// the last.
#[test]
fn parts_of_a_mixture_are_drawn_by_their_weights() {
    let value = |seconds| Distribution::Value(Time::from_secs(seconds));
    let mut stream = Stream::new(Seed::default(), 0, Purpose::Phase);
    for weights in [
        vec![0.2, 0.3, 0.5],
        vec![0.5, 0.3, 0.2],
        vec![0.1, 0.2, 0.3, 0.4],
        vec![0.25, 0.25],
    ] {
        let parts = weights
            .iter()
            .zip(1..)
            .map(|(weight, seconds)| (*weight, value(seconds)));
        let distribution = Distribution::Mixture(parts.collect());
        let draws: Vec<Time> = (0..8000)
            .map(|_| distribution.draw(0, 1, &mut stream))
            .collect();
        for (at, weight) in weights.iter().enumerate() {
            let rest = if at + 1 == weights.len() {
                1.0 - weights.iter().sum::<f64>()
            } else {
                0.0
            };
            let seconds = Time::from_secs(at as u64 + 1);
            let share = draws.iter().filter(|draw| **draw == seconds).count() as f64 / 8000.0;
            assert!(
                (share - weight - rest).abs() < 0.025,
                "{weights:?} {at} {share}"
            );
        }
    }
    let nothing = Distribution::Uniform(Time::from_millis(20), Time::from_millis(20));
    assert_eq!(nothing.mean_inverse(1), 50.0);
}

/// Two runs counted together give the same counts as one run with all of it.
#[test]
fn distributions_are_merged_bin_by_bin() {
    let of = |counts: &[(u32, u64)]| MeasuredDistribution {
        bins: counts
            .iter()
            .map(|(low, count)| Bin {
                low: f64::from(*low),
                high: f64::from(low + 1),
                count: *count,
            })
            .collect(),
    };
    let (one, other) = (of(&[(1, 3), (4, 5)]), of(&[(0, 2), (4, 1), (7, 9)]));
    let all = of(&[(0, 2), (1, 3), (4, 6), (7, 9)]);
    for (first, second) in [(&one, &other), (&other, &one)] {
        let mut merged = first.clone();
        merged.merge(second);
        assert_eq!(merged, all);
        assert_eq!(merged.count(), first.count() + second.count());
    }
    let mut same = one.clone();
    same.merge(&of(&[]));
    assert_eq!(same, one);
}

#[test]
fn a_pareto_law_has_a_minimum_above_zero_and_a_maximum_above_that() {
    let refused = |distribution: &str| {
        let workload = "workload = { closed_loop = { users = 1, think = \"1s\", size = LAW } }";
        read("", &workload.replace("LAW", distribution)).is_err()
    };
    let distribution = |minimum: &str, more: &str| {
        format!("{{ pareto = {{ shape = 1.5, minimum = \"{minimum}\"{more} }} }}")
    };
    assert!(!refused(&distribution("1kB", "")));
    assert!(!refused(&distribution("1kB", ", maximum = \"2kB\"")));
    assert!(refused(&distribution("0B", "")));
    assert!(refused(&distribution("0B", ", maximum = \"2kB\"")));
    assert!(refused(&distribution("2kB", ", maximum = \"2kB\"")));
    assert!(refused(&distribution("2kB", ", maximum = \"1kB\"")));
}

#[test]
fn only_sizes_have_measured_laws() {
    let text = "[link]\nrate = \"8Mbps\"\nbuffer = \"10p\"\n[[flows]]\nname = \"a\"\nrtt = { measured = \"websearch\" }\n";
    let refused = Scenario::parse(text, Format::Toml, "test", &[]).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("only sizes have names"), "{said}");
}
