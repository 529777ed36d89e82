//! Rounds of an incast: one requester asks all servers at once and waits for the last response
//! before it asks again (Phanishayee et al., Measurement and analysis of TCP throughput collapse in
//! cluster-based storage systems, FAST 2008: synchronized reads with a barrier).

use forebay_scenario::FlowGroup;
use forebay_units::Time;

use crate::histogram::Histogram;
use crate::ids::ResponsiveId;

/// A group's rounds.
#[derive(Debug)]
pub(crate) struct Rounds {
    /// Number of the current round, from 0 on.
    number: u64,
    /// When its request came: with the first server's start.
    requested: Option<Time>,
    /// Servers that have not finished it.
    missing: u64,
    /// The servers' flows, but for those that have left, in rising order.
    servers: Vec<ResponsiveId>,
    /// Whether the times are lower bounds: no round was complete.
    pub(crate) lower_bound: bool,
    /// Times of complete rounds.
    pub(crate) times: Histogram,
}

impl Rounds {
    pub(crate) fn new(spec: &FlowGroup) -> Self {
        Self {
            number: 0,
            requested: None,
            missing: spec.count,
            servers: Vec::new(),
            lower_bound: false,
            times: Histogram::new(),
        }
    }

    /// A server, by its flow.
    pub(crate) fn add(&mut self, server: ResponsiveId) {
        self.servers.push(server);
    }

    /// A server begins to respond in the first round, which no request has announced.
    pub(crate) fn begin(&mut self, now: Time) {
        self.requested.get_or_insert(now);
    }

    /// A server is done with the round, or has left for good; the time of the round where this was
    /// the last one.
    pub(crate) fn finish(&mut self, now: Time) -> Option<Time> {
        self.missing = self.missing.saturating_sub(1);
        (self.missing == 0).then(|| now.saturating_sub(self.requested.unwrap_or(now)))
    }

    /// The next round is asked for at `now`: of the servers that stay, which are returned.
    pub(crate) fn request(
        &mut self,
        now: Time,
        stays: impl Fn(ResponsiveId) -> bool,
    ) -> &[ResponsiveId] {
        self.number += 1;
        self.requested = Some(now);
        self.servers.retain(|&server| stays(server));
        self.missing = self.servers.len() as u64;
        &self.servers
    }

    /// The run ends. If no round is complete, the time of the current one so far takes its place as
    /// a lower bound.
    pub(crate) fn end(&mut self, now: Time) {
        let under_way = self.requested.filter(|requested| *requested < now);
        if let (0, Some(requested)) = (self.times.count(), under_way) {
            self.times.add(now - requested);
            self.lower_bound = true;
        }
    }

    /// The number of the current round, for draws.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}
