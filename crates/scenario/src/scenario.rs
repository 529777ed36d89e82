//! The scenario: valid by construction, with its resolved buffer and bandwidth-delay product.

use std::fmt::Write as _;

use forebay_units::Time;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::flows::{FlowGroup, MAX_FLOWS, ShownGroup, Workload, read_group};
use crate::link::{BufferLimit, BufferSize, Link, Memory, ShownLink, read_link, read_memories};
use crate::metric::{Goal, ShownGoals};
use crate::node::{Cursor, Format, Node, Override, ScenarioError};
use crate::options::{FluidOptions, TraceOptions, read_fluid, read_trace};
use crate::report::BufferReport;

/// One link (or several) and its traffic, read from a file and valid.
///
/// There is no way to build an invalid one: [`Scenario::parse`] is the only constructor.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    title: String,
    links: Vec<Link>,
    memories: Vec<Memory>,
    target: usize,
    flows: Vec<FlowGroup>,
    run: RunPlan,
    goals: Vec<Goal>,
    fluid: FluidOptions,
    trace: TraceOptions,
}

/// How long and how often a scenario is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RunPlan {
    /// Simulated but not measured.
    pub warmup: Time,
    /// Measured after the warm-up.
    pub measure: Time,
    /// Seed of all random streams.
    pub seed: u64,
    /// Independent repetitions.
    pub replications: u64,
}

impl Scenario {
    /// Reads a scenario. `file` is only for error messages; `overrides` are applied in order.
    ///
    /// # Errors
    /// The first mistake: file, line, key, what was found and what is allowed.
    pub fn parse(
        text: &str,
        format: Format,
        file: &str,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        let mut node = Node::read(text, format, file)?;
        for change in overrides {
            node.apply(change)?;
        }
        Self::read(&Cursor::root(&node, file))
    }

    fn read(root: &Cursor<'_>) -> Result<Self, ScenarioError> {
        root.only(&[
            "title", "link", "links", "memories", "flows", "run", "goal", "fluid", "trace",
        ])?;
        let cursors = match (root.get("link"), root.get("links")) {
            (Some(link), None) => vec![link],
            (None, Some(links)) => links
                .items()
                .filter(|items| (1..=64).contains(&items.len()))
                .ok_or_else(|| links.error("[[links]], one to 64 of them"))?,
            _ => {
                return Err(root.error_found("no link or both forms", "either [link] or [[links]]"));
            }
        };
        let memories = match root.get("memories") {
            Some(memories) => read_memories(&memories)?,
            None => Vec::new(),
        };
        let mut raw = Vec::with_capacity(cursors.len());
        for (number, cursor) in cursors.iter().enumerate() {
            raw.push(read_link(cursor, number, &memories)?);
        }
        let target = find_target(&raw.iter().map(|raw| &raw.link).collect::<Vec<_>>(), root)?;
        raw[target].link.target = true;
        let names: Vec<String> = raw.iter().map(|raw| raw.link.name.clone()).collect();
        let flows = read_flows(root, &names, &raw[target].link)?;
        let mut links = Vec::with_capacity(raw.len());
        for (index, mut raw) in raw.into_iter().enumerate() {
            let bdp = bdp_bytes(index, &raw.link, &flows);
            let limit = match (raw.size, bdp) {
                (BufferSize::Bdp(_), None) => {
                    return Err(raw.buffer.error(
                        "packets, bytes or time: without responsive flows of bounded RTT there is no BDP",
                    ));
                }
                (size, bdp) => size.resolve(raw.link.rate, bdp.unwrap_or(0.0)),
            };
            raw.link.buffer = limit.ok_or_else(|| raw.buffer.error("at most 1e15 bytes"))?;
            links.push(raw.link);
        }
        let groups: Vec<String> = flows.iter().map(|group| group.name.clone()).collect();
        let persistent = flows.iter().filter(|group| group.persistent());
        let persistent = persistent.map(|group| group.count).sum();
        Ok(Self {
            title: match root.get("title") {
                Some(title) => title
                    .text()
                    .ok_or_else(|| title.error("a text"))?
                    .to_owned(),
                None => String::new(),
            },
            links,
            memories,
            target,
            flows,
            run: read_run(root.get("run"))?,
            goals: read_goals(root.get("goal"), &groups)?,
            fluid: read_fluid(root.get("fluid"), persistent)?,
            trace: read_trace(root.get("trace"))?,
        })
    }

    /// The same scenario with changes.
    pub fn with(&self, overrides: &[Override]) -> Result<Self, ScenarioError> {
        Self::parse(&self.canonical_json(), Format::Json, "scenario", overrides)
    }

    /// The same scenario with another buffer at the target link.
    ///
    /// # Errors
    /// A buffer in multiples of a BDP that does not exist, or a buffer that is too large.
    pub fn with_buffer(&self, buffer: BufferSize) -> Result<Self, ScenarioError> {
        let mut changed = self.clone();
        let link = &mut changed.links[self.target];
        let bdp = bdp_bytes(self.target, link, &self.flows);
        let limit = match (buffer, bdp) {
            (BufferSize::Bdp(_), None) => None,
            (buffer, bdp) => buffer.resolve(link.rate, bdp.unwrap_or(0.0)),
        };
        link.buffer = limit.ok_or_else(|| ScenarioError {
            file: "scenario".into(),
            line: None,
            key: "link.buffer".into(),
            found: format!("{buffer:?}"),
            allowed: "at most 1e12 packets or 1e15 bytes; BDP only with responsive flows".into(),
        })?;
        Ok(changed)
    }

    /// The same scenario with these flow groups, which cross the same links.
    pub(crate) fn with_groups(&self, flows: Vec<FlowGroup>) -> Self {
        Self {
            flows,
            ..self.clone()
        }
    }

    /// Title, possibly empty.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// All links.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Memories that links share.
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// Index of the target link.
    pub fn target_index(&self) -> usize {
        self.target
    }

    /// The link that reports speak of.
    pub fn target(&self) -> &Link {
        &self.links[self.target]
    }

    /// The flow groups.
    pub fn flows(&self) -> &[FlowGroup] {
        &self.flows
    }

    /// Length, seed and replications.
    pub fn run(&self) -> RunPlan {
        self.run
    }

    /// What `recommend` must meet.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// Options of the fluid engine.
    pub fn fluid(&self) -> &FluidOptions {
        &self.fluid
    }

    /// What is traced.
    pub fn trace(&self) -> &TraceOptions {
        &self.trace
    }

    /// Groups whose path crosses the target link.
    pub fn target_flows(&self) -> impl Iterator<Item = &FlowGroup> {
        self.flows
            .iter()
            .filter(|group| group.path.contains(&self.target))
    }

    /// Harmonic mean RTT in seconds, weighted by flow count, of the responsive persistent flows
    /// (of all responsive flows where none is persistent) that cross the target link.
    pub fn harmonic_rtt(&self) -> Option<f64> {
        harmonic_rtt(self.target, &self.flows)
    }

    /// Bandwidth-delay product of the target link in bytes.
    pub fn bdp_bytes(&self) -> Option<f64> {
        bdp_bytes(self.target, self.target(), &self.flows)
    }

    /// Bandwidth-delay product of the target link in packets of the mean size.
    pub fn bdp_packets(&self) -> Option<f64> {
        self.bdp_bytes().map(|bytes| bytes / self.packet_bytes())
    }

    /// Mean packet size in bytes at the target link: of the responsive persistent flows, else of
    /// the responsive, else of all.
    pub fn packet_bytes(&self) -> f64 {
        let mean = |keep: &dyn Fn(&FlowGroup) -> bool| -> Option<f64> {
            let groups = self.target_flows().filter(|group| keep(group));
            let (sum, count) = groups.fold((0.0, 0.0), |(sum, count), group| {
                (
                    sum + group.count as f64 * group.packet.mean(),
                    count + group.count as f64,
                )
            });
            (count > 0.0).then(|| sum / count)
        };
        mean(&FlowGroup::persistent)
            .or_else(|| mean(&FlowGroup::responsive))
            .or_else(|| mean(&|_| true))
            .unwrap_or(1500.0)
    }

    /// Capacity of the target link in packets of the mean size per second.
    pub fn packets_per_second(&self) -> f64 {
        self.target().rate.as_bytes_per_second() / self.packet_bytes()
    }

    /// Number of persistent flows at the target link.
    pub fn persistent_flows(&self) -> u64 {
        self.target_flows()
            .filter(|group| group.persistent())
            .map(|group| group.count)
            .sum()
    }

    /// Load of the unresponsive groups over the target link's rate.
    pub fn background_load(&self) -> f64 {
        let offered: f64 = self
            .target_flows()
            .filter_map(FlowGroup::unresponsive_rate)
            .sum();
        offered / self.target().rate.as_bits_per_second() as f64
    }

    /// Load of the open-loop transfers over the target link's rate.
    pub fn open_loop_load(&self) -> f64 {
        let offered = self.target_flows().map(|group| match &group.workload {
            Workload::OpenLoop { interarrival, size } => {
                let packets = size.mean_units(group.payload().get().max(1) as f64);
                packets * group.packet.mean() * 8.0 / interarrival.mean()
            }
            _ => 0.0,
        });
        offered.sum::<f64>() / self.target().rate.as_bits_per_second() as f64
    }

    /// Propagation round-trip times in seconds of the persistent flows at the target link: exact
    /// for values, lists and linspace; equally likely values for random laws. At most `most`
    /// values, thinned evenly where there are more.
    pub fn persistent_rtts(&self, most: usize) -> Vec<f64> {
        let mut all = Vec::new();
        for group in self.target_flows().filter(|group| group.persistent()) {
            let points = group.rtt.representatives(group.count);
            let n = usize::try_from(group.count)
                .unwrap_or(usize::MAX)
                .min(most.max(1));
            all.extend((0..n).map(|k| points[k * points.len() / n]));
        }
        if all.len() > most {
            let n = all.len();
            all = (0..most).map(|k| all[k * n / most]).collect();
        }
        all
    }

    /// The target link's buffer in every unit.
    pub fn buffer(&self) -> BufferReport {
        let link = self.target();
        let packet = self.packet_bytes();
        let bytes = match link.buffer {
            BufferLimit::Packets(count) => count as f64 * packet,
            BufferLimit::Bytes(bytes) => bytes.get() as f64,
        };
        BufferReport {
            packets: bytes / packet,
            bytes,
            seconds: bytes / link.rate.as_bytes_per_second(),
            bdp: self.bdp_bytes().map(|bdp| bytes / bdp),
        }
    }

    /// The resolved scenario as JSON with its keys in a fixed order: reading it back gives an
    /// equal scenario.
    pub fn canonical_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// SHA-256 of the canonical JSON, in hexadecimal.
    pub fn sha256(&self) -> String {
        let digest = Sha256::digest(self.canonical_json().as_bytes());
        digest
            .iter()
            .fold(String::with_capacity(64), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("title", &self.title)?;
        let links = self.links.iter().map(|link| {
            let memory = link.memory.map(|at| self.memories[at].name.as_str());
            ShownLink(link, memory)
        });
        map.serialize_entry("links", &links.collect::<Vec<_>>())?;
        if !self.memories.is_empty() {
            map.serialize_entry("memories", &self.memories)?;
        }
        let groups: Vec<ShownGroup<'_>> = self
            .flows
            .iter()
            .map(|g| {
                let names = |path: &[usize]| -> Vec<&str> {
                    path.iter().map(|&l| self.links[l].name.as_str()).collect()
                };
                ShownGroup(g, names(&g.path), names(&g.reverse))
            })
            .collect();
        map.serialize_entry("flows", &groups)?;
        map.serialize_entry("run", &self.run)?;
        map.serialize_entry("goal", &ShownGoals(&self.goals))?;
        map.serialize_entry("fluid", &self.fluid)?;
        map.serialize_entry("trace", &self.trace)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::parse(&value.to_string(), Format::Json, "scenario", &[])
            .map_err(serde::de::Error::custom)
    }
}

fn find_target(links: &[&Link], root: &Cursor<'_>) -> Result<usize, ScenarioError> {
    for (at, link) in links.iter().enumerate() {
        if links[..at].iter().any(|other| other.name == link.name) {
            return Err(root.error_found(
                format!("two links named `{}`", link.name),
                "a different name for each link",
            ));
        }
    }
    let targets: Vec<usize> = (0..links.len()).filter(|&at| links[at].target).collect();
    match (&targets[..], links.len()) {
        ([target], _) => Ok(*target),
        ([], 1) => Ok(0),
        _ => Err(root.error_found(
            format!("{} links with target = true", targets.len()),
            "exactly one link with target = true",
        )),
    }
}

fn read_flows(
    root: &Cursor<'_>,
    links: &[String],
    target: &Link,
) -> Result<Vec<FlowGroup>, ScenarioError> {
    let cursor = root.require("flows", "[[flows]] with at least one group")?;
    let items = cursor
        .items()
        .filter(|items| (1..=10_000).contains(&items.len()));
    let items = items.ok_or_else(|| cursor.error("[[flows]], one to 10000 groups"))?;
    let mut flows: Vec<FlowGroup> = Vec::with_capacity(items.len());
    for (number, item) in items.iter().enumerate() {
        let group = read_group(item, number, links, target.rate)?;
        if flows.iter().any(|other| other.name == group.name) {
            return Err(item.error_found(
                format!("a second group named `{}`", group.name),
                "a different name for each group",
            ));
        }
        flows.push(group);
    }
    let total: u64 = flows.iter().map(|group| group.count).sum();
    if total > MAX_FLOWS {
        return Err(cursor.error_found(format!("{total} flows"), format!("at most {MAX_FLOWS}")));
    }
    let at = links
        .iter()
        .position(|name| *name == target.name)
        .unwrap_or(0);
    if !flows.iter().any(|group| group.path.contains(&at)) {
        return Err(cursor.error_found(
            "no flows on the target link",
            "a group whose path crosses it",
        ));
    }
    Ok(flows)
}

fn read_run(cursor: Option<Cursor<'_>>) -> Result<RunPlan, ScenarioError> {
    let mut run = RunPlan {
        warmup: Time::from_secs(10),
        measure: Time::from_secs(60),
        seed: 1,
        replications: 1,
    };
    let Some(cursor) = cursor else { return Ok(run) };
    cursor.only(&["warmup", "measure", "seed", "replications"])?;
    let limit = Time::from_secs(100 * 86400);
    if let Some(at) = cursor.get("warmup") {
        run.warmup = at.unit()?;
        if run.warmup > limit {
            return Err(at.error("a time up to 100d"));
        }
    }
    if let Some(at) = cursor.get("measure") {
        run.measure = at.unit()?;
        if run.measure == Time::ZERO || run.measure > limit {
            return Err(at.error("a time above 0s and up to 100d"));
        }
    }
    if let Some(at) = cursor.get("seed") {
        run.seed = at.integer_in(0, i64::MAX as u64)?;
    }
    if let Some(at) = cursor.get("replications") {
        run.replications = at.integer_in(1, 1_000_000)?;
    }
    Ok(run)
}

fn read_goals(cursor: Option<Cursor<'_>>, groups: &[String]) -> Result<Vec<Goal>, ScenarioError> {
    let Some(cursor) = cursor else {
        return Ok(Vec::new());
    };
    cursor
        .entries()?
        .iter()
        .map(|(key, item)| Goal::read(key, item, groups))
        .collect()
}

fn harmonic_rtt(link: usize, flows: &[FlowGroup]) -> Option<f64> {
    let on_link = || flows.iter().filter(|group| group.path.contains(&link));
    let mean = |keep: &dyn Fn(&FlowGroup) -> bool| -> Option<f64> {
        let mut count = 0.0;
        let mut inverse = 0.0;
        for group in on_link().filter(|group| keep(group)) {
            count += group.count as f64;
            inverse += group.count as f64 * group.rtt.mean_inverse(group.count);
        }
        (count > 0.0 && inverse.is_finite() && inverse > 0.0).then(|| count / inverse)
    };
    if on_link().any(FlowGroup::persistent) {
        mean(&FlowGroup::persistent)
    } else {
        mean(&FlowGroup::responsive)
    }
}

/// Bandwidth-delay product in bytes of the link with this index.
fn bdp_bytes(index: usize, link: &Link, flows: &[FlowGroup]) -> Option<f64> {
    harmonic_rtt(index, flows).map(|rtt| rtt * link.rate.as_bytes_per_second())
}
