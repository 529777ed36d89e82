//! Classes of traffic: how they are read, written, refused and changed.
use forebay_scenario::{BufferLimit, BufferSize, Format, Override, Scenario, schema, sections};
use forebay_units::Bytes;

const HEAD: &str = r#"
[link]
rate = "12Mbps"
buffer = "100p"
"#;

const TAIL: &str = r#"
[[flows]]
name = "calls"
count = 10
packet = "200B"
workload = "voip"
[[flows]]
name = "web"
rtt = "40ms"
workload = { open_loop = { load = 0.3, size = "20p" } }
[[flows]]
name = "bulk"
count = 3
rtt = "80ms"
"#;

fn file(queue: &str) -> String {
    format!("{HEAD}queue = {{ kind = \"classes\", {queue} }}\n{TAIL}")
}

fn parse(queue: &str) -> Result<Scenario, String> {
    let read = Scenario::parse(&file(queue), Format::Toml, "f.toml", &[]);
    read.map_err(|error| error.to_string())
}

const THREE: &str = r#"schedule = "dwrr", quantum = "9kB", classes = [
    { name = "voice", groups = ["calls"], priority = true, buffer = "5ms" },
    { name = "web", groups = ["web"], weight = 3, buffer = "0.5BDP", queue = { kind = "red", min = "40%" } },
    { name = "rest", weight = 2, queue = "codel" },
]"#;

#[test]
fn classes_are_read_resolved_and_written_so_that_they_read_back() {
    let scenario = parse(THREE).unwrap();
    let link = scenario.target();
    assert_eq!(link.discipline.name(), "classes");
    assert_eq!(link.discipline.parameters().word("schedule"), "dwrr");
    let [voice, web, rest] = &link.classes[..] else {
        panic!("{:?}", link.classes)
    };
    // 5 ms at 12 Mbit/s; half of 80 ms at 12 Mbit/s.
    assert_eq!(voice.buffer, Some(BufferLimit::Bytes(Bytes::new(7_500))));
    assert_eq!(web.buffer, Some(BufferLimit::Bytes(Bytes::new(60_000))));
    assert_eq!(rest.buffer, None);
    assert_eq!((voice.weight, web.weight, rest.weight), (1, 3, 2));
    assert!(voice.priority && !web.priority);
    assert_eq!(web.discipline.name(), "red");
    assert_eq!(rest.discipline.name(), "codel");
    for (group, class) in [("calls", 0), ("web", 1), ("bulk", 2), ("new", 2)] {
        assert_eq!(link.class_of(group), Some(class), "{group}");
    }
    let again = Scenario::parse(&scenario.canonical_json(), Format::Json, "json", &[]).unwrap();
    assert_eq!(again, scenario);
    assert_eq!(again.sha256(), scenario.sha256());
}

#[test]
fn a_plain_queue_has_no_classes_and_says_nothing_of_them() {
    let text = format!("{HEAD}{TAIL}");
    let scenario = Scenario::parse(&text, Format::Toml, "f.toml", &[]).unwrap();
    assert_eq!(scenario.target().class_of("calls"), None);
    assert!(!scenario.canonical_json().contains("classes"));
}

#[test]
fn mistakes_say_where_they_are_and_what_is_allowed() {
    let class =
        |inner: &str| format!("classes = [{{ name = \"a\", {inner} }}, {{ name = \"b\" }}]");
    for (queue, key, found, allowed) in [
        (String::new(), "link.queue", "no `classes`", "classes = [{ name"),
        ("classes = []".into(), "link.queue.classes", "a list of 0", "one to 256"),
        ("classes = \"a\"".into(), "link.queue.classes", "`a`", "a list of"),
        ("classes = [{}]".into(), "link.queue.classes[0]", "no `name`", "name = "),
        ("schedule = \"fair\", classes = [{ name = \"a\" }]".into(),
            "link.queue.schedule", "`fair`", "strict, wrr, dwrr"),
        ("speed = 1, classes = [{ name = \"a\" }]".into(),
            "link.queue.speed", "unknown key `speed`", "schedule, drop, quantum, classes"),
        ("classes = [{ name = \"a\", groups = [\"web\"] }, { name = \"a\" }]".into(),
            "link.queue.classes[1]", "a second class named `a`", "a different name"),
        ("classes = [{ name = \"a\" }, { name = \"b\" }]".into(),
            "link.queue.classes[0]", "no `groups`", "groups = "),
        ("classes = [{ name = \"a.b\" }]".into(),
            "link.queue.classes[0].name", "`a.b`", "without dots"),
        (class("groups = [\"wed\"]"),
            "link.queue.classes[0].groups[0]", "`wed`", "calls, web, bulk"),
        (class("groups = [\"web\", \"web\"]"),
            "link.queue.classes[0].groups[1]", "class `a` has already", "once"),
        ("classes = [{ name = \"a\", groups = [\"web\"] }, { name = \"b\", groups = [\"web\"] }]".into(),
            "link.queue.classes[1].groups[0]", "class `a` has already", "once"),
        (class("groups = [\"web\"], weight = 0"),
            "link.queue.classes[0].weight", "`0`", "from 1 to 10000"),
        (class("groups = [\"web\"], weigth = 2"),
            "link.queue.classes[0].weigth", "unknown key `weigth`", "weight"),
        (class("groups = [\"web\"], buffer = \"5\""),
            "link.queue.classes[0].buffer", "`5`", "packets \"100p\""),
        (class("groups = [\"web\"], queue = \"classes\""),
            "link.queue.classes[0].queue", "`classes`", "droptail"),
        (class("groups = [\"web\"], queue = { kind = \"red\", mix = 3 }"),
            "link.queue.classes[0].queue.mix", "unknown key `mix`", "min"),
    ] {
        let error = parse(&queue).unwrap_err();
        let start = format!("f.toml:5: {key}: ");
        assert!(error.starts_with(&start), "{queue}: {error}");
        let says = &error[start.len()..];
        assert!(says.contains(found) && says.contains(allowed), "{queue}: {error}");
    }
    let bare = format!("{HEAD}queue = \"classes\"\n{TAIL}");
    let error = Scenario::parse(&bare, Format::Toml, "f.toml", &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("f.toml:5: link.queue: found no `classes`")
    );
}

#[test]
fn a_mistake_in_a_class_has_its_own_line() {
    let error = parse(&THREE.replace("\"web\"]", "\"wed\"]")).unwrap_err();
    assert!(
        error.starts_with(
            "f.toml:7: link.queue.classes[1].groups[0]: unknown group `wed`; did you mean `web`?"
        ),
        "{error}"
    );
}

#[test]
fn a_buffer_in_bdp_needs_one() {
    let text = file(r#"classes = [{ name = "a", buffer = "0.5BDP" }]"#);
    let text = text
        .split("[[flows]]")
        .take(2)
        .collect::<Vec<_>>()
        .join("[[flows]]");
    let error = Scenario::parse(&text, Format::Toml, "f.toml", &[]).unwrap_err();
    assert!(error.to_string().contains("there is no BDP"), "{error}");
}

#[test]
fn overrides_find_a_class_by_its_name_and_by_its_number() {
    let scenario = parse(THREE).unwrap();
    for key in [
        "link.queue.classes.web.buffer",
        "link.queue.classes.1.buffer",
    ] {
        let change = Override::parse(&format!("{key}=40p")).unwrap();
        let text = Scenario::parse(
            &file(THREE),
            Format::Toml,
            "f.toml",
            std::slice::from_ref(&change),
        );
        for changed in [scenario.with(&[change]).unwrap(), text.unwrap()] {
            assert_eq!(
                changed.target().classes[1].buffer,
                Some(BufferLimit::Packets(40))
            );
            assert_eq!(changed.target().classes[0], scenario.target().classes[0]);
            assert_eq!(changed.target().classes[2], scenario.target().classes[2]);
        }
    }
    let inner = Override::parse("link.queue.classes.rest.queue.target=2ms").unwrap();
    let changed = scenario.with(&[inner]).unwrap();
    assert_eq!(changed.target().classes[2].discipline.name(), "codel");
    assert_ne!(changed.target().classes[2], scenario.target().classes[2]);
    let unknown = Override::parse("link.queue.classes.vioce.buffer=40p").unwrap();
    let error = scenario.with(&[unknown]).unwrap_err().to_string();
    assert!(
        error.contains("unknown class `vioce`; did you mean `voice`? known: voice, web, rest"),
        "{error}"
    );
    let other = Override::parse("link.queue=fq_codel").unwrap();
    assert!(scenario.with(&[other]).unwrap().target().classes.is_empty());
}

#[test]
fn a_buffer_is_known_and_changed_by_its_key_as_by_an_override() {
    let scenario = parse(THREE).unwrap();
    let keys = [
        "link",
        "link.queue.classes.voice",
        "link.queue.classes.web",
        "link.queue.classes.rest",
    ];
    let keys = keys.map(|key| format!("{key}.buffer"));
    assert_eq!(scenario.buffer_keys(), keys);
    for key in &keys {
        for packets in [0, 1, 7, 1000] {
            let changed = scenario.with_packets(key, packets).unwrap();
            assert_eq!(
                changed.buffer_of(key).unwrap().packets,
                packets as f64,
                "{key}"
            );
            for other in keys.iter().filter(|other| *other != key) {
                // A class without a buffer has the link's.
                if !(other.contains("rest") && key == "link.buffer") {
                    assert_eq!(
                        changed.buffer_of(other),
                        scenario.buffer_of(other),
                        "{key} {other}"
                    );
                }
            }
            let bytes = changed.buffer_of(key).unwrap().bytes;
            let packet_limit =
                ["link.buffer", "link.queue.classes.rest.buffer"].contains(&key.as_str());
            let value = if packet_limit {
                format!("{packets}p")
            } else {
                format!("{bytes}B")
            };
            let change = Override::parse(&format!("{key}={value}")).unwrap();
            assert_eq!(scenario.with(&[change]).unwrap(), changed, "{key}");
        }
    }
    let voice = scenario.buffer_of(&keys[1]).unwrap();
    // Each packet has 200 bytes.
    assert_eq!(
        (voice.packets, voice.bytes, voice.seconds),
        (37.5, 7500.0, 0.005)
    );
    assert_eq!(scenario.buffer_of(&keys[0]).unwrap(), scenario.buffer());
    assert_eq!(
        scenario.buffer_of("links.link.buffer").unwrap(),
        scenario.buffer()
    );
    assert_eq!(
        scenario.buffer_of("link.queue.classes.0.buffer").unwrap(),
        voice
    );
    let sized = scenario.with_buffer(BufferSize::Packets(9)).unwrap();
    assert_eq!(sized, scenario.with_packets("link.buffer", 9).unwrap());
}

#[test]
fn a_link_whose_classes_all_have_buffers_has_none_to_change() {
    let own = |text: &str| {
        let scenario = parse(text).unwrap();
        let change = Override::parse("link.queue.classes.rest.buffer=9p").unwrap();
        scenario.with(&[change]).unwrap()
    };
    let keys = own(THREE).buffer_keys();
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert!(!keys.contains(&"link.buffer".to_owned()));
    assert!(!own(THREE).target().has_shared_buffer());
    assert!(parse(THREE).unwrap().target().has_shared_buffer());
}

#[test]
fn an_unknown_key_is_answered_with_the_known_ones() {
    let scenario = parse(THREE).unwrap();
    for key in [
        "",
        "buffer",
        "link",
        "link.buffers",
        "link.rate",
        "links.buffer",
        "link.queue.classes.buffer",
        "link.queue.classes.vioce.buffer",
        "link.queue.classes.3.buffer",
        "links.1.buffer",
        "linkbuffer",
    ] {
        let error = scenario.buffer_of(key).unwrap_err();
        assert_eq!(error, scenario.with_packets(key, 3).unwrap_err());
        let text = error.to_string();
        assert!(text.contains(&format!("unknown buffer `{key}`")), "{text}");
        assert!(text.contains("link.queue.classes.voice.buffer"), "{text}");
    }
    let error = scenario
        .with_packets("link.queue.classes.voice.buffer", u64::MAX)
        .unwrap_err();
    assert!(
        error.value_error.allowed().contains("1e15 bytes"),
        "{error}"
    );
}

#[test]
fn every_link_may_have_classes_and_keys_name_it() {
    let text = format!(
        "[[links]]\nname = \"up\"\nrate = \"1Mbps\"\nbuffer = \"10p\"\n\
         queue = {{ kind = \"classes\", classes = [{{ name = \"all\" }}] }}\n\
         [[links]]\nname = \"down\"\nrate = \"2Mbps\"\nbuffer = \"20p\"\ntarget = true\n{}",
        TAIL.replace("[[flows]]", "[[flows]]\npath = [\"up\", \"down\"]")
    );
    let scenario = Scenario::parse(&text, Format::Toml, "f.toml", &[]).unwrap();
    let keys = [
        "link.buffer",
        "links.up.buffer",
        "links.up.queue.classes.all.buffer",
    ];
    assert_eq!(scenario.buffer_keys(), keys);
    assert_eq!(
        scenario.buffer_of("links.down.buffer").unwrap(),
        scenario.buffer()
    );
    let changed = scenario.with_packets(keys[2], 3).unwrap();
    assert_eq!(
        changed.links()[0].classes[0].buffer,
        Some(BufferLimit::Packets(3))
    );
    assert_eq!(changed.buffer(), scenario.buffer());
}

#[test]
fn the_schema_and_explain_know_the_keys_of_a_class() {
    let texts = sections();
    let link = texts.iter().find(|text| text.name == "link").unwrap();
    let queue = link.keys.iter().find(|text| text.name == "queue").unwrap();
    let classes = queue
        .keys
        .iter()
        .find(|text| text.name == "classes")
        .unwrap();
    let names: Vec<&str> = classes.keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "name", "groups", "weight", "priority", "buffer", "pfc", "queue"
        ]
    );
    let schema = schema();
    let forms = schema
        .pointer("/$defs/link/properties/queue/oneOf")
        .unwrap()
        .as_array()
        .unwrap();
    assert!(
        !forms[0]["enum"]
            .as_array()
            .unwrap()
            .contains(&"classes".into())
    );
    let with = |form: &&serde_json::Value| form["properties"]["kind"]["const"] == "classes";
    let form = forms.iter().find(with).unwrap();
    assert_eq!(form["required"], serde_json::json!(["kind", "classes"]));
    let item = &form["properties"]["classes"]["items"];
    for name in names {
        assert!(item["properties"][name].is_object(), "{name}");
    }
    assert!(
        !item["properties"]["queue"]
            .to_string()
            .contains("\"classes\"")
    );
}

#[test]
fn buffers_and_loads_follow_later_changes_as_those_of_the_text_do() {
    let text = r#"
        [[links]]
        name = "near"
        rate = "30Mbps"
        buffer = "0.5BDP"
        [[links]]
        name = "far"
        rate = "10Mbps"
        buffer = "20ms"
        target = true
        queue = { kind = "classes", classes = [{ name = "voice", groups = ["calls"], buffer = "5ms" }, { name = "web", groups = ["long"], buffer = "2BDP" }, { name = "rest" }] }
        [[flows]]
        name = "long"
        path = ["near", "far"]
        rtt = "40ms"
        [[flows]]
        name = "calls"
        path = ["far"]
        workload = { cbr = { rate = "1Mbps" } }
        packet = "200B"
        [[flows]]
        name = "web"
        path = ["far"]
        rtt = "30ms"
        workload = { open_loop = { load = 0.3, size = "20p" } }
        [[flows]]
        name = "mail"
        path = ["far"]
        rtt = "30ms"
        workload = { open_loop = { rate = "1Mbps", size = "20kB" } }
    "#;
    let plain = Scenario::parse(text, Format::Toml, "text", &[]).unwrap();
    let portable = Scenario::parse(&plain.portable_json(), Format::Json, "again", &[]).unwrap();
    assert_eq!(portable, plain);
    let changes = [
        "links.far.rate=20Mbps",
        "links.near.rate=7Mbps",
        "flows.long.rtt=10ms",
        "flows.long.stack=linux",
        "links.far.buffer=9p",
        "flows.web.packet=9kB",
        "flows.mail.packet=500B",
        "flows.web.stack=linux",
        "flows.mail.workload.open_loop.rate=2Mbps",
    ];
    for change in changes.map(|change| Override::parse(change).unwrap()) {
        let expected = Scenario::parse(text, Format::Toml, "text", std::slice::from_ref(&change));
        let expected = expected.unwrap();
        for scenario in [&plain, &portable] {
            let twice = [Override::parse("run.seed=7").unwrap(), change.clone()];
            let changed = scenario.with(&twice[..1]).unwrap().with(&twice[1..]);
            let back = Override::parse("run.seed=1").unwrap();
            assert_eq!(
                changed.unwrap().with(&[back]).unwrap(),
                expected,
                "{change:?}"
            );
        }
    }
    // A size that a search sets stays.
    let faster = Override::parse("links.far.rate=20Mbps").unwrap();
    let sized = plain.with_packets("link.buffer", 33).unwrap();
    let sized = sized.with(&[faster]).unwrap();
    let bytes = |scenario: &Scenario| scenario.buffer().bytes;
    assert_eq!(
        bytes(&sized),
        bytes(&plain.with_packets("link.buffer", 33).unwrap())
    );
}
