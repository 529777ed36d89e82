//! The hops of all paths. Those of groups are laid at the beginning, those of hosts in a fabric
//! when a flow first takes them.

use forebay_discipline::{Ecn, Label};
use forebay_scenario::{FlowGroup, HostPair, Routing, Scenario};
use forebay_units::Time;

use super::Network;
use crate::calendar::Calendar;
use crate::calendar::event::{Event, Kind};
use crate::codepoint::codepoint;
use crate::flow::InFlight;
use crate::hop::Hop;
use crate::ids::{GroupId, LaneId, LinkId, Route};
use crate::link::host_timing::after;
use crate::link::statistics::Account;
use crate::refusal::{Refusal, too_large};
use crate::route_table::{HostRoute, Routes};

/// A path to be laid.
struct Path<'a> {
    links: &'a [usize],
    ecn: Ecn,
    account: Account,
}

impl Network {
    /// Lays the paths of group number `group`; their lanes come later.
    pub(super) fn lay_group(&mut self, scenario: &Scenario, group: usize) {
        let spec = &scenario.flows()[group];
        let there = self.lay(scenario, group, &spec.path);
        let back = (!spec.reverse.is_empty()).then(|| {
            let path = Path {
                links: &spec.reverse,
                ecn: Ecn::NotCapable,
                account: Account::new(scenario.flows().len()),
            };
            self.lay_path(scenario, group, &path)
        });
        self.routes.of_groups.push(Routes { there, back });
    }

    fn lay(&mut self, scenario: &Scenario, group: usize, links: &[usize]) -> Route {
        let path = Path {
            links,
            ecn: codepoint(&scenario.flows()[group]),
            account: Account::new(group),
        };
        self.lay_path(scenario, group, &path)
    }

    fn lay_path(&mut self, scenario: &Scenario, group: usize, path: &Path<'_>) -> Route {
        let spec = &scenario.flows()[group];
        let number = group.min(usize::from(u16::MAX)) as u16;
        let target = self.target.index();
        let timings = &self.timings;
        let timing = |link: usize, is_last: bool| after(timings, spec, (link, is_last));
        let route = Route::new(self.hops.len());
        let last = path.links.len().saturating_sub(1);
        let hops = path.links.iter().enumerate().map(|(at, &link)| Hop {
            link: LinkId::new(link),
            lane: LaneId::default(),
            latest: if at == last {
                timing(link, true).beyond()
            } else {
                timing(link, false).latest(scenario.links()[link].delay)
            },
            last: at == last,
            label: Label::new(at as u8, number, path.ecn),
            account: if link == target {
                path.account
            } else {
                Account::ALL
            },
            lead: timing(link, at == last).lead,
        });
        self.hops.extend(hops);
        route
    }

    /// The paths of a group.
    pub(crate) fn routes(&self, group: GroupId) -> Routes {
        self.routes.of_groups[group.index()]
    }

    /// The path of a group's packets between two hosts of a fabric over one of the spines, or over
    /// all of them if the group sprays its packets. It is laid if it is new.
    pub(crate) fn host_route(
        &mut self,
        scenario: &Scenario,
        (group, pair, spine): (GroupId, HostPair, usize),
    ) -> Result<HostRoute, Refusal> {
        let spec = &scenario.flows()[group.index()];
        let Some(routing) = &spec.routing else {
            let route = self.routes(group).there;
            return Ok(HostRoute {
                route,
                shortcut: Time::ZERO,
            });
        };
        let paths = routing.paths(pair);
        let sprays = spec.spray && paths > 1;
        let spine = if sprays { 0 } else { spine };
        let shortcut = shortcut(scenario, spec, &routing.path(pair, spine));
        if let Some(&route) = self.routes.of_hosts.get(&(group, pair, spine)) {
            return Ok(HostRoute { route, shortcut });
        }
        let route = if sprays {
            self.lay_sprayed(scenario, group, (routing, pair))?
        } else {
            self.lay(scenario, group.index(), &routing.path(pair, spine))
        };
        self.routes.of_hosts.insert((group, pair, spine), route);
        Ok(HostRoute { route, shortcut })
    }

    /// An acknowledgment that crosses no links reaches its sender after a delay.
    pub fn return_ack(packet: InFlight, delay: Time, calendar: &mut Calendar) {
        let (kind, time) = (
            Kind::Delivery.number(),
            packet.arrival.saturating_add(delay),
        );
        calendar.push_frequent(Event::of(time, kind, packet.flow.number(), packet.number));
    }

    /// Lays the paths over all spines, one after the other.
    fn lay_sprayed(
        &mut self,
        scenario: &Scenario,
        group: GroupId,
        (routing, pair): (&Routing, HostPair),
    ) -> Result<Route, Refusal> {
        let (first, paths) = (self.hops.len(), routing.paths(pair));
        for spine in 0..paths {
            self.lay(scenario, group.index(), &routing.path(pair, spine));
        }
        if self.hops.len() > Route::MOST_HOPS {
            return Err(too_large(
                "there are more than 4 million paths of sprayed packets",
            ));
        }
        Ok(Route::sprayed(first, paths))
    }
}

/// How much shorter the way from the last link back to the sender is than on the group's path: both
/// ways less the delays of the links before.
fn shortcut(scenario: &Scenario, spec: &FlowGroup, path: &[usize]) -> Time {
    let delays =
        |path: &[usize]| -> Time { path.iter().map(|&at| scenario.links()[at].delay).sum() };
    delays(&spec.path).saturating_sub(delays(path))
}
