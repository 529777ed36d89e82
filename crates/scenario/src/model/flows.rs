//! Flow groups: who sends what, when, and with which TCP. A scenario reads them after its links.

use std::sync::Arc;

use forebay_units::{Bytes, Rate, Time};
use serde_json::{Map, Value, json};

use crate::model::algorithm::{Algorithm, Registered, custom_controller};
use crate::model::distribution::Distribution;
use crate::model::distribution::form::{Drawn, EachFlow};
use crate::model::fabric::hosts::{HostSet, Hosts};
use crate::model::fabric::routing::{FabricLinks, Routing};
use crate::model::flow_count::{FlowCount, Flows};
use crate::model::stack::{Recovery, Stack, StackKeys};
use crate::model::workload::{AnyWorkload, Workload};
use crate::text::cursor::Cursor;
use crate::text::form::{Maybe, Packets, Switch, Table, Text, Within};
use crate::text::grammar::Grammar;
use crate::text::grammar::KeyText;
use crate::text::keys::{Context, Form, Part, Section, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// A group of flows that share everything but their draws.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FlowGroup {
        /// Name, unique in the scenario; without one `flows0`, `flows1`, ...
        name: String = String::new(), always(NAME);
        /// Number of flows; for a closed loop the number of users; for open-loop arrivals 1. The
        /// mean where `count_law` says that replications draw it.
        count: u64 = 1, derived;
        /// Number of flows, or its distribution over replications. Users of a closed loop and
        /// servers of an incast have their own keys.
        count_law: FlowCount = FlowCount::Fixed(1), always(Flows, "count");
        /// By how much delays that change exceed the shortest on the way there and back, on
        /// average, in seconds: on top of `rtt`.
        extra_delay: f64 = 0.0, derived;
        /// Congestion control; unresponsive workloads ignore it.
        controller: Algorithm = Algorithm::new(forebay_congestion::default_description()),
            always(CONTROLLER, "cca");
        /// Two-way propagation delay without queueing; required unless the workload is
        /// unresponsive. `{ common = DISTRIBUTION }` is one random value for all flows of a
        /// replication.
        rtt: Distribution<Time> = Distribution::Value(Time::ZERO), always(RoundTrip);
        /// Whether each replication draws one round-trip time for all flows, instead of one per
        /// flow.
        common_rtt: bool = false, derived;
        /// Size of a full data packet, headers included.
        packet: Distribution<Bytes> = Distribution::Value(ETHERNET), always(PacketSize);
        /// Data that the flows send.
        workload: Workload = Workload::Persistent, always(AnyWorkload);
        /// Time at which the flows start. Without it, workloads that repeat (`cbr`, `on_off`,
        /// `voip`, `periodic`, `app_limited`) are in progress when the run begins, each flow at its
        /// own point of its period, as in the steady state.
        start: Distribution<Time> = Distribution::Value(Time::ZERO), always(EachFlow);
        /// Whether the flows are active when the run begins: the workload repeats itself and no
        /// `start` is given.
        under_way: bool = false, derived;
        /// Time at which the flows stop sending; without it they send to the end.
        stop: Option<Distribution<Time>> = None, key(Maybe(EachFlow));
        /// The TCP implementation's choices.
        stack: Stack = Stack::RFC, parts(StackKeys);
        /// Access link of each flow, if it limits the flow.
        access: Option<Access> = None, key(Maybe(Table));
        /// Links that the flows cross, by name; required if there are several, except in a fabric.
        path: Vec<usize> = Vec::new(), always(Path);
        /// Hosts of a fabric that send. Without it all hosts do.
        from: HostSet = HostSet::default(), key(Hosts);
        /// Hosts of a fabric that receive: flows without a `path` go from each sender to these in
        /// turn, an open-loop transfer from any sender to any of them. Without it all hosts do, and
        /// the first host in an incast.
        to: HostSet = HostSet::default(), key(Hosts);
        /// Whether each packet takes another path through the spines of a fabric, instead of all
        /// packets of a flow or open-loop transfer the same.
        spray: bool = false, key(Switch);
        /// Routes through a fabric, if no `path` is given; `path` is then one of the longest.
        routing: Option<Arc<Routing>> = None, derived;
        /// Links that the acknowledgments cross, by name; without them only propagation delays
        /// acknowledgments.
        reverse: Vec<usize> = Vec::new(), key(Reverse);
    }
}

const NAME: Text = Text {
    valid: |name| {
        let letter = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        !name.is_empty() && name.len() <= 64 && name.chars().all(letter)
    },
    allowed: "a name of letters, digits, '-' and '_'",
};

const CONTROLLER: Registered = Registered {
    built_in: forebay_congestion::descriptions,
    custom: custom_controller,
    in_kernel: true,
};

/// The largest packet that Ethernet takes, headers included.
const ETHERNET: Bytes = Bytes::new(1500);

/// A packet of speech, G.711 every 20 ms: 160 bytes under RTP, UDP and IP.
const SPEECH: Bytes = Bytes::new(200);

keys! {
    /// A flow's own access link.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Access {
        /// Rate of the access link.
        rate: Rate = Rate::from_bits_per_second(0), required("\"100Mbps\"", ACCESS_RATE);
        /// Largest queue at the access link; without it there is no limit.
        queue: Option<u64> = None, key(Maybe(ACCESS_QUEUE));
    }
}

const ACCESS_RATE: Within<Rate> = Within {
    least: Rate::from_bits_per_second(1000),
    most: Rate::from_bits_per_second(u64::MAX),
    allowed: "a rate of at least 1kbps",
};

const ACCESS_QUEUE: Packets = Packets {
    least: 0.0,
    bare: false,
    allowed: "packets such as \"50p\"",
};

impl FlowGroup {
    /// Payload of a full packet of the group's (mean) size.
    pub fn payload(&self) -> Bytes {
        Bytes::new(self.packet.mean().round() as u64).saturating_sub(self.header())
    }

    /// Header bytes within a packet: those of the stack for TCP, none for unresponsive traffic.
    pub fn header(&self) -> Bytes {
        if self.responsive() {
            self.stack.header
        } else {
            Bytes::ZERO
        }
    }

    /// Reads the group of this number. The context has the scenario's links and target rate.
    pub(crate) fn read_numbered(
        table: &Cursor<'_>,
        (number, fabric): (usize, Option<FabricLinks>),
        context: &Context<'_>,
    ) -> Result<Self, ScenarioError> {
        table.only(&Self::names())?;
        let (workload, preset) = (table.get("workload"), table.get("stack"));
        let unresponsive = AnyWorkload::is_unresponsive(workload.as_ref());
        let mut context = Context {
            unresponsive,
            preset: preset.as_ref().and_then(Cursor::text).unwrap_or_default(),
            ..*context
        };
        if !unresponsive {
            // No preset's header depends on the controller, which is read later.
            context.header = StackKeys::stack(table, &Self::defaults().controller)?.header;
        }
        let packet = match table.get("packet") {
            Some(packet) => PacketSize.read(&packet, &context)?,
            None if AnyWorkload::is_speech(workload.as_ref()) => Distribution::Value(SPEECH),
            None => Distribution::Value(ETHERNET),
        };
        context.packet = Bytes::new(packet.mean().round() as u64);
        context.payload = context.packet.saturating_sub(context.header);

        let mut group = Self::defaults();
        match fabric {
            Some(fabric) if table.get("path").is_none() => {
                context.rate = group.route(table, fabric)?;
            }
            _ => refuse_hosts(table)?,
        }
        group.packet = packet;
        group.controller = group.controller.within(context.preset);
        group.update(table, &context)?;
        if group.name.is_empty() {
            group.name = format!("flows{number}");
        }
        group.stack.reorders = group.spray;
        group.count_law = read_count(table, &group)?;
        group.count = group.count_law.nominal();
        group.common_rtt = table
            .get("rtt")
            .is_some_and(|rtt| rtt.get("common").is_some());
        group.under_way = group.workload.repeats() && table.get("start").is_none();
        group.check_given(table, &context)?;
        group.check_lists(table)?;
        Ok(group)
    }

    /// Completes and checks what keys say only together.
    fn check_given(
        &mut self,
        table: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<(), ScenarioError> {
        let in_fabric = self.routing.is_some();
        if !in_fabric && self.workload.flows_among(2).is_some() {
            let at = table.get("workload").unwrap_or_else(|| table.clone());
            return Err(at.error("this workload only between hosts of a [fabric], without `path`"));
        }
        if let Some(spray) = table.get("spray").filter(|_| self.spray)
            && (context.unresponsive || self.stack.recovery != Recovery::Rack)
        {
            return Err(spray.error("`spray` of packets that are acknowledged, with recovery = \"rack\", which tolerates another order"));
        }
        if table.get("rtt").is_none() && !context.unresponsive && !in_fabric {
            return Err(table.error_found("no `rtt`", "rtt = \"100ms\""));
        }
        if table.get("path").is_none() && !in_fabric {
            if context.links.len() != 1 {
                let allowed = format!("path = [names out of {}]", context.links.join(", "));
                return Err(table.error_found("no `path`", allowed));
            }
            self.path = vec![0];
        }
        if self.under_way
            && let Some(distribution) = self.workload.endless_period()
        {
            let at = table.get("workload").unwrap_or_else(|| table.clone());
            let allowed = "a mean that is finite (a `shape` above 1, or a `maximum`), or a `start` for the flows";
            return Err(at.error_found(format!("`{distribution}` of infinite mean"), allowed));
        }
        Ok(())
    }

    /// Checks that laws fit the number of flows: lists its value, no lists where it is drawn.
    fn check_lists(&self, table: &Cursor<'_>) -> Result<(), ScenarioError> {
        let check = Check {
            count: matches!(self.count_law, FlowCount::Fixed(_)).then_some(self.count),
            table,
        };
        check.distribution(&self.rtt, "rtt")?;
        check.distribution(&self.start, "start")?;
        check.distribution(&self.packet, "packet")?;
        if let Some(stop) = &self.stop {
            check.distribution(stop, "stop")?;
        }
        match &self.workload {
            Workload::Finite { size } => check.distribution(size, "workload"),
            _ => Ok(()),
        }
    }

    /// The canonical form of the group.
    pub(crate) fn shown(&self, context: &Context<'_>) -> Map<String, Value> {
        let count = self.count_law.shown();
        let context = Context {
            count: Some(&count),
            ..*context
        };
        let mut map = self.write(&context);
        if matches!(
            self.workload,
            Workload::ClosedLoop { .. } | Workload::OpenLoop { .. }
        ) || self.workload.flows_among(2).is_some()
        {
            map.shift_remove("count");
        }
        if self.under_way {
            map.shift_remove("start");
        }
        if self.routing.is_some() {
            map.shift_remove("path");
        }
        if self.common_rtt
            && let Some(rtt) = map.get_mut("rtt")
        {
            *rtt = json!({ "common": rtt });
        }
        map
    }
}

/// Refuses keys of groups that have hosts in a fabric.
fn refuse_hosts(table: &Cursor<'_>) -> Result<(), ScenarioError> {
    let keys = ["from", "to", "spray"].iter();
    let mut given = keys.filter_map(|key| table.get(key));
    match given.find(|at| at.switch().ok() != Some(false)) {
        Some(stray) => Err(stray.error("only in a [fabric], and without `path`")),
        None => Ok(()),
    }
}

/// The number of flows that laws have to fit: none where it is drawn.
struct Check<'a> {
    count: Option<u64>,
    table: &'a Cursor<'a>,
}

impl Check<'_> {
    fn distribution<T: crate::model::distribution::Quantity>(
        &self,
        distribution: &Distribution<T>,
        key: &str,
    ) -> Result<(), ScenarioError> {
        let at = self.table.get(key).unwrap_or_else(|| self.table.clone());
        match self.count {
            Some(count) => distribution.check_count(count, &at),
            None => distribution.check_unlisted(&at),
        }
    }
}

/// The number of flows: its own key, or what the workload says.
fn read_count(table: &Cursor<'_>, group: &FlowGroup) -> Result<FlowCount, ScenarioError> {
    let (workload, given) = (&group.workload, table.get("count"));
    let hosts = group
        .routing
        .as_ref()
        .map_or(2, |routing| routing.senders());
    if let Some(flows) = workload.flows_among(hosts as u64) {
        return match given {
            Some(count) => {
                Err(count.error("no `count`, because the hosts determine the number of flows"))
            }
            None => Ok(FlowCount::Fixed(flows)),
        };
    }
    let count = given.as_ref().map(FlowCount::read).transpose()?;
    let users = table.get("workload").and_then(|at| AnyWorkload::users(&at));
    let users = users.transpose()?;
    match (workload, count, given, users) {
        (Workload::ClosedLoop { .. }, Some(count), Some(cursor), Some(users)) if count != users => {
            Err(cursor.error("no `count` beside `users`"))
        }
        (Workload::Incast { .. }, Some(count), Some(cursor), Some(servers)) if count != servers => {
            Err(cursor.error("no `count` beside `servers`"))
        }
        (Workload::ClosedLoop { .. } | Workload::Incast { .. }, .., Some(count)) => Ok(count),
        (Workload::OpenLoop { .. }, Some(count), Some(cursor), _)
            if count != FlowCount::Fixed(1) =>
        {
            Err(cursor
                .error("no `count`, because open-loop arrivals determine the number of flows"))
        }
        (_, count, ..) => Ok(count.unwrap_or(FlowCount::Fixed(1))),
    }
}

impl FlowGroup {
    /// Whether the flows react to congestion.
    pub fn responsive(&self) -> bool {
        !matches!(
            self.workload,
            Workload::Poisson { .. } | Workload::Cbr { .. } | Workload::OnOff { .. }
        )
    }

    /// Whether the flows always have data to send and react to congestion.
    // Asked for each packet lost; a comparison of whole workloads would be a call.
    #[inline]
    pub fn persistent(&self) -> bool {
        matches!(self.workload, Workload::Persistent)
    }

    /// Mean load offered by the arrivals of an open loop, headers included, in bits per second;
    /// none for other groups.
    pub fn open_loop_rate(&self) -> Option<f64> {
        let Workload::OpenLoop { interarrival, size } = &self.workload else {
            return None;
        };
        let packets = size.mean_units(self.payload().get().max(1) as f64);
        Some(packets * self.packet.mean() * 8.0 / interarrival.mean())
    }

    /// Mean load offered by an unresponsive group, in bits per second; none for a responsive one.
    pub fn unresponsive_rate(&self) -> Option<f64> {
        match &self.workload {
            Workload::Poisson { rate } | Workload::Cbr { rate } => {
                Some(rate.as_bits_per_second() as f64)
            }
            Workload::OnOff { peak, on, off } => {
                let (on, off) = (on.mean(), off.mean());
                Some(peak.as_bits_per_second() as f64 * self.count as f64 * on / (on + off))
            }
            _ => None,
        }
    }
}

impl Part<FlowGroup> for StackKeys {
    fn names(&self) -> Vec<&'static str> {
        let mut names = vec!["stack"];
        names.extend(Stack::names());
        names
    }

    fn read(
        &self,
        group: &mut FlowGroup,
        table: &Cursor<'_>,
        _: &Context<'_>,
    ) -> Result<(), ScenarioError> {
        group.stack = Self::stack(table, &group.controller)?;
        Ok(())
    }

    fn write(&self, group: &FlowGroup, context: &Context<'_>, map: &mut Map<String, Value>) {
        map.extend(group.stack.write(context));
    }

    fn texts(&self) -> Vec<KeyText> {
        Self::described()
    }
}

/// The form of `packet`: within it `p` is an Ethernet packet.
struct PacketSize;

impl Form<Distribution<Bytes>> for PacketSize {
    fn read(
        &self,
        at: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<Distribution<Bytes>, ScenarioError> {
        let ethernet = Context {
            payload: ETHERNET,
            ..*context
        };
        let distribution: Distribution<Bytes> = EachFlow.read(at, &ethernet)?;
        let smallest = context.header.get() + 1;
        if distribution.infimum() < smallest as f64 || distribution.supremum() > 65535.0 {
            return Err(at.error(format!("sizes from {smallest}B to 65535B")));
        }
        Ok(distribution)
    }

    fn write(&self, distribution: &Distribution<Bytes>, context: &Context<'_>) -> Option<Value> {
        EachFlow.write(distribution, context)
    }

    fn grammar(&self) -> Grammar {
        let distribution = Form::<Distribution<Bytes>>::grammar(&EachFlow);
        Grammar {
            allowed: "a distribution of sizes from above `header` to 65535B".into(),
            ..distribution
        }
    }
}

/// The form of `rtt`: a law, or one that all flows of a replication have in common. Unresponsive
/// groups may have none, which is zero.
struct RoundTrip;

impl Form<Distribution<Time>> for RoundTrip {
    fn read(
        &self,
        at: &Cursor<'_>,
        context: &Context<'_>,
    ) -> Result<Distribution<Time>, ScenarioError> {
        let common = at.get("common");
        if common.is_some() {
            at.only(&["common"])?;
        }
        let law_at = common.as_ref().unwrap_or(at);
        let distribution: Distribution<Time> = if common.is_some() {
            Drawn.read(law_at, context)?
        } else {
            EachFlow.read(law_at, context)?
        };
        let (low, high) = (distribution.infimum(), distribution.supremum());
        let bounded = high <= 1000.0 || high.is_infinite();
        if bounded && (low > 0.0 || high.is_infinite()) {
            Ok(distribution)
        } else {
            Err(law_at.error("round-trip times above 0s and at most 1000s"))
        }
    }

    fn write(&self, distribution: &Distribution<Time>, context: &Context<'_>) -> Option<Value> {
        if *distribution == Distribution::Value(Time::ZERO) {
            return None;
        }
        EachFlow.write(distribution, context)
    }

    fn grammar(&self) -> Grammar {
        let distribution = Form::<Distribution<Time>>::grammar(&EachFlow);
        Grammar {
            allowed:
                "a distribution of times above 0s and at most 1000s, or { common = distribution }"
                    .into(),
            ..distribution
        }
    }
}

/// The form of `path`: names of links, each once.
struct Path;

impl Form<Vec<usize>> for Path {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Vec<usize>, ScenarioError> {
        let allowed = format!(
            "a list of one to 15 different names out of {}",
            context.links.join(", ")
        );
        let items = at.items().filter(|items| (1..=15).contains(&items.len()));
        let mut indices = Vec::new();
        for item in items.ok_or_else(|| at.error(allowed.as_str()))? {
            let found = context
                .links
                .iter()
                .position(|name| item.text() == Some(name));
            if let (None, Some(text)) = (found, item.text()) {
                let known = context.links.iter().map(|name| &**name);
                return Err(item.unknown("link", text, known));
            }
            let found = found.filter(|found| !indices.contains(found));
            indices.push(found.ok_or_else(|| item.error(allowed.as_str()))?);
        }
        Ok(indices)
    }

    fn write(&self, path: &Vec<usize>, context: &Context<'_>) -> Option<Value> {
        let names = path.iter().filter_map(|&link| context.links.get(link));
        Some(names.map(String::as_str).collect())
    }

    fn grammar(&self) -> Grammar {
        let schema =
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 15});
        Grammar::new(schema, "a list of one to 15 different names of links")
    }
}

/// The form of `reverse`: a path, for groups whose packets are acknowledged.
struct Reverse;

impl Form<Vec<usize>> for Reverse {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Vec<usize>, ScenarioError> {
        if context.unresponsive {
            return Err(at.error("no `reverse`: nobody acknowledges"));
        }
        Path.read(at, context)
    }

    fn write(&self, path: &Vec<usize>, context: &Context<'_>) -> Option<Value> {
        Path.write(path, context)
    }

    fn grammar(&self) -> Grammar {
        Path.grammar()
    }
}
