//! The packets that the target link lost or marked, as an answer lists them.

use forebay_packet::Stepwise;
use forebay_simulation::{PacketEvent, Signals};
use serde::Serialize;

use crate::request::{Listing, SignalKind};

/// The largest number of packets in one answer.
const MOST_LISTED: u64 = 1000;

/// The signals of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunSignals {
    pub(crate) dropped: Signals,
    pub(crate) marked: Signals,
}

impl RunSignals {
    /// The signals of a run so far; none if it has no chart.
    pub(crate) fn of(run: &mut Stepwise<'_>) -> Self {
        run.chart().map_or_else(Self::default, |chart| Self {
            dropped: chart.dropped.clone(),
            marked: chart.marked.clone(),
        })
    }
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Page {
    /// Number of all packets since the beginning of the run.
    total: u64,
    /// Number of the first packet that the list still has.
    first: u64,
    signals: Vec<Signal>,
}

/// A packet that a link lost or marked, with its number since the beginning of the run. The other
/// fields are columns of [`crate::SIGHTING`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Signal {
    number: u64,
    time_s: f64,
    flow: u32,
    group: u32,
    packet: u64,
    bytes: u32,
    acknowledges: bool,
}

impl Signal {
    fn of(number: u64, event: &PacketEvent) -> Self {
        Self {
            number,
            time_s: event.time.as_secs_f64(),
            flow: event.flow,
            group: event.group,
            packet: event.packet,
            bytes: event.bytes,
            acknowledges: event.segment.acknowledges(),
        }
    }
}

/// The part of a list that a page asks for.
pub(crate) fn page(dropped: &Signals, marked: &Signals, listing: Listing) -> Page {
    let list = match listing.kind {
        SignalKind::Dropped => dropped,
        SignalKind::Marked => marked,
    };
    let first = listing.from.max(list.first());
    let end = first.saturating_add(listing.count.min(MOST_LISTED));
    let signals = (first..end.min(list.total()))
        .filter_map(|number| Some(Signal::of(number, list.get(number)?)));
    Page {
        total: list.total(),
        first: list.first(),
        signals: signals.collect(),
    }
}
