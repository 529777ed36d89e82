//! Events: what happens when, in 16 bytes.

use forebay_units::Time;

use crate::ids::{FlowNumber, HopNumber, LinkId, ResponsiveId, SourceId};
use crate::pause_frame::{PauseFrame, Sender};

/// The kind of an event; the order of the variants is the order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// An event at a time that the scenario sets: see `Control`.
    Control = 0,
    /// A packet that its access link sent without a wait reaches its first link, before those of
    /// the same instant that had to wait for packets of their own flow: they are the younger cause.
    PromptArrival = 1,
    /// A packet reaches a link; the kinds up to 17 are its hop number on its path.
    Arrival = 2,
    /// A packet reaches its receiver and the answer its sender.
    Delivery = 18,
    /// The same for a packet that was ECN-marked.
    MarkedDelivery = 19,
    /// A delayed acknowledgment is due.
    DelayedAck = 20,
    /// A retransmission timer may have expired.
    Timer = 21,
    /// An unresponsive source or an arrival process has its next arrival.
    Source = 22,
    /// A flow starts, or a closed-loop user ends its thinking.
    Start = 23,
    /// A flow stops.
    Stop = 24,
    /// A paced packet may leave.
    Pacing = 25,
    /// A packet that was ECN-marked reaches a link; the kinds up to 41 are its hop number.
    MarkedArrival = 26,
    /// A link has finished sending a packet. An arrival at that very instant
    /// comes first, and finds the packet still in transmission: the place in the buffer that the
    /// next packet leaves is not free yet.
    Departure = 42,
    /// A frame that begins or ends a pause takes effect at a sender.
    Pause = 43,
}

/// Whether a packet carries a mark of congestion (RFC 3168: CE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It does not.
    Absent,
    /// A link on its way has set it.
    Present,
}

impl Mark {
    /// Whether one is there.
    #[inline]
    pub const fn of(marked: bool) -> Self {
        if marked { Self::Present } else { Self::Absent }
    }

    /// Whether it carries one.
    #[inline]
    pub const fn present(self) -> bool {
        matches!(self, Self::Present)
    }
}

/// An event at a time that the scenario or the run sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Control {
    /// The warm-up ends.
    WarmupEnd = 0,
    /// A sample for a trace is due.
    TraceSample = 1,
    /// A sample for the report is due.
    ReportSample = 2,
    /// The interval of the first trace sample begins.
    TraceBaseline = 3,
    /// A look at whether the run was canceled.
    Watch = 4,
    /// A link's rate has just fallen.
    Fall = 5,
}

/// The most hops on a path.
pub(crate) const MAX_HOPS: usize = 16;

/// A kind as an event stores it: [`Kind`], with the hop number added where a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KindNumber(u64);

impl Kind {
    /// The number that an event stores.
    #[inline]
    pub const fn number(self) -> KindNumber {
        KindNumber(self as u64)
    }
}

impl KindNumber {
    /// The arrival of a packet at hop number `hop` of its path.
    #[inline]
    pub const fn arrival(hop: usize, mark: Mark) -> Self {
        let kind = match mark {
            Mark::Absent => Kind::Arrival,
            Mark::Present => Kind::MarkedArrival,
        };
        Self(kind as u64 + hop as u64)
    }

    /// The arrival of a packet at the end of its path.
    #[inline]
    pub const fn delivery(mark: Mark) -> Self {
        Self(Kind::Delivery as u64 + mark.present() as u64)
    }
}

/// An event as the event loop tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// One of the remaining kinds.
    Other(Kind),
    /// A packet reaches this hop of its path, marked or not.
    Arrival {
        /// The hop of the packet.
        hop: HopNumber,
        /// Whether a link before has marked it.
        mark: Mark,
    },
}

/// An event in 16 bytes: when, and what, of which flow, with which packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Kind (8 bits), flow (24 bits), low bits of the packet number (32 bits).
    tag: u64,
}

impl Event {
    /// Time and tag as one number: one comparison without a branch.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.as_picos()) << 64 | u128::from(self.tag)
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.key() < other.key()
    }
}

/// An event later than all others.
pub(crate) const NEVER: Event = Event {
    time: Time::MAX,
    tag: u64::MAX,
};

impl Event {
    /// An event of a flow's packet.
    #[inline]
    pub fn of(time: Time, kind: KindNumber, flow: FlowNumber, packet: u32) -> Self {
        Self {
            time,
            tag: kind.0 << 56 | u64::from(flow.bits()) << 32 | u64::from(packet),
        }
    }

    /// An event of a responsive flow itself.
    #[inline]
    pub fn of_flow(time: Time, kind: Kind, flow: ResponsiveId) -> Self {
        Self::of(time, kind.number(), flow.number(), 0)
    }

    /// The arrival at the first hop of a packet that has left its access link, `prompt` where it
    /// did so without a wait.
    pub fn access(time: Time, flow: ResponsiveId, packet: u32, wait: AccessWait) -> Self {
        let kind = match wait {
            AccessWait::None => Kind::PromptArrival,
            AccessWait::BehindOthers => Kind::Arrival,
        };
        Self::of(time, kind.number(), flow.number(), packet)
    }

    /// The next arrival of a source.
    pub fn source(time: Time, source: SourceId) -> Self {
        let number = FlowNumber::of_bits(source.index() as u32);
        Self::of(time, Kind::Source.number(), number, 0)
    }

    /// Something that goes by the clock.
    pub(crate) fn control(time: Time, control: Control) -> Self {
        Self::of(
            time,
            Kind::Control.number(),
            FlowNumber::NONE,
            control as u32,
        )
    }

    /// The end of a transmission on a link; those of one instant go in the order of the
    /// links, which is how most paths run.
    #[inline]
    pub fn departure(time: Time, link: LinkId) -> Self {
        Self {
            time,
            tag: (Kind::Departure as u64) << 56 | link.index() as u64,
        }
    }

    /// The instant itself, before all that happens then.
    pub fn first_of(time: Time) -> Self {
        Self { time, tag: 0 }
    }

    /// A pause frame that takes effect.
    pub(crate) fn pause(time: Time, frame: PauseFrame) -> Self {
        let (index, class, is_host) = match frame.sender {
            Sender::Link(link, class) => (link.index(), class, 0),
            Sender::Host(flow) => (flow.index(), 0, 1),
        };
        let number = FlowNumber::of_bits(index as u32);
        let signs = u32::from(class) << 2 | u32::from(frame.begins) << 1 | is_host;
        Self::of(time, Kind::Pause.number(), number, signs)
    }

    /// The frame of a [`Kind::Pause`].
    pub(crate) fn pause_frame(self) -> PauseFrame {
        let index = self.flow().bits() as usize;
        PauseFrame {
            sender: if self.packet() & 1 == 1 {
                Sender::Host(ResponsiveId::new(index))
            } else {
                Sender::Link(LinkId::new(index), (self.packet() >> 2) as u8)
            },
            begins: self.packet() & 2 == 2,
        }
    }

    #[inline]
    fn kind(self) -> u8 {
        (self.tag >> 56) as u8
    }

    /// Whether a packet without a mark reaches its receiver.
    #[inline]
    pub fn is_unmarked_delivery(self) -> bool {
        self.kind() == Kind::Delivery as u8
    }

    /// The occasion of the event.
    #[inline]
    pub fn occasion(self) -> Occasion {
        const FIRST_ARRIVAL: u8 = Kind::Arrival as u8;
        const LAST_ARRIVAL: u8 = FIRST_ARRIVAL + MAX_HOPS as u8 - 1;
        const FIRST_MARKED: u8 = Kind::MarkedArrival as u8;
        const LAST_MARKED: u8 = FIRST_MARKED + MAX_HOPS as u8 - 1;
        let arrival = |first: u8, mark: Mark| Occasion::Arrival {
            hop: HopNumber::new(usize::from(self.kind() - first)),
            mark,
        };
        if self.is_unmarked_delivery() {
            return Occasion::Other(Kind::Delivery);
        }
        Occasion::Other(match self.kind() {
            1 => return arrival(1, Mark::Absent),
            FIRST_ARRIVAL..=LAST_ARRIVAL => return arrival(FIRST_ARRIVAL, Mark::Absent),
            FIRST_MARKED..=LAST_MARKED => return arrival(FIRST_MARKED, Mark::Present),
            19 => Kind::MarkedDelivery,
            20 => Kind::DelayedAck,
            21 => Kind::Timer,
            22 => Kind::Source,
            23 => Kind::Start,
            24 => Kind::Stop,
            25 => Kind::Pacing,
            42 => Kind::Departure,
            43 => Kind::Pause,
            _ => Kind::Control,
        })
    }

    /// The flow of an event of a packet, or of a flow itself.
    #[inline]
    pub fn flow(self) -> FlowNumber {
        FlowNumber::of_bits((self.tag >> 32) as u32)
    }

    /// The link of a [`Kind::Departure`].
    #[inline]
    pub fn link(self) -> LinkId {
        LinkId::new(self.tag as u32 as usize)
    }

    /// The source of a [`Kind::Source`].
    #[inline]
    pub fn source_id(self) -> SourceId {
        SourceId::new(self.flow().bits() as usize)
    }

    /// The low bits of the packet's number.
    #[inline]
    pub fn packet(self) -> u32 {
        self.tag as u32
    }

    /// The control of a [`Kind::Control`].
    pub(crate) fn control_of(self) -> Control {
        match self.packet() {
            0 => Control::WarmupEnd,
            1 => Control::TraceSample,
            2 => Control::ReportSample,
            3 => Control::TraceBaseline,
            4 => Control::Watch,
            5 => Control::Fall,
            other => unreachable!("no control event has the number {other}"),
        }
    }
}

/// Whether a packet waited at its flow's access link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessWait {
    /// It was sent at once.
    None,
    /// Behind other packets of its flow.
    BehindOthers,
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 14] = [
        Kind::Control,
        Kind::PromptArrival,
        Kind::Arrival,
        Kind::Delivery,
        Kind::MarkedDelivery,
        Kind::DelayedAck,
        Kind::Timer,
        Kind::Source,
        Kind::Start,
        Kind::Stop,
        Kind::Pacing,
        Kind::MarkedArrival,
        Kind::Departure,
        Kind::Pause,
    ];

    #[test]
    fn an_event_keeps_its_parts() {
        let flow = FlowNumber::of_bits(0x00ab_cdef);
        let event = Event::of(Time::from_picos(5), Kind::Timer.number(), flow, 0xffff_fffe);
        assert_eq!(event.occasion(), Occasion::Other(Kind::Timer));
        assert_eq!((event.flow(), event.packet()), (flow, 0xffff_fffe));
        assert!((Kind::Arrival as usize) + MAX_HOPS <= Kind::Delivery as usize);
        assert!((Kind::MarkedArrival as usize) + MAX_HOPS <= Kind::Departure as usize);
    }

    #[test]
    fn every_pause_frame_comes_back() {
        let (link, host) = (LinkId::new(63), ResponsiveId::new((1 << 24) - 2));
        for sender in [
            Sender::Link(link, 0),
            Sender::Link(link, 255),
            Sender::Host(host),
        ] {
            for begins in [false, true] {
                let frame = PauseFrame { sender, begins };
                let event = Event::pause(Time::from_picos(9), frame);
                assert_eq!(event.pause_frame(), frame);
                assert_eq!(event.occasion(), Occasion::Other(Kind::Pause));
            }
        }
    }

    #[test]
    fn every_control_comes_back() {
        for control in [
            Control::WarmupEnd,
            Control::TraceSample,
            Control::ReportSample,
            Control::TraceBaseline,
            Control::Watch,
            Control::Fall,
        ] {
            let event = Event::control(Time::ZERO, control);
            assert_eq!(event.control_of(), control);
        }
    }

    #[test]
    fn every_kind_comes_back_and_arrivals_with_their_hop() {
        let flow = FlowNumber::of_bits(7);
        for kind in KINDS {
            let occasion = Event::of(Time::ZERO, kind.number(), flow, 1).occasion();
            let expected = match kind {
                Kind::PromptArrival | Kind::Arrival | Kind::MarkedArrival => Occasion::Arrival {
                    hop: HopNumber::FIRST,
                    mark: Mark::of(kind == Kind::MarkedArrival),
                },
                kind => Occasion::Other(kind),
            };
            assert_eq!(occasion, expected, "{kind:?}");
        }
        for index in 0..MAX_HOPS {
            for mark in [Mark::Absent, Mark::Present] {
                let number = KindNumber::arrival(index, mark);
                let hop = HopNumber::new(index);
                let event = Event::of(Time::ZERO, number, flow, 1);
                assert_eq!(event.occasion(), Occasion::Arrival { hop, mark });
                assert!(!event.is_unmarked_delivery());
            }
        }
        for mark in [Mark::Absent, Mark::Present] {
            let event = Event::of(Time::ZERO, KindNumber::delivery(mark), flow, 1);
            assert_eq!(event.is_unmarked_delivery(), !mark.present());
        }
    }

    #[test]
    fn simultaneous_events_come_in_the_order_of_their_kinds() {
        let events = KINDS.map(|kind| Event::of(Time::ZERO, kind.number(), FlowNumber::NONE, 0));
        assert!(events.is_sorted());
        assert!(events.iter().all(|event| *event < NEVER));
    }
}
