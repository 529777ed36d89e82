//! Memories as switches have them: longest queue drop, cells, headroom that lossless queues share,
//! and an `xoff` that follows the free memory.

use std::fmt::Write as _;

use forebay_scenario::{Format, Metric, Report, Scenario, WarningKind};

use super::{run, value};

fn of(report: &Report, link: &str, metric: Metric) -> f64 {
    let mut links = report.links.iter();
    let other = links.find(|other| other.name == link);
    other.map_or(&report.metrics, |other| &other.metrics)[&metric].mean
}

/// Ports of 100 Mb/s over a memory: the first `overloaded` get 150 Mb/s each, the others 30.
fn ports(memory: &str, (ports, overloaded): (usize, usize), of_link: &str) -> String {
    let mut text = format!("[[memories]]\nname = \"chip\"\n{memory}\n");
    for port in 0..ports {
        let target = if port == 0 { "target = true\n" } else { "" };
        let rate = if port < overloaded { 150 } else { 30 };
        let _ = write!(
            text,
            "[[links]]\nname = \"port{port}\"\nrate = \"100Mbps\"\nbuffer = \"100000p\"\nmemory = \"chip\"\n\
             {of_link}\n{target}\n[[flows]]\nname = \"flood{port}\"\npacket = \"1250B\"\npath = [\"port{port}\"]\n\
             workload = {{ poisson = {{ rate = \"{rate}Mbps\" }} }}\n"
        );
    }
    text + "[run]\nwarmup = \"1s\"\nmeasure = \"4s\"\n"
}

/// Saturated queues share a full memory equally, and the others lose nothing (longest queue drop).
#[test]
fn saturated_queues_share_the_memory_equally_by_longest_queue_drop() {
    let memory = "size = \"600p\"\nthreshold = \"lqd\"";
    for overloaded in 1..=4 {
        let report = run(&ports(memory, (6, overloaded), ""));
        // What the other ports hold at 30 % load is a fraction of a packet.
        let share = 600.0 / overloaded as f64;
        for port in 0..overloaded {
            let held = of(&report, &format!("port{port}"), Metric::QueueMean);
            assert!((held / share - 1.0).abs() < 0.01, "{overloaded}: {held}");
        }
        for port in overloaded..6 {
            assert_eq!(of(&report, &format!("port{port}"), Metric::LossRate), 0.0);
        }
    }
    // With complete sharing the others find the memory full.
    let report = run(&ports("size = \"600p\"", (6, 2), ""));
    assert!(of(&report, "port5", Metric::LossRate) > 0.01);
}

/// A guarantee is taken from the memory before the longest queue is compared.
#[test]
fn guarantees_count_before_the_longest_queue() {
    let text = ports("size = \"600p\"\nthreshold = \"lqd\"", (2, 2), "");
    let text = text.replacen(
        "memory = \"chip\"",
        "memory = \"chip\"\nmemory_reserved = \"200p\"",
        1,
    );
    let report = run(&text);
    // Both hold 200 of the 400 shared packets.
    let held = ["port0", "port1"].map(|port| of(&report, port, Metric::QueueMean));
    assert!((held[0] / 400.0 - 1.0).abs() < 0.01, "{held:?}");
    assert!((held[1] / 200.0 - 1.0).abs() < 0.01, "{held:?}");
}

/// The classes of a link lose packets of the longest class.
#[test]
fn the_longest_class_of_the_longest_queue_loses() {
    let mut text =
        String::from("[[memories]]\nname = \"chip\"\nsize = \"300p\"\nthreshold = \"lqd\"\n");
    for (port, target) in [("port", "target = true"), ("other", "")] {
        let _ = write!(
            text,
            "[[links]]\nname = \"{port}\"\nrate = \"100Mbps\"\nbuffer = \"100000p\"\nmemory = \"chip\"\n\
             queue = {{ kind = \"classes\", schedule = \"dwrr\", drop = \"tail\", classes = [\
             {{ name = \"much\", groups = [\"{port}-much\"] }}, {{ name = \"little\" }}] }}\n{target}\n"
        );
    }
    for port in ["port", "other"] {
        for (class, rate) in [("much", 120), ("little", 20)] {
            let _ = write!(
                text,
                "[[flows]]\nname = \"{port}-{class}\"\npacket = \"1250B\"\npath = [\"{port}\"]\n\
                 workload = {{ poisson = {{ rate = \"{rate}Mbps\" }} }}\n"
            );
        }
    }
    let report = run(&(text + "[run]\nwarmup = \"1s\"\nmeasure = \"4s\"\n"));
    let held = of(&report, "port", Metric::QueueMean);
    assert!((held / 150.0 - 1.0).abs() < 0.02, "{held}");
    let lost = |group: usize| report.groups[group].metrics[&Metric::LossRate].mean;
    // The other class has its half of the link and needs a fifth.
    assert!(lost(0) > 0.3 && lost(1) == 0.0, "{} {}", lost(0), lost(1));
}

/// Each packet occupies whole cells: a packet of one byte more than a cell takes two.
#[test]
fn packets_occupy_whole_cells() {
    let held = |packet: u32, cell: &str| {
        let memory = format!("size = \"400kB\"\n{cell}");
        let text = ports(&memory, (2, 1), "").replace("1250B", &format!("{packet}B"));
        of(&run(&text), "port0", Metric::QueueMean)
    };
    for packet in [192_u32, 193, 384, 385, 1250] {
        let without = 400_000.0 / f64::from(packet);
        let cells = 400_000.0 / f64::from(packet.div_ceil(192) * 192);
        let (plain, whole) = (held(packet, ""), held(packet, "cell = \"192B\""));
        assert!(
            (plain / without - 1.0).abs() < 0.03,
            "{packet}: {plain} {without}"
        );
        assert!(
            (whole / cells - 1.0).abs() < 0.03,
            "{packet}: {whole} {cells}"
        );
    }
}

/// A memory of cells whose packets are whole cells is like one of bytes.
#[test]
fn packets_of_whole_cells_occupy_their_bytes() {
    for keys in ["", "threshold = \"lqd\""] {
        let report = |cell: &str| {
            let memory = format!("size = \"200kB\"\n{keys}\n{cell}");
            run(&ports(&memory, (3, 2), ""))
        };
        let (cells, plain) = (report("cell = \"1250B\""), report("cell = \"50B\""));
        assert_eq!(cells.metrics, plain.metrics);
        assert_eq!(cells.links, plain.links);
    }
}

/// `hosts` hosts that burst into each of `ports` lossless ports of 10 Gb/s over one memory.
fn bursts(memory: &str, pfc: &str, (hosts, ports): (usize, usize)) -> String {
    let mut text = format!("[[memories]]\nname = \"chip\"\n{memory}\n");
    for port in 0..ports {
        let target = if port == 0 { "target = true\n" } else { "" };
        let _ = write!(
            text,
            "[[links]]\nname = \"port{port}\"\nrate = \"10Gbps\"\nbuffer = \"100MB\"\nmemory = \"chip\"\n\
             pfc = {{ {pfc} }}\n{target}\n[[flows]]\nname = \"servers{port}\"\npath = [\"port{port}\"]\n\
             count = {hosts}\nrtt = \"20us\"\npacket = \"1500B\"\nprocessing = \"0s\"\n\
             initial_window = \"400p\"\nmin_rto = \"200ms\"\naccess = {{ rate = \"10Gbps\" }}\n\
             workload = {{ finite = {{ size = \"600kB\" }} }}\n"
        );
    }
    text + "[run]\nwarmup = \"0s\"\nmeasure = \"30ms\"\n"
}

fn lost(report: &Report) -> bool {
    let mut warnings = report.warnings.iter();
    warnings.any(|warning| warning.kind == WarningKind::LosslessDrops)
}

/// All lossless queues of a memory share its headroom: what they use together suffices, and a
/// packet less does not.
#[test]
fn lossless_queues_share_the_headroom_of_their_memory() {
    let pfc = "xoff = \"30kB\", xon = \"15kB\", headroom = \"60kB\", cable = \"300m\"";
    let report = |headroom: u64| {
        let memory = format!("size = \"40MB\"\nheadroom = \"{headroom}B\"");
        run(&bursts(&memory, pfc, (8, 2)))
    };
    let each = value(&report(1_000_000), Metric::HeadroomMax);
    assert!(each > 3000.0, "{each}");
    // All 16 hosts burst at once, and none has more than `each`.
    let all = (16.0 * each) as u64;
    assert!(!lost(&report(all)));
    assert!(lost(&report(all / 4)));
    // The least that suffices is what they use together: between the two.
    let (mut low, mut high) = (all / 4, all);
    while high - low > 1 {
        let middle = low.midpoint(high);
        *(if lost(&report(middle)) {
            &mut low
        } else {
            &mut high
        }) = middle;
    }
    assert_eq!(
        high % 1500,
        0,
        "whole packets above a threshold of whole packets"
    );
    assert!(high > all / 2, "{high} of {all}");
}

/// A lossless packet that finds the shared memory full goes to the headroom and pauses its sender,
/// although the sender is far below `xoff`.
#[test]
fn a_full_memory_pauses_before_xoff_if_there_is_headroom() {
    let pfc = "xoff = \"10MB\", xon = \"5MB\", headroom = \"60kB\"";
    let with = run(&bursts("size = \"1MB\"\nheadroom = \"600kB\"", pfc, (8, 1)));
    assert!(!lost(&with));
    assert!(value(&with, Metric::PauseFrames) >= 8.0);
    assert_eq!(of(&with, "port0", Metric::LossRate), 0.0);
    // Without headroom these packets are lost.
    assert!(lost(&run(&bursts("size = \"1MB\"", pfc, (8, 1)))));
}

/// S senders of an overloaded port hold alpha B / (1 + alpha S) each if they are paused at alpha
/// times the free memory, as queues with a dynamic threshold do. The headroom is not shared memory.
#[test]
fn a_dynamic_xoff_shares_the_memory_by_its_closed_form() {
    for (hosts, alpha) in [(4, 1.0), (8, 0.5), (16, 0.25), (3, 8.0)] {
        let pfc = format!("xoff = \"50MB\", xon = \"50MB\", headroom = \"60kB\", alpha = {alpha}");
        let text = bursts("size = \"4MB\"\nheadroom = \"2MB\"", &pfc, (hosts, 1))
            .replace("600kB\" }", "60MB\" }")
            .replace("400p", "40000p")
            .replace("warmup = \"0s\"", "warmup = \"5ms\"")
            .replace("30ms", "5ms");
        let report = run(&text);
        assert!(!lost(&report));
        let memory = 2e6;
        let each = alpha * memory / (1.0 + alpha * hosts as f64);
        let held = value(&report, Metric::QueueMean) * 1500.0 / hosts as f64;
        // Each sender crosses its threshold by at most two packets, and has two in the headroom.
        assert!(
            (held - each).abs() < 3.0 * 1500.0,
            "{hosts} {alpha}: {held} {each}"
        );
    }
}

/// An alpha so large that `xoff` is always smaller changes nothing.
#[test]
fn xoff_limits_a_dynamic_xoff() {
    let pfc = "xoff = \"30kB\", xon = \"15kB\", headroom = \"60kB\"";
    let report = |pfc: &str| run(&bursts("size = \"40MB\"", pfc, (8, 1)));
    let (fixed, dynamic) = (report(pfc), report(&format!("{pfc}, alpha = 1000")));
    assert!(value(&fixed, Metric::PauseFrames) > 0.0);
    assert_eq!(fixed.metrics, dynamic.metrics);
}

#[test]
fn parts_of_a_memory_that_do_not_fit_are_refused_in_a_line() {
    let pfc = "xoff = \"30kB\", xon = \"15kB\", headroom = \"60kB\"";
    for (memory, of_link, said) in [
        ("size = \"1MB\"\nheadroom = \"2MB\"", "", "which is 1MB"),
        (
            "size = \"90p\"\nheadroom = \"20kB\"",
            "",
            "a `size` in bytes",
        ),
        (
            "size = \"90p\"\ncell = \"192B\"",
            "",
            "only with a `size` in bytes",
        ),
        ("size = \"1MB\"\ncell = \"0B\"", "", "from 1B to 65536B"),
        (
            "size = \"1MB\"\nheadroom = \"600kB\"",
            "memory_reserved = \"500kB\"",
            "less its headroom, 600kB",
        ),
        (
            "size = \"1MB\"\nthreshold = \"lqd\"",
            "",
            "whose longest queue loses packets",
        ),
        ("size = \"1MB\"\nthreshold = \"pbs\"", "", "lqd"),
    ] {
        let text = bursts(memory, pfc, (2, 1)).replace(
            "memory = \"chip\"",
            &format!("memory = \"chip\"\n{of_link}"),
        );
        let error = Scenario::parse(&text, Format::Toml, "test", &[]).expect_err(memory);
        let error = error.to_string();
        assert!(
            error.contains(said) && error.lines().count() == 1,
            "{error}"
        );
    }
    let without = ports("size = \"1MB\"\nheadroom = \"9kB\"", (1, 1), "");
    let error =
        Scenario::parse(&without, Format::Toml, "test", &[]).expect_err("no lossless queue");
    assert!(
        error.to_string().contains("only with a lossless queue"),
        "{error}"
    );
    let alone = bursts("size = \"1MB\"", &format!("{pfc}, alpha = 2"), (1, 1));
    assert!(Scenario::parse(&alone, Format::Toml, "test", &[]).is_ok());
    let alone = alone.replace("memory = \"chip\"\n", "");
    let error = Scenario::parse(&alone, Format::Toml, "test", &[]).expect_err("no memory");
    assert!(
        error.to_string().contains("`pfc.alpha` without `memory`"),
        "{error}"
    );
}

/// A packet that arrives at an idle link waits during a pause, and needs memory for that.
#[test]
fn an_idle_link_that_is_paused_needs_memory_for_an_arrival() {
    // A packet of 1250 bytes passes the slow link in 200 us and comes every 100 us. One that waits
    // there pauses the link before, which is then idle.
    let report = |size: &str| {
        run(&format!(
            "[[memories]]\nname = \"chip\"\nsize = \"{size}\"\n\
             [[links]]\nname = \"paused\"\nrate = \"10Gbps\"\nbuffer = \"100p\"\nmemory = \"chip\"\n\
             [[links]]\nname = \"hog\"\nrate = \"100Mbps\"\nbuffer = \"900p\"\nmemory = \"chip\"\n\
             [[links]]\nname = \"slow\"\nrate = \"50Mbps\"\nbuffer = \"100p\"\ntarget = true\n\
             pfc = {{ xoff = \"0B\", xon = \"0B\", headroom = \"9kB\" }}\n\
             [[flows]]\nname = \"steady\"\npacket = \"1250B\"\npath = [\"paused\", \"slow\"]\n\
             workload = {{ cbr = {{ rate = \"100Mbps\" }} }}\n\
             [[flows]]\nname = \"flood\"\npacket = \"1250B\"\npath = [\"hog\"]\n\
             workload = {{ cbr = {{ rate = \"9990Mbps\" }} }}\n\
             [run]\nwarmup = \"10ms\"\nmeasure = \"100ms\"\n"
        ))
    };
    let full = report("20p");
    assert!(of(&full, "paused", Metric::PausedTime) > 0.03);
    let waiting = of(&full, "paused", Metric::QueueMean);
    assert!(waiting < 0.05, "{waiting}");
    assert!(of(&full, "paused", Metric::LossRate) > 0.3);
}

/// The thresholds of a lossless queue count cells: packets that take two cells reach them sooner.
#[test]
fn thresholds_of_lossless_queues_count_cells() {
    let pfc = "xoff = \"30720B\", xon = \"15360B\", headroom = \"60kB\"";
    let used = |cell: &str| {
        let memory = format!("size = \"40MB\"\n{cell}");
        value(&run(&bursts(&memory, pfc, (8, 1))), Metric::HeadroomMax)
    };
    // Cells of 1024 bytes: a packet of 1500 bytes takes 2048, and 30,720 bytes are 15 packets. One
    // packet is in transmission and one crosses the threshold.
    assert_eq!(used("cell = \"1024B\""), 2.0 * 2048.0);
    // Without cells the 21st packet has 780 bytes above the threshold.
    assert_eq!(used(""), 780.0 + 1500.0);
}

/// Two ports of 5 Gb/s of a switch behind one ingress link of 20 Gb/s, each with a sender.
fn switch(counters: &str, loads: [u32; 2]) -> Report {
    let mut text = format!(
        "[[memories]]\nname = \"chip\"\nsize = \"40MB\"\npfc_counters = \"{counters}\"\n\
         [[links]]\nname = \"up\"\nrate = \"20Gbps\"\nbuffer = \"100MB\"\ndelay = \"1us\"\n"
    );
    for (port, target) in [("left", "target = true\n"), ("right", "")] {
        let _ = write!(
            text,
            "[[links]]\nname = \"{port}\"\nrate = \"5Gbps\"\nbuffer = \"40MB\"\nmemory = \"chip\"\n\
             pfc = {{ xoff = \"150kB\", xon = \"120kB\", headroom = \"60kB\" }}\n{target}"
        );
    }
    for (port, load) in ["left", "right"].into_iter().zip(loads) {
        let _ = write!(
            text,
            "[[flows]]\nname = \"to-{port}\"\npath = [\"up\", \"{port}\"]\npacket = \"1500B\"\n\
             workload = {{ cbr = {{ rate = \"{load}Mbps\" }} }}\n"
        );
    }
    run(&(text + "[run]\nwarmup = \"10ms\"\nmeasure = \"10ms\"\n"))
}

/// The counters of ingress ports: what waits for both ports together stays between `xon` and
/// `xoff`. The counters of queues let each port hold as much.
#[test]
fn an_ingress_port_is_paused_by_its_bytes_in_all_queues() {
    let held = |report: &Report| {
        let ports = ["left", "right"].map(|port| of(report, port, Metric::QueueMean));
        ports.map(|packets| packets * 1500.0)
    };
    let [left, right] = held(&switch("ingress", [8000, 8000]));
    assert!((115e3..=170e3).contains(&(left + right)), "{left} {right}");
    let [left, right] = held(&switch("queue", [8000, 8000]));
    for each in [left, right] {
        assert!((115e3..=170e3).contains(&each), "{left} {right}");
    }
    // All packets cross the same cable, whichever counters pause it: neither loses one.
    for counters in ["ingress", "queue"] {
        let report = switch(counters, [8000, 7000]);
        assert!(!lost(&report));
        let most = ["left", "right"].map(|port| of(&report, port, Metric::HeadroomMax));
        // Both directions of the cable at 20 Gb/s, and two packets.
        assert!(
            most.iter().all(|most| *most <= 2.0 * 2500.0 + 3000.0),
            "{most:?}"
        );
        assert!(of(&report, "up", Metric::PausedTime) > 0.0);
    }
}

/// If only one port has a queue, both counters are the same.
#[test]
fn the_counters_of_one_busy_port_are_those_of_its_queue() {
    let (ingress, queue) = (switch("ingress", [8000, 100]), switch("queue", [8000, 100]));
    assert!(of(&queue, "left", Metric::PauseFrames) > 0.0);
    let frames = [&ingress, &queue].map(|report| of(report, "left", Metric::PauseFrames));
    assert!(
        (frames[0] - frames[1]).abs() <= 0.05 * frames[1],
        "{frames:?}"
    );
    // Hosts are ingress ports of one flow each.
    let pfc = "xoff = \"30kB\", xon = \"15kB\", headroom = \"60kB\"";
    let report = |counters: &str| {
        let memory = format!("size = \"40MB\"\npfc_counters = \"{counters}\"");
        run(&bursts(&memory, pfc, (8, 2)))
    };
    let (ingress, queue) = (report("ingress"), report("queue"));
    assert!(of(&queue, "port1", Metric::PauseFrames) > 0.0);
    assert_eq!(ingress.metrics, queue.metrics);
    assert_eq!(ingress.links, queue.links);
}

/// Queues that count a sender together compare the same thresholds.
#[test]
fn other_thresholds_at_another_queue_of_the_switch_are_refused() {
    let text = bursts(
        "size = \"40MB\"\npfc_counters = \"ingress\"",
        "xoff = \"30kB\", xon = \"15kB\", headroom = \"60kB\"",
        (2, 2),
    );
    let other = text.replacen("xoff = \"30kB\"", "xoff = \"31kB\"", 1);
    assert!(Scenario::parse(&text, Format::Toml, "test", &[]).is_ok());
    let error = Scenario::parse(&other, Format::Toml, "test", &[]).expect_err("another xoff");
    assert!(error.to_string().contains("the same `pfc`"), "{error}");
}
