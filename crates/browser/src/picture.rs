//! The present state of a run as a row of numbers: a header, then each link, flow, sighting and
//! standing with its columns. Plain numbers are copied to another thread in one piece.

use forebay_congestion::packet::LossState;
use forebay_packet::Stepwise;

/// Columns of the header, which comes first and once.
pub const HEADER: [&str; 9] = [
    "time_s",
    "events",
    "ended",
    "links",
    "flows",
    "sightings",
    "missed_sightings",
    "standings",
    "missed_standings",
];

/// Columns of a link, in the order of the scenario: [`forebay_packet::LinkPicture`].
pub const LINK: [&str; 6] = [
    "waiting_packets",
    "backlog_s",
    "utilization",
    "arrivals",
    "drops",
    "marks",
];

/// Columns of a flow with congestion control: [`forebay_packet::FlowPicture`].
pub const FLOW: [&str; 11] = [
    "flow",
    "group",
    "active",
    "cwnd_packets",
    "ssthresh_packets",
    "rtt_s",
    "delivered",
    "retransmissions",
    "timeouts",
    "arrived",
    "dropped",
];

/// Columns of a packet event at the target link: [`forebay_simulation::PacketEvent`]. `kind` is 0
/// for an arrival, 1 for a departure, 2 for a departure with a congestion mark, 3 for a drop. An
/// acknowledgment that crosses the link has 1 in `acknowledges`.
pub const SIGHTING: [&str; 7] = [
    "time_s",
    "happening",
    "flow",
    "group",
    "packet",
    "bytes",
    "acknowledges",
];

/// Columns of the state of the followed flow since an instant: [`forebay_packet::Standing`].
/// `state` is 0 without a known loss, 1 in fast recovery, 2 after a timeout.
pub const STANDING: [&str; 9] = [
    "time_s",
    "active",
    "state",
    "cwnd_packets",
    "ssthresh_packets",
    "rtt_s",
    "unacknowledged",
    "retransmissions",
    "timeouts",
];

/// The largest number of flows in a picture.
pub const MOST_FLOWS: usize = 1000;

/// The largest number of sightings between two pictures.
pub const MOST_SIGHTINGS: usize = 1 << 16;

/// The largest number of standings between two pictures.
pub const MOST_STANDINGS: usize = 1 << 16;

/// Writes a picture of the run with the first `most` flows over the previous picture.
pub(crate) fn draw(run: &mut Stepwise<'_>, most: usize, figures: &mut Vec<f64>) {
    let (links, flows) = (run.links(), run.flows(most.min(MOST_FLOWS)));
    let (seen, course) = (run.packet_events(), run.course());
    figures.clear();
    figures.extend([
        run.now().as_secs_f64(),
        run.events() as f64,
        f64::from(run.now() >= run.end()),
        links.len() as f64,
        flows.len() as f64,
        seen.packet_events.len() as f64,
        seen.missed as f64,
        course.standings.len() as f64,
        course.missed as f64,
    ]);
    for link in links {
        let row: [f64; LINK.len()] = [
            link.waiting as f64,
            link.backlog_s,
            link.utilization,
            link.arrivals as f64,
            link.drops as f64,
            link.marks as f64,
        ];
        figures.extend(row);
    }
    for flow in flows {
        let row: [f64; FLOW.len()] = [
            flow.flow as f64,
            flow.group as f64,
            f64::from(flow.active),
            flow.cwnd_packets,
            flow.ssthresh_packets,
            flow.rtt_s,
            flow.delivered as f64,
            flow.retransmissions as f64,
            flow.timeouts as f64,
            flow.arrived as f64,
            flow.dropped as f64,
        ];
        figures.extend(row);
    }
    for sighting in seen.packet_events {
        let row: [f64; SIGHTING.len()] = [
            sighting.time.as_secs_f64(),
            f64::from(sighting.kind as u8),
            f64::from(sighting.flow),
            f64::from(sighting.group),
            sighting.packet as f64,
            f64::from(sighting.bytes),
            f64::from(sighting.segment.acknowledges()),
        ];
        figures.extend(row);
    }
    for standing in course.standings {
        let row: [f64; STANDING.len()] = [
            standing.time.as_secs_f64(),
            f64::from(standing.active),
            state(standing.state),
            standing.cwnd_packets,
            standing.ssthresh_packets,
            standing.rtt_s,
            standing.unacknowledged as f64,
            standing.retransmissions as f64,
            standing.timeouts as f64,
        ];
        figures.extend(row);
    }
}

fn state(state: LossState) -> f64 {
    match state {
        LossState::Open => 0.0,
        LossState::Recovery => 1.0,
        LossState::Timeout => 2.0,
    }
}
