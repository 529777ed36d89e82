//! Links on which the invariants of the rules are tested.

use forebay_scenario::{Format, Scenario};

pub(crate) fn scenario(toml: &str) -> Scenario {
    Scenario::parse(toml, Format::Toml, "test.toml", &[]).unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

/// A link with these groups of flows, which send packets of 1000 bytes.
pub(crate) fn link(kbps: u64, buffer: u64, groups: &[String]) -> Scenario {
    let groups = groups.iter().enumerate().map(|(number, body)| {
        format!("[[flows]]\nname = \"g{number}\"\npacket = \"1000B\"\n{body}\n")
    });
    let groups: String = groups.collect();
    scenario(&format!(
        "[link]\nrate = \"{kbps}kbps\"\nbuffer = \"{buffer}p\"\n{groups}"
    ))
}

pub(crate) fn long(count: u32, cca: &str) -> String {
    format!("count = {count}\ncca = \"{cca}\"\nrtt = {{ linspace = [\"40ms\", \"80ms\"] }}")
}

pub(crate) fn stream(kbps: u64) -> String {
    format!("workload = {{ poisson = {{ rate = \"{kbps}kbps\" }} }}")
}

pub(crate) fn web(load: f64) -> String {
    format!("rtt = \"40ms\"\nworkload = {{ open_loop = {{ load = {load}, size = \"3kB\" }} }}")
}

/// Links of all kinds whose buffer is not yet set.
pub(crate) fn links() -> Vec<Scenario> {
    let access = |ratio: f64| {
        format!(
            "{}\naccess = {{ rate = \"{}bps\" }}",
            web(0.6),
            50e6 / ratio
        )
    };
    let held = format!("{}\nreceive_window = \"12p\"", long(30, "newreno"));
    let groups = vec![
        vec![long(1, "newreno")],
        vec![long(1, "cubic"), stream(10_000)],
        vec![long(8, "newreno")],
        vec![long(200, "newreno"), stream(10_000)],
        vec![long(300, "cubic")],
        vec![long(60, "htcp"), web(0.2)],
        vec![long(60, "bbr")],
        vec![held, stream(5_000)],
        vec![web(0.7)],
        vec![web(0.5), stream(15_000)],
        vec![access(100.0)],
        vec![access(3.0)],
        vec![stream(30_000)],
        vec![stream(49_000)],
        vec![stream(60_000)],
    ];
    let mut all: Vec<Scenario> = groups
        .iter()
        .map(|groups| link(50_000, 10, groups))
        .collect();
    let queue = |queue: &str, cca: &str| {
        scenario(&format!(
            "[link]\nrate = \"50Mbps\"\nbuffer = \"10p\"\nqueue = {queue}\n[[flows]]\npacket = \"1000B\"\n{}\necn = true\n",
            long(40, cca)
        ))
    };
    all.push(queue(
        "{ kind = \"red\", min = \"20%\", max = \"60%\" }",
        "newreno",
    ));
    all.push(queue("{ kind = \"step\", threshold = \"30p\" }", "dctcp"));
    all
}
