//! Flow groups in a fabric: they name hosts instead of a path.

use std::ops::Range;
use std::sync::Arc;

use forebay_units::{Rate, Time};

use crate::model::distribution::Distribution;
use crate::model::fabric::hosts::Hosts;
use crate::model::fabric::routing::{FabricLinks, Routing};
use crate::model::flows::FlowGroup;
use crate::model::workload::{AnyWorkload, Pattern};
use crate::text::cursor::Cursor;
use crate::text::keys::{Context, Form};
use crate::text::tree::ScenarioError;

impl FlowGroup {
    /// Finds the routes of a group in a fabric: the rate of the links of all its senders.
    pub(crate) fn route(
        &mut self,
        table: &Cursor<'_>,
        fabric: FabricLinks,
    ) -> Result<Rate, ScenarioError> {
        if let Some(reverse) = table.get("reverse") {
            let allowed = "no `reverse` without a `path`: in a fabric only propagation delays acknowledgments";
            return Err(reverse.error(allowed));
        }
        let pattern = AnyWorkload::pattern(table.get("workload").as_ref());
        let read = |key: &str, default: Range<usize>| match table.get(key) {
            Some(at) => Hosts
                .read(&at, &Context::default())?
                .hosts(fabric.shape, &at),
            None => Ok(default.map(|host| host as u32).collect()),
        };
        let all = 0..fabric.shape.hosts;
        let last = if pattern == Pattern::ToOne {
            1
        } else {
            all.end
        };
        let from = read("from", all)?;
        let to = match (pattern, table.get("to")) {
            (Pattern::Among, Some(to)) => {
                return Err(to.error("only `from`: the hosts that take part"));
            }
            (Pattern::Among, None) => from.clone(),
            _ => read("to", 0..last)?,
        };
        if pattern == Pattern::ToOne && to.len() != 1 {
            let at = table.get("to").unwrap_or_else(|| table.clone());
            return Err(at.error("one host: the one that requests"));
        }
        let mut routing = Routing::new(fabric.shape, &from, &to).ok_or_else(|| {
            let at = table.get("to").or_else(|| table.get("from"));
            at.unwrap_or_else(|| table.clone())
                .error("hosts to send from, and others to send to")
        })?;
        self.path = routing.typical(fabric.target);
        let round_trip = fabric.round_trip(&self.path);
        routing.round_trip = round_trip;
        if table.get("rtt").is_none() && round_trip > Time::ZERO {
            self.rtt = Distribution::Value(round_trip);
        } else if table.get("rtt").is_none()
            && !AnyWorkload::is_unresponsive(table.get("workload").as_ref())
        {
            let allowed = "rtt = \"10us\", or a `cable` or `delay` of the ports of the fabric";
            return Err(table.error_found("no `rtt`", allowed));
        }
        let senders = routing.senders() as u64;
        self.routing = Some(Arc::new(routing));
        Ok(Rate::from_bits_per_second(
            fabric.nic_rate.as_bits_per_second().saturating_mul(senders),
        ))
    }

    /// Whether packets of the group may cross a link on their way to the receiver.
    #[inline]
    pub fn crosses(&self, link: usize) -> bool {
        match &self.routing {
            Some(routing) => routing.crosses(link),
            None => self.path.contains(&link),
        }
    }

    /// Whether the round trip is that of the cables of a fabric, and follows changes of them.
    pub(crate) fn follows_cables(&self) -> bool {
        let routing = self.routing.as_ref();
        routing.is_some_and(|routing| self.rtt == Distribution::Value(routing.round_trip))
    }

    /// The share of the group's packets that cross a link of its paths.
    pub fn share(&self, link: usize) -> f64 {
        let routing = self.routing.as_ref();
        routing.map_or(1.0, |routing| routing.share(link))
    }

    /// Whether packets of the group may go on from a link to another one.
    pub fn leads(&self, link: usize, next: usize) -> bool {
        match &self.routing {
            Some(routing) => routing.leads(link, next),
            None => self.path.windows(2).any(|pair| pair == [link, next]),
        }
    }
}
