//! The buffers of a scenario by their keys, a link's or a class's: how large each is, and the
//! scenario with another.

use std::ops::Range;

use forebay_units::Bytes;
use serde_json::{Map, Value};

use super::{Scenario, bdp_bytes};
use crate::model::buffer::BufferReport;
use crate::model::buffer::{BufferLimit, BufferSize};
use crate::model::fabric::shape::Role;
use crate::model::flows::FlowGroup;
use crate::model::link::Link;
use crate::model::relative_values::BufferLocation;
use crate::text::naming::Unknown;
use crate::text::tree::{ScenarioError, Source, ValueError};

impl Scenario {
    /// The keys of all buffers, the target link's first, as overrides name them. A link's own is
    /// left out where each of its classes has another, and nothing waits in it.
    ///
    /// ```
    /// use forebay_scenario::{Format, Scenario};
    ///
    /// let text = r#"
    ///     [link]
    ///     rate = "10Mbps"
    ///     buffer = "100p"
    ///     queue = { kind = "classes", classes = [{ name = "voice", groups = ["calls"], buffer = "10p" }, { name = "rest" }] }
    ///     [[flows]]
    ///     name = "calls"
    ///     workload = { cbr = { rate = "1Mbps" } }
    ///     packet = "200B"
    /// "#;
    /// let scenario = Scenario::parse(text, Format::Toml, "calls.toml", &[])?;
    /// let (link, voice) = ("link.buffer", "link.queue.classes.voice.buffer");
    /// assert_eq!(scenario.buffer_keys(), [link, voice, "link.queue.classes.rest.buffer"]);
    /// assert_eq!(scenario.buffer_of(voice)?.bytes, 2000.0);
    ///
    /// let smaller = scenario.with_packets(voice, 4)?;
    /// assert_eq!(smaller.buffer_of(voice)?.packets, 4.0);
    /// assert_eq!(smaller.buffer_of(link)?.packets, 100.0);
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    pub fn buffer_keys(&self) -> Vec<String> {
        let keys = |prefix: String, link: &Link| {
            let classes = link.classes.iter();
            let classes = classes.map(|class| format!("{prefix}.queue.classes.{}", class.name));
            let shared = link.has_shared_buffer().then(|| prefix.clone());
            let parts: Vec<String> = shared.into_iter().chain(classes).collect();
            parts.into_iter().map(|part| format!("{part}.buffer"))
        };
        if let Some(fabric) = &self.fabric {
            let shape = fabric.shape();
            let own = shape.role(self.target);
            let roles = Role::ALL.into_iter().filter(|role| *role != own);
            let others = roles.flat_map(|role| {
                let link = &self.links[shape.range(role).0];
                keys(format!("fabric.{}", role.key()), link)
            });
            return keys("link".into(), self.target()).chain(others).collect();
        }
        let others = self.links.iter().enumerate();
        let others = others.filter(|(at, _)| *at != self.target);
        keys("link".into(), self.target())
            .chain(others.flat_map(|(_, link)| keys(format!("links.{}", link.name), link)))
            .collect()
    }

    /// The buffer at `key` in every unit; its packets are those that wait there. A class without a
    /// buffer of its own has the link's.
    ///
    /// # Errors
    /// A key that is not one of [`Self::buffer_keys`]; links and classes may be numbered.
    pub fn buffer_of(&self, key: &str) -> Result<BufferReport, ScenarioError> {
        let place = self.place(key)?;
        Ok(self.report_of(place))
    }

    /// The same scenario with `packets` as the buffer at `key`. A limit in packets stays one in
    /// packets, and a limit in bytes stays one in bytes.
    ///
    /// # Errors
    /// As [`Self::buffer_of`], or a buffer that is too large.
    pub fn with_packets(&self, key: &str, packets: u64) -> Result<Self, ScenarioError> {
        let place = self.place(key)?;
        let size = match self.limit_at(place) {
            BufferLimit::Packets(_) => BufferSize::Packets(packets),
            BufferLimit::Bytes(_) => {
                let bytes = (packets as f64 * self.packet_bytes_at(place)).ceil();
                BufferSize::Bytes(Bytes::new(bytes as u64))
            }
        };
        self.with_limit(place, key, size)
    }

    /// The same scenario with another buffer at the target link.
    ///
    /// # Errors
    /// A buffer in multiples of a BDP that does not exist, or a buffer that is too large.
    pub fn with_buffer(&self, buffer: BufferSize) -> Result<Self, ScenarioError> {
        self.with_limit(self.at_target(), "", buffer)
    }

    /// The target link's buffer in every unit.
    pub fn buffer(&self) -> BufferReport {
        self.report_of(self.at_target())
    }

    /// Mean packet size in bytes at the target link: of the responsive persistent flows, else of
    /// the responsive, else of all.
    pub fn packet_bytes(&self) -> f64 {
        self.packet_bytes_at(self.at_target())
    }

    /// The same of one class at a link.
    pub fn class_packet_bytes(&self, link: usize, class: usize) -> f64 {
        let class = Some(class);
        self.packet_bytes_at(BufferLocation { link, class })
    }

    /// The canonical JSON, but with buffers in time or BDP and offered loads as given: changes of a
    /// scenario that is read from it have the same result as changes of this one.
    pub fn portable_json(&self) -> String {
        Value::from(self.portable()).to_string()
    }

    pub(super) fn portable(&self) -> Map<String, Value> {
        let mut map = self.canonical();
        self.relative.write(&mut map);
        if self.fabric.is_some() {
            map.shift_remove("links");
            map.shift_remove("memories");
            for (at, _) in self
                .flows
                .iter()
                .enumerate()
                .filter(|(_, group)| group.follows_cables())
            {
                if let Some(group) = map["flows"][at].as_object_mut() {
                    group.shift_remove("rtt");
                }
            }
        }
        map
    }

    fn at_target(&self) -> BufferLocation {
        BufferLocation {
            link: self.target,
            class: None,
        }
    }

    fn place(&self, key: &str) -> Result<BufferLocation, ScenarioError> {
        self.find_location(key).ok_or_else(|| {
            let known = self.buffer_keys();
            ScenarioError {
                source: Source::Argument("over".into()),
                key: String::new(),
                value_error: Box::new(ValueError::Name(Unknown::among(
                    "buffer",
                    key,
                    known.iter().map(AsRef::as_ref),
                ))),
            }
        })
    }

    fn find_location(&self, key: &str) -> Option<BufferLocation> {
        let (link, rest) = if let Some(rest) = key.strip_prefix("links.") {
            let (name, rest) = rest.split_once('.')?;
            let known = self.links.iter().position(|link| link.name == name);
            (known.or_else(|| name.parse().ok())?, rest)
        } else if let Some(rest) = key.strip_prefix("fabric.") {
            let (name, rest) = rest.split_once('.')?;
            let role = Role::ALL.into_iter().find(|role| role.key() == name)?;
            (self.fabric.as_ref()?.shape().range(role).0, rest)
        } else {
            (self.target, key.strip_prefix("link.")?)
        };
        let classes = &self.links.get(link)?.classes;
        let class = match rest.strip_suffix("buffer")? {
            "" => None,
            within => {
                let name = within.strip_prefix("queue.classes.")?.strip_suffix('.')?;
                let known = classes.iter().position(|class| class.name == name);
                let at = known.or_else(|| name.parse().ok())?;
                Some(at).filter(|at| *at < classes.len())
            }
        };
        (class.is_some() || rest == "buffer").then_some(BufferLocation { link, class })
    }

    fn limit_at(&self, place: BufferLocation) -> BufferLimit {
        let link = &self.links[place.link];
        let own = place.class.and_then(|class| link.classes[class].buffer);
        own.unwrap_or(link.buffer)
    }

    fn with_limit(
        &self,
        place: BufferLocation,
        key: &str,
        size: BufferSize,
    ) -> Result<Self, ScenarioError> {
        let mut changed = self.clone();
        let link = &mut changed.links[place.link];
        let limit = match (size, bdp_bytes(place.link, link, &self.flows)) {
            (BufferSize::Bdp(_), None) => None,
            (size, bdp) => size.resolve(link.rate, bdp.unwrap_or(0.0)),
        };
        let limit = limit.ok_or_else(|| ScenarioError {
            source: Source::Argument("buffer".into()),
            key: key.into(),
            value_error: Box::new(ValueError::value(
                format!("`{size}`"),
                "at most 1e12 packets or 1e15 bytes; BDP only with responsive flows",
            )),
        })?;
        for at in self.alike(place.link) {
            let link = &mut changed.links[at];
            match place.class {
                Some(class) => link.classes[class].buffer = Some(limit),
                None => link.buffer = limit,
            }
        }
        match &mut changed.fabric {
            Some(fabric) => {
                let role = fabric.shape().role(place.link);
                fabric.set_buffer((role, place.class), size.to_string());
            }
            None => changed.relative.set_buffer(place, size),
        }
        Ok(changed)
    }

    /// The links that have one table with this one: all with its role in a fabric.
    fn alike(&self, link: usize) -> Range<usize> {
        match &self.fabric {
            Some(fabric) => {
                let shape = fabric.shape();
                let (first, count) = shape.range(shape.role(link));
                first..first + count
            }
            None => link..link + 1,
        }
    }

    fn report_of(&self, place: BufferLocation) -> BufferReport {
        let link = &self.links[place.link];
        let packet = self.packet_bytes_at(place);
        let bytes = match self.limit_at(place) {
            BufferLimit::Packets(count) => count as f64 * packet,
            BufferLimit::Bytes(bytes) => bytes.get() as f64,
        };
        let bdp = bdp_bytes(place.link, link, &self.flows);
        BufferReport {
            packets: bytes / packet,
            bytes,
            seconds: bytes / link.rate.as_bytes_per_second(),
            bdp: bdp.map(|bdp| bytes / bdp),
        }
    }

    /// Mean packet size in bytes of what waits at a place; of the link, where a class has no groups
    /// there.
    fn packet_bytes_at(&self, BufferLocation { link, class }: BufferLocation) -> f64 {
        let here = |group: &&FlowGroup| group.crosses(link);
        let within = |group: &&FlowGroup| {
            here(group) && class.is_none_or(|_| self.links[link].class_of(&group.name) == class)
        };
        mean_packet_bytes(&self.flows.iter().filter(within))
            .or_else(|| mean_packet_bytes(&self.flows.iter().filter(here)))
            .unwrap_or(1500.0)
    }
}

/// Mean and largest packet in bytes at the link of this number: acknowledgments where it carries
/// nothing else.
pub(super) fn carried_packets(link: usize, flows: &[FlowGroup]) -> (f64, f64) {
    let here = flows.iter().filter(|group| group.crosses(link));
    let back = flows.iter().filter(|group| group.reverse.contains(&link));
    let back = back.map(|group| group.header().get() as f64);
    let least = back.fold(0.0, f64::max);
    let mean = mean_packet_bytes(&here).unwrap_or(if least > 0.0 { least } else { 1500.0 });
    let sizes = here.map(|group| group.packet.supremum());
    (mean, sizes.fold(least, f64::max).clamp(mean, 65_535.0))
}

/// Mean packet size in bytes: of the responsive persistent flows, else of the responsive, else of
/// all.
fn mean_packet_bytes<'a>(groups: &(impl Iterator<Item = &'a FlowGroup> + Clone)) -> Option<f64> {
    let mean = |keep: &dyn Fn(&FlowGroup) -> bool| -> Option<f64> {
        let kept = groups.clone().filter(|group| keep(group));
        let (sum, count) = kept.fold((0.0, 0.0), |(sum, count), group| {
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
}
