//! Fabrics: the links, memories and routes that `[fabric]` stands for, and the changes and mistakes
//! of its keys.

use forebay_scenario::{BufferLimit, Format, MemoryThreshold, Override, Role, Scenario, sections};
use forebay_units::{Bytes, Rate, Time};

const FILE: &str = r#"
[fabric]
kind   = "leaf_spine"
leaves = 2
spines = 2
hosts  = 8
memory = { size = "4MB" }

[fabric.port]
rate         = "100Gbps"
buffer       = "1MB"
queue        = { kind = "step", threshold = "100kB" }
cable        = "198m"
memory_alpha = 1

[fabric.uplink]
rate  = "400Gbps"

[fabric.spine_port]
rate   = "400Gbps"
buffer = "2MB"
delay  = "2us"

[[flows]]
name     = "web"
workload = { open_loop = { load = 0.5, size = "15kB" } }

[run]
warmup  = "0s"
measure = "1ms"
"#;

fn changed(changes: &[&str]) -> Result<Scenario, String> {
    let changes: Vec<Override> = changes
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    let read = Scenario::parse(FILE, Format::Toml, "fabric.toml", &changes);
    read.map_err(|error| error.to_string())
}

fn scenario() -> Scenario {
    changed(&[]).unwrap()
}

#[test]
fn a_fabric_makes_named_links_of_all_roles_and_a_memory_for_each_switch() {
    let scenario = scenario();
    let links = scenario.links();
    assert_eq!(links.len(), 2 * 8 + 2 * 2 * 2);
    let named = |name: &str| links.iter().find(|link| link.name == name).unwrap();
    let memory = |name: &str| {
        let number = named(name).memory?;
        Some(scenario.memories()[number].name.as_str())
    };
    assert_eq!(
        named("leaf2-host5").rate,
        Rate::from_bits_per_second(100_000_000_000)
    );
    assert_eq!(
        named("leaf1-spine2").rate,
        Rate::from_bits_per_second(400_000_000_000)
    );
    assert_eq!(
        named("spine1-leaf2").buffer,
        BufferLimit::Bytes(Bytes::new(2_000_000))
    );
    assert_eq!(named("spine1-leaf2").delay, Time::from_micros(2));
    assert_eq!(named("leaf1-spine2").delay, Time::from_micros(1));
    assert_eq!(named("host3-leaf1").delay, Time::from_micros(1));
    assert_eq!(
        named("host3-leaf1").buffer,
        BufferLimit::Bytes(Bytes::new(100_000_000))
    );
    assert_eq!(named("host3-leaf1").discipline.name(), "droptail");
    assert_eq!(named("leaf1-spine1").discipline.name(), "step");
    assert_eq!(memory("leaf2-host5"), Some("leaf2"));
    assert_eq!(memory("leaf2-spine1"), Some("leaf2"));
    assert_eq!(memory("spine1-leaf2"), Some("spine1"));
    assert_eq!(memory("host5-leaf2"), None);
    assert_eq!(scenario.target().name, "leaf1-host1");
    let shape = scenario.fabric().unwrap().shape();
    assert_eq!(shape.role(scenario.target_index()), Role::HostPort);
}

/// Each switch has the keys of the table, and a mistake in it is one of its own.
#[test]
fn the_memories_of_switches_have_the_keys_of_flow_aware_thresholds() {
    let keys = r#"threshold = "fab", short_alpha = 64, short_flow = "30kB", short_idle = "1ms""#;
    let table = format!(r#"fabric.memory={{ size = "4MB", {keys} }}"#);
    let found = changed(&[&table]).unwrap();
    assert!(!found.memories().is_empty());
    for memory in found.memories() {
        assert_eq!(memory.threshold, MemoryThreshold::Fab, "{}", memory.name);
        assert_eq!(memory.short_alpha, 64.0, "{}", memory.name);
        assert_eq!(memory.short_flow, Bytes::new(30_000), "{}", memory.name);
        assert_eq!(memory.short_idle, Time::from_millis(1), "{}", memory.name);
    }
    let json = found.canonical_json();
    let again = Scenario::parse(&json, Format::Json, "again", &[]).unwrap();
    assert_eq!(again, found);
    let stray = changed(&[r#"fabric.memory={ size = "4MB", short_flow = "30kB" }"#]);
    let error = stray.unwrap_err();
    assert!(
        error.contains("fabric.memory.short_flow: found `30kB`; allowed: only with"),
        "{error}"
    );
    let favored = changed(&[
        "fabric.memory.threshold=fab",
        "fabric.memory.short_alpha=0.5",
    ]);
    let error = favored.unwrap_err();
    assert!(
        error.contains("at most 0.5, `short_alpha` of `leaf1`"),
        "{error}"
    );
}

#[test]
fn a_round_trip_follows_the_cables_and_a_load_the_links_of_the_hosts() {
    let scenario = scenario();
    let group = &scenario.flows()[0];
    // Three cables of 1 us and one of 2 us, both ways.
    assert_eq!(group.rtt.mean(), 10e-6);
    // Half of eight links of 100 Gb/s.
    let offered = group.open_loop_rate().unwrap();
    assert!((offered - 400e9).abs() < 1e3, "{offered}");
    let some = changed(&[r#"flows.web.from="leaf2""#]).unwrap();
    let offered = some.flows()[0].open_loop_rate().unwrap();
    assert!((offered - 200e9).abs() < 1e3, "{offered}");
    assert!(!some.flows()[0].crosses(shape_of(&some).nic(0)));
    assert!(some.flows()[0].crosses(shape_of(&some).nic(4)));
}

fn shape_of(scenario: &Scenario) -> forebay_scenario::Shape {
    scenario.fabric().unwrap().shape()
}

#[test]
fn the_canonical_form_reads_back_and_takes_the_changes_of_the_file() {
    for changes in [
        &[] as &[&str],
        &["fabric.spines=4"],
        &["link.buffer=2MB"],
        &["fabric.port.buffer=3MB"],
        &["link.queue.threshold=50kB"],
        &["fabric.port.cable=20m"],
        &[
            "fabric.memory.size=8MB",
            "flows.web.recovery=rack",
            "flows.web.spray=true",
        ],
        &[r#"flows.web.to=["host1", "leaf2"]"#],
    ] {
        let expected = changed(changes).unwrap();
        let json = expected.canonical_json();
        let again = Scenario::parse(&json, Format::Json, "again", &[]).unwrap();
        assert_eq!(again, expected);
        assert_eq!(again.canonical_json(), json);
        let changes: Vec<Override> = changes
            .iter()
            .map(|it| Override::parse(it).unwrap())
            .collect();
        let later = scenario().with(&changes).unwrap();
        assert_eq!(later, expected, "{changes:?}");
        assert_eq!(later.sha256(), expected.sha256());
    }
}

#[test]
fn the_buffer_of_the_target_link_is_that_of_all_its_role() {
    let scenario = scenario();
    let keys = scenario.buffer_keys();
    assert_eq!(
        keys,
        [
            "link.buffer",
            "fabric.nic.buffer",
            "fabric.uplink.buffer",
            "fabric.spine_port.buffer"
        ]
    );
    let shape = shape_of(&scenario);
    for (key, link) in [
        ("link.buffer", shape.host_port(7)),
        ("fabric.uplink.buffer", shape.uplink(1, 1)),
    ] {
        let larger = scenario.with_packets(key, 1000).unwrap();
        assert_eq!(
            larger.links()[link].buffer,
            BufferLimit::Bytes(Bytes::new(1_500_000))
        );
        assert_eq!(larger.links()[shape.nic(0)], scenario.links()[shape.nic(0)]);
        let json = larger.canonical_json();
        assert_eq!(
            Scenario::parse(&json, Format::Json, "again", &[]).unwrap(),
            larger
        );
    }
}

#[test]
fn a_table_of_a_role_changes_keys_within_the_table_of_all_ports() {
    let changes = [
        "fabric.port.queue={ kind = \"red\", min = \"10%\", max = \"90%\" }",
        "fabric.uplink.queue.min=20%",
    ];
    let scenario = changed(&changes).unwrap();
    let shape = shape_of(&scenario);
    let parameters = |link: usize| scenario.links()[link].discipline.parameters().clone();
    assert_ne!(
        parameters(shape.uplink(0, 0)),
        parameters(shape.host_port(0))
    );
    assert_eq!(
        parameters(shape.spine_port(0, 0)),
        parameters(shape.host_port(0))
    );
    let other = changed(&["fabric.uplink.queue=droptail"]).unwrap();
    assert_eq!(
        other.links()[shape.uplink(0, 0)].discipline.name(),
        "droptail"
    );
}

#[test]
fn mistakes_name_the_line_and_the_key() {
    let mut wrong = Vec::new();
    for (from, to, message) in [
        (
            "hosts  = 8",
            "hosts = 7",
            "fabric.toml:6: fabric.hosts: found `7`; allowed: a multiple of 2, the number of leaves",
        ),
        (
            "\"leaf_spine\"",
            "\"torus\"",
            "fabric.toml:3: fabric.kind: unknown fabric `torus`; known: leaf_spine",
        ),
        (
            "leaves = 2",
            "leaves = 0",
            "fabric.toml:4: fabric.leaves: found `0`; allowed: a whole number from 1 to 128",
        ),
        (
            "hosts  = 8",
            "hosts = 1024",
            "fabric.toml:2: fabric: found 2056 links; allowed: at most 1024 links: two for each host, and two between each leaf and spine",
        ),
        (
            "\"1MB\"",
            "\"1M\"",
            "fabric.toml:11: fabric.port.buffer: found `1M`; did you mean `1MB`?",
        ),
        (
            "\"2MB\"",
            "\"fast\"",
            "fabric.toml:21: fabric.spine_port.buffer: found `fast`;",
        ),
        (
            "\"198m\"",
            "\"198\"",
            "fabric.toml:13: fabric.port.cable: found `198`; allowed: a length",
        ),
        (
            "memory_alpha = 1",
            "weight = 1",
            "fabric.toml:14: fabric.port.weight: unknown key `weight`;",
        ),
        (
            "delay  = \"2us\"",
            "delay = \"2us\"\ncable = \"3m\"",
            "fabric.toml:23: fabric.spine_port.cable: found `3m`; allowed: no `cable` beside `delay`",
        ),
        (
            "size = \"4MB\"",
            "size = \"4ms\"",
            "fabric.toml:7: fabric.memory.size: found `4ms`; ",
        ),
        (
            "memory = { size = \"4MB\" }\n",
            "",
            "fabric.toml:13: fabric.host_port.memory_alpha: found `1`; allowed: only with `memory`",
        ),
        (
            "hosts  = 8",
            "hosts = 8\ntarget = \"leaf1-host8\"",
            "fabric.toml:7: fabric.target: unknown link `leaf1-host8`;",
        ),
        (
            "name     = \"web\"",
            "name = \"web\"\nfrom = \"leaf3\"",
            "fabric.toml:26: flows[0].from: found `leaf3`; allowed: hosts from host1 to host8, leaves up to leaf2",
        ),
        (
            "name     = \"web\"",
            "name = \"web\"\nto = [\"host1\", 2]",
            "fabric.toml:26: flows[0].to[1]: found `2`; allowed: \"all\", or one or a list of",
        ),
        (
            "name     = \"web\"",
            "name = \"web\"\nfrom = \"host1\"\nto = \"host1\"",
            "fabric.toml:27: flows[0].to: found `host1`; allowed: hosts to send from, and others to send to",
        ),
        (
            "name     = \"web\"",
            "name = \"web\"\nreverse = [\"host1-leaf1\"]",
            "fabric.toml:26: flows[0].reverse: found a list of 1; allowed: no `reverse` without a `path`",
        ),
        (
            "name     = \"web\"",
            "name = \"web\"\npath = [\"leaf1-host1\"]\nspray = true",
            "fabric.toml:27: flows[0].spray: found `true`; allowed: only in a [fabric], and without `path`",
        ),
        (
            "name     = \"web\"",
            "name = \"web\"\nspray = true",
            "fabric.toml:26: flows[0].spray: found `true`; allowed: `spray` of packets that are acknowledged, with recovery = \"rack\"",
        ),
        (
            "size = \"15kB\" } }",
            "size = \"15kB\" } }\ncount = 2\nto = \"host1\"",
            "fabric.toml:27: flows[0].count: found `2`; allowed: no `count`, because open-loop arrivals",
        ),
        (
            "{ open_loop = { load = 0.5, size = \"15kB\" } }",
            "{ all_to_all = { size = \"15kB\" } }\nto = \"leaf1\"",
            "fabric.toml:27: flows[0].to: found `leaf1`; allowed: only `from`: the hosts that take part",
        ),
        (
            "{ open_loop = { load = 0.5, size = \"15kB\" } }",
            "{ ring_all_reduce = { size = \"15kB\" } }\ncount = 3",
            "fabric.toml:27: flows[0].count: found `3`; allowed: no `count`, because the hosts determine the number of flows",
        ),
        (
            "{ open_loop = { load = 0.5, size = \"15kB\" } }",
            "{ ring_all_reduce = { size = \"0B\" } }",
            "fabric.toml:26: flows[0].workload.ring_all_reduce.size: found `0B`; allowed: a size above 0",
        ),
        (
            "name     = \"web\"",
            "name = \"web\"\nrtt = \"9us\"",
            "fabric.toml:26: flows[0].rtt: found a round trip of 9us over links whose delays add up to 10us;",
        ),
        (
            "name     = \"web\"",
            "name = \"web\"\nto = \"host8\"",
            "fabric.toml:24: flows: found no flows on the target link; allowed: a group whose path crosses it",
        ),
        (
            "[run]",
            "[link]\nrate = \"1Gbps\"\n[run]",
            "fabric.toml:1: found both [link] and [fabric]; allowed: either [link] or [[links]] or [fabric]",
        ),
        (
            "[run]",
            "[[memories]]\nname = \"chip\"\n[run]",
            "fabric.toml:28: memories: found a list of 1; allowed: no [[memories]] beside [fabric]",
        ),
        (
            "{ open_loop = { load = 0.5, size = \"15kB\" } }",
            "{ incast = { servers = 4, size = \"1kB\", pause = \"1ms\" } }\nto = \"leaf1\"",
            "fabric.toml:27: flows[0].to: found `leaf1`; allowed: one host: the one that requests",
        ),
    ] {
        assert!(FILE.contains(from), "{from}");
        let text = FILE.replacen(from, to, 1);
        let error = Scenario::parse(&text, Format::Toml, "fabric.toml", &[]).unwrap_err();
        let error = error.to_string();
        if !error.starts_with(message) || error.lines().count() != 1 {
            wrong.push(error);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_argument_that_changes_a_fabric_is_named_in_its_mistake() {
    let error = changed(&["fabric.uplink.buffer=1"]).unwrap_err();
    assert!(
        error.starts_with("overrides: fabric.uplink.buffer: found `1`"),
        "{error}"
    );
    let error = changed(&["link.pfc.xoff=1"]).unwrap_err();
    assert!(
        error.starts_with("overrides: link.pfc.xoff: found `1`"),
        "{error}"
    );
}

#[test]
fn a_group_with_a_path_is_like_one_on_links_of_a_file() {
    let path = r#"flows.web.path=["host5-leaf2", "leaf2-spine1", "spine1-leaf1", "leaf1-host1"]"#;
    let scenario = changed(&[path, "flows.web.rtt=20us"]).unwrap();
    assert!(scenario.flows()[0].routing.is_none());
    assert_eq!(scenario.flows()[0].path.len(), 4);
    let json = scenario.canonical_json();
    assert_eq!(
        Scenario::parse(&json, Format::Json, "again", &[]).unwrap(),
        scenario
    );
}

/// A key that is added has its line here.
#[test]
fn every_key_of_a_fabric_and_its_groups_changes_the_scenario() {
    let values = [
        ("fabric.leaves", "4"),
        ("fabric.spines", "3"),
        ("fabric.hosts", "4"),
        ("fabric.target", "leaf1-spine1"),
        ("fabric.memory", "{ size = \"5MB\" }"),
        ("fabric.port", "{ rate = \"25Gbps\", buffer = \"1MB\" }"),
        ("fabric.nic", "{ buffer = \"2MB\" }"),
        ("fabric.host_port", "{ buffer = \"2MB\" }"),
        ("fabric.uplink", "{ buffer = \"2MB\" }"),
        ("fabric.spine_port", "{ buffer = \"3MB\" }"),
        ("flows.web.from", "leaf2"),
        ("flows.web.to", "leaf1"),
        ("flows.web.spray", "true"),
    ];
    let mut hashes = vec![scenario().sha256()];
    for (key, value) in values {
        let rack = "flows.web.recovery=rack".to_owned();
        let other = changed(
            &[rack, format!("{key}={value}")]
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
        )
        .unwrap();
        assert!(!hashes.contains(&other.sha256()), "{key}");
        hashes.push(other.sha256());
    }
    let sections = sections();
    let of = |name: &str| sections.iter().find(|text| text.name == name).unwrap();
    for key in of("fabric").keys.iter().filter(|key| key.name != "kind") {
        let name = format!("fabric.{}", key.name);
        assert!(values.iter().any(|(known, _)| *known == name), "{name}");
    }
}

#[test]
fn a_collective_is_among_the_hosts_that_are_named() {
    for (workload, flows) in [("all_to_all", 12), ("ring_all_reduce", 4)] {
        let workload = format!("flows.web.workload={{ {workload} = {{ size = \"1MB\" }} }}");
        let scenario = changed(&[&workload, "flows.web.from=leaf1"]).unwrap();
        let group = &scenario.flows()[0];
        assert_eq!(group.count, flows);
        let shape = shape_of(&scenario);
        assert!(group.crosses(shape.host_port(3)) && !group.crosses(shape.host_port(4)));
        assert!(!group.crosses(shape.uplink(0, 0)));
    }
}
