//! The scenario: valid by construction, with its resolved buffer and bandwidth-delay product.
//! Engines and formulas receive it.

mod buffers;
mod link_tables;
mod presets;

use std::collections::HashSet;
use std::fmt::Write as _;

use forebay_units::{Bytes, Time};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use self::link_tables::{check_links_of_fabric, drop_links_of_fabric, link_tables, read_links};
use crate::model::assumed::{self, ASSUMED};
use crate::model::buffer::resolve_buffer;
use crate::model::derived_once::OfGroups;
use crate::model::fabric::links::Ports;
use crate::model::fabric::routing::FabricLinks;
use crate::model::fabric::table::Fabric;
use crate::model::flow_count::MAX_FLOWS;
use crate::model::flows::FlowGroup;
use crate::model::link::Link;
use crate::model::memory::{Memory, read_memories};
use crate::model::memory_links::check_memories;
use crate::model::metric::{Goal, SourcePosition};
use crate::model::observed::{self, OBSERVED};
use crate::model::options::{FluidOptions, RunPlan, TraceOptions};
use crate::model::relative_values::RelativeValues;
use crate::model::sections::dotted_keys;
use crate::model::token_buckets::{check_buckets, largest_packet};
use crate::text::cursor::Cursor;
use crate::text::keys::{Context, Section};
use crate::text::naming::{Unknown, is_control, shortened};
use crate::text::overrides::Override;
use crate::text::tree::{Format, Node, ScenarioError, Source, ValueError};

/// One link (or several) and its traffic, read from a file and valid.
///
/// There is no way to build an invalid one: [`Scenario::parse`] is the only constructor.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    title: String,
    links: Vec<Link>,
    memories: Vec<Memory>,
    fabric: Option<Fabric>,
    target: usize,
    flows: Vec<FlowGroup>,
    run: RunPlan,
    goals: Vec<Goal>,
    fluid: FluidOptions,
    trace: TraceOptions,
    relative: RelativeValues,
    pub(crate) alive: OfGroups,
}

/// The most bytes of a scenario's text: ten thousand groups, or a million round trips.
pub const MAX_TEXT: usize = 16 << 20;

/// The most characters of a title.
pub(crate) const MAX_TITLE: usize = 1000;

/// The most goals on one metric.
pub(crate) const MAX_BOUNDS: usize = 16;

impl Scenario {
    /// Reads a scenario. `file` is only for error messages; `overrides` are applied in order.
    ///
    /// ```
    /// use forebay_scenario::{Format, Override, Scenario};
    ///
    /// let text = r#"
    ///     [link]
    ///     rate = "50Mbps"
    ///     buffer = "100p"
    ///     [[flows]]
    ///     count = 4
    ///     rtt = "100ms"
    ///     packet = "1000B"
    /// "#;
    /// let change = Override::parse("link.buffer=0.5BDP")?;
    /// let scenario = Scenario::parse(text, Format::Toml, "access.toml", &[change])?;
    /// assert_eq!(scenario.buffer().packets, 312.5);
    ///
    /// let mistake = text.replace("100ms", "100");
    /// let error = Scenario::parse(&mistake, Format::Toml, "access.toml", &[]).unwrap_err();
    /// assert!(error.to_string().starts_with("access.toml:7: flows[0].rtt: found `100`; allowed: "));
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// The first mistake: file, line, key, what was found and what is allowed. A text longer than
    /// [`MAX_TEXT`] is not looked at.
    pub fn parse(
        text: &str,
        format: Format,
        file: &str,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        if text.len() > MAX_TEXT {
            let name = file.to_owned();
            return Err(ScenarioError {
                source: Source::File { name, line: None },
                key: String::new(),
                value_error: Box::new(ValueError::value(
                    format!("{} bytes", text.len()),
                    format!("at most {MAX_TEXT} bytes"),
                )),
            });
        }
        Self::parse_any(text, format, file, overrides)
    }

    /// The same of a text of any length: what forebay itself has written.
    fn parse_any(
        text: &str,
        format: Format,
        file: &str,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        let mut node = Node::read(text, format, file)?;
        if !overrides.is_empty() {
            drop_links_of_fabric(&mut node);
        }
        for change in overrides {
            node.apply(change)?;
        }
        let root = Cursor::root(&node, file);
        Self::read(&root).map_err(|error| observed::explain(&root, error))
    }

    fn read(root: &Cursor<'_>) -> Result<Self, ScenarioError> {
        only_sections(root)?;
        assumed::check(root)?;
        observed::check(root)?;
        let ports = root.get("fabric").map(|at| Ports::read(&at)).transpose()?;
        let cursors = link_tables(root, ports.as_ref())?;
        let memories = match &ports {
            Some(ports) => ports.fabric.memories(root)?,
            None => read_memories(root)?,
        };
        let memory_names: Vec<String> = memories.iter().map(|m| m.name.clone()).collect();
        let mut context = Context {
            memories: &memory_names,
            ..Context::default()
        };
        let (mut links, target) = read_links(root, (ports.as_ref(), &cursors), &context)?;
        check_memories((&links, &cursors), &memories, root)?;
        let run: RunPlan = read_section(root, "run", &context)?;
        for (link, cursor) in links.iter_mut().zip(&cursors) {
            link.resolve_rate(cursor, &run)?;
            link.shape(cursor, run.end())?;
        }
        let link_names: Vec<String> = links.iter().map(|link| link.name.clone()).collect();
        context.links = &link_names;
        context.rate = links[target].rate;
        let fabric = ports
            .as_ref()
            .map(|ports| FabricLinks::new(ports, &links, target));
        let mut flows = read_flows(root, (&links, fabric), &context)?;
        if links.iter().any(|link| link.medium.is_some()) {
            for (at, (link, cursor)) in links.iter_mut().zip(&cursors).enumerate() {
                link.meet_medium(cursor, buffers::carried_packets(at, &flows))?;
            }
            // A load is one of what the medium carries.
            context.rate = links[target].rate;
            flows = read_flows(root, (&links, None), &context)?;
        }
        for group in &mut flows {
            let links = group
                .path
                .iter()
                .chain(&group.reverse)
                .map(|&at| &links[at]);
            group.extra_delay = links.map(|link| link.mean_extra_delay(run.end())).sum();
        }
        for (index, (link, cursor)) in links.iter_mut().zip(&cursors).enumerate() {
            let bdp = bdp_bytes(index, link, &flows);
            link.buffer = resolve_buffer(cursor, link.rate, bdp)?;
            link.resolve_classes(cursor, &flows, bdp)?;
            check_buckets(link, cursor, index, &flows)?;
        }
        let names: Vec<String> = flows.iter().map(|group| group.name.clone()).collect();
        let groups = root.get("flows").and_then(|flows| flows.items());
        let groups = groups.unwrap_or_default();
        let persistent = flows.iter().filter(|group| group.persistent());
        context.persistent = persistent.map(|group| group.count).sum();
        let scenario = Self {
            title: root.get("title").map_or(Ok(String::new()), read_title)?,
            target,
            run,
            goals: read_goals(root.get("goal"), &names)?,
            fluid: FluidOptions::read_section(root.get("fluid").as_ref(), &context)?,
            trace: read_section(root, "trace", &context)?,
            relative: RelativeValues::read(if ports.is_some() { &[] } else { &cursors }, &groups)?,
            fabric: ports.map(|ports| ports.fabric),
            links,
            memories,
            flows,
            alive: OfGroups::default(),
        };
        check_links_of_fabric(root, || scenario.canonical())?;
        Ok(scenario)
    }

    /// The same scenario with changes, which have the meaning that they would have in its file:
    /// another `stack` or `cca` sets all its values. The other values of the file stay, unless the
    /// old `stack` or `cca` would have set them anyway. A buffer in time or BDP and an offered load
    /// follow the keys that they depend on.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn with(&self, overrides: &[Override]) -> Result<Self, ScenarioError> {
        let text = if overrides.iter().any(Override::chooses_defaults) {
            self.json_with_presets()
        } else {
            self.portable_json()
        };
        let changed = Self::parse_any(&text, Format::Json, "scenario", overrides);
        changed.map_err(|error| match (&error.source, overrides) {
            // Valid before: it is the change that does not fit to what it leaves alone.
            (Source::File { .. }, [.., change]) => ScenarioError {
                source: Source::Argument(change.argument().into()),
                ..error
            },
            _ => error,
        })
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

    /// The fabric that the links belong to, if the scenario has one.
    pub fn fabric(&self) -> Option<&Fabric> {
        self.fabric.as_ref()
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

    /// The goals that `recommend` must meet.
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// Options of the fluid engine.
    pub fn fluid(&self) -> &FluidOptions {
        &self.fluid
    }

    /// The options of the traces.
    pub fn trace(&self) -> &TraceOptions {
        &self.trace
    }

    /// Groups whose path crosses the target link.
    pub fn target_flows(&self) -> impl Iterator<Item = &FlowGroup> {
        self.flows.iter().filter(|group| group.crosses(self.target))
    }

    /// The largest packet of flows that cross link number `link`.
    pub fn largest_packet(&self, link: usize) -> Bytes {
        largest_packet(link, &self.flows)
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
            .filter_map(|group| Some(group.unresponsive_rate()? * group.share(self.target)))
            .sum();
        offered / self.target().rate.as_bits_per_second() as f64
    }

    /// Load of the open-loop transfers over the target link's rate.
    pub fn open_loop_load(&self) -> f64 {
        let offered = self.target_flows();
        let offered =
            offered.filter_map(|group| Some(group.open_loop_rate()? * group.share(self.target)));
        offered.sum::<f64>() / self.target().rate.as_bits_per_second() as f64
    }

    /// The resolved scenario as JSON with its keys in a fixed order: reading it back gives an
    /// equal scenario.
    pub fn canonical_json(&self) -> String {
        Value::from(self.canonical()).to_string()
    }

    fn canonical(&self) -> Map<String, Value> {
        let links: Vec<String> = self.links.iter().map(|l| l.name.clone()).collect();
        let memories: Vec<String> = self.memories.iter().map(|m| m.name.clone()).collect();
        let context = Context {
            links: &links,
            memories: &memories,
            ..Context::default()
        };
        let links = self.links.iter().map(|link| link.write(&context));
        let flows = self.flows.iter().map(|group| group.shown(&context));
        let mut map = Map::new();
        map.insert("title".into(), self.title.as_str().into());
        if let Some(fabric) = &self.fabric {
            map.insert("fabric".into(), fabric.write(&context).into());
        }
        map.insert("links".into(), links.collect());
        if !self.memories.is_empty() {
            let memories = self.memories.iter().map(|memory| memory.write(&context));
            map.insert("memories".into(), memories.collect());
        }
        map.insert("flows".into(), flows.collect());
        map.insert("run".into(), self.run.write(&context).into());
        map.insert("goal".into(), Value::Object(shown_goals(&self.goals)));
        map.insert("fluid".into(), self.fluid.write(&context).into());
        map.insert("trace".into(), self.trace.write(&context).into());
        map
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
        self.canonical().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::parse_any(&value.to_string(), Format::Json, "scenario", &[])
            .map_err(serde::de::Error::custom)
    }
}

/// Refuses tables other than those of a scenario. A key of one of them is recognized if it is
/// outside of its table.
fn only_sections(root: &Cursor<'_>) -> Result<(), ScenarioError> {
    const SECTIONS: [&str; 12] = [
        "title", ASSUMED, "link", "links", "fabric", "memories", "flows", "run", "goal", "fluid",
        "trace", OBSERVED,
    ];
    for (key, entry) in root.entries()? {
        if !SECTIONS.contains(&key) {
            let mut unknown = Unknown::among("key", key, SECTIONS);
            let elsewhere = dotted_keys().into_iter().find(|dotted| {
                let inside = dotted.split_once('.');
                inside.is_some_and(|(_, name)| name == key)
            });
            unknown.meant = elsewhere.or(unknown.meant);
            return Err(entry.value_error(ValueError::Name(unknown)));
        }
    }
    Ok(())
}

fn read_flows(
    root: &Cursor<'_>,
    (links, fabric): (&[Link], Option<FabricLinks>),
    context: &Context<'_>,
) -> Result<Vec<FlowGroup>, ScenarioError> {
    let cursor = root.require("flows", "[[flows]] with at least one group")?;
    let items = cursor
        .items()
        .filter(|items| (1..=10_000).contains(&items.len()));
    let items = items.ok_or_else(|| cursor.error("[[flows]], one to 10000 groups"))?;
    let mut flows: Vec<FlowGroup> = Vec::with_capacity(items.len());
    let mut names = HashSet::with_capacity(items.len());
    for (number, item) in items.iter().enumerate() {
        let group = FlowGroup::read_numbered(item, (number, fabric), context)?;
        if !names.insert(group.name.clone()) {
            return Err(item.error_found(
                format!("a second group named `{}`", shortened(&group.name)),
                "a different name for each group",
            ));
        }
        check_delays(&group, links, item)?;
        flows.push(group);
    }
    let total: u64 = flows.iter().map(|group| group.count).sum();
    if total > MAX_FLOWS {
        return Err(cursor.error_found(format!("{total} flows"), format!("at most {MAX_FLOWS}")));
    }
    let on_target =
        |group: &FlowGroup| (0..links.len()).any(|at| links[at].target && group.crosses(at));
    if !flows.iter().any(on_target) {
        return Err(cursor.error_found(
            "no flows on the target link",
            "a group whose path crosses it",
        ));
    }
    Ok(flows)
}

/// Refuses round trips that are shorter than the delays of the links on their way. For a law that
/// comes arbitrarily close to zero, the engine refuses the drawn values.
fn check_delays(
    group: &FlowGroup,
    links: &[Link],
    table: &Cursor<'_>,
) -> Result<(), ScenarioError> {
    if !group.responsive() {
        return Ok(());
    }
    let way = group.path.iter().chain(&group.reverse);
    let delays: Time = way.map(|&link| links[link].delay).sum();
    // The way back of a fabric is as long as the way there.
    let delays = if group.routing.is_some() {
        delays + delays
    } else {
        delays
    };
    let shortest = match group.rtt.infimum() {
        least if least > 0.0 => least,
        _ => group.rtt.supremum(),
    };
    if delays.as_secs_f64() <= shortest {
        return Ok(());
    }
    let at = table.get("rtt").unwrap_or_else(|| table.clone());
    let shortest = Time::from_secs_f64(shortest);
    let found = format!("a round trip of {shortest} over links whose delays add up to {delays}");
    Err(at.error_found(
        found,
        format!("an `rtt` of at least {delays}: a link's `delay` is part of it"),
    ))
}

/// The table `key` of the file, or its defaults.
fn read_section<S: Section>(
    root: &Cursor<'_>,
    key: &str,
    context: &Context<'_>,
) -> Result<S, ScenarioError> {
    match root.get(key) {
        Some(table) => S::read(&table, context),
        None => Ok(S::defaults()),
    }
}

/// A title is one line: where it was broken there are spaces.
#[expect(clippy::needless_pass_by_value, reason = "what `map_or` gives")]
fn read_title(cursor: Cursor<'_>) -> Result<String, ScenarioError> {
    let breaks = |letter: char| is_control(letter) && letter.is_whitespace();
    let title = cursor.text().map(|text| {
        let parts = text.split(breaks).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    });
    cursor.short(title, MAX_TITLE)
}

/// Goals: one for each key, or a list of them.
fn read_goals(cursor: Option<Cursor<'_>>, groups: &[String]) -> Result<Vec<Goal>, ScenarioError> {
    let Some(cursor) = cursor else {
        return Ok(Vec::new());
    };
    let mut goals: Vec<Goal> = Vec::new();
    for (key, entry) in cursor.entries()? {
        let Some(items) = entry.items() else {
            goals.push(Goal::read(key, &entry, groups)?);
            continue;
        };
        if !(1..=MAX_BOUNDS).contains(&items.len()) {
            let allowed = format!("a bound, or a list of 1 to {MAX_BOUNDS} bounds");
            return Err(entry.error(allowed));
        }
        for item in items {
            let place = SourcePosition(entry.place());
            let goal = Goal::read(key, &item, groups)?;
            goals.push(Goal { place, ..goal });
        }
    }
    Ok(goals)
}

/// The goals by their keys: those that share a metric as a list.
fn shown_goals(goals: &[Goal]) -> Map<String, Value> {
    let mut shown = Map::new();
    for goal in goals {
        let text = Value::from(goal.text());
        match shown.get_mut(&goal.key()) {
            None => _ = shown.insert(goal.key(), text),
            Some(Value::Array(bounds)) => bounds.push(text),
            Some(first) => *first = Value::from(vec![first.take(), text]),
        }
    }
    shown
}

fn harmonic_rtt(link: usize, flows: &[FlowGroup]) -> Option<f64> {
    // A port of a fabric has the mean of all groups, so that those of one role have one buffer.
    let on_link = || {
        flows
            .iter()
            .filter(|group| group.crosses(link) || group.routing.is_some())
    };
    let mean = |keep: &dyn Fn(&FlowGroup) -> bool| -> Option<f64> {
        let (mut count, mut inverse) = (0.0, 0.0);
        for group in on_link().filter(|group| keep(group)) {
            let mut each = group.rtt.mean_inverse(group.count);
            if group.extra_delay > 0.0 {
                each = 1.0 / (1.0 / each + group.extra_delay);
            }
            count += group.count as f64;
            inverse += group.count as f64 * each;
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
