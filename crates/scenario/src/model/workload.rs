//! Workloads: what the flows of a group have to send. Each kind is declared once, with its keys;
//! reader, canonical form, schema, `explain` and the manual's tables come from that.
//!
//! A new kind also has its load in `crates/closed_form/src/reading.rs` and its words in the Python
//! package (`views/traffic.py`, `search/sensitivity.py`). `Workload::repeats` states whether it
//! repeats itself.

use forebay_units::{Bytes, Rate, Time};
use serde_json::{Map, Value, json};

use crate::model::distribution::Distribution;
use crate::model::distribution::form::{Drawn, EachFlow};
use crate::model::flow_count::{FlowCount, Flows};
use crate::text::cursor::Cursor;
use crate::text::form::{Any, Number, Within};
use crate::text::grammar::{Grammar, KeyText};
use crate::text::grammar::{object, words as one_of};
use crate::text::keys::{Context, Form, Key, Presence, keys};
use crate::text::tree::ScenarioError;

/// Declares [`Workload`]: each kind by its name in scenario files, and each of its fields as in
/// [`keys!`](crate::text::keys::keys); `read_by(READER)` instead of a form is for a field that
/// several keys give: a type with functions `names`, `read`, `write` and `texts`.
macro_rules! workloads {
    (
        $(#[$attribute:meta])*
        pub enum Workload {
            $(#[doc = $plain_doc:literal])+
            $plain:ident,
            $(
                $(#[doc = $kind_doc:literal])+
                $kind:literal = $variant:ident {
                    $(
                        $(#[doc = $doc:literal])+
                        $field:ident : $type:ty = $default:expr, $word:ident ($($declared:tt)+);
                    )+
                }
            )+
        }
    ) => {
        $(#[$attribute])*
        pub enum Workload {
            $(#[doc = $plain_doc])+
            $plain,
            $(
                $(#[doc = $kind_doc])+
                $variant { $( $(#[doc = $doc])+ $field: $type, )+ },
            )+
        }

        /// The kinds in the order of declaration.
        const KINDS: &[Kind] = &[
            $(Kind {
                name: $kind,
                meaning: &[$($kind_doc),+],
                names: || [$( workloads!(@names $field, $word $($declared)+) ),+].concat(),
                read: |body, context| {
                    Ok(Workload::$variant {
                        $( $field: workloads!(@read body context
                            $field [$($doc)+] $type = $default, $word $($declared)+), )+
                    })
                },
                write: |workload, context| match workload {
                    Workload::$variant { $($field),+ } => {
                        let mut map = Map::new();
                        $( workloads!(@write map context
                            $field [$($doc)+] $type = $default, $word $($declared)+); )+
                        Some(map)
                    }
                    _ => None,
                },
                texts: || [
                    $( workloads!(@texts $field [$($doc)+] $type = $default, $word $($declared)+) ),+
                ].concat(),
            },)+
        ];
    };

    (@names $field:ident, read_by $reader:ident) => { $reader::names() };
    (@names $field:ident, $($key:tt)+) => { vec![stringify!($field)] };

    (@read $body:ident $context:ident $field:ident $doc:tt $type:ty = $default:expr, read_by $reader:ident) => {
        $reader::read($body, $context)?
    };
    (@read $body:ident $context:ident $field:ident $doc:tt $type:ty = $default:expr, $($key:tt)+) => {{
        let key = keys!(@key $field $doc $($key)+);
        match key.find($body)? {
            Some(at) => Form::<$type>::read(&key.form, &at, $context)?,
            None => $default,
        }
    }};

    (@write $map:ident $context:ident $field:ident $doc:tt $type:ty = $default:expr, read_by $reader:ident) => {
        $map.extend([(stringify!($field).to_owned(), $reader::write($field, $context))])
    };
    (@write $map:ident $context:ident $field:ident $doc:tt $type:ty = $default:expr, $($key:tt)+) => {
        keys!(@key $field $doc $($key)+).write::<$type>(($field, &$default), $context, &mut $map)
    };

    (@texts $field:ident $doc:tt $type:ty = $default:expr, read_by $reader:ident) => {
        $reader::texts()
    };
    (@texts $field:ident $doc:tt $type:ty = $default:expr, $($key:tt)+) => {
        vec![keys!(@key $field $doc $($key)+).text::<$type>(&$default)]
    };
}

workloads! {
    /// The data that the flows of a group send.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Workload {
        /// Always something.
        Persistent,
        /// One transfer of each flow.
        "finite" = Finite {
            /// Payload of a transfer.
            size: Distribution<Bytes> = Distribution::Value(Bytes::ZERO), required("\"100kB\"", EachFlow);
        }
        /// Users that transfer, think, and transfer again.
        "closed_loop" = ClosedLoop {
            /// Number of users.
            users: u64 = 1, required("100", Users);
            /// Time between the end of a transfer and the next.
            think: Distribution<Time> = Distribution::Value(Time::ZERO), required("{ exponential = \"5s\" }", Drawn);
            /// Payload of a transfer.
            size: Distribution<Bytes> = Distribution::Value(Bytes::ZERO), required("\"100kB\"", Drawn);
        }
        /// Periodic transfers of each flow over one connection, like the segments of a video. The
        /// first begins at `start`.
        "periodic" = Periodic {
            /// Time from the beginning of a transfer to the beginning of the next one. A transfer
            /// begins late if the previous one is not complete; no transfer is caught up.
            every: Distribution<Time> = Distribution::Value(Time::ZERO), required("\"2s\"", Drawn);
            /// Payload of a transfer.
            size: Distribution<Bytes> = Distribution::Value(Bytes::ZERO), required("\"1MB\"", Drawn);
        }
        /// Transfers that arrive independently of the network.
        "open_loop" = OpenLoop {
            /// Time between arrivals.
            interarrival: Distribution<Time> = Distribution::Value(Time::ZERO), read_by(Arrivals);
            /// Payload of a transfer.
            size: Distribution<Bytes> = Distribution::Value(Bytes::ZERO), required("\"100kB\"", Drawn);
        }
        /// One client that requests data from all servers at once, waits for the last response,
        /// pauses, and requests again.
        "incast" = Incast {
            /// Number of servers.
            servers: u64 = 1, required("40", Users);
            /// Time between the last response and the next request.
            pause: Distribution<Time> = Distribution::Value(Time::ZERO), required("\"10ms\"", Drawn);
            /// Time from the request to the beginning of a server's response.
            delay: Distribution<Time> = Distribution::Value(Time::ZERO), always(Drawn);
            /// Payload of a response.
            size: Distribution<Bytes> = Distribution::Value(Bytes::ZERO), required("\"100kB\"", Drawn);
        }
        /// Every host of a fabric sends to every other one at once. After the last transfer and a
        /// pause they do so again.
        "all_to_all" = AllToAll {
            /// Payload from each host to each other one.
            size: Distribution<Bytes> = Distribution::Value(Bytes::ZERO), required("\"1MB\"", Drawn);
            /// Time between the end of the last transfer and the next round.
            pause: Distribution<Time> = Distribution::Value(Time::ZERO), always(Drawn);
        }
        /// The hosts of a fabric in a ring reduce data of all of them: each sends a part to the
        /// next host in 2 (n - 1) steps. A step begins when the part of the step before has arrived
        /// (Patarasu and Yuan, Bandwidth optimal all-reduce algorithms for clusters of
        /// workstations, 2009).
        "ring_all_reduce" = RingAllReduce {
            /// Data of each host; a part is this divided by the number of hosts.
            size: Bytes = Bytes::ZERO, required("\"64MB\"", SOME_BYTES);
            /// Time between the end of the last step and the next round.
            pause: Distribution<Time> = Distribution::Value(Time::ZERO), always(Drawn);
        }
        /// Data that is always available, at the rate at which an application writes it: whole
        /// packets at equal distances.
        "app_limited" = ApplicationLimited {
            /// Rate of each flow, in bits of IP packets per second.
            rate: Rate = NO_RATE, required("\"25Mbps\"", SOME_RATE);
        }
        /// Unresponsive packets as a Poisson process; the rate is the group's total.
        "poisson" = Poisson {
            /// Rate of the whole group, in bits of IP packets per second.
            rate: Rate = NO_RATE, required("\"25Mbps\"", SOME_RATE);
        }
        /// Unresponsive packets at equal distances; the rate is the group's total.
        "cbr" = Cbr {
            /// Rate of the whole group, in bits of IP packets per second.
            rate: Rate = NO_RATE, required("\"25Mbps\"", SOME_RATE);
        }
        /// Unresponsive bursts of each flow at a peak rate.
        "on_off" = OnOff {
            /// Rate of one flow in an on period.
            peak: Rate = NO_RATE, required("\"1Mbps\"", SOME_RATE);
            /// Duration of an on period.
            on: Distribution<Time> = Distribution::Value(Time::ZERO), required("{ exponential = \"1s\" }", Drawn);
            /// Duration of an off period.
            off: Distribution<Time> = Distribution::Value(Time::ZERO), required("{ exponential = \"1s\" }", Drawn);
        }
    }
}

/// A kind of workload that is a table in scenario files.
struct Kind {
    name: &'static str,
    meaning: &'static [&'static str],
    names: fn() -> Vec<&'static str>,
    read: fn(&Cursor<'_>, &Context<'_>) -> Result<Workload, ScenarioError>,
    /// The table of a workload of this kind.
    write: fn(&Workload, &Context<'_>) -> Option<Map<String, Value>>,
    texts: fn() -> Vec<KeyText>,
}

/// The hosts of a fabric between which the flows of a workload go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// From senders to receivers.
    Any,
    /// From all senders to one receiver.
    ToOne,
    /// Among the senders, as many flows as there are pairs or hosts.
    Among,
}

/// A placeholder for a rate that must be given.
const NO_RATE: Rate = Rate::from_bits_per_second(0);

const SOME_RATE: Within<Rate> = Within {
    least: Rate::from_bits_per_second(1),
    most: Rate::from_bits_per_second(u64::MAX),
    allowed: "a rate above 0",
};

const SOME_BYTES: Within<Bytes> = Within {
    least: Bytes::new(1),
    most: Bytes::new(1_000_000_000_000_000),
    allowed: "a size above 0 and at most 1e15 bytes, as in \"64MB\"",
};

const SOME_TIME: Within<Time> = Within {
    least: Time::from_picos(1),
    most: Time::MAX,
    allowed: "a time above 0s",
};

/// Speech with silence suppression: a packet every 20 ms during talk spurts, whose lengths and
/// distances are exponential with means of 352 and 650 ms (Sriram and Whitt, Characterizing
/// superposition arrival processes in packet multiplexers for voice and data, JSAC 4(6), 1986). An
/// on-off workload by other keys, so it has no variant of its own.
const SPEECH: Kind = Kind {
    name: "voip",
    meaning: &[
        "Unresponsive speech with silence suppression: `on_off` with other keys, also as a word. \
        Without `packet` a packet has 200 bytes: G.711 under RTP, UDP and IP.",
    ],
    names: || vec![INTERVAL.name, TALK.name, SILENCE.name],
    read: read_speech,
    write: |_, _| None,
    texts: || {
        let times = [(&INTERVAL, 20), (&TALK, 352), (&SILENCE, 650)];
        let times = times.map(|(key, default)| key.text(&Time::from_millis(default)));
        times.into()
    },
};

const INTERVAL: Key<Within<Time>> = Key {
    name: "interval",
    meaning: &["Time between the packets of a talk spurt."],
    presence: Presence::Written,
    form: SOME_TIME,
};

const TALK: Key<Within<Time>> = Key {
    name: "talk",
    meaning: &["Mean duration of a talk spurt, exponentially distributed (Sriram and Whitt 1986)."],
    presence: Presence::Written,
    form: SOME_TIME,
};

const SILENCE: Key<Within<Time>> = Key {
    name: "silence",
    meaning: &[
        "Mean time between two talk spurts, exponentially distributed (Sriram and Whitt 1986).",
    ],
    presence: Presence::Written,
    form: SOME_TIME,
};

fn read_speech(body: &Cursor<'_>, context: &Context<'_>) -> Result<Workload, ScenarioError> {
    let time = |key: &Key<Within<Time>>, default: u64| match key.find(body)? {
        None => Ok(Time::from_millis(default)),
        Some(at) => key.form.read(&at, context),
    };
    let interval = time(&INTERVAL, 20)?;
    let peak = context.packet.get() as f64 * 8.0 / interval.as_secs_f64();
    if !(1.0..1e15).contains(&peak) {
        return Err(body.error("an interval in which a packet is 1bps to 1e15bps"));
    }
    Ok(Workload::OnOff {
        peak: Rate::from_bits_per_second(peak.round() as u64),
        on: Distribution::Exponential(time(&TALK, 352)?),
        off: Distribution::Exponential(time(&SILENCE, 650)?),
    })
}

fn kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain([&SPEECH])
}

/// The form of `workload`: a word, or a table with one kind.
pub(crate) struct AnyWorkload;

impl AnyWorkload {
    fn allowed() -> String {
        let kinds: Vec<String> = kinds().map(|kind| format!("{{ {} }}", kind.name)).collect();
        format!("\"persistent\", \"voip\", or one of {}", kinds.join(", "))
    }

    /// Whether the workload at `at` is speech, where nothing else about it has been read yet.
    pub(crate) fn is_speech(at: Option<&Cursor<'_>>) -> bool {
        at.is_some_and(|at| at.text() == Some("voip") || at.get("voip").is_some())
    }

    /// Whether it has no acknowledgments, likewise.
    pub(crate) fn is_unresponsive(at: Option<&Cursor<'_>>) -> bool {
        let of_kind = |kind| at.is_some_and(|at| at.get(kind).is_some());
        Self::is_speech(at) || ["poisson", "cbr", "on_off"].into_iter().any(of_kind)
    }

    /// Between which hosts of a fabric its flows go, likewise.
    pub(crate) fn pattern(at: Option<&Cursor<'_>>) -> Pattern {
        let of_kind = |kind| at.is_some_and(|at| at.get(kind).is_some());
        if of_kind("incast") {
            Pattern::ToOne
        } else if of_kind("all_to_all") || of_kind("ring_all_reduce") {
            Pattern::Among
        } else {
            Pattern::Any
        }
    }

    /// The number of flows that the workload at `at` says, where its kind does.
    pub(crate) fn users(at: &Cursor<'_>) -> Option<Result<FlowCount, ScenarioError>> {
        let users = match at.get("incast") {
            Some(incast) => incast.get("servers"),
            None => at.get("closed_loop")?.get("users"),
        };
        users.as_ref().map(FlowCount::read)
    }
}

impl Form<Workload> for AnyWorkload {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Workload, ScenarioError> {
        match at.text() {
            Some("persistent") => return Ok(Workload::Persistent),
            Some("voip") => return read_speech(at, context),
            Some(word) if kinds().all(|kind| kind.name != word) => {
                return Err(at.unknown("workload", word, names()));
            }
            _ => {}
        }
        let entries = at.entries().map_err(|_| at.error(Self::allowed()))?;
        let [(name, body)] = &entries[..] else {
            return Err(at.error(Self::allowed()));
        };
        let kind = kinds().find(|kind| kind.name == *name);
        let kind = kind.ok_or_else(|| at.unknown("workload", name, names()))?;
        body.only(&(kind.names)())?;
        let workload = (kind.read)(body, context)?;
        if let Workload::OnOff { on, off, .. } = &workload
            && on.mean() + off.mean() <= 0.0
        {
            return Err(body.error("on and off periods of more than 0s together"));
        }
        if let Workload::Periodic { every, .. } = &workload
            && every.mean() <= 0.0
        {
            return Err(body.error("an `every` of more than 0s"));
        }
        Ok(workload)
    }

    fn write(&self, workload: &Workload, context: &Context<'_>) -> Option<Value> {
        if *workload == Workload::Persistent {
            return Some("persistent".into());
        }
        let table = |kind: &Kind| Some((kind.name, (kind.write)(workload, context)?));
        KINDS
            .iter()
            .find_map(table)
            .map(|(name, table)| json!({ name: table }))
    }

    fn grammar(&self) -> Grammar {
        let mut forms = vec![one_of(&["persistent", "voip"])];
        let mut keys = Vec::new();
        for kind in kinds() {
            let texts = (kind.texts)();
            let names: Vec<&str> = texts.iter().map(|text| text.name.as_str()).collect();
            let allowed = format!("{{ {} = {{ {} }} }}", kind.name, names.join(", "));
            let meaning: Vec<&str> = kind.meaning.iter().map(|line| line.trim()).collect();
            let grammar = Grammar::new(object(&texts), allowed).with_keys(texts);
            let text = KeyText::of(kind.name, &meaning.join(" "), grammar);
            let mut form = object(std::slice::from_ref(&text));
            form["required"] = json!([kind.name]);
            form["description"] = text.meaning.as_str().into();
            forms.push(form);
            keys.push(text);
        }
        Grammar::new(json!({ "oneOf": forms }), Self::allowed()).with_keys(keys)
    }
}

/// The names of all workloads.
fn names() -> impl Iterator<Item = &'static str> {
    ["persistent"]
        .into_iter()
        .chain(kinds().map(|kind| kind.name))
}

/// The number of users or servers: the number of flows of the group, which may have a law.
struct Users;

impl Form<u64> for Users {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<u64, ScenarioError> {
        FlowCount::read(at).map(|count| count.nominal())
    }

    fn write(&self, users: &u64, context: &Context<'_>) -> Option<Value> {
        let count = context.count.cloned();
        Some(count.unwrap_or_else(|| (*users).into()))
    }

    fn grammar(&self) -> Grammar {
        Form::<FlowCount>::grammar(&Flows)
    }
}

/// The time between open-loop arrivals: given, or exponential with the mean that gives the load
/// (bytes of full and last packets, headers included, over the link rate) or rate.
struct Arrivals;

/// The value of one of three keys.
const LOAD: Number = Number(1e-9, 1e3);

impl Arrivals {
    const NAMES: [&'static str; 3] = ["load", "rate", "interarrival"];

    fn names() -> Vec<&'static str> {
        Self::NAMES.into()
    }

    fn read(body: &Cursor<'_>, context: &Context<'_>) -> Result<Distribution<Time>, ScenarioError> {
        let size: Distribution<Bytes> = Drawn.read(&body.require("size", "\"100kB\"")?, context)?;
        let offered = match Self::NAMES.map(|key| body.get(key)) {
            [Some(load), None, None] => {
                LOAD.read(&load, context)? * context.rate.as_bits_per_second() as f64
            }
            [None, Some(rate), None] => rate.unit::<Rate>()?.as_bits_per_second() as f64,
            [None, None, Some(distribution)] => {
                let interarrival: Distribution<Time> = Drawn.read(&distribution, context)?;
                if interarrival.mean() < 1e-9 {
                    return Err(distribution.error("a mean of at least 1ns"));
                }
                return Ok(interarrival);
            }
            _ => return Err(body.error("exactly one of load, rate and interarrival")),
        };
        let packets = size.mean_units(context.payload.get().max(1) as f64);
        let mean = packets * context.packet.get() as f64 * 8.0 / offered;
        if (1e-9..1e9).contains(&mean) {
            Ok(Distribution::Exponential(Time::from_secs_f64(mean)))
        } else {
            Err(body
                .error("a load and sizes that give a mean time between arrivals from 1ns to 1e9s"))
        }
    }

    fn write(interarrival: &Distribution<Time>, context: &Context<'_>) -> Value {
        Drawn.write(interarrival, context).unwrap_or_default()
    }

    fn texts() -> Vec<KeyText> {
        let mut load = Form::<f64>::grammar(&LOAD);
        load.schema = json!({"type": "number", "exclusiveMinimum": 0});
        vec![
            KeyText::of(
                "load",
                "Bytes offered, headers included, divided by the target link's rate; arrivals are Poisson. Give this or \
                    one of the next two.",
                load,
            ),
            KeyText::of(
                "rate",
                "Bits of IP packets offered per second; arrivals are Poisson.",
                Form::<Rate>::grammar(&Any),
            ),
            KeyText::of(
                "interarrival",
                "Time between arrivals.",
                Form::<Distribution<Time>>::grammar(&Drawn),
            ),
        ]
    }
}

impl Workload {
    /// Whether a flow does the same again and again by the clock, so that it can be at any point of
    /// its period when a run begins. Poisson arrivals have no memory and so no such points.
    pub const fn repeats(&self) -> bool {
        matches!(
            self,
            Self::Cbr { .. }
                | Self::OnOff { .. }
                | Self::Periodic { .. }
                | Self::ApplicationLimited { .. }
        )
    }

    /// Whether all flows begin rounds together, of which each ends with the last transfer.
    pub const fn has_rounds(&self) -> bool {
        matches!(
            self,
            Self::Incast { .. } | Self::AllToAll { .. } | Self::RingAllReduce { .. }
        )
    }

    /// The number of flows among this many hosts, where the workload says it.
    pub(crate) fn flows_among(&self, hosts: u64) -> Option<u64> {
        match self {
            Self::AllToAll { .. } => Some(hosts * (hosts - 1)),
            Self::RingAllReduce { .. } => Some(hosts),
            _ => None,
        }
    }

    /// The key of a period of infinite mean, where there is one: no instant lies at random in it,
    /// and there is no steady state.
    pub(crate) fn endless_period(&self) -> Option<&'static str> {
        let endless = |distribution: &Distribution<Time>| distribution.mean().is_infinite();
        match self {
            Self::OnOff { on, .. } if endless(on) => Some("on"),
            Self::OnOff { off, .. } if endless(off) => Some("off"),
            Self::Periodic { every, .. } if endless(every) => Some("every"),
            _ => None,
        }
    }
}
