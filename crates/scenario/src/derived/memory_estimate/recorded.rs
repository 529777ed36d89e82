//! The memory for the records that `[trace]` asks for. The memory estimate adds it.

use super::concurrency::{smallest, swung};
use crate::answer::footprint::{Need, Waiting};
use crate::answer::report::{
    AcknowledgmentRecord, FlowSample, HeaderRecord, PacketRecord, PauseRecord, QueueSample,
    TransferRecord,
};
use crate::model::options::{Recorded, TraceOptions};
use crate::model::scenario::Scenario;
use crate::model::workload::Workload;

/// Copies of a record: records are in lists that double as they grow, and they are copied once on
/// their way out.
const COPIES: f64 = 3.0;

/// A record of a packet that waits is found again in a tree.
const RECORD_THAT_WAITS: f64 = 72.0;

/// Bytes of a packet's header between its sending and its arrival, in a tree whose nodes are half
/// full at least.
const SAID: f64 = 96.0;

/// Bytes for each connection whose headers are recorded.
const TRAIL: f64 = 1024.0;

impl Scenario {
    /// The memory of the records of `[trace]`.
    pub(super) fn recorded(&self, waiting: &[Waiting]) -> Vec<Need> {
        let trace = self.trace();
        let end = self.seconds();
        let until = trace
            .until
            .map_or(end, |until| until.as_secs_f64().min(end));
        let span = (until - trace.from.as_secs_f64()).max(0.0);
        let samples = span / trace.every.as_secs_f64() + 1.0;
        let asks = |what| trace.record.contains(&what);
        let mut needs = Vec::new();
        let every = || "trace.every".to_owned();
        if asks(Recorded::Cwnd) {
            let flows: f64 = self
                .flows()
                .iter()
                .filter(|group| group.responsive())
                .map(|group| self.alive(group).1)
                .sum();
            let each = size_of::<FlowSample>() as f64 * COPIES;
            needs.push(Need::new(every(), samples * flows, "sample", each));
        }
        if asks(Recorded::Queue) || asks(Recorded::Utilization) {
            let each = size_of::<QueueSample>() as f64 * COPIES;
            needs.push(Need::new(every(), samples, "sample", each));
        }
        if asks(Recorded::Transfers) {
            needs.push(self.transfers(span));
        }
        if asks(Recorded::Pauses) {
            needs.push(self.pauses(span));
        }
        if asks(Recorded::Packets) {
            let mut packets = self.captured(trace, span);
            packets.bytes += RECORD_THAT_WAITS * waiting[self.target_index()].packets;
            needs.push(packets);
            if trace.acknowledgments {
                needs.push(self.returned(span));
                needs.push(self.said(waiting));
            }
        }
        needs
    }

    /// Records of acknowledgments that return past the target link's router: one at most for each
    /// packet that the link carries.
    fn returned(&self, span: f64) -> Need {
        let target = self.target_index();
        let part = span / self.seconds().max(1e-12);
        let returning = || {
            let groups = self.target_flows().filter(|group| group.responsive());
            groups.filter(|group| !group.reverse.contains(&target))
        };
        let size = returning().map(smallest).fold(f64::INFINITY, f64::min);
        let link = self.target().highest_rate().as_bytes_per_second() * span / size;
        let paths: f64 = returning().map(|group| part * self.carried(group)).sum();
        // The packets on their way when the traced time began.
        let before: f64 = returning().map(|group| self.first_windows(group)).sum();
        let each = size_of::<AcknowledgmentRecord>() as f64 * COPIES;
        let key = "trace.acknowledgments".to_owned();
        Need::new(key, paths.min(link) + before, "acknowledgment", each)
    }

    /// The memory of the headers of packets on their way.
    fn said(&self, waiting: &[Waiting]) -> Need {
        let groups = self.flows().iter().filter(|group| group.responsive());
        let under_way = groups.map(|group| self.propagating(group, waiting));
        let queued = waiting.iter().map(|at| at.packets);
        let packets = under_way.sum::<f64>() + queued.sum::<f64>();
        let key = "trace.acknowledgments".to_owned();
        let mut need = Need::new(key, packets, "packet in flight", SAID);
        let groups = self.flows().iter().filter(|group| group.responsive());
        need.bytes += TRAIL * groups.map(|group| self.alive(group).1).sum::<f64>();
        need
    }

    /// Records of transfers: of all that begin in the traced time.
    fn transfers(&self, span: f64) -> Need {
        let counts = self
            .flows()
            .iter()
            .filter(|group| !group.persistent() && group.responsive())
            .map(|group| {
                let flows = group.count as f64;
                let every = match &group.workload {
                    Workload::OpenLoop { interarrival, .. } => interarrival.mean(),
                    Workload::Periodic { every, .. } => every.mean() / flows,
                    Workload::ClosedLoop { think, .. } => {
                        (think.mean() + group.rtt.infimum()) / flows
                    }
                    Workload::Incast { pause, .. }
                    | Workload::AllToAll { pause, .. }
                    | Workload::RingAllReduce { pause, .. } => {
                        (pause.mean() + group.rtt.infimum()) / flows
                    }
                    _ => return flows,
                };
                swung(span / every.max(1e-12) + flows)
            });
        let each = size_of::<TransferRecord>() as f64 * COPIES;
        Need::new("trace.record".to_owned(), counts.sum(), "transfer", each)
    }

    /// Records of pauses: a lossless queue sends what lies between `xoff` and `xon` from one pause
    /// of a sender to the next.
    fn pauses(&self, span: f64) -> Need {
        let smallest = self.flows().iter().map(smallest).fold(1e6, f64::min);
        let counts = self.links().iter().map(|link| {
            let queues = link.lossless_queues();
            let between = queues.map(|pfc| (pfc.xoff.get() - pfc.xon.get()) as f64);
            let bytes = link.highest_rate().as_bytes_per_second() * span;
            between.map(|each| bytes / each.max(smallest)).sum::<f64>()
        });
        let links = self.links().len() as f64;
        let count = counts.sum::<f64>() + links + self.max_concurrent_flows();
        let names = self.links().iter().map(|link| link.name.len());
        let each = (size_of::<PauseRecord>() + names.max().unwrap_or(0)) as f64 * COPIES;
        Need::new("trace.record".to_owned(), count, "pause", each)
    }

    /// Records of packets: of all that come to the target link.
    fn captured(&self, trace: &TraceOptions, span: f64) -> Need {
        let target = self.target_index();
        let part = span / self.seconds().max(1e-12);
        let here = || self.target_flows();
        let data = || here().filter(|group| group.responsive());
        let size = data().map(smallest).fold(f64::INFINITY, f64::min);
        let carried = self.target().highest_rate().as_bytes_per_second() * span / size;
        let first: f64 = data().map(|group| self.first_windows(group)).sum();
        let pushed = here().filter_map(|group| {
            let rate = group.unresponsive_rate()? / 8.0;
            Some(swung(rate * span / group.packet.mean().max(1.0)))
        });
        let back = self
            .flows()
            .iter()
            .filter(|group| group.reverse.contains(&target));
        let acknowledgments =
            back.map(|group| 2.0 * part * self.carried(group) + self.first_windows(group));
        // Two packets are sent for each that is acknowledged.
        let packets = 2.0 * carried + first + pushed.sum::<f64>() + acknowledgments.sum::<f64>();
        let header = if trace.acknowledgments {
            size_of::<HeaderRecord>()
        } else {
            0
        };
        let each = (size_of::<PacketRecord>() + header) as f64 * COPIES;
        debug_assert!(trace.record.contains(&Recorded::Packets));
        Need::new("trace.record".to_owned(), packets, "packet", each)
    }
}
