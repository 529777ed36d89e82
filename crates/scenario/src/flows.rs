//! Flow groups: who sends what, when, and with which TCP.

use forebay_units::{Bytes, Rate, Time};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::algorithm::Algorithm;
use crate::law::Law;
use crate::node::{Cursor, ScenarioError};
use crate::uncertain::CountLaw;

/// The most flows alive at once in one scenario (packet events number them in 24 bits).
pub const MAX_FLOWS: u64 = (1 << 24) - 2;

/// A group of flows that share everything but their draws.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowGroup {
    /// Name, unique in the scenario.
    pub name: String,
    /// Number of flows; for a closed loop the number of users; for open-loop arrivals 1. The mean
    /// where `count_law` says that replications draw it.
    pub count: u64,
    /// How the number of flows varies between replications.
    pub count_law: CountLaw,
    /// Congestion controller; ignored by unresponsive workloads.
    pub controller: Algorithm,
    /// Whole two-way propagation time without queueing.
    pub rtt: Law<Time>,
    /// Whether each replication draws one round-trip time for all flows, instead of one per flow.
    pub common_rtt: bool,
    /// Full data packet on the wire, headers included.
    pub packet: Law<Bytes>,
    /// What the flows have to send.
    pub workload: Workload,
    /// When they start.
    pub start: Law<Time>,
    /// When they stop sending, where they do.
    pub stop: Option<Law<Time>>,
    /// The TCP implementation's choices.
    pub stack: Stack,
    /// Each flow's own access link, where it limits.
    pub access: Option<Access>,
    /// Links crossed, as indices into the scenario's links.
    pub path: Vec<usize>,
    /// Links that the acknowledgements cross; without any they are not held up.
    pub reverse: Vec<usize>,
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
    pub fn persistent(&self) -> bool {
        self.workload == Workload::Persistent
    }

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

/// What the flows of a group have to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Always something.
    Persistent,
    /// One transfer each.
    Finite {
        /// Payload of a transfer.
        size: Law<Bytes>,
    },
    /// Users that transfer, think, and transfer again.
    ClosedLoop {
        /// Number of users.
        users: u64,
        /// Time between the end of a transfer and the next.
        think: Law<Time>,
        /// Payload of a transfer.
        size: Law<Bytes>,
    },
    /// Transfers that arrive whatever happens.
    OpenLoop {
        /// Time between arrivals.
        interarrival: Law<Time>,
        /// Payload of a transfer.
        size: Law<Bytes>,
    },
    /// One requester asks all servers at once, waits for the last response, pauses, and asks again.
    Incast {
        /// Number of servers.
        servers: u64,
        /// Time between the last response and the next request.
        pause: Law<Time>,
        /// How long after the request a server begins to respond.
        delay: Law<Time>,
        /// Payload of a response.
        size: Law<Bytes>,
    },
    /// Always something, as fast as an application writes it: whole packets at equal distances.
    ApplicationLimited {
        /// Bits of IP packets per second, of each flow.
        rate: Rate,
    },
    /// Unresponsive packets as a Poisson process; the rate is the group's total.
    Poisson {
        /// Bits of IP packets per second, of the whole group.
        rate: Rate,
    },
    /// Unresponsive packets at equal distances; the rate is the group's total.
    Cbr {
        /// Bits of IP packets per second, of the whole group.
        rate: Rate,
    },
    /// Unresponsive bursts at a peak rate, of each flow.
    OnOff {
        /// Rate of one flow while on.
        peak: Rate,
        /// Lengths of the on periods.
        on: Law<Time>,
        /// Lengths of the off periods.
        off: Law<Time>,
    },
}

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Fast recovery without SACK (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 6675).
    Sack,
    /// Forward acknowledgement (Mathis and Mahdavi 1996): SACK in which everything well below the
    /// furthest arrival is lost, repetitions included (Linux up to 4.14).
    Fack,
    /// Time-based loss detection with tail loss probes (RFC 8985).
    Rack,
}

/// How the window falls in a recovery with selective acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    /// To the threshold at once: nothing new is sent until the pipe has drained so far (RFC 6675).
    AtOnce,
    /// In proportion to what arrives: proportional rate reduction (RFC 9937).
    Prr,
    /// By a packet for every second acknowledgement: rate halving (Linux up to 3.1).
    RateHalving,
}

/// Which timeouts of one packet lower the slow-start threshold (RFC 5681 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeoutCut {
    /// Only the first one: the threshold is that of the last window that the path took.
    First,
    /// Every one, so that it is two packets from the second on (ns-2).
    Every,
}

/// Which partial acknowledgements restart the retransmission timer (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartialAckTimer {
    /// Only the first one of a recovery ("impatient").
    First,
    /// Every one ("slow-but-steady", patient).
    Every,
}

/// When a receiver acknowledges (RFC 5681 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DelayedAck {
    /// Packets per acknowledgement; 1 acknowledges each.
    pub packets: u32,
    /// Longest time an acknowledgement waits.
    pub timeout: Time,
}

/// The choices of a TCP implementation. A preset sets them all; keys of the group change some.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one on/off key of the scenario file"
)]
pub struct Stack {
    /// How losses are repaired.
    pub recovery: Recovery,
    /// How the window falls in recovery with SACK; none is the recovery's own way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction: Option<Reduction>,
    /// RFC 6582's timer switch, for recovery without SACK.
    pub partial_ack_timer: PartialAckTimer,
    /// Which timeouts of one packet lower the threshold.
    pub timeout_cut: TimeoutCut,
    /// Lower bound of the retransmission timeout.
    pub min_rto: Time,
    /// Retransmission timeout before a round trip was measured, the lower bound at least.
    pub initial_rto: Time,
    /// Granularity of the sender's clock for round-trip times and timers; zero is exact.
    pub clock: Time,
    /// The receiver's acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Initial window in packets (RFC 6928).
    pub initial_window: f64,
    /// Initial slow-start threshold in packets; none is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<f64>,
    /// The receiver's window in packets; none is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<f64>,
    /// Header bytes in each packet.
    pub header: Bytes,
    /// Whether each round-trip time is measured by a timestamp (RFC 7323) or one packet per round.
    pub timestamps: bool,
    /// Whether a connection begins with a SYN of header size and its answer.
    pub handshake: bool,
    /// Whether packets are spread over the round trip even where the controller does not ask.
    pub pacing: bool,
    /// Whether segmentation offload gathers packets into bursts of a millisecond, as Linux does; for
    /// recovery `rack`.
    pub offload: bool,
    /// Whether packets are ECN-capable (RFC 3168).
    pub ecn: bool,
    /// Whether a timeout is tested for being spurious before more than a packet is sent again (RFC
    /// 5682).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub frto: bool,
}

impl Stack {
    /// The least that a packet of headers alone takes: IPv4 without options.
    const BARE: Bytes = Bytes::new(20);

    /// How the window falls in recovery: as chosen, or as the recovery's implementations do it.
    pub fn reduction(&self) -> Reduction {
        self.reduction.unwrap_or(match self.recovery {
            Recovery::Rack => Reduction::Prr,
            Recovery::Fack => Reduction::RateHalving,
            Recovery::NewReno | Recovery::Sack => Reduction::AtOnce,
        })
    }

    /// Bytes of a SYN: a bare header, also where data packets count none.
    pub fn syn(&self) -> Bytes {
        self.header.max(Self::BARE)
    }

    /// RFC defaults: SACK (RFC 6675), ten packets initially (RFC 6928), minimum and initial RTO of
    /// 1 s (RFC 6298), each packet acknowledged.
    pub const RFC: Self = Self {
        recovery: Recovery::Sack,
        reduction: None,
        partial_ack_timer: PartialAckTimer::First,
        timeout_cut: TimeoutCut::First,
        min_rto: Time::from_secs(1),
        initial_rto: Time::from_secs(1),
        clock: Time::ZERO,
        delayed_ack: DelayedAck {
            packets: 1,
            timeout: Time::from_millis(200),
        },
        initial_window: 10.0,
        initial_ssthresh: None,
        receive_window: None,
        header: Bytes::new(40),
        timestamps: false,
        handshake: false,
        pacing: false,
        offload: false,
        ecn: false,
        frto: false,
    };

    /// ns-2.35's one-way TCP agents: impatient NewReno, two packets initially, minimum RTO 0.2 s
    /// on a 10 ms clock, 3 s initially (RFC 2988), each packet acknowledged, a 40-byte first
    /// packet, a threshold that every timeout lowers.
    pub const NS2: Self = Self {
        recovery: Recovery::NewReno,
        timeout_cut: TimeoutCut::Every,
        min_rto: Time::from_millis(200),
        initial_rto: Time::from_secs(3),
        clock: Time::from_millis(10),
        initial_window: 2.0,
        handshake: true,
        ..Self::RFC
    };

    /// Linux 6.x defaults: RACK-TLP, SACK, timestamps (52-byte headers), delayed acknowledgements
    /// of two packets or 40 ms, minimum RTO 200 ms, segmentation offload, F-RTO; round trips are
    /// measured in microseconds (srtt_us).
    pub const LINUX: Self = Self {
        recovery: Recovery::Rack,
        min_rto: Time::from_millis(200),
        clock: Time::from_micros(1),
        delayed_ack: DelayedAck {
            packets: 2,
            timeout: Time::from_millis(40),
        },
        header: Bytes::new(52),
        timestamps: true,
        handshake: true,
        offload: true,
        frto: true,
        ..Self::RFC
    };
}

/// A flow's own access link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Access {
    /// Its rate.
    pub rate: Rate,
    /// Packets that may wait there; none is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u64>,
}

/// Keys of a flow group.
const KEYS: &[&str] = &[
    "name",
    "count",
    "cca",
    "rtt",
    "packet",
    "workload",
    "start",
    "stop",
    "stack",
    "recovery",
    "reduction",
    "partial_ack_timer",
    "timeout_cut",
    "min_rto",
    "initial_rto",
    "clock",
    "delayed_ack",
    "initial_window",
    "initial_ssthresh",
    "receive_window",
    "header",
    "timestamps",
    "handshake",
    "pacing",
    "offload",
    "ecn",
    "frto",
    "access",
    "path",
    "reverse",
];

/// Reads one group. `links` are the names of the scenario's links, `target_rate` the rate that
/// `load` refers to.
pub(crate) fn read_group(
    cursor: &Cursor<'_>,
    number: usize,
    links: &[String],
    target_rate: Rate,
) -> Result<FlowGroup, ScenarioError> {
    cursor.only(KEYS)?;
    let name = match cursor.get("name") {
        Some(name) => read_name(&name)?,
        None => format!("flows{number}"),
    };
    let workload_cursor = cursor.get("workload");
    let of_kind = |kind: &str| {
        let workload = workload_cursor.as_ref();
        workload.is_some_and(|w| w.node.find(kind).is_some())
    };
    let named = workload_cursor.as_ref().and_then(Cursor::text);
    let speech = named == Some("voip") || of_kind("voip");
    let unresponsive = speech || ["poisson", "cbr", "on_off"].into_iter().any(of_kind);
    let stack = read_stack(cursor)?;
    let header = if unresponsive {
        Bytes::ZERO
    } else {
        stack.header
    };
    let packet = match cursor.get("packet") {
        // G.711 every 20 ms: 160 bytes of speech under RTP, UDP and IP.
        None if speech => Law::Value(Bytes::new(200)),
        _ => read_packet(cursor, header)?,
    };
    let full = Bytes::new(packet.mean().round() as u64);
    let payload = full.saturating_sub(header);
    let workload = match &workload_cursor {
        Some(workload) => read_workload(workload, payload, full, target_rate)?,
        None => Workload::Persistent,
    };
    let users = workload_cursor
        .as_ref()
        .and_then(|at| match at.get("incast") {
            Some(incast) => incast.get("servers"),
            None => at.get("closed_loop")?.get("users"),
        });
    let users = users.as_ref().map(CountLaw::read).transpose()?;
    let count_law = read_count(cursor, &workload, users)?;
    let (rtt, common_rtt) = match cursor.get("rtt") {
        Some(rtt) => read_rtt(&rtt, payload)?,
        None if unresponsive => (Law::Value(Time::ZERO), false),
        None => return Err(cursor.error_found("no `rtt`", "rtt = \"100ms\"")),
    };
    let named = cursor.get("stack");
    let preset = named.as_ref().and_then(Cursor::text).unwrap_or_default();
    let controller = match cursor.get("cca") {
        Some(cca) => Algorithm::read_within(&cca, forebay_congestion::descriptions(), preset)?,
        None => Algorithm::new(forebay_congestion::default_description()).within(preset),
    };
    let group = FlowGroup {
        name,
        count: count_law.nominal(),
        count_law,
        controller,
        rtt,
        common_rtt,
        packet,
        workload,
        start: match cursor.get("start") {
            Some(start) => Law::read(&start, payload)?,
            None => Law::Value(Time::ZERO),
        },
        stop: cursor
            .get("stop")
            .map(|stop| Law::read(&stop, payload))
            .transpose()?,
        stack,
        access: cursor
            .get("access")
            .map(|access| read_access(&access))
            .transpose()?,
        path: match cursor.get("path") {
            Some(path) => read_path(&path, links)?,
            None if links.len() == 1 => vec![0],
            None => {
                let allowed = format!("path = [names out of {}]", links.join(", "));
                return Err(cursor.error_found("no `path`", allowed));
            }
        },
        reverse: match cursor.get("reverse") {
            Some(reverse) if unresponsive => {
                return Err(reverse.error("no `reverse`: nobody acknowledges"));
            }
            Some(reverse) => read_path(&reverse, links)?,
            None => Vec::new(),
        },
    };
    check_lists(&group, cursor)?;
    Ok(group)
}

fn read_name(cursor: &Cursor<'_>) -> Result<String, ScenarioError> {
    let allowed = "a name of letters, digits, '-' and '_'";
    let name = cursor.text().filter(|name| {
        !name.is_empty()
            && name.len() <= 64
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
    });
    name.map(str::to_owned).ok_or_else(|| cursor.error(allowed))
}

fn read_packet(cursor: &Cursor<'_>, header: Bytes) -> Result<Law<Bytes>, ScenarioError> {
    let Some(packet) = cursor.get("packet") else {
        return Ok(Law::Value(Bytes::new(1500)));
    };
    let law = Law::read(&packet, Bytes::new(1500))?;
    let (low, high) = (law.infimum(), law.supremum());
    let smallest = header.get() + 1;
    if low < smallest as f64 || high > 65535.0 {
        return Err(packet.error(format!("sizes from {smallest}B to 65535B")));
    }
    Ok(law)
}

/// The law of the round-trip times, and whether one draw holds for all flows of a replication.
fn read_rtt(cursor: &Cursor<'_>, payload: Bytes) -> Result<(Law<Time>, bool), ScenarioError> {
    let common = cursor
        .entries()
        .is_ok()
        .then(|| cursor.get("common"))
        .flatten();
    if common.is_some() {
        cursor.only(&["common"])?;
    }
    let at = common.as_ref().unwrap_or(cursor);
    let law = Law::<Time>::read(at, payload)?;
    if common.is_some() {
        law.check_anonymous(at)?;
    }
    let (low, high) = (law.infimum(), law.supremum());
    let bounded = high <= 1000.0 || high.is_infinite();
    if bounded && (low > 0.0 || high.is_infinite()) {
        Ok((law, common.is_some()))
    } else {
        Err(at.error("round-trip times above 0s and at most 1000s"))
    }
}

fn read_count(
    cursor: &Cursor<'_>,
    workload: &Workload,
    users: Option<CountLaw>,
) -> Result<CountLaw, ScenarioError> {
    let given = cursor.get("count");
    let count = given.as_ref().map(CountLaw::read).transpose()?;
    match (workload, count, given, users) {
        (Workload::ClosedLoop { .. }, Some(count), Some(cursor), Some(users)) if count != users => {
            Err(cursor.error("no `count` beside `users`"))
        }
        (Workload::Incast { .. }, Some(count), Some(cursor), Some(servers)) if count != servers => {
            Err(cursor.error("no `count` beside `servers`"))
        }
        (Workload::ClosedLoop { .. } | Workload::Incast { .. }, .., Some(count)) => Ok(count),
        (Workload::OpenLoop { .. }, Some(count), Some(cursor), _)
            if count != CountLaw::Fixed(1) =>
        {
            Err(cursor.error("no `count` for open-loop arrivals: flows come as they come"))
        }
        (_, count, ..) => Ok(count.unwrap_or(CountLaw::Fixed(1))),
    }
}

fn check_lists(group: &FlowGroup, cursor: &Cursor<'_>) -> Result<(), ScenarioError> {
    let at = |key: &str| cursor.get(key).unwrap_or_else(|| cursor.clone());
    if !matches!(group.count_law, CountLaw::Fixed(_)) {
        group.rtt.check_unlisted(&at("rtt"))?;
        group.start.check_unlisted(&at("start"))?;
        group.packet.check_unlisted(&at("packet"))?;
        if let Some(stop) = &group.stop {
            stop.check_unlisted(&at("stop"))?;
        }
        if let Workload::Finite { size } = &group.workload {
            size.check_unlisted(&at("workload"))?;
        }
        return Ok(());
    }
    group.rtt.check_count(group.count, &at("rtt"))?;
    group.start.check_count(group.count, &at("start"))?;
    group.packet.check_count(group.count, &at("packet"))?;
    if let Some(stop) = &group.stop {
        stop.check_count(group.count, &at("stop"))?;
    }
    if let Workload::Finite { size } = &group.workload {
        size.check_count(group.count, &at("workload"))?;
    }
    Ok(())
}

fn read_workload(
    cursor: &Cursor<'_>,
    payload: Bytes,
    packet: Bytes,
    target_rate: Rate,
) -> Result<Workload, ScenarioError> {
    let allowed = "\"persistent\", \"voip\", or one of { finite }, { closed_loop }, { open_loop }, { incast }, \
        { app_limited }, { poisson }, { cbr }, { on_off }, { voip }";
    match cursor.text() {
        Some("persistent") => return Ok(Workload::Persistent),
        Some("voip") => return read_speech(cursor, packet),
        _ => {}
    }
    let entries = cursor.entries().map_err(|_| cursor.error(allowed))?;
    let [(kind, body)] = &entries[..] else {
        return Err(cursor.error(allowed));
    };
    let size = || -> Result<Law<Bytes>, ScenarioError> {
        Law::read(&body.require("size", "\"100kB\"")?, payload)
    };
    let anonymous_size = || -> Result<Law<Bytes>, ScenarioError> {
        let law = size()?;
        law.check_anonymous(&body.require("size", "\"100kB\"")?)?;
        Ok(law)
    };
    let time = |key: &str, example: &str| -> Result<Law<Time>, ScenarioError> {
        let at = body.require(key, example)?;
        let law = Law::read(&at, payload)?;
        law.check_anonymous(&at)?;
        Ok(law)
    };
    let rate = || -> Result<Rate, ScenarioError> {
        let at = body.require("rate", "\"25Mbps\"")?;
        let rate: Rate = at.unit()?;
        if rate.as_bits_per_second() == 0 {
            Err(at.error("a rate above 0"))
        } else {
            Ok(rate)
        }
    };
    match *kind {
        "finite" => {
            body.only(&["size"])?;
            Ok(Workload::Finite { size: size()? })
        }
        "closed_loop" => {
            body.only(&["users", "think", "size"])?;
            let users = CountLaw::read(&body.require("users", "100")?)?.nominal();
            let think = time("think", "{ exponential = \"5s\" }")?;
            Ok(Workload::ClosedLoop {
                users,
                think,
                size: anonymous_size()?,
            })
        }
        "open_loop" => {
            body.only(&["load", "rate", "interarrival", "size"])?;
            let size = anonymous_size()?;
            let interarrival = read_interarrival(body, &size, payload, packet, target_rate)?;
            Ok(Workload::OpenLoop { interarrival, size })
        }
        "incast" => {
            body.only(&["servers", "pause", "delay", "size"])?;
            let servers = CountLaw::read(&body.require("servers", "40")?)?.nominal();
            let delay = match body.get("delay") {
                Some(_) => time("delay", "\"0s\"")?,
                None => Law::Value(Time::ZERO),
            };
            Ok(Workload::Incast {
                servers,
                pause: time("pause", "\"10ms\"")?,
                delay,
                size: anonymous_size()?,
            })
        }
        "app_limited" => {
            body.only(&["rate"])?;
            Ok(Workload::ApplicationLimited { rate: rate()? })
        }
        "voip" => {
            body.only(&["interval", "talk", "silence"])?;
            read_speech(body, packet)
        }
        "poisson" => {
            body.only(&["rate"])?;
            Ok(Workload::Poisson { rate: rate()? })
        }
        "cbr" => {
            body.only(&["rate"])?;
            Ok(Workload::Cbr { rate: rate()? })
        }
        "on_off" => {
            body.only(&["peak", "on", "off"])?;
            let at = body.require("peak", "\"1Mbps\"")?;
            let peak: Rate = at.unit()?;
            if peak.as_bits_per_second() == 0 {
                return Err(at.error("a rate above 0"));
            }
            let on = time("on", "{ exponential = \"1s\" }")?;
            let off = time("off", "{ exponential = \"1s\" }")?;
            if on.mean() + off.mean() <= 0.0 {
                return Err(body.error("on and off periods of more than 0s together"));
            }
            Ok(Workload::OnOff { peak, on, off })
        }
        _ => Err(cursor.error_found(format!("unknown workload `{kind}`"), allowed)),
    }
}

/// Speech with silence suppression: a packet every 20 ms during talk spurts, whose lengths and
/// distances are exponential with means of 352 and 650 ms (Sriram and Whitt, Characterizing
/// superposition arrival processes in packet multiplexers for voice and data, JSAC 4(6), 1986).
fn read_speech(cursor: &Cursor<'_>, packet: Bytes) -> Result<Workload, ScenarioError> {
    let time = |key: &str, default: u64| match cursor.get(key) {
        None => Ok(Time::from_millis(default)),
        Some(at) => match at.unit::<Time>()? {
            Time::ZERO => Err(at.error("a time above 0s")),
            time => Ok(time),
        },
    };
    let interval = time("interval", 20)?;
    let peak = packet.get() as f64 * 8.0 / interval.as_secs_f64();
    if !(1.0..1e15).contains(&peak) {
        return Err(cursor.error("an interval in which a packet is 1bps to 1e15bps"));
    }
    Ok(Workload::OnOff {
        peak: Rate::from_bits_per_second(peak.round() as u64),
        on: Law::Exponential(time("talk", 352)?),
        off: Law::Exponential(time("silence", 650)?),
    })
}

/// The time between open-loop arrivals: given, or exponential with the mean that gives the load
/// (bytes of full and last packets, headers included, over the link rate) or rate.
fn read_interarrival(
    body: &Cursor<'_>,
    size: &Law<Bytes>,
    payload: Bytes,
    packet: Bytes,
    target_rate: Rate,
) -> Result<Law<Time>, ScenarioError> {
    let given = ["load", "rate", "interarrival"].map(|key| body.get(key));
    let offered = match &given {
        [Some(load), None, None] => {
            load.number_in(1e-9, 1e3)? * target_rate.as_bits_per_second() as f64
        }
        [None, Some(rate), None] => rate.unit::<Rate>()?.as_bits_per_second() as f64,
        [None, None, Some(law)] => {
            let interarrival = Law::<Time>::read(law, payload)?;
            interarrival.check_anonymous(law)?;
            if interarrival.mean() < 1e-9 {
                return Err(law.error("a mean of at least 1ns"));
            }
            return Ok(interarrival);
        }
        _ => return Err(body.error("exactly one of load, rate and interarrival")),
    };
    let bits = size.mean_units(payload.get().max(1) as f64) * packet.get() as f64 * 8.0;
    let mean = bits / offered;
    if (1e-9..1e9).contains(&mean) {
        Ok(Law::Exponential(Time::from_secs_f64(mean)))
    } else {
        Err(body.error("a load and sizes that give a mean time between arrivals from 1ns to 1e9s"))
    }
}

fn read_stack(cursor: &Cursor<'_>) -> Result<Stack, ScenarioError> {
    let presets = [
        ("rfc", Stack::RFC),
        ("ns2", Stack::NS2),
        ("linux", Stack::LINUX),
    ];
    let mut stack = match cursor.get("stack") {
        Some(preset) => preset.word(&presets)?,
        None => Stack::RFC,
    };
    if let Some(recovery) = cursor.get("recovery") {
        stack.recovery = recovery.word(&[
            ("newreno", Recovery::NewReno),
            ("sack", Recovery::Sack),
            ("fack", Recovery::Fack),
            ("rack", Recovery::Rack),
        ])?;
    }
    if let Some(timer) = cursor.get("partial_ack_timer") {
        stack.partial_ack_timer = timer.word(&[
            ("first", PartialAckTimer::First),
            ("every", PartialAckTimer::Every),
        ])?;
    }
    if let Some(cut) = cursor.get("timeout_cut") {
        stack.timeout_cut =
            cut.word(&[("first", TimeoutCut::First), ("every", TimeoutCut::Every)])?;
    }
    read_reduction(cursor, &mut stack)?;
    read_stack_timers(cursor, &mut stack)?;
    let window = |key: &str, smallest: f64| -> Result<Option<f64>, ScenarioError> {
        cursor
            .get(key)
            .map(|at| read_window(&at, smallest))
            .transpose()
    };
    stack.initial_window = window("initial_window", 1.0)?.unwrap_or(stack.initial_window);
    stack.initial_ssthresh = window("initial_ssthresh", 2.0)?.or(stack.initial_ssthresh);
    stack.receive_window = window("receive_window", 1.0)?.or(stack.receive_window);
    if let Some(header) = cursor.get("header") {
        stack.header = header.unit()?;
        if stack.header.get() > 1000 {
            return Err(header.error("at most 1000B"));
        }
    }
    for (key, slot) in [
        ("timestamps", &mut stack.timestamps),
        ("handshake", &mut stack.handshake),
        ("pacing", &mut stack.pacing),
        ("offload", &mut stack.offload),
        ("ecn", &mut stack.ecn),
        ("frto", &mut stack.frto),
    ] {
        if let Some(at) = cursor.get(key) {
            *slot = at.switch()?;
        }
    }
    Ok(stack)
}

fn read_reduction(cursor: &Cursor<'_>, stack: &mut Stack) -> Result<(), ScenarioError> {
    let Some(at) = cursor.get("reduction") else {
        return Ok(());
    };
    if stack.recovery == Recovery::NewReno {
        return Err(
            at.error("no `reduction` with recovery = \"newreno\", which deflates the window")
        );
    }
    stack.reduction = Some(at.word(&[
        ("at_once", Reduction::AtOnce),
        ("prr", Reduction::Prr),
        ("rate_halving", Reduction::RateHalving),
    ])?);
    Ok(())
}

fn read_stack_timers(cursor: &Cursor<'_>, stack: &mut Stack) -> Result<(), ScenarioError> {
    if let Some(at) = cursor.get("min_rto") {
        stack.min_rto = at.unit()?;
        if stack.min_rto < Time::from_micros(1) || stack.min_rto > Time::from_secs(60) {
            return Err(at.error("a time from 1us to 60s"));
        }
    }
    if let Some(at) = cursor.get("initial_rto") {
        stack.initial_rto = at.unit()?;
        if stack.initial_rto < Time::from_micros(1) || stack.initial_rto > Time::from_secs(60) {
            return Err(at.error("a time from 1us to 60s"));
        }
    }
    if let Some(at) = cursor.get("clock") {
        stack.clock = at.unit()?;
        if stack.clock > Time::from_secs(1) {
            return Err(at.error("a time up to 1s"));
        }
    }
    let Some(at) = cursor.get("delayed_ack") else {
        return Ok(());
    };
    at.only(&["packets", "timeout"])?;
    if let Some(packets) = at.get("packets") {
        stack.delayed_ack.packets = packets.integer_in(1, 1000)? as u32;
    }
    if let Some(timeout) = at.get("timeout") {
        stack.delayed_ack.timeout = timeout.unit()?;
        if stack.delayed_ack.timeout > Time::from_secs(1) {
            return Err(timeout.error("a time up to 1s"));
        }
    }
    Ok(())
}

/// A window in packets: a number or "10p".
fn read_window(cursor: &Cursor<'_>, smallest: f64) -> Result<f64, ScenarioError> {
    let count = cursor
        .text()
        .and_then(crate::law::packets)
        .or_else(|| cursor.number());
    count
        .filter(|x| (smallest..=1e9).contains(x))
        .ok_or_else(|| cursor.error(format!("packets from {smallest} to 1e9, as in \"10p\"")))
}

fn read_access(cursor: &Cursor<'_>) -> Result<Access, ScenarioError> {
    cursor.only(&["rate", "queue"])?;
    let at = cursor.require("rate", "\"100Mbps\"")?;
    let rate: Rate = at.unit()?;
    if rate.as_bits_per_second() < 1000 {
        return Err(at.error("a rate of at least 1kbps"));
    }
    let queue = match cursor.get("queue") {
        Some(at) => {
            let count = at
                .text()
                .and_then(crate::law::packets)
                .filter(|x| *x <= 1e9);
            Some(count.ok_or_else(|| at.error("packets such as \"50p\""))? as u64)
        }
        None => None,
    };
    Ok(Access { rate, queue })
}

fn read_path(path: &Cursor<'_>, links: &[String]) -> Result<Vec<usize>, ScenarioError> {
    let allowed = format!(
        "a list of one to 15 different names out of {}",
        links.join(", ")
    );
    let items = path.items().filter(|items| (1..=15).contains(&items.len()));
    let mut indices = Vec::new();
    for item in items.ok_or_else(|| path.error(allowed.as_str()))? {
        let at = links.iter().position(|name| item.text() == Some(name));
        let at = at.ok_or_else(|| item.error(allowed.as_str()))?;
        if indices.contains(&at) {
            return Err(item.error(allowed.as_str()));
        }
        indices.push(at);
    }
    Ok(indices)
}

/// A group with the names of its paths' links, forth and back, for serialisation.
pub(crate) struct ShownGroup<'a>(
    pub(crate) &'a FlowGroup,
    pub(crate) Vec<&'a str>,
    pub(crate) Vec<&'a str>,
);

impl Serialize for ShownGroup<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(group, path, reverse) = self;
        let stack = &group.stack;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &group.name)?;
        if !matches!(
            group.workload,
            Workload::ClosedLoop { .. } | Workload::OpenLoop { .. }
        ) {
            map.serialize_entry("count", &group.count_law)?;
        }
        map.serialize_entry("cca", &group.controller)?;
        if group.rtt != Law::Value(Time::ZERO) {
            if group.common_rtt {
                map.serialize_entry("rtt", &serde_json::json!({ "common": group.rtt }))?;
            } else {
                map.serialize_entry("rtt", &group.rtt)?;
            }
        }
        map.serialize_entry("packet", &group.packet)?;
        let mut workload = serde_json::to_value(&group.workload).unwrap_or_default();
        for drawn in ["/closed_loop/users", "/incast/servers"] {
            if let Some(count) = workload.pointer_mut(drawn) {
                *count = serde_json::to_value(&group.count_law).unwrap_or_default();
            }
        }
        map.serialize_entry("workload", &workload)?;
        map.serialize_entry("start", &group.start)?;
        if let Some(stop) = &group.stop {
            map.serialize_entry("stop", stop)?;
        }
        map.serialize_entry("recovery", &stack.recovery)?;
        if let Some(reduction) = &stack.reduction {
            map.serialize_entry("reduction", reduction)?;
        }
        map.serialize_entry("partial_ack_timer", &stack.partial_ack_timer)?;
        if stack.timeout_cut != TimeoutCut::First {
            map.serialize_entry("timeout_cut", &stack.timeout_cut)?;
        }
        map.serialize_entry("min_rto", &stack.min_rto)?;
        if stack.initial_rto != Stack::RFC.initial_rto {
            map.serialize_entry("initial_rto", &stack.initial_rto)?;
        }
        map.serialize_entry("clock", &stack.clock)?;
        map.serialize_entry("delayed_ack", &stack.delayed_ack)?;
        map.serialize_entry("initial_window", &format!("{}p", stack.initial_window))?;
        if let Some(ssthresh) = stack.initial_ssthresh {
            map.serialize_entry("initial_ssthresh", &format!("{ssthresh}p"))?;
        }
        if let Some(window) = stack.receive_window {
            map.serialize_entry("receive_window", &format!("{window}p"))?;
        }
        map.serialize_entry("header", &stack.header)?;
        map.serialize_entry("timestamps", &stack.timestamps)?;
        map.serialize_entry("handshake", &stack.handshake)?;
        map.serialize_entry("pacing", &stack.pacing)?;
        map.serialize_entry("offload", &stack.offload)?;
        map.serialize_entry("ecn", &stack.ecn)?;
        if stack.frto {
            map.serialize_entry("frto", &stack.frto)?;
        }
        if let Some(access) = &group.access {
            let mut shown = serde_json::Map::new();
            shown.insert("rate".into(), access.rate.to_string().into());
            if let Some(queue) = access.queue {
                shown.insert("queue".into(), format!("{queue}p").into());
            }
            map.serialize_entry("access", &shown)?;
        }
        map.serialize_entry("path", path)?;
        if !reverse.is_empty() {
            map.serialize_entry("reverse", reverse)?;
        }
        map.end()
    }
}

impl Serialize for Workload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde_json::{json, to_value};
        let law = |law: &Law<Bytes>| to_value(law).unwrap_or_default();
        let time = |law: &Law<Time>| to_value(law).unwrap_or_default();
        match self {
            Self::Persistent => "persistent".serialize(serializer),
            Self::Finite { size } => json!({"finite": {"size": law(size)}}).serialize(serializer),
            Self::ClosedLoop { users, think, size } => {
                json!({"closed_loop": {"users": users, "think": time(think), "size": law(size)}})
                    .serialize(serializer)
            }
            Self::OpenLoop { interarrival, size } => {
                json!({"open_loop": {"interarrival": time(interarrival), "size": law(size)}})
                    .serialize(serializer)
            }
            Self::Incast {
                servers,
                pause,
                delay,
                size,
            } => {
                let (pause, delay) = (time(pause), time(delay));
                json!({"incast": {"servers": servers, "pause": pause, "delay": delay, "size": law(size)}})
                    .serialize(serializer)
            }
            Self::ApplicationLimited { rate } => {
                json!({"app_limited": {"rate": rate}}).serialize(serializer)
            }
            Self::Poisson { rate } => json!({"poisson": {"rate": rate}}).serialize(serializer),
            Self::Cbr { rate } => json!({"cbr": {"rate": rate}}).serialize(serializer),
            Self::OnOff { peak, on, off } => {
                json!({"on_off": {"peak": peak, "on": time(on), "off": time(off)}})
                    .serialize(serializer)
            }
        }
    }
}
