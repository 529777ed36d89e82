//! The present state of a run as a row of numbers: a header, then each link, flow, sighting,
//! standing, column, band and signal with its columns. Plain numbers are copied to another thread
//! in one piece.

use forebay_congestion::packet::LossState;
use forebay_packet::{Chart, Stepwise, WINDOW_UNIT};
use forebay_simulation::{Level, PacketEvent, Signals};
use forebay_units::Time;

/// Columns of the header, which comes first and once. `column_s` is the width of a column of the
/// chart and `first_column` the number of the first one in the picture. `bands` is the number of
/// bands of all columns together. `dropped` and `marked` count all packets since the beginning, and
/// `delivered_bytes` the payload of all flows with congestion control.
pub const HEADER: [&str; 17] = [
    "time_s",
    "events",
    "ended",
    "links",
    "flows",
    "sightings",
    "missed_sightings",
    "standings",
    "missed_standings",
    "delivered_bytes",
    "column_s",
    "first_column",
    "columns",
    "bands",
    "signals",
    "dropped",
    "marked",
];

/// Columns of a link, in the order of the scenario: [`forebay_packet::LinkPicture`]. The last four
/// are no numbers where the link takes no part in pauses. `paused` is 1 while it is paused,
/// `paused_s` the time for which it was paused, `paused_senders` the number of senders that its
/// queue pauses now, and `pausing_s` the time for which it paused one.
pub const LINK: [&str; 10] = [
    "waiting_packets",
    "backlog_s",
    "utilization",
    "arrivals",
    "drops",
    "marks",
    "paused",
    "paused_s",
    "paused_senders",
    "pausing_s",
];

/// Columns of a flow with congestion control: [`forebay_packet::FlowPicture`].
pub const FLOW: [&str; 10] = [
    "flow",
    "group",
    "active",
    "cwnd_packets",
    "ssthresh_packets",
    "rtt_s",
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

/// Columns of the state of the followed flow since an instant: [`forebay_packet::SenderState`].
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

/// Columns of a column of the chart at the target link: packets that are lost and marked in it,
/// bytes that leave, and the packets that wait, as a band.
pub const COLUMN: [&str; 6] = ["losses", "marks", "bytes", "min", "max", "mean"];

/// Columns of a band: the congestion window of a flow in a column of the chart, in packets. It is
/// not a number where the flow has nothing to send. All flows of a column follow each other.
pub const BAND: [&str; 3] = ["min", "max", "mean"];

/// The largest number of columns in a chart.
pub const MOST_COLUMNS: usize = 1 << 13;

/// The number of packets of each kind in a picture that were lost or marked last.
pub const LATEST_SIGNALS: usize = 12;

/// The largest number of flows in a picture.
pub const MOST_FLOWS: usize = 1000;

/// The largest number of sightings between two pictures.
pub const MOST_SIGHTINGS: usize = 1 << 16;

/// The largest number of standings between two pictures.
pub const MOST_STANDINGS: usize = 1 << 16;

/// The columns of the chart that were in the last picture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    width: Time,
    /// Number of the first column that may have changed since.
    next: usize,
}

/// Writes a picture of the run with the first `most` flows over the previous picture. It contains
/// the columns of the chart that have changed since `shown`.
pub(crate) fn draw(
    run: &mut Stepwise<'_>,
    most: usize,
    (shown, figures): (&mut Shown, &mut Vec<f64>),
) {
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
        run.delivered_bytes(),
    ]);
    figures.resize(HEADER.len(), 0.0);
    for link in links {
        let pauses = link.pauses.map_or([f64::NAN; 4], |pauses| {
            [
                f64::from(pauses.is_paused),
                pauses.paused.as_secs_f64(),
                pauses.senders as f64,
                pauses.pausing.as_secs_f64(),
            ]
        });
        let state: [f64; LINK.len() - 4] = [
            link.waiting as f64,
            link.backlog_s,
            link.utilization,
            link.arrivals as f64,
            link.drops as f64,
            link.marks as f64,
        ];
        figures.extend(state);
        figures.extend(pauses);
    }
    for flow in flows {
        let row: [f64; FLOW.len()] = [
            flow.flow as f64,
            flow.group as f64,
            f64::from(flow.active),
            flow.cwnd_packets,
            flow.ssthresh_packets,
            flow.rtt_s,
            flow.retransmissions as f64,
            flow.timeouts as f64,
            flow.arrived as f64,
            flow.dropped as f64,
        ];
        figures.extend(row);
    }
    for sighting in seen.packet_events {
        figures.extend(sighting_row(&sighting));
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
    if let Some(chart) = run.chart() {
        draw_chart(&chart, (shown, figures));
    }
}

fn sighting_row(sighting: &PacketEvent) -> [f64; SIGHTING.len()] {
    [
        sighting.time.as_secs_f64(),
        f64::from(sighting.kind as u8),
        f64::from(sighting.flow),
        f64::from(sighting.group),
        sighting.packet as f64,
        f64::from(sighting.bytes),
        f64::from(sighting.segment.acknowledges()),
    ]
}

/// Appends the columns of a chart that have changed, and the latest signals.
fn draw_chart(chart: &Chart<'_>, (shown, figures): (&mut Shown, &mut Vec<f64>)) {
    let first = if shown.width == chart.width {
        shown.next
    } else {
        0
    };
    let counts = chart.counts.get(first..).unwrap_or_default();
    for (at, count) in counts.iter().enumerate() {
        let [least, most, mean] = band(chart.waiting.get(first + at), 1.0);
        let row: [f64; COLUMN.len()] = [
            count.losses as f64,
            count.marks as f64,
            count.bytes as f64,
            least,
            most,
            mean,
        ];
        figures.extend(row);
    }
    for at in first..first + counts.len() {
        for window in &chart.windows {
            figures.extend(band(window.get(at), WINDOW_UNIT));
        }
    }
    let signals = [chart.dropped, chart.marked].map(latest);
    let count: usize = signals.iter().map(Vec::len).sum();
    figures.extend(signals.iter().flatten().flat_map(|it| sighting_row(it)));
    // The last column is not over.
    let next = chart.counts.len().saturating_sub(1);
    *shown = Shown {
        width: chart.width,
        next,
    };
    let header: [f64; 7] = [
        chart.width.as_secs_f64(),
        first as f64,
        counts.len() as f64,
        (counts.len() * chart.windows.len()) as f64,
        count as f64,
        chart.dropped.total() as f64,
        chart.marked.total() as f64,
    ];
    let place = HEADER.len() - header.len();
    figures[place..HEADER.len()].copy_from_slice(&header);
}

/// The columns of a band, whose values have this unit.
fn band(level: Option<&Level>, unit: f64) -> [f64; BAND.len()] {
    let level = level.and_then(|level| Some((level, level.mean()?)));
    level.map_or([f64::NAN; BAND.len()], |(level, mean)| {
        [level.least as f64, level.most as f64, mean].map(|value| value * unit)
    })
}

fn latest(signals: &Signals) -> Vec<&PacketEvent> {
    let first = signals.total().saturating_sub(LATEST_SIGNALS as u64);
    (first..signals.total())
        .filter_map(|number| signals.get(number))
        .collect()
}

fn state(state: LossState) -> f64 {
    match state {
        LossState::Open => 0.0,
        LossState::Recovery => 1.0,
        LossState::Timeout => 2.0,
    }
}
