//! The hosts as traffic and the event loop see them: what begins, what is delivered, who may send.

use forebay_scenario::Scenario;
use forebay_units::Time;

use crate::calendar::event::{Event, Kind};
use crate::ends::Ends;
use crate::flow::Flows;
use crate::ids::{ResponsiveId, Route};
use crate::network::Network;
use crate::refusal::Refusal;
use crate::timeline::Timeline;
use crate::traffic::group::Group;

/// All senders and receivers. An engine says what they are.
pub trait Hosts<'a> {
    /// The two ends of one connection.
    type Ends: Ends;

    /// Whether the hosts are simulated. The processing time of others varies by itself.
    const SIMULATED: bool;

    /// All flows.
    fn flows(&self) -> &Flows<Self::Ends>;

    /// The same, to change them.
    fn flows_mut(&mut self) -> &mut Flows<Self::Ends>;

    // --- The life of a flow ---

    /// The ends of a flow that has not started.
    fn prepare(&mut self, group: &Group<'a>, place: FlowPosition) -> Result<Self::Ends, Refusal>;

    /// How much of a round trip of `rtt` lies behind the last link of a group's path, and how much
    /// behind that of its acknowledgments.
    fn delays(
        &self,
        group: &Group<'a>,
        scenario: &Scenario,
        rtt: Time,
    ) -> Result<(Time, Time), Refusal> {
        group.return_delays(scenario, rtt)
    }

    /// A flow has joined, whose acknowledgments come back like this.
    fn join(&mut self, flow: ResponsiveId, group: &Group<'a>, back: ReversePath);

    /// The round trip of a flow changes: what is left of it behind the last link, and behind the
    /// last link of its acknowledgments where they take a path.
    fn set_delays(&mut self, flow: ResponsiveId, delays: (Time, Time));

    /// A flow opens a connection for a transfer.
    fn open(
        &mut self,
        turn: Turn,
        group: &Group<'a>,
        opening: TransferStart,
    ) -> Result<(), Refusal>;

    /// A flow begins a transfer of `packets` packets on the connection that it has.
    fn begin(&mut self, turn: Turn, packets: u64);

    /// A flow's application writes `packets` more packets.
    fn write(&mut self, turn: Turn, packets: u64);

    /// Packets that a flow's application has written and that have not been sent.
    fn backlog(&self, flow: ResponsiveId) -> u64;

    /// The parts of a ring's data that have arrived at the receiver of a flow since the last call,
    /// if hosts report them: see [`Group::reported_part`].
    fn take_arrived_parts(&mut self, _flow: ResponsiveId) -> u64 {
        0
    }

    /// A flow stops for good: its application has nothing more to say.
    fn stop(&mut self, turn: Turn);

    // --- What happens to it ---

    /// Sends whatever a flow may send.
    fn send(&mut self, turn: Turn, network: &mut Network, timeline: &mut Timeline<'_>)
    -> Completed;

    /// A packet without a mark reaches the end of its path.
    fn deliver(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed;

    /// The same of a packet that a link has marked.
    fn deliver_marked(
        &mut self,
        event: Event,
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed;

    /// A time has come that a host had asked for, as this kind of event.
    fn awake(
        &mut self,
        asked: (Kind, Event),
        network: &mut Network,
        timeline: &mut Timeline<'_>,
    ) -> Completed;
}

/// How acknowledgments come back: over a path of links, where there is one, and after a delay
/// behind it.
#[derive(Clone, Copy, Debug)]
pub struct ReversePath {
    /// The path.
    pub route: Option<Route>,
    /// Delay after the path.
    pub delay: Time,
}

/// The position of a flow in its group, and its known properties.
#[derive(Clone, Copy, Debug)]
pub struct FlowPosition {
    /// Its number in the group, for draws.
    pub index: u64,
    /// Bytes of a full packet.
    pub packet_bytes: u32,
}

/// The data with which a connection is opened.
#[derive(Clone, Copy, Debug)]
pub struct TransferStart {
    /// The transfer's number among those of its user, or of its open-loop group.
    pub transfer: u64,
    /// Packets to send; none where there is no end.
    pub packets: Option<u64>,
}

/// A flow that may act, and when.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The flow.
    pub flow: ResponsiveId,
    /// The time.
    pub now: Time,
}

impl Turn {
    /// The turn of an event that concerns a responsive flow.
    #[inline]
    pub fn of(event: Event) -> Self {
        Self {
            flow: event.flow().responsive(),
            now: event.time,
        }
    }
}

/// The flow whose transfer is complete, where one is.
pub type Completed = Option<ResponsiveId>;
